"""A copy of all data of another server: the clone plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simrep.modelling import BulkStream, Clock, CopyCosts, Copying, Fifo, Host, Program

__all__ = ["Clone", "clone_costs"]

_PIECE_BYTES: Final = 65_536
_MOST_PIECES: Final = 1 << 12  # of a copy
_READ_BYTES: Final = 1 << 20  # no request of a kernel to a disk is much larger (max_sectors_kb)
_THREADS: Final = 4  # that copy at a time, of a server that serves others as well


def clone_costs(byte_ns: float, thread_byte_ns: float) -> CopyCosts:
    """What a byte costs: the disks of both, and one of the threads of either."""
    thread = Program(thread_byte_ns * 1e-9, _THREADS)
    sends = Program(0.0)  # the kernel, from a buffer of its own
    return CopyCosts(byte_ns * 1e-9, (thread, sends), far_programs=(thread,))


class Clone:
    """One copy, from a donor to a member that joins.

    Parameters
    ----------
    clock : Clock
    stream : BulkStream
        From the donor to the member.
    size_bytes : float
        How much data there is.
    costs : CopyCosts
    hosts : (Host, Host)
        Of the donor and of the member.
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

    Simplified: a donor whose network is cut off is given up when it leaves the group.
    """

    def __init__(
        self,
        clock: Clock,
        stream: BulkStream,
        size_bytes: float,
        costs: CopyCosts,
        hosts: tuple[Host, Host],
        goes_on: Callable[[], bool],
        arrived: Callable[[], object],
        broken: Callable[[], object],
        disk: Fifo | None = None,
    ) -> None:
        piece_bytes = max(_PIECE_BYTES, int(size_bytes / _MOST_PIECES))
        if disk is not None:  # others get in between
            piece_bytes = _READ_BYTES
        donor, member = hosts
        self._given_up = False
        self._broken = broken
        copying = Copying(
            clock,
            donor,
            disk,
            costs,
            stream,
            lambda: not self._given_up and goes_on(),
            member,
            piece_bytes,
            self._stopped,
        )
        copying.copy(size_bytes, arrived)

    def give_up(self) -> None:
        """It is of no use any more."""
        self._given_up = True

    def _stopped(self) -> None:
        if not self._given_up:
            self._given_up = True
            self._broken()
