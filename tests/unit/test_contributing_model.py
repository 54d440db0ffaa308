"""The model of CONTRIBUTING, through every table of a scenario and every question.

Each gives a right answer or an error that says what the model does not tell.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

import simrep
from simrep.modelling import Holder, MessageText
from simrep.modelling.watching import describe
from simrep.testing import check_conservation
from tests import own_models

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(# acme_replication/primary_backup\.py\n.*?)```", re.DOTALL)
ONE_WAY_S = 0.010
LATENCY_S = 2 * ONE_WAY_S + 95e-6  # the round trip to the near backup, and a statement


def installed() -> dict[str, ModuleType]:
    """The code block as a package."""
    found = BLOCK.search((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert found
    package, module = ModuleType("acme"), ModuleType("acme.primary_backup")
    package.__path__ = []
    with mock.patch.dict(sys.modules, {"acme.primary_backup": module}):
        exec(compile(found[1], "CONTRIBUTING.md", "exec"), module.__dict__)
    return {"acme": package, "acme.primary_backup": module}


MODULES = installed()
MODEL = MODULES["acme.primary_backup"].PrimaryBackup


@pytest.fixture(autouse=True)
def model(monkeypatch):
    for name, module in MODULES.items():
        monkeypatch.setitem(sys.modules, name, module)
    own_models.install(monkeypatch, **{"primary-backup": "acme.primary_backup:PrimaryBackup"})


def scenario(**tables):
    near = {"from": "n1", "to": "n2", "rtt_ms": 2e3 * ONE_WAY_S}
    workload = {"preset": "mysqlslap-insert", "threads": 4, "nodes": ["n1"]}
    base = {
        "cluster": {"model": "primary-backup"},
        "network": {"rtt_ms": 80, "path": [near]},
        "workload": workload,
        "run": {"duration_s": 2.0, "warmup_s": 0.2},
    }
    return {name: {**base.get(name, {}), **table} for name, table in {**base, **tables}.items()}


def refused(ask, *words):
    with pytest.raises(simrep.SimrepError) as caught:
        ask()
    for word in words:
        assert word in str(caught.value)


# -- tables of a scenario ------------------------------------------------------------------------


def test_a_commit_takes_the_round_trip_to_the_near_backup():
    result = simrep.run(scenario())
    assert result.latency_s["p50"] == pytest.approx(LATENCY_S, rel=1e-3)
    assert result.breakdown().shares["acknowledgement"] > 0.99


def test_groups_have_mixes_of_their_own():
    classes = [{"name": "write"}, {"name": "read", "statements": 0, "reads": 1}]
    groups = [
        {"node": node, "threads": 2, "class": [name]}
        for node, name in (("n1", "write"), ("n1", "read"), ("n2", "read"))
    ]
    asked = scenario(run={"duration_s": 0.2})
    result = simrep.run({**asked, "workload": {"class": classes, "group": groups}})
    assert result.classes.keys() == {"write", "read"}
    assert result.classes["read"].latency.max_s < ONE_WAY_S < LATENCY_S
    assert result.classes["write"].latency.percentile(50) == pytest.approx(LATENCY_S, rel=1e-3)


def test_its_load_may_vary():
    phases = [{"at_s": at_s, "threads": threads} for at_s, threads in ((0.0, 1), (0.2, 3))]
    asked = scenario(run={"duration_s": 0.4, "warmup_s": 0.0})
    result = simrep.run({**asked, "workload": {"variation": {"phase": phases}}})
    few, many = (one.committed for one in result.load.periods)
    assert 2 * few <= many <= 3 * (few + 1)
    assert result.latency_s["p50"] == pytest.approx(LATENCY_S, rel=1e-3)


def test_it_knows_the_words_of_sysbench():
    words = {"tables": 4, "table_size": 1000, "rand_type": "pareto", "point_selects": 0}
    workload = {"preset": "sysbench-oltp-read-write", "threads": 2, "sysbench": words}
    asked = scenario(run={"duration_s": 0.2})
    result = simrep.run({**asked, "workload": workload})
    assert result.classes["read-write"].latency.count > 0
    refused(
        lambda: simrep.run({**asked, "workload": {**workload, "preset": "sysbench-oltp-insert"}}),
        "would ignore it",
    )


def test_without_acknowledgements_nobody_waits():
    few = {"queries": 100, "threads": 1}
    asked = scenario(cluster={"options": {"acknowledgements": 0}}, workload=few)
    result = simrep.run({**asked, "run": {}})
    assert result.latency_s["max"] < ONE_WAY_S


def test_session_variables_and_xa_are_refused():
    kind = {"name": "batch", "statements": 1, "rows": 1}
    for key, value in (("session", {"wsrep_trx_fragment_size": 1}), ("xa_hold_ms", 1.0)):
        workload = {"threads": 1, "class": [{**kind, key: value}]}
        asked = {**scenario(), "workload": workload}
        refused(lambda asked=asked: simrep.run(asked), f"workload.class.0.{key}", "primary-backup")


def test_an_outage_of_the_near_backup_holds_commits_up_until_the_far_one_answers():
    outage = [{"node": "n2", "from_s": 0.5, "to_s": 1.5}]
    result = simrep.run(scenario(network={"outage": outage}))
    assert result.latency_s["max"] == pytest.approx(0.080 + 95e-6, rel=0.01)


def test_a_scheduled_large_transaction_commits_and_is_reported():
    batch = {"name": "batch", "at_s": 0.5, "node": "n1", "rows": 20_000, "row_bytes": 100}
    result = simrep.run(scenario(workload={"scheduled": [batch]}))
    record = result.scheduled["batch"]
    assert record.rows == 20_000
    assert record.duration_s > LATENCY_S
    assert not record.error


# -- what it tells to explanations ---------------------------------------------------------------


@pytest.mark.parametrize("told", [None, "rows", ("rows",), MessageText("rows", None)])
def test_a_message_that_is_told_wrongly_is_a_clear_error(monkeypatch, told):
    monkeypatch.setattr(MODEL, "describe", lambda _self, _message: told)
    for ask in (simrep.explain, simrep.explain_tail):
        refused(lambda ask=ask: ask(scenario()), "describe() of model 'primary-backup'", "told ")


@pytest.mark.parametrize(
    "told", [None, "a backup", Holder(None), Holder("it", None), Holder("it", ("n1",))]
)
def test_a_holder_that_is_told_wrongly_is_a_clear_error(monkeypatch, told):
    module = MODULES["acme.primary_backup"]
    monkeypatch.setattr(module, "Holder", lambda _text: told)
    assert simrep.run(scenario()).committed
    said = "the holder of 'commit' on node 'n1'", "told "
    refused(lambda: simrep.explain_stall(scenario(), longer_than_s=0.001), *said)
    refused(lambda: simrep.explain(scenario()), *said)


@pytest.mark.parametrize("item", [(), [], object(), [1, 2], "n2"])
def test_who_applies_nothing_that_is_known_is_a_clear_error(item):
    refused(lambda: describe("n2", item), "'n2'", "told ")


# -- running -------------------------------------------------------------------------------------


def test_errors_are_counted_by_node_as_its_sessions_tell_them():
    keys = {"distribution": "hot", "rows": 2, "hot_rows": 2, "hot_fraction": 1.0}
    crossing = {"name": "crossing", "statements": 2, "keys": keys}
    groups = [{"node": "n1", "threads": 4}, {"node": "n2", "threads": 1}]
    asked = scenario(run={"duration_s": 1.0})
    result = simrep.run({**asked, "workload": {"class": [crossing], "group": groups}})
    assert result.nodes["n1"].errors == {"1213": result.aborted}
    assert result.nodes["n2"].errors == {"1213": 0}
    assert result.nodes["n3"].committed == 0
    assert "1213 deadlock" in str(result)
    assert result.degradation == {}  # it promises nothing beyond what it waits for


def test_sweeps_and_comparisons():
    levels = {"cluster.options.acknowledgements": [1, 2]}
    found = simrep.sweep(scenario(run={"duration_s": 10.0}), levels)
    one, two = (point.mean("latency_s.p50") for point in found.points)
    assert (one, two) == (pytest.approx(LATENCY_S, rel=0.01), pytest.approx(0.0801, rel=0.01))
    both = scenario(cluster={"options": {"acknowledgements": 2}})
    assert (
        simrep.compare(scenario(), both, figures=["latency_s.p50"], replications=2)
        .figures["latency_s.p50"]
        .different
    )


def test_the_sustainable_rate_is_that_of_the_processors_of_the_writer():
    slow = scenario(cluster={"costs": {"statement_us": 9_995.0}, "machine": {"cores": 1}})
    rate = simrep.sustainable_rate(slow).rate_tps  # a statement of 9.995 ms, and a row of 5 us
    assert rate == pytest.approx(100.0, rel=0.06)


def test_a_rate_that_the_model_tells_nothing_of_is_refused(monkeypatch):
    monkeypatch.delattr(MODEL, "backlog")
    refused(lambda: simrep.sustainable_rate(scenario()), "primary-backup", "backlog")
    refused(lambda: simrep.plan(scenario(), "rate", replications=2), "primary-backup", "backlog")


@pytest.mark.parametrize("told", [[0, 0, 0], {"n1": 0}, {"n1": 0, "n2": 0, "n3": 0, "n4": 0}])
def test_a_backlog_that_does_not_tell_every_node_is_refused(monkeypatch, told):
    monkeypatch.setattr(MODEL, "backlog", lambda _: told)
    refused(lambda: simrep.sustainable_rate(scenario()), "primary-backup", "every node")


# -- questions -----------------------------------------------------------------------------------


def test_the_largest_round_trip_and_the_fewest_clients():
    rough = {"precision": 0.3, "replications": 4}
    found = simrep.plan(
        scenario(), "rtt", objective="p50<=30ms", path="network.path.0.rtt_ms", **rough
    )
    assert found.low < 30.0 < found.high
    clients = simrep.plan(scenario(), "clients", objective="tps>=120", within=(1, 8), **rough)
    assert clients.value == 3  # 3 / 20.1 ms = 149/s


def test_the_highest_rate_is_asked_with_an_interval():
    slow = scenario(cluster={"costs": {"statement_us": 9_995.0}, "machine": {"cores": 1}})
    found = simrep.plan(slow, "rate", replications=2, precision=0.2)
    assert found.low < 100.0 < found.high


def test_the_capacity_is_asked_by_clients_and_by_rate(monkeypatch):
    slow = {"costs": {"statement_us": 9_995.0}, "machine": {"cores": 1}}
    short = scenario(cluster=slow, run={"duration_s": 0.5, "warmup_s": 0.1})
    how = {"objective": "mean<=100ms", "replications": 4, "precision": 0.5}
    clients = simrep.plan(short, "capacity", within=(2, 16), **how)
    assert 5 <= clients.value < 10  # 10 ms each, and the round trip
    rate = simrep.plan(short, "capacity", by="rate", within=(10, 20), **how)
    assert rate.value == 20.0
    monkeypatch.delattr(MODEL, "backlog")
    untold = simrep.plan(short, "capacity", by="rate", within=(10, 20), **how)
    assert "does not tell how far its nodes are behind" in str(untold)


def test_the_largest_transaction():
    batch = {"name": "batch", "at_s": 0.5, "node": "n1", "rows": 1000, "row_bytes": 100}
    asked = scenario(workload={"scheduled": [batch]}, run={"duration_s": 4.0})
    rough = {"precision": 1.0, "replications": 4}
    found = simrep.plan(asked, "transaction", longest_stall_s=0.5, within=(100, 10_000), **rough)
    assert found.value is not None


def test_a_large_transaction_of_which_the_model_tells_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(MODEL, "tell", lambda *_: None)
    batch = {"name": "batch", "at_s": 0.5, "node": "n1", "rows": 1000, "row_bytes": 100}
    load = {"threads": 1, "scheduled": [batch], "class": [{"name": "small", "rows": 1}]}
    asked = {**scenario(), "workload": load, "run": {"settle_s": 1.0}}
    refused(lambda: simrep.run(asked), "workload.scheduled", "primary-backup", "journal")


def test_questions_about_what_the_model_does_not_have_are_refused():
    refused(lambda: simrep.plan(scenario(), "appliers", tps=10), "primary-backup", "appliers")
    for question in ("fragment", "gcache"):
        refused(lambda question=question: simrep.plan(scenario(), question), question, "galera")


def test_products_at_regions_are_ranked_with_its_load():
    found = simrep.plan(
        scenario(workload={"threads": 1}, run={"duration_s": 0.5, "warmup_s": 0.0}),
        "product",
        regions=["us-east-1", "us-west-2", "eu-west-1"],
        writes="us-east-1",
        objective="tps>=1",
        replications=2,
    )
    assert found.best is not None


def test_no_closed_form_is_made_up():
    opinion = simrep.analytic(scenario())
    assert (opinion.holds, opinion.throughput_tps) == (False, None)
    assert "primary-backup" in " ".join(opinion.reasons)


# -- explanations --------------------------------------------------------------------------------


def test_a_commit_is_explained_with_reasons_and_messages():
    found = simrep.explain(scenario())
    waited = max(found.stages, key=lambda stage: stage.seconds)
    assert waited.name == "acknowledgement"
    assert "1 of the other nodes to reply" in waited.reason
    critical = [one.label for one in found.messages if one.critical]
    assert critical == ["rows", "reply"]
    assert sum(stage.seconds for stage in found.stages) == pytest.approx(found.latency_s)


def test_the_tail_and_a_stall_are_explained():
    tail = simrep.explain_tail(scenario())
    assert tail.floor_s == pytest.approx(2 * ONE_WAY_S, rel=0.01)
    cut = [{"node": "n1", "from_s": 0.5, "to_s": 1.5}]
    stall = simrep.explain_stall(scenario(network={"outage": cut}))
    assert stall.stall.seconds > 1.0
    assert any("to reply" in one.waited_for for one in stall.blockages)


def test_a_tail_without_told_messages_claims_no_floor(monkeypatch):
    from simrep.network.watched import WatchedNetwork

    monkeypatch.setattr(WatchedNetwork, "handler", lambda _self, _node, handle: handle)
    tail = simrep.explain_tail(scenario())
    assert tail.to_dict()["floor_s"] is None
    assert "does not tell which message" in " ".join(tail.sentences())


def test_it_has_sliders():
    found = simrep.explore(scenario(workload={"threads": 2}, run={"duration_s": 0.5}))
    assert "workload.threads" in found.levels
    found.set({"workload.threads": found.levels["workload.threads"][-1]})
    assert found.now.throughput_tps > found.first.throughput_tps


@pytest.mark.parametrize(
    "fault",
    [
        {"what": "pause", "until_s": 0.4},
        {"what": "disk-stall"},
        {"what": "slow", "cpu_factor": 2.0},
        {"what": "kill"},
        {"what": "power-loss"},
        {"what": "cut", "until_s": 0.31},
        {"what": "loss", "loss": 0.1},
    ],
)
def test_a_fault_that_it_does_not_say_it_plays_is_refused(fault):
    given = scenario() | {"fault": [{"node": "n2", "at_s": 0.3, **fault}]}
    refused(lambda: simrep.run(given), "fault.0.what", "'primary-backup'", repr(fault["what"]))


def test_servers_come_and_go_as_it_says_that_it_plays(monkeypatch):
    played = []
    monkeypatch.setattr(MODEL, "faults", frozenset({"kill", "restart"}))
    monkeypatch.setattr(MODEL, "change", lambda _, change: played.append(change))
    kill = {"what": "kill", "node": "n2", "at_s": 0.3, "name": "crash"}
    restart = {"what": "restart", "node": "n2", "at_s": 0.5, "transfer_s": 0.1}
    simrep.run(scenario() | {"fault": [restart, kill]})
    assert [(one.at_s, one.node, one.what) for one in played] == [
        (0.3, 1, "kill"),
        (0.5, 1, "restart"),
    ]
    leave = kill | {"what": "leave"}
    refused(lambda: simrep.run(scenario() | {"fault": [leave]}), "fault.crash.what", "'leave'")
    monkeypatch.delattr(MODEL, "change")
    refused(lambda: simrep.run(scenario() | {"fault": [kill]}), "no method change()", "'kill'")


def test_links_are_cut_for_as_long_as_it_says_that_nobody_notices(monkeypatch):
    cut = {"what": "cut", "node": "n2", "at_s": 0.5, "until_s": 1.5}
    monkeypatch.setattr(MODEL, "silence_limit_s", lambda _: 5.0)
    result = simrep.run(scenario() | {"fault": [cut]})
    assert result.latency_s["max"] == pytest.approx(0.080 + 95e-6, rel=0.01)
    monkeypatch.setattr(MODEL, "silence_limit_s", lambda _: 0.3)
    refused(lambda: simrep.run(scenario() | {"fault": [cut]}), "fault.0.what", "a cut of 1 s")


def test_its_clients_give_up_and_turn_to_another_node():
    policy = {"on_error": "next", "read_timeout_s": LATENCY_S / 2, "retry_pause_s": 0.1}
    preset = {"preset": "mysqlslap-insert", "threads": 4, "nodes": ["n1"]}
    with pytest.warns(simrep.ShortRunWarning, match="no transaction committed"):
        (run,) = simrep.run(scenario(workload=preset | {"clients": policy})).runs
    check_conservation(run.traffic)
    assert {(one.node, one.error) for one in run.attempts.errors()} >= {
        ("n1", "2013"),
        ("n2", "2013"),
    }
    assert run.fates.answered == 0
    assert run.fates.unknown_present > 0.9 * run.fates.unknown > 0


def test_costs_of_single_nodes_are_refused_and_traits_of_machines_hold():
    costs = [{"name": "n1", "costs": {"statement_us": 5.0}}]
    nodes = {"cluster": {"nodes": ["n1", "n2", "n3"]}}
    refused(lambda: simrep.run(scenario(**nodes) | {"node": costs}), "node.0.costs", "same costs")
    slow = [{"name": "n1", "cpu_factor": 1000.0}]
    result = simrep.run(scenario(**nodes) | {"node": slow})
    assert result.latency_s["p50"] > LATENCY_S + 0.05


@pytest.mark.parametrize("cost", [float("inf"), float("nan")])
def test_a_cost_without_end_is_refused_though_it_gives_no_bound(cost):
    costs = {"costs": {"statement_us": cost}}
    refused(lambda: simrep.run(scenario(cluster=costs)), "cluster.costs.statement_us")


def test_a_year_of_it_is_stopped_at_its_first_second(monkeypatch):
    monkeypatch.setattr("simrep.kernel.budget._LOOK", 1000)
    refused(
        lambda: simrep.run(scenario(run={"duration_s": 3e7, "interval_s": 1e3})),
        "would take about",
        "of 3e+07 simulated seconds",
    )
