"""Entry strictly in order: the monitors of a replicated server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simrep.kernel.watch import Line

__all__ = ["OrderedGate", "WatchedGate"]


class OrderedGate:
    """One position at a time, in the order of the positions, whenever each of them arrives.

    Galera's local and commit monitors are such gates: position p enters when p - 1 has left.

    Parameters
    ----------
    first : int
        The position that may enter first.

    Attributes
    ----------
    next : int
        The position that holds the gate, or whose turn it is.
    """

    def __init__(self, first: int = 1) -> None:
        self.next = first
        self._waiting: dict[int, tuple[Callable[[Any], object], Any]] = {}
        self._draining = False

    def enter(self, position: int, call: Callable[[Any], object], argument: Any = None) -> None:
        """Run ``call(argument)`` when it is the turn of ``position``: now, or in a ``leave``."""
        if position == self.next and not self._draining:
            call(argument)
        else:
            self._waiting[position] = (call, argument)

    # Gates that know exceptions from the order let some positions enter at once.
    enter_local = enter

    def leave(self, _position: int = 0) -> None:
        """The holder leaves: the next position may enter."""
        self.next += 1
        if not self._waiting or self._draining:  # draining: the loop below goes on
            return
        self._draining = True
        try:
            while (entry := self._waiting.pop(self.next, None)) is not None:
                position = self.next
                entry[0](entry[1])
                if self.next == position:  # the new holder stays inside
                    break
        finally:
            self._draining = False

    # Those that know exceptions may tell who leaves without having done anything.
    skip = leave

    def __len__(self) -> int:
        """How many are waiting."""
        return len(self._waiting)


class WatchedGate(OrderedGate):
    """A gate that tells a line which positions wait.

    Parameters
    ----------
    line : Line
        What it waits for is the position that is ``next``; if it has a ``doing``, who has entered
        does that until it leaves.
    first : int
    """

    def __init__(self, line: Line, first: int = 1) -> None:
        super().__init__(first)
        self._line = line

    def enter(self, position: int, call: Callable[[Any], object], argument: Any = None) -> None:
        """See ``OrderedGate.enter``."""
        if position == self.next and not self._draining:
            self._begin(position, call, argument)
        else:
            self._line.wait(position)
            super().enter(position, self._turn, (position, call, argument))

    def _turn(self, entry: tuple[int, Callable[[Any], object], Any]) -> None:
        self._line.go(entry[0])
        self._begin(*entry)

    def _begin(self, position: int, call: Callable[[Any], object], argument: Any) -> None:
        """Let a position enter; those that tell more say what it does now."""
        if self._line.doing:
            self._line.serve([position])
        call(argument)

    enter_local = enter

    def leave(self, _position: int = 0) -> None:
        """See ``OrderedGate.leave``."""
        if self._line.doing:
            self._line.leave()
        else:
            self._line.cut()
        super().leave()

    skip = leave
