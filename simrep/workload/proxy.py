"""A proxy between clients and servers: whom it checks, whom it trusts, and whom it sends where."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock, Event
from simrep.kernel.streams import Streams
from simrep.kernel.timeline import NOBODY, Noted, Timeline
from simrep.workload.status import ServerStatus
from simrep.workload.transaction import Transaction
from simrep.workload.ways import Way, Ways, dial

__all__ = ["PROXY", "Leg", "Proxy", "Role", "Rules", "StatusServer"]

PROXY = "proxy"
"""Its name in the time line."""
Role = Literal["reads", "writes"]
_ROLES: tuple[Role, Role] = ("reads", "writes")
# Between attempts to connect a client that is held. HAProxy, src/backend.c: a turn-around of a
# second after a refused attempt, none after one that has timed out; `option redispatch` is off.
_TRY_AGAIN_S = 1.0
_SILENT = "silent"
_CHANGES = frozenset({"stable", "primary", "non-primary", "writable", "promoted", "synced"})
"""Words of what servers note that they would tell a proxy of: views and roles."""


class StatusServer(Protocol):
    """What a proxy talks to: a replication model that tells the status of its servers."""

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """Open a connection to ``node``; the error if it is refused."""

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction to its end; returns whether it committed."""

    def status(self, node: int) -> ServerStatus | None:
        """What the server of a node says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a proxy does, in seconds; see the ``[proxy]`` table.

    Attributes
    ----------
    nodes : tuple of int
        Servers that it knows, in the order in which they are preferred as writers.
    beside : int or None
        The node whose place in the network it shares.
    """

    nodes: tuple[int, ...]
    beside: int | None
    check_s: float
    check_from: Literal["begin", "end"]
    check_timeout_s: float
    fall: int
    fall_errors: int
    rise: int
    notified: bool
    on_marked_down: Literal["keep", "close"]
    on_fail_back: Literal["keep", "close"]
    writers: Literal["one", "all"]
    prefer: Literal["order", "rank"]
    fail_back: bool
    readers: Literal["others", "all", "writer"]
    split: bool
    donors: bool
    max_lag_s: float | None
    max_queue: int | None
    connections: Literal["pinned", "pooled"]
    redispatch: bool
    repeat: Literal["no", "reads", "all"]
    connect_timeout_s: float
    hold_s: float
    refusal: str


class _Server:
    """A server as the proxy sees it: whether it may read and write, and what its checks said."""

    def __init__(self, node: int, status: ServerStatus) -> None:
        self.node = node
        self.status = status
        self.fit: dict[Role, bool] = {"reads": True, "writes": True}
        self.against: dict[Role, int] = {"reads": 0, "writes": 0}  # checks that say otherwise
        self.pooled: Way | None = None  # the way of the connections of a pool
        self.connected = True  # a pool has connections to it


class Leg:
    """The connection from a proxy to a server for one client, or for one transaction.

    Attributes
    ----------
    closed : Event
        Fires when the proxy closes it.
    """

    def __init__(self, clock: Clock, node: int, role: Role, way: Way | None) -> None:
        self.node = node
        self.role = role
        self.way = way
        self.closed = Event(clock)


class Proxy:
    """See the module; clients of one replication share it.

    Every server is checked by a connection and a question, which it answers when it is alive and
    awake. So many checks in a row decide; how it looks for reads and for writes is judged apart.

    Assumptions
    -----------
    Optimistic
        The proxy itself never fails, costs no time, and knows everybody's state when a run begins.
    Left out
        Limits of connections and their queues; weights: whoever is fit gets the next client in
        turn; a check by a connection that stays open, which is told of a killed server at once.
        What servers tell by themselves (``notified``) takes no time on its way.

    Parameters
    ----------
    clock : Clock
    streams : Streams
        Checks of a server begin at a time of their own: ``proxy/phase/NODE``.
    server : StatusServer
    rules : Rules
    names : sequence of str
        Of all nodes, by position.
    timeline : Timeline or None
        Where it notes what it decides.
    ways : Ways or None
    """

    def __init__(
        self,
        clock: Clock,
        streams: Streams,
        server: StatusServer,
        rules: Rules,
        names: Sequence[str],
        *,
        timeline: Timeline | None = None,
        ways: Ways | None = None,
    ) -> None:
        self.rules = rules
        self._clock = clock
        self._streams = streams
        self._server = server
        self._names = names
        self._timeline = timeline
        self._ways = ways
        self._servers: Mapping[int, _Server] = {}
        self._writers: tuple[int, ...] = ()
        self._turns: dict[Role, int] = {"reads": 0, "writes": 0}
        self._legs: dict[Leg, None] = {}
        self._changed = Event(clock)
        self._hurry = Event(clock)  # a server tells that something has changed
        self._heard = 0  # how often one did

    def start(self) -> None:
        """Begin: it knows how everybody is, and checks them from now on."""
        self._servers = {node: _Server(node, self._told(node)) for node in self.rules.nodes}
        for one in self._servers.values():
            one.fit = self._verdict(one.status)
            one.pooled = self._way(one.node)
        self._writers = self._best_writers()
        for node in self.rules.nodes:
            phase = self._streams.uniform(f"proxy/phase/{self._names[node]}")
            self._clock.process(self._check(node, phase() * self.rules.check_s))
        if self.rules.notified and self._timeline is not None:
            self._timeline.listeners.append(self._hear)

    def _told(self, node: int) -> ServerStatus:
        status = self._server.status(node)
        if status is None:
            raise ScenarioError(
                "proxy", f"the model does not tell the status of {self._names[node]!r}"
            )
        if self.rules.max_lag_s is not None and status.lag_s is None and not status.writes:
            raise ScenarioError(
                "proxy.max_lag_s",
                f"{self._names[node]!r} does not tell by how many seconds it is behind",
                "set max_queue, in transactions, or remove it",
            )
        return status

    # -- checks --------------------------------------------------------------------------------

    def _check(self, node: int, phase_s: float) -> Generator[Event, Any, None]:
        clock, rules = self._clock, self.rules
        first = clock.timeout(phase_s)
        yield first | self._hurry if rules.notified else first
        while True:
            began_s, heard = clock.now, self._heard
            asking = clock.process(self._ask(node))
            yield asking | clock.timeout(rules.check_timeout_s)
            answer: ServerStatus | str = _SILENT
            if asking.triggered:
                answer = asking.value  # type: ignore[assignment]
            self._judge(self._servers[node], answer)
            from_s = began_s if rules.check_from == "begin" else clock.now
            until = clock.until(max(clock.now, from_s + rules.check_s))
            if not rules.notified:
                yield until
            elif heard == self._heard:  # else something has changed meanwhile
                yield until | self._hurry

    def _hear(self, line: Noted) -> None:
        """A server tells of a new view or a new role: see at once how everybody is."""
        if line.node != NOBODY and line.what in _CHANGES:
            self._heard += 1
            hurry, self._hurry = self._hurry, Event(self._clock)
            hurry.succeed()

    def _ask(self, node: int) -> Generator[Event, Any, ServerStatus | str]:
        """Connect and ask; the error if the connection is refused."""
        way = self._way(node)
        error = yield from dial(way, partial(self._server.connect, node))
        if error:
            return error
        status = self._server.status(node)
        assert status is not None
        if way is not None:
            yield way.request()
            yield way.answer()
        return status

    def _way(self, node: int) -> Way | None:
        return None if self._ways is None else self._ways.open(self.rules.beside, node)

    def _verdict(self, status: ServerStatus) -> dict[Role, bool]:
        rules = self.rules
        serves = status.serves and (rules.donors or not status.donor)
        serves = serves and (rules.max_queue is None or status.queue <= rules.max_queue)
        late = rules.max_lag_s is not None and not status.writes
        if late and status.lag_s is not None and rules.max_lag_s is not None:
            late = status.lag_s > rules.max_lag_s
        return {"reads": serves and not late, "writes": serves and status.writes}

    def _judge(self, server: _Server, answer: ServerStatus | str) -> None:
        """Count what a check says; so many in a row change the state of the server."""
        rules = self.rules
        told = isinstance(answer, ServerStatus)
        if isinstance(answer, ServerStatus):
            server.status = answer
        says = self._verdict(server.status) if told else {"reads": False, "writes": False}
        lost: list[Role] = []
        before = dict(server.fit)
        for role in _ROLES:
            if says[role] == server.fit[role]:
                server.against[role] = 0
                continue
            server.against[role] += 1
            needed = rules.fall if answer == _SILENT else rules.fall_errors
            if server.against[role] < (rules.rise if says[role] else needed):
                continue
            server.against[role] = 0
            server.fit[role] = says[role]
            if not says[role]:
                lost.append(role)
            if role == "reads":
                how = answer.state if isinstance(answer, ServerStatus) else answer
                self._note("proxy-up" if says[role] else "proxy-down", (server.node,), how)
        self._choose_writers()
        if lost and rules.on_marked_down == "close":
            self._close(server.node, lost)
        if server.fit != before:
            changed, self._changed = self._changed, Event(self._clock)
            self._clock.fire(changed)

    def _choose_writers(self) -> None:
        before, self._writers = self._writers, self._best_writers()
        if self._writers == before:
            return
        self._note("proxy-writer", self._writers)
        for node in before if self.rules.writers == "one" else ():
            if self._servers[node].fit["writes"] and self.rules.on_fail_back == "close":
                self._close(node, _ROLES[1:])

    def _best_writers(self) -> tuple[int, ...]:
        fit = [node for node, one in self._servers.items() if one.fit["writes"]]
        rules = self.rules
        if rules.writers == "all":
            return tuple(fit)
        if not rules.fail_back and self._writers and self._writers[0] in fit:
            return self._writers
        if rules.prefer == "rank":
            fit.sort(key=lambda node: self._servers[node].status.rank)
        return tuple(fit[:1])

    def _note(self, what: str, of: tuple[int, ...], how: str = "") -> None:
        if self._timeline is not None:
            self._timeline.note(PROXY, what, of, how)

    # -- connections ---------------------------------------------------------------------------

    def role(self, *, reads: bool) -> Role:
        """Where a client or a transaction belongs that only reads, or does not."""
        return "reads" if reads and self.rules.split else "writes"

    def _choose(self, role: Role, tried: Collection[int] = ()) -> int | None:
        """The next server in turn; None if there is none."""
        chosen: Sequence[int] = self._writers
        if role == "reads" and self.rules.readers != "writer":
            fit = [node for node, one in self._servers.items() if one.fit["reads"]]
            if self.rules.readers == "others":
                fit = [node for node in fit if node not in self._writers] or fit
            chosen = fit
        chosen = [node for node in chosen if node not in tried]
        if not chosen:
            return None
        self._turns[role] += 1
        return chosen[self._turns[role] % len(chosen)]

    def reach(self, role: Role, until_s: float) -> Generator[Event, Any, Leg | str]:
        """A connection to a server for a client; the error if there is none in time.

        A proxy that tries others holds a client for a while where no server is there that takes
        it. One that does not stays with the server whose turn it was, whatever checks say of it
        meanwhile, and turns a client away at once where there is none.
        """
        if not self.rules.redispatch:
            return (yield from self._reach_one(role, until_s))
        clock, pooled = self._clock, self.rules.connections == "pooled"
        until_s = min(until_s, clock.now + self.rules.hold_s)
        tried: set[int] = set()
        while True:
            node = self._choose(role, tried)
            if node is not None:
                server = self._servers[node]
                if pooled and server.connected:
                    return self._leg(node, role, server.pooled)
                leg = yield from self._try(node, role)
                if leg is not None:
                    return leg
                tried.add(node)
                if self._choose(role, tried) is not None:
                    continue
            if clock.now >= until_s:
                return self.rules.refusal
            tried.clear()
            again_s = min(clock.now + _TRY_AGAIN_S, until_s)
            yield self._changed | clock.until(again_s)

    def _reach_one(self, role: Role, until_s: float) -> Generator[Event, Any, Leg | str]:
        """Try one server again and again: after a second if it has refused, else at once."""
        clock, rules = self._clock, self.rules
        node, due_s = self._choose(role), clock.now
        for _ in range(1 + int(rules.hold_s / _TRY_AGAIN_S)):
            if due_s > clock.now:
                yield clock.until(min(due_s, until_s))
            if node is None or clock.now >= until_s:
                break
            due_s = clock.now + _TRY_AGAIN_S
            leg = yield from self._try(node, role)
            if leg is not None:
                return leg
        return rules.refusal

    def _try(self, node: int, role: Role) -> Generator[Event, Any, Leg | None]:
        """Connect to a server; None if it is not to be had."""
        way = self._way(node)
        if (yield from self._connect(node, way)):
            return None
        server = self._servers[node]
        server.connected, server.pooled = True, way
        return self._leg(node, role, way)

    def _connect(self, node: int, way: Way | None) -> Generator[Event, Any, str]:
        dialling = self._clock.process(dial(way, partial(self._server.connect, node)))
        yield dialling | self._clock.timeout(self.rules.connect_timeout_s)
        return str(dialling.value) if dialling.triggered else _SILENT

    def _leg(self, node: int, role: Role, way: Way | None) -> Leg:
        leg = Leg(self._clock, node, role, way)
        self._legs[leg] = None
        return leg

    def release(self, leg: Leg, *, lost: bool = False) -> None:
        """A connection is no longer used; if it is ``lost``, so are those of its pool."""
        self._legs.pop(leg, None)
        if lost and self.rules.connections == "pooled":
            self._servers[leg.node].connected = False

    def ended(self, node: int) -> None:
        """The kernel of a server has closed all connections to it."""
        if node in self._servers:
            self._servers[node].connected = False

    def _close(self, node: int, roles: Collection[Role]) -> None:
        """Close the connections to a server that has lost these roles."""
        self._servers[node].connected = False
        for leg in [one for one in self._legs if one.node == node and one.role in roles]:
            del self._legs[leg]
            self._clock.fire(leg.closed)
