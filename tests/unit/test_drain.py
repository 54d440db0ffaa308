"""Runs that go on until all who have arrived are answered: ``run.drain``."""

import pytest

import simrep
from simrep.errors import ShortRunWarning

# One node takes 4 ms for a statement on one core, and 500 of them arrive each second: what has
# arrived after two seconds takes four.
SLOW = {
    "cluster": {
        "model": "galera",
        "nodes": 1,
        "costs": {"statement_us": 4000.0, "connect_us": 0.0},
        "machine": {"cores": 1, "variation": 0.0},
    },
    "workload": {
        "rate_tps": 500.0,
        "connections": 4,
        "class": [{"keys": {"distribution": "fresh"}}],
    },
    "run": {"duration_s": 2.0, "drain": True},
}


def ran(**run: object) -> simrep.Result:
    return simrep.run(SLOW | {"run": SLOW["run"] | run}, seed=3)


def test_all_who_have_arrived_are_answered_and_nobody_else() -> None:
    drained, cut = ran(), ran(drain=False)
    # 1000 arrivals have a standard deviation of 32: six of them are a chance of 2e-9.
    assert drained.committed == pytest.approx(1000, abs=190)
    assert cut.committed < 0.6 * drained.committed
    assert drained.makespan_s == pytest.approx(drained.committed * 4.1e-3, rel=0.1)
    # The last one has arrived after two seconds, and ends with the run.
    assert drained.latency_s["max"] == pytest.approx(drained.makespan_s - 2.0, abs=0.1)
    assert drained.latency_s["mean"] > 1.5 * cut.latency_s["mean"]


def test_arrivals_without_a_line_are_served_too() -> None:
    workload = {key: value for key, value in SLOW["workload"].items() if key != "connections"}
    result = simrep.run(SLOW | {"workload": workload}, seed=3)
    assert result.committed == pytest.approx(1000, abs=190)


def test_a_run_of_which_nobody_is_left_ends_at_once() -> None:
    workload = SLOW["workload"] | {"rate_tps": 0.001}
    with pytest.warns(ShortRunWarning):
        result = simrep.run(SLOW | {"workload": workload}, seed=3)
    assert result.committed == 0
    assert result.makespan_s == 2.0


def test_a_run_that_does_not_drain_in_time_is_an_error() -> None:
    with pytest.raises(simrep.SimrepError, match="not all who have arrived are answered after 3 s"):
        ran(limit_s=3.0)


def test_it_is_for_arrivals_that_are_all_served() -> None:
    clients = {key: SLOW["workload"][key] for key in ("class",)} | {"threads": 2}
    with pytest.raises(simrep.ScenarioError, match="clients never end"):
        simrep.load(SLOW | {"workload": clients})
    fault = [{"what": "kill", "node": "n1", "at_s": 1.0}]
    with pytest.raises(simrep.ScenarioError, match="does not go with fault"):
        simrep.load(SLOW | {"fault": fault})
