"""Dump threads: what sends the binary log of a source, one thread for every replica."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from simrep.modelling import Host, Routine, Thread

from .server import BinlogTransaction

__all__ = ["Dump", "DumpThread", "StopAndWaitDump", "Transmit"]

Transmit = Callable[[int, BinlogTransaction], bool]
"""Puts a transaction on the network to a replica; whether that replica is to acknowledge it."""


class Dump(Protocol):
    """Sends transactions to one replica in the order of the binary log."""

    def send(self, written: BinlogTransaction) -> None:
        """The binary log has one more transaction that may be read."""


class DumpThread:
    """Sends whatever may be read, one transaction after the other.

    Parameters
    ----------
    host : Host
        Where it runs.
    sending : Routine
        What it costs to read a transaction and to send it.
    transmit : callable
    replica : int
        Position of the replica.
    """

    __slots__ = ("_replica", "_sending", "_thread", "_transmit")

    def __init__(self, host: Host, sending: Routine, transmit: Transmit, replica: int) -> None:
        self._thread = Thread(host)
        self._sending = sending
        self._transmit = transmit
        self._replica = replica

    def send(self, written: BinlogTransaction) -> None:
        """See ``Dump.send``."""
        self._thread.do(self._sending.cost(), self._sent, written)

    def _sent(self, written: BinlogTransaction) -> None:
        self._transmit(self._replica, written)


class StopAndWaitDump:
    """The dump thread of MySQL 5.5 and 5.6 with semi-synchronous replication.

    It reads the acknowledgement itself: after a transaction that is to be acknowledged it sends
    nothing until the replica has answered. So it sends one transaction per round trip, however
    many clients wait.

    Parameters
    ----------
    host : Host
        Where it runs.
    sending : Routine
        What it costs to read a transaction and to send it.
    transmit : callable
    replica : int
        Position of the replica.

    References
    ----------
    plugin/semisync/semisync_master.cc (readSlaveReply) and sql/rpl_master.cc (mysql_binlog_send)
    of MySQL 5.6.
    """

    __slots__ = ("_busy", "_host", "_replica", "_sending", "_transmit", "_unsent")

    def __init__(self, host: Host, sending: Routine, transmit: Transmit, replica: int) -> None:
        self._host = host
        self._sending = sending
        self._transmit = transmit
        self._replica = replica
        self._unsent: deque[BinlogTransaction] = deque()
        self._busy = False

    def send(self, written: BinlogTransaction) -> None:
        """See ``Dump.send``."""
        self._unsent.append(written)
        if not self._busy:
            self._busy = True
            self._host.run(self._sending.cost(), self._sent)

    def answered(self) -> None:
        """The replica has acknowledged: the thread, which has read that, goes on."""
        if self._unsent:
            self._host.go_on(self._sending.cost(), self._sent)
        else:
            self._busy = False

    def _sent(self, _: None = None) -> None:
        if not self._transmit(self._replica, self._unsent.popleft()):
            self.answered()  # nothing to wait for
