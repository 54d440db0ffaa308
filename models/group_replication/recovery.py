"""How a member that joins gets what it has missed: distributed recovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from simrep.modelling import BulkStream, Clock, Network, Stream
from simrep.models.group_replication.gcs.views import View

from .certifier import Certifier, Snapshot
from .history import History
from .messages import Metadata, TransactionMessage

__all__ = ["Donor", "Joiner", "Recovery"]

_PIECE_BYTES = 65_536
_LOOK_S = 0.010  # a donor that has not committed what comes next: so often is looked again

_Missing = list[tuple[int, TransactionMessage]]


class Donor(Protocol):
    """A member that gives what others have missed."""

    @property
    def alive(self) -> bool:
        """Its server is there."""

    def has(self, order: int) -> bool:
        """Whether it has committed a transaction."""


class Joiner(Protocol):
    """A member that gets what it has missed."""

    index: int

    def executed_snapshot(self) -> Snapshot:
        """What it has committed."""

    def when_channel_applied(self, call: Callable[[], object]) -> None:
        """``call()`` when its relay log is applied."""

    def apply_missed(self, order: int, message: TransactionMessage, certifier: Certifier) -> None:
        """Write a transaction that was missed to the relay log."""

    def resume(self, metadata: Metadata) -> None:
        """It has all that was ordered before the view in which it joined."""

    def online_members(self) -> list[int]:
        """Others that may be its donor."""

    def note(self, what: str, of: tuple[int, ...] = (), how: str = "") -> None:
        """See ``Timeline.note``."""


class Recovery:
    """The recovery of one member.

    It applies what it has in its relay log, waits for the message of the group that tells what has
    been ordered up to the view in which it joins, and gets what it lacks of that from a member that
    is chosen at random, as that has committed it. What is ordered after the view waits until then.
    If its donor leaves it chooses another.

    Attributes
    ----------
    transfer_s : float or None
        What it takes to get that, in seconds; None: what follows from the network.

    Notes
    -----
    Simplified: reading at the donor costs nothing, and its binary log has everything.

    References
    ----------
    plugin/group_replication/src/recovery.cc, recovery_thread_handle;
    recovery_state_transfer.cc, state_transfer (9).
    """

    def __init__(
        self,
        clock: Clock,
        network: Network,
        joiner: Joiner,
        history: History,
        peer: Callable[[int], Donor],
        choose: Stream,
        pause_s: float,
    ) -> None:
        self._clock = clock
        self._network = network
        self._joiner = joiner
        self._history = history
        self._peer = peer
        self._choose = choose
        self._pause_s = pause_s  # when no donor can be reached
        self._attempt = 0  # a number for what is done for one recovery from one donor
        self._view = 0
        self._metadata: Metadata | None = None
        self._applied = False  # its own relay log
        self._donor = -1
        self._missing: _Missing = []  # the next one last
        self._under_way = 0  # pieces
        self._certifier = Certifier(detects_conflicts=False)
        self.running = False
        self.transfer_s: float | None = None

    def begin(self, view: View) -> None:
        """The member is in a view, and recovers."""
        self.running = True
        self._view = view.number
        self._metadata = None
        self._drain()

    def _drain(self) -> None:
        """Apply what is in the relay log, then go on."""
        self._attempt += 1
        self._applied = False
        self._donor = -1
        attempt = self._attempt

        def applied() -> None:
            if attempt == self._attempt:
                self._applied = True
                self._start()

        self._joiner.when_channel_applied(applied)

    def hear(self, metadata: Metadata) -> None:
        """The group tells what was ordered up to a view."""
        if self.running and metadata.view == self._view and self._metadata is None:
            self._metadata = metadata
            self._start()

    def see(self, view: View) -> None:
        """A view while it recovers: its donor may have left."""
        if self.running and self._donor in view.left:
            self._drain()

    def end(self) -> None:
        """The member leaves, or its server ends."""
        self._attempt += 1
        self.running = False

    def _start(self) -> None:
        """Choose a donor, and get what is missing."""
        metadata = self._metadata
        if metadata is None or not self._applied:
            return
        self._attempt += 1
        self._certifier = Certifier(detects_conflicts=False)
        self._missing = self._history.missing(self._joiner.executed_snapshot(), metadata.order)
        self._missing.reverse()
        if not self._missing:
            self._all_written(self._attempt)
            return
        donors = [node for node in self._joiner.online_members() if self._peer(node).alive]
        if not donors:
            self._clock.at(self._clock.now + self._pause_s, self._again, self._attempt)
            return
        self._donor = donors[int(self._choose() * len(donors))]
        self._joiner.note("joiner", (self._donor,), "incremental")
        if self.transfer_s is not None:
            self._missing.reverse()
            piece, self._missing = self._missing, []
            self._under_way = 1
            at_s = self._clock.now + self.transfer_s
            self._clock.at(at_s, self._arrived, (self._attempt, piece))
            return
        stream = BulkStream(self._clock, self._network, self._donor, self._joiner.index)
        self._under_way = 0
        self._send((self._attempt, stream))

    def _again(self, attempt: int) -> None:
        if attempt == self._attempt:
            self._start()

    def _send(self, turn: tuple[int, BulkStream]) -> None:
        """The donor sends the next piece of its binary log."""
        attempt, stream = turn
        if attempt != self._attempt:
            return
        donor, piece, size = self._peer(self._donor), [], 0
        if not donor.alive:
            self._drain()
            return
        while self._missing and size < _PIECE_BYTES and donor.has(self._missing[-1][0]):
            order, message = self._missing.pop()
            piece.append((order, message))
            size += message.entry.size_bytes
        if not piece:
            self._clock.at(self._clock.now + _LOOK_S, self._send, turn)
            return
        self._under_way += 1
        left_s = stream.send(size, self._arrived, (attempt, piece))
        if self._missing and left_s < float("inf"):
            self._clock.at(left_s, self._send, turn)

    def _arrived(self, work: tuple[int, _Missing]) -> None:
        attempt, piece = work
        if attempt != self._attempt:
            return
        self._under_way -= 1
        for order, message in piece:
            self._joiner.apply_missed(order, message, self._certifier)
        if not self._missing and not self._under_way:
            self._all_written(attempt)

    def _all_written(self, attempt: int) -> None:
        def applied() -> None:
            if attempt == self._attempt and self._metadata is not None:
                self.running = False
                self._joiner.resume(self._metadata)

        self._joiner.when_channel_applied(applied)
