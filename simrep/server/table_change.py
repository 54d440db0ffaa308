"""A statement that changes the definition of a table on one server, such as ALTER TABLE."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import inf
from typing import Any, Final, Literal

from simrep.kernel.clock import Clock
from simrep.server.host import Host
from simrep.server.metadata_locks import Access, Claim, MetadataLocks

__all__ = ["ChangeCosts", "TableChange"]

Kind = Literal["instant", "inplace", "copy"]

_LOG_BLOCK_ROWS: Final = 5000  # innodb_sort_buffer_size, 1 MiB, of 200 bytes each


@dataclass(frozen=True, slots=True)
class ChangeCosts:
    """What it takes to change a table, in seconds.

    Parameters
    ----------
    definition_s : float
        To change the definition: dictionary and files, while nobody uses the table.
    row_s : float
        CPU for each row that the storage engine goes through by itself (``inplace``).
    copied_row_s : float
        CPU for each row that the server reads and inserts into a new table (``copy``).
    byte_s : float
        Time of the disk for each byte that is written anew.
    """

    definition_s: float
    row_s: float
    copied_row_s: float
    byte_s: float = 0.0

    def rows_s(self, kind: Kind, rows: int) -> float:
        """CPU to go through the rows of a table, in seconds."""
        return {"instant": 0.0, "inplace": self.row_s, "copy": self.copied_row_s}[kind] * rows


class TableChange:
    """One such statement, from its first lock to its end.

    ========  ======================================================================================
    instant   nobody uses the table: its definition is changed
    inplace   nobody uses it: files are made; everybody uses it again: rows are gone through, and
              what is written meanwhile is logged and caught up with; nobody uses it: the rest of
              the log, and the definition
    copy      nobody writes: rows are copied; nobody uses it: the definition
    ========  ======================================================================================

    Rows take a core; the new table is written behind, so the slower of the two decides.

    Parameters
    ----------
    clock : Clock
    host : Host
        Whose cores it takes.
    locks : MetadataLocks
    costs : ChangeCosts
    kind : {"instant", "inplace", "copy"}
    rows, size_bytes : int
        Of the table.
    kinds : collection of str or None
        Kinds of transactions that use it; None: all do.
    log_bytes : float
        The most that may be logged (``innodb_online_alter_log_max_size``).
    note : callable, optional
        ``note(word)`` is told when it ``waits`` for open transactions and when it has waited for
        what it ``locks``, when it goes through ``rows``, when it ``ends`` and when it ``fails``.

    Attributes
    ----------
    claim : Claim
    logged_rows : int
        Rows written by others since it has begun to go through the rows, and not caught up with.

    Notes
    -----
    Simplified: a row that was logged takes as long as one that is copied; a statement whose log is
    full fails when it has gone through the rows. Optimistic: the redo log of a copy holds up no
    commit, and its pages displace none in the buffer pool.

    References
    ----------
    sql/sql_table.cc of MySQL 8.4, mysql_alter_table, mysql_inplace_alter_table and
    copy_data_between_tables; storage/innobase/row/row0log.cc, row_log_apply; MySQL 8.4 Reference
    Manual, Online DDL.
    """

    def __init__(
        self,
        clock: Clock,
        host: Host,
        locks: MetadataLocks,
        costs: ChangeCosts,
        *,
        kind: Kind,
        rows: int,
        size_bytes: int,
        kinds: Collection[str] | None = None,
        log_bytes: float = inf,
        note: Callable[[str], object] | None = None,
    ) -> None:
        self._clock = clock
        self._host = host
        self._locks = locks
        self._costs = costs
        self._kind = kind
        self._rows = rows
        self._size_bytes = size_bytes
        self._note = note or _ignore
        self._changed: Callable[[], object] = _ignore
        self._log_bytes = log_bytes  # that are left
        self._stopped = False
        self._waited = False
        self._begun_s = 0.0
        self._logs = False
        self.claim = Claim(kinds)
        self.logged_rows = 0

    def begin(self, changed: Callable[[], object]) -> None:
        """Begin; ``changed()`` when the table is changed, and still nobody may use it.

        It never comes if the statement fails.
        """
        self._changed = changed
        self._locks.claim(self.claim, self._has_table)

    def end(self) -> None:
        """Everybody may use the table again."""
        self._end("ends")

    def fail(self) -> None:
        """It could not be committed: the table stays what it was."""
        self._end("fails")

    def _end(self, word: str) -> None:
        if not self._stopped:
            self._stopped = True
            self._note(word)
            self._locks.drop(self.claim)

    def stop(self) -> None:
        """Its server has ended: nothing of it happens any more."""
        self._stopped = True

    def wrote(self, kind: str, rows: int, size_bytes: int) -> None:
        """A transaction has committed that has written so many rows, which may be logged."""
        if self._logs and self.claim.concerns(kind):
            self.logged_rows += rows
            self._log_bytes -= size_bytes

    # -- its steps ---------------------------------------------------------------------------------

    def _has_table(self, _: None) -> None:
        if self._kind == "copy":
            self._ask(Access.READS, self._go_through)
        elif self._kind == "inplace":
            self._ask(Access.NONE, self._make_files)
        else:
            self._ask(Access.NONE, self._define)

    def _ask(self, access: int, call: Callable[[None], object]) -> None:
        claim = self.claim
        self._locks.ask(claim, access, self._has_lock, call)
        if claim.waits:
            self._waited = True
            self._note("waits")

    def _has_lock(self, call: Callable[[None], object]) -> None:
        if self._waited and not self._stopped:
            self._waited = False
            self._note("locks")
        call(None)

    def _make_files(self, _: None) -> None:
        if not self._stopped:
            self._clock.at(self._clock._now + self._costs.definition_s, self._made_files)

    def _made_files(self, _: None) -> None:
        if not self._stopped:
            self._logs = True
            self._locks.lower(self.claim, Access.ALL)
            self._go_through(None)

    def _go_through(self, _: None) -> None:
        if self._stopped:
            return
        self._note("rows")
        self._begun_s = self._clock._now
        self._host.run(self._costs.rows_s(self._kind, self._rows), self._went_through)

    def _went_through(self, _: None) -> None:
        """The disk may have more to write yet."""
        written_s = self._begun_s + self._size_bytes * self._costs.byte_s
        self._clock.at(max(self._clock._now, written_s), self._written)

    def _written(self, _: None) -> None:
        self._catch_up(None)

    def _catch_up(self, _: None) -> None:
        """Apply what others have logged meanwhile; the last block of it when nobody can."""
        if self._stopped:
            return
        if self._log_bytes < 0.0:
            self._end("fails")
            return
        rows, self.logged_rows = self.logged_rows, 0
        if rows > _LOG_BLOCK_ROWS:
            self._host.run(self._costs.copied_row_s * rows, self._catch_up)
        else:
            self.logged_rows = rows
            self._ask(Access.NONE, self._apply_rest)

    def _apply_rest(self, _: None) -> None:
        rest, self.logged_rows, self._logs = self.logged_rows, 0, False
        if rest:
            self._host.run(self._costs.copied_row_s * rest, self._define)
        else:
            self._define(None)

    def _define(self, _: None) -> None:
        if not self._stopped:
            self._clock.at(self._clock._now + self._costs.definition_s, self._defined)

    def _defined(self, _: None) -> None:
        if not self._stopped:
            self._changed()


def _ignore(*_: Any) -> None:
    pass
