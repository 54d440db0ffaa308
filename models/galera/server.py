"""One server of a Galera cluster: the sessions of its clients, and the node behind them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from simrep.modelling import (
    Clock,
    Event,
    Killable,
    Lap,
    LongTransaction,
    Parts,
    ProcessExit,
    ServerStatus,
    Sessions,
    Statement,
    Station,
    Transaction,
)
from simrep.models.galera.gcomm.causal import LocalCausal
from simrep.models.galera.gcomm.view import View

from .altering_node import AlteringNode
from .group import GroupMember, waits_for_reads
from .member_states import MemberState
from .node import TOO_LARGE, GaleraNode
from .options import GaleraCosts, GaleraOptions
from .quiet_node import QuietNode
from .returning_node import ReturningNode
from .sharing_node import SharingNode
from .state_exchange import StateExchange
from .streaming import StreamingReplication
from .sync_wait import SyncWait
from .table_changes import TableChanges
from .table_locks import TableLocks
from .verdicts import Verdicts
from .writeset import LocalTransaction, Part, Writeset

__all__ = ["ERRORS", "GaleraServer"]

CONNECTION_LOST: Final = "2013 lost connection to the server"
CONNECTION_REFUSED: Final = "2003 connection refused"
NOT_CONNECTED: Final = "1180 not connected to the primary component"
NOT_PREPARED: Final = "1047 the node has not yet prepared for application use"
_TOO_MANY_ROWS: Final = "1180 wsrep_max_ws_rows exceeded"
ERRORS: Final = (NOT_PREPARED, TOO_LARGE, NOT_CONNECTED, CONNECTION_LOST, *Sessions.errors_told)
"""Why transactions fail."""

_COMMENTS: Final = {
    MemberState.NON_PRIMARY: "Initialized",
    MemberState.PRIMARY: "Initialized",
    MemberState.JOINER: "Joining: receiving State Transfer",
    MemberState.DONOR: "Donor/Desynced",
    MemberState.JOINED: "Joined",
    MemberState.SYNCED: "Synced",
}
_LOAD_DATA_ROWS: Final = 10_000  # of a transaction, where ``LOAD DATA`` commits on the way


class GaleraServer(Killable):
    """The process of a server, until it ends."""

    def __init__(
        self,
        parts: Parts,
        member: GroupMember,
        options: GaleraOptions,
        costs: GaleraCosts,
        numbers: Iterator[int],
        verdicts: Verdicts | None = None,
    ) -> None:
        kind: type[GaleraNode] = ReturningNode if parts.cluster.changes else GaleraNode
        if "ddl" in parts.cluster.operations:
            kind = AlteringNode
        self.node: GaleraNode
        if verdicts is None:
            self.node = parts.make(kind, parts, options, costs, member)
        else:
            sharing = SharingNode if member.quiet is None else QuietNode
            self.node = sharing(parts, options, costs, member, verdicts)
        node = self.node
        self.refused = 0  # attempts while no part of the cluster it is in may commit
        self.synced = True  # it has the state of the cluster
        self._members: tuple[int, ...] = tuple(range(parts.cluster.size))  # of its component
        self.silent = False  # its machine is gone, too: nobody answers for it
        self._exit_s = costs.exit_ms * 1e-3
        self._run_clock = parts.cluster.clock
        self._primary = True
        self._clock = parts.clock
        self._options = options
        self._streams = StreamingReplication(node, options, costs, numbers)
        # Only where servers come and go must they know whom they serve.
        self._open: dict[LocalTransaction, None] | None = {} if parts.cluster.changes else None
        if isinstance(member.group, StateExchange):
            member.group.on_restart(node.send_again)
        self._timeline = parts.cluster.timeline
        self._sync_wait = None
        if waits_for_reads(options, parts.cluster.sessions):
            assert isinstance(member.group, LocalCausal | StateExchange)
            self._sync_wait = SyncWait(parts.clock, node, member.group, options)
        self.tables: TableLocks | None = None
        if parts.cluster.operations:
            self.tables = TableLocks(
                parts.clock, node.host, node.switch_s, node.apply_monitor, node.writer
            )
        self.changes: TableChanges | None = None
        if isinstance(node, AlteringNode):
            assert self.tables is not None
            self.changes = TableChanges(parts, node, self.tables, costs, lambda: self.open)
        self._sessions = parts.sessions(
            node.locks,
            costs.of_sessions(),
            begin=LocalTransaction if self._open is None else self._begin,
            commit=self._commit,
            begin_commit=self._begin_commit,
            prepare=self._prepare,
            before_begin=self._before_begin(),
            streaming=self._streams.of,
            streams_all=options.fragment_size > 0,
            refuse=partial(_refuse, options.max_ws_rows) if options.max_ws_rows else None,
            lock_wait_timeout_s=options.innodb_lock_wait_timeout,
            retries=options.retry_autocommit,
            pool_bytes=options.innodb_buffer_pool_size,
        )
        node.undo = self._sessions.undo

    @property
    def serves(self) -> bool:
        """Whether it has the state of the cluster, and is in its primary component."""
        return self.synced and self._primary

    @property
    def open(self) -> Iterable[LocalTransaction]:
        """Transactions of its clients; nothing where nothing happens to servers."""
        return self._open or ()

    def stations(self) -> Iterable[Station]:
        """The redo log, the latch and the page reads of its storage engine."""
        redo = self.node.redo_stage
        return [*(() if redo is None else (redo,)), *self._sessions.stations()]

    def connect(self) -> Generator[Event, Any, str | None]:
        """Open a connection: handshake, authentication, a thread on the server.

        The kernel of a machine whose server is gone refuses it.
        """
        if self.node.alive:
            return self._sessions.connect()
        if self.closing:
            return self._cut_off(self._clock, CONNECTION_LOST)
        return self._unanswered() if self.silent else self._sessions.refused(CONNECTION_REFUSED)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction; autocommit statements are retried as the server does."""
        if not (self.node.alive and self.synced and self._primary) and not self._dirty(transaction):
            return self._turn_away(transaction)
        if transaction.load_data and self._options.load_data_splitting:
            return _split_load_data(self._sessions, transaction)
        if self._open is not None:
            return self._follow(transaction, self._open)
        return self._sessions.transact(transaction)

    def _dirty(self, transaction: Transaction) -> bool:
        """Whether a node outside the primary component may answer it (``wsrep_dirty_reads``)."""
        return (
            self._options.dirty_reads and self.node.alive and self.synced and not transaction.rows
        )

    def _prepare(self, transaction: Transaction) -> float:
        """CPU to build the writeset, which copies its rows."""
        keys = transaction.key_count if transaction.ranges else 0  # else they are few
        return self.node.preparation(transaction.size_bytes, keys)

    def _commit(
        self, transaction: Transaction, local: LocalTransaction
    ) -> Generator[Event, Any, bool]:
        if transaction.xa_hold_s is not None:
            if not (yield from local.stream.replicate(Part.PREPARE)):
                return False
            yield self._clock.timeout(transaction.xa_hold_s)
            local.mark(Lap.CLIENT)
        if local.stream is not None and local.stream.fragments:
            committed: bool = yield from local.stream.commit()
            locked = True
        else:
            node = self.node
            writeset = Writeset(transaction, local, annotate=self._options.annotate_rows)
            if writeset.size_bytes > self._options.max_ws_size:
                local.error = node.refuse_size()
                return False
            if not transaction.autocommit or local.stream is not None:
                yield node.host.work(self._prepare(transaction))
                if local.aborted:
                    return False
                local.mark(Lap.EXECUTE)
            node.replicate(writeset)
            committed = yield local.done
            locked = bool(writeset.locks or writeset.scans)
        if committed and locked:
            self.node.locks.release_all(local)
        return committed

    def _begin_commit(self, transaction: Transaction, local: LocalTransaction) -> bool:
        node = self.node
        writeset = Writeset(transaction, local, annotate=self._options.annotate_rows)
        if writeset.size_bytes > self._options.max_ws_size:
            local.error = node.refuse_size()
            return False
        node.replicate(writeset)
        return True

    def counters(self) -> Mapping[str, float]:
        """Status variables (``SHOW STATUS LIKE 'wsrep%'``).

        What the product does not count is in small letters.
        """
        node = self.node
        elapsed = (node.clock.now if node.died_s is None else node.died_s) - node.started_s
        paused = min(node.sender.monitor.paused_until_now_s(), elapsed)
        latency, (passed, distance_sum, keys) = node.repl_latency, node.certifier.sums()
        return {
            "wsrep_last_committed": node.last_committed,
            "wsrep_replicated": node.sender.replicated,
            "wsrep_replicated_bytes": node.sender.replicated_bytes,
            "wsrep_received": node.received,
            "wsrep_received_bytes": node.received_bytes,
            "wsrep_local_commits": node.local_commits,
            "wsrep_local_cert_failures": node.cert_failures,
            "wsrep_local_bf_aborts": self._sessions.victims,
            "wsrep_local_recv_queue_avg": _mean(node.recv_queue_sum, node.received),
            "wsrep_local_recv_queue_max": node.recv_queue_max,
            "wsrep_max_ws_size_exceeded": node.too_large,
            "wsrep_flow_control_paused": paused / elapsed if elapsed else 0.0,
            "wsrep_flow_control_sent": node.flow_control.sent,
            "wsrep_flow_control_recv": node.flow_control.received,
            "wsrep_cert_deps_distance": _mean(distance_sum, passed),
            "wsrep_evs_repl_latency_min": latency.minimum if latency.count else 0.0,
            "wsrep_evs_repl_latency_avg": latency.mean,
            "wsrep_evs_repl_latency_max": latency.maximum if latency.count else 0.0,
            "wsrep_evs_repl_latency_stddev": latency.deviation,
            "wsrep_cert_index_size": keys,
            "evs_messages_sent": node.mesh.sent,
            "evs_messages_received": node.mesh.received,
            "fragments_replicated": self._streams.fragments,
            "streams_rolled_back": self._streams.rollbacks,
            "streams_open": len(node.streams),
            "rows_locked": node.rows_locked,
            "commits_out_of_order": node.commits_out_of_order,
            **({} if self._sync_wait is None else {"wsrep_causal_reads": self._sync_wait.asked}),
            **({} if self.changes is None else self.changes.counters()),
            **self._sessions.rollback_counters("1047", "1180", "1205", "1213", "2013"),
        }

    def status(self) -> ServerStatus:
        """See ``Model.status``.

        The state is that of ``wsrep_local_state_comment``, the rank ``wsrep_local_index``, the
        queue ``wsrep_local_recv_queue``. Simplified: members are numbered by their positions, where
        a server numbers them by random identifiers.

        References
        ----------
        codership/galera ``galera/src/replicator_smm_stats.cpp``, ``state2stats_str``.
        """
        node = self.node
        member = node.member_state if self._primary else MemberState.NON_PRIMARY
        ready = self.serves and node.alive
        return ServerStatus(
            state=_COMMENTS[member],
            serves=ready,
            writes=ready,
            queue=node.recv_queue,
            donor=member == MemberState.DONOR,
            rank=self._members.index(node.index) if node.index in self._members else 0,
        )

    def _before_begin(self) -> Callable[[Transaction], Generator[Event, Any, str | None]] | None:
        """What holds up a transaction before its first statement, if anything does."""
        if self.tables is not None:
            return partial(self._wait, self.tables)
        return None if self._sync_wait is None else self._sync_wait.begin

    def _wait(
        self, tables: TableLocks, transaction: Transaction
    ) -> Generator[Event, Any, str | None]:
        error = None
        if self._sync_wait is not None:
            error = yield from self._sync_wait.begin(transaction)
        if error is None:
            yield from tables.wait(transaction)
        return error

    # -- where servers come and go -------------------------------------------------------------

    def _begin(self, clock: Clock) -> LocalTransaction:
        assert self._open is not None
        local = LocalTransaction(clock)
        if self.node.alive:
            self._open[local] = None
        else:  # the rest of what a dead server was asked to do
            local.error = CONNECTION_LOST
            local.aborted = True
        return local

    def _follow(
        self, transaction: Transaction, all_open: dict[LocalTransaction, None]
    ) -> Generator[Event, Any, bool]:
        committed = yield from self._sessions.transact(transaction)
        for local in [one for one in all_open if one.transaction is transaction]:
            del all_open[local]
            if self.tables is not None:
                self.tables.ended(local)
        if self.silent:
            yield from self._unanswered()
        if self.closing and not committed:
            yield self._closed(self._clock)
        return committed

    def _turn_away(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """An error is answered at once; by the kernel, if the server is gone."""
        if self.silent:
            yield from self._unanswered()
        if self.closing:
            yield self._closed(self._clock)
        transaction.unserved = True
        self.refused += self.node.alive and not self._primary
        if self.node.alive:
            yield from self._sessions.turn_away(transaction, NOT_PREPARED)
        else:
            transaction.error = yield from self._sessions.refused(CONNECTION_LOST)
        return False

    def _unanswered(self) -> Generator[Event, Any, None]:
        """Nobody answers, ever."""
        yield Event(self._clock)

    def see(self, view: View) -> None:
        """A view: outside the primary component nothing can commit."""
        self._primary = view.primary
        self._members = view.members
        if self.changes is not None and view.primary:
            self.changes.see(view.members)
        if self._timeline is not None and self.node.alive:
            what = "primary" if view.primary else "non-primary"
            self._timeline.note(self.node.index, what, view.members)
        if not view.primary:
            self.refused += self._fail_all(NOT_PREPARED, NOT_CONNECTED)

    def serve(self, synced: bool) -> None:
        """It has the state of the cluster, or lacks it."""
        self.synced = synced

    def die(self, *, silent: bool = False, killed: bool = True) -> None:
        """The process is gone, and all connections with it.

        If it is ``silent``, its machine is gone as well, and clients do not learn of it. One that
        is not ``killed`` has closed its connections itself.
        """
        self.silent = silent
        if killed and not silent:
            self._exit = ProcessExit(self._run_clock, self.node.host, 0.0, self._exit_s)
        self.node.die()
        self._fail_all(CONNECTION_LOST, CONNECTION_LOST)
        if self.tables is not None:
            self.tables.release()

    def _fail_all(self, error: str, of_commit: str) -> int:
        """Fail what is open and not yet in order; how many that are.

        A transaction that waits in its commit may be ordered elsewhere.
        """
        failed = 0
        for local in list(self._open or ()):
            ordered = self.node.alive and (local.protected or local.placed is local.done)
            if ordered and (local.stream is None or local.stream.final):  # it will commit
                continue
            if local.passed is not None and not local.passed.triggered:  # it has failed there
                self._clock.fire(local.passed)
            if local.error:  # it has failed already, and is being rolled back
                continue
            failed += 1
            commits = local.lock_granted is None and bool(local.done.callbacks)
            local.transaction.unserved = True
            local.transaction.outcome_unknown = commits
            local.error = of_commit if commits else error
            local.withdraw = None
            local.aborted = True
            local.retry = False
            self.node.locks.give_up(local)
            if local.lock_granted is not None:
                if not local.lock_granted.triggered:
                    self._clock.fire(local.lock_granted)
            elif not ordered and local.done.callbacks:
                self.node.sender.fail(local, retry=False)
        if self._sync_wait is not None:
            self._sync_wait.release()
        return failed


def _refuse(most: int, rows: int) -> str:
    return _TOO_MANY_ROWS if rows > most else ""


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0


def _split_load_data(
    sessions: Sessions[Any], transaction: Transaction
) -> Generator[Event, Any, bool]:
    """Run a ``LOAD DATA`` as one transaction for every 10,000 rows (``wsrep_load_data_splitting``).

    If one of them fails, those before it stay committed: the statement is not atomic any more.

    References
    ----------
    MariaDB ``sql/sql_load.cc``, ``wsrep_load_data_split``.
    """
    assert isinstance(transaction, LongTransaction)
    parts = list(_parts(transaction))
    transaction.stages = None  # of parts of an attempt before
    if transaction.journal is not None:
        transaction.journal.split(len(parts))
    for part in parts:
        if part is not parts[0]:  # its time begins where that of the part before ended
            part.started_s = sessions.now_s
        if not (yield from sessions.transact(part)):
            transaction.error = part.error
            transaction.unserved = part.unserved
            transaction.outcome_unknown = part.outcome_unknown
            return False
    return True


def _parts(whole: LongTransaction) -> Generator[Transaction, None, None]:
    row_bytes = whole.size_bytes / whole.rows
    text_bytes = whole.text_bytes / whole.rows
    done = 0
    while done < whole.rows:
        number = min(_LOAD_DATA_ROWS, whole.rows - done)
        keys = whole.keys if whole.same_content else whole.keys[done : done + number]
        part = LongTransaction(
            whole.client, whole.node, whole.kind, (Statement(0, number),),
            keys, number, int(number * row_bytes),
            text_bytes=int(number * text_bytes), started_s=whole.started_s,
        )  # fmt: skip
        if whole.ranges:
            part.ranges = (whole.ranges[0][done : done + number],)
        part.same_content = whole.same_content
        part.session = whole.session
        part.journal = whole.journal
        part.whole = whole
        part.queued_s = whole.queued_s if done == 0 else 0.0
        done += number
        part.last_part = done >= whole.rows
        yield part
