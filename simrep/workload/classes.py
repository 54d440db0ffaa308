"""Classes of transactions, and the mix of them that a client submits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count

from simrep.kernel.streams import Streams
from simrep.workload.keys import Keys
from simrep.workload.transaction import Statement, Transaction

__all__ = ["Make", "Mix", "TransactionClass"]

Make = Callable[[float], Transaction]
"""Builds the next transaction of a client, which starts at the given time in seconds."""

# Row numbers of different tables lie this far apart, so that a row is one integer everywhere.
# Fresh rows are negative.
_TABLE = 1 << 40
_UPDATE_TEXT = 100  # bytes


@dataclass(frozen=True, slots=True)
class TransactionClass:
    """What the transactions of one class have in common.

    Parameters
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

    @property
    def text_bytes(self) -> int:
        """Size of the text of all statements that write."""
        each = self.statement_bytes
        if each is None:
            each = self.rows * self.row_bytes if self.keys.distribution == "fresh" else _UPDATE_TEXT
        return self.statements * each


class Mix:
    """Builds the transactions of all clients of one replication.

    Parameters
    ----------
    classes : sequence of TransactionClass
    streams : Streams
        Each client takes its own streams, named ``client/<client>/class`` and
        ``client/<client>/rows/<class>``.
    """

    def __init__(self, classes: Sequence[TransactionClass], streams: Streams) -> None:
        self._classes = tuple(classes)
        self._streams = streams
        self._fresh = count(-1, -1)
        tables = dict.fromkeys(one.table for one in self._classes)
        self._first = {table: position * _TABLE for position, table in enumerate(tables)}

    def client(self, client: str, number: int, node: int) -> Make:
        """What builds the transactions of one client.

        Parameters
        ----------
        client : str
            Name of the client in the paths of its random streams.
        number, node : int
            Its number, and the position of the node that it is connected to.
        """
        makers = [self._maker(one, client, number, node) for one in self._classes]
        if len(makers) == 1:
            return makers[0]
        pick = self._streams.uniform(f"client/{client}/class")
        *bounds, total = accumulate(one.weight for one in self._classes)
        shares = [bound / total for bound in bounds]

        def any_of_them(now: float) -> Transaction:
            return makers[bisect_right(shares, pick())](now)

        return any_of_them

    def _maker(self, one: TransactionClass, client: str, number: int, node: int) -> Make:
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
        fresh = self._fresh
        if rows == 1 and one.primary_key:
            return lambda now: Transaction(
                number, node, name, statements, (next(fresh),), 1, size,
                text_bytes=text, autocommit=autocommit, started_s=now,
            )  # fmt: skip
        if rows and one.primary_key:
            return lambda now: Transaction(
                number, node, name, statements, tuple([next(fresh) for _ in range(rows)]), rows,
                size, text_bytes=text, autocommit=autocommit, started_s=now,
            )  # fmt: skip
        keys: tuple[Hashable, ...] = (("content", one.table, name),) if rows else ()
        return lambda now: Transaction(
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
        row = self._streams.stream(f"client/{client}/rows/{name}", one.keys.draw(first))

        def single(now: float) -> Transaction:
            keys = (row(),)
            return Transaction(
                number, node, name, (*reads, Statement(0, 1, keys)), keys, 1, size,
                text_bytes=text, autocommit=autocommit, started_s=now,
            )  # fmt: skip

        def several(now: float) -> Transaction:
            locks = [
                _neighbours(int(row()), per_statement, first, table_rows)
                for _ in range(one.statements)
            ]
            return Transaction(
                number, node, name,
                reads + tuple([Statement(0, per_statement, some) for some in locks]),
                tuple(dict.fromkeys([key for some in locks for key in some])), rows, size,
                text_bytes=text, autocommit=autocommit, started_s=now,
            )  # fmt: skip

        return single if rows == 1 else several


def _reads(one: TransactionClass) -> tuple[Statement, ...]:
    return (Statement(1, 0),) * one.reads + (Statement(one.range_rows, 0),) * one.range_reads


def _neighbours(row: int, number: int, first: int, table_rows: int) -> tuple[int, ...]:
    """Rows from ``row`` on, in the order of the index, which a scan locks them in."""
    over = row + number - (first + table_rows)
    if over <= 0:
        return tuple(range(row, row + number))
    return (*range(first, first + over), *range(row, first + table_rows))
