"""Servers of a replication that crash, leave and come back, and the roles that they are given."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from simrep.modelling import Change, Cluster, Event, ScenarioError, ServerStatus, Transaction
from simrep.models.mysql.durability import CrashRecovery, Durability
from simrep.models.mysql.ending_server import EndingServer
from simrep.models.mysql.server_changes import ServerChanges

from .binary_log import BinaryLog
from .changing_replica import RelayRemains, position_of
from .failover.servers import ReplicaReport
from .member import READ_ONLY, Member
from .options import AsynchronousOptions
from .promotion import Promotion
from .source import SOURCE

__all__ = ["Changes"]

_RELEASE_S = 1.0  # so often is looked what nobody can lack any more; results are the same

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class _Rest:
    """What a server that is away finds when it starts: a part of its settings, and a relay log."""

    target: int | None
    read_only: bool
    relay: RelayRemains | None


class Changes(ServerChanges):
    """What happens to the servers of a replication; what is on the disk of those away; who leads.

    A server that is started again is what it was. If it was a source, its storage engine commits
    all that is in its binary log, whatever clients were told; and it takes writes, whoever was
    promoted meanwhile, unless servers start with ``read_only``. Then it is outside of the service,
    until it is made to follow another one.

    Each of ``promote``, ``repoint``, ``set_read_only``, ``stop_io``, ``drain`` and ``report`` is a
    statement at a server that is alive, and that whoever says it reaches.

    Parameters
    ----------
    cluster : Cluster
    options : AsynchronousOptions
    logs : sequence of BinaryLog
        Of all servers.
    durability : sequence of Durability
        What is on their disks.
    members : sequence of Member
        One that comes back takes the place of the old one.
    start : callable
        ``start(node)``: puts a new member into its place.
    start_s : callable
        ``start_s(node)``: how long it takes to start.

    Notes
    -----
    Simplified: settings are kept over a restart (``SET PERSIST``).
    """

    def __init__(
        self,
        cluster: Cluster,
        options: AsynchronousOptions,
        logs: Sequence[BinaryLog],
        durability: Sequence[Durability],
        members: Sequence[Member[Any, Any]],
        start: Callable[[int], object],
        start_s: Callable[[int], float],
    ) -> None:
        super().__init__(cluster, durability, start_s)
        self._options = options
        self._logs = logs
        self._members = members
        self._start = start
        self.service = SOURCE
        """Position of the source that clients are to write on."""
        self._promotion: Promotion | None = None
        self._rests: dict[int, _Rest] = {}  # of servers that are away
        self._release(None)

    def _release(self, _: None) -> None:
        """Nobody needs what all have committed."""
        logs = list(enumerate(self._logs))
        for line in {log.line for log in self._logs}:
            line.release(min(min(self._kept(node), log.line.shared(line)) for node, log in logs))
        self._clock.at(self._clock.now + _RELEASE_S, self._release)

    def _kept(self, node: int) -> int:
        """Up to this position a server has everything, even if it loses power now."""
        at_risk = map(position_of, self._durability[node].at_risk)
        return min([self._logs[node].readable, *(position - 1 for position in at_risk)])

    def _note(self, node: int, what: str, of: tuple[int, ...] = ()) -> None:
        if self._timeline is not None:
            self._timeline.note(node, what, of)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """See ``ServerChanges.transact``; a server that is read-only refuses one that writes."""
        node = transaction.node
        member = self._members[node]
        if member.alive and not self.is_leaving(node) and member.refuses(transaction):
            return member.server.turn_away(transaction, READ_ONLY)
        return super().transact(transaction)

    def change(self, change: Change) -> None:
        """Let a server crash, leave, come back or be promoted now."""
        if change.what == "promote":
            self._check_promotion(change)
            if self._promotion is not None:
                self._promotion.supersede()
            self._promotion = Promotion(self, self._cluster, self._members, change.node)
        else:
            super().change(change)

    def _check_promotion(self, change: Change) -> None:
        """Refuse one that cannot be, or that changes nothing."""
        node, name = change.node, self._names[change.node]
        at = f"at {self._clock.now:g} s"
        if change.transactions_timeout_s is not None:
            raise ScenarioError(
                "fault",
                f"{name!r} gets transactions_timeout_s = {change.transactions_timeout_s:g} {at}: "
                "a source that is made read-only waits for commits alone, which are under way",
                "leave it out",
            )
        if not self.reaches(node, node):
            raise ScenarioError("fault", f"{name!r} cannot be promoted {at}: it is not there")
        if not self._members[node].server.log_bin:
            raise ScenarioError(
                "fault",
                f"{name!r} cannot be promoted {at}: it has not written what it applies to a "
                "binary log, so that the other replicas could not follow it",
                "set log_replica_updates = true",
            )
        others = [other for other in self.others_of(node) if self.reaches(node, other)]
        follow = all(self._members[other].target == node for other in others)
        if self.service == node and not self._members[node].read_only and follow:
            replicas = [self._names[other] for other in self.others_of(node)]
            raise ScenarioError(
                "fault",
                f"{name!r} is the source already {at}, and all that it reaches follow it",
                f"promote {' or '.join(map(repr, replicas))}" if replicas else "",
            )

    # -- servers go and come back ----------------------------------------------------------------

    def _server(self, node: int) -> EndingServer:
        return self._members[node].server

    def _went(self, node: int) -> None:
        member = self._members[node]
        member.source.die()
        relay = None if member.replica is None else member.replica.die()
        self._rests[node] = _Rest(member.target, member.read_only, relay)
        if self._promotion is not None:
            self._promotion.gone(node)

    def _came(self, node: int) -> None:
        rest, log = self._rests.pop(node), self._logs[node]
        relay = self._recover(node, rest.relay)
        self._start(node)
        member = self._members[node]
        member.read_only = rest.read_only or self._options.read_only
        member.server.commits = log.end
        if relay is not None and rest.target is not None:
            member.resume(rest.target, relay)
        else:
            member.source.lead()
            if self._goes_on_alone(node):
                self._note(node, "outside", (self.service,))
            elif member.read_only and not rest.read_only:
                self._note(node, "read-only")
            else:
                self._note(node, "synced")

    def _recover(self, node: int, relay: RelayRemains | None) -> RelayRemains | None:
        """Find what is on the disk of a server that starts; of a replica, what it has."""
        log, crash = self._logs[node], self._durability[node].recover()
        if relay is None and self._options.cuts_doubts:
            crash = crash.without_doubt()
        safety = self._options.crash_safety
        lost = [position_of(entry) for entry in crash.unlogged]
        kept = [position_of(entry) for entry in crash.ahead] if safety == "mysql-8.0" else []
        if relay is None:
            end = max([min([log.end + 1, *lost]) - 1, *kept])
            log.cut(end, max(kept, default=0))
            log.open()
        else:
            self._check_replica(node, crash)
            relay = relay.recovered(crash, safety)
            log.applied(relay.line, relay.executed)
            log.cut(log.end, max(kept, default=0))
        asks_engine = relay is not None and safety == "mariadb"
        crash.tell(node, self._timeline, asks_engine=asks_engine)
        return relay

    def _check_replica(self, node: int, crash: CrashRecovery) -> None:
        """Refuse one that does not know what it has executed, and would execute it again."""
        safety = self._options.crash_safety
        lost = crash.rolled_back or crash.behind
        if (lost and safety == "mysql-5.5") or (
            crash.ahead and safety in {"mysql-5.5", "mysql-5.6"}
        ):
            raise ScenarioError(
                "fault",
                f"{self._names[node]!r} starts at {self._clock.now:g} s and has lost transactions "
                "in one of its logs alone: that a replica before MySQL 8.0.17 executes some again, "
                "or never, is not played",
                "set sync_binlog = 1 and innodb_flush_log_at_trx_commit = 1",
            )

    # -- what an operator or a manager says ------------------------------------------------------

    def others_of(self, node: int) -> list[int]:
        """Positions of all other nodes."""
        return [other for other in range(len(self._members)) if other != node]

    def follows_service(self, node: int) -> bool:
        """Whether a server is the source of the service, or follows it, over others if need be."""
        seen = {node}
        while node != self.service:
            target = self._members[node].target
            if target is None or target in seen:
                return False
            seen.add(target)
            node = target
        return True

    def reaches(self, place: int, node: int) -> bool:
        """Whether whoever is beside a node reaches the server of another one, and hears from it."""
        member, network, now = self._members[node], self._cluster.network, self._clock.now
        if not member.alive or node in self._leaving:
            return False
        if getattr(self._cluster.hosts[node], "stopped", False):
            return False
        return node == place or not (
            network.link(place, node).stalled(now) or network.link(node, place).stalled(now)
        )

    def alive(self, node: int) -> bool:
        """Whether a server accepts connections: its process is there, and does not shut down."""
        return self._members[node].alive and node not in self._leaving

    def silent(self, node: int) -> bool:
        """Whether its machine is gone, too."""
        return self._members[node].silent

    def promote(self, node: int, call: Call | None = None) -> None:
        """``STOP REPLICA; RESET REPLICA ALL; SET GLOBAL read_only = OFF``.

        Clients are to write on it from now on. ``call()`` when that is done. What is in its relay
        log is lost: it is to be drained before.
        """
        member = self._members[node]
        member.lead(partial(self._promoted, node, member.read_only, call or _nothing))

    def _promoted(self, node: int, was_read_only: bool, call: Call) -> None:
        if self._promotion is not None and self._promotion.node != node:
            self._promotion.supersede()
        if self.service != node:
            self.service = node
            self._note(node, "promoted")
            for other in filter(self._goes_on_alone, self.others_of(node)):
                self._note(other, "outside", (node,))
        elif was_read_only:
            self._note(node, "writable")
        self._look_who_is_outside()
        call()

    def _goes_on_alone(self, node: int) -> bool:
        """Whether a server takes writes, and is not the source that clients are to write on."""
        member = self._members[node]
        return (
            node != self.service and member.source.leads and member.alive and not member.read_only
        )

    def _look_who_is_outside(self) -> None:
        fates = self._cluster.fates
        if fates is None:
            return
        for node in range(len(self._members)):
            log = self._logs[node]
            diverged = log.end > log.line.shared(self._logs[self.service].line)
            if self.follows_service(node) and not diverged:
                fates.inside(node)
            else:
                fates.outside(node)

    def repoint(self, node: int, source: int, call: Call | None = None) -> None:
        """``STOP REPLICA; CHANGE REPLICATION SOURCE TO ...; START REPLICA``, with GTIDs.

        A server that takes writes is made read-only first. ``call()`` when that is done.
        """
        self._members[node].follow(source, partial(self._repointed, node, call or _nothing))

    def _repointed(self, node: int, call: Call) -> None:
        target = self._members[node].target
        assert target is not None
        self._note(node, "repointed", (target,))
        self._look_who_is_outside()
        call()

    def set_read_only(self, node: int, on: bool, call: Call | None = None) -> None:
        """``SET GLOBAL read_only``; ``call()`` when that is done: commits under way end before."""
        self._note(node, "read-only" if on else "writable")
        self._members[node].take_writes(no=on, call=call or _nothing)

    def stop_io(self, node: int) -> None:
        """``STOP REPLICA IO_THREAD``."""
        replica = self._members[node].replica
        if replica is not None:
            replica.stop_io()

    def drain(self, node: int, call: Call) -> None:
        """``call()`` when all is committed that a replica has received until now."""
        replica = self._members[node].replica
        if replica is None:
            call()
        else:
            replica.drain(call)

    def report(self, node: int) -> ReplicaReport:
        """``SHOW REPLICA STATUS``."""
        member, log = self._members[node], self._logs[node]
        replica = member.replica
        if replica is None:
            return ReplicaReport(
                source=None,
                io_running=False,
                received=log.end,
                executed=log.end,
                read_only=member.read_only,
            )
        return ReplicaReport(
            source=replica.target,
            io_running=replica.connected,
            received=replica.received,
            executed=log.end,
            read_only=member.read_only,
            heartbeats=replica.heartbeats,
        )

    def extras(self, node: int, source: int) -> int:
        """How many transactions a server has that another one lacks (``GTID_SUBTRACT``)."""
        log, other = self._logs[node], self._logs[source]
        shared = int(min(log.end, other.end, log.line.shared(other.line)))
        return log.end - shared + len(log.extras)

    def backlog(self) -> dict[str, float]:
        """By how many transactions each server has committed less than the source."""
        first = self._logs[self.service]
        return {
            name: max(0.0, first.end - min(log.end, log.line.shared(first.line)))
            for name, log in zip(self._names, self._logs, strict=True)
        }

    def status(self, node: int) -> ServerStatus:
        """What a server says to those who ask before they send it clients."""
        member = self._members[node]
        replica = member.replica
        word: Literal["source", "replica"] = "source" if replica is None else "replica"
        return ServerStatus(
            state=word,
            serves=self.alive(node),
            writes=not member.read_only,
            lag_s=0.0 if replica is None else replica.behind_s,
            queue=0 if replica is None else replica.channel.backlog,
            rank=node,
        )


def _nothing() -> None:
    pass
