"""The commit monitor of a Galera node in the modes of ``repl.commit_order``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simrep.modelling import OrderedGate

__all__ = ["IN_ORDER", "LooseCommitMonitor", "commit_monitor"]

_BYPASS, _OUT_OF_ORDER, _LOCAL_OUT_OF_ORDER, IN_ORDER = range(4)


class LooseCommitMonitor(OrderedGate):
    """A commit monitor that lets transactions commit before earlier ones (unsafe).

    Mode 2 (``LOCAL_OOOC``) lets those of local clients pass, 1 (``OOOC``) and 0 (``BYPASS``) all.
    What depends on each other through its rows keeps its order, but clients of different nodes
    may see the others in different orders.

    Parameters
    ----------
    mode : int

    Attributes
    ----------
    out_of_order : int
        Transactions that were committed before an earlier one: each of them is an anomaly that a
        reader could have seen.

    References
    ----------
    galera/src/replicator_smm.hpp, class CommitOrder.
    """

    def __init__(self, mode: int) -> None:
        super().__init__()
        self._remote_in_order = mode == _LOCAL_OUT_OF_ORDER
        self._left: set[int] = set()
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
