"""Runs of whole scenarios on the shipped Galera model."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
from hypothesis import given, settings

import simrep.runs.run as run_module
from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError, ShortRunWarning, SimrepError
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.runs.build import build_cluster
from simrep.runs.result import Result
from simrep.runs.run import Replication, run, simulate
from simrep.scenario import load, with_value
from tests.galera_cases import galera_scenarios

FIXED: dict[str, Any] = {
    "name": "small",
    "cluster": {"model": "galera", "machine": {"variation": 0.2}},
    "network": {"rtt_ms": 2, "jitter": {"kind": "exponential", "mean_ms": 0.1}},
    "workload": {"preset": "mysqlslap-insert", "queries": 60, "threads": 4},
}
TIMED: dict[str, Any] = {
    "cluster": {"model": "galera", "version": "mariadb-11.8"},
    "network": {"rtt_ms": 1},
    "workload": {
        "threads": 4,
        "nodes": ["*"],
        "class": [{"name": "update", "keys": {"distribution": "uniform", "rows": 3}}],
    },
    "run": {"duration_s": 0.5, "warmup_s": 0.1, "interval_s": 0.1},
}


def records(result: Result) -> list[Replication]:
    found = [record for record in result.runs if isinstance(record, Replication)]
    assert len(found) == len(result.runs)
    return found


# -------------------------------------------------------------- what happens --
def test_a_fixed_number_of_transactions_is_run_to_its_end() -> None:
    result = run(FIXED, seed=1)
    assert (result.committed, result.aborted) == (60, 0)
    # Connecting is part of it: the makespan starts when the first client opens its connection.
    assert result.runs[0].measurement.began_s == 0.0
    assert result.makespan_s == result.runs[0].measurement.ended_s
    # A commit on three equidistant nodes takes three one-way delays.
    assert result.latency_s["p50"] >= 0.003


def test_mysqlslap_divides_and_drops_the_rest() -> None:
    assert run(with_value(load(FIXED), "workload.threads", 7), seed=1).committed == 56


def test_a_run_of_given_length_measures_after_the_warm_up() -> None:
    result = run(TIMED, seed=3)
    measured = result.runs[0].measurement
    assert (measured.began_s, measured.ended_s) == (pytest.approx(0.1), pytest.approx(0.6))
    assert result.makespan_s == pytest.approx(0.5)
    assert len(measured.series.commits) == 5
    traffic = records(result)[0].traffic
    assert traffic.committed > result.committed > 0  # those of the warm-up are not measured
    assert traffic.submitted == traffic.committed + traffic.aborted + traffic.in_flight


def test_delays_of_one_interface_reach_the_clients() -> None:
    slow = load(FIXED | {"network": {"rtt_ms": 0.1, "egress": [{"node": "n3", "delay_ms": 30}]}})
    latency = run(slow, seed=1).latency_s
    assert 0.030 < latency["p50"] < 0.063  # at most two delays; the windows make some wait


def test_clients_on_machines_of_their_own_pay_the_way() -> None:
    workload = {"preset": "mysqlslap-insert", "queries": 20, "threads": 1, "client": "own"}
    near = run(FIXED | {"workload": workload}, seed=1)
    far = run(FIXED | {"workload": workload | {"client_rtt_ms": 10}}, seed=1)
    assert far.latency_s["mean"] - near.latency_s["mean"] == pytest.approx(0.010, rel=0.1)


def test_every_machine_is_reported_once() -> None:
    def machines(cluster: dict[str, Any], **tables: Any) -> dict[str, int]:
        result = run(FIXED | {"cluster": {"model": "galera"} | cluster} | tables, seed=1)
        return {s.name: s.servers for s in result.stations if s.name.endswith("/cpu")}

    assert machines({"machine": {"cores": 3}}) == {"n1/cpu": 3, "n2/cpu": 3, "n3/cpu": 3}
    assert machines({"shared_host": True, "machine": {"cores": 2}}) == {"host/cpu": 2}
    placed = [{"name": "n1", "host": "a"}, {"name": "n2", "host": "a"}]
    assert machines({"nodes": 3}, node=placed, host=[{"name": "a", "cores": 8}]) == {
        "a/cpu": 8,
        "n3/cpu": 4,
    }


@given(galera_scenarios(most_nodes=4))
@settings(max_examples=25)
def test_nothing_is_lost_whatever_the_scenario(content: dict[str, Any]) -> None:
    scenario = load(content)
    record = simulate(scenario, scenario.run.seed)
    traffic = record.traffic
    workload = scenario.workload
    assert traffic.submitted == traffic.committed + traffic.aborted
    assert traffic.in_flight == 0
    ended = traffic.committed if workload.retry else traffic.submitted
    assert ended == workload.clients * (workload.transactions_per_client or 0)
    assert record.measurement.committed == traffic.committed
    assert record.measurement.aborted == traffic.aborted


# ------------------------------------------------------------ random numbers --
def test_the_same_seed_gives_the_same_run_and_others_do_not() -> None:
    assert run(FIXED, seed=5).digest() == run(FIXED, seed=5).digest()
    several = run(FIXED, seed=5, replications=3)
    assert len({record.measurement.makespan_s for record in several.runs}) == 3
    assert run(FIXED, seed=6).makespan_s != several.runs[0].measurement.makespan_s
    assert run(FIXED, seed=5).makespan_s == several.runs[0].measurement.makespan_s


def test_a_result_says_all_that_it_takes_to_repeat_it() -> None:
    first = run(FIXED, seed=9, replications=2)
    again = run(first.to_dict()["scenario"])
    assert (again.seed, again.replications) == (9, 2)
    assert again.digest() == first.digest()
    assert {"simrep", "python", "simpy", "numpy", "model"} <= set(first.versions)
    assert first.scenario["cluster"]["options"]["evs.send_window"] == 4
    assert first.scenario["cluster"]["costs"]["apply_us"] > 0


def test_a_trace_is_kept_when_asked_for_and_changes_nothing() -> None:
    plain, traced, again = run(FIXED), run(FIXED, trace=True), run(FIXED, trace=True)
    assert plain.digest() == traced.digest()
    assert records(plain)[0].trace is None
    assert records(traced)[0].trace
    assert records(traced)[0].trace_digest == records(again)[0].trace_digest


def test_a_log_has_a_row_for_every_transaction() -> None:
    result = run(with_value(load(TIMED), "run.log", True), seed=2)
    log = result.runs[0].measurement.log
    assert log is not None
    assert len(log) == result.committed + result.aborted
    assert run(TIMED, seed=2).runs[0].measurement.log is None


# ----------------------------------------------------------------- executors --
def test_replications_may_run_anywhere() -> None:
    here = run(FIXED, seed=4, replications=3)
    with ThreadPoolExecutor(2) as pool:
        assert run(FIXED, seed=4, replications=3, executor=pool).digest() == here.digest()


@pytest.mark.slow
def test_replications_may_run_in_other_processes() -> None:
    here = run(FIXED, seed=4, replications=2)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert run(FIXED, seed=4, replications=2, executor=pool).digest() == here.digest()


def test_a_plan_and_a_record_can_be_sent_to_another_process() -> None:
    setup = pickle.loads(pickle.dumps(setup_of(load(FIXED))))
    record = pickle.loads(pickle.dumps(simulate(setup, 4)))
    assert record.measurement.makespan_s == run(FIXED, seed=4).makespan_s


class Interrupted(Executor):
    """Runs what it is given at once; Ctrl-C comes while the third result is awaited."""

    def __init__(self, before: int) -> None:
        self.before = before

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.before:
            self.before -= 1
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(KeyboardInterrupt())
        return future


def test_an_interrupted_run_keeps_the_replications_that_have_ended() -> None:
    with pytest.warns(ShortRunWarning, match="2 of 5 replications"):
        result = run(FIXED, seed=4, replications=5, executor=Interrupted(2))
    assert result.replications == 2
    assert result.makespan_s == run(FIXED, seed=4, replications=2).makespan_s
    with pytest.raises(KeyboardInterrupt):
        run(FIXED, seed=4, replications=5, executor=Interrupted(0))


def test_interrupted_without_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_module.simulate

    def simulate_two(*arguments: Any) -> Replication:
        if arguments[2] == 2:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(run_module, "simulate", simulate_two)
    with pytest.warns(ShortRunWarning, match="2 of 5 replications"):
        assert run(FIXED, replications=5).replications == 2


def test_what_comes_after_the_end_of_the_run_is_named() -> None:
    content = {
        **TIMED,
        "cluster": {
            **TIMED["cluster"],
            "change": [
                {"at_s": 0.3, "node": "n3", "what": "leave"},
                {"at_s": 9, "node": "n3", "what": "join"},
            ],
        },
        "workload": {
            **TIMED["workload"],
            "scheduled": [{"name": "now", "at_s": 0.2}, {"name": "late", "at_s": 7}],
        },
    }
    with pytest.warns(ShortRunWarning) as caught:
        run(content)
    told = [str(one.message) for one in caught if one.category is ShortRunWarning]
    assert len(told) == 2
    assert told[0].startswith("workload.scheduled.1 (late) begins at 7 s")
    assert told[1].startswith("cluster.change.1 (restart of n3) happens at 9 s")


# -------------------------------------------------------------------- errors --
def test_a_run_that_never_ends_is_an_error_that_says_how_far_it_came() -> None:
    stuck = with_value(load(FIXED), "run.limit_s", 0.05)
    with pytest.raises(SimrepError, match=r"0\.05 simulated seconds .*: \d+ committed.*in flight"):
        run(stuck)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [({"seed": -1}, "seed"), ({"seed": 1.5}, "seed"), ({"replications": 0}, "replications")],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], path: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        run(FIXED, **arguments)
    assert caught.value.path == path


# ------------------------------------------------------------------ building --
def test_traits_of_machines_and_nodes_reach_the_cluster() -> None:
    traits = {
        "cores": 3, "slice_ms": 0.5, "cold_factor": 2.5, "cold_after_ms": 4, "wakeup_us": 30,
        "variation": 0.1,
    }  # fmt: skip
    content = FIXED | {
        "cluster": {"model": "galera", "nodes": 3, "machine": traits},
        "node": [{"name": "n2", "segment": 2}, {"name": "n3", "host": "big"}],
        "host": [{"name": "big", "cores": 9, "variation": 0}],
    }
    cluster = build_cluster(setup_of(load(content)), Clock(), Streams(1), None)
    assert list(cluster.names) == ["n1", "n2", "n3"]
    assert list(cluster.segments) == [0, 2, 0]
    assert list(cluster.client_hosts) == list(cluster.hosts)
    first, _, big = cluster.hosts
    assert (first.cores, first.slice_s, first.cold_factor) == (3, 0.0005, 2.5)
    assert (first.cold_after_s, first.wakeup_s) == (0.004, 0.00003)
    assert (big.cores, big.wakeup_s) == (9, 0.00003)
    # Varying machines draw random numbers, and different ones.
    assert big.noise is None
    assert len({host.noise() for host in cluster.hosts if host.noise is not None}) == 2
