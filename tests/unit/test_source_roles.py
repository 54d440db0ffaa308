"""Replicas that are promoted, the others that follow them, and sources that are left behind."""

from __future__ import annotations

import pytest

import simrep
from simrep.runs.replication import simulate
from simrep.runs.story import Follow

pytestmark = pytest.mark.filterwarnings("ignore::simrep.DegradedWarning")
NODES = ("n1", "n2", "n3")


def fault(what, node, at_s, until_s=None):
    table = {"what": what, "node": node, "at_s": at_s}
    return table if until_s is None else {**table, "until_s": until_s}


SHORT = {"asynchronous": {}, "semisync": {"rpl_semi_sync_source_timeout": 1000}}
KILLED = fault("kill", "n1", 3.0), fault("promote", "n2", 4.0)
"""The source dies, and another server takes its place."""


def content(*faults, model="semisync", duration_s=6.0, clients=4, rtt_ms=1.0, nodes=("n1",),
        think_ms=40.0, on_error="next", version="mysql-9", **options):  # fmt: skip
    return {
        "cluster": {"model": model, "nodes": 3, "version": version, "options": options},
        "network": {"rtt_ms": rtt_ms},
        "workload": {
            "threads": clients,
            "think_time_ms": think_ms,
            "nodes": list(nodes),
            "clients": {"on_error": on_error},
        },
        "run": {"duration_s": duration_s, "warmup_s": 1.0, "seed": 3},
        "fault": list(faults),
    }


def run(*faults, **how):
    return simrep.run(content(*faults, **how))


def said(result, *words):
    lines = result.timeline().lines
    return [(line.node, line.what, *line.of) for line in lines if line.what in words]


def fates(result):
    spreads = result.faults.fates
    return {name: getattr(spreads, name).median for name in spreads.__slots__}


def executed(result, node):
    counters = result.counters[node]
    return counters.get("Executed_Gtid_Set", counters["Binlog_commits"])


@pytest.mark.parametrize("model", ["asynchronous", "semisync"])
def test_a_switch_over_loses_nothing_and_all_follow_the_new_source(model):
    result = run(fault("promote", "n3", 4.0), model=model)
    told = fates(result)
    assert not any(told[name] for name in ("lost", "phantom", "extra", "unknown", "duplicated"))
    assert said(result, "read-only", "promoted", "repointed") == [
        ("n1", "read-only"),
        ("n3", "promoted"),
        ("n1", "repointed", "n3"),
        ("n2", "repointed", "n3"),
    ]
    assert len({executed(result, node) for node in NODES}) == 1
    # Clients are told that they cannot write on a replica, and find the one that takes writes.
    met = {name for name, node in result.nodes.items() if node.errors["1290"]}
    assert met == {"n1", "n2"}
    assert set(result.nodes.errors) == {"1290"}


@pytest.mark.parametrize(
    ("model", "options", "visible"),
    [
        ("asynchronous", {}, True),
        ("semisync", {}, False),
        ("semisync", {"rpl_semi_sync_source_wait_point": "AFTER_COMMIT"}, True),
    ],
)
def test_a_source_that_dies_loses_what_its_way_of_replication_allows(model, options, visible):
    """What it commits after its network has died; that it has sent before arrives."""
    network = fault("cut", "n1", 2.5, 4.5)
    result = run(*KILLED, network, fault("restart", "n1", 5.0), model=model, duration_s=7.0,
                 **options)  # fmt: skip
    told = fates(result)
    # Asynchronous: half a second of commits. Semi-synchronous: the commits that waited, which
    # nobody was told of; after the engine's commit, others may have read them. Crash recovery
    # commits all that are in the binary log: extra transactions of the old source.
    number = 4.0 * 0.5 / 0.0404 if model == "asynchronous" else 4.0
    assert told["extra"] == pytest.approx(number, abs=4.0 if model == "asynchronous" else 0.0)
    assert told["lost"] == told["diverged"] == (told["extra"] if model == "asynchronous" else 0.0)
    assert told["phantom"] == (told["extra"] if visible else 0.0)
    assert said(result, "promoted", "repointed") == [("n2", "promoted"), ("n3", "repointed", "n2")]
    assert executed(result, "n2") == executed(result, "n3")


def test_a_source_that_is_cut_off_goes_on_for_itself():
    """Both take writes: each at its own rate, and what the old one answers has diverged."""
    split = fault("cut", "n1", 3.0, 18.0), fault("promote", "n2", 4.0)
    how = {"duration_s": 18.0, "nodes": NODES, "on_error": "stay", "clients": 6}
    result = run(*split, model="asynchronous", **how)
    told = fates(result)
    rate_tps = 2.0 / 0.0404
    # From the cut on, but for clients that think; more is answered in vain than both take writes.
    assert told["diverged"] == pytest.approx(16.0 * rate_tps, rel=0.02)
    assert told["lost"] == told["extra"] == told["phantom"] == told["diverged"]
    # Semi-synchronous: not before its timeout, and then as fast.
    assert fates(run(*split, **how))["diverged"] == pytest.approx(6.0 * rate_tps, rel=0.02)


@pytest.mark.parametrize("model", ["asynchronous", "semisync"])
def test_an_old_source_that_is_back_is_written_on_until_it_is_made_to_follow(model):
    faults = *KILLED, fault("restart", "n1", 5.0), fault("promote", "n2", 9.0)
    result = run(*faults, model=model, duration_s=11.0, on_error="stay", **SHORT[model])
    assert said(result, "outside") == [("n1", "outside", "n2")]
    assert said(result, "repointed")[-1] == ("n1", "repointed", "n2")
    assert fates(result)["diverged"] > 0.0
    assert result.nodes["n1"].errors["1290"] > 0
    assert executed(result, "n1") == executed(result, "n2")


def test_mariadb_refuses_an_old_source_that_has_what_the_new_one_lacks():
    faults = *KILLED, fault("restart", "n1", 5.0), fault("promote", "n2", 9.0)
    how = {"model": "asynchronous", "duration_s": 11.0, "version": "mariadb-11.8"}
    options = {"log_slave_updates": True}
    result = run(*faults, on_error="stay", **how, **options)
    stops = [line for line in result.timeline().lines if "1236" in line.how]
    assert [(line.node, line.of) for line in stops] == [("n1", ("n2",))]
    assert fates(result)["extra"] > 0.0
    # Without transactions of its own it follows.
    followed = run(*faults, on_error="next", **how, **options)
    assert executed(followed, "n1") == executed(followed, "n2")


def test_a_replica_that_was_away_follows_the_new_source_when_it_is_back():
    away = fault("kill", "n3", 2.0), fault("restart", "n3", 5.0)
    result = run(*KILLED, *away, duration_s=9.0)
    assert ("n3", "repointed", "n2") in said(result, "repointed")
    assert executed(result, "n2") == executed(result, "n3")


def test_a_new_source_waits_for_the_acknowledgements_of_those_who_follow_it():
    gone = fault("kill", "n3", 6.0)
    result = run(*KILLED, gone, duration_s=10.0, rpl_semi_sync_source_timeout=2000)
    assert [line.node for line in result.timeline().lines if line.what == "async"] == ["n2"]
    assert result.counters["n2"]["Rpl_semi_sync_source_no_times"] == 1
    assert result.counters["n2"]["Rpl_semi_sync_source_yes_tx"] > 100


def test_a_source_that_dies_during_a_switch_over_is_left_alone():
    stalled = fault("disk-stall", "n1", 3.9, 6.9), fault("promote", "n2", 4.0)
    result = run(*stalled, fault("kill", "n1", 4.5), model="asynchronous", duration_s=6.0)
    assert said(result, "promoted") == [("n2", "promoted")]
    assert said(result, "repointed") == [("n3", "repointed", "n2")]


def test_a_promotion_is_the_same_again_and_whoever_looks_on():
    faults = fault("kill", "n1", 1.5), fault("promote", "n2", 2.0), fault("restart", "n1", 2.2)
    scenario = simrep.load(content(*faults, duration_s=4.0))
    plain = simulate(scenario, 7, trace=True)
    for how in ({}, {"watch_s": 0.01}, {"follow": Follow(1.4, 3.0)}):
        seen = simulate(scenario, 7, trace=True, **how)
        assert seen.trace_digest == plain.trace_digest
        assert seen.counters == plain.counters
        assert seen.fates == plain.fates


@pytest.mark.parametrize(
    ("faults", "options", "words"),
    [
        ([fault("promote", "n1", 2.0)], {}, ("the source already", "'n2' or 'n3'")),
        ([fault("cut", "n1", 1.5, 4.0), fault("promote", "n1", 2.0)], {}, ("source already",)),
        ([fault("promote", "n2", 2.0)], {"log_replica_updates": False}, ("log_replica_updates",)),
        (
            [{**fault("promote", "n2", 2.0), "transactions_timeout_s": 1.0}],
            {},
            ("transactions_timeout_s",),
        ),
        (
            [fault("kill", "n2", 1.0), fault("restart", "n2", 2.0), fault("promote", "n2", 2.5)],
            {},
            ("'n2'", "not there"),
        ),
    ],
)
def test_promotions_that_cannot_be_are_refused(faults, options, words):
    with pytest.raises(simrep.ScenarioError) as caught:
        run(*faults, duration_s=4.0, **options)
    for word in words:
        assert word in str(caught.value)
