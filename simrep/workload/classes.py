"""What the transactions of one class have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from simrep.workload.keys import Keys

__all__ = ["LISTED", "Step", "TransactionClass"]

_UPDATE_TEXT: Final = 100  # bytes
LISTED: Final = 1000
"""The rows of a statement are listed one by one up to so many; above, they are a range."""


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
    pages : int or None
        Pages of data that each statement needs which changes existing rows, or the ``SELECT ...
        FOR UPDATE`` before it; None: those of its rows, which are neighbours.
    read_pages : int or None
        The same of each statement that reads.
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
    pages: int | None = None
    read_pages: int | None = None

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
class TransactionClass(Step):
    """What the transactions of one class have in common.

    One whose statements are all of one kind is its own only step.

    Attributes
    ----------
    name : str
    weight : float
        Share of the mix, relative to the other classes.
    autocommit : bool
        The only statement commits by itself, without a BEGIN and a COMMIT.
    primary_key : bool
        Without one, a row that is inserted is certified by its content; the rows of such a class
        are taken as identical, so they share one key.
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
        What its transactions do instead, if that is more than statements of one kind.
    loop : tuple of int
        Steps that are ``looped``, one after the other, are repeated from so many to so many times:
        each transaction chooses evenly.
    """

    name: str = "write"
    weight: float = 1.0
    autocommit: bool = True
    primary_key: bool = True
    load_data: bool = False
    pause_s: float = 0.0
    xa_hold_s: float | None = None
    session: Any = None
    steps: tuple[Step, ...] = ()
    loop: tuple[int, int] = (1, 1)

    @property
    def parts(self) -> tuple[Step, ...]:
        """Its steps, also if there is only one."""
        return self.steps or (self,)

    def mean(self, amount: Callable[[Step], int]) -> float:
        """Mean of an amount of all its steps, loops included."""
        times = sum(self.loop) / 2.0
        return sum(amount(step) * (times if step.looped else 1) for step in self.parts)

    @property
    def writes(self) -> bool:
        """Whether its transactions write."""
        return any(step.statements for step in self.parts)

    @property
    def long(self) -> bool:
        """Whether its transactions have something that most have not."""
        special = (self.load_data, self.pause_s, self.session, self.xa_hold_s is not None)
        return self.rows > LISTED or any(special)
