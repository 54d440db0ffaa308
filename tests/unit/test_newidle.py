"""How often a core that has nothing to do looks for work."""

from __future__ import annotations

import pytest

import simrep
from simrep.kernel.streams import Streams
from simrep.server.newidle import NewIdle

MS = 1e-3


def core(cost_s: float = 0.0, seed: int = 1) -> NewIdle:
    return NewIdle(Streams(seed).uniform("newidle"), cost_s)


def share(one: NewIdle, calls: int, found: bool) -> float:
    """How often it looks, if there always is something to find, or never."""
    looked = 0
    for _ in range(calls):
        success = one.looks()
        if success:
            looked += 1
            one.count(success if found else 0)
    return looked / calls


def test_at_first_it_looks_every_other_time() -> None:
    # 400 draws of a half: 0.4 to 0.6 fails with 6e-5.
    assert 0.4 < share(core(), 400, found=True) < 0.6


def test_who_always_finds_something_looks_mostly() -> None:
    one = core()
    share(one, 20_000, found=True)
    # A success counts 2 as long as it looks less than in two of three calls, then 1.
    assert share(one, 1000, found=True) > 0.6


def test_who_never_finds_anything_hardly_looks() -> None:
    one = core()
    share(one, 8_000, found=False)
    # 2 in 1024 of 10 000: a mean of 20; 60 and more have a probability below 1e-11.
    assert share(one, 10_000, found=False) < 0.006


def test_it_does_not_look_in_pauses_shorter_than_looking_takes() -> None:
    one = core(cost_s=0.05 * MS)
    for number in range(40):
        one.begin(number * MS)
        one.end(number * MS + 0.02 * MS)
    assert share(one, 1000, found=True) == 0.0
    for number in range(40):
        one.begin(100 * number * MS)
        one.end(100 * number * MS + 50 * MS)
    assert share(one, 1000, found=True) > 0.0


def run(**machine: object) -> simrep.Result:
    return simrep.run(
        {
            "cluster": {
                "model": "galera",
                "options": {"wsrep_slave_threads": 4},
                "machine": {"cores": 2, "autogroup": True, **machine},
                "shared_host": True,
            },
            "workload": {"threads": 16, "queries": 800, "nodes": ["n1"], "client": "node"},
        }
    )


def test_cores_that_do_not_look_have_nothing_to_do_while_threads_wait() -> None:
    seldom = run(core_queues=True, newidle_us=900.0)
    often = run(core_queues=True, newidle_us=0.0)
    assert seldom.stations[0].utilisation < often.stations[0].utilisation
    assert seldom.makespan_s > often.makespan_s


def test_one_queue_for_all_cores_has_no_such_pauses() -> None:
    with pytest.raises(simrep.ScenarioError, match=r"newidle_us: needs a machine with a queue"):
        run(newidle_us=50.0)


def test_the_result_tells_who_used_the_cores() -> None:
    result = run(core_queues=True)
    assert list(result.cpu_s) == ["n1", "n2", "n3", "clients"]
    used_s = result.stations[0].utilisation * 2 * result.makespan_s
    # The kernel's threads, and the work at hand at the end, are nobody's.
    assert 0.95 * used_s < sum(result.cpu_s.values()) <= used_s * (1 + 1e-9)
    assert result.to_dict()["cpu_s"] == dict(result.cpu_s)
    assert "Who uses the cores" in str(result)
    assert run().cpu_s == {}
    assert "cpu_s" not in run().to_dict()


def test_whose_processor_time_it_is_has_one_answer() -> None:
    shared = {
        "model": "galera",
        "machine": {"cores": 2, "autogroup": True, "core_queues": True},
        "shared_host": True,
    }
    load = {"threads": 2, "queries": 20, "nodes": ["n2"], "client": "node"}
    named = {"cluster": {**shared, "nodes": ["clients", "n2", "n3"]}, "workload": load}
    assert simrep.run(named).cpu_s == {}
    elsewhere = {"cluster": shared, "workload": {**load, "client": "own"}}
    assert list(simrep.run(elsewhere).cpu_s) == ["n1", "n2", "n3"]
