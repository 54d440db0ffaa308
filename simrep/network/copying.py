"""Somebody reads all data of a server, piece by piece, beside its load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Final

from simrep.kernel.clock import Clock
from simrep.kernel.queues import Fifo
from simrep.network.bulk import BulkStream
from simrep.server.host import Host

__all__ = ["CopyCosts", "Copying", "Program"]

PIECE_BYTES: Final = 1 << 20
"""What is read at a time: no request of a kernel to a disk is much larger (``max_sectors_kb``)."""

_SLICE_S: Final = 3e-3  # then another thread that waits has the core (Linux: base slice)
_RECEIVE_BYTES: Final = 6 << 20  # what a socket keeps for a program that is slow (tcp_rmem)


@dataclass(frozen=True, slots=True)
class Program:
    """One of the programs that a copy passes through.

    Attributes
    ----------
    byte_s : float
        Work of one thread for a byte of the data, in seconds.
    threads : int
        How many pieces it works on at a time.
    """

    byte_s: float
    threads: int = 1


@dataclass(frozen=True, slots=True)
class CopyCosts:
    """What a byte of the data costs, in seconds.

    Attributes
    ----------
    disk_byte_s : float
        The disk reads it.
    programs : tuple of Program
        On the server that is read, in the order of the pipe; the last of them sends.
    least_byte_s : float
        No other follows sooner: a limit that somebody set.
    ratio : float
        How many times smaller it is when it is sent.
    far_programs : tuple of Program
        On the machine that it is sent to.
    in_turn : bool
        Threads of the first program read themselves, and work on what they have read; else the
        kernel reads the next piece meanwhile.
    """

    disk_byte_s: float
    programs: tuple[Program, ...]
    least_byte_s: float = 0.0
    ratio: float = 1.0
    far_programs: tuple[Program, ...] = ()
    in_turn: bool = False

    @property
    def byte_s(self) -> float:
        """What a byte takes if no network is slower, and every thread has a core."""
        return max(self._stages())

    @property
    def work_byte_s(self) -> tuple[float, float]:
        """Work of the server that is read, and of the machine that it is sent to."""
        near, far = (
            sum(program.byte_s for program in programs)
            for programs in (self.programs, self.far_programs)
        )
        return near, far

    def _stages(self) -> Iterator[float]:
        first = self.programs[0]
        yield max(self.disk_byte_s, self.least_byte_s)
        yield (first.byte_s + self.disk_byte_s * self.in_turn) / first.threads
        for program in (*self.programs[1:], *self.far_programs):
            yield program.byte_s / program.threads


def _nobody() -> None:
    pass


class _Stage:
    """A program at work: what it has finished waits in its threads until the next one takes it."""

    __slots__ = (
        "_call", "_copying", "_host", "_seconds", "before", "free", "freed", "held", "ready",
    )  # fmt: skip

    def __init__(
        self, copying: Copying, host: Host, seconds: float, threads: int, call: Callable[[], object]
    ) -> None:
        self._copying = copying
        self._host = host
        self._seconds = seconds  # of work for a piece
        self._call = call  # when it has finished one
        self.free = threads
        self.held = 0  # pieces that it has finished and nobody has taken
        self.ready = 0  # pieces that wait for it
        self.before: Callable[[], object] = _nobody  # told when it takes one
        self.freed: Callable[[], object] = _nobody  # and when it could take another

    def offer(self) -> None:
        """Another piece waits for it."""
        self.ready += 1
        self.begin()

    def begin(self) -> None:
        """Work on what waits, as far as threads are free."""
        while self.ready and self.free and self._copying.goes_on():
            self.ready -= 1
            self.free -= 1
            self.before()
            self._compute(self._seconds)

    def _compute(self, seconds: float) -> None:
        """Use a core, which others get in between."""
        if seconds > _SLICE_S:
            self._host.run(_SLICE_S, self._compute, seconds - _SLICE_S)
        elif seconds > 0.0:
            self._host.run(seconds, self._done, None)
        else:
            self._done(None)

    def _done(self, _: Any) -> None:
        self.held += 1
        self._call()

    def taken(self) -> None:
        """The next one has taken a piece."""
        self.held -= 1
        self.free += 1
        self.freed()
        self.begin()


class Copying:
    """A copy of data: read from a disk, worked on by programs, and sent on a connection.

    A piece is read while the one before it is worked on and sent. Programs hand on what they have
    finished when the next of them takes it, as through a pipe. The disk is shared with whatever
    else uses its line: a request of its own waits for others, and they wait for it. The last
    program sends, and goes on when its piece has left; who receives too slowly stops it.

    Parameters
    ----------
    clock : Clock
    host : Host
        Whose cores do the work.
    disk : Fifo, optional
        The line of the disk; None: nobody else uses that disk.
    costs : CopyCosts
    stream : BulkStream, optional
        Where it is sent; None: it goes a way that nobody else uses.
    goes_on : callable
        Asked before every piece; when it says no, nothing more happens.
    far_host : Host, optional
        Whose cores do the work of ``costs.far_programs``.
    piece_bytes : float
        What is read, worked on and sent at a time.
    stopped : callable
        ``stopped()``: it did not go on.
    """

    def __init__(
        self,
        clock: Clock,
        host: Host,
        disk: Fifo | None,
        costs: CopyCosts,
        stream: BulkStream | None,
        goes_on: Callable[[], bool],
        far_host: Host | None = None,
        piece_bytes: float = PIECE_BYTES,
        stopped: Callable[[], object] | None = None,
    ) -> None:
        self._clock = clock
        self._host = host
        self._far_host = host if far_host is None else far_host
        self._disk = Fifo(clock) if disk is None else disk
        self._costs = costs
        self._stream = stream
        self._asked = goes_on
        self._piece_bytes = piece_bytes
        self._stopped = _nobody if stopped is None else stopped
        self._over = False
        self.bytes = 0.0

    def copy(self, size_bytes: float, call: Callable[[], object]) -> None:
        """Copy so much, then ``call()``."""
        costs = self._costs
        pieces = max(1, ceil(size_bytes / self._piece_bytes))
        self._piece = size_bytes / pieces
        self._unread = self._unfinished = pieces
        self._call = call
        self._far = self._stages(costs.far_programs, self._far_host, self._finished)
        self._room = max(1, int(_RECEIVE_BYTES / self._piece))
        near = self._stages(costs.programs, self._host, self._send)
        self._first, self._sender = near[0], near[-1]
        if self._far:
            self._far[0].before = self._make_room
        self._waits = 0  # pieces that have left, and whose program waits for room
        self._over = False
        self._paced_s = 0.0  # no piece before that
        if costs.in_turn:
            self._first.freed = self._read
        else:
            self._first.before = self._read
        for _ in range(self._first.free if costs.in_turn else 1):
            self._read()

    def goes_on(self) -> bool:
        """Whether anything more happens."""
        if not self._over and not self._asked():
            self._over = True
            self._stopped()
        return not self._over

    def _stages(
        self, programs: tuple[Program, ...], host: Host, call: Callable[[], object]
    ) -> list[_Stage]:
        """A stage for each; ``call`` when the last of them has finished a piece."""
        stages: list[_Stage] = []
        for program in reversed(programs):
            stage = _Stage(self, host, self._piece * program.byte_s, program.threads, call)
            if stages:
                stages[-1].before = stage.taken
            stages.append(stage)
            call = stage.offer
        return stages[::-1]

    def _read(self) -> None:
        if not self._unread or not self.goes_on():
            return
        self._unread -= 1
        now = self._clock.now
        read_s = self._disk.book(self._piece * self._costs.disk_byte_s)
        gap_s = self._piece * self._costs.least_byte_s
        if self._costs.in_turn:
            read_s = max(read_s, self._paced_s)
            self._paced_s = read_s + gap_s
        else:
            read_s = max(read_s, now + gap_s)
        self._clock.at(read_s, self._have, None)

    def _have(self, _: None) -> None:
        self._first.offer()

    def _send(self) -> None:
        self.bytes += self._piece
        left_s = self._clock.now
        if self._stream is not None:
            size_bytes = int(self._piece / self._costs.ratio)
            left_s = self._stream.send(size_bytes, self._arrived, None)
        if left_s < inf:
            self._clock.at(left_s, self._left, None)

    def _left(self, _: None) -> None:
        if not self._far:
            self._sender.taken()
            self._finish()
        elif self._far[0].ready < self._room:
            self._sender.taken()
        else:
            self._waits += 1

    def _arrived(self, _: Any) -> None:
        if self._far:
            self._far[0].offer()

    def _make_room(self) -> None:
        if self._waits and self._far[0].ready < self._room:
            self._waits -= 1
            self._sender.taken()

    def _finished(self) -> None:
        self._far[-1].taken()
        self._finish()

    def _finish(self) -> None:
        self._unfinished -= 1
        if not self._unfinished:
            self._over = True
            self._call()
