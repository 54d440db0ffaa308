"""The thread of a source that sends the binary log over one connection to a replica."""

from __future__ import annotations

from typing import Protocol

from simrep.modelling import Clock, Host, Routine
from simrep.models.mysql.server import BinlogTransaction

from .binary_log import BinaryLog

__all__ = ["DumpConnection", "DumpSource"]

_ROUNDING_S = 1e-9


class DumpSource(Protocol):
    """The server that the thread belongs to."""

    @property
    def alive(self) -> bool:
        """Its process is there."""

    def transmit(self, dump: DumpConnection, written: BinlogTransaction) -> bool:
        """Send a transaction; whether its receipt is to be acknowledged."""

    def beat(self, dump: DumpConnection) -> None:
        """Send a heartbeat."""

    def end_dump(self, dump: DumpConnection) -> None:
        """The connection is broken, and the thread ends."""


class DumpConnection:
    """Sends whatever may be read, one transaction after the other, from a position on.

    It notices the end of the other side when it writes to a connection that was reset: the first
    write to a process that is gone brings the reset, the next one fails. A replica that is silent
    it never notices.

    Parameters
    ----------
    source : DumpSource
    log : BinaryLog
    clock : Clock
        Of the server.
    host : Host
    sending : Routine
        CPU for each transaction.
    replica, number : int
        See ``Packet``.
    position : int
        What the replica has.
    heartbeat_s : float
        It sends a heartbeat when it has sent nothing for so long.
    waits : bool
        It sends nothing more until the replica has acknowledged what it asked to be (MySQL 5.5 and
        5.6 with semi-synchronous replication).

    Attributes
    ----------
    reset : bool
        The other side has answered that there is no such connection.

    Notes
    -----
    Simplified: the buffers of the connection hold any backlog, so a write never blocks
    (``net_write_timeout``); TCP does not give up, which takes Linux 15 minutes; reading the
    backlog costs no more than reading the last transaction.

    References
    ----------
    sql/rpl_binlog_sender.cc of MySQL 9, Binlog_sender::run, wait_with_heartbeat.
    """

    __slots__ = (
        "_busy", "_clock", "_heartbeat_s", "_host", "_log", "_sending", "_sent_s", "_source",
        "_waiting", "_waits", "ended", "number", "position", "replica", "reset",
    )  # fmt: skip

    def __init__(
        self,
        source: DumpSource,
        log: BinaryLog,
        clock: Clock,
        host: Host,
        sending: Routine,
        *,
        replica: int,
        number: int,
        position: int,
        heartbeat_s: float,
        waits: bool = False,
    ) -> None:
        self._source = source
        self._log = log
        self._clock = clock
        self._host = host
        self._sending = sending
        self._heartbeat_s = heartbeat_s
        self._waits = waits
        self._busy = self._waiting = False
        self._sent_s = clock.now
        self.replica = replica
        self.number = number
        self.position = position
        self.reset = self.ended = False
        if heartbeat_s:
            clock.at(clock.now + heartbeat_s, self._look)

    def wake(self) -> None:
        """The binary log may have more that may be read."""
        if not self._busy and self.position < self._log.readable:
            self._busy = True
            self._host.run(self._sending.cost(), self._sent)

    def answered(self) -> None:
        """The replica has acknowledged: a thread that waits for that goes on."""
        if self._waiting:
            self._waiting = False
            self._go_on()

    def closed(self) -> None:
        """The other side has closed: a thread that reads from it notices that."""
        if self._waiting:
            self._source.end_dump(self)

    def _go_on(self) -> None:
        if self.position < self._log.readable:
            self._host.go_on(self._sending.cost(), self._sent)
        else:
            self._busy = False

    def _sent(self, _: None = None) -> None:
        if self.ended or not self._source.alive:
            return
        if self.reset:
            self._source.end_dump(self)
            return
        self.position += 1
        self._sent_s = self._clock.now
        if self._source.transmit(self, self._log[self.position]) and self._waits:
            self._waiting = True
        else:
            self._go_on()

    def _look(self, _: None) -> None:
        """See whether a heartbeat is due."""
        if self.ended or not self._source.alive:
            return
        now = self._clock.now
        if now + _ROUNDING_S >= self._sent_s + self._heartbeat_s:
            if self.reset:
                self._source.end_dump(self)
                return
            self._sent_s = now
            self._source.beat(self)
        self._clock.at(self._sent_s + self._heartbeat_s, self._look)
