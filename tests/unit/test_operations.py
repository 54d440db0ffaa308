"""What operators do to a running cluster: read, checked, and refused where nobody plays it."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.scenario.events import events

BASE: dict[str, Any] = {
    "cluster": {"model": "standalone", "nodes": ["n1"]},
    "run": {"duration_s": 8.0},
}


def scenario(**tables: Any) -> simrep.Scenario:
    return simrep.load(BASE | tables)


@pytest.mark.parametrize(
    ("tables", "path", "word"),
    [
        (
            {"maintenance": [{"what": "desync", "node": "n1", "at_s": 1.0}]},
            "maintenance.0",
            "desync",
        ),
    ],
)
def test_what_a_model_does_not_play_is_refused(tables: Any, path: str, word: str) -> None:
    with pytest.raises(simrep.ScenarioError, match=f"does not play '{word}'") as caught:
        simrep.run(scenario(**tables))
    assert caught.value.path == path


def test_operations_are_events_of_a_scenario() -> None:
    told = scenario(
        workload={"ddl": [{"at_s": 1.0, "rows": 10, "kind": "instant", "name": "new column"}]},
        maintenance=[{"what": "lock-tables", "node": "n1", "at_s": 2.0, "until_s": 3.0}],
    )
    assert [(one.path, one.what, one.at_s) for one in events(told)] == [
        ("workload.ddl.new column", "ALTER TABLE (instant) on n1", 1.0),
        ("maintenance.0", "LOCK TABLES WRITE on n1", 2.0),
    ]
    assert not any(one.of_load for one in events(told))


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ({"maintenance": [{"what": "desync", "node": "n9", "at_s": 1.0}]}, "no node 'n9'"),
        (
            {"maintenance": [{"what": "desync", "node": "n1", "at_s": 9.0}]},
            "after the end of the run",
        ),
        (
            {"maintenance": [{"what": "desync", "node": "n1", "at_s": 3.0, "until_s": 2.0}]},
            "must be after at_s",
        ),
        (
            {"workload": {"ddl": [{"at_s": 1.0, "rows": 10, "class": ["other"]}]}},
            "no class 'other'",
        ),
        ({"setting": [{"at_s": 1.0, "options": {}}]}, "options"),
    ],
)
def test_an_operation_that_cannot_be_is_an_error(tables: Any, problem: str) -> None:
    with pytest.raises(simrep.ScenarioError, match=problem):
        scenario(**tables)
