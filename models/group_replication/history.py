"""What a group has committed in the order: the binary logs of its members, as far as needed."""

from __future__ import annotations

from .certifier import Snapshot
from .transaction_message import TransactionMessage

__all__ = ["History"]


class History:
    """Transactions by their numbers in the order, from the first that some member may lack.

    All members number the same transactions alike. When a group is begun anew by a member that has
    not got all of them, the rest belongs to a branch that the group does not know. What that member
    lacks before its last one, as it was rolled back there, is void from then on.

    Attributes
    ----------
    void : set of int
        Numbers of transactions that the group does not have, and never will.
    """

    def __init__(self) -> None:
        self._messages: dict[int, TransactionMessage] = {}
        self._released = 0  # all members have those up to here
        self._cuts: list[tuple[int, frozenset[int]]] = []
        self.void: set[int] = set()
        self._forced: tuple[int, tuple[int, ...], int] | None = None

    def add(self, order: int, message: TransactionMessage) -> None:
        """A member has certified a transaction, which may not be the first to do so."""
        if order > self._released:
            self._messages[order] = message

    def release(self, order: int) -> None:
        """All members have all up to here on their disks."""
        for gone in range(self._released + 1, order + 1):
            self._messages.pop(gone, None)
        self._released = max(self._released, order)

    def missing(self, executed: Snapshot, order: int) -> list[tuple[int, TransactionMessage]]:
        """What a member lacks up to a number, in the order."""
        return [
            (number, self._messages[number])
            for number in range(executed.low + 1, order + 1)
            if not executed.has(number) and number not in self.void
        ]

    # -- groups that begin anew ------------------------------------------------------------------

    @property
    def branch(self) -> int:
        """The present branch: how often a group has begun anew."""
        return len(self._cuts)

    def cut(self, order: int, executed: Snapshot | None = None) -> None:
        """A group begins anew, by a member that has the transactions up to here, or only some."""
        void: frozenset[int] = frozenset()
        if executed is not None:
            there = range(executed.low + 1, order + 1)
            void = frozenset(number for number in there if not executed.has(number))
        self._cuts.append((order, void))
        self.void |= void
        for number in [number for number in self._messages if number > order or number in void]:
            del self._messages[number]

    def force(self, number: int, members: tuple[int, ...], order: int) -> None:
        """A view that was forced by hand has the transactions up to here; each member tells it."""
        if self._forced != (number, members, order):
            self._forced = number, members, order
            self.cut(order)

    def knows(self, branch: int, executed: Snapshot) -> bool:
        """Whether the group has all that a member of a branch has executed."""
        last = max(executed.above, default=executed.low)
        cuts = self._cuts[branch:]
        return all(last <= cut and not any(map(executed.has, void)) for cut, void in cuts)
