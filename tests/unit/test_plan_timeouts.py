"""``plan timeouts``: a crash costs what timers add up to; short ones remove who was away."""

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.models.asynchronous.failover import timeouts as manager
from simrep.models.galera.questions import timeouts
from simrep.models.group_replication import timeouts as expel
from simrep.show.views import console, tables
from tests.legible import problems

CLUSTER = {
    "cluster": {"model": "galera", "nodes": 3},
    "workload": {"threads": 1, "think_time_ms": 20},
    "run": {"duration_s": 10},
}


@pytest.fixture
def two_settings(monkeypatch):
    """The shortest timers, and the defaults."""
    chosen = [one for one in timeouts._SETTINGS if one[1]["suspect_timeout"] in (1.5, 5.0)]
    monkeypatch.setattr(timeouts, "_SETTINGS", tuple(chosen))


@pytest.mark.usefixtures("two_settings")
def test_short_timeouts_cost_little_and_remove_who_was_away_for_a_moment():
    found = simrep.plan(
        CLUSTER, "timeouts", outage_s=2.5, loss=0.01, jitter_s=0.001, replications=1
    )
    short, usual = found.tried
    for one, low_s, high_s in ((short, 1.5, 2.25), (usual, 6.0, 6.5)):
        assert all(low_s - 0.05 <= stall_s <= high_s + 0.5 for stall_s in one.crash_s)
    assert short.removed == 1
    assert usual.removed == 0
    assert (found.value, found.low) == (5.0, 1.5)
    out = console(width=160)
    with out.capture() as caught:
        out.print(tables(found))
    assert "defaults" in caught.get()
    assert not problems(found.plot())
    assert [row["removed"] for row in found.to_dict()["steps"]] == [1, 0]
    assert all(stall_s == pytest.approx(gone_s, abs=0.5) for one in found.tried
               for stall_s, gone_s in zip(one.crash_s, one.removed_s, strict=True))  # fmt: skip
    assert "wsrep_provider_options = 'evs.suspect_timeout=PT5S'" in found.sentence


def test_expel_timeouts_cost_steps_of_fifteen_seconds_of_slow_commits(monkeypatch):
    monkeypatch.setattr(expel, "_SETTINGS", {0: "at once", 5: "defaults"})
    group = {**CLUSTER, "cluster": {"model": "group_replication", "nodes": 3}}
    clients = {"on_error": "next"}  # which needs a fault, as only n1 takes writes until then
    group["workload"] = {**CLUSTER["workload"], "nodes": ["n1"], "clients": clients}
    found = simrep.plan(group, "timeouts", outage_s=8.0, replications=1)
    at_once, usual = found.tried
    assert 6.0 <= at_once.removed_s[0] <= 7.4
    assert usual.removed_s[0] - at_once.removed_s[0] == pytest.approx(15.0, abs=0.3)
    assert usual.crash_s[0] < 1.0, "the others go on"
    assert usual.rates_tps[0] == pytest.approx(1 / 0.25, rel=0.25)
    assert (at_once.removed, usual.removed) == (1, 0)
    assert at_once.suspected == usual.suspected == 1
    assert (found.value, found.low) == (5.0, 0.0)
    assert "group_replication_member_expel_timeout = 5 removes nobody" in found.sentence
    assert not problems(found.plot())


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({}, [0, 5]),
        ({"outage_s": 10.0}, [0, 5, 30]),
        ({"loss": 0.01}, [0, 5, 30, 45, 60]),
        ({"outage_s": 80.0}, [0, 5, 30, 45, 60]),
    ],
)
def test_timeouts_that_only_cost_more_are_not_tried(options, values, monkeypatch):
    monkeypatch.setattr(expel, "weighed_timeouts", lambda _, tried, **__: tried)
    assert [one.timeout_s for one in expel.expel_timeouts(None, **options)] == values


@pytest.mark.parametrize(
    ("changed", "options", "match"),
    [
        ({}, {"outage_s": 0.0}, "outage_s: must be above 0"),
        ({"fault": [{"what": "kill", "node": "n3", "at_s": 1}]}, {}, "without faults"),
        ({"cluster": {"model": "galera", "nodes": 2}}, {}, "nobody survives"),
        ({"workload": {"queries": 10}, "run": {}}, {}, "set run.duration_s"),
        ({"cluster": {"model": "standalone"}}, {}, "models 'asynchronous' and 'galera'"),
    ],
)
def test_what_cannot_be_asked(changed, options, match):
    with pytest.raises(ScenarioError, match=match):
        simrep.plan({**CLUSTER, **changed}, "timeouts", **options)


def test_a_patient_manager_replaces_no_source_that_only_stood_still(monkeypatch):
    monkeypatch.setattr(manager, "_FAILURES", (2,))
    managed = {
        "cluster": {"model": "asynchronous", "nodes": 3,
                    "options": {"failover_manager": "mha", "manager_poll_s": 1.0}},
        "workload": {"threads": 1, "think_time_ms": 100, "nodes": ["n1"],
                     "clients": {"on_error": "next", "read_timeout_s": 2.0}},
        "run": {"duration_s": 10},
    }  # fmt: skip
    found = simrep.plan(managed, "timeouts", outage_s=8.0, replications=2)
    hasty, patient = found.tried
    assert (hasty.removed, patient.removed) == (2, 0)
    assert all(3.0 <= gone_s <= 3.0 * 2 + 1.1 for gone_s in hasty.removed_s)
    assert all(9.0 <= gone_s <= 3.0 * 4 + 1.1 for gone_s in patient.removed_s)
    assert (found.value, found.low, found.verb) == (4.0, 2.0, "replaced")
    assert found.sentence.startswith("manager_failures = 4 replaces no source that stands still")
    with pytest.raises(ScenarioError, match="failover_manager"):
        simrep.plan({**managed, "cluster": {"model": "asynchronous"}}, "timeouts")
    with pytest.raises(ScenarioError, match="clients wait without limit for a silent source"):
        simrep.plan({**managed, "workload": {"threads": 2, "think_time_ms": 200}}, "timeouts")
