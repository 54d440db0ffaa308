"""The transactions that clients submit, and the rows that these touch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import lru_cache
from itertools import accumulate, count
from typing import Any, Final

from simrep.kernel.streams import Streams
from simrep.workload.classes import LISTED, Step, TransactionClass
from simrep.workload.transaction import LongTransaction, Statement, TrackedTransaction, Transaction

__all__ = ["Make", "Mix"]

Make = Callable[[float], Transaction]
"""Builds the next transaction of a client, which starts at the given time in seconds."""

_Add = Callable[[list[Statement], list[Hashable]], None]
"""Adds the statements of a step, and the keys of the rows that they write."""

# Row numbers of different tables lie this far apart, so that a row is one integer everywhere.
# Fresh rows are negative.
_TABLE_BITS: Final = 40
_FRESH_RANGES: Final = -1 << 60  # fresh rows of ranges lie beyond those that are counted one by one


class Mix:
    """Builds the transactions of all clients of one replication.

    Each client takes streams of its own, ``client/<client>/class`` and
    ``client/<client>/rows/<class>``. ``singles`` are classes outside the mix, which may meet the
    others in a table. Clients may give up transactions that are ``tracked``.
    """

    def __init__(
        self,
        classes: Sequence[TransactionClass],
        streams: Streams,
        singles: Sequence[TransactionClass] = (),
        *,
        tracked: bool = False,
    ) -> None:
        self._classes = tuple(classes)
        self._transaction = TrackedTransaction if tracked else Transaction
        self._streams = streams
        self._fresh = count(-1, -1)
        self._fresh_ranges = _FRESH_RANGES
        tables = dict.fromkeys(
            step.table for one in [*self._classes, *singles] for step in one.parts
        )
        self._first = {table: position << _TABLE_BITS for position, table in enumerate(tables)}

    def client(
        self, client: str, number: int, node: int, among: Collection[str] | None = None
    ) -> Make:
        """What builds the transactions of a client, which has this name in the paths of streams.

        ``among`` are the names of the classes that it submits; default: all of them.
        """
        own = [one for one in self._classes if among is None or one.name in among]
        makers = [self._maker(one, client, number, node) for one in own]
        if len(makers) == 1:
            return makers[0]
        pick = self._streams.uniform(f"client/{client}/class")
        *bounds, total = accumulate(one.weight for one in own)
        shares = [bound / total for bound in bounds]

        def any_of_them(now: float) -> Transaction:
            return makers[bisect_right(shares, pick())](now)

        return any_of_them

    def single(
        self, one: TransactionClass, number: int, node: int
    ) -> Callable[[float], LongTransaction]:
        """What builds the transactions of a class outside the mix."""
        return self._long(one, f"{one.name}/{number}", number, node)

    def _maker(self, one: TransactionClass, client: str, number: int, node: int) -> Make:
        if one.steps or one.for_update:
            return self._in_steps(one, client, number, node)
        if one.long:
            return self._long(one, client, number, node)
        if one.statements and one.keys.distribution != "fresh":
            return self._updates(one, client, number, node)
        return self._inserts(one, number, node)

    def _inserts(self, one: TransactionClass, number: int, node: int) -> Make:
        """Transactions that lock nothing: all but their keys is built once."""
        name, autocommit = one.name, one.autocommit
        statements = _reads(one) + (Statement(0, one.rows),) * one.statements
        rows = one.statements * one.rows
        size = rows * one.row_bytes
        text = one.text_bytes
        fresh, transaction = self._fresh, self._transaction
        if rows == 1 and one.primary_key:
            draw = fresh.__next__
            if transaction is Transaction:
                return lambda now: Transaction(
                    number, node, name, statements, (draw(),), 1, size,
                    text_bytes=text, autocommit=autocommit, started_s=now,
                )  # fmt: skip
            return lambda now: transaction(
                number, node, name, statements, (draw(),), 1, size,
                text_bytes=text, autocommit=autocommit, started_s=now,
            )  # fmt: skip
        if rows and one.primary_key:
            return lambda now: transaction(
                number, node, name, statements, tuple([next(fresh) for _ in range(rows)]), rows,
                size, text_bytes=text, autocommit=autocommit, started_s=now,
            )  # fmt: skip
        keys = _content(one)
        return lambda now: transaction(
            number, node, name, statements, keys, rows, size,
            text_bytes=text, autocommit=autocommit, started_s=now,
        )  # fmt: skip

    def _updates(self, one: TransactionClass, client: str, number: int, node: int) -> Make:
        """Transactions that lock existing rows."""
        name, autocommit, per_statement = one.name, one.autocommit, one.rows
        first, table_rows = self._first[one.table], one.keys.rows
        reads = _reads(one)
        rows = one.statements * per_statement
        size = rows * one.row_bytes
        text = one.text_bytes
        transaction = self._transaction
        row: Any = self._streams.stream(f"client/{client}/rows/{name}", one.keys.draw(first))

        def single(now: float) -> Transaction:
            keys = (row(),)
            return transaction(
                number, node, name, (*reads, Statement(0, 1, keys)), keys, 1, size,
                text_bytes=text, autocommit=autocommit, started_s=now,
            )  # fmt: skip

        def several(now: float) -> Transaction:
            locks = [
                _neighbours(int(row()), per_statement, first, table_rows)
                for _ in range(one.statements)
            ]
            return transaction(
                number, node, name,
                reads + tuple([Statement(0, per_statement, some) for some in locks]),
                tuple(dict.fromkeys([key for some in locks for key in some])), rows, size,
                text_bytes=text, autocommit=autocommit, started_s=now,
            )  # fmt: skip

        return single if rows == 1 else several

    def _in_steps(self, one: TransactionClass, client: str, number: int, node: int) -> Make:
        """Transactions of several steps, some of which are repeated."""
        name, transaction = one.name, self._transaction
        runs: list[tuple[bool, list[_Add]]] = []  # of steps that are repeated, or are not
        for position, step in enumerate(one.parts):
            if not runs or runs[-1][0] is not step.looped:
                runs.append((step.looped, []))
            runs[-1][1].append(self._adding(step, f"client/{client}/rows/{name}/{position}"))
        least, most = one.loop
        once = [step for step in one.parts if not step.looped]
        again = [step for step in one.parts if step.looped]
        totals = [
            (sum(map(amount, once)), sum(map(amount, again)))
            for amount in (_rows_written, _size_bytes, _text_bytes)
        ]
        times: Callable[[], float] = lambda: least  # noqa: E731
        if most > least:
            times = self._streams.stream(
                f"client/{client}/loop/{name}",
                lambda generator, size: generator.integers(least, most + 1, size),
            )

        def make(now: float) -> Transaction:
            statements: list[Statement] = []
            keys: list[Hashable] = []
            repeated = int(times())
            for looped, adding in runs:
                for _ in range(repeated if looped else 1):
                    for add in adding:
                        add(statements, keys)
            rows, size, text = [first + repeated * more for first, more in totals]
            return transaction(
                number, node, name, tuple(statements), tuple(dict.fromkeys(keys)), rows, size,
                text_bytes=text, autocommit=False, started_s=now,
            )  # fmt: skip

        return make

    def _adding(self, step: Step, path: str) -> _Add:
        """What adds the statements of a step, and the keys of the rows that they write."""
        reads = _reading(step.reads, step.range_reads, step.range_rows, step.read_pages)
        number, rows = step.statements, step.rows
        if not number or step.keys.distribution == "fresh":
            inserts = (*reads, *(Statement(0, rows),) * number)
            fresh = self._fresh

            def insert(statements: list[Statement], keys: list[Hashable]) -> None:
                statements += inserts
                keys += [next(fresh) for _ in range(number * rows)]

            return insert
        first, table_rows = self._first[step.table], step.keys.rows
        row: Any = self._streams.stream(path, step.keys.draw(first))
        pages = step.pages
        last_pages = 0 if pages is not None and step.for_update else pages

        def update(statements: list[Statement], keys: list[Hashable]) -> None:
            statements += reads
            for _ in range(number):
                locks = _neighbours(int(row()), rows, first, table_rows)
                if step.for_update:
                    statements.append(Statement(rows, 0, locks, None, pages))
                statements.append(Statement(0, rows, locks, None, last_pages))
                keys += locks

        return update

    def _long(
        self, one: TransactionClass, client: str, number: int, node: int
    ) -> Callable[[float], LongTransaction]:
        """Transactions of which there are few; large statements write ranges of rows."""
        reads = _reads(one)
        rows = one.statements * one.rows
        size = rows * one.row_bytes
        where = self._scans(one, client)
        content = _content(one)

        def make(now: float) -> LongTransaction:
            scans = [where() for _ in range(one.statements)]
            listed = one.rows <= LISTED
            locks = one.keys.distribution != "fresh"
            writes = [
                Statement(
                    0, one.rows,
                    tuple(scan) if locks and listed else (),
                    scan if locks and not listed else None,
                )
                for scan in scans
            ]  # fmt: skip
            keys = content
            if listed and not content:
                keys = tuple(dict.fromkeys(row for scan in scans for row in scan))
            transaction = LongTransaction(
                number, node, one.name, (*reads, *writes), keys, rows, size,
                text_bytes=one.text_bytes, autocommit=one.autocommit, started_s=now,
            )  # fmt: skip
            if not listed and not content:
                transaction.ranges = _disjoint(scans)
            transaction.same_content = bool(content)
            transaction.load_data = one.load_data
            transaction.pause_s = one.pause_s
            transaction.xa_hold_s = one.xa_hold_s
            transaction.session = one.session
            return transaction

        return make

    def _scans(self, one: TransactionClass, client: str) -> Callable[[], range]:
        """Which rows the next statement writes; a scan starts so that it ends in the table."""
        if not one.statements or one.keys.distribution == "fresh":
            return lambda: self._fresh_range(one.rows)
        first = self._first[one.table]
        row: Any = self._streams.stream(f"client/{client}/rows/{one.name}", one.keys.draw(first))
        table_rows = one.keys.rows

        def scan() -> range:
            start = int(row())
            last = first + (start - first) // table_rows * table_rows + table_rows - one.rows
            start = min(start, last)
            return range(start, start + one.rows)

        return scan

    def _fresh_range(self, rows: int) -> range:
        self._fresh_ranges -= rows
        return range(self._fresh_ranges, self._fresh_ranges + rows)


def _content(one: TransactionClass) -> tuple[Hashable, ...]:
    """The key that all rows share which are inserted without a primary key."""
    inserts = one.statements and one.keys.distribution == "fresh"
    return (("content", one.table, one.name),) if inserts and not one.primary_key else ()


def _disjoint(scans: Sequence[range]) -> tuple[range, ...]:
    """The rows of all scans, each once; in the order of the scans if none meet."""
    if len(scans) == 1:
        return tuple(scans)
    found: list[range] = []
    for scan in scans:
        for other in [one for one in found if one.start <= scan.stop and scan.start <= one.stop]:
            found.remove(other)
            scan = range(min(scan.start, other.start), max(scan.stop, other.stop))  # noqa: PLW2901
        found.append(scan)
    return tuple(found)


def _rows_written(step: Step) -> int:
    return step.rows_written


def _size_bytes(step: Step) -> int:
    return step.size_bytes


def _text_bytes(step: Step) -> int:
    return step.text_bytes


def _reads(one: TransactionClass) -> tuple[Statement, ...]:
    return _reading(one.reads, one.range_reads, one.range_rows)


@lru_cache(maxsize=256)  # the same statements for all clients: they are compared quickly
def _reading(
    reads: int, range_reads: int, range_rows: int, pages: int | None = None
) -> tuple[Statement, ...]:
    single = Statement(1, 0, pages=pages)
    return (single,) * reads + (Statement(range_rows, 0, pages=pages),) * range_reads


def _neighbours(row: int, number: int, first: int, table_rows: int) -> tuple[int, ...]:
    """Rows from ``row`` on, in the order of the index, which a scan locks them in.

    Tables of so many rows lie behind each other, from ``first`` on; the rows are of one of them.
    """
    first += (row - first) // table_rows * table_rows
    over = row + number - (first + table_rows)
    if over <= 0:
        return tuple(range(row, row + number))
    return (*range(first, first + over), *range(row, first + table_rows))
