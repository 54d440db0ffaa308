"""The harness for models of one's own: it works with every model, and its questions can fail."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.contract.registry import find_model, model_names
from simrep.contract.setup import setup_of
from simrep.models.standalone import Standalone
from simrep.runs.replication import Traffic, simulate
from simrep.scenario import load
from simrep.testing import (
    WiredCluster,
    check,
    check_conservation,
    check_convergence,
    check_determinism,
    check_floor,
    check_stages,
    free,
    reads,
    round_trip_s,
    updates,
)
from simrep.testing.strategies import scenarios

ONE_WRITER = {"asynchronous", "semisync", "group_replication"}
TRIANGLE = [[0.0, 0.01, 0.03], [0.012, 0.0, 0.02], [0.03, 0.02, 0.0]]
THREE = {
    "cluster": {"model": "semisync", "nodes": 3},
    "network": {"rtt_ms": 20, "path": [{"from": "n1", "to": "n2", "rtt_ms": 8}]},
    "workload": {
        "threads": 2,
        "class": [{"name": "write"}, {"name": "read", "statements": 0, "reads": 1}],
    },
    "run": {"duration_s": 0.2, "log": True},
}


@pytest.mark.parametrize("model", model_names())
@settings(max_examples=10)
@given(data=st.data())
def test_all_questions_are_answered_for_random_scenarios_of_every_model(
    model: str, data: st.DataObject
) -> None:
    writers = 1 if model in ONE_WRITER else None
    duration_s = data.draw(st.sampled_from([None, 0.2]))
    content = data.draw(scenarios(model, nodes=(2, 3), writers=writers, duration_s=duration_s))
    content["workload"]["retry"] &= duration_s is not None
    acknowledged_by = 1 if model in {"galera", "group_replication", "semisync"} else 0
    traffic = check(content, acknowledged_by=acknowledged_by)
    assert traffic.submitted > 0


@pytest.mark.parametrize("model", model_names())
def test_a_cluster_of_any_model_is_wired_by_hand(model: str) -> None:
    cluster = WiredCluster(find_model(model), TRIANGLE)
    cluster.client([updates(0, 0, 0, ["hot"]), reads(0, 0)], begin_s=3.0)
    cluster.client([updates(1, 0, 0, ["hot"], autocommit=False)], begin_s=3.1)
    cluster.run()
    assert cluster.outcomes == [True] * 3
    assert cluster.submitted == 3
    first = cluster.attempts[0]
    assert first.transaction.keys == (("client", 0, 0), "hot")
    assert 3.0 <= first.began_s <= first.ended_s < 3.1
    assert set(cluster.ran[first.transaction]) == {0}
    assert sum(cluster.model.counters()["n1"].values()) > 0


def test_what_never_ends_is_told() -> None:
    cluster = WiredCluster(Standalone, [[0.0]], costs={"statement_us": 2e6})
    cluster.client([updates(0, 0, 0)])
    with pytest.raises(AssertionError, match="0 of 1 ended in 1 s"):
        cluster.run(1)


def test_a_free_cluster_has_no_costs_and_infinite_speeds() -> None:
    model = find_model("group_replication").Costs
    costs = model(**free(model))
    assert costs.statement_us == costs.fsync_us == 0.0
    assert costs.disk_mb_per_s == 1e9
    assert costs.compression_ratio == model().compression_ratio


# -- the questions can fail ------------------------------------------------------------------------


def test_a_lost_transaction_is_told() -> None:
    check_conservation(Traffic(submitted=10, committed=6, aborted=3, in_flight=1))
    with pytest.raises(AssertionError, match="10 transactions were submitted, 6 committed, 3 ab"):
        check_conservation(Traffic(submitted=10, committed=6, aborted=3, in_flight=0))
    with pytest.raises(AssertionError, match="-1 transactions in flight"):
        check_conservation(Traffic(submitted=10, committed=8, aborted=3, in_flight=-1))


def test_stages_that_do_not_sum_to_the_latency_are_told() -> None:
    measurement = simulate(load(THREE), 1).measurement
    check_stages(measurement)
    stages = measurement.laps["write"]
    more = replace(measurement, laps={"write": (*stages[:-1], stages[-1] + 0.1)})
    with pytest.raises(AssertionError, match="the stages of write last"):
        check_stages(more)
    negative = replace(measurement, laps={"write": (stages[0] + 1.0, *stages[1:-1], -1.0)})
    with pytest.raises(AssertionError, match="a stage of write lasts -1 s in sum"):
        check_stages(negative)
    unknown = replace(measurement, laps={"delete": stages})
    with pytest.raises(AssertionError, match="of delete, of which no transaction has committed"):
        check_stages(unknown)


def test_a_commit_before_the_answers_can_have_come_is_told() -> None:
    setup = setup_of(load(THREE))
    assert [round_trip_s(setup, 0, others) for others in (1, 2)] == pytest.approx([0.008, 0.02])
    measurement = simulate(setup, 1).measurement
    check_floor(setup, measurement, 1)
    with pytest.raises(AssertionError, match=r"a write transaction took .* the round trip 0\.02 s"):
        check_floor(setup, measurement, 2)


@pytest.mark.parametrize(
    ("jitter", "least_s"),
    [
        ({"kind": "exponential", "mean_ms": 5}, 0.02),
        ({"kind": "uniform", "sd_ms": 2}, 0.016),
        ({"kind": "normal", "sd_ms": 2}, 0.0),
    ],
)
def test_jitter_may_shorten_the_way(jitter: dict[str, object], least_s: float) -> None:
    content = {**THREE, "network": {"rtt_ms": 20, "jitter": jitter}}
    assert round_trip_s(setup_of(load(content)), 0, 1) == pytest.approx(least_s)


def test_a_node_that_stays_behind_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load({**THREE, "workload": {"queries": 10}, "run": {}})
    check_convergence(setup_of(loaded))
    model = setup_of(loaded).model
    monkeypatch.setattr(model, "backlog", lambda _: {"n1": 0, "n3": 2})
    with pytest.raises(AssertionError, match=r"after 10 simulated seconds still .* {'n3': 2}"):
        check_convergence(setup_of(loaded), limit_s=10.0)
    with pytest.raises(AssertionError, match="clients have not ended after"):
        check_convergence(setup_of(loaded), limit_s=0.01)


def test_a_run_that_a_seed_does_not_determine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    delays = iter([0.001, 0.002])
    built = Standalone.__init__

    def late(self, cluster, options, costs):
        built(
            self,
            cluster,
            options.model_copy(),
            costs.model_copy(update={"statement_us": next(delays) * 1e6}),
        )

    monkeypatch.setattr(Standalone, "__init__", late)
    setup = setup_of(load({**THREE, "cluster": {"model": "standalone"}, "network": {}}))
    with pytest.raises(AssertionError, match="two runs with one seed have different"):
        check_determinism(setup)


def test_only_random_scenarios_need_hypothesis() -> None:
    code = "import sys, simrep.testing; sys.exit('hypothesis' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
