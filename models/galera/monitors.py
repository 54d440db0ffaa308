"""The monitors of a Galera node: what has left its pipeline, and the modes of the commit order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from simrep.modelling import OrderedGate

from .writeset import Ordered, Writeset

__all__ = ["IN_ORDER", "ApplyMonitor", "LooseCommitMonitor", "Reports", "commit_monitor"]

_LOCAL_OUT_OF_ORDER: Final = 2
IN_ORDER: Final = 3

# A report follows more than this many keys or bytes, or this many writesets (certification.hpp).
_KEYS: Final = 1 << 10
_BYTES: Final = 128 << 20
_WRITESETS: Final = 128


class Reports:
    """After which writesets a node tells up to where it has committed; asked of each, in order."""

    __slots__ = ("_bytes", "_keys", "_reported")

    def __init__(self) -> None:
        self._keys = self._bytes = self._reported = 0

    def start_after(self, seqno: int) -> None:
        """Begin from a state that holds everything up to ``seqno``."""
        self._reported = seqno

    def due(self, seqno: int, writeset: Writeset) -> bool:
        """Whether the node reports when this one leaves."""
        self._keys = keys = self._keys + writeset.key_count
        self._bytes = size_bytes = self._bytes + writeset.size_bytes
        if seqno - self._reported >= _WRITESETS or keys > _KEYS or size_bytes > _BYTES:
            self._keys = self._bytes = 0
            self._reported = seqno
            return True
        return False


class ApplyMonitor:
    """Writesets leave it in any order; what depends on one waits until all up to it have left."""

    __slots__ = (
        "_asked",
        "_left",
        "_report",
        "_reports",
        "_waiting",
        "_wake",
        "last_left",
    )

    def __init__(
        self,
        wake: Callable[[Ordered], object],
        report: Callable[[int], object],
        reports: Reports,
    ) -> None:
        self._wake = wake
        self._report = report  # tells the group up to where everything has left
        self._reports = reports
        self._waiting: dict[int, list[Ordered]] = {}
        self._asked: dict[int, list[tuple[Callable[[Any], object], Any]]] = {}
        self._left: dict[int, Ordered] = {}
        self.last_left = 0

    def may_enter(self, ordered: Ordered) -> bool:
        """Whether it may be applied now; if not, ``wake(ordered)`` follows."""
        if ordered.depends <= self.last_left:
            return True
        self._waiting.setdefault(ordered.depends, []).append(ordered)
        return False

    def when_left(self, seqno: int, call: Callable[[Any], object], argument: Any) -> None:
        """``call(argument)`` when everything up to ``seqno`` has left."""
        if seqno <= self.last_left:
            call(argument)
        else:
            self._asked.setdefault(seqno, []).append((call, argument))

    def start_after(self, seqno: int) -> None:
        """Begin from a state that holds everything up to ``seqno``."""
        self.last_left = seqno
        self._reports.start_after(seqno)

    def leave(self, ordered: Ordered) -> None:
        """It is committed, or has failed certification."""
        seqno = ordered.seqno
        if seqno != self.last_left + 1:
            self._left[seqno] = ordered
            return
        while True:
            self.last_left = seqno
            if self._reports.due(seqno, ordered.writeset):
                self._report(seqno)
            if self._waiting:
                for dependent in self._waiting.pop(seqno, ()):
                    self._wake(dependent)
            if self._asked:
                for call, argument in self._asked.pop(seqno, ()):
                    call(argument)
            if seqno + 1 not in self._left:
                return
            seqno += 1
            ordered = self._left.pop(seqno)


class LooseCommitMonitor(OrderedGate):
    """A commit monitor that lets transactions commit before earlier ones (unsafe).

    Mode 2 (``LOCAL_OOOC``) lets those of local clients pass, 1 (``OOOC``) and 0 (``BYPASS``) all.
    What depends on each other through its rows keeps its order, but clients of different nodes
    may see the others in different orders.

    References
    ----------
    galera/src/replicator_smm.hpp, class CommitOrder.
    """

    def __init__(self, mode: int) -> None:
        super().__init__()
        self._remote_in_order = mode == _LOCAL_OUT_OF_ORDER
        self._left: set[int] = set()
        # Transactions that were committed before an earlier one: each of them is an anomaly that a
        # reader could have seen.
        self.out_of_order = 0

    def enter(self, position: int, call: Callable[[Any], object], argument: Any = None) -> None:
        """A remote transaction enters."""
        if self._remote_in_order and position != self.next:
            self._waiting[position] = (call, argument)
        else:
            call(argument)

    def enter_local(
        self, position: int, call: Callable[[Any], object], argument: Any = None
    ) -> None:
        """A transaction of a local client enters."""
        call(argument)

    def leave(self, position: int = 0) -> None:
        """The transaction at ``position`` leaves."""
        if position != self.next:
            self.out_of_order += 1
        self.skip(position)

    def skip(self, position: int = 0) -> None:
        """What is at ``position`` leaves without a commit, which nobody can see."""
        if position != self.next:
            self._left.add(position)
            return
        self._advance()
        if self._draining:  # the loop below goes on
            return
        self._draining = True
        while (waiting := self._waiting.pop(self.next, None)) is not None:
            waiting[0](waiting[1])
        self._draining = False

    def _advance(self) -> None:
        self.next += 1
        while self.next in self._left:
            self._left.discard(self.next)
            self.next += 1


def commit_monitor(mode: int) -> OrderedGate:
    """The monitor of a mode of ``repl.commit_order``; 3 is the safe default."""
    return OrderedGate() if mode == IN_ORDER else LooseCommitMonitor(mode)
