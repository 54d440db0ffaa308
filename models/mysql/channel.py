"""A replication channel of a server: its relay log, its appliers, and their commits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar, Final, Protocol

from simrep.modelling import Moments, Station, Transaction, deque
from simrep.models.mysql.appliers import Appliers, RelayEntry
from simrep.models.mysql.commit import Commit

from .event_appliers import EventAppliers
from .optimistic_appliers import OptimisticAppliers
from .options import ApplierCosts, ApplierOptions
from .server import MysqlServer

__all__ = ["Call", "Channel", "Committing", "RelayedTransaction"]

Call = Callable[[Any], object]

_US: Final = 1e-6


class RelayedTransaction(RelayEntry, Protocol):
    """A transaction from elsewhere; it owns the locks of its rows while it is applied."""

    transaction: Transaction
    size_bytes: int  # of its events in the relay log
    events: int
    written_s: float  # when its source had it in order, from which its lag counts
    locks: tuple[Hashable, ...]  # existing rows for which local transactions may compete with it
    scans: tuple[range, ...]  # the same for neighbouring rows, too many to list

    @property
    def protected(self) -> bool:
        """True: nothing aborts it."""

    def abort(self) -> object:
        """Never called."""


class Committing(Commit):
    """A change in the commit pipeline of the server that applies it."""

    __slots__ = ("applied", "change", "queued", "transaction")

    def __init__(
        self, change: RelayedTransaction, committed: Call, done: Call, queued: Call, applied: Call
    ) -> None:
        self.size_bytes = change.size_bytes
        self.committed = committed
        self.done = done
        self.owner = None
        self.seqno = 0
        self.sleeper = None
        self.change = change
        self.queued = queued
        self.applied = applied
        self.transaction = change.transaction


class Channel:
    """Writes changes to the relay log, applies and commits them."""

    appliers_kind: ClassVar[type[Appliers]] = Appliers
    optimistic_kind: ClassVar[type[OptimisticAppliers]] = OptimisticAppliers

    def __init__(
        self,
        server: MysqlServer,
        options: ApplierOptions,
        costs: ApplierCosts,
        *,
        speculates: str = "",
        checkpoints: bool = False,
        after_apply: Callable[[Any, Call], object] | None = None,
    ) -> None:
        host, name = server.host, server.name
        self.server = server
        self._application = host.routine(costs.apply_us * _US)
        self._apply_row_s = costs.apply_row_us * _US
        self._when_in_memory: Call = self._in_memory
        self._when_durable: Call = self._durable
        self._after_apply = after_apply  # holds up a change until it calls ``applied(change)``
        self._sync_relay_log = options.sync_relay_log
        self._unsynced_events = self._unsynced_bytes = 0
        self._rollback_s = costs.rollback_us * _US
        kind: Any = self.appliers_kind
        how: dict[str, Any] = {}
        if speculates and options.workers:
            kind = self.optimistic_kind
            how = {"rollback": self._undoing_s, "heeds_waits": speculates == "optimistic"}
        spins = options.commit_pipeline == "mysql-5.7" and options.parallel_type == "LOGICAL_CLOCK"
        if kind is Appliers and spins and options.workers and host.tells_threads:
            kind = EventAppliers
            how = {"checkpoints": checkpoints}
        self._appliers: Appliers = server.parts.make(
            kind,
            host,
            self,
            workers=options.workers,
            ordered=options.preserve_commit_order,
            workers_wait=bool(speculates),
            spins=spins,
            schedule_s=costs.schedule_us * _US,
            switch_s=costs.switch_us * _US,
            name=f"{name}/appliers",
            **how,
        )
        self._pending: deque[RelayedTransaction] = deque()
        self._waiters: deque[tuple[int, Call, Any]] = deque()
        self.relay_log_bytes = 0
        self.received = self.applied = 0  # transactions
        self.relay_syncs = 0
        self.lag = Moments()  # seconds from the source's order to the commit here

    # -- the relay log -------------------------------------------------------------------------

    def write(self, change: RelayedTransaction, written: Call) -> None:
        """Append a change to the relay log for the appliers, then ``written(change)``."""
        self._unsynced_events += change.events
        self._unsynced_bytes += change.size_bytes
        if self._sync_relay_log and self._unsynced_events >= self._sync_relay_log:
            self._sync((change, written))
        else:
            self.reread(change)
            written(change)

    def _sync(self, work: tuple[RelayedTransaction, Call]) -> None:
        """One fsync for every full period of events: a short period costs a transaction several."""
        period = self._sync_relay_log
        if period and self._unsynced_events >= period:
            self._unsynced_events -= period
            size, self._unsynced_bytes = self._unsynced_bytes, 0
            self.relay_syncs += 1
            self.server.disk.sync(size, self._sync, work)
            return
        change, written = work
        self.reread(change)
        written(change)

    def reread(self, change: RelayedTransaction) -> None:
        """A change is in the relay log: the appliers may read it."""
        self.received += 1
        self.relay_log_bytes += change.size_bytes
        self._pending.append(change)
        self._appliers.submit(change)

    def start_after(self, position: int) -> None:
        """Begin where all changes up to a position are committed, and nothing is in the log."""
        self.received = self.applied = position
        self._appliers.start_after(position)

    @property
    def low_water(self) -> int:
        """Everything up to here is committed, and durable."""
        return self._appliers.low_water

    @property
    def backlog(self) -> int:
        """Transactions in the relay log that are not committed here."""
        return self.received - self.applied

    @property
    def unread(self) -> int:
        """Transactions in the relay log that no worker has yet."""
        return len(self._appliers)

    @property
    def behind_s(self) -> float:
        """Age in seconds of the oldest of them."""
        return self.server.clock.now - self._pending[0].written_s if self._pending else 0.0

    def when_caught_up(self, call: Call, argument: Any = None) -> None:
        """``call(argument)`` when all that has been received until now is committed."""
        if self._appliers.low_water >= self.received:
            call(argument)
        else:
            self._waiters.append((self.received, call, argument))

    # -- the appliers --------------------------------------------------------------------------

    @property
    def apply_s(self) -> tuple[float, float]:
        """What it takes to apply a change, and each of its rows, in seconds."""
        return self._application.seconds, self._apply_row_s

    @property
    def retried(self) -> int | None:
        """Transactions that were rolled back and applied again; None where that never happens."""
        appliers = self._appliers
        if isinstance(appliers, OptimisticAppliers):
            retried: int = appliers.retried
            return retried
        return None

    def _undoing_s(self, change: RelayedTransaction) -> float:
        return self._rollback_s + self._apply_row_s * change.transaction.rows

    def apply(self, change: RelayedTransaction, applied: Call) -> None:
        """Change the rows; those that other workers change at the same time are different ones."""
        if self.server.trace is not None:
            self.server.trace.record(self.server.index, "apply", change.seqno)
        if change.scans:
            self._force_scans(((change, applied), change.scans))
        elif change.locks:
            work = (change, applied)
            self.server.locks.force_all(change, change.locks, self._write_rows, work)
        elif self._after_apply is None:
            self._application.go_on(applied, change, self._apply_row_s * change.transaction.rows)
        else:
            self._write_rows((change, applied))

    def _force_scans(self, step: tuple[tuple[RelayedTransaction, Call], tuple[range, ...]]) -> None:
        work, scans = step
        change = work[0]
        locks = self.server.locks
        if scans:
            locks.force_range(change, scans[0], self._force_scans, (work, scans[1:]))
        else:
            locks.force_all(change, change.locks, self._write_rows, work)

    def _write_rows(self, work: tuple[RelayedTransaction, Call]) -> None:
        change, applied = work
        rows_s = self._apply_row_s * change.transaction.rows
        if self._after_apply is None:
            self._application.go_on(applied, change, rows_s)
        else:
            self._application.go_on(self._hold, work, rows_s)

    def _hold(self, work: tuple[RelayedTransaction, Call]) -> None:
        assert self._after_apply is not None
        self._after_apply(*work)

    def commit(self, change: RelayedTransaction, queued: Call, committed: Call) -> None:
        """Commit as the server does.

        The next in order may follow when this one has its place in the queue of the binary log;
        so those that are ready form a group. Without a binary log there is no such queue.
        """
        entry = Committing(change, self._when_in_memory, self._when_durable, queued, committed)
        self.server.redo.append()
        self.server.pipeline.commit(entry)
        if self.server.log_bin:
            queued(change)

    def note(self, call: Call) -> None:
        """Write down how far all is committed (``mysql.slave_relay_log_info``).

        The coordinator does so in a transaction of its own, which is not in the binary log, and
        waits until it is durable. Simplified: no commit shares its fsync.
        """
        seconds = self._apply_row_s + self.server.commit_s
        self._application.go_on(self._sync_note, call, seconds)

    def _sync_note(self, call: Call) -> None:
        self.server.redo.flush_alone(0, call)

    def _in_memory(self, entry: Committing) -> None:
        change, server = entry.change, self.server
        self.applied += 1
        server.commits += 1
        self.lag.add(server.clock._now - change.written_s)
        if change.transaction.journal is not None:  # before those who wait for it read
            change.transaction.journal.committed(server.index)
        server.hooks.in_engine(entry)
        if server.trace is not None:
            server.trace.record(server.index, "commit", change.seqno, change.transaction.client)
        if change.locks or change.scans:
            server.locks.release_all(change)
        if not server.log_bin:
            entry.queued(change)

    def _durable(self, entry: Committing) -> None:
        change = entry.change
        entry.applied(change)
        self.forget(change)

    def forget(self, change: RelayedTransaction) -> None:
        """A change is committed, and durable."""
        self.relay_log_bytes -= change.size_bytes
        low_water = self._appliers.low_water
        pending = self._pending
        while pending and pending[0].seqno <= low_water:
            pending.popleft()
        waiters = self._waiters
        while waiters and waiters[0][0] <= low_water:
            _, call, argument = waiters.popleft()
            call(argument)

    # -- figures -------------------------------------------------------------------------------

    def stations(self) -> Iterable[Station]:
        """The appliers."""
        return [self._appliers]
