"""The group commit of a quiet member: see ``GroupCommit``, ``RedoLog``, ``Binlog`` and ``Disk``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simrep.modelling import Stage

from .change import Change
from .machine import Job, Machine

if TYPE_CHECKING:
    from simrep.models.mysql.channel import Channel
    from simrep.models.mysql.server import MysqlServer

__all__ = ["CommitQueue"]

Group = list[Change]


class _Step(Job):
    """A step of a group that has a stage: only one of them is under way."""

    __slots__ = ("_call", "group")
    group: Group

    def __init__(self, call: Callable[[Group], None]) -> None:
        super().__init__()
        self._call = call

    def done(self) -> None:
        """See ``Job.done``."""
        self._call(self.group)


class _Queue(Job):
    """A stage, and the transactions in front of it; as a job, its leader wakes."""

    __slots__ = ("_begun_s", "_machine", "_serve", "_switch_s", "_taken", "figures", "waiting")

    def __init__(
        self, machine: Machine, figures: Stage[Any], switch_s: float, serve: Callable[[Group], None]
    ) -> None:
        super().__init__()
        self._machine = machine
        self._switch_s = switch_s
        self._serve = serve
        self._taken = False
        self._begun_s = 0.0
        self.figures = figures
        self.waiting: Group = []

    def join(self, group: Group) -> None:
        """See ``Stage.join_all``."""
        if self._taken:
            now = self._machine.now
            for change in group:
                change.joined_s = now
            self.waiting += group
        else:
            self._begin(group)

    def _begin(self, group: Group) -> None:
        self._taken = True
        self._begun_s = self._machine.now
        figures = self.figures
        figures.groups += 1
        figures.visits += len(group)
        self._serve(group)

    def leave(self) -> None:
        """See ``Stage.leave``."""
        machine = self._machine
        self.figures.busy_s += machine.now - self._begun_s
        if self.waiting:
            machine.run(self, self._switch_s)
        else:
            self._taken = False

    def done(self) -> None:
        """The leader of the next group runs, and closes it."""
        group, self.waiting = self.waiting, []
        figures, now = self.figures, self._machine.now
        longest = now - group[0].joined_s
        if longest > figures.wait_max_s:
            figures.wait_max_s = longest
        for change in group:
            figures.wait_s += now - change.joined_s
        self._begin(group)


class _Answers(Job):
    """The members of a group wake each other."""

    __slots__ = ("_queue", "_rest")

    def __init__(self, queue: CommitQueue, rest: Group) -> None:
        super().__init__()
        self._queue = queue
        self._rest = rest

    def done(self) -> None:
        """See ``Job.done``."""
        rest = self._rest
        queue = self._queue
        queue.committed(rest.pop())
        if rest:
            queue.machine.run(self, queue.switch_s)


class CommitQueue:
    """Commits through the stages FLUSH, SYNC and COMMIT, in this order.

    Parameters
    ----------
    machine : Machine
    server : MysqlServer
        Whose settings are taken.
    channel : Channel
        Figures of both are kept.
    commit_s : float
        A commit in the storage engine, in seconds.
    """

    committed: Callable[[Change], None]
    """Tells the worker of a transaction."""

    def __init__(
        self, machine: Machine, server: MysqlServer, channel: Channel, commit_s: float
    ) -> None:
        self.machine = machine
        self.switch_s = switch_s = server.switch_s
        self._server = server
        self._channel = channel
        self._hooks = server.hooks
        self._commit_s = commit_s
        self._redo, self._binlog = server.redo, server.binlog
        self._disk = server.disk
        redo_stage, flush, sync, commit = server.pipeline.stages
        self._redo_stage: Stage[Any] = redo_stage
        self._flush = _Queue(machine, flush, switch_s, self._flush_group)
        self._sync = _Queue(machine, sync, switch_s, self._sync_group)
        self._commit = _Queue(machine, commit, switch_s, self._commit_group)
        self._redo_write = _Step(self._redo_written)
        self._redo_sync = _Step(self._redo_done)
        self._append = _Step(self._appended)
        self._binlog_sync = _Step(self._journal)
        self._journaling = _Step(self._synced)
        self._committing = _Step(self._in_engine)
        self._redo_begun_s = 0.0

    def join(self, change: Change) -> None:
        """A worker commits a transaction."""
        self._flush.join([change])

    # -- FLUSH -----------------------------------------------------------------------------------

    def _flush_group(self, group: Group) -> None:
        redo = self._redo
        if redo.level == 0:
            self._write(group)
            return
        machine, stage = self.machine, self._redo_stage
        now = self._redo_begun_s = machine.now
        stage.groups += 1
        stage.visits += 1
        if redo.write_s > 0.0:
            self._redo_write.group = group
            machine.at(now + redo.write_s, self._redo_write, now)
        else:
            self._redo_written(group)

    def _redo_written(self, group: Group) -> None:
        redo = self._redo
        if redo.level == 1:
            redo.syncs += 1
            size_bytes = min(_total_bytes(group), redo.buffer_bytes)
            self._sync_disk(size_bytes, self._redo_sync, group)
        else:
            self._redo_done(group)

    def _redo_done(self, group: Group) -> None:
        self._redo_stage.busy_s += self.machine.now - self._redo_begun_s
        self._write(group)

    def _write(self, group: Group) -> None:
        self._append.group = group
        self.machine.run(self._append, self._binlog.appending_s(len(group), _total_bytes(group)))

    def _appended(self, group: Group) -> None:
        hooks = self._hooks
        hooks.groups += 1
        hooks.commits += len(group)
        self._sync.join(group)
        self._flush.leave()

    # -- SYNC ------------------------------------------------------------------------------------

    def _sync_group(self, group: Group) -> None:
        size_bytes = self._binlog.due_bytes()
        if size_bytes < 0:
            self._synced(group)
        else:
            self._sync_disk(size_bytes, self._binlog_sync, group)

    def _journal(self, group: Group) -> None:
        """The file has grown: see ``Binlog``."""
        self._journaling.group = group
        self.machine.run(self._journaling, self.switch_s)

    def _synced(self, group: Group) -> None:
        self._commit.join(group)
        self._sync.leave()

    def _sync_disk(self, size_bytes: int, then: _Step, group: Group) -> None:
        machine = self.machine
        now = machine.now
        then.group = group
        machine.at(self._disk.sync_at(size_bytes, now), then, now)

    # -- COMMIT ----------------------------------------------------------------------------------

    def _commit_group(self, group: Group) -> None:
        self._committing.group = group
        seconds = self._commit_s
        self.machine.run(self._committing, seconds + (len(group) - 1) * seconds)

    def _in_engine(self, group: Group) -> None:
        machine, channel = self.machine, self._channel
        now = machine.now
        lag = channel.lag
        for change in group:
            lag.add(now - change.ordered_s)
        channel.applied += len(group)
        self._server.commits += len(group)
        self._commit.leave()
        if len(group) > 1:
            rest = group[:0:-1]
            self.committed(group[0])
            machine.run(_Answers(self, rest), self.switch_s)
        else:
            self.committed(group[0])


def _total_bytes(group: Group) -> int:
    size_bytes = 0
    for change in group:
        size_bytes += change.size_bytes
    return size_bytes
