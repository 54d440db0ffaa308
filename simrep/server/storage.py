"""The disk and the logs on it, and how those who wait for a log share its fsyncs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from simrep.kernel.clock import Clock
from simrep.kernel.fifo import Fifo
from simrep.kernel.watch import Line
from simrep.server.host import Host

__all__ = ["Binlog", "Disk", "RedoLog", "Stage"]

_LOG_BUFFER_BYTES = 16 << 20

Call = Callable[[Any], object]
Item = TypeVar("Item")


class Stage(Generic[Item]):
    """A batch server: when it becomes free, everything that waits is served together.

    This is how databases share an expensive step: the first to arrive leads, and those who arrive
    while it works form the next group. With ``largest=1`` it is a first-come-first-served mutex.

    Parameters
    ----------
    clock : Clock
    serve : callable
        ``serve(group)`` starts the service of a list of items, in the order of their arrival;
        the server must call ``leave()`` when it is over, now or later.
    name : str
        Name under which the stage is reported.
    largest : int, optional
        Largest group; all who wait if not given.
    gather_s : callable, optional
        How long (seconds) the leader waits for others before its group is closed; asked once per
        group. The stage is taken meanwhile.
    gather_count : int
        The leader stops waiting when so many are in the queue; 0: never early.
    wake : callable, optional
        ``wake(call, argument)`` calls when a sleeping thread has been woken: a leader that has
        waited for the stage to become free must be. Its group is closed when it runs.

    Attributes
    ----------
    groups, visits : int
        Groups served and items in them.
    busy_s : float
        Time in service in seconds, without the gathering.
    wait_s, wait_max_s : float
        Total and longest time in seconds from arrival to the start of service.
    """

    servers = 1
    _line: Line | None = None

    def __init__(
        self,
        clock: Clock,
        serve: Callable[[list[Item]], object],
        name: str = "",
        *,
        largest: int | None = None,
        gather_s: Callable[[], float] | None = None,
        gather_count: int = 0,
        wake: Callable[[Call, Any], object] | None = None,
    ) -> None:
        if largest is not None and largest < 1:
            raise ValueError(f"largest must be at least 1, given {largest}")
        self._clock = clock
        self._serve = serve
        self._queue: deque[tuple[float, Item]] = deque()
        self._largest = largest
        self._gather_s = gather_s
        self._gather_count = gather_count
        self._wake = wake
        self._gathering = 0  # number of the group that gathers now, 0: none
        self._taken = False
        self._since = 0.0
        self.name = name
        self.groups = 0
        self.visits = 0
        self.busy_s = 0.0
        self.wait_s = 0.0
        self.wait_max_s = 0.0

    def join(self, *items: Item) -> None:
        """Queue the items; they are served at once if the stage is free."""
        now = self._clock._now
        if not self._taken and self._gather_s is None and len(items) == 1:  # the queue is empty
            self._taken = True
            self._since = now
            self.groups += 1
            self.visits += 1
            self._serve(list(items))
            return
        for item in items:
            self._queue.append((now, item))
            if self._line is not None:
                self._line.wait(item)
        if not self._taken:
            if items:
                self._open()
        elif self._gathering and self._full():
            self._close(self._gathering)

    def leave(self) -> None:
        """The group in service leaves; the next one starts."""
        self.busy_s += self._clock._now - self._since
        if not self._queue:
            self._taken = False
            return
        if self._line is not None:
            self._line.leave()
        if self._wake is None:
            self._open()
        else:
            self._wake(self._open, None)

    def watch(self, line: Line) -> None:
        """Tell a line who waits, and which group is in service."""
        serve = self._serve

        def told(group: list[Item]) -> None:
            line.serve(group)
            serve(group)

        self._serve = told
        self._line = line

    @property
    def mean_group(self) -> float:
        """Mean number of items per group, 0 before the first one."""
        return self.visits / self.groups if self.groups else 0.0

    def __len__(self) -> int:
        """How many are waiting."""
        return len(self._queue)

    def _open(self, _: None = None) -> None:
        self._taken = True
        gather = self._gather_s() if self._gather_s is not None else 0.0
        if gather <= 0.0 or self._full():
            self._start()
        else:
            self._gathering = self.groups + 1
            if self._line is not None:
                self._line.leave()
            self._clock.at(self._clock.now + gather, self._close, self._gathering)

    def _full(self) -> bool:
        return 0 < self._gather_count <= len(self._queue)

    def _close(self, group: int) -> None:
        if self._gathering == group:  # else: it was full before its time
            self._gathering = 0
            self._start()

    def _start(self) -> None:
        now = self._since = self._clock._now
        queue = self._queue
        self.groups += 1
        longest = now - queue[0][0]
        if longest > self.wait_max_s:
            self.wait_max_s = longest
        if self._largest == 1 or len(queue) == 1:
            self.wait_s += longest
            self.visits += 1
            self._serve([queue.popleft()[1]])
            return
        size = len(queue) if self._largest is None else min(self._largest, len(queue))
        group = []
        for _ in range(size):
            arrived, item = queue.popleft()
            self.wait_s += now - arrived
            group.append(item)
        self.visits += size
        self._serve(group)


class Disk:
    """A device that makes written data durable.

    Parameters
    ----------
    clock : Clock
    fsync_s : float or callable
        Latency of an fsync in seconds: constant, or a function of no arguments that draws it.
    bytes_per_s : float
        Sequential write bandwidth, shared by all files on the device.
    flusher : Fifo, optional
        What works on fsyncs one after the other, or a few at a time, for all servers of a machine
        (one for a single spindle or journal); as many as there are at once if not given. A log
        never has more than one under way.
    name : str

    Notes
    -----
    Pessimistic: a long transfer is not interleaved with short ones. Optimistic: reads and the
    write-back of data pages do not compete with the logs.
    """

    def __init__(
        self,
        clock: Clock,
        fsync_s: float | Callable[[], float],
        bytes_per_s: float = float("inf"),
        *,
        flusher: Fifo | None = None,
        name: str = "",
    ) -> None:
        if not bytes_per_s > 0.0:
            raise ValueError(f"bytes_per_s must be positive, given {bytes_per_s}")
        if not callable(fsync_s) and not fsync_s >= 0.0:
            raise ValueError(f"fsync_s must not be negative, given {fsync_s}")
        self._clock = clock
        self._fsync_s = fsync_s
        self._per_byte = 1.0 / bytes_per_s
        self.transfer = Fifo(clock, 1, f"{name}/transfer")
        self._flusher = flusher
        self.name = name
        self.syncs = 0

    def sync(self, size_bytes: float, call: Call, argument: Any = None) -> None:
        """Transfer ``size_bytes``, make them durable, then ``call(argument)``."""
        self.syncs += 1
        seconds = size_bytes * self._per_byte
        written_s = self.transfer.book(seconds) if seconds > 0.0 else self._clock._now
        latency = self._fsync_s
        fsync_s = latency() if callable(latency) else latency
        if self._flusher is None:
            self._clock.at(written_s + fsync_s, call, argument)
        else:
            self._clock.at(written_s, self._flush, (fsync_s, call, argument))

    def _flush(self, work: tuple[float, Call, Any]) -> None:
        assert self._flusher is not None
        seconds, call, argument = work
        self._clock.at(self._flusher.book(seconds), call, argument)


class RedoLog:
    """The redo log of a storage engine with group commit.

    A flush in progress covers what was written before its start; whoever comes later joins the
    next one.

    Parameters
    ----------
    clock : Clock
    disk : Disk
    flush_at_commit : {0, 1, 2}
        ``innodb_flush_log_at_trx_commit``: 1 writes and fsyncs, 2 only writes to the operating
        system, 0 does nothing on the path of a commit.
    write_s : float
        One write() to the operating system, in seconds, including the hand-over to the log
        threads of MySQL 8.0.11 and later.
    name : str
    buffer_bytes : int
        The log buffer (``innodb_log_buffer_size``: 16 MiB; 64 MiB from MySQL 8.4 on). A flush has
        no more than that to write: what a large transaction has filled it with before was written
        while it was executed.

    Attributes
    ----------
    stage : Stage
        Its ``groups``, ``mean_group``, ``busy_s`` and waits are those of the log's flushes.
    syncs : int
        Number of fsyncs.

    Notes
    -----
    Optimistic: with 0 and 2 the background flush once per second
    (``innodb_flush_log_at_timeout``) costs nothing, and redo of long transactions that is written
    before their commit takes no bandwidth of its own.

    References
    ----------
    MySQL 8.4 Reference Manual, innodb_flush_log_at_trx_commit; storage/innobase/trx/trx0trx.cc
    (trx_flush_log_if_needed) and log/log0log.cc (log_write_up_to).
    """

    def __init__(
        self,
        clock: Clock,
        disk: Disk,
        *,
        flush_at_commit: int = 1,
        write_s: float = 0.0,
        name: str = "redo",
        buffer_bytes: int = _LOG_BUFFER_BYTES,
    ) -> None:
        if flush_at_commit not in (0, 1, 2):
            raise ValueError(f"flush_at_commit must be 0, 1 or 2, given {flush_at_commit}")
        self._clock = clock
        self._disk = disk
        self._level = flush_at_commit
        self._write_s = write_s
        self._buffer_bytes = buffer_bytes
        self.stage: Stage[tuple[int, Call, Any]] = Stage(clock, self._write, name)
        self.syncs = 0

    def flush(self, size_bytes: int, call: Call, argument: Any = None) -> None:
        """``call(argument)`` when ``size_bytes`` of redo are as durable as was asked for."""
        if self._level == 0:
            call(argument)
        else:
            self.stage.join((size_bytes, call, argument))

    def _write(self, group: list[tuple[int, Call, Any]]) -> None:
        if self._write_s > 0.0:
            self._clock.at(self._clock.now + self._write_s, self._written, group)
        else:
            self._written(group)

    def _written(self, group: list[tuple[int, Call, Any]]) -> None:
        if self._level == 1:
            self.syncs += 1
            size_bytes = min(sum(size for size, _, _ in group), self._buffer_bytes)
            self._disk.sync(size_bytes, self._finish, group)
        else:
            self._finish(group)

    def _finish(self, group: list[tuple[int, Call, Any]]) -> None:
        self.stage.leave()
        for _, call, argument in group:
            call(argument)


class Binlog:
    """The binary log file, for whoever holds its lock.

    Parameters
    ----------
    host : Host
        Whose cores do the work of writing.
    disk : Disk
    sync_binlog : int
        fsync every so many groups (``sync_binlog``); 0 leaves it to the operating system.
    write_s : float
        Work per transaction to append its cache to the file, in seconds, with warm caches: of a
        group the first pays for a cold start.
    switch_s : float
        What it takes to wake a thread of the file system, in seconds: an fsync of a file that has
        grown needs one, to write the journal.
    bytes_per_s : float
        Speed at which the caches are copied into the file.

    Notes
    -----
    Optimistic: with ``sync_binlog=0`` the write-back by the operating system is free.
    """

    def __init__(
        self,
        host: Host,
        disk: Disk,
        *,
        sync_binlog: int = 1,
        write_s: float = 0.0,
        switch_s: float = 0.0,
        bytes_per_s: float = float("inf"),
    ) -> None:
        if sync_binlog < 0:
            raise ValueError(f"sync_binlog must not be negative, given {sync_binlog}")
        self._host = host
        self._disk = disk
        self._writing = host.routine(write_s)
        self._switch_s = switch_s
        self._per_byte = 1.0 / bytes_per_s
        self._unsynced_groups = 0
        self._unsynced_bytes = 0
        self.sync_binlog = sync_binlog
        self.bytes = 0
        self.syncs = 0

    def write(self, transactions: int, size_bytes: int, call: Call, argument: Any = None) -> None:
        """Append a group to the file (not yet durable), then ``call(argument)``."""
        self.bytes += size_bytes
        self._unsynced_bytes += size_bytes
        more_s = (transactions - 1) * self._writing.seconds + size_bytes * self._per_byte
        self._host.run(self._writing.cost(more_s), call, argument)

    @property
    def sync_due(self) -> bool:
        """Whether the next group completes a period of ``sync_binlog`` (always, if that is 0)."""
        return self._unsynced_groups + 1 >= self.sync_binlog

    def sync(self, call: Call, argument: Any = None) -> None:
        """Make the file durable if it is this group's turn, then ``call(argument)``."""
        due = self.sync_due
        self._unsynced_groups += 1
        if due and self.sync_binlog:
            self.syncs += 1
            size = self._unsynced_bytes
            self._unsynced_groups = self._unsynced_bytes = 0
            self._disk.sync(size, self._write_journal, (call, argument))
        else:
            call(argument)

    def _write_journal(self, then: tuple[Call, Any]) -> None:
        """The file has grown: a thread of the file system must run before the sync returns."""
        self._host.run(self._switch_s, *then)
