"""What servers notice and decide when something breaks: as lines of their error logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simrep.kernel.clock import Clock

__all__ = ["Noted", "Timeline"]


@dataclass(frozen=True, slots=True)
class Noted:
    """One line.

    Attributes
    ----------
    at_s : float
        When, in simulated seconds.
    node : int
        Position of the node that notes it.
    what : str
        In a word of the field: ``suspect``, ``primary``, ``synced``.
    of : tuple of int
        Positions of the nodes that it is about; empty if there are none.
    how : str
        Further words: ``IST``; empty if there are none.
    """

    at_s: float
    node: int
    what: str
    of: tuple[int, ...] = ()
    how: str = ""


class Timeline:
    """Keeps what the servers of one replication note, in the order of time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.noted: list[Noted] = []

    def note(self, node: int, what: str, of: tuple[int, ...] = (), how: str = "") -> None:
        """A node notes something now."""
        self.noted.append(Noted(self._clock.now, node, what, of, how))
