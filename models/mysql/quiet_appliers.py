"""The appliers of a replica that no client writes to, and the commits of what they apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from simrep.modelling import Burst, Cluster, Disk, Host, Stage
from simrep.models.mysql.appliers import Appliers, RelayEntry

from .ahead_channel import AheadChannel
from .options import ApplierOptions
from .server import BinlogHooks, MysqlServer

__all__ = ["QuietAppliers", "QuietChannel"]


# What a worker does next.
_BEGIN: Final = 0
_APPLY: Final = 1
_COMMIT: Final = 2


class _Worker(Burst):
    """A worker, and the change that it applies and commits."""

    __slots__ = ("_appliers", "arrived_s", "change", "handed_s", "next")

    def __init__(self, appliers: QuietAppliers, host: Host) -> None:
        super().__init__(host, appliers.applied, self)
        self._appliers = appliers
        self.change: Any = None
        self.handed_s = 0.0  # when it was given the change
        self.arrived_s = 0.0  # when it came to the stage in front of which it waits
        self.next = _BEGIN

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host, appliers = self.host, self._appliers
        if self.seconds > host.slice_s:
            host.end_slice(self)
            return
        if self.next == _BEGIN:
            self.next = _APPLY
            self.go_on(appliers.apply_s + appliers.row_s * self.change.rows)
            return
        if self.next == _APPLY:
            appliers.applied(self)
        else:
            appliers.commit(self)
        if host._queue:
            host._next()
        else:
            host._idle += 1


class _Leader(Burst):
    """Whoever leads the group in a stage; see ``Stage``, whose counts it keeps."""

    __slots__ = ("_begun_s", "_serve", "_stage", "_switch_s", "_taken", "_waiting", "group")

    def __init__(
        self,
        host: Host,
        stage: Stage[Any],
        switch_s: float,
        serve: Callable[[list[_Worker]], object],
        served: Callable[[Any], object],
    ) -> None:
        super().__init__(host, served)
        self._stage = stage
        self._switch_s = switch_s
        self._serve = serve
        self._waiting: list[_Worker] = []
        self._taken = False
        self._begun_s = 0.0
        self.group: list[_Worker] = []

    def join_one(self, worker: _Worker) -> None:
        """See ``Stage.join``."""
        if self._taken:
            worker.arrived_s = self.host.clock._now
            self._waiting.append(worker)
        else:
            self.join([worker])

    def join(self, group: list[_Worker]) -> None:
        """See ``Stage.join_all``."""
        if self._taken:
            now = self.host.clock._now
            for worker in group:
                worker.arrived_s = now
            self._waiting += group
            return
        self._taken = True
        self._begun_s = self.host.clock._now
        self.group = group
        stage = self._stage
        stage.groups += 1
        stage.visits += len(group)
        self._serve(group)

    def leave(self) -> None:
        """See ``Stage.leave``."""
        self._stage.busy_s += self.host.clock._now - self._begun_s
        if self._waiting:
            self.group = []
            self.begin(self._switch_s)
        else:
            self._taken = False

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host = self.host
        if self.seconds > host.slice_s:
            host.end_slice(self)
            return
        if self.group:
            self.call(self.group)
        else:  # it was woken
            self._lead()
        if host._queue:
            host._next()
        else:
            host._idle += 1

    def _lead(self) -> None:
        group = self.group = self._waiting
        self._waiting = []
        stage = self._stage
        now = self._begun_s = self.host.clock._now
        wait_s = now - group[0].arrived_s
        if wait_s > stage.wait_max_s:
            stage.wait_max_s = wait_s
        for worker in group:
            stage.wait_s += now - worker.arrived_s
        stage.groups += 1
        stage.visits += len(group)
        self._serve(group)


class QuietAppliers(Appliers):
    """``Appliers`` of a server on which nobody else commits, and on which nobody looks.

    It commits in the order of the source, with a binary log, by a ``GroupCommit`` that does not
    wait for company, and needs some time for everything. What ``Channel``, ``GroupCommit`` and its
    stages do for a change is done here, in fewer steps; they count it. No change competes for rows.
    """

    @staticmethod
    def suit(
        cluster: Cluster, server: MysqlServer, options: ApplierOptions, schedule_s: float
    ) -> bool:
        """Whether all of that is so of a server, on which work always takes equally long."""
        return (
            server.index in cluster.quiet
            and type(server) is MysqlServer
            and type(server.disk) is Disk
            and type(server.hooks) is BinlogHooks
            and server.log_bin
            and not server.binlog.journal_s
            and options.commit_pipeline == "mysql-5.7"
            and options.binlog_order_commits
            and not options.binlog_group_commit_sync_delay
            and options.preserve_commit_order
            and options.workers > 0
            and min(server.switch_s, server.commit_s, server.binlog.least_s, schedule_s) > 0.0
        )

    def __init__(self, host: Host, engine: Any, **how: Any) -> None:
        super().__init__(host, engine, **how)
        self._channel: Any = engine
        self._server: MysqlServer = engine.server
        self.apply_s: float
        self.row_s: float
        self.apply_s, self.row_s = engine.apply_s
        self._commit_s = self._server.commit_s
        self._redo, self._binlog = self._server.redo, self._server.binlog
        _, flush, sync, commit = self._server.pipeline.stages
        wakes_s = self._wakes_s = self._server.switch_s
        self._flushing = _Leader(host, flush, wakes_s, self._flush, self._written)
        self._syncing = _Leader(host, sync, wakes_s, self._sync, self._synced)
        self._committing = _Leader(host, commit, wakes_s, self._engine_commit, self._in_engine)
        self._free = [_Worker(self, host) for _ in range(self.servers)]
        self._ready: dict[int, _Worker] = {}  # have applied, and wait for their turn to commit
        self._turn = 1

    def start_after(self, position: int) -> None:
        """See ``Appliers.start_after``."""
        super().start_after(position)
        self._turn = position + 1

    # -- the workers -----------------------------------------------------------------------------

    def _schedule(self, _: None = None) -> None:
        held = self._held
        if held is not None and self._free and held.parent <= self.low_water:
            now, relay_s = self._clock._now, self._relay_s
            self._hand_over_to(self._free.pop(), held, now)
            if relay_s and relay_s[0] <= now:
                self._arrived_s, self._held = relay_s.popleft(), self._relay.popleft()
                self._coordination.go_on(self._schedule)
                return
            self._held = held = None
        self._waits = self._reading = held is not None
        if held is not None:
            self._wait_busily(held)
        elif self._relay:
            self._look_later()

    def _hand_over_to(self, worker: _Worker, change: RelayEntry, now: float) -> None:
        wait_s = now - self._arrived_s
        self.visits += 1
        self.wait_s += wait_s
        if wait_s > self.wait_max_s:
            self.wait_max_s = wait_s
        self._idle -= 1
        worker.change = change
        worker.handed_s = now
        worker.next = _BEGIN
        worker.begin(self._switch_s)

    def applied(self, worker: _Worker) -> None:
        """A worker has applied its change; out of turn it sleeps until the one before wakes it."""
        seqno = worker.change.seqno
        if seqno == self._turn:
            self.commit(worker)
        else:
            self._ready[seqno] = worker

    def commit(self, worker: _Worker) -> None:
        """It is the turn of a worker: with its place in the queue it wakes the next."""
        self._flushing.join_one(worker)
        self._turn = turn = self._turn + 1
        following = self._ready.pop(turn, None)
        if following is not None:
            following.next = _COMMIT
            following.begin(self._switch_s)

    # -- the stages of their commits -------------------------------------------------------------

    def _flush(self, group: list[_Worker]) -> None:
        self._redo.flush_alone(_bytes(group), self._write, group)

    def _write(self, group: list[_Worker]) -> None:
        self._flushing.begin(self._binlog.appending_s(len(group), _bytes(group)))

    def _written(self, group: list[_Worker]) -> None:
        hooks = self._server.hooks
        hooks.groups += 1
        hooks.commits += len(group)
        self._syncing.join(group)
        self._flushing.leave()

    def _sync(self, group: list[_Worker]) -> None:
        if not self._binlog.sync_file(self._write_journal):
            self._synced(group)

    def _write_journal(self, _: Any) -> None:
        self._syncing.begin(self._wakes_s)

    def _synced(self, group: list[_Worker]) -> None:
        self._committing.join(group)
        self._syncing.leave()

    def _engine_commit(self, group: list[_Worker]) -> None:
        self._committing.begin(self._commit_s + (len(group) - 1) * self._commit_s)

    def _in_engine(self, group: list[_Worker]) -> None:
        channel, now = self._channel, self._clock._now
        channel.applied += len(group)
        self._server.commits += len(group)
        late = channel.lag.add
        for worker in group:
            late(now - worker.change.written_s)
        self._committing.leave()
        rest = group[:0:-1]  # the next at the end
        self._finish(group[0])
        if rest:
            self._host.run(self._wakes_s, self._awake, rest)

    def _awake(self, rest: list[_Worker]) -> None:
        self._finish(rest.pop())
        if rest:
            self._host.run(self._wakes_s, self._awake, rest)

    def _finish(self, worker: _Worker) -> None:
        """A worker may take the next change."""
        change = worker.change
        self.busy_s += self._clock._now - worker.handed_s
        self._free.append(worker)
        self._free_for_more(change.seqno)
        self._channel.forget(change)


class QuietChannel(AheadChannel):
    """A channel with such appliers."""

    appliers_kind: ClassVar[type[Appliers]] = QuietAppliers


def _bytes(group: list[_Worker]) -> int:
    if len(group) == 1:
        return group[0].change.size_bytes  # type: ignore[no-any-return]
    size_bytes: int = 0
    for worker in group:
        size_bytes += worker.change.size_bytes
    return size_bytes
