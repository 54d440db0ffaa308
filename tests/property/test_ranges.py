"""Ranges of rows behave exactly as if every row had been listed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.kernel.clock import Clock
from simrep.models.group_replication.certifier import Certifier, Snapshot
from simrep.models.mysql.dependencies import RowOrder, WritesetOrder
from simrep.server.certification import CertificationIndex
from simrep.server.locks import LockTable

EXAMPLES = settings(max_examples=120)

ROWS = 14  # few, so that ranges meet
OTHERS: tuple[Hashable, ...] = ("content", ("fresh", 1))  # rows that are no numbers


@dataclass(frozen=True)
class Write:
    """What a transaction writes: rows one by one and ranges, no row twice."""

    points: tuple[Hashable, ...]
    ranges: tuple[range, ...]

    @property
    def listed(self) -> tuple[Hashable, ...]:
        return (*self.points, *(row for rows in self.ranges for row in rows))


@st.composite
def writes(draw: st.DrawFn) -> Write:
    edges = sorted(draw(st.sets(st.integers(0, ROWS), max_size=4)))
    ranges = tuple(range(low, high) for low, high in zip(edges[::2], edges[1::2], strict=False))
    covered = {row for rows in ranges for row in rows}
    free: list[Hashable] = [row for row in range(ROWS) if row not in covered]
    points = draw(st.lists(st.sampled_from([*free, *OTHERS]), unique=True, max_size=3))
    return Write(tuple(points), ranges)


# -- what the source says of dependencies ----------------------------------------------------------

histories = st.lists(st.tuples(writes(), st.integers(0, 3)), max_size=12)


def parents(order: RowOrder, history: list[tuple[Write, int]], *, listed: bool) -> list[int]:
    found = []
    for seqno, (write, back) in enumerate(history, start=1):
        prepared = max(0, seqno - 1 - back)
        if listed:
            found.append(order.parent(seqno, prepared, write.listed))
        else:
            found.append(order.parent(seqno, prepared, write.points, write.ranges))
    return found


@EXAMPLES
@given(histories, st.integers(1, 30))
def test_dependencies_by_write_sets(history: list[tuple[Write, int]], size: int) -> None:
    by_range = parents(WritesetOrder(size), history, listed=False)
    assert by_range == parents(WritesetOrder(size), history, listed=True)
    assert all(parent < seqno for seqno, parent in enumerate(by_range, start=1))
    event(f"some depend on a row: {any(by_range)}")


@EXAMPLES
@given(histories)
def test_dependencies_by_rows_alone(history: list[tuple[Write, int]]) -> None:
    by_range = parents(RowOrder(10**6), history, listed=False)
    assert by_range == parents(RowOrder(10**6), history, listed=True)


# -- certification in a group ----------------------------------------------------------------------


# How much a member has committed, as a share of what is ordered, and what it has beyond that.
snapshots = st.tuples(st.floats(0, 1), st.sets(st.integers(1, 6), max_size=3))


def snapshot_of(drawn: tuple[float, set[int]], seen: list[Snapshot]) -> Snapshot:
    """What a member may have committed: with a transaction also what that one had seen."""
    share, beyond = drawn
    low = int(share * len(seen))
    above = {low + more for more in beyond if low + more <= len(seen)}
    while True:
        had = [seen[order - 1] for order in [*range(1, low + 1), *above]]
        more_low = max([low, *(snapshot.low for snapshot in had)])
        more_above = above.union(*(snapshot.above for snapshot in had))
        if (more_low, more_above) == (low, above):
            return Snapshot(low, frozenset(order for order in above if order > low))
        low, above = more_low, more_above


group_steps = st.lists(
    st.one_of(
        st.tuples(st.just("certify"), writes(), snapshots),
        st.tuples(st.just("collect"), st.integers(0, 12), st.none()),
        st.tuples(st.just("forget"), st.none(), st.none()),
    ),
    max_size=16,
)


def certified(steps: list[Any], *, detects: bool, listed: bool) -> list[Any]:
    certifier = Certifier(detects_conflicts=detects)
    found: list[Any] = []
    seen: list[Snapshot] = []  # of those that have passed
    for position, (what, first, second) in enumerate(steps):
        if what == "certify":
            items, ranges = (first.listed, ()) if listed else (first.points, first.ranges)
            snapshot = snapshot_of(second, seen)
            parent = certifier.certify(len(seen) + 1, position // 2, snapshot, items, ranges)
            if parent >= 0:
                seen.append(snapshot)
            found.append(parent)
        elif what == "collect":
            certifier.collect(first, position // 2)
        else:
            certifier.forget(position // 2)
        found.append((len(certifier), certifier.conflicts, certifier.collected))
    return found


@EXAMPLES
@given(group_steps, st.booleans())
def test_certification_in_a_group(steps: list[Any], detects: bool) -> None:
    by_range = certified(steps, detects=detects, listed=False)
    assert by_range == certified(steps, detects=detects, listed=True)
    event(f"conflicts: {-1 in by_range}")


# -- certification in a cluster --------------------------------------------------------------------

NODES = 3
cluster_steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("certify"),
            st.integers(0, NODES - 1),
            st.integers(0, 6),
            writes(),
            st.lists(st.sampled_from([*range(ROWS), *OTHERS]), unique=True, max_size=2),
        ),
        st.tuples(st.just("purge"), st.integers(0, 3), st.none(), st.none(), st.none()),
    ),
    max_size=20,
)


def indexed(steps: list[Any], *, listed: bool) -> list[Any]:
    """What a node sees last never goes back, and it has seen what it lets purge."""
    index = CertificationIndex()
    found: list[Any] = []
    seen = [0] * NODES
    seqno = 0
    for what, origin, more, write, shared in steps:
        if what == "certify":
            seqno += 1
            seen[origin] = min(seqno - 1, seen[origin] + more)
            shared_keys = tuple(key for key in shared if key not in write.listed)
            keys, ranges = (write.listed, ()) if listed else (write.points, write.ranges)
            found.append(index.certify(seqno, origin, seen[origin], keys, shared_keys, ranges))
        else:
            index.purge(max(0, min(seen) - origin))
    return found


@EXAMPLES
@given(cluster_steps)
def test_certification_in_a_cluster(steps: list[Any]) -> None:
    by_range = indexed(steps, listed=False)
    assert by_range == indexed(steps, listed=True)
    event(f"conflicts: {-1 in by_range}")


# -- row locks -------------------------------------------------------------------------------------

OWNERS = 5
PROTECTED = 3  # owners from this one on are


class Owner:
    def __init__(self, number: int) -> None:
        self.number = number
        self.protected = number >= PROTECTED
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


class Table:
    """A lock table and its owners, of whom each does one thing at a time.

    A step is left out if its owner waits, or was aborted and has not let go yet. With ``listed``,
    a range is locked row by row.
    """

    def __init__(self, *, listed: bool) -> None:
        self.table = LockTable(Clock())
        self.owners = [Owner(number) for number in range(OWNERS)]
        self.done: list[Any] = []
        self._listed = listed
        self._busy: set[Owner] = set()

    def lock(self, number: int, rows: range, *, force: bool) -> None:
        owner = self.owners[number]
        if owner in self._busy or owner.aborted:
            return
        self._busy.add(owner)
        if force:
            self._force(owner, rows)
        else:
            self._take((owner, rows))

    def _force(self, owner: Owner, rows: range) -> None:
        if self._listed:
            self.table.force_all(owner, rows, self._finished, owner)
        else:
            self.table.force_range(owner, rows, self._finished, owner)

    def _take(self, work: tuple[Owner, range]) -> None:
        """As a session does: what is free, then wait for the next row."""
        owner, rows = work
        while rows:
            if self._listed:
                while rows and self.table.take(owner, rows[0]):
                    rows = rows[1:]
            else:
                rows = self.table.take_range(owner, rows)
            if rows:
                self._acquire(owner, rows[0], self._take, (owner, rows[1:]))
                return
        self._finished(owner)

    def _acquire(self, owner: Owner, row: int, call: Callable[..., object], rest: Any) -> None:
        if not self.table.acquire(owner, row, call, rest):
            self.done.append(("deadlock", owner.number))
            self._busy.discard(owner)

    def _finished(self, owner: Owner) -> None:
        self.done.append(("locked", owner.number))
        self._busy.discard(owner)

    def release(self, number: int) -> None:
        owner = self.owners[number]
        if owner.protected and owner in self._busy:  # nothing ends an applier that waits
            return
        owner.aborted = False
        self._busy.discard(owner)
        self.table.release_all(owner)

    def give_up(self, number: int) -> None:
        owner = self.owners[number]
        if not owner.protected and owner in self._busy:
            self._busy.discard(owner)
            self.table.give_up(owner)

    def state(self) -> Any:
        """Who has what, and who waits for whom."""
        table = self.table
        return (
            [_number(table.holder(row)) for row in range(ROWS)],
            [[_number(owner) for owner in table.waiting(row)] for row in range(ROWS)],
            [owner.aborted for owner in self.owners],
            sorted(self.done),
            (table.waits, table.deadlocks),
        )


def _number(owner: Any) -> int | None:
    return None if owner is None else owner.number


@st.composite
def lock_steps(draw: st.DrawFn) -> list[Any]:
    """Appliers use force and the others do not; appliers come in an order that is respected."""
    steps = []
    for _ in range(draw(st.integers(0, 25))):
        what = draw(st.sampled_from(["lock", "lock", "lock", "release", "give up"]))
        number = draw(st.integers(0, OWNERS - 1))
        low = draw(st.integers(0, ROWS - 1))
        rows = range(low, min(ROWS, low + draw(st.integers(1, 6))))
        steps.append((what, number, rows))
    return steps


@EXAMPLES
@given(lock_steps())
def test_row_locks(steps: list[Any]) -> None:
    tables = Table(listed=False), Table(listed=True)
    for what, number, rows in steps:
        for table in tables:
            if what == "lock":
                # One applier after the other may have locks: those that certification lets be
                # applied together have no rows in common.
                others = [one for one in table.owners if one.protected and one.number != number]
                if number >= PROTECTED and any(_has_any(table, one) for one in others):
                    continue
                table.lock(number, rows, force=number >= PROTECTED)
            elif what == "release":
                table.release(number)
            else:
                table.give_up(number)
        assert tables[0].state() == tables[1].state(), (what, number, rows)
    event(f"aborts: {bool(tables[0].table.aborts)}, deadlocks: {bool(tables[0].table.deadlocks)}")
    for number in range(OWNERS):
        for table in tables:
            table._busy.clear()
            table.release(number)
    # Whoever was granted a row on the way out lets go of it, too.
    for number in range(OWNERS):
        for table in tables:
            table._busy.clear()
            table.release(number)


def _has_any(table: Table, owner: Owner) -> bool:
    held = any(table.table.holder(row) is owner for row in range(ROWS))
    return held or any(owner in table.table.waiting(row) for row in range(ROWS))
