"""Work in parts is the work of one visit after the other."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simrep.kernel.clock import Clock
from simrep.kernel.pace import Pace
from simrep.server.host import Host
from simrep.server.process import PacedHost

SLICE_S = 1.0


class Parts:
    """Threads that do work in many parts, among others, on a host."""

    def __init__(self, host: Host, *, short: bool) -> None:
        self.clock = host.clock
        self.host = host
        self.short = short
        self.seen: list[tuple[int, list[float]]] = []

    def begin(self, work: tuple[int, list[list[float]]]) -> None:
        thread, (parts, *rest) = work
        if self.short:
            ends = parts.copy()
            self.host.go_on_through(ends, self.done, (thread, ends, rest))
        else:
            self.part((thread, parts, [], rest))

    def part(self, work: tuple[int, list[float], list[float], list[list[float]]]) -> None:
        thread, parts, ends, rest = work
        if len(ends) == len(parts):
            self.done((thread, ends, rest))
        else:
            self.host.go_on(parts[len(ends)], self.ended, work)

    def ended(self, work: tuple[int, list[float], list[float], list[list[float]]]) -> None:
        work[2].append(self.clock.now)
        self.part(work)

    def done(self, work: tuple[int, list[float], list[list[float]]]) -> None:
        thread, ends, rest = work
        self.seen.append((thread, ends))
        if rest:
            self.begin((thread, rest))


def in_parts(
    seed: int, cores: int, threads: int, scale: float, *, short: bool, stops: bool = False
) -> Any:
    """What a schedule drawn from a seed leads to: no two of its times are equal."""
    draw = Random(seed)
    clock = Clock()
    host: Host = (
        PacedHost(clock, cores, slice_s=SLICE_S, pace=Pace(), stops=[(2.0, 3.0)])
        if stops
        else Host(clock, cores, slice_s=SLICE_S, wakeup_s=0.1 * (seed % 2))
    )
    scene = Parts(host, short=short)
    for thread in range(threads):
        works = [
            [scale * draw.random() for _ in range(draw.randint(2, 6))]
            for _ in range(draw.randint(1, 3))
        ]
        clock.at(3 * draw.random(), scene.begin, (thread, works))
        clock.at(3 * draw.random(), partial(host.run, 2 * draw.random()), lambda _: None)
    clock.run()
    return scene.seen, host.visits, round(host.busy_s, 9), host.wait_s, clock.events


@given(
    st.integers(0, 10**9),
    st.integers(1, 3),
    st.integers(1, 6),
    st.sampled_from([0.05, 0.5, 1.0]),
    st.booleans(),
)
def test_work_in_many_parts_is_that_of_many_visits(
    seed: int, cores: int, threads: int, scale: float, stops: bool
) -> None:
    *short, events = in_parts(seed, cores, threads, scale, short=True, stops=stops)
    *long, most = in_parts(seed, cores, threads, scale, short=False, stops=stops)
    assert short == long
    assert events <= most
