"""Who is alive, as one member sees it: ``xcom_detector.cc``.

Whoever was heard within five seconds is alive. Once a second a member tells all others that it is
alive, and once a second it looks who is. What it sees goes to the layers above at once, for itself;
the lowest live member also has the group agree on it, by an ordered message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from simrep.modelling import Clock, Stream
from simrep.models.group_replication.xcom.transport import Transport

__all__ = ["LIVE_S", "TICK_S", "Alive", "AreYouAlive", "Detector", "Presence"]

TICK_S = 1.0
LIVE_S = 5.0  # DETECTOR_LIVE_TIMEOUT
_SILENT_S = 4.0  # MAX_SILENT
_MESSAGE_BYTES = 200  # pax_msg without a payload, TLS record, TCP/IP


class Alive:
    """A sign of life (``i_am_alive_op``)."""

    __slots__ = ("delivered", "group", "known", "source")
    text = "alive"
    membership = False
    size_bytes = _MESSAGE_BYTES

    def __init__(self, source: int, group: int, known: int, delivered: int) -> None:
        self.source = source
        self.group = group
        self.known = known  # the highest slot that the sender knew to be learned
        self.delivered = delivered  # the slot that it was to deliver next


class AreYouAlive(Alive):
    """Asks whoever seems absent (``are_you_alive_op``)."""

    __slots__ = ()
    text = "are you alive"


class Presence(Protocol):
    """What the detector asks of the total order of its member."""

    @property
    def site(self) -> Any:
        """The configuration of what is executed, with its ``members``."""

    @property
    def proposing(self) -> Any:
        """The configuration of what it proposes next."""

    @property
    def known(self) -> int:
        """The highest slot known to be learned."""

    @property
    def group(self) -> int:
        """Which group it is."""

    @property
    def delivered(self) -> int:
        """The slot that it is to deliver next."""

    def heard_of(self, source: int, group: int, known: int, delivered: int) -> None:
        """Another member tells how far it knows slots, and has delivered them."""

    def present(self, positions: frozenset[int]) -> object:
        """Have the group agree on who is there."""


def _ignore(_: Any) -> None:
    pass


class Detector:
    """That of one member.

    Parameters
    ----------
    clock : Clock
        That of the process of the member.
    transport : Transport
    chance : Stream
        Uniform numbers, for the phases of the two tasks.
    phase : float, optional
        Where the looks of the whole group are, 0 to 1; else that is drawn, too.

    Notes
    -----
    A look is taken at once when a message comes from somebody who was not alive, and the next one a
    second later (``dispatch_op`` wakes ``detector_wait``). So members look in step since the last
    one joined, or returned: it spoke to all of them at the same time. Simplified: they do not drift
    apart. (Real ones, some minutes later, noticed that a member was silent 0.003 to 0.09 s after
    one another in 20 of 31 runs.) Signs of life have no such cause, and phases of their own.
    """

    def __init__(
        self, clock: Clock, transport: Transport, chance: Stream, phase: float | None = None
    ) -> None:
        self._clock = clock
        self._transport = transport
        self._chance = chance
        self._phase = phase
        self._me = transport.me
        self._heard_s = [clock.now] * transport.size
        self._seen: tuple[tuple[int, ...], int] = ((), -1)  # of which configuration
        self._agreed: frozenset[int] = frozenset()  # global_node_set
        self._local: frozenset[int] = frozenset()
        self._tell_all = self._tell_local = True
        self._turn = 0  # of the tasks, which begin and end with XCom
        self._look_s = 0.0
        self._told: Callable[[frozenset[int]], object] = _ignore
        transport.on_heard(self.heard)

    def watch(self, order: Presence) -> None:
        """Be that of the member with this order."""
        self._order = order

    def on_local_view(self, call: Callable[[frozenset[int]], object]) -> None:
        """Tell ``call(alive)`` when this member sees others come or go, or has a new site."""
        self._told = call

    def begin(self, *, settled: bool = False) -> None:
        """Start the tasks, in a group that has long agreed on who is there if ``settled``."""
        now_s = self._clock.now
        self._heard_s = [now_s if settled else -LIVE_S] * len(self._heard_s)
        self._turn += 1
        self._tell_all = self._tell_local = True
        self._seen = (), -1
        self._local = self._agreed = frozenset()
        if settled:
            site = self._order.site
            self._seen = site.members, site.boot
            self._local = self._agreed = frozenset(site.members)
            self._tell_local = False
            # Who does not lead has had nobody to tell, and will tell all when it leads.
            self._tell_all = not self._leads()
        breath = look = 0.0
        if settled:
            breath, look = self._chance(), self._chance()
            if self._phase is not None:
                look = self._phase
        self._clock.at(now_s + TICK_S * breath, self._breathe, self._turn)
        self._arm(now_s + TICK_S * look)

    def end(self) -> None:
        """Stop the tasks."""
        self._turn += 1

    # -- what others ask -------------------------------------------------------------------------

    def heard(self, peer: int) -> None:
        """Something has come from a peer (``note_detected``)."""
        now_s = self._clock._now
        was_s = self._heard_s[peer]
        self._heard_s[peer] = now_s
        if now_s >= was_s + LIVE_S and self._look_s > now_s:
            self._arm(now_s)

    def may_be_dead(self, position: int) -> bool:
        """Whether a member was suspiciously still for some time."""
        if position == self._me:
            return False
        return self._heard_s[position] < self._clock._now - _SILENT_S

    def alive(self, position: int) -> bool:
        """Whether a member was heard of late."""
        return position == self._me or self._heard_s[position] + LIVE_S > self._clock._now

    @property
    def lowest_live(self) -> int | None:
        """Who leads: the first member that is not still, of those on whom all have agreed."""
        members: Sequence[int] = self._order.site.members
        for position in members:
            if position in self._agreed and not self.may_be_dead(position):
                return position
        return members[0] if members else None

    def agreed(self, alive: frozenset[int]) -> None:
        """All have agreed on who is there: a message of ``present`` was delivered."""
        self._agreed = alive

    def take(self, message: Alive) -> None:
        """A sign of life, or a question for one."""
        if self._transport.connected(message.source):
            self.heard(message.source)
        self._order.heard_of(message.source, message.group, message.known, message.delivered)
        if isinstance(message, AreYouAlive):
            self._transport.pinged(message.source)

    def tell(self) -> None:
        """Have all agree on who is there, if this member leads (``send_global_view``)."""
        if self._leads():
            self._order.present(frozenset(filter(self.alive, self._order.site.members)))

    # -- the tasks -------------------------------------------------------------------------------

    def _breathe(self, turn: int) -> None:
        if turn == self._turn:
            self._clock.at(self._clock._now + TICK_S, self._breathe, turn)
            self._transport.thread.do(0.0, self._say, turn)

    def _say(self, turn: int) -> None:
        """Tell all that this member is alive; ask whoever was still for some time."""
        if turn != self._turn:
            return
        members = self._order.proposing.members
        if self._me not in members:
            return
        others = [position for position in members if position != self._me]
        order = self._order
        alive = Alive(self._me, order.group, order.known, order.delivered)
        self._transport.send_each(others, alive, alive.size_bytes)
        question = AreYouAlive(self._me, order.group, order.known, order.delivered)
        for position in others:
            if self.may_be_dead(position):
                self._transport.send_each((position,), question, question.size_bytes)

    def _arm(self, at: float) -> None:
        self._look_s = at
        self._clock.at(at, self._due, (self._turn, at))

    def _due(self, due: tuple[int, float]) -> None:
        turn, at = due
        if turn != self._turn or at != self._look_s:
            return  # it was woken meanwhile
        if self._clock._now > at:  # the process stood still: what has come meanwhile is read first
            self._arm(self._clock._now)
        else:
            self._transport.thread.do(0.0, self._look, turn)

    def _leads(self) -> bool:
        return self.lowest_live == self._me

    def _look(self, turn: int) -> None:
        """See who is alive, and tell it."""
        if turn != self._turn:
            return
        self._arm(self._clock._now + TICK_S)
        site = self._order.site
        if self._me not in site.members:
            return
        if (site.members, site.boot) != self._seen:
            self._change(site)
        live = frozenset(filter(self.alive, site.members))
        if live != self._agreed:
            self._tell_all = True
        if self._tell_all and self._leads() and 2 * len(live) > len(site.members):
            self._tell_all = False
            self._order.present(live)
        if self._tell_local or live != self._local:
            self._tell_local = False
            self._local = live
            self._told(live)

    def _change(self, site: Any) -> None:
        """Another configuration holds: whoever is not in it any more is not heard any more."""
        members, before = frozenset(site.members), self._seen[0]
        for position in set(before) - members:
            self._heard_s[position] = -LIVE_S
        self._agreed = self._agreed & members if before else members
        self._seen = site.members, site.boot
        self._tell_all = self._tell_local = True
