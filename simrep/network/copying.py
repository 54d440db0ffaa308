"""Somebody reads all data of a server, piece by piece, beside its load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Final

from simrep.kernel.clock import Clock
from simrep.kernel.queues import Fifo
from simrep.network.bulk import BulkStream
from simrep.server.host import Host

__all__ = ["CopyCosts", "Copying"]

PIECE_BYTES: Final = 1 << 20
"""What is read at a time: no request of a kernel to a disk is much larger (``max_sectors_kb``)."""

_SLICE_S: Final = 3e-3  # then another thread that waits has the core (Linux: base slice)


@dataclass(frozen=True, slots=True)
class CopyCosts:
    """What a byte costs, in seconds.

    Attributes
    ----------
    disk_byte_s : float
        The disk reads it.
    cpu_byte_s : float
        A thread on the server works on it.
    least_byte_s : float
        No other follows sooner: a limit that somebody set.
    ratio : float
        How many times smaller it is when it is sent.
    """

    disk_byte_s: float
    cpu_byte_s: float
    least_byte_s: float
    ratio: float = 1.0


class Copying:
    """A copy of data: read from a disk, worked on by one thread, and sent on a connection.

    A piece is read while the one before it is worked on and sent. The disk is shared with
    whatever else uses its line: a request of its own waits for others, and they wait for it.

    Parameters
    ----------
    clock : Clock
    host : Host
        Whose core does the work.
    disk : Fifo, optional
        The line of the disk; None: nobody else uses that disk.
    costs : CopyCosts
    stream : BulkStream, optional
        Where it is sent; None: it goes a way that nobody else uses.
    goes_on : callable
        Asked before every piece; when it says no, nothing more happens.
    """

    def __init__(
        self,
        clock: Clock,
        host: Host,
        disk: Fifo | None,
        costs: CopyCosts,
        stream: BulkStream | None,
        goes_on: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._host = host
        self._disk = disk
        self._costs = costs
        self._stream = stream
        self._goes_on = goes_on
        self.bytes = 0.0

    def copy(self, size_bytes: float, call: Callable[[], object]) -> None:
        """Copy so much, then ``call()``."""
        pieces = max(1, ceil(size_bytes / PIECE_BYTES))
        self._piece = size_bytes / pieces
        self._unread = self._unsent = pieces
        self._ready = 0
        self._working = False
        self._call = call
        self._read(None)

    def _read(self, _: None) -> None:
        if not self._unread or not self._goes_on():
            return
        self._unread -= 1
        seconds = self._piece * self._costs.disk_byte_s
        now = self._clock.now
        read_s = now + seconds if self._disk is None else self._disk.book(seconds)
        self._clock.at(max(read_s, now + self._piece * self._costs.least_byte_s), self._have, None)

    def _have(self, _: None) -> None:
        self._ready += 1
        self._work()

    def _work(self) -> None:
        """Work on the next piece that was read, if none is worked on."""
        if self._ready and not self._working and self._goes_on():
            self._working = True
            self._ready -= 1
            self._read(None)  # the next one, while this is worked on
            self._compute(self._piece * self._costs.cpu_byte_s)

    def _compute(self, seconds: float) -> None:
        """Use a core, which others get in between."""
        if seconds > _SLICE_S:
            self._host.run(_SLICE_S, self._compute, seconds - _SLICE_S)
        elif seconds > 0.0:
            self._host.run(seconds, self._send, None)
        else:
            self._send(None)

    def _send(self, _: Any) -> None:
        self.bytes += self._piece
        left_s = self._clock.now
        if self._stream is not None:
            left_s = self._stream.send(int(self._piece / self._costs.ratio), _ignore, None)
        if left_s < inf:
            self._clock.at(left_s, self._sent, None)

    def _sent(self, _: None) -> None:
        self._working = False
        self._unsent -= 1
        if not self._unsent:
            self._call()
        else:
            self._work()


def _ignore(_: Any) -> None:
    pass
