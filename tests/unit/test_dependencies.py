"""What the source says about which transactions a replica may apply in parallel."""

from __future__ import annotations

import pytest

from simrep.models.mysql.dependencies import CommitOrder, GroupOrder, RowOrder, WritesetOrder

# Six transactions: the rows they write, and what was committed when each was prepared.
ROWS = [("a",), ("b",), ("a", "c"), ("d",), ("c", "b"), ("e",)]
PREPARED_AFTER = [0, 0, 1, 2, 4, 4]


def parents(order) -> list[int]:
    return [
        order.parent(seqno, prepared, rows)
        for seqno, (prepared, rows) in enumerate(zip(PREPARED_AFTER, ROWS, strict=True), start=1)
    ]


def test_commit_order_is_what_was_committed_at_prepare():
    assert parents(CommitOrder()) == PREPARED_AFTER


def test_writeset_is_the_last_writer_of_a_row_but_never_more_than_commit_order():
    assert parents(WritesetOrder(100)) == [0, 0, 1, 0, 3, 0]
    # Rows of a table without a key look alike: prepared together, they are independent.
    alike = WritesetOrder(100)
    assert [alike.parent(seqno, 0, ("content",)) for seqno in (1, 2)] == [0, 0]


def test_rows_alone_decide_in_optimistic_mode():
    assert parents(RowOrder(100)) == [0, 0, 1, 0, 3, 0]
    alone = RowOrder(100)
    alone.parent(1, 0, ("a",))
    assert alone.parent(2, 0, ("a",)) == 1


def test_a_row_named_twice_makes_no_transaction_depend_on_itself():
    assert RowOrder(100).parent(1, 0, ("a", "a")) == 0


def test_a_full_history_is_forgotten_and_what_follows_depends_on_all_before():
    order = RowOrder(3)
    assert order.parent(1, 0, ("a", "b")) == 0
    # The third row fits no more: known rows still count, then everything is forgotten.
    assert order.parent(2, 1, ("a", "c")) == 1
    assert order.parent(3, 2, ("z",)) == 2
    assert order.parent(4, 3, ("a",)) == 2


@pytest.mark.parametrize("size", [1, 7])
def test_the_history_does_not_grow_beyond_its_size(size):
    order = RowOrder(size)
    for seqno in range(1, 100):
        order.parent(seqno, seqno - 1, (f"row {seqno}",))
    # At least one of the last `size + 1` transactions found it full.
    assert order.parent(100, 99, ("new",)) >= 99 - size - 1


def test_a_group_depends_on_the_whole_group_before_it():
    order = GroupOrder()
    first = [order.parent(seqno, 0, ()) for seqno in (1, 2)]
    order.end_group(2)
    second = [order.parent(seqno, 0, ()) for seqno in (3, 4, 5)]
    order.end_group(5)
    assert (first, second, order.parent(6, 0, ())) == ([0, 0], [2, 2, 2], 5)
