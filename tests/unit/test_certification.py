"""First ordered wins, and what a transaction depends on."""

from __future__ import annotations

import pytest

from simrep.server.certification import CertificationIndex

FAILED = -1


@pytest.fixture
def index() -> CertificationIndex:
    return CertificationIndex()


def test_what_touches_no_common_row_passes_and_depends_on_nothing(
    index: CertificationIndex,
) -> None:
    assert index.certify(1, 0, 0, ("a",)) == 0
    assert index.certify(2, 1, 0, ("b",)) == 0


def test_the_first_ordered_wins(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("a",))
    assert index.certify(2, 1, 0, ("a",)) == FAILED


def test_who_has_seen_the_other_passes_and_depends_on_it(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("a",))
    index.certify(2, 0, 0, ("x",))
    assert index.certify(3, 1, 1, ("a",)) == 1


def test_transactions_of_one_node_never_conflict_but_depend(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("a",))
    assert index.certify(2, 0, 0, ("a",)) == 1


def test_any_of_several_keys_conflicts(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("a",))
    index.certify(2, 0, 0, ("c",))
    assert index.certify(3, 1, 1, ("a", "b", "c")) == FAILED


def test_the_latest_of_several_dependencies_counts(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("a",))
    index.certify(2, 0, 0, ("b",))
    assert index.certify(3, 1, 2, ("b", "a")) == 2


def test_what_failed_leaves_no_trace(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("a",))
    index.certify(2, 1, 0, ("b", "a"))
    assert index.certify(3, 2, 1, ("a", "b")) == 1
    assert len(index) == 2


def test_shared_keys_do_not_conflict_with_each_other(index: CertificationIndex) -> None:
    assert index.certify(1, 0, 0, ("a",), ("parent",)) == 0
    assert index.certify(2, 1, 0, ("b",), ("parent",)) == 0


def test_an_exclusive_key_conflicts_with_a_later_shared_one(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("parent",))
    assert index.certify(2, 1, 0, ("a",), ("parent",)) == FAILED
    assert index.certify(3, 1, 1, ("a",), ("parent",)) == 1


def test_an_exclusive_key_depends_on_an_earlier_shared_one(index: CertificationIndex) -> None:
    assert index.certify(1, 0, 0, ("a",), ("parent",)) == 0
    assert index.certify(2, 1, 0, ("parent",)) == 1  # no conflict, whatever it has seen
    index.certify(3, 0, 2, ("b",), ("parent",))
    assert index.certify(4, 0, 2, ("c", "parent")) == 3


def test_a_copy_goes_its_own_way(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("a",), ("parent",))
    copy = index.copy()
    index.purge(1)
    assert (len(index), len(copy)) == (0, 2)
    assert copy.certify(2, 1, 0, ("a",)) == FAILED
    assert copy.certify(2, 1, 1, ("b",)) == 0
    assert (len(index), len(copy)) == (0, 3)
    copy.purge(2)
    assert (index.purged, copy.purged) == (1, 2)
    assert len(copy) == 0


def test_purged_transactions_are_forgotten(index: CertificationIndex) -> None:
    for seqno in (1, 2, 3):
        index.certify(seqno, 0, seqno - 1, (f"row {seqno}",), ("parent",))
    assert len(index) == 4
    index.purge(2)
    assert len(index) == 2  # row 3, and the parent's last use
    # Everybody has committed 2: nothing can have to wait for less.
    assert index.certify(4, 1, 2, ("row 1",)) == 2
    assert index.certify(5, 1, 3, ("row 3",)) == 3


def test_a_key_used_again_survives_the_purge_of_its_first_use(index: CertificationIndex) -> None:
    index.certify(1, 0, 0, ("a",))
    index.certify(2, 0, 1, ("a",))
    index.purge(1)
    assert index.certify(3, 1, 1, ("a",)) == FAILED


def test_an_earlier_purge_changes_nothing(index: CertificationIndex) -> None:
    index.purge(5)
    index.purge(3)
    assert index.purged == 5
