"""What a member has missed, on its way into the relay log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from simrep.modelling import Clock
from simrep.models.mysql.channel import Channel

from .certifier import Certifier
from .messages import Ordered, TransactionMessage

__all__ = ["MissedTransactions"]


class MissedTransactions:
    """Writes one after the other to the relay log, which may have to be synced in between.

    Attributes
    ----------
    last : int
        Number of the last of them in the order of the group.
    """

    def __init__(self, clock: Clock, channel: Channel) -> None:
        self._clock = clock
        self._channel = channel
        self._waiting: deque[tuple[int, TransactionMessage, Certifier]] = deque()
        self._writing = self._at_once = False
        self._calls: list[Callable[[], object]] = []
        self.last = 0

    def append(self, order: int, message: TransactionMessage, certifier: Certifier) -> None:
        """Write a transaction; the certifier tells what it depends on."""
        self.last = max(self.last, order)
        self._waiting.append((order, message, certifier))
        if not self._writing:
            self._write()

    def when_applied(self, call: Callable[[], object]) -> None:
        """``call()`` when all that is in the relay log, or on its way there, is applied."""
        if self._waiting or self._writing:
            self._calls.append(call)
        else:
            self._channel.when_caught_up(_call, call)

    def _write(self) -> None:
        channel = self._channel
        while self._waiting and not self._writing:
            order, message, certifier = self._waiting.popleft()
            self._writing = True
            seqno = channel.received + 1
            items, ranges = message.items, message.ranges
            parent = certifier.certify(order, seqno, message.snapshot, items, ranges)
            self._at_once = True
            channel.write(Ordered(message, order, seqno, parent, self._clock.now), self._written)
            self._at_once = False
        if not self._writing:
            calls, self._calls = self._calls, []
            for call in calls:
                self.when_applied(call)

    def _written(self, _: Ordered) -> None:
        self._writing = False
        if not self._at_once:
            self._write()


def _call(call: Callable[[], object]) -> None:
    call()
