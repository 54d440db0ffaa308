"""What a server writes to its binary log, and its dump threads, up to the end of its process."""

from __future__ import annotations

from functools import partial

from simrep.modelling import Parts
from simrep.models.mysql.commit import Group
from simrep.models.mysql.ending_server import EndingServer
from simrep.models.mysql.server import BinlogHooks, BinlogTransaction

from .binary_log import BinaryLog
from .connection import Events, Kind, Packet, Port
from .dump import DumpConnection
from .options import AsynchronousCosts, AsynchronousOptions
from .source import BinlogSource

__all__ = ["ChangingSource"]


class ChangingSource(BinlogSource):
    """See the module: of a server that takes writes of clients, or applies what others write.

    A replica that connects again gets what it lacks: it tells what it has (GTID), so nothing is
    sent twice. Its old dump thread, if that is still there, ends then.

    Attributes
    ----------
    leads : bool
        Its server takes writes of clients; else it applies what comes from elsewhere.
    server : EndingServer
        Set from outside, as ``port``, the kernel of its machine.

    References
    ----------
    sql/rpl_binlog_sender.cc, sql/rpl_source.cc (kill_zombie_dump_threads) of MySQL 9.
    """

    server: EndingServer
    port: Port

    def __init__(
        self,
        parts: Parts,
        options: AsynchronousOptions,
        costs: AsynchronousCosts,
        log: BinaryLog,
    ) -> None:
        super().__init__(parts, options, costs)
        self._clock = parts.clock
        self._dumps = []  # those of replicas that are always there
        self._heartbeat_s = options.heartbeat_s
        self._connections: dict[int, DumpConnection] = {}
        self.log = log
        self.leads = False
        self._first = log.end

    @property
    def alive(self) -> bool:
        """See ``Process.alive``."""
        return self.server.alive

    @property
    def silent(self) -> bool:
        """See ``Process.silent``."""
        return self.server.silent

    def succeed(self, before: ChangingSource) -> None:
        """Be the next process of the same server: go on with what is counted for a whole run."""

    def begin(self) -> None:
        """Have the connections of all replicas, for long."""
        have = (self.log.line, self.log.end)
        for replica in range(self._cluster.size):
            if replica != self._index:
                self._connect(Packet(self._index, replica, 0, Kind.DUMP, have))

    def lead(self) -> None:
        """Take writes of clients, which come behind all that the binary log has."""
        self.leads = True
        self._first = self.commits = self.log.end
        self.server.max_committed = self.log.end

    def follow(self) -> None:
        """Take none any more: what it has in its commits has ended."""
        self.leads = False

    def turn(self) -> None:
        """Its log has another line: it ends the connections of those that have more of the old."""
        for dump in list(self._connections.values()):
            if dump.position > self.log.end:
                self._send(dump, Kind.FIN)
                self.end_dump(dump)

    def wake(self) -> None:
        """The binary log has more that may be read."""
        for dump in list(self._connections.values()):
            dump.wake()

    def die(self) -> None:
        """The process ends; the kernel closes its connections, if there is one."""
        for dump in self._connections.values():
            dump.ended = True
            if not self.silent:
                fin = Packet(self._index, dump.replica, dump.number, Kind.FIN)
                self.server.when_closed(partial(self.port.close, fin))
        self._connections.clear()

    def _send(self, dump: DumpConnection, kind: Kind) -> None:
        self.port.send(Packet(self._index, dump.replica, dump.number, kind))

    def _note_link(self, what: str, replica: int) -> None:
        if self._cluster.timeline is not None:
            self._cluster.timeline.note(self._index, what, (replica,))

    # -- the points of a commit ------------------------------------------------------------------

    def after_flush(self, group: Group) -> None:
        """See ``CommitHooks.after_flush``."""
        if not self.alive:
            return
        if not self.leads:
            BinlogHooks.after_flush(self, group)
            return
        super().after_flush(group)
        for entry in group:
            assert isinstance(entry, BinlogTransaction)
            # Replicas apply all of the file of an old process before they begin with the next.
            entry.parent = max(entry.parent, self._first)
            self.log.append(entry)

    def readable(self, group: Group) -> None:
        """See ``CommitHooks.readable``."""
        if not self.alive or not self.leads:
            return
        super().readable(group)
        self.log.readable = max(self.log.readable, group[-1].seqno)
        self.wake()

    # -- its connections -------------------------------------------------------------------------

    def hear(self, packet: Packet) -> None:
        """See ``Process.hear``."""
        kind = packet.kind
        if kind is Kind.SYN:
            self._answer(packet, Kind.SYN_ACK)
        elif kind is Kind.QUERY:
            self._answer(packet, Kind.ANSWER)
        elif kind is Kind.DUMP:
            self._connect(packet)
            self._note_link("link-open", packet.replica)
        else:
            dump = self._connections.get(packet.replica)
            if dump is None or dump.number != packet.number:
                return
            if kind is Kind.REPLY:
                self._replied(packet)
            else:
                dump.reset = dump.reset or kind is Kind.RST
                dump.closed()

    def _answer(self, packet: Packet, kind: Kind) -> None:
        self.port.send(Packet(packet.source, packet.replica, packet.number, kind))

    def _connect(self, packet: Packet) -> None:
        line, position = packet.content
        old = self._connections.get(packet.replica)
        if old is not None:
            self.end_dump(old)
        dump = self._connections[packet.replica] = DumpConnection(
            self,
            self.log,
            self._clock,
            self._host,
            self._host.routine(self._send_s),
            replica=packet.replica,
            number=packet.number,
            position=int(min(position, line.shared(self.log.line))),
            heartbeat_s=self._heartbeat_s,
            waits=self._waits_for_replies,
        )
        self._dump_begins(packet.replica)
        dump.wake()

    def end_dump(self, dump: DumpConnection) -> None:
        """See ``DumpSource.end_dump``."""
        dump.ended = True
        del self._connections[dump.replica]
        self._note_link("link-closed", dump.replica)
        self._dump_ends(dump.replica)

    def transmit(self, dump: DumpConnection, written: BinlogTransaction) -> bool:
        """See ``DumpSource.transmit``."""
        wanted = self._wanted(written)
        events = Events(written, wanted, self.log.line)
        packet = Packet(self._index, dump.replica, dump.number, Kind.EVENTS, events)
        self.port.send(packet, written.size_bytes)
        return wanted

    def beat(self, dump: DumpConnection) -> None:
        """See ``DumpSource.beat``."""
        self._send(dump, Kind.HEARTBEAT)

    # -- what semi-synchronous replication does here ---------------------------------------------

    _waits_for_replies = False

    def _wanted(self, written: BinlogTransaction) -> bool:
        """Whether the receipt of a transaction is to be acknowledged."""
        del written
        return False

    def _dump_begins(self, replica: int) -> None:
        """A replica is connected."""

    def _dump_ends(self, replica: int) -> None:
        """It is not any more."""

    def _replied(self, packet: Packet) -> None:
        """A replica has acknowledged."""
