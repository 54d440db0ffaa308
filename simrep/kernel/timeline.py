"""What servers notice and decide when something breaks: as lines of their error logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simrep.kernel.clock import Clock

__all__ = ["NOBODY", "Noted", "Timeline"]

NOBODY = -1
"""The position of who is no node."""


@dataclass(frozen=True, slots=True)
class Noted:
    """One line.

    Attributes
    ----------
    at_s : float
        When, in simulated seconds.
    node : int
        Position of the node that notes it; ``NOBODY`` if an actor does that is no node.
    what : str
        In a word of the field: ``suspect``, ``primary``, ``synced``.
    of : tuple of int
        Positions of the nodes that it is about; empty if there are none.
    how : str
        Further words: ``IST``; empty if there are none.
    actor : str
        The name of an actor that is no node, as ``proxy``; empty if a node notes it.
    """

    at_s: float
    node: int
    what: str
    of: tuple[int, ...] = ()
    how: str = ""
    actor: str = ""

    def who(self, names: Sequence[str]) -> str:
        """The name of who notes it; ``names`` are those of the nodes by position."""
        return self.actor or names[self.node]


class Timeline:
    """Keeps what servers, and those who look after them, note in one replication."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.noted: list[Noted] = []
        self.listeners: list[Callable[[Noted], object]] = []  # who is told of every line at once

    def note(self, node: int | str, what: str, of: tuple[int, ...] = (), how: str = "") -> None:
        """A node notes something now, or an actor that is no node, by its name."""
        if isinstance(node, str):
            line = Noted(self._clock.now, NOBODY, what, of, how, node)
        else:
            line = Noted(self._clock.now, node, what, of, how)
        self.noted.append(line)
        for call in self.listeners:
            call(line)
