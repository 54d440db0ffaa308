"""A replica while it follows one source: its relay log, and the connection of its IO thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, ClassVar

from simrep.modelling import Cluster
from simrep.models.mysql.appliers import Appliers
from simrep.models.mysql.channel import Channel, Committing, RelayedTransaction
from simrep.models.mysql.durability import CrashRecovery
from simrep.models.mysql.ending_server import EndingChannel, EndingServer
from simrep.models.mysql.optimistic_appliers import (
    OptimisticAppliers,
    StoppableOptimisticAppliers,
)
from simrep.models.mysql.options import CrashSafety
from simrep.models.mysql.server import BinlogTransaction
from simrep.models.mysql.stoppable_appliers import StoppableAppliers

from .binary_log import BinaryLog, Line
from .connection import Events, Kind, Packet, Port
from .options import AsynchronousCosts, AsynchronousOptions
from .replica import Replica

__all__ = ["QUERIES", "ChangingReplica", "RelayRemains", "position_of"]

_ROUNDING_S = 1e-9
_SYN_AGAIN_S = 1.0  # Linux repeats a SYN after 1, 3, 7, ... s (RFC 6298)
# Round trips between that of TCP and the request of the binary log: greeting, authentication, what
# it asks the source for (time, server_id, heartbeat, checksum twice, gtid_mode, server_uuid), what
# it sets (its own uuid), and its registration.
QUERIES = 11
_REUSED = "{} of its transactions have the numbers of others, which it never gets"

Call = Callable[[], object]


class _State(Enum):
    """What its IO thread does."""

    OPEN = 0
    CLOSING = 1  # it writes what had arrived before the end of the connection
    CONNECTING = 2
    PAUSING = 3  # until it tries to connect again
    STOPPED = 4


@dataclass(frozen=True, slots=True)
class RelayRemains:
    """What a replica has: on its disk, or when it begins to follow another source.

    Attributes
    ----------
    line : Line
        Of which it is part.
    executed : int
        Everything up to this position is committed.
    received : int
        And up to this one it is in the relay log.
    """

    line: Line
    executed: int
    received: int

    def recovered(self, crash: CrashRecovery, safety: CrashSafety) -> RelayRemains:
        """What crash recovery makes of it.

        A replica of MariaDB knows from its storage engine alone what it has executed, one of MySQL
        from its binary log as well. A relay log is read up to the first that it has lost.
        """
        engine_only = safety == "mariadb"
        gone = (*crash.rolled_back, *(crash.behind if engine_only else ()))
        more = (*crash.recovered, *(() if engine_only else crash.behind))
        executed = max([self.executed, *map(position_of, more)])
        executed = min([executed, *(position_of(entry) - 1 for entry in gone)])
        received = min([self.received, *(change.seqno - 1 for change in crash.unrelayed)])
        return RelayRemains(self.line, executed, max(executed, received))


def position_of(entry: BinlogTransaction | Committing) -> int:
    """Position in its line of what a server commits."""
    return entry.change.seqno if isinstance(entry, Committing) else entry.seqno


class _RelayChannel(EndingChannel):
    """A channel that may be stopped.

    Attributes
    ----------
    on_progress : callable
        ``on_progress()`` when more is committed.
    """

    appliers_kind: ClassVar[type[Appliers]] = StoppableAppliers
    optimistic_kind: ClassVar[type[OptimisticAppliers]] = StoppableOptimisticAppliers
    _appliers: StoppableAppliers

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self.on_progress: Call = _nothing

    def stop(self, call: Call) -> None:
        """``call()`` when the appliers have stopped; the rest of the relay log is left."""
        self._waiters.clear()
        clock = self.server.clock

        def stopped() -> None:
            clock.at(clock.now, _call, call)  # when it is told how far they have come

        self._appliers.stop(stopped)

    def _durable(self, entry: Committing) -> None:
        if self.server.alive:
            super()._durable(entry)
            self.on_progress()


class ChangingReplica(Replica):
    """See the module.

    It gives up its connection when its source has been silent for ``replica_net_timeout``, or when
    the kernel of the source closes it. Then it connects again: at once, and from then on every
    ``source_connect_retry``. It asks for what comes behind what it has received.

    Parameters
    ----------
    cluster, server, options, costs
        See ``Replica``.
    logs : sequence of BinaryLog
        Of all servers.
    target : int
        Position of its source.

    Notes
    -----
    Simplified: a relay log that was torn by a loss of power is readable up to what was on the disk;
    the source refuses at the end of the handshake, half a round trip too early; what
    was committed out of order (``replica_preserve_commit_order = OFF``) is applied again after a
    restart.

    References
    ----------
    sql/rpl_replica.cc of MySQL 9, handle_slave_io, try_to_reconnect, connect_to_master,
    get_master_version_and_clock.
    """

    channel_kind: ClassVar[type[Channel]] = _RelayChannel
    server: EndingServer
    channel: _RelayChannel
    port: Port
    _queries: ClassVar[int] = QUERIES

    def __init__(
        self,
        cluster: Cluster,
        server: EndingServer,
        options: AsynchronousOptions,
        costs: AsynchronousCosts,
        logs: Sequence[BinaryLog],
        target: int,
    ) -> None:
        super().__init__(cluster, server, options, costs)
        self.target = target
        self.on_fork: Call = _nothing
        self.on_progress: Call = _nothing
        self._network = cluster.network
        self._kernel_clock = cluster.clock
        self._clock = server.clock
        self._timeline = cluster.timeline
        self._log = logs[server.index]
        self._source_log = logs[target]
        self._line = self._log.line  # of what it has received
        self._runs = True  # until STOP REPLICA
        self._drains: list[tuple[int, Call]] = []
        self._goals: list[tuple[int, Call]] = []
        self.channel.on_progress = self._progressed
        self._net_timeout_s = float(options.replica_net_timeout)
        self._retry_s = float(options.source_connect_retry)
        self._retry_count = options.source_retry_count
        self._tells_last = options.tells_last_gtid
        self._relay_log_recovery = options.relay_log_recovery
        self._state = _State.STOPPED
        self._number = 0  # of the connection, or of the attempt
        self._step = 0  # of the handshake
        self._failures = 0  # attempts in a row
        self._read_something = True  # since it has connected
        self.heartbeats = 0  # that it has received
        self._heard_s = 0.0
        self._position = 0  # of the last transaction that has arrived
        self._missing: int | None = None  # up to here it lacked something when it connected

    def _listen(self, cluster: Cluster) -> None:
        """Its port receives for it."""

    @property
    def alive(self) -> bool:
        """Whether its threads run."""
        return self._runs and self.server.alive

    def _note(self, what: str, of: tuple[int, ...] | None = None, how: str = "") -> None:
        if self._timeline is not None:
            of = (self.target,) if of is None else of
            self._timeline.note(self.server.index, what, of, how)

    # -- its life --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Have been connected for long."""
        self._state = _State.OPEN
        self._heard_s = self._clock.now
        self._watch(self._number)

    def start(self, remains: RelayRemains) -> None:
        """Begin with what is there: apply it, and connect."""
        self._line = remains.line
        self.channel.start_after(remains.executed)
        received = remains.executed if self._relay_log_recovery else remains.received
        for change in self._line.between(remains.executed, received):
            self.channel.reread(change)
        self._position = received
        self._connect()

    def die(self) -> RelayRemains:
        """The process has ended; returns what it leaves, if crash recovery finds all of it."""
        if self._state is not _State.STOPPED and not self.server.silent:
            self.server.when_closed(partial(self.port.close, self._packet(Kind.FIN)))
        channel = self.channel
        executed = channel.low_water
        return RelayRemains(self._line, executed, max(executed, channel.received))

    def stop_io(self) -> None:
        """Stop the IO thread, when it has written what has arrived (``STOP REPLICA IO_THREAD``)."""
        if self._state is not _State.STOPPED:
            self.port.send(self._packet(Kind.FIN))
            self._state = _State.STOPPED

    def stop(self, call: Call) -> None:
        """Stop (``STOP REPLICA``), and leave what is not begun with in the relay log.

        ``call()`` when that is done.
        """
        self.stop_io()
        self._runs = False
        self.server.durability.relay.lose()  # whoever says this deletes the file afterwards
        self.channel.stop(call)

    def drain(self, call: Call) -> None:
        """``call()`` when all that has arrived until now is committed."""
        self._drains.append((self._position, call))
        self._drain()

    def when_executed(self, position: int, call: Call) -> None:
        """``call()`` when it has committed everything up to a position."""
        self._goals.append((position, call))
        self._progressed()

    def _drain(self) -> None:
        while self._drains and self._drains[0][0] <= self.channel.received:
            _, call = self._drains.pop(0)
            self.channel.when_caught_up(_call, call)

    @property
    def received(self) -> int:
        """Position of the last transaction in its relay log."""
        return max(self.channel.received, self.channel.low_water)

    def _progressed(self) -> None:
        executed = self.channel.low_water
        self._log.applied(self._line, executed)
        self.on_progress()
        if self._goals:
            reached = [call for position, call in self._goals if position <= executed]
            self._goals = [goal for goal in self._goals if goal[0] > executed]
            for call in reached:
                call()

    @property
    def connected(self) -> bool:
        """Whether it has a connection to its source, as far as it knows."""
        return self._state is _State.OPEN

    @property
    def behind_s(self) -> float | None:
        """``Seconds_Behind_Source``, in whole seconds; None is its NULL.

        What it has not received it does not know of.

        References
        ----------
        sql/rpl_replica.cc of MySQL 9, show_slave_status_send_data.
        """
        if self.channel.backlog:
            return float(int(self.channel.behind_s))
        return 0.0 if self.connected else None

    @property
    def number(self) -> int:
        """Of its last connection or attempt."""
        return self._number

    # -- its connection --------------------------------------------------------------------------

    def _packet(self, kind: Kind, content: Any = None) -> Packet:
        return Packet(self.target, self.server.index, self._number, kind, content)

    def _watch(self, number: int) -> None:
        """Look whether the source is silent, when it has been for long enough."""
        self._clock.at(self._heard_s + self._net_timeout_s, self._silence_may_be, number)

    def _silence_may_be(self, number: int) -> None:
        """The timer has ended; what arrived while the process stood still is read before."""
        self._kernel_clock.at(self._kernel_clock.now, self._look, number)

    def _look(self, number: int) -> None:
        if number != self._number or not self.alive:
            return
        now = self._clock.now
        if now + _ROUNDING_S < self._heard_s + self._net_timeout_s:
            self._watch(number)
        elif self._state is _State.OPEN:
            self._lose("replica_net_timeout")
        elif self._state is _State.CONNECTING:
            self._fail()

    def _connect(self) -> None:
        """Begin an attempt."""
        self._number = self.port.new_connection()
        self._step = 0
        self._state = _State.CONNECTING
        self._heard_s = self._clock.now
        self._ask_again((self._number, _SYN_AGAIN_S))
        self._watch(self._number)

    def _ask_again(self, syn: tuple[int, float]) -> None:
        number, pause_s = syn
        waits = self._state is _State.CONNECTING and not self._step
        if number != self._number or not waits or not self.alive:
            return
        self.port.send(self._packet(Kind.SYN))
        again_s = self._kernel_clock.now + pause_s
        self._kernel_clock.at(again_s, self._ask_again, (number, 2.0 * pause_s))

    def hear(self, packet: Packet) -> None:
        """See ``Process.hear``."""
        kind = packet.kind
        connected = self._state in {_State.OPEN, _State.CONNECTING}
        if packet.number != self._number or not connected:
            if kind in {Kind.EVENTS, Kind.HEARTBEAT}:
                self.port.reset(packet)
            return
        self._heard_s = self._clock.now
        if self._state is _State.OPEN:
            self._read(packet)
        elif kind in {Kind.FIN, Kind.RST}:
            self._fail()
        elif kind is Kind.ANSWER or not self._step:
            self._go_on(kind)

    def _go_on(self, kind: Kind) -> None:
        """The source has answered: take the next step of the handshake."""
        if kind is Kind.SYN_ACK:
            self._network.renew(self.server.index, self.target)
            self._network.renew(self.target, self.server.index)
        self._step += 1
        if self._step <= self._queries:
            self.port.send(self._packet(Kind.QUERY))
            return
        refusal = self._refusal()
        if refusal:
            self._state = _State.STOPPED
            self.port.send(self._packet(Kind.FIN))
            self._note("link-closed", how=f"the IO thread stops: {refusal}")
            return
        others = int(max(0, self._position - self._line.shared(self._source_log.line)))
        if others:
            if not self._source_log.line.confused(self._line):
                self.on_fork()
                return
            self._confuse(others)
        self._state = _State.OPEN
        self._failures = 0
        self._read_something = False
        self.port.send(self._packet(Kind.DUMP, (self._line, self._position)))
        self._note("link-open", how=_REUSED.format(others) if others else "")
        self._missing = self._source_log.readable
        self._catch_up()

    def _confuse(self, others: int) -> None:
        """Take what has the same numbers for the same; each side lacks what the other has."""
        source, position = self._source_log.line, self._position
        nodes = self.target, self.server.index
        for line, node in zip((self._line, source), nodes, strict=True):
            for written in line.between(position - others, position):
                if written.transaction.journal is not None:
                    written.transaction.journal.overlooked(node)
        self._line = source

    def _refusal(self) -> str:
        """Why the source does not send its binary log, if that is so."""
        source, position = self._source_log, self._position
        if position > source.end and source.line.confused(self._line):
            return "1236 the replica has more GTIDs than the source"
        if position < source.purged:
            return "1236 the source has purged required GTIDs"
        diverged = position > self._line.shared(source.line)
        if self._tells_last and diverged and not source.line.confused(self._line):
            return "1236 the replica has diverged"
        return ""

    def _read(self, packet: Packet) -> None:
        kind = packet.kind
        if kind is Kind.EVENTS:
            self._read_something = True
            self._position = packet.content.written.seqno
            self._line = packet.content.line
            self._arrived(packet.content)
        elif kind is Kind.HEARTBEAT:
            self._read_something = True
            self.heartbeats += 1
        elif kind in {Kind.FIN, Kind.RST}:
            self._lose("")

    def _arrived(self, events: Events) -> None:
        """Events of a transaction: they go to the relay log."""
        self.receive(events.written)

    def _lose(self, how: str) -> None:
        """The connection is lost: it ends when all that has arrived is in the relay log."""
        self._state = _State.CLOSING
        self._note("link-closed", how=how)
        if how:
            self.port.send(self._packet(Kind.FIN))
        self._close()

    def _close(self) -> None:
        if self.channel.received < self._position:
            return
        if self._read_something:
            self._connect()
        else:  # it has connected in vain
            self._pause()

    def _fail(self) -> None:
        """An attempt has failed."""
        self._failures += 1
        if self._failures == self._retry_count:
            self._state = _State.STOPPED
            self._note("link-closed", how="the IO thread stops: source_retry_count")
        else:
            self._pause()

    def _pause(self) -> None:
        self._state = _State.PAUSING
        self._clock.at(self._clock.now + self._retry_s, self._try_again, self._number)

    def _try_again(self, number: int) -> None:
        if number == self._number and self._state is _State.PAUSING and self.alive:
            self._connect()

    # -- its relay log ---------------------------------------------------------------------------

    def _received(self, change: BinlogTransaction) -> None:
        if self.alive:
            super()._received(change)

    def _written(self, change: RelayedTransaction) -> None:
        if not self.alive:
            return
        super()._written(change)
        if self._drains:
            self._drain()
        if self._state is _State.CLOSING:
            self._close()
        elif self._missing is not None:
            self._catch_up()

    def _catch_up(self) -> None:
        """Note when it has received what it lacked, and when that is committed."""
        if self._missing is not None and self.channel.received >= self._missing:
            self._missing = None
            self._note("joined", ())
            self.channel.when_caught_up(self._caught_up)

    def _caught_up(self, _: None) -> None:
        if self.alive:
            self._note("synced", ())


def _call(call: Call) -> None:
    call()


def _nothing() -> None:
    pass
