"""Conflicts between writers in a group: certification, victims, dependencies, counters."""

from __future__ import annotations

import pytest

from simrep.testing import updates
from simrep.workload.transaction import Statement, Transaction
from tests.group_clusters import QUIET_S, calm_group, latencies
from tests.groups import symmetric

HOP_S = 0.01
COMMIT_S = 4 * HOP_S
MS = 1e3  # microseconds
ROW, OTHER = ("hot", 0), ("hot", 1)
EQUIDISTANT = symmetric(3, HOP_S)


def test_the_second_of_two_concurrent_updates_fails_certification() -> None:
    # The last that has told its statistics was member 0: the next slot is that of member 1.
    two = calm_group(EQUIDISTANT)
    latencies(two, *[updates(node, node, 0, [ROW]) for node in (0, 1)])
    assert two.outcomes == [False, True]
    # The loser knows when its message has been delivered.
    assert two.attempts[-1].ended_s - QUIET_S == pytest.approx(3 * HOP_S, abs=HOP_S)
    for node in range(3):
        assert two.status(node, "COUNT_CONFLICTS_DETECTED") == 1
        assert two.status(node, "COUNT_TRANSACTIONS_CHECKED") == 2
        assert two.status(node, "COUNT_TRANSACTIONS_LOCAL_PROPOSED") == (node < 2)
        assert two.status(node, "COUNT_TRANSACTIONS_LOCAL_ROLLBACK") == (node == 0)
        assert two.status(node, "COUNT_TRANSACTIONS_REMOTE_APPLIED") == (node != 1)
        assert two.status(node, "Handler_commit") == 1


def test_an_update_after_the_other_has_been_applied_passes() -> None:
    two = calm_group(EQUIDISTANT)
    latencies(two, updates(0, 0, 0, [ROW]), updates(1, 1, 0, [ROW]), apart_s=1.01 * COMMIT_S)
    assert two.outcomes == [True, True]
    assert two.total("COUNT_CONFLICTS_DETECTED") == 0


def test_different_rows_do_not_conflict() -> None:
    two = calm_group(EQUIDISTANT)
    latencies(two, updates(0, 0, 0, [ROW]), updates(1, 1, 0, [OTHER]))
    assert two.outcomes == [True, True]


def test_writers_of_one_member_wait_for_each_other_instead() -> None:
    one = calm_group(EQUIDISTANT, last=1)
    waits = latencies(one, *[updates(client, 1, 0, [ROW]) for client in range(3)])
    assert one.outcomes == [True, True, True]
    assert waits == pytest.approx([COMMIT_S, 2 * COMMIT_S, 3 * COMMIT_S])


def test_a_writer_that_waits_for_an_applier_has_seen_what_it_wrote() -> None:
    two = calm_group(EQUIDISTANT, costs={"commit_us": 10 * MS})
    latencies(two, updates(0, 0, 0, [ROW]), updates(1, 1, 0, [ROW]), apart_s=COMMIT_S + 0.005)
    assert two.outcomes == [True, True]


def test_a_reference_to_a_row_counts_as_an_update_of_it() -> None:
    # The hash of the parent's key is in the write set like any other.
    def refers(client: int) -> Transaction:
        return Transaction(
            client, client, "child", (Statement(),), (("child", client),), 1, 100,
            shared_keys=(ROW,),
        )  # fmt: skip

    update_first = calm_group(EQUIDISTANT)
    latencies(update_first, updates(1, 1, 0, [ROW]), refers(2))
    assert update_first.outcomes == [True, False]
    both_refer = calm_group(EQUIDISTANT)
    latencies(both_refer, refers(1), refers(2))
    assert both_refer.outcomes == [True, False]


def test_a_transaction_that_still_executes_is_aborted_by_an_applier() -> None:
    two = calm_group(EQUIDISTANT, costs={"row_read_us": 1 * MS})
    statements = (Statement(locks=(ROW,)), Statement(rows_read=100, rows_written=0))
    long = Transaction(
        1, 1, "long", statements, (("client", 1), ROW), 1, 100, autocommit=False
    )  # fmt: skip
    _, refused_s = latencies(two, updates(0, 0, 0, [ROW]), long)
    assert two.outcomes == [True, False]
    # It was never sent; it learns at its next step.
    assert two.total("COUNT_TRANSACTIONS_LOCAL_PROPOSED") == 1
    assert refused_s == pytest.approx(0.1)


def test_a_primary_has_no_conflicts_but_rows_to_remember() -> None:
    primary = calm_group(EQUIDISTANT, single_primary_mode=True)
    latencies(primary, *[updates(client, 0, 0, [ROW]) for client in range(3)])
    assert primary.outcomes == [True] * 3
    assert primary.status(1, "COUNT_TRANSACTIONS_ROWS_VALIDATING") == 4


@pytest.mark.parametrize(("rows", "waits"), [(("a", "a"), True), (("a", "b"), False)])
def test_what_depends_on_another_is_applied_after_it(rows: tuple[str, str], waits: bool) -> None:
    parallel = calm_group(EQUIDISTANT, costs={"apply_us": 50 * MS}, single_primary_mode=True)
    inserts = [
        Transaction(client, 0, "insert", (Statement(),), (("client", client), row), 1, 100)
        for client, row in enumerate(rows)
    ]
    latencies(parallel, *inserts)
    first, second = (
        event.time_s
        for event in parallel.trace.events
        if (event.node, event.what) == (1, "visible")
    )
    assert second - first == pytest.approx(0.050 if waits else 0.0, abs=1e-6)
