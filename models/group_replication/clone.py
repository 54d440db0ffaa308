"""A copy of all data of another server: the clone plugin."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from simrep.modelling import BulkStream, Clock, Fifo

__all__ = ["Clone"]

_PIECE_BYTES = 65_536
_MOST_PIECES = 1 << 12  # of a copy
_READ_BYTES = 1 << 20  # no request of a kernel to a disk is much larger (max_sectors_kb)


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
    disk : Fifo, optional
        The line of the disk that the donor reads, which its pages and fsyncs use as well; None:
        nobody else needs it.

    Notes
    -----
    While a piece is sent, the next one is read. What arrives is the state at the end of the copy.

    Simplified: it shares the bandwidth and the disk, but takes no core from the donor; a donor
    whose network is cut off is given up when it leaves the group.
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
        disk: Fifo | None = None,
    ) -> None:
        self._clock = clock
        self._stream = stream
        self._disk = disk
        self._piece_bytes = max(_PIECE_BYTES, int(size_bytes / _MOST_PIECES))
        if disk is not None:  # others get in between
            self._piece_bytes = _READ_BYTES
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
            seconds = self._piece_s
            read_s = self._clock.now + seconds if self._disk is None else self._disk.book(seconds)
            self._clock.at(max(read_s, left_s), self._send)

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
