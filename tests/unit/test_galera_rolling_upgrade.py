"""Tables that are changed node by node, and rows that do not fit those of another node."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.runs.replication import Replication, simulate

WORK_S = 0.3


def upgraded(
    ddl: dict[str, Any], *writers: str, version: str = "mariadb-11.8", size: int = 3,
    end_s: float = 4.0, faults: tuple[dict[str, Any], ...] = (), think_ms: float = 20.0,
) -> Replication:  # fmt: skip
    """A change of a table by RSU, which takes WORK_S on each node, with a client on each writer."""
    told = {
        "cluster": {
            "model": "galera",
            "version": version,
            "nodes": size,
            "data_bytes": 10_000_000,
            "options": {"wsrep_slave_threads": 4},
            "costs": {"ddl_copied_row_us": WORK_S * 1e5, "ddl_ms": 0.0, "ddl_byte_ns": 0.0},
        },
        "network": {"rtt_ms": 0.5},
        "workload": {
            "think_time_ms": think_ms,
            "group": [
                {"name": f"on-{node}", "node": node, "class": ["order"], "threads": 1}
                for node in writers
            ],
            "class": [{"name": "order"}],
            "ddl": [{"name": "alter", "at_s": 1.0, "rows": 10, "method": "RSU"} | ddl],
        },
        "fault": list(faults),
        "run": {"warmup_s": 0.0, "duration_s": end_s},
    }
    return simulate(simrep.load(told), 1)


def noted(run: Replication, *what: str) -> list[tuple[str, int]]:
    return [(one.what, one.node) for one in run.noted if one.what in what]


def test_nodes_change_one_after_the_other() -> None:
    run = upgraded({"nodes": ["n3", "n2"]}, "n1")
    assert noted(run, "desynced", "ddl-ends", "synced") == [
        ("desynced", 2), ("ddl-ends", 2), ("synced", 2),
        ("desynced", 1), ("ddl-ends", 1), ("synced", 1),
    ]  # fmt: skip
    begins = [one.at_s for one in run.noted if one.what == "ddl-begins"]
    synced_s = next(one.at_s for one in run.noted if one.what == "synced")
    assert begins[1] >= synced_s >= begins[0] + WORK_S


def test_a_node_that_is_away_ends_the_round() -> None:
    kill = {"what": "kill", "node": "n2", "at_s": 1.1}
    run = upgraded({"nodes": ["n3", "n2", "n1"]}, "n1", faults=(kill,), end_s=9.0)
    assert noted(run, "ddl-ends", "refused") == [("ddl-ends", 2), ("refused", 1)]


def test_rows_of_others_do_not_fit_and_the_node_leaves() -> None:
    run = upgraded({"node": "n3", "compatible": False}, "n1")
    assert ("apply-fails", 2) in noted(run, "apply-fails")
    assert noted(run, "inconsistent") == [("inconsistent", 2)]
    assert run.attempts is not None
    assert len(run.attempts.between(2.0, 4.0).commits_s) > 50, "the others go on"


def test_rows_of_a_table_that_nobody_writes_to_do_no_harm() -> None:
    run = upgraded({"node": "n3", "compatible": False, "class": []}, "n1")
    assert not noted(run, "apply-fails", "inconsistent")


def test_who_writes_other_rows_than_the_majority_is_inconsistent() -> None:
    """What its client was told to be committed is lost with it."""
    run = upgraded({"node": "n3", "compatible": False}, "n3")
    assert noted(run, "apply-fails") == [("apply-fails", 0), ("apply-fails", 1)]
    assert noted(run, "inconsistent") == [("inconsistent", 2)]


def test_of_halves_those_that_have_applied_it_are_right() -> None:
    run = upgraded({"node": "n2", "compatible": False}, "n2", size=2)
    assert noted(run, "apply-fails", "inconsistent") == [("apply-fails", 0), ("inconsistent", 0)]


def test_without_votes_all_that_fail_leave() -> None:
    run = upgraded({"node": "n3", "compatible": False}, "n3", version="pxc-5.7.17-29.20")
    assert noted(run, "inconsistent") == [("inconsistent", 0), ("inconsistent", 1)]


def test_a_node_that_comes_back_has_the_tables_of_its_donor() -> None:
    faults = (
        {"what": "kill", "node": "n3", "at_s": 2.4},
        {"what": "restart", "node": "n3", "at_s": 2.5},
    )
    run = upgraded({"node": "n3", "compatible": False}, "n1", faults=faults, end_s=12.0)
    assert ("SST", 2) in [(one.how, one.node) for one in run.noted if one.what == "joiner"]
    assert ("synced", 2) in noted(run, "synced")
    assert len(noted(run, "inconsistent")) == 1


def test_nobody_votes_on_what_comes_from_a_donor() -> None:
    """Nobody writes between the change and the node's absence; then it fails in its IST."""
    faults = (
        {"what": "leave", "node": "n3", "at_s": 5.0},
        {"what": "restart", "node": "n3", "at_s": 7.5},
    )
    ddl = {"node": "n3", "compatible": False, "at_s": 4.0}
    run = upgraded(ddl, "n1", faults=faults, end_s=17.0, think_ms=3000.0)
    assert [one.how for one in run.noted if one.what == "joiner"] == ["IST"]
    assert noted(run, "inconsistent") == [("inconsistent", 2)]


@pytest.mark.parametrize(
    ("ddl", "message"),
    [
        ({"method": "TOI", "nodes": ["n1"]}, "only goes with method = 'RSU'"),
        ({"method": "TOI", "compatible": False}, "in total order all rows come before"),
        ({"node": "n1", "nodes": ["n2"]}, "both given"),
        ({"nodes": ["n1", "n1"]}, "none twice"),
        ({"nodes": ["n1", "n9"]}, "no node 'n9'"),
    ],
)
def test_what_does_not_go_together_is_refused(ddl: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        upgraded(ddl, "n1")
