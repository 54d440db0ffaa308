"""Explanations made by hand, and a strategy that makes them up."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import nan
from typing import Any

from hypothesis import strategies as st

from simrep.why.commit import Activity, CommitStage, Explanation, Transmission

__all__ = ["explained", "explanations", "scaled", "staged"]

BEGAN_S = 10.0
NODES = ("n1", "n2", "n3")


def _stages(*rows: tuple[str, float, str]) -> tuple[CommitStage, ...]:
    """Names, milliseconds and reasons; one follows the other."""
    found, now = [], BEGAN_S
    for name, ms, reason in rows:
        found.append(CommitStage(name, now, now + ms / 1e3, reason))
        now = found[-1].ended_s
    return tuple(found)


def _message(
    number: int, way: tuple[int, int], label: str, ms: tuple[float, float], cause: int | None,
    flags: str = "",
) -> Transmission:  # fmt: skip
    """Sent and arrived in milliseconds; ``o`` is own, ``c`` critical."""
    sent, arrived = (BEGAN_S + one / 1e3 for one in ms)
    return Transmission(
        number, *way, label, 400, sent, arrived, arrived + 3e-5, cause, "o" in flags, "c" in flags
    )


def _activity(node: int, station: str, what: str, began: float, ended: float) -> Activity:
    span = (BEGAN_S + began / 1e3, BEGAN_S + ended / 1e3)
    return Activity(node, station, what, "writeset 17", True, what.startswith("waits"), *span)


def explained(**changes: Any) -> Explanation:
    """A writeset of three nodes, the third of which is 40 ms away."""
    stages = _stages(
        ("client", 1.1, ""),
        ("execute", 0.9, ""),
        ("lock wait", 18.0, "client 4 held row 1,204"),
        ("send window", 22.0, "writeset 15, until n3 had reported writeset 13"),
        ("order", 80.4, "gap of n3, which it sent when writeset 17 arrived there"),
        ("certification", 0.06, ""),
        ("flush", 1.6, ""),
        ("commit order", 4.0, "writeset 16"),
        ("commit", 0.1, ""),
    )
    messages = (
        _message(0, (0, 1), "writeset 15", (12.0, 12.2), None),
        _message(1, (0, 2), "writeset 15", (12.0, 52.0), None),
        _message(2, (2, 0), "gap", (2.0, 42.0), None),
        _message(3, (0, 1), "writeset 17", (42.03, 42.3), 2, "o"),
        _message(4, (0, 2), "writeset 17", (42.03, 82.1), 2, "oc"),
        _message(5, (1, 0), "gap", (42.33, 42.6), 3, "o"),
        _message(6, (1, 2), "gap", (42.33, 82.4), 3, "o"),
        _message(7, (2, 0), "gap", (82.2, 122.3), 4, "oc"),
        _message(8, (2, 1), "gap", (82.2, 122.4), 4, "o"),
    )
    activities = (
        _activity(0, "send monitor", "waits for writeset 15", 20.0, 42.0),
        _activity(1, "applier", "being applied", 122.5, 126.0),
        _activity(2, "applier", "being applied", 82.6, 91.0),
        _activity(2, "commit order", "waits for writeset 16", 91.0, 97.5),
        _activity(2, "redo log", "being written", 97.5, 101.0),
        _activity(1, "redo log", "being written", 126.0, 128.0),
    )
    made: dict[str, Any] = {
        "number": 17,
        "rank": "the slowest of 3,000",
        "kind": "update",
        "client": 3,
        "node": 0,
        "rows": 1,
        "size_bytes": 400,
        "started_s": BEGAN_S,
        "ended_s": stages[-1].ended_s,
        "nodes": NODES,
        "stages": stages,
        "activities": activities,
        "messages": messages,
        "until_s": BEGAN_S + 0.13,
        "model": "galera",
        "seed": 1,
        "replication": 0,
        "scenario": {"name": "two sites"},
        "versions": {"simrep": "0.1.0"},
    }
    return Explanation(**made | changes)


def staged(*rows: tuple[str, float, str], **changes: Any) -> Explanation:
    """The same with other stages (name, milliseconds, reason)."""
    stages = _stages(*rows)
    ended_s = stages[-1].ended_s
    made = {"stages": stages, "ended_s": ended_s, "until_s": max(ended_s, BEGAN_S + 0.13)}
    return explained(**made | changes)


def scaled(explanation: Explanation, factor: float) -> Explanation:
    """The same, with all times after its begin so many times as long."""
    origin_s = explanation.started_s

    def all_of(things: tuple[Any, ...], *names: str) -> tuple[Any, ...]:
        return tuple(replace(one, **{n: at(getattr(one, n)) for n in names}) for one in things)

    def at(time_s: float) -> float:
        return origin_s + factor * (time_s - origin_s)

    return replace(
        explanation,
        ended_s=at(explanation.ended_s),
        until_s=at(explanation.until_s),
        stages=all_of(explanation.stages, "began_s", "ended_s"),
        activities=all_of(explanation.activities, "began_s", "ended_s"),
        messages=all_of(explanation.messages, "sent_s", "arrived_s", "handled_s"),
    )


NAMES = ("client", "execute", "lock wait", "send window", "order", "flush", "commit", "other")
STATIONS = ("applier", "redo log", "commit order", "send monitor")


@st.composite
def explanations(draw: st.DrawFn) -> Explanation:
    """Any number of nodes from 1 to 9, from microseconds to minutes, with ties and empty stages."""
    size = draw(st.integers(1, 9))
    latency_s = draw(st.sampled_from([1e-5, 1e-3, 0.148, 60.0, 600.0]))
    instants = st.integers(0, 40).map(lambda step: BEGAN_S + latency_s * step / 32)
    spans = st.tuples(instants, instants).map(sorted)
    inner = draw(st.lists(st.integers(0, 32), max_size=6).map(sorted))
    edges = [BEGAN_S + latency_s * step / 32 for step in (0, *inner, 32)]
    stages = tuple(
        CommitStage(
            draw(st.sampled_from(NAMES)), began, ended, draw(st.sampled_from(["", "n2's gap"]))
        )
        for began, ended in pairwise(edges)
    )
    activities = [
        Activity(
            draw(st.integers(0, size - 1)), draw(st.sampled_from(STATIONS)), "being applied",
            draw(st.sampled_from(["", "writeset 3", "writeset 17"])), draw(st.booleans()),
            draw(st.booleans()), *span,
        )
        for span in draw(st.lists(spans, max_size=12))
    ]  # fmt: skip
    messages = []
    most = 15 if size > 1 else 0
    for number, (sent_s, arrived_s) in enumerate(draw(st.lists(spans, max_size=most))):
        source, target = draw(st.permutations(range(size)))[:2]
        lost = draw(st.integers(0, 9)) == 0
        late_s = draw(st.sampled_from([nan, 0.0, 0.01, 0.3])) * latency_s
        messages.append(
            Transmission(
                number, source, target, draw(st.sampled_from(["gap", "writeset 17"])),
                110, sent_s, nan if lost else arrived_s, arrived_s + late_s,
                draw(st.sampled_from([None, max(number - 1, 0)])), draw(st.booleans()),
                draw(st.booleans()),
            )
        )  # fmt: skip
    return explained(
        node=draw(st.integers(0, size - 1)),
        nodes=tuple(f"n{number}" for number in range(1, size + 1)),
        ended_s=edges[-1],
        until_s=BEGAN_S + 1.25 * latency_s,
        stages=stages,
        activities=tuple(sorted(activities, key=lambda one: one.began_s)),
        messages=tuple(messages),
    )
