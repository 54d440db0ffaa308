"""Why one transaction took as long as it did, in every model."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli.app import app
from simrep.errors import ScenarioError, SimrepError
from tests.blocked_clusters import SMALL, scenario

MODELS = ["standalone", "asynchronous", "semisync", "galera", "group_replication"]
US, MS = 1e-6, 1e-3
HOT = {"name": "hot", "keys": {"distribution": "hot", "rows": 10, "hot_rows": 1, "hot_fraction": 1}}
RTT_MS = 20.0


def busy(model: str, **workload: Any) -> dict[str, Any]:
    """Eight clients that update rows, some of them hot, with the costs of the model."""
    return {
        "cluster": {"model": model, "nodes": 3},
        "network": {"rtt_ms": RTT_MS},
        "workload": {
            "preset": "sysbench-oltp-update-index",
            "threads": 8,
            "nodes": ["n1"],
            "client": "own",
            "client_rtt_ms": 1.0,
            **workload,
        },
        "run": {"duration_s": 0.06, "warmup_s": 0.04, "seed": 3},
    }


def quiet(model: str, **how: Any) -> dict[str, Any]:
    """A cluster of three on which only the network takes time, and what is asked for."""
    how = {"size": 3, "network": {"rtt_ms": RTT_MS}, "classes": [SMALL], "nodes": ["n1"], **how}
    return scenario(model, duration_s=1.0, **how)


def stages(explanation: simrep.Explanation) -> dict[str, float]:
    return {stage.name: stage.seconds for stage in explanation.stages}


# -- the sum ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("txn", ["slowest", "p50", "p95", 7])
def test_stages_follow_each_other_and_sum_to_the_latency(model: str, txn: Any) -> None:
    found = simrep.explain(busy(model), txn=txn)
    assert found.stages[0].began_s == found.started_s
    assert found.stages[-1].ended_s == found.ended_s
    assert all(a.ended_s == b.began_s for a, b in pairwise(found.stages))
    assert sum(s.seconds for s in found.stages) == pytest.approx(found.latency_s, abs=US)
    assert "other" not in stages(found)


@pytest.mark.parametrize("model", MODELS)
def test_transactions_are_those_of_the_run(model: str) -> None:
    content = busy(model)
    content["run"]["log"] = True
    result = simrep.run(content)
    log = result.runs[0].measurement.log
    assert log is not None
    latencies = np.sort(log.latency_s[log.committed])
    assert result.explain().latency_s == latencies[-1]
    p95 = result.explain("p95")
    assert p95.latency_s == latencies[int(np.ceil(0.95 * len(latencies))) - 1]
    assert result.explain("p999").to_dict() == result.explain("p99.9").to_dict()
    third = result.explain(3)
    assert third.latency_s == log.latency_s[log.committed][2]
    assert third.client == log.client[log.committed][2]


@pytest.mark.parametrize("pack", ["pxc-5.7.16", "rig-mysql-9.7", "mine.toml"])
def test_a_result_can_be_explained_without_its_pack(pack: str, tmp_path: Any) -> None:
    """The pack may lie beside the scenario, where a result does not find it again."""
    if pack == "mine.toml":
        (tmp_path / pack).write_text(
            '[pack]\nname = "mine"\nmodel = "galera"\ndescription = "mine"\nmachine = "mine"\n'
            'source = "mine"\nfitted_on = "nothing"\n[costs]\nfsync_us = 4321.0\n'
        )
    model = "group_replication" if "mysql" in pack else "galera"
    path = tmp_path / "cluster.toml"
    path.write_text(
        f'[cluster]\nmodel = "{model}"\npack = "{pack}"\nnodes = 3\n[network]\nrtt_ms = 5\n'
        "[workload]\nthreads = 4\n[run]\nduration_s = 0.5\n"
    )
    result = simrep.run(path)
    assert result.explain().latency_s == result.latency_s["max"]
    assert result.explain("p50").latency_s == simrep.explain(path, txn="p50").latency_s


def test_what_a_retried_transaction_lost_is_a_stage() -> None:
    few = {"name": "few", "keys": {"distribution": "uniform", "rows": 20}}
    everywhere = busy("galera", nodes=["n1", "n2"], retry=True, **{"class": [few]})
    everywhere["workload"].pop("preset")
    everywhere["run"]["duration_s"] = 0.3
    explained = (simrep.explain(everywhere, txn=number) for number in range(1, 100))
    found = next(one for one in explained if "retries" in stages(one))
    assert sum(s.seconds for s in found.stages) == pytest.approx(found.latency_s, abs=US)


# -- messages --------------------------------------------------------------------------------------

PATHS = {
    # Three hops: a message is safe when each of the others is known to have it.
    "galera": ["writeset", "empty message", "gap"],
    # A member that proposes nothing gives its slot up when it learns of a later one.
    "group_replication": ["accept: transaction", "ack", "learn", "skip"],
    "semisync": ["events", "reply"],
}
WAITS = {"galera": "order", "group_replication": "order", "semisync": "acknowledgement"}


@pytest.mark.parametrize("model", PATHS)
def test_the_critical_path_of_a_lone_transaction(model: str) -> None:
    found = simrep.explain(quiet(model, threads=1), txn=5)
    path = [message for message in found.messages if message.critical]
    labels = [message.label.rstrip(" 0123456789") for message in path]
    assert labels == PATHS[model]
    for before, after in pairwise(path):
        assert after.cause == before.number
        assert after.source == before.target
        assert after.sent_s >= before.arrived_s
    assert path[0].source == path[-1].target == found.node
    assert all(m.arrived_s - m.sent_s == pytest.approx(RTT_MS / 2 * MS) for m in path)
    hops_s = len(path) * RTT_MS / 2 * MS
    assert stages(found)[WAITS[model]] == pytest.approx(hops_s, rel=1e-3)
    (stage,) = [one for one in found.stages if one.name == WAITS[model]]
    assert path[-1].label in stage.reason


def test_the_critical_path_leads_over_the_slowest_member() -> None:
    content = quiet("galera", threads=1)
    content["network"]["path"] = [{"from": "n1", "to": "n3", "rtt_ms": 100.0}]
    found = simrep.explain(content, txn=5)
    links = {frozenset((m.source, m.target)) for m in found.messages if m.critical}
    assert frozenset((0, 2)) in links


def test_nobody_waits_for_messages_of_asynchronous_replication() -> None:
    found = simrep.explain(busy("asynchronous"))
    assert any(message.own for message in found.messages)
    assert not any(message.critical for message in found.messages)


@pytest.mark.parametrize("model", ["asynchronous", "semisync", "galera", "group_replication"])
def test_every_node_applies_the_transaction(model: str) -> None:
    content = quiet(model, threads=1, costs={"apply_us": 500.0})
    found = simrep.explain(content, txn=5)
    applied = {a.node for a in found.activities if a.own and a.what == "being applied"}
    assert applied == {1, 2}
    assert all(a.ended_s <= found.until_s for a in found.activities)


# -- waits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_a_lock_wait_names_the_holder_and_what_that_did(model: str) -> None:
    costs = {"fsync_us": 2000.0, "statement_us": 100.0}
    content = quiet(model, threads=3, classes=[HOT], costs=costs)
    found = simrep.explain(content)
    (wait,) = [one for one in found.stages if one.name == "lock wait"]
    assert "row " in wait.reason
    assert "hot" in wait.reason
    assert "then in its stage" in wait.reason
    longest = max(found.stages, key=lambda one: one.seconds)
    assert longest.name in {"lock wait", "order", "acknowledgement"}


def test_the_send_window_is_a_stage_of_its_own() -> None:
    """The window is open, or it is not: then a message of the group lets the next one go."""
    options = {"evs.send_window": 1, "evs.user_send_window": 1}
    found = simrep.explain(quiet("galera", threads=6, options=options))
    (window,) = [one for one in found.stages if one.name == "send window"]
    assert window.seconds > 5 * MS
    assert "let it go" in window.reason
    wide = {"evs.send_window": 512, "evs.user_send_window": 512}
    free = simrep.explain(quiet("galera", threads=6, options=wide))
    assert stages(free).get("send window", 0.0) < 1 * MS


def test_flow_control_is_named() -> None:
    content = quiet(
        "galera",
        threads=8,
        options={"gcs.fc_limit": 2, "wsrep_slave_threads": 1},
        costs={"apply_us": 5000.0},
    )
    found = simrep.explain(content)
    (queue,) = [one for one in found.stages if one.name == "queue"]
    assert "flow control of n" in queue.reason


# -- the tail --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_shares_of_the_tail_add_up(model: str) -> None:
    found = simrep.explain_tail(busy(model), share=0.1)
    assert sum(stage.share for stage in found.stages) == pytest.approx(1.0)
    assert sum(stage.slow_s for stage in found.stages) == pytest.approx(found.latency_s)
    assert found.above_s == pytest.approx(found.latency_s - found.floor_s, rel=1e-6)
    assert found.transactions == int(np.ceil(0.1 * found.committed))
    assert found.latency_s >= found.from_s >= found.rest_s * 0.5


@pytest.mark.parametrize(("model", "hops"), [("semisync", 2), ("galera", 3)])
def test_the_network_floor_is_that_of_a_lone_transaction(model: str, hops: int) -> None:
    found = simrep.explain_tail(quiet(model, threads=6))
    assert found.floor_s == pytest.approx(hops * RTT_MS / 2 * MS, rel=1e-3)


def test_the_tail_of_a_narrow_window_waits_for_it() -> None:
    options = {"evs.send_window": 1, "evs.user_send_window": 1}
    found = simrep.explain_tail(quiet("galera", threads=6, options=options))
    assert found.stages[0].name == "send window"
    assert found.stages[0].share > 0.9
    assert any(text.endswith("waiting for the send window.") for text in found.sentences())


def test_the_tail_of_a_hot_row_waits_for_what_its_holders_wait_for() -> None:
    found = simrep.explain_tail(quiet("semisync", threads=6, classes=[HOT]))
    locks = found.stages[0]
    assert locks.name == "lock wait"
    assert locks.blockers[0].who == "hot on n1"
    assert locks.blockers[0].doing == "stage acknowledgement"
    held_s = sum(one.seconds for one in locks.blockers)
    assert held_s == pytest.approx(locks.slow_s, rel=0.02)


def test_holders_that_committed_during_the_warm_up_are_known() -> None:
    content = quiet("semisync", threads=6, classes=[HOT])
    content["run"]["warmup_s"] = 0.9
    found = simrep.explain_tail(content, share=1.0)
    assert {one.doing for one in found.stages[0].blockers} <= {
        "stage acknowledgement", "stage commit order", "stage execute", "stage flush",
        "stage commit", "stage lock wait", "stage client",
    }  # fmt: skip


def test_messages_that_hold_a_station_are_one_blocker() -> None:
    options = {
        "group_replication_single_primary_mode": False,
        "group_replication_consistency": "BEFORE_AND_AFTER",
    }
    content = busy("group_replication", nodes=["n1", "n2"])
    content["cluster"]["options"] = options
    content["run"]["duration_s"] = 0.25
    found = simrep.explain_tail(content, share=1.0)
    names = {one.who for stage in found.stages for one in stage.blockers}
    assert "a message of the group" in names
    assert not [name for name in names if "(" in name]


def test_every_class_has_a_floor_of_its_own() -> None:
    reads = {"name": "r", "statements": 0, "reads": 1, "weight": 6.0}
    found = simrep.explain_tail(
        quiet("group_replication", threads=6, classes=[reads, {"name": "w", "weight": 4.0}])
    )
    assert found.floor_s == pytest.approx(4 * RTT_MS / 2 * MS, rel=2e-2)
    assert simrep.explain_tail(quiet("galera", threads=6, classes=[reads])).floor_s == 0.0


def test_the_floor_knows_no_outage_and_counts_round_trips_of_the_client() -> None:
    content = quiet("semisync", threads=2, client="own", client_rtt_ms=10.0)
    content["workload"]["class"] = [{"name": "two", "statements": 2, "pause_ms": 50.0}]
    content["network"]["outage"] = [{"node": "n2", "from_s": 0.0, "to_s": 0.5}]
    found = simrep.explain_tail(content, share=0.5)
    assert found.floor_s == pytest.approx((4 * 10.0 + RTT_MS) * MS, rel=1e-2)


def test_a_load_that_its_server_splits_is_one_transaction() -> None:
    load = {"name": "load", "rows": 12_000, "row_bytes": 10, "load_data": True}
    content = quiet(
        "galera", threads=1, classes=[load], options={"wsrep_load_data_splitting": True},
        version="mariadb-10.6",
    )  # fmt: skip
    result = simrep.run(content)
    found = result.explain()
    assert found.rows == 12_000
    assert found.latency_s == result.latency_s["max"]
    assert "retries" not in stages(found)
    assert sum(s.seconds for s in found.stages) == pytest.approx(found.latency_s, abs=US)
    assert found.rank.endswith(f"of {result.committed:,.0f}")
    assert sum(result.breakdown().stages.values()) == pytest.approx(result.latency_s["mean"])


@pytest.mark.parametrize(
    ("level", "kind"), [("AFTER", SMALL), ("BEFORE", {"name": "r", "statements": 0, "reads": 1})]
)
def test_what_a_consistency_level_waits_for_is_on_the_critical_path(level: str, kind: Any) -> None:
    options = {"group_replication_consistency": level}
    content = quiet("group_replication", threads=1, classes=[kind], options=options)
    found = simrep.explain(content, txn=3)
    (wait,) = [one for one in found.stages if one.name == "consistency"]
    assert wait.reason
    during = [m for m in found.messages if m.critical and m.arrived_s > wait.began_s]
    assert during
    tail = simrep.explain_tail(content)
    (stage,) = [one for one in tail.stages if one.name == "consistency"]
    assert stage.floor_s > 0.5 * stage.slow_s


def test_a_member_that_has_died_is_named() -> None:
    content = quiet("galera", threads=2)
    content["run"]["duration_s"] = 8.0
    content["cluster"]["change"] = [{"at_s": 1.0, "node": "n3", "what": "crash"}]
    found = simrep.explain(content)
    (order,) = [one for one in found.stages if one.name == "order"]
    assert order.seconds > 1.0
    assert "n3, from which nothing came" in order.reason
    assert simrep.explain_tail(content).floor_s == 0.0


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("txn", ["fastest", "p100", 0, -1, 10**9, True, None, 1.5])
def test_a_transaction_that_is_none(txn: Any) -> None:
    with pytest.raises(ScenarioError, match="txn"):
        simrep.explain(quiet("standalone", threads=1), txn=txn)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5, float("nan")])
def test_a_share_that_is_none(share: float) -> None:
    with pytest.raises(ScenarioError, match="share"):
        simrep.explain_tail(quiet("standalone", threads=1), share=share)


def test_a_run_without_commits_cannot_be_explained() -> None:
    content = quiet("semisync", threads=1)
    content["network"]["rtt_ms"] = 5000.0
    with pytest.raises(SimrepError, match="no transaction committed"):
        simrep.explain(content)
    with pytest.raises(SimrepError, match="no transaction committed"):
        simrep.explain_tail(content)


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Any) -> str:
    path = tmp_path / "cluster.toml"
    path.write_text(
        '[cluster]\nmodel = "galera"\nnodes = 3\n[network]\nrtt_ms = 20\n'
        "[workload]\nthreads = 4\n[run]\nduration_s = 1\n"
    )
    return str(path)


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["explain", *arguments], env={"COLUMNS": "120"})


def test_the_command_prints_stages_reasons_and_the_critical_path(file: str) -> None:
    shown = invoke(file, "--txn", "p95")
    assert shown.exit_code == 0, shown.output
    for word in ("the p95 of", "order", "made it safe to deliver", "writeset", "latency"):
        assert word in shown.output


def test_json_of_the_command_is_that_of_the_explanation(file: str) -> None:
    shown = invoke(file, "--json", "--txn", "2")
    content = json.loads(shown.stdout)
    assert content == json.loads(json.dumps(simrep.explain(file, txn=2).to_dict()))
    assert sum(stage["seconds"] for stage in content["stages"]) == pytest.approx(
        content["latency_s"], abs=US
    )
    tail = json.loads(invoke(file, "--json", "--tail", "10%").stdout)
    assert tail["share"] == 0.1


def test_the_command_names_options_that_do_not_go_together(file: str) -> None:
    for arguments, words in (
        (("--txn", "1", "--stall"), "two questions"),
        (("--tail", "5%", "--stall"), "two questions"),
        (("--longer-than", "1s"), "belongs to --stall"),
        (("--tail", "5%", "--trace", "a.json"), "of one transaction"),
        (("--tail", "200%"), "at most 100 %"),
        (("--tail", "much"), "not a share"),
        (("--txn", "fastest"), "slowest, a percentile"),
        (("--trace", "nowhere/a.json"), "no folder"),
        (("--txn", ""), "slowest, a percentile"),
    ):  # fmt: skip
        shown = invoke(file, *arguments)
        assert shown.exit_code == 2, arguments
        assert words in shown.output
