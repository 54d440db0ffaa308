"""What of a server's logs is on its disk when its process ends, or its machine loses power.

What a server has written to a file is in the memory of the kernel: it survives the end of the
process. A loss of power takes whatever no fsync has covered until then, and the kernel has not
written back by itself.

========================  ============================  ===========================================
log                       the server writes             on the disk
========================  ============================  ===========================================
binary log                at every commit               ``sync_binlog`` groups; or by the kernel
relay log                 at every receipt              ``sync_relay_log`` events; or by the kernel
redo log, 1               at every commit group         at once
redo log, 2               at every commit group         once a second
redo log, 0               once a second (8.0.11 and     once a second
                          later: all the time)
========================  ============================  ===========================================

A transaction is prepared in the redo log, written to the binary log, and committed in the redo log.
Crash recovery of the storage engine commits what is prepared and in the binary log, and rolls back
what is prepared and not there. So the engine lacks what was not even prepared on the disk, though
its own binary log may have it; and it has what was committed on the disk, though the end of the
binary log is lost.

Notes
-----
Simplified: the kernel writes a file back in no time, and because of its age alone, not as there is
much of it (``vm.dirty_background_ratio``); nor does it take time to flush the redo log once a
second. The log buffer is never full. A binary log is not rotated.

References
----------
storage/innobase/log/log0write.cc of MySQL 8.4: log_writer writes whenever something is in the log
buffer, log_flusher syncs every innodb_flush_log_at_timeout (1 s) unless each commit does;
srv/srv0srv.cc of 5.7 and of MariaDB: srv_sync_log_buffer_in_background. sql/binlog/recovery.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from simrep.modelling import Binlog, Clock, Cluster, RedoLog, Stream, Timeline

from .log_files import WRITE_BACK_S, LogFile, RedoFile
from .options import ServerOptions

__all__ = ["CrashRecovery", "Durability", "FollowedBinlog", "FollowedRedoLog"]

_FLUSH_S = 1.0  # innodb_flush_log_at_timeout
_LOG_WRITER_S = 0.001  # innodb_log_writer_timeout: so often the log writer of 8.0.11 looks

Call = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class CrashRecovery:
    """What a server finds when it starts again: entries of its commit pipeline.

    Attributes
    ----------
    recovered : tuple
        Prepared, in the binary log, and committed now for the first time.
    rolled_back : tuple
        Neither in the storage engine nor in the binary log: gone.
    behind : tuple
        In the binary log, and not in the storage engine.
    ahead : tuple
        In the storage engine, and not in the binary log any more.
    unlogged : tuple
        All that the binary log has lost, in its order.
    unrelayed : tuple
        All that the relay log has lost, in its order.
    in_doubt : tuple
        Prepared, in the binary log, and not committed on the disk: those that are recovered, and
        others that are committed once more, which nobody sees.
    """

    recovered: tuple[Any, ...] = ()
    rolled_back: tuple[Any, ...] = ()
    behind: tuple[Any, ...] = ()
    ahead: tuple[Any, ...] = ()
    unlogged: tuple[Any, ...] = ()
    unrelayed: tuple[Any, ...] = ()
    in_doubt: tuple[Any, ...] = ()

    def without_doubt(self) -> CrashRecovery:
        """Roll back what is in doubt, and cut off the binary log what begins with it."""
        if not self.in_doubt:
            return self
        cut = (*self.in_doubt, *self.behind)
        return replace(
            self,
            recovered=(),
            behind=(),
            rolled_back=(*cut, *self.rolled_back),
            unlogged=(*cut, *self.unlogged),
        )

    def tell(self, node: int, timeline: Timeline | None, *, asks_engine: bool = False) -> None:
        """Tell what a node has and has not, now that it starts.

        It takes itself to have what its binary log has, unless it asks its storage engine alone.
        """
        journals = [entry.transaction.journal for entry in self.recovered]
        for journal in filter(None, journals):
            journal.recovered(node)
        journals = [entry.transaction.journal for entry in self.rolled_back]
        for journal in filter(None, journals):
            journal.forgotten(node)
        journals = [entry.transaction.journal for entry in self.behind]
        for journal in filter(None, journals):
            if asks_engine:
                journal.forgotten(node)
            else:
                journal.overlooked(node)
        if timeline is not None and str(self):
            timeline.note(node, "recovered", how=str(self))

    def __str__(self) -> str:
        parts = (
            ("committed {} from the binary log", self.recovered),
            ("lost {}", self.rolled_back),
            ("the storage engine lacks {} that are in the binary log", self.behind),
            ("the binary log lacks {} that are in the storage engine", self.ahead),
        )
        return "; ".join(text.format(len(entries)) for text, entries in parts if entries)


@dataclass(slots=True)
class _Lost:
    """What was lost since the last recovery; dicts in place of sets, to keep an order."""

    prepares: dict[Any, None] = field(default_factory=dict)
    commits: dict[Any, None] = field(default_factory=dict)
    logged: dict[Any, None] = field(default_factory=dict)
    relayed: dict[Any, None] = field(default_factory=dict)


class Durability:
    """The logs on the disk of one machine, which outlast the processes of its server.

    Parameters
    ----------
    clock : Clock
        Of the kernel.
    chance : Stream
        Uniform numbers: when timers have begun.
    log_bin : bool
        The server has a binary log.
    flush_at_commit : {0, 1, 2}
        ``innodb_flush_log_at_trx_commit``.
    redo_threads : bool
        The redo log is written by threads of its own (MySQL 8.0.11 and later).

    Attributes
    ----------
    redo : RedoFile
    binlog, relay : LogFile
    """

    def __init__(
        self,
        clock: Clock,
        chance: Stream,
        *,
        log_bin: bool,
        flush_at_commit: int,
        redo_threads: bool,
    ) -> None:
        phase_s = WRITE_BACK_S * chance()
        self._write_s = _LOG_WRITER_S if redo_threads else _FLUSH_S
        self._log_bin = log_bin
        self._at_commit = self._of_file = flush_at_commit
        flush_s = self._flush_s(flush_at_commit)
        self.redo = RedoFile(clock, _FLUSH_S * chance(), self._write_s, flush_s)
        self.binlog = LogFile(clock, phase_s)
        self.relay = LogFile(clock, phase_s)
        self._uncommitted: dict[Any, None] = {}  # in the binary log, and not in the engine
        self._lost = _Lost()

    @classmethod
    def of(
        cls, cluster: Cluster, node: int, options: ServerOptions, *, log_bin: bool = True
    ) -> Durability:
        """Of the machine of a node."""
        return cls(
            cluster.clock,
            cluster.streams.uniform(f"mysql/durability/{node}"),
            log_bin=log_bin,
            flush_at_commit=options.innodb_flush_log_at_trx_commit,
            redo_threads=options.crash_safety == "mysql-8.0",
        )

    def _flush_s(self, flush_at_commit: int) -> float:
        """So often the redo log is flushed besides what commits do."""
        return self._write_s if flush_at_commit == 1 else _FLUSH_S

    def set_flush(self, flush_at_commit: int) -> None:
        """``innodb_flush_log_at_trx_commit`` is set on the running server."""
        self._at_commit = flush_at_commit
        self.redo.flush_every(self._flush_s(flush_at_commit))

    # -- what the server does --------------------------------------------------------------------

    def logged(self, entry: Any) -> None:
        """A transaction was prepared, and is in the binary log."""
        self._uncommitted[entry] = None
        self.binlog.append(entry)
        if self._at_commit != 1:  # else its prepare is on the disk before
            self.redo.append((False, entry))
            if self._at_commit == 2:
                self.redo.written(self.redo.end)

    def committed(self, entry: Any) -> None:
        """The storage engine has committed a transaction."""
        self._uncommitted.pop(entry, None)
        self.redo.append((True, entry))

    @property
    def at_risk(self) -> list[Any]:
        """Entries that the storage engine may lose, or has lost; the first in the binary log."""
        lost = self._lost
        logged = (*islice(self.binlog, 1), *islice(lost.logged, 1))
        return [*(entry for _, entry in self.redo), *lost.commits, *lost.prepares, *logged]

    # -- how it ends, and begins again -----------------------------------------------------------

    def ends(self, what: str) -> None:
        """The server shuts down (``leave``), is killed, or its machine loses power."""
        if what == "leave":
            for file in (self.redo, self.binlog, self.relay):
                file.synced(file.end)
            return
        lost = self._lost
        records = self.redo.lose_buffer()
        if what == "power-loss":
            records = self.redo.lose() + records
            lost.logged.update(dict.fromkeys(self.binlog.lose()))
            lost.relayed.update(dict.fromkeys(self.relay.lose()))
        for commits, entry in records:
            (lost.commits if commits else lost.prepares)[entry] = None

    def recover(self) -> CrashRecovery:
        """The server starts again, with what its file of options says."""
        self.set_flush(self._of_file)
        lost, self._lost = self._lost, _Lost()
        uncommitted, self._uncommitted = self._uncommitted, {}
        self.redo.synced(self.redo.end)
        in_doubt: list[Any] = []
        rolled_back: list[Any] = []
        behind: list[Any] = []
        for entry in {**lost.commits, **uncommitted}:
            if entry in lost.logged or not self._log_bin:
                rolled_back.append(entry)
            elif entry in lost.prepares:
                behind.append(entry)
            else:
                in_doubt.append(entry)
        gone = set(rolled_back)
        return CrashRecovery(
            tuple(entry for entry in in_doubt if entry in uncommitted),
            tuple(rolled_back),
            tuple(behind),
            tuple(entry for entry in lost.logged if entry not in gone),
            tuple(lost.logged),
            tuple(lost.relayed),
            tuple(in_doubt),
        )


class FollowedServer(Protocol):
    """The server whose logs they are."""

    durability: Durability

    @property
    def alive(self) -> bool:
        """Its process is there."""


class FollowedRedoLog(RedoLog):
    """A redo log that tells what it has written and flushed."""

    def __init__(self, server: FollowedServer, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._server = server
        self._end = 0  # of what the flush under way covers

    def _write(self, group: list[Any]) -> None:
        self._end = self._server.durability.redo.end
        super()._write(group)

    def _written(self, group: list[Any]) -> None:
        if not self.write_s:  # it begins and ends to write now
            self._end = self._server.durability.redo.end
        if self._server.alive:
            self._server.durability.redo.written(self._end)
        super()._written(group)

    def _finish(self, group: list[Any]) -> None:
        if self._server.alive and self.level == 1:
            self._server.durability.redo.synced(self._end)
        super()._finish(group)


class FollowedBinlog(Binlog):
    """A binary log that tells what it has written and synced."""

    def __init__(self, server: FollowedServer, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._server = server

    def write(self, transactions: int, size_bytes: int, call: Call, argument: Any = None) -> None:
        """See ``Binlog.write``."""
        super().write(transactions, size_bytes, self._appended, (call, argument))

    def _appended(self, then: tuple[Call, Any]) -> None:
        call, group = then
        if self._server.alive:
            for entry in group:
                self._server.durability.logged(entry)
        call(group)

    def sync(self, call: Call, argument: Any = None) -> None:
        """See ``Binlog.sync``."""
        if self.sync_due and self.sync_period:
            end = self._server.durability.binlog.end
            super().sync(self._synced, (end, call, argument))
        else:
            super().sync(call, argument)

    def _synced(self, then: tuple[int, Call, Any]) -> None:
        end, call, argument = then
        if self._server.alive:
            self._server.durability.binlog.synced(end)
        call(argument)
