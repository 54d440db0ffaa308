"""Classes of transactions, the rows that they touch, and the mix of them that a client submits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, count
from math import log, pi, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simrep.kernel.streams import Draw, Streams
from simrep.workload.transaction import LongTransaction, Statement, TrackedTransaction, Transaction

__all__ = ["Distribution", "Keys", "Make", "Mix", "Step", "TransactionClass"]


Distribution = Literal["fresh", "uniform", "zipf", "hot", "gaussian", "pareto", "scan"]


@dataclass(frozen=True, slots=True)
class Keys:
    """How the rows of a table are chosen.

    Attributes
    ----------
    distribution : {"fresh", "uniform", "zipf", "hot", "gaussian", "pareto", "scan"}
        ``fresh`` inserts rows under new keys that nobody else can want (auto-increment); the
        others choose among ``rows`` existing ones, numbered from 0: all alike, the row of rank k
        with probability proportional to ``k ** -exponent``, the first ``hot_rows`` with
        probability ``hot_fraction``, around the middle, the first ones most (the first share
        ``pareto_h`` of the rows gets ``1 - pareto_h`` of the choices), or always from the first row
        on, as a full scan does.
    rows : int
        Size of the table.
    tables : int
        So many tables of that size, one of which is chosen evenly each time.
    exponent : float
        Of ``zipf``; 0 is uniform.
    hot_rows : int
        Of ``hot``: how many rows are hot, at most ``rows``.
    hot_fraction : float
        Of ``hot``: how many of the choices fall on them, 0 to 1.
    iterations : int
        Of ``gaussian``: so many uniform numbers have the place as their mean.
    pareto_h : float
        Of ``pareto``, between 0 and 1.
    """

    distribution: Distribution = "fresh"
    rows: int = 100_000
    exponent: float = 1.0
    hot_rows: int = 10
    hot_fraction: float = 0.9
    tables: int = 1
    iterations: int = 12
    pareto_h: float = 0.2

    def draw(self, first: int = 0) -> Draw:
        """The block-drawing function of row numbers, counted from ``first``.

        Tables lie behind each other.
        """
        rows, tables = self.rows, self.tables
        inside = self._draw_inside(first)
        if tables == 1:
            return inside
        return lambda generator, size: (
            inside(generator, size) + rows * generator.integers(0, tables, size)
        )

    def _draw_inside(self, first: int) -> Draw:
        """The same for one table."""
        rows = self.rows
        if self.distribution == "zipf":
            cumulative = _zipf(rows, self.exponent)
            return lambda generator, size: (
                np.searchsorted(cumulative, generator.random(size), side="right") + first
            )
        if self.distribution == "hot":
            hot, fraction = self.hot_rows, self.hot_fraction
            if hot == rows:
                return lambda generator, size: generator.integers(first, first + rows, size)
            return lambda generator, size: np.where(
                generator.random(size) < fraction,
                generator.integers(first, first + hot, size),
                generator.integers(first + hot, first + rows, size),
            )
        if self.distribution == "scan":
            return lambda _, size: np.full(size, first)
        if self.distribution == "gaussian":
            shape = self.iterations
            return lambda generator, size: (
                (generator.random((size, shape)).mean(axis=1) * rows).astype(np.int64) + first
            )
        if self.distribution == "pareto":
            power = self._power
            return lambda generator, size: (
                (generator.random(size) ** power * rows).astype(np.int64) + first
            )
        if self.distribution == "uniform":
            return lambda generator, size: generator.integers(first, first + rows, size)
        raise ValueError("fresh keys are counted, not drawn")

    @property
    def _power(self) -> float:
        """Of the uniform number that a ``pareto`` place is."""
        return log(self.pareto_h) / log(1.0 - self.pareto_h)

    def first_row(self) -> float:
        """Share of the choices in a table that the first row gets, of ``zipf`` and ``pareto``."""
        if self.distribution == "pareto":
            return float(self.rows ** (-1.0 / self._power))
        return float(_zipf(self.rows, self.exponent)[0])

    def same_row(self) -> float:
        """Probability that two choices fall on the same row; of new rows, 0."""
        if self.distribution == "fresh":
            return 0.0
        return self._same_inside() / self.tables

    def _same_inside(self) -> float:
        rows = self.rows
        if self.distribution == "scan":
            return 1.0
        if self.distribution == "hot" and self.hot_rows < rows:
            cold = rows - self.hot_rows
            return self.hot_fraction**2 / self.hot_rows + (1.0 - self.hot_fraction) ** 2 / cold
        if self.distribution == "zipf":
            weights = np.arange(1, rows + 1, dtype=np.float64) ** -self.exponent
            return float(np.sum(weights**2) / np.sum(weights) ** 2)
        if self.distribution == "gaussian":  # two of a standard deviation of 1 / sqrt(12 n)
            return min(1.0, sqrt(3.0 * self.iterations / pi) / rows)
        if self.distribution == "pareto":
            edges = (np.arange(min(rows, _FIRST) + 1) / rows) ** (1.0 / self._power)
            return float(np.sum(np.diff(edges) ** 2))
        return 1.0 / rows


_FIRST = 1_000_000  # rows that nearly all choices of a Pareto distribution fall on


@lru_cache(maxsize=16)  # the clients of a run share it: 8 bytes per row
def _zipf(rows: int, exponent: float) -> NDArray[np.float64]:
    """Cumulative probabilities of the ranks; the last one is 1 exactly."""
    cumulative = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -exponent)
    cumulative /= cumulative[-1]
    return cumulative


Make = Callable[[float], Transaction]
"""Builds the next transaction of a client, which starts at the given time in seconds."""

_Add = Callable[[list[Statement], list[Hashable]], None]
"""Adds the statements of a step, and the keys of the rows that they write."""

# Row numbers of different tables lie this far apart, so that a row is one integer everywhere.
# Fresh rows are negative.
_TABLE = 1 << 40
_UPDATE_TEXT = 100  # bytes
# The rows of a statement are listed one by one up to so many; above, they are a range.
_LISTED = 1000
_FRESH_RANGES = -1 << 60  # fresh rows of ranges lie beyond those that are counted one by one


@dataclass(frozen=True, slots=True)
class Step:
    """Statements of one kind, which follow each other: first those that read.

    Attributes
    ----------
    statements : int
        Statements that write.
    rows : int
        Rows that each of them writes: neighbours, as ``WHERE id BETWEEN`` finds them.
    row_bytes : int
        Size of the row event of one row in bytes.
    statement_bytes : int or None
        Size of the text of each statement that writes; None for the usual: an insert carries its
        rows, an update has about 100 bytes.
    reads : int
        Statements that read one row.
    range_reads, range_rows : int
        Statements that read a range, and its length in rows.
    keys : Keys
        Which rows are written.
    table : str
        Steps and classes that name the same table meet in its rows.
    for_update : bool
        A ``SELECT ... FOR UPDATE`` of the same rows goes before each statement that writes.
    looped : bool
        It belongs to the loop of its transaction.
    """

    statements: int = 1
    rows: int = 1
    row_bytes: int = 100
    statement_bytes: int | None = None
    reads: int = 0
    range_reads: int = 0
    range_rows: int = 100
    keys: Keys = field(default_factory=Keys)
    table: str = "t1"
    for_update: bool = False
    looped: bool = False

    @property
    def statement_count(self) -> int:
        """All of its statements."""
        return self.reads + self.range_reads + self.statements * (2 if self.for_update else 1)

    @property
    def rows_read(self) -> int:
        """Rows that its statements read."""
        locked = self.statements * self.rows if self.for_update else 0
        return self.reads + self.range_reads * self.range_rows + locked

    @property
    def rows_written(self) -> int:
        """Rows that its statements write."""
        return self.statements * self.rows

    @property
    def text_bytes(self) -> int:
        """Size of the text of all statements that write."""
        each = self.statement_bytes
        if each is None:
            each = self.rows * self.row_bytes if self.keys.distribution == "fresh" else _UPDATE_TEXT
        return self.statements * each

    @property
    def size_bytes(self) -> int:
        """Size of the row events of all rows that are written."""
        return self.rows_written * self.row_bytes


@dataclass(frozen=True, slots=True)
class TransactionClass:
    """What the transactions of one class have in common.

    Attributes
    ----------
    name : str
    weight : float
        Share of the mix, relative to the other classes.
    statements : int
        Statements that write; they come after those that read.
    rows : int
        Rows that each of them writes: neighbours, as ``WHERE id BETWEEN`` finds them.
    row_bytes : int
        Size of the row event of one row in bytes.
    statement_bytes : int or None
        Size of the text of each statement that writes; None for the usual: an insert carries its
        rows, an update has about 100 bytes.
    reads : int
        Statements that read one row.
    range_reads, range_rows : int
        Statements that read a range, and its length in rows.
    autocommit : bool
        The only statement commits by itself, without a BEGIN and a COMMIT.
    primary_key : bool
        Without one, a row that is inserted is certified by its content; the rows of such a class
        are taken as identical, so they share one key.
    keys : Keys
        Which rows are written.
    table : str
        Classes that name the same table meet in its rows.
    load_data : bool
        The statement is a ``LOAD DATA``.
    pause_s : float
        Pause of the client before every statement but the first, in seconds.
    xa_hold_s : float or None
        The transaction is prepared by ``XA PREPARE`` and committed so many seconds later; None: no
        XA.
    session : object
        Session variables of its client, of a type that the model knows; None for the defaults.
    steps : tuple of Step
        What its transactions do, if that is more than statements of one kind; empty: the one step
        that ``statements`` to ``table`` describe.
    loop : tuple of int
        Steps that are ``looped``, one after the other, are repeated from so many to so many times:
        each transaction chooses evenly.
    """

    name: str = "write"
    weight: float = 1.0
    statements: int = 1
    rows: int = 1
    row_bytes: int = 100
    statement_bytes: int | None = None
    reads: int = 0
    range_reads: int = 0
    range_rows: int = 100
    autocommit: bool = True
    primary_key: bool = True
    keys: Keys = field(default_factory=Keys)
    table: str = "t1"
    load_data: bool = False
    pause_s: float = 0.0
    xa_hold_s: float | None = None
    session: Any = None
    steps: tuple[Step, ...] = ()
    loop: tuple[int, int] = (1, 1)

    @property
    def parts(self) -> tuple[Step, ...]:
        """Its steps, also if there is only one."""
        return self.steps or (
            Step(
                self.statements, self.rows, self.row_bytes, self.statement_bytes, self.reads,
                self.range_reads, self.range_rows, self.keys, self.table,
            ),
        )  # fmt: skip

    def mean(self, amount: Callable[[Step], int]) -> float:
        """Mean of an amount of all its steps, loops included."""
        times = sum(self.loop) / 2.0
        return sum(amount(step) * (times if step.looped else 1) for step in self.parts)

    @property
    def writes(self) -> bool:
        """Whether its transactions write."""
        return any(step.statements for step in self.parts)

    @property
    def rows_written(self) -> float:
        """Rows that a transaction writes, on average."""
        return self.mean(lambda step: step.rows_written)

    @property
    def long(self) -> bool:
        """Whether its transactions have something that most have not."""
        special = (self.load_data, self.pause_s, self.session, self.xa_hold_s is not None)
        return self.rows > _LISTED or any(special)

    @property
    def text_bytes(self) -> int:
        """Size of the text of all statements that write, of a class without steps of its own."""
        return self.parts[0].text_bytes


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
        self._first = {table: position * _TABLE for position, table in enumerate(tables)}

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
        if one.steps:
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
            return lambda now: transaction(
                number, node, name, statements, (next(fresh),), 1, size,
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
        row = self._streams.stream(f"client/{client}/rows/{name}", one.keys.draw(first))

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
        for position, step in enumerate(one.steps):
            if not runs or runs[-1][0] is not step.looped:
                runs.append((step.looped, []))
            runs[-1][1].append(self._adding(step, f"client/{client}/rows/{name}/{position}"))
        least, most = one.loop
        once = [step for step in one.steps if not step.looped]
        again = [step for step in one.steps if step.looped]
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
        reads = _reading(step.reads, step.range_reads, step.range_rows)
        number, rows = step.statements, step.rows
        if not number or step.keys.distribution == "fresh":
            inserts = (*reads, *(Statement(0, rows),) * number)
            fresh = self._fresh

            def insert(statements: list[Statement], keys: list[Hashable]) -> None:
                statements += inserts
                keys += [next(fresh) for _ in range(number * rows)]

            return insert
        first, table_rows = self._first[step.table], step.keys.rows
        row = self._streams.stream(path, step.keys.draw(first))

        def update(statements: list[Statement], keys: list[Hashable]) -> None:
            statements += reads
            for _ in range(number):
                locks = _neighbours(int(row()), rows, first, table_rows)
                if step.for_update:
                    statements.append(Statement(rows, 0, locks))
                statements.append(Statement(0, rows, locks))
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
            listed = one.rows <= _LISTED
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
        row = self._streams.stream(f"client/{client}/rows/{one.name}", one.keys.draw(first))
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
def _reading(reads: int, range_reads: int, range_rows: int) -> tuple[Statement, ...]:
    return (Statement(1, 0),) * reads + (Statement(range_rows, 0),) * range_reads


def _neighbours(row: int, number: int, first: int, table_rows: int) -> tuple[int, ...]:
    """Rows from ``row`` on, in the order of the index, which a scan locks them in.

    Tables of so many rows lie behind each other, from ``first`` on; the rows are of one of them.
    """
    first += (row - first) // table_rows * table_rows
    over = row + number - (first + table_rows)
    if over <= 0:
        return tuple(range(row, row + number))
    return (*range(first, first + over), *range(row, first + table_rows))
