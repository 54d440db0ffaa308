"""Transactions that a member gets from a donor, or had on its disk: into its relay log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from simrep.modelling import Clock
from simrep.models.mysql.channel import Channel
from simrep.models.mysql.table_changes import TableStatement

from .certifier import Certifier
from .transaction_message import Ordered, TransactionMessage

__all__ = ["MissedTransactions"]


class MissedTransactions:
    """Those of one member: the channel ``group_replication_recovery``.

    They are applied by the same threads as what comes from the group later. What may be applied at
    the same time is found as their donor does, from the rows that they write.

    Parameters
    ----------
    clock : Clock
    channel : Channel

    Attributes
    ----------
    up_to : int
        The last of them, by its number in the order.
    """

    def __init__(self, clock: Clock, channel: Channel) -> None:
        self._clock = clock
        self._channel = channel
        self._unwritten: deque[tuple[int, TransactionMessage]] = deque()
        self._writing = self._at_once = False
        self._when_written: list[Callable[[], object]] = []
        self._certifier = Certifier(detects_conflicts=False)
        self.up_to = 0

    def __len__(self) -> int:
        """How many of them are not committed yet."""
        return len(self._unwritten) + self._channel.backlog

    def begin(self) -> None:
        """From now on they come from another donor."""
        self._certifier = Certifier(detects_conflicts=False)

    def write(self, order: int, message: TransactionMessage) -> None:
        """Write the next one to the relay log, which may have to be synced."""
        self.up_to = max(self.up_to, order)
        self._unwritten.append((order, message))
        if not self._writing:
            self._write()

    def _write(self) -> None:
        while self._unwritten and not self._writing:
            order, message = self._unwritten.popleft()
            self._writing = True
            seqno = self._channel.received + 1
            parent = self._certifier.certify(
                order, seqno, message.snapshot, message.items, message.ranges
            )
            if isinstance(message.transaction, TableStatement):
                parent = seqno - 1
                self._certifier.begin_after(seqno)
            change = Ordered(message, order, seqno, parent, self._clock.now)
            self._at_once = True
            self._channel.write(change, self._written)
            self._at_once = False
        if not self._writing:
            calls, self._when_written = self._when_written, []
            for call in calls:
                self.when_applied(call)

    def _written(self, _: Ordered) -> None:
        self._writing = False
        if not self._at_once:
            self._write()

    def when_applied(self, call: Callable[[], object]) -> None:
        """``call()`` when all that is in the relay log, or on its way there, is committed."""
        if self._unwritten or self._writing:
            self._when_written.append(call)
        else:
            self._channel.when_caught_up(_call, call)


def _call(call: Callable[[], object]) -> None:
    call()
