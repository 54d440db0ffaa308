"""A server process, and what it is in a replication: a source, a replica, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Generic, TypeVar

from simrep.modelling import Transaction
from simrep.models.mysql.ending_server import EndingServer

from .binary_log import BinaryLog
from .changing_replica import ChangingReplica, RelayRemains
from .changing_source import ChangingSource
from .connection import Kind, Packet

__all__ = ["READ_ONLY", "Member"]

READ_ONLY = "1290 the server is running with --read-only"

Call = Callable[[], object]
S = TypeVar("S", bound=ChangingSource)
R = TypeVar("R", bound=ChangingReplica)


class Member(Generic[S, R]):
    """One process of a server, up to its end.

    It serves the binary log to whoever connects. While it follows a source, it applies what that
    sends, and its own line is that of its source. When it is promoted, its line forks.

    Parameters
    ----------
    server : EndingServer
    source : ChangingSource
        Its binary log and its dump threads.
    make_replica : callable
        ``make_replica(target)``: its IO thread and its channel, to follow another server.
    logs : sequence of BinaryLog
        Of all servers.
    tells_last : bool
        See ``AsynchronousOptions.tells_last_gtid``.

    Attributes
    ----------
    replica : ChangingReplica or None
        None: it follows nobody.
    read_only : bool
        It refuses clients that write.
    """

    def __init__(
        self,
        server: EndingServer,
        source: S,
        make_replica: Callable[[int], R],
        logs: Sequence[BinaryLog],
        *,
        tells_last: bool = False,
    ) -> None:
        self.server = server
        self._tells_last = tells_last
        self.source = source
        self.replica: R | None = None
        self.read_only = False
        self.log = logs[server.index]
        self._logs = logs
        self._make_replica = make_replica

    @property
    def alive(self) -> bool:
        """See ``Process.alive``."""
        return self.server.alive

    @property
    def silent(self) -> bool:
        """See ``Process.silent``."""
        return self.server.silent

    @property
    def closing(self) -> bool:
        """See ``Process.closing``."""
        return self.server.closing

    def when_closed(self, call: Callable[[], object]) -> None:
        """See ``Process.when_closed``."""
        self.server.when_closed(call)

    @property
    def target(self) -> int | None:
        """Position of its source; None: it follows nobody."""
        return None if self.replica is None else self.replica.target

    def refuses(self, transaction: Transaction) -> bool:
        """Whether it does not take a transaction, as that writes."""
        return self.read_only and transaction.rows > 0

    def hear(self, packet: Packet) -> None:
        """See ``Process.hear``."""
        if packet.source == self.server.index:
            self.source.hear(packet)
        elif packet.source == self.target:
            assert self.replica is not None
            self.replica.hear(packet)
        elif packet.kind in {Kind.EVENTS, Kind.HEARTBEAT}:
            self.source.port.reset(packet)

    # -- what it becomes -------------------------------------------------------------------------

    def take_writes(self, *, no: bool = False, call: Call) -> None:
        """Set ``read_only``; ``call()`` when that is done: commits under way end before."""
        self.read_only = no
        if no:
            self.server.fail_writers(READ_ONLY)
            self.server.when_quiet(call)
        else:
            call()

    def lead(self, call: Call) -> None:
        """Follow nobody any more, and take writes: ``call()`` when that is done.

        What is in the relay log and not begun with is lost (``RESET REPLICA``).
        """
        if self.source.leads:
            self.read_only = False
            call()
        elif self.replica is None:
            self._lead(call)
        else:
            self.replica.stop(partial(self._lead, call))

    def _lead(self, call: Call) -> None:
        if not self.alive:
            return
        self.replica = None
        self.log.fork()
        self.source.turn()
        self._enter_extras()
        self.source.lead()
        self.source.wake()
        self.read_only = False
        call()

    def _enter_extras(self) -> None:
        """What only this server has is part of its line: the others get it from here."""
        log, node = self.log, self.server.index
        for extra in log.extras:
            written = copy(extra)
            written.seqno = log.end + 1
            written.parent = log.end
            log.append(written)
            if written.transaction.journal is not None:
                written.transaction.journal.committed(node)
        log.open()
        log.extras.clear()

    def follow(self, target: int, call: Call) -> None:
        """Be a replica of another server; ``call()`` when it begins to be.

        It gets from there what it lacks and has not executed: the relay log is deleted
        (``CHANGE REPLICATION SOURCE TO`` with GTIDs). What it has and the other one lacks is extra
        from now on. MySQL does not notice (errant transactions); MariaDB refuses such a replica.
        """
        if self.replica is not None:
            self.replica.stop(partial(self._follow, target, call))
        elif self.source.leads:
            self.take_writes(no=True, call=partial(self._follow, target, call))
        else:
            self._follow(target, call)

    def _follow(self, target: int, call: Call) -> None:
        if not self.alive:
            return
        log, line = self.log, self._logs[target].line
        base = log.end if self._tells_last else int(min(log.end, log.line.shared(line)))
        for written in log.line.between(base, log.end):
            log.extras.append(written)
            if written.transaction.journal is not None:
                written.transaction.journal.strayed(self.server.index)
        if base <= log.line.shared(line):
            log.applied(line, base)
        self.source.follow()
        self.source.turn()
        self.resume(target, RelayRemains(log.line, base, base))
        call()

    def resume(self, target: int, remains: RelayRemains) -> None:
        """Follow a source from what is there."""
        self._have_replica(target).start(remains)

    def begin(self, target: int) -> None:
        """Have followed a source for long."""
        self._have_replica(target).begin()

    def _have_replica(self, target: int) -> R:
        replica = self.replica = self._make_replica(target)
        replica.on_fork = partial(self.follow, target, _nothing)
        replica.on_progress = self.source.wake
        return replica


def _nothing() -> None:
    pass
