"""Links between the members of a group: ``gcomm/src/gmcast.cpp``.

Each member has a connection to each other one. When one of them says nothing for
``gmcast.peer_timeout`` the connection is closed, when its process ends the kernel closes it; what
was on its way is lost. A member goes on trying to connect to those of its view. What it has for a
member without a link travels through others that have one. The layer above (EVS) is told nothing
of all that: it misses messages, or members.

A group in which nothing happens has a ``Mesh`` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from simrep.modelling import (
    Clock,
    Fin,
    LinkMessage,
    Mesh,
    MessageWork,
    Network,
    Rst,
    Stream,
    Syn,
    SynAck,
    Thread,
    Timeline,
)
from simrep.models.galera.gcomm.connection import (
    Ack,
    Alive,
    Connection,
    Evicted,
    Handshake,
    Keepalive,
    Ok,
    Response,
    State,
    Topology,
)
from simrep.models.galera.gcomm.routes import DIRECT, Routes
from simrep.models.galera.gcomm.socket_reads import SocketReads
from simrep.models.galera.gcomm.view import Life

__all__ = ["Gmcast", "LinkOptions"]

_CHECK_S = 0.5  # check_period_
_RETRY_S = 1.0  # from the end of a connection to the next attempt, at a check (handle_failed)
_FIRST_RETRY_S = 0.1  # at random up to it, when another member tells of one (update_addresses)
# The kernel repeats a SYN after 1, 2 and 3 s (net.ipv4.tcp_syn_linear_timeouts, since Linux 6.5;
# after 1 and 3 s before).
_SYN_S = 1.0
# Ticks come a little late, so that what is due at one is due; computed times are exact.
_DUE_S = 1e-6


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """Settings of the links, with the provider's defaults."""

    peer_timeout_s: float = 3.0  # gmcast.peer_timeout
    time_wait_s: float = 5.0  # gmcast.time_wait


class _Address:
    """Where a peer is to be found (``AddrEntry``)."""

    __slots__ = ("forgotten", "known", "life", "next_s")

    def __init__(self, next_s: float, *, known: bool) -> None:
        self.life = 0  # of its process: one that starts anew is another member there
        self.next_s = next_s  # next attempt to connect
        self.known = known  # whether it has ever been a member that answered
        self.forgotten = False  # no longer connected to, and removed at ``next_s``


_Envelope = tuple[Any, int, int, int, int]
"""Message, its bytes, number of the connection, who passes it on, a bit for each it is for."""

_ALL = -1  # every bit

WhenClosed = Callable[[Callable[[], object]], object]
"""Called as ``when_closed(call)``: ``call()`` when the kernel closes the sockets of a process."""


def _ignore(*_: Any) -> None:
    pass


class Gmcast(Mesh):
    """The links of one member. In the beginning there is one to each other member.

    Parameters
    ----------
    clock : Clock
        That of the process of the member.
    network : Network
    me : int
        Position of this member.
    segments : sequence of int
        Segment of every member.
    thread : Thread
        The group communication thread.
    work : MessageWork
    options : LinkOptions
    chance : Stream
        Uniform numbers: for the phase of the checks, and for first attempts to connect.
    timeline : Timeline or None
        Where ``link-open`` and ``link-closed`` are noted.

    Notes
    -----
    Simplified: relays of segments are chosen by position, there by UUID; the kernel answers for a
    stopped process only when that goes on.
    """

    def __init__(
        self,
        clock: Clock,
        network: Network,
        me: int,
        segments: Sequence[int],
        thread: Thread,
        work: MessageWork,
        options: LinkOptions,
        chance: Stream,
        timeline: Timeline | None = None,
    ) -> None:
        self._options = options
        self._chance = chance
        self._timeline = timeline
        self._connections: dict[int, Connection] = {}
        self._open: dict[int, Connection] = {}  # by peer
        self._addresses: dict[int, _Address] = {}
        self._routes = Routes(me, segments)
        self._life = 0  # how often the process was started anew
        self.identity = 0  # the life in which the member became who it is
        self._lives = [0] * len(segments)  # of the others, as far as they have said
        self._identities: dict[Life, int] = {}  # of lives of others, as they have said
        self._evicted: set[Life] = set()  # identities that are banned
        self._told_evicted: Callable[[], object] = _ignore
        self._opened = 0
        self._alive = True
        self._when_closed: WhenClosed | None = None
        self._taken: list[int] | None = None  # connections that the kernel still has
        super().__init__(clock, network, me, segments, thread, work)
        self._reads = SocketReads(thread, self._take)
        everybody = frozenset(range(self.size))
        for peer in everybody - {me}:
            number = self._number(min(me, peer), max(me, peer), 0)
            connection = Connection(number, peer, State.OPEN, clock.now)
            connection.links = everybody - {peer}
            self._connections[number] = self._open[peer] = connection
            self._addresses[peer] = _Address(inf, known=True)
        self._kernel: dict[type[Any], Callable[[int], object]] = {
            Syn: self._on_syn,
            SynAck: self._on_syn_ack,
            Ack: self._on_ack,
        }
        self._protocol: dict[type[Any], Callable[[Connection, Any], object]] = {
            Handshake: self._on_handshake,
            Response: self._on_response,
            Ok: self._on_ok,
            Topology: self._on_topology,
            Keepalive: lambda connection, _: self._tell(connection, Alive()),
            Alive: _ignore,
            Evicted: self._on_evicted_by_peer,
            Fin: lambda connection, _: self._fail(connection, "reset"),
            Rst: lambda connection, _: self._fail(connection, "reset"),
        }
        self._routes.update(self._open)
        self._arm(clock.now + _CHECK_S * chance())

    # -- for the layers above --------------------------------------------------------------------

    @property
    def linked(self) -> tuple[int, ...]:
        """To whom there is a link now, in order."""
        return tuple(sorted(self._open))

    def reach(self, members: Collection[int]) -> None:
        """See ``Mesh.reach``: here all to whom there is a link get what is sent to all."""

    def stable(
        self, members: Collection[int], left: Collection[int] = (), *, primary: bool = False
    ) -> None:
        """A view is installed, and then that of the primary component (``handle_stable_view``).

        Members are connected to without end. Who has left is forgotten, and in the primary
        component whoever is not in it.
        """
        if primary:
            for peer in [*self._addresses]:
                if not self._addresses[peer].known:
                    self._drop(peer)
                elif peer not in members:
                    self._forget(peer, self._options.time_wait_s / 2)
        for peer in members:
            self.allow(peer)
        if not primary:
            for peer in left:
                self._forget(peer, self._options.time_wait_s)
        self._check_liveness()

    def allow(self, peer: int) -> None:
        """Do not wait any longer until a forgotten peer may connect (``handle_allow_connect``)."""
        if peer in self._addresses:
            self._addresses[peer].forgotten = False

    def identity_of(self, peer: int, life: int) -> Life:
        """Who a process of a peer is, as far as it has said."""
        return peer, self.identity if peer == self.me else self._identities.get((peer, life), life)

    def evict(self, identity: Life) -> None:
        """Take nothing more from a peer, and tell it that it is banned when it connects.

        A link that there is stays until a view of the primary component without the peer: the
        product means to close it at once, but its ``handle_evict`` ends before it does.
        """
        self._evicted.add(identity)

    def on_evicted(self, call: Callable[[], object]) -> None:
        """Call ``call()`` when another tells this member that it is banned."""
        self._told_evicted = call

    def hold(self, when_closed: WhenClosed) -> None:
        """The process is killed: ``close`` leaves connections to the kernel."""
        self._when_closed = when_closed

    def close(self) -> None:
        """End all connections as the end of the process does.

        What it has sent still arrives, and the end of the connection behind it. A machine without
        power is cut off as well, so that nobody hears of it.
        """
        connections = [c for c in self._connections.values() if c.connected]
        self._connections.clear()
        self._open.clear()
        self._alive = False
        self._check_s = inf
        self._routes.update(self._open)
        when_closed, self._when_closed = self._when_closed, None
        if when_closed is None:
            self._close(connections)
        else:
            self._taken = []
            when_closed(partial(self._close, connections))

    def _close(self, connections: Iterable[Connection]) -> None:
        for connection in connections:
            self._hang_up(connection)
        for number in self._taken or ():
            self._packet(number, Rst())
        self._taken = None

    def reopen(self) -> None:
        """Start: connect to all other members by their addresses."""
        self._alive = True
        self._life += 1
        self._evicted.clear()
        now_s = self._clock._now
        others = [peer for peer in range(self.size) if peer != self.me]
        self._addresses = {peer: _Address(now_s, known=False) for peer in others}
        self._reconnect()
        self._arm(now_s + _CHECK_S)

    # -- sending and receiving -------------------------------------------------------------------

    def broadcast(self, message: Any, size_bytes: int) -> None:
        """See ``Mesh.broadcast``: to all to whom there is a link, and to others by way of them."""
        self._deal(self._routes.to_all, message, size_bytes, _ALL)

    def send(self, peer: int, message: Any, size_bytes: int) -> None:
        """See ``Mesh.send``; without a link it travels as what is for all."""
        copies = [(peer, DIRECT)] if peer in self._open else self._routes.to_all
        self._deal(copies, message, size_bytes, 1 << peer)

    def send_each(self, peers: Iterable[int], message: Any, size_bytes: int) -> None:
        """See ``Mesh.send_each``; it travels as what is for all, and others ignore it."""
        self._deal(self._routes.to_all, message, size_bytes, sum(1 << peer for peer in peers))

    def _deal(
        self,
        copies: Sequence[tuple[int, int]],
        message: Any,
        size_bytes: int,
        targets: int,
    ) -> None:
        cost = self._send.cost()
        at = now_s = self._clock._now
        for peer, passes_on in copies:
            connection = self._open[peer]
            connection.sent_s = now_s
            at += cost
            envelope = (message, size_bytes, connection.number, passes_on, targets)
            self._network.send(self.me, peer, size_bytes, envelope, at)
        self.sent += len(copies)
        if cost and copies:
            self.thread.charge(cost * len(copies))

    def _arrived(self, envelope: Any) -> None:
        """Something has come to the kernel: what it does not answer itself is for the thread."""
        message, size_bytes, number, *_ = envelope
        if self._taken is not None:  # the kernel of a killed process takes what comes
            if isinstance(message, Syn):
                self._packet(number, SynAck())
                self._taken.append(number)
            return
        kernel = self._kernel.get(type(message))
        if kernel is not None:
            kernel(number)
        elif number in self._connections:
            self.received += 1
            cost = self._receive.cost(self._byte_s * size_bytes)
            self._reads.arrived(number, cost, envelope)
        elif not isinstance(message, (Fin, Rst)):
            self._packet(number, Rst())

    def _take(self, envelope: _Envelope) -> None:
        message, size_bytes, number, passes_on, targets = envelope
        connection = self._connections.get(number)
        if connection is None:
            return  # it was closed meanwhile
        connection.heard_s = self._clock._now
        handle = self._protocol.get(type(message))
        if handle is not None:
            handle(connection, message)
            return
        if self._evicted and self._is_banned(message.source):
            return
        if passes_on:
            copies = self._routes.passed_on(passes_on, connection.peer)
            self._deal(copies, message, size_bytes, targets)
        if targets >> self.me & 1:
            self._handle(message)

    def _tell(self, connection: Connection, message: LinkMessage) -> None:
        """Send what is the link's own."""
        cost = self._send.cost()
        envelope = (message, message.size_bytes, connection.number, DIRECT, _ALL)
        at = self._clock._now + cost
        self._network.send(self.me, connection.peer, message.size_bytes, envelope, at)
        if cost:
            self.thread.charge(cost)

    def _number(self, connects: int, accepts: int, which: int) -> int:
        """The number of a connection, by its ends and how many the first has begun before."""
        return (which * self.size + connects) * self.size + accepts

    def _ends(self, number: int) -> tuple[int, int]:
        """Who has connected, and who accepts."""
        rest, accepts = divmod(number, self.size)
        return rest % self.size, accepts

    def _packet(self, number: int, message: LinkMessage) -> None:
        """Let the kernel send what is not repeated."""
        connects, accepts = self._ends(number)
        peer = accepts if connects == self.me else connects
        envelope = (message, message.size_bytes, number, DIRECT, _ALL)
        self._network.send_once(self.me, peer, message.size_bytes, envelope, self._clock._now)

    # -- checks ----------------------------------------------------------------------------------

    def _arm(self, at: float) -> None:
        self._check_s = at
        self._clock.at(at, self._check, at)

    def _check(self, due_s: float) -> None:
        if due_s == self._check_s:  # else it has been brought forward, or the process has ended
            self.thread.do(0.0, self._look, due_s)

    def _look(self, due_s: float) -> None:
        """Do what is due, behind what has come before (``handle_timers``)."""
        if due_s == self._check_s:
            self._check_liveness()
            self._reconnect()
            self._arm(self._clock._now + _CHECK_S)

    def _check_liveness(self) -> None:
        """Close what is silent, ask who might be; find out who passes on (``check_liveness``)."""
        now_s, timeout_s = self._clock._now, self._options.peer_timeout_s
        for connection in [*self._connections.values()]:
            if connection.number not in self._connections:
                continue
            silent_s = now_s - connection.heard_s
            if silent_s >= timeout_s - _DUE_S:
                self._hang_up(connection)
                self._fail(connection, "silence")
            elif connection.state is State.OPEN and (
                silent_s > timeout_s * 2 / 3 or now_s - connection.sent_s > timeout_s / 3
            ):
                self._tell(connection, Keepalive())
        missing = {
            peer
            for peer, address in self._addresses.items()
            if address.known and not address.forgotten and peer not in self._open
        }
        self._routes.go_round(self._open, missing)

    def _reconnect(self) -> None:
        """Connect to those whose time has come (``reconnect``)."""
        now_s = self._clock._now
        busy = {c.peer for c in self._connections.values() if c.state is not State.HANDSHAKE_SENT}
        for peer, address in [*self._addresses.items()]:
            if peer in busy or address.next_s > now_s + _DUE_S:
                continue
            if address.forgotten:
                del self._addresses[peer]
            else:
                self._connect(peer)

    # -- connections that begin ------------------------------------------------------------------

    def _connect(self, peer: int) -> None:
        self._opened += 1
        number = self._number(self.me, peer, self._opened)
        connection = Connection(number, peer, State.CONNECTING, self._clock._now)
        self._connections[number] = connection
        self._network.renew(self.me, peer)
        self._ask(connection)

    def _ask(self, connection: Connection) -> None:
        """Send SYN, again and again."""
        now_s = self._clock._now
        waits = connection.number in self._connections and not connection.connected
        if waits and now_s < connection.heard_s + self._options.peer_timeout_s - _DUE_S:
            self._packet(connection.number, Syn())
            self._clock.at(now_s + _SYN_S, self._ask, connection)

    def _on_syn(self, number: int) -> None:
        if not self._alive:
            self._packet(number, Rst())
        elif number not in self._connections:
            self._network.renew(self.me, self._ends(number)[0])
            self._packet(number, SynAck())

    def _on_syn_ack(self, number: int) -> None:
        connection = self._connections.get(number)
        if connection is None:
            self._packet(number, Rst())
        elif not connection.connected:
            connection.connected = True
            envelope = (Ack(), Ack.size_bytes, number, DIRECT, _ALL)
            self._network.send(self.me, connection.peer, Ack.size_bytes, envelope, self._clock._now)

    def _on_ack(self, number: int) -> None:
        if self._alive:
            self.thread.do(self._receive.cost(0.0), self._accept, number)

    def _accept(self, number: int) -> None:
        if not self._alive:
            return
        now_s = self._clock._now
        connection = Connection(number, self._ends(number)[0], State.HANDSHAKE_SENT, now_s)
        connection.age = (now_s, self.me)
        self._connections[number] = connection
        self._tell(connection, Handshake(connection.age, self._life, self.identity))

    def _on_handshake(self, connection: Connection, handshake: Handshake) -> None:
        self._meet(connection.peer, handshake)
        connection.age = handshake.age
        connection.state = State.RESPONSE_SENT
        self._tell(connection, Response(self._life, self.identity))

    def _meet(self, peer: int, message: Handshake | Response) -> None:
        self._lives[peer] = message.life
        self._identities[peer, message.life] = message.identity

    def _is_banned(self, peer: int) -> bool:
        return self.identity_of(peer, self._lives[peer]) in self._evicted

    def _on_response(self, connection: Connection, response: Response) -> None:
        self._meet(connection.peer, response)
        if self._is_banned(connection.peer):
            self._tell(connection, Evicted())
            self._erase(connection, "evicted")
            return
        self._tell(connection, Ok())
        self._establish(connection)

    def _on_ok(self, connection: Connection, _: Ok) -> None:
        if connection.state is State.RESPONSE_SENT:
            self._establish(connection)

    def _on_evicted_by_peer(self, connection: Connection, _: Evicted) -> None:
        self._fail(connection, "evicted")
        self._told_evicted()

    def _establish(self, connection: Connection) -> None:
        """Use a new connection, if it is the newest one (``handle_established``)."""
        connection.state = State.OPEN
        peer = connection.peer
        if self._is_banned(peer):
            self._erase(connection, "evicted")
            return
        address = self._addresses.setdefault(peer, _Address(inf, known=True))
        address.known = True
        if address.life != self._lives[peer]:
            address.life = self._lives[peer]
            address.forgotten = False
        if address.forgotten:  # too early: time wait
            self._erase(connection, "time wait")
            return
        assert connection.age is not None
        for other in [*self._connections.values()]:
            if other is connection or other.peer != peer or other.age is None:
                continue
            if other.state is State.HANDSHAKE_SENT:  # nobody knows yet whose it is
                continue
            if other.age > connection.age:
                self._erase(connection, "duplicate")
                return
            if self._open.get(peer) is other:
                self._open[peer] = connection
            self._erase(other, "duplicate")
        if peer not in self._open:
            self._note("link-open", peer)
        self._open[peer] = connection
        self._update_addresses()

    def _on_topology(self, connection: Connection, topology: Topology) -> None:
        if connection.links != topology.links:
            connection.links = topology.links
            self._update_addresses()
            self._check_liveness()
            self._reconnect()

    def _update_addresses(self) -> None:
        """Tell to whom there are links, and learn of members from others (the same there)."""
        links = Topology(frozenset(self._open))
        for connection in [*self._open.values()]:
            self._tell(connection, links)
        for connection in [*self._open.values()]:
            for peer in sorted(connection.links - {self.me} - self._addresses.keys()):
                at = self._clock._now + _FIRST_RETRY_S * self._chance()
                self._addresses[peer] = _Address(at, known=True)
                if at < self._check_s:
                    self._arm(at)
        self._routes.update(self._open)

    # -- connections that end --------------------------------------------------------------------

    def _fail(self, connection: Connection, how: str) -> None:
        """A connection has ended, or none came about: try again in a second (``handle_failed``)."""
        peer = connection.peer
        anonymous = connection.state is State.HANDSHAKE_SENT
        self._remove(connection, how)
        if not anonymous and all(other.peer != peer for other in self._connections.values()):
            address = self._addresses.get(peer)
            if address is not None and not address.forgotten:
                address.next_s = self._clock._now + _RETRY_S
        self._update_addresses()

    def _erase(self, connection: Connection, how: str) -> None:
        """Close a connection."""
        self._hang_up(connection)
        self._remove(connection, how)
        self._update_addresses()

    def _hang_up(self, connection: Connection) -> None:
        """Tell the other end, behind all that was sent."""
        if connection.connected:
            envelope = (Fin(), Fin.size_bytes, connection.number, DIRECT, _ALL)
            self._network.send(self.me, connection.peer, Fin.size_bytes, envelope, self._clock._now)

    def _remove(self, connection: Connection, how: str) -> None:
        del self._connections[connection.number]
        if self._open.get(connection.peer) is connection:
            del self._open[connection.peer]
            self._note("link-closed", connection.peer, how)

    def _forget(self, peer: int, wait_s: float) -> None:
        """Close the links to a peer, and accept none for a while (``gmcast_forget``)."""
        self._drop(peer, "forgotten")
        at = self._clock._now + wait_s
        address = self._addresses.get(peer)
        if address is not None:
            address.forgotten = True
            if address.next_s < at or address.next_s == inf:
                address.next_s = at

    def _drop(self, peer: int, how: str = "") -> None:
        """Close the links to a peer; without words, forget where it is."""
        for connection in [*self._connections.values()]:
            if connection.peer == peer:
                self._erase(connection, how)
        if not how:
            del self._addresses[peer]

    def _note(self, what: str, peer: int, how: str = "") -> None:
        if self._timeline is not None:
            self._timeline.note(self.me, what, (peer,), how)
