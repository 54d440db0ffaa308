"""How a server commits: two-phase commit between storage engine and binary log, by generation.

========================  =====================================  ================================
server                    pipeline                               fsyncs on the path of a commit
========================  =====================================  ================================
no binary log             ``RedoCommit``                         1 redo, shared
MySQL 5.0, 5.1 built-in   ``SerialCommit(whole=True)``           2 redo + 1 binlog, one at a time
MySQL 5.5                 ``SerialCommit``                       2 redo, shared; 1 binlog each
MySQL 5.6                 ``GroupCommit(redo_at_prepare=True)``  1 redo, 1 binlog, both shared
MySQL 5.7 and later       ``GroupCommit``                        1 redo, 1 binlog per group
MariaDB 10.0 and later    ``MariadbCommit``                      1 redo, 1 binlog, both shared
========================  =====================================  ================================
"""

from __future__ import annotations

from typing import Any, Final

from simrep.modelling import Binlog, Lap, Parts, Stage
from simrep.models.mysql.commit import Commit, CommitHooks, Engine, Group, mark, total_bytes

__all__ = ["GroupCommit", "MariadbCommit", "RedoCommit", "SerialCommit"]

_COMMITTING: Final = "committing in the engine"
_NAPS: Final = 10  # a leader sleeps so often for a tenth of binlog_group_commit_sync_delay


class RedoCommit:
    """No binary log: the engine commits in memory, then its redo log is flushed.

    Row locks are released before the flush, so a hot row is not bound by the fsync; a transaction
    that builds on another has the later log position and cannot become durable before it
    (InnoDB: trx_commit_in_memory releases the locks and then calls trx_flush_log_if_needed).
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.stages = (engine.redo.stage,)

    def commit(self, entry: Commit) -> None:
        """See ``CommitPipeline.commit``."""
        self._engine.commit([entry], self._flush)

    def _flush(self, group: Group) -> None:
        self._engine.redo.flush(total_bytes(group), self._engine.answer_each, group)


class _Pipeline:
    """What the pipelines with a binary log share: redo at prepare or not, then a first queue.

    The last stage is left when the engine has committed a group.
    """

    _first: Stage[Commit]
    _last: Stage[Any]

    def __init__(
        self, engine: Engine, binlog: Binlog, hooks: CommitHooks | None, *, redo_at_prepare: bool
    ) -> None:
        self._clock = engine.host.clock
        self._engine = engine
        self._binlog = binlog
        self._hooks = hooks or CommitHooks()
        self._redo_at_prepare = redo_at_prepare

    def commit(self, entry: Commit) -> None:
        """See ``CommitPipeline.commit``."""
        if self._redo_at_prepare:
            self._engine.redo.flush(entry.size_bytes, self._first.join, entry)
        else:
            self._first.join(entry)

    def _enter(self, group: Group) -> None:
        if self._redo_at_prepare:
            self._write(group)
        else:
            self._engine.redo.flush(
                total_bytes(group),
                self._write,
                group,
                len(group),
                appended=self._engine.host.tells_threads,
            )

    def _write(self, group: Group) -> None:
        self._binlog.write(len(group), total_bytes(group), self._written, group)

    def _written(self, group: Group) -> None:
        self._binlog.sync(self._synced, group)

    def _synced(self, group: Group) -> None:
        mark(group, Lap.FLUSH, self._clock.now)  # the waits to share the logs included
        self._hooks.after_flush(group)
        self._hooks.readable(group)

    def _engine_commit(self, group: Group) -> None:
        self._engine.commit(group, self._committed)

    def _committed(self, group: Group) -> None:
        self._last.leave()
        self._answer(group)

    def _answer(self, group: Group) -> None:
        self._hooks.after_commit(group, self._engine.answer)


class SerialCommit(_Pipeline):
    """MySQL 5.5 and before: one transaction at a time holds ``prepare_commit_mutex``.

    Prepare (redo fsync) - mutex - binlog write and fsync - engine commit - mutex released -
    redo fsync. The two redo fsyncs are shared by all who wait for them, the binlog's is not. In 5.0
    and the InnoDB built into 5.1 the mutex spans the ``whole``, both redo fsyncs too.

    References
    ----------
    MySQL worklog 5223 (group commit of the binary log) lists the steps; storage/innobase/handler/
    ha_innodb.cc (innobase_xa_prepare, innobase_commit) of 5.0 and 5.5.
    """

    def __init__(
        self,
        parts: Parts,
        engine: Engine,
        binlog: Binlog,
        *,
        whole: bool = False,
        hooks: CommitHooks | None = None,
    ) -> None:
        super().__init__(engine, binlog, hooks, redo_at_prepare=not whole)
        self._whole = whole
        self.mutex = parts.stage(
            self._enter,
            "prepare_commit_mutex",
            doing="writing and syncing the binary log, and committing",
            lap=Lap.FLUSH,
            largest=1,
            wake=engine.wake,
        )
        self._first = self._last = self.mutex
        self.stages = (engine.redo.stage, self.mutex)

    def _synced(self, group: Group) -> None:
        super()._synced(group)
        self._engine_commit(group)

    def _committed(self, group: Group) -> None:
        # The commit record has no volume to speak of.
        if self._whole:
            self._engine.redo.flush(0, super()._committed, group)
        else:
            self.mutex.leave()
            self._engine.redo.flush(0, self._answer, group)


class GroupCommit(_Pipeline):
    """MySQL 5.6 and later: the stages FLUSH, SYNC and COMMIT, each with a queue and a lock.

    A group moves on as a whole and may be joined in the next queue by groups that come after it;
    different groups are in different stages at the same time. With ``redo_at_prepare`` (5.6) every
    transaction waits for its redo at prepare; 5.7 and later flush it once per group, in FLUSH.
    The delay is waited before a SYNC that is due: in ten sleeps, each of which ends 50 us late, so
    that it takes half a millisecond more (measured: 0.8 and 0.9 ms with 1 and 5 ms).
    ``after_sync`` runs under the lock of the COMMIT stage, unless commits are not ordered: then
    transactions commit in the engine side by side.

    A leader enters the queue of the next stage, unlocks the one that it leaves, and takes all that
    is in the queue when it has a core again. Whoever it has woken may come first, and join. The
    redo of a group is not flushed if a flush since its prepare has covered it
    (``log_write_up_to``). So transactions that were certified together often commit as one
    group.

    Notes
    -----
    The AFTER_COMMIT stage of 8.0 is left out: what is waited for there arrives in order, so one
    group after the other or all at once makes no difference.

    Traces of the source of a group of three servers with 2, 4 and 8 clients show 0.86, 0.46 and
    0.27 groups per transaction, and 0.66, 0.35 and 0.23 flushes of the redo; simulated 0.90, 0.69
    and 0.44, and 0.64, 0.55 and 0.39. Simplified: where threads are not told apart
    (``Host.tells_threads``), a group is closed as soon as the stage is free, and always flushes.
    What a transaction writes to the redo before its prepare is counted with that.

    References
    ----------
    sql/binlog.cc, MYSQL_BIN_LOG::ordered_commit; sql/rpl_commit_stage_manager.cc,
    wait_count_or_timeout (MySQL 8.4).
    """

    def __init__(
        self,
        parts: Parts,
        engine: Engine,
        binlog: Binlog,
        *,
        redo_at_prepare: bool = False,
        order_commits: bool = True,
        sync_delay_s: float = 0.0,
        sync_no_delay_count: int = 0,
        hooks: CommitHooks | None = None,
    ) -> None:
        super().__init__(engine, binlog, hooks, redo_at_prepare=redo_at_prepare)
        self._ordered = order_commits
        approach = engine.approach if engine.host.tells_threads else None
        self.flush_stage = self._first = parts.stage(
            self._enter,
            "binlog flush",
            doing="writing the logs",
            lap=Lap.FLUSH,
            wake=engine.wake,
            sleeps=engine.sleeps,
        )
        self.sync_stage = parts.stage(
            self._sync,
            "binlog sync",
            doing="syncing the binary log",
            lap=Lap.FLUSH,
            gather_s=lambda: sync_delay_s if binlog.sync_due else 0.0,
            gather_count=sync_no_delay_count,
            naps=_NAPS,
            wake=engine.wake,
            sleeps=engine.sleeps,
            approach=approach,
        )
        self.commit_stage = self._last = parts.stage(
            self._commit,
            "binlog commit",
            doing=_COMMITTING,
            lap=Lap.COMMIT_ORDER,
            wake=engine.wake,
            sleeps=engine.sleeps,
            approach=approach,
        )
        self.stages = (engine.redo.stage, self.flush_stage, self.sync_stage, self.commit_stage)

    def _written(self, group: Group) -> None:
        self._hooks.after_flush(group)
        if self._binlog.sync_period != 1:
            self._hooks.readable(group)
        self.sync_stage.join_all(group)
        self.flush_stage.leave()

    def _sync(self, group: Group) -> None:
        self._binlog.sync(self._synced, group)

    def _synced(self, group: Group) -> None:
        mark(group, Lap.FLUSH, self._clock.now)
        if self._binlog.sync_period == 1:
            self._hooks.readable(group)
        if self._ordered:
            self.commit_stage.join_all(group)
            self.sync_stage.leave()
        else:
            self.sync_stage.leave()
            self._hooks.after_sync(group, self._commit_each)

    def _commit(self, group: Group) -> None:
        self._hooks.after_sync(group, self._engine_commit)

    def _commit_each(self, group: Group) -> None:
        for entry in group:
            self._engine.commit([entry], self._answer)


class MariadbCommit(_Pipeline):
    """MariaDB 10.0 and later: one leader writes and syncs, then hands the group through two locks.

    The redo is flushed at prepare (shared by all who wait). The leader of a group holds LOCK_log
    for write and fsync, LOCK_after_binlog_sync for the semi-synchronous wait and
    LOCK_commit_ordered for the engine commits; it lets go of a lock when it has the next one, so
    groups never merge, and a group that waits for acknowledgement lets one more be written.

    References
    ----------
    sql/log.cc, MYSQL_BIN_LOG::trx_group_commit_leader (MariaDB 10.3 and later).
    """

    def __init__(
        self,
        parts: Parts,
        engine: Engine,
        binlog: Binlog,
        *,
        wait_s: float = 0.0,
        wait_count: int = 0,
        hooks: CommitHooks | None = None,
    ) -> None:
        super().__init__(engine, binlog, hooks, redo_at_prepare=True)
        gather_s = (lambda: wait_s) if wait_count else None
        self.log_stage = self._first = parts.stage(
            self._enter,
            "LOCK_log",
            doing="writing and syncing the binary log",
            lap=Lap.FLUSH,
            gather_s=gather_s,
            gather_count=wait_count,
            wake=engine.wake,
        )
        self.after_sync_lock = parts.stage(
            self._after_sync,
            "LOCK_after_binlog_sync",
            doing="between its binary log and its commit",
            lap=Lap.FLUSH,
            largest=1,
        )
        self.commit_lock = self._last = parts.stage(
            self._commit, "LOCK_commit_ordered", doing=_COMMITTING, lap=Lap.COMMIT_ORDER, largest=1
        )
        self.stages = (engine.redo.stage, self.log_stage, self.after_sync_lock, self.commit_lock)

    def _synced(self, group: Group) -> None:
        super()._synced(group)
        self.after_sync_lock.join(group)

    def _answer(self, group: Group) -> None:
        self._hooks.after_commit(group, self._engine.answer_each)

    def _after_sync(self, groups: list[Group]) -> None:
        self.log_stage.leave()
        self._hooks.after_sync(groups[0], self.commit_lock.join)

    def _commit(self, groups: list[Group]) -> None:
        self.after_sync_lock.leave()
        self._engine_commit(groups[0])
