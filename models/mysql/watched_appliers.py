"""Appliers that tell a watch who waits for whom."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from simrep.kernel.order import WatchedGate
from simrep.kernel.watch import Holder, Line, Watch

from .appliers import Appliers, Change

__all__ = ["RELAY_LOG", "WatchedAppliers"]

Describe = Callable[[Any], Holder]
"""Who somebody is: owner or change to a ``Holder``."""
Who = Callable[[Any], tuple[Hashable, ...]]

RELAY_LOG = "relay log"


class WatchedAppliers(Appliers):
    """Appliers with lines for the relay log, for dependencies and for the commit order."""

    def watch(self, watch: Watch, node: str, describe: Describe, who: Who) -> None:
        """Begin to watch; before anything is submitted.

        Parameters
        ----------
        watch : Watch
        node : str
        describe : callable
            Who a change is.
        who : callable
            ``who(change)``: those for whom it stands.
        """
        self._changes: dict[int, Change] = {}  # handed over, and not committed
        self._describe_change = describe
        self._watch = watch
        self._node = node
        self._who = who

        def line(station: str, holder: Callable[[], Holder], **how: Any) -> Line:
            return Line(watch, node, station, holder, **{"who": who} | how)

        self._relay_line = line(
            RELAY_LOG, self._blocks_relay, behind=self.__len__, holds_up=RELAY_LOG
        )
        self._parent_line = line("dependencies", lambda: self._at(self.low_water + 1))
        if self._gate is not None:
            self._gate = gate = WatchedGate(
                line(
                    "commit order",
                    lambda: self._at(gate.next),
                    who=lambda seqno: who(self._changes[seqno]),
                )
            )

    def _at(self, seqno: int) -> Holder:
        change = self._changes.get(seqno, self._held)
        return Holder("the coordinator") if change is None else self._describe_change(change)

    def _blocks_relay(self) -> Holder:
        """What the coordinator waits for: what its change depends on, or a worker."""
        if self._idle > 0 or len(self._changes) == 1:
            return self._at(self.low_water + 1)
        holders = [self._describe_change(change) for change in self._changes.values()]
        keys = tuple(key for holder in holders for key in holder.keys)
        return Holder(f"one of {len(holders)} busy appliers", keys)

    def submit(self, change: Change) -> None:
        """See ``Appliers.submit``."""
        super().submit(change)
        if self._single and not self._idle:  # the single thread applies another
            self._relay_line.wait(change)

    def _schedule(self, _: None = None) -> None:
        super()._schedule()
        if self._held is not None and self._waits:
            self._relay_line.wait(self._held)

    def _hand_over(self, change: Change) -> None:
        self._relay_line.go(change)
        self._changes[change.seqno] = change
        for one in self._who(change):
            self._watch.doing(self._node, one, "being applied", "applier")
        super()._hand_over(change)

    def _start(self, change: Change) -> None:
        if change.parent > self.low_water:
            self._parent_line.wait(change)
        super()._start(change)

    def _work_on(self, change: Change) -> None:
        self._parent_line.go(change)
        super()._work_on(change)

    def _committed(self, change: Change) -> None:
        oldest = change.seqno == self.low_water + 1
        if oldest:
            self._parent_line.cut()
        if oldest or not self._idle:
            self._relay_line.cut()
        super()._committed(change)
        del self._changes[change.seqno]
        for one in self._who(change):
            self._watch.forget(self._node, one)
