"""The disk and the logs on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from simrep.kernel.clock import Clock
from simrep.kernel.queues import Fifo
from simrep.server.host import Host
from simrep.server.stage import Stage

__all__ = ["Binlog", "Disk", "FlushQueue", "RedoLog", "ScheduledDisk", "WorkedDisk"]

_LOG_BUFFER_BYTES: Final = 16 << 20
_BLOCK_BYTES: Final = 4096  # of the file system
_FLUSH_WORK_S: Final = 12e-6  # of the kernel's thread

Call = Callable[[Any], object]
_Then = tuple[Call, Any, Any]  # what follows an fsync, and the thread that sleeps meanwhile


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
    noise : callable, optional
        Factors of mean 1 by which the time of each fsync differs; none if not given.

    Notes
    -----
    Pessimistic: a long transfer is not interleaved with short ones. Optimistic: reads and the
    write-back of data pages (``BufferPool``) do not compete with the logs.
    """

    def __init__(
        self,
        clock: Clock,
        fsync_s: float | Callable[[], float],
        bytes_per_s: float = float("inf"),
        *,
        flusher: Fifo | None = None,
        name: str = "",
        noise: Callable[[], float] | None = None,
    ) -> None:
        if not bytes_per_s > 0.0:
            raise ValueError(f"bytes_per_s must be positive, given {bytes_per_s}")
        if not callable(fsync_s) and not fsync_s >= 0.0:
            raise ValueError(f"fsync_s must not be negative, given {fsync_s}")
        self._clock = clock
        if noise is not None and not callable(fsync_s):
            mean_s, vary = fsync_s, noise  # typed, for the function
            self._fsync_s: Any = lambda: mean_s * vary()
        else:
            self._fsync_s = fsync_s
        self._varies = callable(self._fsync_s)
        self._noise = noise
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
        fsync_s: float = self._fsync_s() if self._varies else self._fsync_s
        if self._flusher is None:
            self._clock.at(written_s + fsync_s, call, argument)
        else:
            self._clock.at(written_s, self._flush, (fsync_s, call, argument))

    def write(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Hand something to the operating system, which takes so long."""
        self._clock.at(self._clock._now + seconds, call, argument)

    def sync_grown(self, size_bytes: float, call: Call, argument: Any = None) -> None:
        """``sync`` of a file that has grown, so that its length must be durable too."""
        self.sync(size_bytes, call, argument)

    def sync_at(self, size_bytes: float, now: float) -> float:
        """``sync`` for whoever alone uses the device and is at ``now``; gives when it is done."""
        latency = self._fsync_s
        assert self._flusher is None
        self.syncs += 1
        seconds = size_bytes * self._per_byte
        written_s = self.transfer.book_at(now, seconds) if seconds > 0.0 else now
        fsync_s: float = latency() if callable(latency) else latency
        return written_s + fsync_s

    def journal(self, seconds: float, call: Call, argument: Any = None) -> None:
        """The file system writes its journal, for so long on average, then ``call(argument)``."""
        if self._noise is not None:
            seconds *= self._noise()
        if self._flusher is None:
            self._clock.at(self._journal_end_s(seconds), call, argument)
        else:
            self._clock.at(self._flusher.book(seconds), call, argument)

    def _journal_end_s(self, seconds: float) -> float:
        return self._clock._now + seconds

    def _flush(self, work: tuple[float, Call, Any]) -> None:
        assert self._flusher is not None
        seconds, call, argument = work
        self._clock.at(self._flusher.book(seconds), call, argument)


class WorkedDisk(Disk):
    """A disk whose fsyncs take work on a core before the device has its turn.

    The system call, the file system and the driver run on the caller's core; on a full machine
    they wait for one, which the device does not.

    Parameters
    ----------
    host : Host
        Whose cores do that work.
    work_s : float
        What it takes for one fsync, in seconds, with warm caches.
    disk : Disk
        The device itself.
    """

    def __init__(self, host: Host, work_s: float, disk: Disk) -> None:
        super().__init__(host.clock, 0.0, name=disk.name)
        self._disk = disk
        self._submission = host.routine(work_s)
        self.transfer = disk.transfer

    def sync(self, size_bytes: float, call: Call, argument: Any = None) -> None:
        """See ``Disk.sync``."""
        self.syncs += 1
        self._submission.go_on(self._submitted, (size_bytes, call, argument))

    def _submitted(self, work: tuple[float, Call, Any]) -> None:
        self._disk.sync(*work)

    def journal(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Disk.journal``."""
        self._disk.journal(seconds, call, argument)

    def sync_at(self, size_bytes: float, now: float) -> float:
        """See ``Disk.sync_at``: nobody who needs a core is alone."""
        raise ValueError("an fsync that needs a core has no time of its own")


class ScheduledDisk(Disk):
    """A disk on a machine that programs share: an fsync takes turns of its caller and the kernel.

    The caller sleeps while its data are written, and needs a core again to ask for a flush of the
    device's cache; the flush waits for the one that is under way, a thread of the kernel hands it
    to the device, and the caller sleeps once more. If the file has grown, the caller sleeps a third
    time between the two, for the block that holds the file's length. On an idle machine all that
    costs next to nothing beside the device, whose latency is taken to be the same for each step;
    on a busy one each step waits for its turn.

    Parameters
    ----------
    host : Host
        The program of the caller.
    work_s : float
        What an fsync takes of the caller's core, in seconds, with warm caches: one half after
        each sleep.
    flushes : FlushQueue
        Of the machine.
    disk : Disk
        The device itself, with the latency of one step.

    Notes
    -----
    A block trace of MariaDB 11.8 on a machine of the rig's kind (ext4 without a journal, Linux
    6.18) shows for each fsync of the binary log a write of data (51 us), a write of the inode
    (44 us) and a flush (38 us), and the caller asleep between them; for a file that does not
    grow, such as a redo log, the first and the last.

    On two machines of this kind an fsync in place took 85 to 97 us if nothing else ran, and one of
    a file that had grown 124 to 134 us; the caller's processor time was 28 to 38 and 44 to 58 us.
    While both cores waited busily they took 70 and 105 us, with a processor time of 19 and 31 us.
    So waking an idle core is about half of the processor time (``interrupt_us``).

    References
    ----------
    Linux 6.18, fs/ext4/fsync.c (``ext4_fsync_nojournal``, ``generic_buffers_fsync_noflush``)
    """

    def __init__(self, host: Host, work_s: float, flushes: FlushQueue, disk: Disk) -> None:
        super().__init__(host.clock, 0.0, name=disk.name)
        self._disk = disk
        self._host = host
        self._turn = host.routine(work_s / 2.0)
        self._flushes = flushes
        self.transfer = disk.transfer

    def write(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Disk.write``: it is the caller's work, where that is told."""
        if self._host.tells_threads:
            self._host.go_on(seconds, call, argument)
        else:
            super().write(seconds, call, argument)

    def sync(self, size_bytes: float, call: Call, argument: Any = None) -> None:
        """See ``Disk.sync``."""
        self.syncs += 1
        self._disk.sync(size_bytes, self._written, (call, argument, self._host.doze()))

    def sync_grown(self, size_bytes: float, call: Call, argument: Any = None) -> None:
        """See ``Disk.sync_grown``."""
        self.syncs += 1
        self._disk.sync(size_bytes, self._data_written, (call, argument, self._host.doze()))

    def _data_written(self, then: _Then) -> None:
        self._host.interrupt(then[2], self._turn.cost(), self._write_inode, then)

    def _write_inode(self, then: _Then) -> None:
        call, argument, _ = then
        self._disk.sync(0.0, self._written, (call, argument, self._host.doze()))

    def _written(self, then: _Then) -> None:
        self._host.interrupt(then[2], self._turn.cost(), self._ask, then)

    def _ask(self, then: _Then) -> None:
        call, argument, _ = then
        self._flushes.join((self._disk, self._flushed, (call, argument, self._host.doze())))

    def journal(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Disk.journal``."""
        self._disk.journal(seconds, call, argument)

    def _flushed(self, then: _Then) -> None:
        call, argument, sleeper = then
        self._host.interrupt(sleeper, self._turn.cost(), call, argument)

    def sync_at(self, size_bytes: float, now: float) -> float:
        """See ``Disk.sync_at``: nobody who needs a core is alone."""
        raise ValueError("an fsync that needs a core has no time of its own")


class FlushQueue:
    """Flushes of the cache of a device, for all that run on its machine: one at a time.

    Those that are asked for meanwhile are one flush, the next. A thread of the kernel hands each
    to the device, on the core on which it was asked for, or on which the last one ended.

    Parameters
    ----------
    kernel : Host
        Where threads of the kernel run.

    References
    ----------
    Linux 6.18, block/blk-flush.c (``blk_kick_flush``); ``kblockd`` ran once for every fsync on a
    machine of the rig's kind, for 12 us (/proc/PID/schedstat).
    """

    def __init__(self, kernel: Host) -> None:
        self._kernel = kernel
        self._stage: Stage[tuple[Disk, Call, Any]] = Stage(kernel.clock, self._begin, "flush")
        self.join = self._stage.join
        """Flush a device, and call with an argument when that is done."""

    def _begin(self, group: list[tuple[Disk, Call, Any]]) -> None:
        self._kernel.run(_FLUSH_WORK_S, self._send, group)

    def _send(self, group: list[tuple[Disk, Call, Any]]) -> None:
        group[0][0].sync(0.0, self._end, group)

    def _end(self, group: list[tuple[Disk, Call, Any]]) -> None:
        for _, call, argument in group:
            call(argument)
        self._stage.leave()


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
    stage : callable, optional
        ``stage(write, wake=wake)`` makes its stage, if that shall be another than a plain one.
    wake : callable, optional
        ``wake(call, argument)`` calls when a sleeping thread has been woken: those that a flush of
        another has covered, and whoever leads the next one.
    buffer_bytes : int
        The log buffer (``innodb_log_buffer_size``: 16 MiB; 64 MiB from MySQL 8.4 on). A flush has
        no more than that to write: what a large transaction has filled it with before was written
        while it was executed.
    new_bytes : int
        If positive, its files were allocated and not yet written over: an fsync that has written
        to a new block must make known, too, that this is written. What a transaction writes beside
        its rows.

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
    (trx_flush_log_if_needed) and log/log0log.cc (log_write_up_to); MariaDB 11.8,
    storage/innobase/log/log0sync.cc (``group_commit_lock``).
    """

    def __init__(
        self,
        clock: Clock,
        disk: Disk,
        *,
        flush_at_commit: int = 1,
        write_s: float = 0.0,
        name: str = "redo",
        stage: Callable[..., Stage[Any]] | None = None,
        wake: Callable[[Call, Any], object] | None = None,
        buffer_bytes: int = _LOG_BUFFER_BYTES,
        new_bytes: int = 0,
    ) -> None:
        if flush_at_commit not in (0, 1, 2):
            raise ValueError(f"flush_at_commit must be 0, 1 or 2, given {flush_at_commit}")
        self._clock = clock
        self._disk = disk
        self.level = flush_at_commit
        self.write_s = write_s
        self.buffer_bytes = buffer_bytes
        self._new_bytes = new_bytes
        self._filled_bytes = 0  # of the block at its end
        self._finished: Call = self._finish
        self._wake = wake
        self.stage: Stage[tuple[int, int, Call, Any]] = (
            Stage(clock, self._begin, name, wake=wake)
            if stage is None
            else stage(self._begin, wake=wake)
        )
        # Records that were put into the log buffer, and up to where flushes have come.
        self._appended = self._reached = 0
        self.syncs = 0

    def append(self) -> None:
        """Something more is in the log buffer."""
        self._appended += 1

    def flush(
        self,
        size_bytes: int,
        call: Call,
        argument: Any = None,
        commits: int = 1,
        *,
        appended: bool = False,
    ) -> None:
        """``call(argument)`` when ``size_bytes`` of redo are as durable as was asked for.

        They are those of so many transactions. If that was ``appended`` before, a flush since then
        may have covered it.
        """
        if self.level == 0:
            call(argument)
            return
        if not appended:
            self._appended += 1
        self.stage.join((size_bytes, commits, call, argument))

    def flush_alone(self, size_bytes: int, call: Call, argument: Any = None) -> None:
        """``flush`` of one that nobody joins, and at whom nobody looks."""
        if self.level == 0:
            call(argument)
            return
        self.stage.groups += 1
        self.stage.visits += 1
        work = (self._clock._now, size_bytes, call, argument)
        if self.write_s > 0.0:
            self._disk.write(self.write_s, self._written_alone, work)
        else:
            self._written_alone(work)

    def _written_alone(self, work: tuple[float, int, Call, Any]) -> None:
        if self.level == 1:
            self.syncs += 1
            self._disk.sync(min(work[1], self.buffer_bytes), self._finish_alone, work)
        else:
            self._finish_alone(work)

    def _finish_alone(self, work: tuple[float, int, Call, Any]) -> None:
        begun_s, _, call, argument = work
        self.stage.busy_s += self._clock._now - begun_s
        call(argument)

    def _begin(self, group: list[tuple[int, int, Call, Any]]) -> None:
        """Nothing is to be done if the last flush has come as far (``log_write_up_to``)."""
        if self._reached == self._appended:
            self._finish(group)
            return
        self._reached = self._appended
        if self.write_s > 0.0:
            self._write(group)
        else:
            self._written(group)

    def _write(self, group: list[tuple[int, int, Call, Any]]) -> None:
        self._disk.write(self.write_s, self._written, group)

    def _written(self, group: list[tuple[int, int, Call, Any]]) -> None:
        if self.level == 1:
            self.syncs += 1
            size_bytes = commits = 0
            for size, number, _, _ in group:
                size_bytes += size
                commits += number
            sync = self._disk.sync
            if self._new_bytes:
                self._filled_bytes += size_bytes + self._new_bytes * commits
                if self._filled_bytes >= _BLOCK_BYTES:
                    self._filled_bytes %= _BLOCK_BYTES
                    sync = self._disk.sync_grown
            sync(min(size_bytes, self.buffer_bytes), self._finished, group)
        else:
            self._finish(group)

    def _finish(self, group: list[tuple[int, int, Call, Any]]) -> None:
        self.stage.leave()
        wake = self._wake
        if wake is None:
            for _, _, call, argument in group:
                call(argument)
            return
        for _, _, call, argument in group[1:]:
            wake(call, argument)
        _, _, call, argument = group[0]
        call(argument)


class Binlog:
    """The binary log file, for whoever holds its lock.

    Parameters
    ----------
    host : Host
        Whose cores do the work of writing.
    disk : Disk
    sync_period : int
        fsync every so many groups (``sync_binlog``); 0 leaves it to the operating system.
    write_s : float
        Work per transaction to append its cache to the file, in seconds, with warm caches: of a
        group the first pays for a cold start.
    switch_s : float
        What it takes to wake a thread of the file system, in seconds: an fsync of a file that has
        grown needs one, to write the journal.
    bytes_per_s : float
        Speed at which the caches are copied into the file.
    journal_s : float
        What the disk takes to write that journal, in seconds, after the data of the file.

    Notes
    -----
    Optimistic: with ``sync_binlog=0`` the write-back by the operating system is free.
    """

    def __init__(
        self,
        host: Host,
        disk: Disk,
        *,
        sync_period: int = 1,
        write_s: float = 0.0,
        switch_s: float = 0.0,
        bytes_per_s: float = float("inf"),
        journal_s: float = 0.0,
    ) -> None:
        if sync_period < 0:
            raise ValueError(f"sync_period must not be negative, given {sync_period}")
        self._host = host
        self._disk = disk
        self._writing = host.routine(write_s)
        self._switch_s = switch_s
        self.journal_s = journal_s
        self._per_byte = 1.0 / bytes_per_s
        self._unsynced_groups = 0
        self._unsynced_bytes = 0
        self.sync_period = sync_period
        self.bytes = 0
        self.syncs = 0

    def write(self, transactions: int, size_bytes: int, call: Call, argument: Any = None) -> None:
        """Append a group to the file (not yet durable), then ``call(argument)``."""
        self._host.proceed(self.appending_s(transactions, size_bytes), call, argument)

    @property
    def least_s(self) -> float:
        """Nothing takes less time to append, in seconds, if caches are warm."""
        return self._writing.seconds

    def appending_s(self, transactions: int, size_bytes: int) -> float:
        """Count a group that is appended to the file now; what that costs, in seconds."""
        self.bytes += size_bytes
        self._unsynced_bytes += size_bytes
        more_s = (transactions - 1) * self._writing.seconds + size_bytes * self._per_byte
        return self._writing.cost(more_s)

    @property
    def sync_due(self) -> bool:
        """Whether the next group completes a period of ``sync_binlog`` (always, if that is 0)."""
        return self._unsynced_groups + 1 >= self.sync_period

    def sync(self, call: Call, argument: Any = None) -> None:
        """Make the file durable if it is this group's turn, then ``call(argument)``."""
        if not self.sync_file(self._write_journal, (call, argument)):
            call(argument)

    def sync_file(self, call: Call, argument: Any = None) -> bool:
        """If it is this group's turn, ``call(argument)`` when the disk has the file, and true.

        Then a thread of the file system has still to write its journal.
        """
        size_bytes = self.due_bytes()
        if size_bytes < 0:
            return False
        grown = self._disk.sync if self.journal_s else self._disk.sync_grown
        grown(size_bytes, call, argument)
        return True

    def due_bytes(self) -> int:
        """Count a group that is to be synced; gives what is synced if it is its turn, else -1."""
        due = self.sync_due
        self._unsynced_groups += 1
        if not due or not self.sync_period:
            return -1
        self.syncs += 1
        size_bytes = self._unsynced_bytes
        self._unsynced_groups = self._unsynced_bytes = 0
        return size_bytes

    def _write_journal(self, then: tuple[Call, Any]) -> None:
        """The file has grown: a thread of the file system must run before the sync returns."""
        call, argument = then
        if self.journal_s:
            self._host.kernel.run(self._switch_s, self._on_the_disk, then)
        elif type(self._disk) is ScheduledDisk:  # which says itself what the kernel does
            call(argument)
        else:
            self._host.kernel.run(self._switch_s, call, argument)

    def _on_the_disk(self, then: tuple[Call, Any]) -> None:
        self._disk.journal(self.journal_s, *then)
