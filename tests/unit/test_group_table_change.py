"""A table is changed on one of several primaries, while others write rows of the old one."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.runs.replication import Replication, simulate


def changed(
    *writers: str, compatible: bool = False, model: str = "group_replication", **options: Any
) -> Replication:
    """n1 changes the table at 1 s, in 0.3 s."""
    several = {"group_replication_single_primary_mode": False}
    told = {
        "cluster": {
            "model": model,
            "nodes": 3,
            "options": (several if model == "group_replication" else {}) | options,
            "costs": {"ddl_copied_row_us": 3e4, "ddl_ms": 0.0, "ddl_byte_ns": 0.0},
        },
        "network": {"rtt_ms": 0.5},
        "workload": {
            "think_time_ms": 20.0,
            "group": [
                {"name": f"on-{node}", "node": node, "class": ["order"], "threads": 2}
                for node in writers
            ],
            "class": [{"name": "order"}],
            "ddl": [
                {"name": "alter", "node": "n1", "at_s": 1.0, "rows": 10, "compatible": compatible}
            ],
        },
        "run": {"warmup_s": 0.0, "duration_s": 4.0},
    }
    return simulate(simrep.load(told), 1)


def noted(run: Replication, what: str) -> list[int]:
    return [one.node for one in run.noted if one.what == what]


def test_members_that_meet_rows_of_the_old_table_leave() -> None:
    """The one that has changed it first, for certain; never the one that wrote them."""
    run = changed("n1", "n2")
    failed = noted(run, "apply-fails")
    assert failed[0] == 0
    assert 1 not in failed
    assert noted(run, "aborted") == failed
    assert 1 in noted(run, "ddl-ends")
    assert run.attempts is not None
    assert len(run.attempts.between(3.0, 4.0).commits_s) > 20


@pytest.mark.parametrize(
    ("writers", "compatible"), [(("n1", "n2"), True), (("n1",), False)]
)  # fmt: skip
def test_rows_that_fit_or_come_from_who_changes_the_table_do_no_harm(
    writers: tuple[str, ...], compatible: bool
) -> None:
    run = changed(*writers, compatible=compatible)
    assert not noted(run, "apply-fails")
    assert sorted(noted(run, "ddl-ends")) == [0, 1, 2]


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("group_replication", {"group_replication_single_primary_mode": True}),
        ("asynchronous", {}),
        ("galera", {}),
    ],
)
def test_where_the_order_says_it_all_rows_fit(model: str, options: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match="all rows come before the statement or after it"):
        changed("n1", model=model, **options)
