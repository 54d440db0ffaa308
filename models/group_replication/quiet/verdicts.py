"""What certification has found, for all quiet members."""

from __future__ import annotations

from simrep.models.group_replication.certifier import Certifier
from simrep.models.group_replication.transaction_message import TransactionMessage

__all__ = ["Verdicts"]


class Verdicts:
    """Certification is the same on every member without clients: one does it for all of them.

    Each of ``readers`` members asks about every message of the total order for which certification
    information matters, in that order; the first to ask has it done. None of them has
    transactions of its own, so that a transaction's place in their channels is its number.
    """

    def __init__(self, readers: int, *, detects_conflicts: bool) -> None:
        self._certifier = Certifier(detects_conflicts=detects_conflicts)
        self._others = readers - 1
        self._asked = 0  # messages of the order that somebody has asked for
        self._order = 0  # of the last transaction that has passed
        # What was found: also for how many others that is.
        self._found: dict[int, tuple[int, int]] = {}
        self._left: dict[int, int] = {}

    def of(self, place: int, message: TransactionMessage) -> tuple[int, int]:
        """What the transaction depends on, the message number ``place`` of the order.

        That is the position of the latest of those transactions, or -1 if it fails. Also the rows
        in the certification information then.
        """
        if place != self._asked:
            return self._found.pop(place) if self._others == 1 else self._told(place)
        order = self._order + 1
        parent = self._certifier.certify(
            order, order, message.snapshot, message.items, message.ranges
        )
        if parent >= 0:
            self._order = order
        return self._tell(place, parent)

    def collect(self, place: int, stable: int) -> tuple[int, int]:
        """Collect garbage: how much there was, and the rows that are left."""
        if place != self._asked:
            return self._told(place)
        certifier = self._certifier
        before = certifier.collected
        certifier.collect(stable, self._order)
        return self._tell(place, certifier.collected - before)

    def _tell(self, place: int, what: int) -> tuple[int, int]:
        self._asked = place + 1
        found = what, len(self._certifier)
        if self._others:
            self._found[place] = found
            if self._others > 1:
                self._left[place] = self._others
        return found

    def _told(self, place: int) -> tuple[int, int]:
        left = self._left.pop(place, 1) - 1
        if not left:
            return self._found.pop(place)
        self._left[place] = left
        return self._found[place]
