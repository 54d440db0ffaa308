"""What fragments cost their transaction: the group's round trips, and every stage by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.clusters import GaleraCluster
from tests.streams import HOP_S, large, parts, quiet_cluster

EXACT = 1e-9
COST_US = 10.0
ROWS, SIZE = 10, 3  # three fragments, and a row that goes with the commit
FRAGMENTS = ROWS // SIZE
# The header of a writeset, the name of its table, and a key of 8 bytes for each of its rows.
FRAGMENT_BYTES = 150 + 16 + SIZE * (8 + 100)


def ran(
    size: int, fragment: int, rows: int = ROWS, hop_s: float = HOP_S, **costs: float
) -> GaleraCluster:
    cluster = quiet_cluster(size, hop_s=hop_s, costs=costs)
    cluster.client([large(rows, unit="rows", size=fragment)])
    return cluster.run()


@pytest.mark.parametrize(("size", "hops"), [(2, 2), (3, 3), (5, 3)])
@pytest.mark.parametrize("fragment", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("hop_s", [1e-4, 0.05])
def test_every_fragment_and_the_commit_take_a_safe_delivery(
    size: int, hops: int, fragment: int, hop_s: float
) -> None:
    cluster = ran(size, fragment, hop_s=hop_s)
    fragments = ROWS // fragment
    assert [parts(cluster, node) for node in range(size)] == ["f" * fragments + "C"] * size
    expected = (fragments + 1) * hops * hop_s
    assert cluster.attempts[0].ended_s == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("size", [2, 3])
def test_without_fragments_there_is_one_delivery(size: int) -> None:
    cluster = ran(size, 0)
    assert cluster.attempts[0].ended_s == pytest.approx(size * HOP_S, abs=EXACT)
    assert parts(cluster) == ""


class Stage(NamedTuple):
    """A cost, and how often it is met on the way of a transaction of so many fragments."""

    name: str
    times: Callable[[int], float]


STAGES = [
    Stage("statement_us", lambda fragments: 1),
    Stage("row_us", lambda fragments: ROWS),
    Stage("certify_key_us", lambda fragments: ROWS),
    # To build it, to receive, certify, commit and flush it: for the commit, too.
    Stage("replicate_us", lambda fragments: fragments + 1),
    Stage("action_us", lambda fragments: fragments + 1),
    Stage("certify_us", lambda fragments: fragments + 1),
    Stage("commit_us", lambda fragments: fragments + 1),
    Stage("log_write_us", lambda fragments: fragments + 1),
    Stage("fsync_us", lambda fragments: fragments + 1),
    # The row of a fragment is stored, gets its sequence number, and is removed at the commit.
    Stage("log_row_us", lambda fragments: 2 * fragments),
    Stage("log_removal_us", lambda fragments: fragments),
    # Nobody waits until the others have applied it.
    Stage("apply_us", lambda fragments: 0),
    Stage("apply_row_us", lambda fragments: 0),
    Stage("rollback_us", lambda fragments: 0),
]


@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize("fragments", [0, FRAGMENTS])
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_stage_adds_what_it_costs(stage: Stage, fragments: int, nodes: int) -> None:
    fragment = SIZE if fragments else 0
    dear = ran(nodes, fragment, **{stage.name: COST_US}).attempts[0].ended_s
    free = ran(nodes, fragment).attempts[0].ended_s
    assert dear - free == pytest.approx(stage.times(fragments) * COST_US * 1e-6, abs=EXACT)


def test_storing_a_fragment_costs_its_bytes() -> None:
    dear, free = ran(3, SIZE, log_byte_ns=1e3).attempts[0], ran(3, SIZE).attempts[0]
    expected = FRAGMENTS * FRAGMENT_BYTES * 1e-6
    assert dear.ended_s - free.ended_s == pytest.approx(expected, abs=EXACT)


def test_stages_add_up() -> None:
    costs = {"row_us": 50.0, "log_row_us": 30.0, "replicate_us": 20.0, "commit_us": 70.0,
             "fsync_us": 400.0}  # fmt: skip
    expected = (FRAGMENTS + 1) * (3 * HOP_S + 490e-6) + ROWS * 50e-6 + 2 * FRAGMENTS * 30e-6
    assert ran(3, SIZE, **costs).attempts[0].ended_s == pytest.approx(expected, abs=EXACT)


# -- the end of a stream ---------------------------------------------------------------------------


def commit_on_replica_s(fragment: int, **costs: float) -> float:
    """From the delivery of the last writeset to another node until it has committed it."""
    cluster = ran(3, fragment, **costs)
    of_node = [one for one in cluster.trace.events if one.node == 1]
    ordered = max(one.time_s for one in of_node if one.what == "order")
    return max(one.time_s for one in of_node if one.what == "commit") - ordered


@pytest.mark.parametrize("fragment", [1, 2, 3, 5, 10])
def test_every_node_removes_all_stored_fragments_at_the_commit(fragment: int) -> None:
    log_removal_us = 400.0
    fragments, left = divmod(ROWS, fragment)
    removal = fragments * log_removal_us * 1e-6
    found = commit_on_replica_s(fragment, log_removal_us=log_removal_us)
    assert found == pytest.approx(removal, abs=EXACT)
    # Of the rows only those are left to apply that no fragment had.
    found = commit_on_replica_s(fragment, log_removal_us=log_removal_us, apply_row_us=100.0)
    assert found == pytest.approx(removal + left * 1e-4, abs=EXACT)
