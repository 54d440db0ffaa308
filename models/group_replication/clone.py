"""A copy of all data of another server: the clone plugin."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from simrep.modelling import BulkStream, Clock

__all__ = ["Clone"]

_PIECE_BYTES = 65_536
_MOST_PIECES = 1 << 12  # of a copy


class Clone:
    """One copy, from a donor to a member that joins.

    Parameters
    ----------
    clock : Clock
    stream : BulkStream
        From the donor to the member.
    size_bytes, byte_s : float
        How much data there is, and how long a byte takes on the disks of both, in seconds.
    goes_on : callable
        ``goes_on()``: the server of the donor is there.
    arrived, broken : callable
        ``arrived()``: all data has; ``broken()``: the donor has gone before.

    Notes
    -----
    While a piece is sent, the next one is read. What arrives is the state at the end of the copy.

    Simplified: it shares the bandwidth, and else neither the donor nor its clients are slowed down
    by it; a donor whose network is cut off is given up when it leaves the group.
    """

    def __init__(
        self,
        clock: Clock,
        stream: BulkStream,
        size_bytes: float,
        byte_s: float,
        goes_on: Callable[[], bool],
        arrived: Callable[[], object],
        broken: Callable[[], object],
    ) -> None:
        self._clock = clock
        self._stream = stream
        self._piece_bytes = max(_PIECE_BYTES, int(size_bytes / _MOST_PIECES))
        self._unread = self._missing = max(1, round(size_bytes / self._piece_bytes))
        self._piece_s = byte_s * self._piece_bytes
        self._goes_on = goes_on
        self._all_arrived = arrived
        self._broken = broken
        self._given_up = False
        self._read(clock.now)

    def give_up(self) -> None:
        """It is of no use any more."""
        self._given_up = True

    def _read(self, left_s: float) -> None:
        """Read the next piece; it is sent when the one before has left."""
        if self._given_up:
            return
        if not self._goes_on():
            self._given_up = True
            self._broken()
        elif self._unread:
            self._unread -= 1
            self._clock.at(max(self._clock.now + self._piece_s, left_s), self._send)

    def _send(self, _: None) -> None:
        if self._given_up:
            return
        left_s = self._stream.send(self._piece_bytes, self._arrived, None)
        if left_s < inf:
            self._read(left_s)

    def _arrived(self, _: None) -> None:
        self._missing -= 1
        if not self._missing and not self._given_up:
            self._given_up = True
            self._all_arrived()
