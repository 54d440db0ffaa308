"""Streaming replication at the origin: a transaction is replicated while it is executed.

The client's thread executes rows until a fragment is due; then it stores the fragment in
``mysql.wsrep_streaming_log``, replicates it like a writeset, waits until it is ordered and
certified, and commits the stored row at its place in the commit order. Only then it goes on: one
fragment of a transaction is under way at a time.

Simplified: the locks of a fragment's rows are kept until the transaction ends; there are no gap
locks.

References
----------
codership/wsrep-lib ``src/transaction.cpp``: ``streaming_step``, ``certify_fragment``,
``certify_commit``, ``streaming_rollback``; ``sr_key_set.hpp``: what is sent again at the commit are
the names of the tables, not the keys of all rows.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Sequence
from math import ceil
from typing import Any

from simrep.modelling import Event, Lap, LongTransaction, Statement, Transaction

from .node import GaleraNode
from .options import GaleraCosts, GaleraOptions, GaleraSession
from .stored_fragments import StoredFragments, pages_of
from .writeset import LocalTransaction, Part, StreamPart, Writeset

__all__ = ["Stream", "StreamingReplication"]

_US = 1e-6
_ANY_NUMBER = 1 << 62


class StreamingReplication:
    """Which transactions of a node are streamed, and how."""

    def __init__(
        self, node: GaleraNode, options: GaleraOptions, costs: GaleraCosts, numbers: Iterator[int]
    ) -> None:
        self.node = node
        self.annotate = options.annotate_rows
        self.most_bytes = options.max_ws_size
        self._unit = options.fragment_unit
        self._size = options.fragment_size
        self._numbers = numbers
        routine = node.host.routine
        self.storage = routine(costs.log_row_us * _US)
        self.removal = routine(0.0)
        self.stored = StoredFragments(options.innodb_buffer_pool_size, costs)
        self.log_byte_s = costs.log_byte_ns * 1e-9
        self.fragments = self.rollbacks = 0  # replicated; transactions that were rolled back

    def of(self, transaction: Transaction, local: LocalTransaction) -> Stream | None:
        """How a transaction is streamed; None if it is not."""
        session = transaction.session
        unit, size = self._unit, self._size
        if isinstance(session, GaleraSession):
            unit = session.fragment_unit or unit
            size = self._size if session.fragment_size is None else session.fragment_size
        if not transaction.rows or not (size or transaction.xa_hold_s is not None):
            return None
        stream = (self.node.index, next(self._numbers))
        made = Stream(self, transaction, local, stream, unit, size)
        local.stream = made
        self.node.locks.waits_for_victims = False  # see ``GaleraNode``
        return made


class Stream:
    """One streaming transaction: what of it is replicated, and what is not yet."""

    def __init__(
        self,
        streams: StreamingReplication,
        transaction: Transaction,
        local: LocalTransaction,
        identity: tuple[int, int],
        unit: str,
        size: int,
    ) -> None:
        self._streams = streams
        self._transaction = transaction
        self._local = local
        self._identity = identity
        self._unit = unit
        self._size = size or _ANY_NUMBER  # 0: streamed only because it is an XA transaction
        self._row_bytes = transaction.size_bytes / transaction.rows
        self._rows = 0  # written, but not replicated
        self._new_rows = 0  # of these, which did not exist
        self._statements = 0
        self._text_bytes = transaction.text_bytes if streams.annotate else 0
        # Rows that are written and not replicated; and all that do not exist yet.
        self._keys: list[Hashable] = []
        self._ranges: list[range] = []
        existing = {row for statement in transaction.statements for row in statement.locks}
        scanned = any(statement.scan for statement in transaction.statements)
        self._new_keys = [key for key in transaction.keys if key not in existing]
        self._new_ranges = [] if scanned else list(transaction.ranges)
        # It is prepared, or its commit is sent: it ends as the order says, whatever becomes of its
        # client.
        self.final = False
        self.fragments = 0  # sent
        self._pages = 0  # that these have of their own where they are stored
        self._other_bytes = 0  # of rows, and of fragments that share pages

    # -- what a session asks while it executes -----------------------------------------------

    def room(self) -> int:
        """See ``Streaming.room``."""
        if self._unit == "bytes":
            return max(1, ceil(self._size / self._row_bytes) - self._rows)
        if self._unit == "rows":
            return max(1, self._size - self._rows)
        return _ANY_NUMBER

    def written(self, rows: int, locked: Sequence[Hashable]) -> bool:
        """See ``Streaming.written``."""
        self._rows += rows
        if isinstance(locked, range):
            self._ranges.append(locked)
        else:
            self._keys += locked
        self._new_rows += rows - len(locked)
        if self._unit == "bytes":
            return self._rows * self._row_bytes >= self._size
        return self._unit == "rows" and self._rows >= self._size

    def statement_ended(self) -> bool:
        """See ``Streaming.statement_ended``."""
        self._statements += 1
        return self._unit == "statements" and self._statements >= self._size

    def replicate(self, what: int = Part.FRAGMENT) -> Generator[Event, Any, bool]:
        """Store, replicate and commit a fragment; False if the transaction has to roll back."""
        streams, local, node = self._streams, self._local, self._streams.node
        writeset = self._writeset(what)
        if writeset.size_bytes > streams.most_bytes:
            return self._too_large()
        more_s = streams.log_byte_s * writeset.size_bytes
        yield node.host.work(
            streams.storage.cost(more_s) + node.preparation(writeset.size_bytes, writeset.key_count)
        )
        if local.lost():
            return False
        local.mark(Lap.EXECUTE)
        self.fragments += 1
        streams.fragments += 1
        if writeset.journal is not None:
            writeset.journal.fragments += 1
        stored: bool = yield from self._order(writeset)
        local.protected = what == Part.PREPARE
        self.final = local.protected
        if stored and node.redo_stage is None:
            local.mark(Lap.COMMIT)
        return stored and not local.aborted

    # -- the end -----------------------------------------------------------------------------

    def commit(self) -> Generator[Event, Any, bool]:
        """Remove the stored fragments and replicate the rest as the commit."""
        streams, local, node = self._streams, self._local, self._streams.node
        writeset = self._writeset(Part.COMMIT)
        if writeset.size_bytes > streams.most_bytes:
            return self._too_large()
        seconds = streams.removal.cost(streams.stored.removal_s * self.fragments)
        seconds += node.preparation(writeset.size_bytes, writeset.key_count)
        yield node.host.work(seconds)
        assert writeset.part is not None
        if read_s := streams.stored.read_s(writeset.part):
            yield node.clock.timeout(read_s)
        if local.lost():
            return False
        local.mark(Lap.EXECUTE)
        self.final = True
        committed: bool = yield from self._order(writeset)
        return committed

    def rolled_back(self) -> None:
        """Tell it to those who hold rows for it; nobody waits until they know."""
        if not self.fragments:
            return
        self._streams.rollbacks += 1
        self._local.retry = False  # the server repeats no statement that was replicated in part
        writeset = Writeset(
            LongTransaction(0, self._streams.node.index, self._transaction.kind, (), (), 0, 0),
            self._local,
        )
        writeset.part = self._part(Part.ROLLBACK, 0)
        writeset.awaited = False
        self._streams.node.rollback(writeset)

    def _order(self, writeset: Writeset) -> Generator[Event, Any, bool]:
        local = self._local
        local.done = Event(self._streams.node.clock)
        self._streams.node.replicate(writeset)
        done: bool = yield local.done
        return done

    def _too_large(self) -> bool:
        self._local.error = self._streams.node.refuse_size()
        return False

    def _writeset(self, what: int) -> Writeset:
        """What was written since the last fragment."""
        whole = self._transaction
        rows, self._rows = self._rows, 0
        self._statements = 0
        locked, scans = tuple(self._keys), tuple(self._ranges)
        self._keys, self._ranges = [], []
        new = self._take_new()
        part = LongTransaction(
            whole.client, whole.node, whole.kind, (Statement(0, rows, locked),),
            (*locked, *(key for key in new if not isinstance(key, range))), rows,
            int(rows * self._row_bytes), text_bytes=self._text_bytes,
        )  # fmt: skip
        part.ranges = (*scans, *(key for key in new if isinstance(key, range)))
        part.journal = whole.journal
        self._text_bytes = 0  # the first fragment carries it
        writeset = Writeset(part, self._local, annotate=True)
        writeset.scans = scans
        writeset.part = self._part(what, part.size_bytes)
        return writeset

    def _part(self, what: int, size_bytes: int) -> StreamPart:
        """What a writeset with so many bytes of row events is of it."""
        self._other_bytes += size_bytes
        made = StreamPart(self._identity, what, self.fragments, self._pages, self._other_bytes)
        if not made.last:
            pages = pages_of(size_bytes)
            self._pages += pages
            self._other_bytes += 0 if pages else size_bytes
        return made

    def _take_new(self) -> list[Hashable]:
        """Keys of the rows that did not exist before, single ones and ranges."""
        rows, self._new_rows = self._new_rows, 0
        if self._transaction.same_content:
            return list(self._new_keys) if rows else []
        taken: list[Hashable] = list(self._new_keys[:rows])
        del self._new_keys[:rows]
        rows -= len(taken)
        while rows > 0 and self._new_ranges:
            first = self._new_ranges[0]
            part, rest = first[:rows], first[rows:]
            taken.append(part)
            rows -= len(part)
            self._new_ranges[:1] = [rest] if rest else []
        return taken
