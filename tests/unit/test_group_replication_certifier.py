"""Certification of Group Replication by itself: conflicts, dependencies, garbage."""

from __future__ import annotations

import pytest

from simrep.models.group_replication.certifier import Certifier, Executed, Snapshot

NOTHING: frozenset[int] = frozenset()
ROW, OTHER = ("row",), ("other",)


def upto(order: int) -> Snapshot:
    return Snapshot(order, NOTHING)


# -- what is committed -----------------------------------------------------------------------------


def test_a_snapshot_has_holes() -> None:
    executed = Executed()
    for order in (1, 3, 5):
        executed.add(order)
    snapshot = executed.snapshot()
    assert [order for order in range(8) if snapshot.has(order)] == [0, 1, 3, 5]
    executed.add(2)
    assert executed.snapshot() == Snapshot(3, frozenset({5}))
    executed.add(4)
    assert executed.snapshot() == Snapshot(5, NOTHING)
    assert executed.low == 5
    assert snapshot == Snapshot(1, frozenset({3, 5}))  # what was sent stays as it was


# -- conflicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("snapshot", "passes"),
    [(upto(0), False), (upto(1), True), (Snapshot(0, frozenset({1})), True)],
)
def test_a_transaction_fails_if_it_has_not_seen_the_last_writer(
    snapshot: Snapshot, passes: bool
) -> None:
    certifier = Certifier(detects_conflicts=True)
    assert certifier.certify(1, 1, upto(0), ROW) >= 0
    assert (certifier.certify(2, 2, snapshot, ROW) >= 0) == passes
    assert certifier.conflicts == (not passes)
    assert certifier.certify(3, 3, upto(0), OTHER) >= 0


def test_what_failed_leaves_nothing_behind() -> None:
    certifier = Certifier(detects_conflicts=True)
    certifier.certify(1, 1, upto(0), ROW)
    assert certifier.certify(2, 2, upto(0), ROW + OTHER) == -1
    assert certifier.certify(2, 2, upto(0), OTHER) == 0
    assert len(certifier) == 2


def test_without_detection_everything_passes_and_is_noted() -> None:
    certifier = Certifier(detects_conflicts=False)
    certifier.certify(1, 1, upto(0), ROW)
    assert certifier.certify(2, 2, upto(0), ROW) == 1
    assert certifier.conflicts == 0
    assert len(certifier) == 1


# -- dependencies ----------------------------------------------------------------------------------


def test_a_transaction_depends_on_the_last_writer_of_any_of_its_rows() -> None:
    certifier = Certifier(detects_conflicts=False)
    certifier.certify(1, 1, upto(0), ROW)
    certifier.certify(2, 2, upto(0), OTHER)
    assert certifier.certify(3, 3, upto(0), ("third",)) == 0
    assert certifier.certify(4, 4, upto(0), ROW) == 1
    assert certifier.certify(5, 5, upto(0), OTHER + ROW) == 4


# -- garbage ---------------------------------------------------------------------------------------


def test_what_all_have_committed_is_forgotten_and_later_ones_depend_on_all_before() -> None:
    certifier = Certifier(detects_conflicts=True)
    for order in (1, 2, 3):
        certifier.certify(order, order, upto(order - 1), (("row", order),))
    certifier.collect(stable=2, seqno=3)
    assert (len(certifier), certifier.collected) == (1, 2)
    assert certifier.certify(4, 4, upto(0), (("row", 3),)) == -1
    assert certifier.certify(4, 4, upto(2), (("row", 1),)) == 3
    assert certifier.certify(5, 5, upto(2), ROW) == 3


def test_all_can_be_forgotten_at_once() -> None:
    certifier = Certifier(detects_conflicts=False)
    for order in (1, 2, 3):
        certifier.certify(order, order, upto(0), (("row", order),))
    certifier.forget(seqno=3)
    assert (len(certifier), certifier.collected) == (0, 3)
    assert certifier.certify(4, 4, upto(0), (("row", 1),)) == 3
