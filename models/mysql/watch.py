"""A server whose parts tell a watch who waits for whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from simrep.modelling import Holder, Lap, OrderedGate, watching
from simrep.modelling.watching import Twin, WatchedGate, describe, who

from .appliers import Appliers, RelayEntry
from .ending_server import EndingServer
from .event_appliers import EventAppliers
from .optimistic_appliers import OptimisticAppliers, StoppableOptimisticAppliers
from .server import BinlogTransaction, MysqlServer
from .stoppable_appliers import StoppableAppliers

__all__ = ["RELAY_LOG", "WatchedParts"]

RELAY_LOG = "relay log"


class _WatchedServer(Twin, MysqlServer):
    def _durable(self, entry: BinlogTransaction) -> None:
        self._parts.watch.forget(self.name, entry.transaction)
        super()._durable(entry)


class _WatchedEndingServer(_WatchedServer, EndingServer):
    """The same up to its end."""


class _WatchedAppliers(Twin, Appliers):
    """Has lines for the relay log, for dependencies and for the commit order."""

    def __init__(self, parts: WatchedParts, *args: Any, **how: Any) -> None:
        self._changes: dict[int, RelayEntry] = {}  # handed over, and not committed
        self._relay_line = parts.line(
            RELAY_LOG, self._blocks_relay, behind=self.__len__, holds_up=RELAY_LOG
        )
        self._parent_line = parts.line("dependencies", lambda: self._at(self.low_water + 1))
        super().__init__(parts, *args, **how)

    def _commit_order(self) -> OrderedGate:
        line = self._parts.line(
            "commit order",
            lambda: self._at(gate.next),
            who=lambda seqno: who(self._changes[seqno]),
            lap=Lap.COMMIT_ORDER,
        )
        gate: OrderedGate = WatchedGate(line)
        return gate

    def _at(self, seqno: int) -> Holder:
        change = self._changes.get(seqno, self._held)
        return Holder("the coordinator") if change is None else describe(self._parts.name, change)

    def _blocks_relay(self) -> Holder:
        """What the coordinator waits for: what its change depends on, or a worker."""
        if self._idle > 0 or len(self._changes) == 1:
            return self._at(self.low_water + 1)
        holders = [describe(self._parts.name, change) for change in self._changes.values()]
        keys = tuple(key for holder in holders for key in holder.keys)
        return Holder(f"one of {len(holders)} busy appliers", keys)

    def submit(self, change: RelayEntry) -> None:
        """See ``Appliers.submit``."""
        super().submit(change)
        if self._single and not self._idle:  # the single thread applies another
            self._relay_line.wait(change)

    def _schedule(self, _: None = None) -> None:
        super()._schedule()
        if self._held is not None and self._waits:
            self._relay_line.wait(self._held)

    def _hand_over(self, change: RelayEntry) -> None:
        self._relay_line.go(change)
        self._changes[change.seqno] = change
        for one in who(change):
            self._parts.watch.doing(self._parts.name, one, "being applied", "applier")
        super()._hand_over(change)

    def _start(self, change: RelayEntry) -> None:
        if change.parent > self.low_water:
            self._parent_line.wait(change)
        super()._start(change)

    def _work_on(self, change: RelayEntry) -> None:
        self._parent_line.go(change)
        super()._work_on(change)

    def _committed(self, change: RelayEntry) -> None:
        oldest = change.seqno == self.low_water + 1
        if oldest:
            self._parent_line.cut()
        if oldest or not self._idle:
            self._relay_line.cut()
        super()._committed(change)
        del self._changes[change.seqno]
        for one in who(change):
            self._parts.watch.forget(self._parts.name, one)


class _WatchedEventAppliers(_WatchedAppliers, EventAppliers):
    """The same where changes are handed over by event."""


class _WatchedStoppableAppliers(_WatchedAppliers, StoppableAppliers):
    """The same where they are stopped: nobody waits for what is left in the relay log."""

    def stop(self, call: Callable[[], object]) -> None:
        """See ``StoppableAppliers.stop``."""
        for change in self._relay:
            self._relay_line.go(change)
        if self._held is not None:
            self._relay_line.go(self._held)
        super().stop(call)


class _WatchedOptimisticAppliers(_WatchedAppliers, OptimisticAppliers):
    """Waits where it meets what is not committed, not before it begins."""

    def _start(self, change: RelayEntry) -> None:
        OptimisticAppliers._start(self, change)

    def _start_after(self, change: RelayEntry, position: int) -> None:
        if position > self.low_water:
            self._parent_line.wait(change)
        super()._start_after(change, position)


class _WatchedStoppableOptimisticAppliers(
    _WatchedOptimisticAppliers, _WatchedStoppableAppliers, StoppableOptimisticAppliers
):
    """The same where they are stopped."""


class WatchedParts(watching.WatchedParts):
    """See ``watching.WatchedParts``."""

    twins: ClassVar = {
        Appliers: _WatchedAppliers,
        EndingServer: _WatchedEndingServer,
        EventAppliers: _WatchedEventAppliers,
        MysqlServer: _WatchedServer,
        OptimisticAppliers: _WatchedOptimisticAppliers,
        StoppableAppliers: _WatchedStoppableAppliers,
        StoppableOptimisticAppliers: _WatchedStoppableOptimisticAppliers,
    }
