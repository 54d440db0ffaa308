"""Connections between the members of a group: ``xcom_transport.cc``.

Each member has a connection to each other one, on which it sends; answers come back on it. It ends

- when the other process ends: its kernel closes it;
- when its socket takes nothing for 10 seconds (``tcp_reaper_task``). To a machine that does not
  answer the socket takes what its buffer holds, so a member that sends much gives up soon (12 to
  17 s after a cut were measured), and one that sends little late;
- when the other has asked three times whether this member lives: it hears nothing of it.

It is tried anew when there is something to send, then after waits of 0.1, 1.1, 2.1 s and so on up
to 10 s. Every attempt stops the only thread until the other machine answers, or for one second.

A new connection is of use when the task that reads its answers has found it: until then the
protocol is not agreed. That task looks in a rhythm of its own, with the same waits since the old
connection ended. So a member whose process comes back after 37 s hears nothing before 46 s.

A group in which nothing happens has a ``Mesh`` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
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
    Timeline,
    WaitingThread,
)
from simrep.models.group_replication.xcom.connection import (
    FIRST_WAIT_S,
    Accepted,
    Offer,
    Offered,
    Request,
    Response,
    Sender,
    longer,
)
from simrep.models.group_replication.xcom.requests import Requests

__all__ = ["CONNECT_S", "Transport"]

_TICK_S = 1.0  # tcp_reaper_task
_IDLE_S = 10.0  # the same: a socket that took nothing for so long
CONNECT_S = 1.0  # dial: open_new_connection(..., 1000 ms)
_AGREED_S = 0.1  # sender_task looks so often whether the protocol is agreed
_KEPT_S = 2.0  # while it cannot connect it throws away what it has for the other, at most so often
_EMPTIED_S = 0.01  # whether the other end has emptied a socket is looked at so often
_PINGS = 3  # PINGS_GATHERED_BEFORE_CONNECTION_SHUTDOWN
_PINGS_WITHIN_S = 5.0  # PING_GATHERING_TIME_WINDOW
# What a socket takes that nobody empties: what Linux gives a connection whose window is still that
# of the beginning (10 segments; tcp_init_buffer_space and tcp_sndbuf_expand, 2 x 10 x 4352 bytes; a
# kernel without the drivers that need much room for headers, and with BBR, 3 x 10 x 2304).
_SOCKET_BYTES = 87_040

_Envelope = tuple[Any, int, int, int]
"""Message, its bytes, number of the connection, who sends."""

_NO_CONNECTION = -1


class Transport(Mesh):
    """The connections of one member. In the beginning there is one to each other member.

    Parameters
    ----------
    clock : Clock
        That of the process of the member.
    network : Network
    me : int
        Position of this member.
    size : int
        How many members there may be.
    thread : WaitingThread
        The only thread of XCom.
    work : MessageWork
    chance : Stream
        Uniform numbers, for the phases of the timers of the kernel and of the checks.
    timeline : Timeline or None
        Where ``link-open`` and ``link-closed`` are noted.
    timer_phase : float, optional
        That of the kernel, if another member is on the same machine; else it is drawn.

    Attributes
    ----------
    alive : bool
        Whether the process lives.
    timer_phase : float
        Where the timers of its kernel are, 0 to 1.
    requests : Requests
        What clients of XCom ask, on connections of their own.

    Notes
    -----
    Simplified: answers go back on the last connection of whom they are for, whose socket takes any
    number; what a stopped process has not read counts as taken; an attempt to connect takes one
    round trip, with the handshake of TLS; the kernel answers for a stopped process only when that
    goes on; the buffer of a socket does not grow with what was sent before.
    """

    def __init__(
        self,
        clock: Clock,
        network: Network,
        me: int,
        size: int,
        thread: WaitingThread,
        work: MessageWork,
        chance: Stream,
        timeline: Timeline | None = None,
        timer_phase: float | None = None,
    ) -> None:
        self._made = False
        self._timeline = timeline
        self._senders: dict[int, Sender] = {}  # by peer
        self._reached: tuple[Sender, ...] = ()
        self._accepted: dict[int, Accepted] = {}  # connections of others, by number
        self._answered: dict[int, Accepted] = {}  # by peer, its last one
        self._waiting_thread = thread
        self.alive = True
        self._ends: list[Callable[[float], object]] | None = (
            None  # of connections that are still open
        )
        self._opened = 0
        self._calling: tuple[Sender, int] | None = None  # the attempt that stops the thread
        self._heard: Callable[[int], object] = int
        self._handlers: dict[type[Any], Callable[[Any], object]] = {}
        super().__init__(clock, network, me, [0] * size, thread, work)
        drawn = chance()
        self.timer_phase = drawn if timer_phase is None else timer_phase
        for peer in range(size):
            if peer != me:
                network.link(me, peer).coarsen_timers(self.timer_phase)
                self._senders[peer] = Sender(peer, self._number(me, peer, 0), 0.0, connected=True)
                self._accept(peer, self._number(peer, me, 0))
        self._made = True
        self.reach(range(size))
        self._kernel: dict[type[Any], Callable[[int, int, Any], object]] = {
            Syn: self._on_syn,
            SynAck: self._on_syn_ack,
            Rst: self._on_rst,
        }
        self._protocol: dict[type[Any], Callable[[int, int], object]] = {
            Fin: self._on_fin,
            Offer: self._on_offer,
            Offered: self._on_offered,
        }
        self.requests = Requests(clock, self)
        self._kernel[Request] = self.requests.arrived
        self._kernel[Response] = self.requests.answered
        clock.at(clock.now + _TICK_S * chance(), self._tick)

    # -- for the layers above --------------------------------------------------------------------

    def connected(self, peer: int) -> bool:
        """Whether there is a connection to a peer, as far as this member knows."""
        sender = self._senders.get(peer)
        return sender is not None and sender.open

    def on_heard(self, call: Callable[[int], object]) -> None:
        """Call ``call(peer)`` when a message comes from whom there is a connection to."""
        self._heard = call

    def on(self, kind: type[Any], handle: Callable[[Any], object]) -> None:
        """Hand messages of a type to ``handle(message)``, and nothing else.

        All others go to that of ``on_message``, and are signs of life.
        """
        self._handlers[kind] = handle

    def reach(self, members: Collection[int]) -> None:
        """See ``Mesh.reach``."""
        if self._made:
            self.connect(members)
            self._reached = tuple(self._senders[p] for p in sorted(members) if p != self.me)

    def connect(self, members: Collection[int]) -> None:
        """Connect to those to whom there has never been a connection (``update_servers``)."""
        for peer in sorted(members):
            sender = self._senders.get(peer)
            if sender is not None:
                sender.pings = 0
            elif peer != self.me:
                sender = Sender(peer, _NO_CONNECTION, self._clock._now, connected=False)
                self._senders[peer] = sender
                self._dial(sender)

    def pinged(self, peer: int) -> None:
        """The peer asks whether this member lives: close the connection if it keeps asking."""
        sender = self._senders.get(peer)
        if sender is None:
            return
        now_s = self._clock._now
        sender.pings = sender.pings + 1 if sender.pinged_s > now_s - _PINGS_WITHIN_S else 1
        sender.pinged_s = now_s
        if sender.open and sender.pings == _PINGS:
            self._close(sender, "asked")

    def cease(self) -> None:
        """Do nothing more: the process has ended, and its kernel still takes what comes."""
        me, network = self.me, self._network
        self._ends = [
            partial(network.send, me, sender.peer, *self._fin(sender.number))
            for sender in self._senders.values()
            if sender.open
        ]
        self._ends += [
            partial(network.send_on, accepted.link, me, accepted.peer, *self._fin(accepted.number))
            for accepted in self._accepted.values()
        ]
        self._senders.clear()
        self._accepted.clear()
        self._answered.clear()
        self.requests.clear()
        self._reached = ()
        self.alive = False
        self._calling = None
        self._waiting_thread.go_on()

    def close(self) -> None:
        """End all connections as the end of the process does.

        What it has sent still arrives, and the end of the connection behind it. A machine without
        power is cut off as well, so that nobody hears of it.
        """
        if self._ends is None:
            self.cease()
        ends, self._ends = self._ends, None
        for end in ends or ():
            end(self._clock._now)

    def reopen(self) -> None:
        """Start: accept connections; ``reach`` makes those to others."""
        self.alive = True

    # -- sending ---------------------------------------------------------------------------------

    def broadcast(self, message: Any, size_bytes: int) -> None:
        """See ``Mesh.broadcast``: to all whom ``reach`` has named."""
        self._deal(self._reached, message, size_bytes)

    def send(self, peer: int, message: Any, size_bytes: int) -> None:
        """See ``Mesh.send``: an answer, which goes back on the connection of the peer."""
        accepted = self._answered.get(peer)
        if accepted is not None:
            self._post(accepted, message, size_bytes)
        elif peer in self._senders:
            self._deal((self._senders[peer],), message, size_bytes)

    def send_each(self, peers: Iterable[int], message: Any, size_bytes: int) -> None:
        """See ``Mesh.send_each``."""
        senders = [self._senders[peer] for peer in peers if peer in self._senders]
        self._deal(senders, message, size_bytes)

    def _deal(self, senders: Iterable[Sender], message: Any, size_bytes: int) -> None:
        cost = self._send.cost()
        at = now_s = self._clock._now
        me, send = self.me, self._network.send
        copies = 0
        for sender in senders:
            if sender.spoken and (not sender.blocked or self._freed(sender)):
                if now_s > sender.emptied_s + _EMPTIED_S:
                    self._emptied(sender)
                sender.taken_bytes += size_bytes
                if sender.taken_bytes <= _SOCKET_BYTES or self._takes(sender):
                    at += cost
                    sender.active_s = now_s
                    copies += 1
                    envelope = (message, size_bytes, sender.number, me)
                    send(me, sender.peer, size_bytes, envelope, at)
                    continue
            if sender.open or sender.dialling:
                sender.queue.append((message, size_bytes))
            else:  # the task that sends finds with this message, which is lost, that it must dial
                self._dial(sender)
        self.sent += copies
        if cost and copies:
            self.thread.charge(cost * copies)

    def _takes(self, sender: Sender) -> bool:
        """Whether a full socket takes more, as the other end empties it."""
        sender.blocked = not self._emptied(sender)
        return not sender.blocked

    def _emptied(self, sender: Sender) -> bool:
        sender.emptied_s = self._clock._now
        if self._network.link(self.me, sender.peer).stalled(self._clock._now):
            return False
        sender.taken_bytes = 0
        return True

    def _freed(self, sender: Sender) -> bool:
        """Send what had to wait, if the socket takes something again."""
        if not self._takes(sender):
            return False
        self._flush(sender)
        return True

    def _flush(self, sender: Sender) -> None:
        waiting = [*sender.queue]
        sender.queue.clear()
        for message, size_bytes in waiting:
            self._deal((sender,), message, size_bytes)

    def _post(self, accepted: Accepted, message: Any, size_bytes: int) -> None:
        """Send an answer."""
        cost = self._send.cost()
        self.sent += 1
        me, peer = self.me, accepted.peer
        envelope = (message, size_bytes, accepted.number, me)
        at = self._clock._now + cost
        self._network.send_on(accepted.link, me, peer, size_bytes, envelope, at)
        if cost:
            self.thread.charge(cost)

    def next_number(self, peer: int) -> int:
        """The number of the next connection to a peer."""
        self._opened += 1
        return self._number(self.me, peer, self._opened)

    def packet(self, peer: int, number: int, message: LinkMessage) -> None:
        """Let the kernel send what is not repeated."""
        envelope = (message, message.size_bytes, number, self.me)
        self._network.send_once(self.me, peer, message.size_bytes, envelope, self._clock._now)

    def _fin(self, number: int) -> tuple[int, _Envelope]:
        return Fin.size_bytes, (Fin(), Fin.size_bytes, number, self.me)

    def _number(self, connects: int, accepts: int, which: int) -> int:
        """The number of a connection, by its ends and how many the first has begun before."""
        return (which * self.size + connects) * self.size + accepts

    # -- receiving -------------------------------------------------------------------------------

    def _arrived(self, envelope: Any) -> None:
        """Something has come to the kernel: what it does not answer itself is for the thread."""
        message, size_bytes, number, source = envelope
        if self._ends is not None:
            self._take_in(self._ends, message, number, source)
            return
        kernel = self._kernel.get(type(message))
        if kernel is not None:
            kernel(source, number, message)
        elif self._is_known(source, number):
            self.received += 1
            cost = self._receive.cost(self._byte_s * size_bytes)
            self.thread.do(cost, self._take, envelope)
        elif not isinstance(message, Fin):
            self.packet(source, number, Rst())

    def _take_in(
        self, ends: list[Callable[[float], object]], message: Any, number: int, source: int
    ) -> None:
        """The kernel of a process that has ended takes connections, until it closes them all."""
        if isinstance(message, Syn):
            self.packet(source, number, SynAck())
        if isinstance(message, (Syn, Request)):
            ends.append(lambda _: self.packet(source, number, Rst()))

    def _is_known(self, source: int, number: int) -> bool:
        if number in self._accepted:
            return True
        sender = self._senders.get(source)
        return sender is not None and sender.open and sender.number == number

    def _take(self, envelope: _Envelope) -> None:
        message, _, number, source = envelope
        if not self._is_known(source, number):
            return  # it was closed meanwhile
        kind = type(message)
        if kind in self._protocol:
            self._protocol[kind](source, number)
        elif kind in self._handlers:
            self._handlers[kind](message)
        else:
            if self.connected(source):
                self._heard(source)
            self._handle(message)

    # -- checks ----------------------------------------------------------------------------------

    def _tick(self, _: None) -> None:
        self._clock.at(self._clock._now + _TICK_S, self._tick)
        if self.alive:
            self.thread.do(0.0, self._reap)

    def _reap(self, _: None) -> None:
        """Close what took nothing for long (``tcp_reaper_task``)."""
        now_s = self._clock._now
        for sender in [*self._senders.values()]:
            if not sender.open:
                continue
            if self._emptied(sender) and sender.blocked:
                sender.blocked = False
                self._flush(sender)
            if sender.active_s + _IDLE_S < now_s:
                self._close(sender, "silence")

    # -- connections that begin ------------------------------------------------------------------

    def _dial(self, sender: Sender) -> None:
        """Let the task that sends connect, when the thread gets round to it."""
        sender.dialling = True
        self.thread.do(0.0, self._connect, sender)

    def _connect(self, sender: Sender) -> None:
        if self._senders.get(sender.peer) is not sender or not sender.dialling:
            return  # the process has ended meanwhile
        number = self.next_number(sender.peer)
        self._calling = sender, number
        self._network.renew(self.me, sender.peer)
        self.packet(sender.peer, number, Syn())
        self._waiting_thread.wait()
        self._clock.at(self._clock._now + CONNECT_S, self._give_up, number)

    def _give_up(self, number: int) -> None:
        if self._calling is not None and self._calling[1] == number:
            self._note("no-answer", self._calling[0].peer)
            self._connected(number, reached=False)

    def _connected(self, number: int, *, reached: bool) -> None:
        """An attempt has ended: the thread goes on."""
        calling = self._calling
        if calling is None or calling[1] != number:
            return
        self._calling = None
        sender, now_s = calling[0], self._clock._now
        if reached:
            sender.number = number
            sender.open = True
            sender.dialling = sender.broken = sender.blocked = sender.answered = False
            sender.reading = not sender.looking
            sender.taken_bytes = 0
            sender.active_s = now_s
            sender.wait_s = FIRST_WAIT_S
            self._note("link-open", sender.peer)
            envelope = (Offer(), Offer.size_bytes, number, self.me)
            self._network.send(self.me, sender.peer, Offer.size_bytes, envelope, now_s)
            self._clock.at(now_s + _AGREED_S, self._agree, (sender, number))
        else:
            if not sender.looking:  # it begins behind the first attempt to connect
                self._look_later(sender)
            self._clock.at(now_s + sender.wait_s, self._again, sender)
        self._waiting_thread.go_on()

    def _again(self, sender: Sender) -> None:
        """Try once more after a wait; what is old is not kept for that."""
        if self._senders.get(sender.peer) is not sender:
            return
        now_s = self._clock._now
        if now_s > sender.cleared_s + _KEPT_S:
            sender.queue.clear()
            sender.cleared_s = now_s
        sender.wait_s = longer(sender.wait_s)
        self._dial(sender)

    def _agree(self, attempt: tuple[Sender, int]) -> None:
        """Send on the new connection as soon as the protocol is agreed."""
        sender, number = attempt
        if not sender.open or sender.number != number or not self.alive:
            return
        if sender.answered and sender.reading:
            sender.spoken = True
            self.thread.do(0.0, self._begin, sender)
        else:
            self._clock.at(self._clock._now + _AGREED_S, self._agree, attempt)

    def _begin(self, sender: Sender) -> None:
        if sender.spoken:
            self._flush(sender)

    def _look_later(self, sender: Sender) -> None:
        """Let the task that reads answers look for a connection after a wait."""
        sender.looking = True
        self._clock.at(self._clock._now + sender.look_wait_s, self._look, sender)

    def _look(self, sender: Sender) -> None:
        if self._senders.get(sender.peer) is not sender:
            return
        if sender.open:
            sender.look_wait_s = FIRST_WAIT_S
            sender.looking = False
            sender.reading = True
            if sender.broken:
                self._close(sender, "reset")
        else:
            sender.look_wait_s = longer(sender.look_wait_s)
            self._look_later(sender)

    def _on_syn(self, source: int, number: int, _: Any) -> None:
        if self.alive:
            self._accept(source, number)
            self.packet(source, number, SynAck())
        else:
            self.packet(source, number, Rst())

    def _accept(self, peer: int, number: int) -> None:
        link, back = self._network.link(self.me, peer).another(), self._network.link(peer, self.me)
        link.answered_on(back)
        back.answered_on(link)
        self._accepted[number] = self._answered[peer] = Accepted(peer, number, link)

    def _on_syn_ack(self, source: int, number: int, _: Any) -> None:
        del source
        self._connected(number, reached=True)

    def _on_rst(self, source: int, number: int, _: Any) -> None:
        self.requests.ended(number, None)
        self._connected(number, reached=False)
        if self.alive and self._is_known(source, number):
            self.thread.do(0.0, self._take, (Fin(), Fin.size_bytes, number, source))

    def _on_offer(self, source: int, number: int) -> None:
        del source
        self._post(self._accepted[number], Offered(), Offered.size_bytes)

    def _on_offered(self, source: int, _: int) -> None:
        self._senders[source].answered = True

    # -- connections that end --------------------------------------------------------------------

    def _on_fin(self, source: int, number: int) -> None:
        accepted = self._accepted.pop(number, None)
        if accepted is not None:
            if self._answered.get(source) is accepted:
                del self._answered[source]
            return
        sender = self._senders[source]
        if sender.reading:
            self._close(sender, "reset")
        else:
            sender.broken = True

    def _close(self, sender: Sender, how: str) -> None:
        """Close a connection; what waits to be sent goes on another one, but for the first.

        What the socket has taken is still sent, until the other end answers (``_arrived``).
        """
        self._network.send(self.me, sender.peer, *self._fin(sender.number), self._clock._now)
        self._network.renew(self.me, sender.peer)
        sender.open = sender.spoken = sender.blocked = False
        if sender.reading:
            sender.reading = False
            self._look_later(sender)
        self._note("link-closed", sender.peer, how)
        if sender.queue and not sender.dialling:
            del sender.queue[0]
            self._dial(sender)

    def _note(self, what: str, peer: int, how: str = "") -> None:
        if self._timeline is not None:
            self._timeline.note(self.me, what, (peer,), how)
