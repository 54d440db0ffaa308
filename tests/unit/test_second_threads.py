"""Cores with two hardware threads each."""

from __future__ import annotations

import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.kernel.pace import Pace
from simrep.server.host import Host, Routine
from simrep.server.process import PacedHost

_CORES, _GAIN, _PIECE_S, _LONG_S = 4, 0.25, 100e-6, 0.1


class _Loop:
    """A thread that runs a piece of code again and again."""

    def __init__(self, host: Host) -> None:
        self.routine: Routine = host.routine(_PIECE_S)
        self.turns = 0
        self.routine.run(self.turn)

    def turn(self, _: object) -> None:
        self.turns += 1
        self.routine.go_on(self.turn)


@pytest.mark.parametrize(
    ("threads", "of_a_core"),
    [
        (1, 1.0),
        (4, 4.0),  # each has a core
        (6, 4.0 + 2 * _GAIN),  # two cores have two threads
        (8, 4.0 + 4 * _GAIN),
        (20, 4.0 + 4 * _GAIN),  # the others wait
    ],
)
def test_a_core_with_two_threads_does_a_quarter_more(threads: int, of_a_core: float) -> None:
    clock = Clock()
    host = PacedHost(clock, _CORES, pace=Pace(), second_thread_gain=_GAIN)
    loops = [_Loop(host) for _ in range(threads)]
    clock.run(until=_LONG_S)
    # A piece for each thread may be under way.
    assert sum(loop.turns for loop in loops) == pytest.approx(
        of_a_core * _LONG_S / _PIECE_S, abs=threads
    )


def _rate_tps(**machine: object) -> float:
    return simrep.run(
        {
            "cluster": {"model": "standalone", "nodes": 1, "machine": machine},
            "workload": {"threads": 32, "transactions_per_client": 100},
        }
    ).throughput_tps


def test_a_server_is_faster_by_less_than_what_second_threads_add() -> None:
    alone = _rate_tps(cores=2)
    assert alone < _rate_tps(cores=2, second_thread_gain=0.25) < 1.26 * alone


def test_a_slowed_machine_keeps_its_second_threads() -> None:
    half = {"cores": 2, "second_thread_gain": 0.25, "cpu_factor": 2.0}
    assert _rate_tps(**half) > 1.05 * _rate_tps(cores=2, cpu_factor=2.0)


def test_a_machine_that_is_fair_between_programs_has_none() -> None:
    with pytest.raises(simrep.ScenarioError, match=r"second_thread_gain.*fair between programs"):
        _rate_tps(cores=2, autogroup=True, second_thread_gain=0.25)


def test_no_machine_of_its_own_is_fair_between_programs_and_has_some() -> None:
    scenario = {
        "cluster": {"model": "galera", "machine": {"autogroup": True}},
        "node": [{"name": "n2", "second_thread_gain": 0.25}],
        "run": {"duration_s": 1},
    }
    with pytest.raises(simrep.ScenarioError, match=r"n2.*second_thread_gain"):
        simrep.run(scenario)
