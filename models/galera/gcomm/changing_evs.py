"""EVS whose views change, over links that may lose messages.

What ``Evs`` does in one view without losses, plus what Galera's gcomm does about holes
(``gcomm/src/evs_proto.cpp``: ``handle_user``, ``handle_gap``, ``request_retrans``, ``resend``,
``recover``): a message that comes before an earlier one of its source is held, and the missing
numbers are asked for, at most every 100 ms of the same member. Whoever is asked sends them again,
its own or those of another.

How one view follows another is in ``gcomm.view_change``.

Simplified: a message that overtakes another is held, where the product drops it and asks for it
again; numbers without a payload that are sent again come in as few messages as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from heapq import heappop, heappush
from typing import Any, Protocol

from simrep.modelling import Clock, Deliver, Mesh
from simrep.models.galera.gcomm.evs import Evs, EvsOptions
from simrep.models.galera.gcomm.gmcast import Gmcast
from simrep.models.galera.gcomm.view import NO_VIEW, EvsMessage, Life, Member, View
from simrep.models.galera.gcomm.view_messages import (
    DelayCounts,
    Join,
    Leave,
    LivingMessage,
    RangeRequest,
    ResentMessage,
)

__all__ = ["ChangingEvs", "Peer", "State"]

_ASK_AGAIN_S = 0.1  # evs_proto.cpp gap_rate_limit
_GAP_BYTES = 110
_USER_BYTES = 120
_MAX_RANGE = 0xFF
_FAR = 1 << 62  # beyond every number
_LONG_AGO = -1e9


class State(Enum):
    """Of the automaton."""

    CLOSED = auto()
    JOINING = auto()
    LEAVING = auto()
    GATHER = auto()
    INSTALL = auto()
    OPERATIONAL = auto()


class Peer:
    """What a member knows of a member, itself included (gcomm: ``evs::Node``).

    Parameters
    ----------
    member : Member
    now_s : float
        When it gets known: that counts as its first progress.
    """

    __slots__ = (
        "asked_s", "committed", "heard_s", "inactive", "installed", "join", "leave", "member",
        "number", "operational", "progress_s", "suspected", "told",
    )  # fmt: skip

    def __init__(self, member: Member, now_s: float) -> None:
        self.member = member
        self.operational = True
        self.suspected = self.inactive = False
        self.committed = self.installed = False
        self.join: Join | None = None
        self.leave: Leave | None = None
        self.told: tuple[float, DelayCounts] | None = None  # the last delayed list, and since when
        self.progress_s = self.heard_s = now_s
        self.asked_s = _LONG_AGO  # when it was last asked for missing messages
        self.number = -1  # of the last message of a change of the view

    def exclude(self) -> None:
        """Take it for gone until the next view (gcomm: ``set_inactive``)."""
        self.progress_s = _LONG_AGO
        self.join = None
        self.operational = False


class _Automaton(Protocol):
    """What ``ChangingEvs`` tells the automaton that changes its views."""

    def outside(self, message: Any) -> None:
        """Take whatever is not of the present view."""

    def came_along(self) -> None:
        """Learn that something of the old view has arrived in GATHER."""


class _Silence(Mesh):
    """The network of an isolated member."""

    def __init__(self, me: int, size: int) -> None:
        self.me, self.size = me, size

    def broadcast(self, message: Any, size_bytes: int) -> None:
        """Send nothing."""

    def send(self, peer: int, message: Any, size_bytes: int) -> None:
        """Send nothing."""


class ChangingEvs(Evs):
    """One member of a group whose views change; see ``Evs`` for the parameters."""

    def __init__(
        self,
        clock: Clock,
        mesh: Mesh,
        size: int,
        options: EvsOptions,
        keepalive_at_s: float | None = None,
    ) -> None:
        super().__init__(clock, mesh, size, options)
        self.clock = clock
        self._network = mesh
        self._links = mesh if isinstance(mesh, Gmcast) else None
        self.first_keepalive_s = keepalive_at_s
        self.state = State.OPERATIONAL
        self.member = Member(self._me, 0)
        self.isolated = False
        self.evicted: set[Life] = set()  # identities that are banned
        self.installing = False  # has accepted an install message
        self.peers: list[Peer] = []  # of the present view, by position
        self.automaton: _Automaton
        self._may_send = True  # what the application sends is taken
        self._early: dict[int, dict[int, EvsMessage]] = {}  # by source and number, after a hole
        self._pending: list[Callable[[], object]] | None = None

    # -- the application ---------------------------------------------------------------------

    def send(self, payload: Any, size_bytes: int) -> bool:
        """Send or queue; False during a change of the view or if the queue is full."""
        return self._may_send and super().send(payload, size_bytes)

    @property
    def connected(self) -> bool:
        """Whether this member has come up, so that its upper layers answer."""
        return self._pending is None

    def answer(self, call: Callable[[], object]) -> None:
        """Call when this member has come up: now, or at the end of a slice of ``PC::connect``."""
        if self._pending is None:
            call()
        else:
            self._pending.append(call)

    def connecting(self) -> None:
        """It comes up: answers wait."""
        self._pending = []

    def connect(self) -> None:
        """It has come up."""
        pending, self._pending = self._pending or [], None
        for call in pending:
            call()

    def divert(self, deliver: Deliver | None) -> None:
        """Deliver to ``deliver``; with None, to the application again."""
        self._deliver_to = self.application if deliver is None else deliver

    def tell(self, view: View) -> None:
        """Tell the application of a view."""
        self._tell_view(view)
        if view.primary:
            self.settle(view.members, primary=True)

    def settle(
        self, members: Collection[int], left: Collection[int] = (), *, primary: bool = False
    ) -> None:
        """Tell the links of a view: see ``Gmcast.stable``."""
        if self._links is not None:
            self._links.stable(members, left, primary=primary)

    def allow(self, member: int) -> None:
        """Let a member connect, even if it was forgotten: see ``Gmcast.allow``."""
        if self._links is not None:
            self._links.allow(member)

    def identity(self, member: Member) -> Life:
        """Who a member is: a server that crashed may come back as the one that it was."""
        return member if self._links is None else self._links.identity_of(*member)

    def evict(self, identity: Life) -> None:
        """Ban somebody: see ``Gmcast.evict``."""
        self.evicted.add(identity)
        if self._links is not None:
            self._links.evict(identity)

    def on_evicted(self, call: Callable[[], object]) -> None:
        """Call ``call()`` when this member learns that it is banned."""
        if self._links is not None:
            self._links.on_evicted(call)

    def announce(self, payload: Any, size_bytes: int) -> bool:
        """Send a message of the group itself: it does not wait for the window."""
        if self.state is not State.OPERATIONAL:
            return False
        self._send_user((payload,), size_bytes, -1)
        return True

    def release(self) -> None:
        """The application may send in this view."""
        self._may_send = self.state is State.OPERATIONAL

    @property
    def closed(self) -> bool:
        """Whether its process has ended."""
        return self.state is State.CLOSED

    # -- messages of the present view ----------------------------------------------------------

    def receive(self, message: EvsMessage) -> None:
        """See ``Evs.receive``."""
        if self.isolated:
            return
        if message.view != self.view:
            self.automaton.outside(message)
            return
        source = message.source
        peer = self.peers[source]
        now = self._clock._now
        if not message.resent:
            peer.heard_s = now
        state = self.state
        if not (peer.operational or message.resent or peer.leave or state is State.LEAVING):
            return
        if message.last < 0:
            if type(message) is RangeRequest:
                self._serve(message)
            self._handle_gap(source, message.aru)
            return
        if self.installing:
            return
        seen, reported = self._seen, self._reported
        early = self._early.get(source)
        if message.last > seen[source]:
            if message.first == seen[source] + 1 and not early:
                seen[source] = message.last
                peer.progress_s = now
                if message.payloads:
                    heappush(self._undelivered, (message.first, source, message))
            elif self._fit_in(message):
                peer.progress_s = now
            if message.last > self._max_seen:
                self._max_seen = message.last
        before, reported_before = self._aru, reported[source]
        self._aru = aru = min(seen)
        self._report(self._me, aru)
        self._report(source, message.aru)
        if source in self._early and not message.resent:
            self.ask(peer, source, seen[source] + 1, self.high(source))
        if not self._queue:
            if (
                not message.more
                and self._last_sent < self._max_seen
                and (state is State.OPERATIONAL or state is State.GATHER)
            ):
                self._complete()
            elif self._aru != before:
                self._send_gap()
        if (
            self._queue
            and state is State.OPERATIONAL
            and not self._flush()
            and self._options.gap_when_blocked
        ):
            self._send_gap()
        self._deliver()
        if (
            self.state is State.GATHER
            and not message.resent
            and (before != self._aru or reported_before != self._safe)
        ):
            self.automaton.came_along()

    def _handle_gap(self, source: int, aru: int) -> None:
        before = self._reported[source]
        self._report(source, aru)
        if aru > before:
            self.peers[source].progress_s = self._clock._now
        if self.state is State.OPERATIONAL:
            if self._queue:
                self._flush()
            elif self._last_sent < self._max_seen:
                self._complete()
        self._deliver()
        if self.state is State.GATHER and before != self._safe:
            self.automaton.came_along()

    def _send_gap(self) -> None:
        gap = self._message(self.view, self._me, 0, -1, self._aru, False, (), 0)
        self.mesh.broadcast(gap, _GAP_BYTES)
        self._handle_gap(self._me, self._aru)

    # -- holes -----------------------------------------------------------------------------------

    def high(self, source: int) -> int:
        """The highest number that has been received from a member."""
        early = self._early.get(source)
        return max(message.last for message in early.values()) if early else self._seen[source]

    def low(self, source: int) -> int:
        """The lowest number that has not been received from a member."""
        return self._seen[source] + 1

    def reported(self, source: int) -> int:
        """Up to where a member has told that it has everything."""
        return self._reported[source]

    def note_reported(self, source: int, aru: int) -> bool:
        """A member has everything up to ``aru``, as another tells; whether that is new."""
        before = self._reported[source]
        self._report(source, aru)
        return self._reported[source] != before

    @property
    def aru(self) -> int:
        """Everything has been received up to here."""
        return self._aru

    @property
    def safe(self) -> int:
        """Everything has been received by all up to here, as far as this member knows."""
        return self._safe

    @property
    def last_sent(self) -> int:
        """The last number that this member has covered."""
        return self._last_sent

    @property
    def max_seen(self) -> int:
        """The highest number that any member has covered, as far as this one knows."""
        return self._max_seen

    def _fit_in(self, message: EvsMessage) -> bool:
        """Take a message before or after a hole; whether the hole is smaller now."""
        source, seen = message.source, self._seen
        early = self._early.setdefault(source, {})
        held = early.get(message.first)
        if held is None or held.last < message.last:
            early[message.first] = message
        before = seen[source]
        while early and (first := min(early)) <= seen[source] + 1:
            following = early.pop(first)
            if following.payloads and first == seen[source] + 1:
                heappush(self._undelivered, (first, source, following))
            seen[source] = max(seen[source], following.last)
        if not early:
            del self._early[source]
        return seen[source] > before

    def ask(self, peer: Peer, origin: int, low: int, high: int) -> None:
        """Ask a member for what is missing of the numbers ``low`` to ``high`` of ``origin``."""
        if low > high or self._clock._now < peer.asked_s + _ASK_AGAIN_S:
            return
        peer.asked_s = self._clock._now
        for first, last in self._holes(origin, low, high):
            request = RangeRequest(self.member.life, self.view, self._me, self._aru)
            request.origin, request.low, request.high = origin, first, last
            self.mesh.send(peer.member.position, request, _GAP_BYTES)

    def _holes(self, origin: int, low: int, high: int) -> Iterator[tuple[int, int]]:
        low = max(low, self._seen[origin] + 1)
        for first, message in sorted(self._early.get(origin, {}).items()):
            if first > high:
                break
            if low < first:
                yield low, first - 1
            low = max(low, message.last + 1)
        if low <= high:
            yield low, high

    def _serve(self, request: EvsMessage) -> None:
        assert isinstance(request, RangeRequest)
        if request.source == self._me:
            return
        high = request.high
        if request.origin == self._me:
            if high > self._last_sent and self.state in {State.OPERATIONAL, State.GATHER}:
                self.complete_to(high)
            self.resend(request.source, self._me, request.low, min(high, self._last_sent))
        else:
            have = self._seen[request.origin]
            self.resend(request.source, request.origin, request.low, min(high, have))

    def complete_to(self, high: int) -> None:
        """Cover the numbers up to ``high`` without a payload."""
        if self._last_sent < high:
            self._max_seen = max(self._max_seen, high)
            self._complete()

    def resend(self, target: int, origin: int, low: int, high: int) -> None:
        """Send numbers of ``origin`` to a member again, unless all have them."""
        if low <= self._safe:
            return
        aru = self._aru if origin == self._me else self._reported[origin]
        life = self.peers[origin].member.life
        position = low
        for first, source, message in sorted(self._undelivered):
            if source != origin or first > high or message.last < position:
                continue
            self._resend_empty(target, life, origin, position, first - 1, aru)
            again = ResentMessage(
                life, self.view, origin, first, message.last, aru, False,
                message.payloads, message.size,
            )  # fmt: skip
            self.mesh.send(target, again, message.size + _USER_BYTES)
            position = message.last + 1
        self._resend_empty(target, life, origin, position, high, aru)

    def _resend_empty(
        self, target: int, life: int, origin: int, low: int, high: int, aru: int
    ) -> None:
        while low <= high:
            last = min(high, low + _MAX_RANGE)
            empty = ResentMessage(life, self.view, origin, low, last, aru, False, (), 0)
            self.mesh.send(target, empty, _USER_BYTES)
            low = last + 1

    # -- from one view to the next -----------------------------------------------------------

    def flush(self) -> None:
        """Take nothing more from the application; send what waits, whatever the windows are."""
        self._may_send = False
        options = self._options
        self._options = replace(options, send_window=_FAR)
        self._flush()
        self._options = options

    def keepalive(self) -> None:
        """Send an empty message, exempt from the windows."""
        self._send_user((), 0, -1)

    def acknowledge(self) -> None:
        """Tell what has come."""
        self._send_gap()

    def finish(self, highest: Mapping[int, int]) -> None:
        """Deliver the rest of the view, of each member up to a number, and end it."""
        undelivered = self._undelivered
        self.view = NO_VIEW
        self._delivering = True
        while undelivered:
            first, source, message = heappop(undelivered)
            if first <= highest.get(source, -1):
                for payload in message.payloads:
                    self._deliver_to(source, payload)
        self._delivering = False
        self._early.clear()

    def open(self, view: int, members: Mapping[int, Peer]) -> None:
        """Begin a view; the application's messages go on waiting until ``release``."""
        size = len(self._seen)
        gone = Peer(Member(-1, -1), self._clock.now)
        self.peers = [members.get(position, gone) for position in range(size)]
        self._seen = [-1 if position in members else _FAR for position in range(size)]
        self._reported = self._seen.copy()
        self._aru = self._safe = self._max_seen = self._last_sent = -1
        self._since_feedback = 0
        self._early.clear()
        self._undelivered.clear()
        self.view = view

    def begin(self, member: Member, identity: Life | None = None) -> None:
        """Be a member, with nothing of what was before."""
        self.member = member
        self.evicted.clear()
        if self._links is not None:
            self._links.identity = (identity or member)[1]
        self._message = partial(LivingMessage, member.life)
        self._queue.clear()
        self._output_bytes = 0

    def stop(self) -> None:
        """Neither send nor receive nor deliver from now on."""
        self.state = State.CLOSED
        self.view = NO_VIEW
        self._may_send = False
        self._pending = None
        self.mesh.close()
        self._undelivered.clear()
        self._early.clear()

    def isolate(self) -> None:
        """Neither send nor receive, although the process runs."""
        self.isolated = True
        self.mesh = _Silence(self._me, self._network.size)

    def end_isolation(self) -> None:
        """Send and receive again."""
        self.isolated = False
        self.mesh = self._network

    def forsake(self) -> None:
        """The application is gone: deliver to nobody."""
        self._may_send = False
        self._deliver_to = _nobody


def _nobody(_: int, __: Any) -> None:
    pass
