"""The group communication of one member as the plugin sees it: ``gcs_xcom_control_interface.cc``.

Below it are the connections (``Transport``), the order of messages (``ChangingXcom``) and who is
alive (``Detector``); it adds whom to remove (``Suspicions``) and views (``Views``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum, auto
from typing import Any

from simrep.modelling import Clock, Deliver, Stream, Timeline
from simrep.models.group_replication.gcs.order import Order
from simrep.models.group_replication.gcs.suspicions import Suspicions
from simrep.models.group_replication.gcs.views import StateMessage, View, Views
from simrep.models.group_replication.xcom.detector import Alive, AreYouAlive, Detector
from simrep.models.group_replication.xcom.transport import Transport

__all__ = ["Group"]

_ASK_AGAIN_S = 1.0  # handle_alive: a member that has not booted asks at most so often
_START_AGAIN_S = 1.0  # somebody repeats START GROUP_REPLICATION
_CONNECTION_ATTEMPTS = 10  # of one: rounds over those who may add this member
_RETRIES = 10  # questions to a process that is in no group, REQUEST_RETRY,
_RETRY_S = 1.0  # and how often it is asked (xcom_send_app_wait_and_get)
_WAIT_S = 30.0  # WAITING_TIME of gcs_xcom_proxy.cc: for a snapshot, and for the end of XCom
_TERMINATE_S = 3.0  # TERMINATE_DELAY
_NEED_BOOT_BYTES = 300


class _Added(Enum):
    """What a process says to the request to add another one (``client_reply_code``)."""

    YES = auto()
    NO = auto()
    LATER = auto()


class _NeedBoot:
    """A process that has not booted asks for a snapshot (``need_boot_op``)."""

    __slots__ = ("life", "source")
    text = "request for a snapshot"

    def __init__(self, source: int, life: int) -> None:
        self.source = source
        self.life = life


class _Snapshot:
    """The configurations of the group, and from where on to execute (``gcs_snapshot_op``)."""

    __slots__ = ("snapshot", "source")
    text = "snapshot"
    size_bytes = 2000

    def __init__(self, source: int, snapshot: Any) -> None:
        self.source = source
        self.snapshot = snapshot


def _ignore(*_: Any) -> None:
    pass


class Group:
    """That of one member.

    Parameters
    ----------
    clock : Clock
        That of the process of the member.
    transport : Transport
    detector : Detector
    order : Order
    expel_timeout_s : float
        ``group_replication_member_expel_timeout``, in seconds.
    chance : Stream
        Uniform numbers, for the phase of the thread that looks at suspicions.
    timeline : Timeline or None
        Where ``suspect``, ``expel``, ``stable``, ``primary``, ``non-primary`` and ``evicted`` are
        noted.

    Attributes
    ----------
    view : View or None
        The last one that was told; None outside of a group.
    reachable : frozenset of int
        Members of the view that this member has heard of late, itself among them.
    has_majority : bool
        Whether these are more than half of the view.
    """

    def __init__(
        self,
        clock: Clock,
        transport: Transport,
        detector: Detector,
        order: Order,
        expel_timeout_s: float,
        chance: Stream,
        timeline: Timeline | None = None,
    ) -> None:
        self._clock = clock
        self._transport = transport
        self._order = order
        self._timeline = timeline
        self.me = me = transport.me
        self.detector = detector
        self._suspicions = Suspicions(clock, me, expel_timeout_s, self._expel, chance)
        self._views = Views(me, order.send, self._hand_over)
        self.reachable: frozenset[int] = frozenset()
        self.has_majority = False
        self._running = False
        self._added = False  # to the group: it waits for a snapshot
        self._attempt = 0
        self._life = 0  # of how many processes this is the last
        self._asked_s = 0.0
        self._members: tuple[int, ...] = ()  # of the configuration that was installed last
        self._expelled: set[int] = set()  # those whose removal was asked for
        self._refused = False  # which it has noted
        self._alone = False  # it has noted that nobody has answered
        self._failed: Callable[[], object] | None = None
        self._left: Callable[[], object] | None = None
        self._deliver_to: Deliver = _ignore
        self._tell_view: Callable[[View], object] = _ignore
        self._tell_reachable: Callable[[frozenset[int]], object] = _ignore
        self._tell_expelled: Callable[[str], object] = _ignore
        self._state: Callable[[], Any] = dict
        detector.watch(order)
        order.on_deliver(self._deliver)
        order.on_site(self._on_site)
        order.on_present(self._on_present)
        order.on_exit(self._on_exit)
        transport.on(_NeedBoot, self._on_need_boot)
        transport.on(_Snapshot, self._on_snapshot)
        transport.on(Alive, self._on_alive)
        transport.on(AreYouAlive, self._on_alive)
        transport.requests.on_request(self._allow)
        self.detector.on_local_view(self._on_local_view)

    # -- what the plugin is told -----------------------------------------------------------------

    @property
    def view(self) -> View | None:
        """See the class."""
        return self._views.current

    def on_send(self, call: Callable[[list[Any]], object]) -> None:
        """Tell ``call(payloads)`` what is proposed now, in one slot."""

        def tell(payloads: list[Any]) -> None:
            own = [payload for payload in payloads if type(payload) is not StateMessage]
            if own:
                call(own)

        self._order.on_send(tell)

    def on_deliver(self, deliver: Deliver) -> None:
        """See ``TotalOrder.on_deliver``; messages come between views, as on all members."""
        self._deliver_to = deliver

    def on_view(self, call: Callable[[View], object]) -> None:
        """Tell ``call(view)`` of every new view, at its place in the order."""
        self._tell_view = call

    def on_reachable(self, call: Callable[[frozenset[int]], object]) -> None:
        """Tell ``call(positions)`` whom of the view this member reaches, when that changes."""
        self._tell_reachable = call

    def on_expelled(self, call: Callable[[str], object]) -> None:
        """Tell ``call(why)`` when this member learns that it is no longer in the group."""
        self._tell_expelled = call

    def on_state(self, call: Callable[[], Any]) -> None:
        """Tell others what ``call()`` returns, in every exchange before a view."""
        self._state = call

    # -- what the plugin asks for ----------------------------------------------------------------

    def send(self, payload: Any, size_bytes: int) -> bool:
        """See ``TotalOrder.send``; refused when this member is in no group."""
        return self._running and self._order.send(payload, size_bytes)

    def begin(self) -> None:
        """Be in a group of all nodes that has been there for long, before anything happens."""
        everybody = tuple(range(self._transport.size))
        self._order.begin(everybody)
        self._views.current = View(1, everybody, frozenset(everybody))
        self._views.exchanged = self._order.site.formed
        self.reachable = frozenset(everybody)
        self.has_majority = True
        self._run(settled=True)

    def boot(self) -> None:
        """Begin a group of this member alone (``group_replication_bootstrap_group``)."""
        self._open()
        self._order.boot()
        self._run()

    def join(self, failed: Callable[[], object] | None = None) -> None:
        """Ask one member after the other to be added, and wait for a snapshot.

        A member whose former process is still in the configuration is refused.

        Parameters
        ----------
        failed : callable, optional
            ``failed()``: all were asked ten times and nobody has agreed, or no snapshot has come.
            If it is not given, somebody repeats START GROUP_REPLICATION every second.
        """
        self._open()
        self._attempt += 1
        self._failed = failed
        self._ask((self._attempt, 0, 1))

    def leave(self, call: Callable[[], object] | None = None) -> None:
        """Leave in order: the others remove this member; ``call()`` when XCom has ended.

        If they have not done so after half a minute, as there is no majority, it ends all the same.
        """
        self._left = call or _ignore
        self._order.remove((self.me,))
        self._clock.at(self._clock.now + _WAIT_S, self._give_up, self._attempt)

    def force(self, positions: Collection[int]) -> bool:
        """Make these the group (``force_members``); refused if one of them is still for long."""
        dead = self.detector.may_be_dead
        return not any(map(dead, positions)) and self._order.force(tuple(positions))

    def lead(self) -> None:
        """Have this member be the single leader of the order (``set_leader``)."""
        self._order.lead(self.me)

    def die(self, when_closed: Callable[[Callable[[], object]], object] | None = None) -> None:
        """End; its connections as well, now or as the process of the member ends.

        ``when_closed(call)`` calls ``call()`` when the kernel closes them.
        """
        self._stop()
        if when_closed is None:
            self._transport.close()
        else:
            self._transport.cease()
            when_closed(self._transport.close)

    def exit(self) -> None:
        """Leave without an ordered message, as there is no majority that could agree on it."""
        self.die()

    # -- begin and end ---------------------------------------------------------------------------

    def _open(self) -> None:
        self._transport.close()
        self._transport.reopen()
        self._life += 1
        self._added = False

    def _run(self, *, settled: bool = False) -> None:
        self._running = True
        self._added = False
        self._left = None
        self._members = self._order.site.members
        self._transport.connect(self._order.site.members)
        self.detector.begin(settled=settled)
        self._suspicions.begin()

    def _stop(self) -> None:
        self._running = self._added = False
        self._attempt += 1
        self.detector.end()
        self._suspicions.end()
        self._order.end()
        self._views.forget()
        self.reachable = frozenset()
        self.has_majority = False

    def _give_up(self, attempt: int) -> None:
        """The group has not let this member go."""
        if attempt == self._attempt and self._left is not None:
            self._on_exit("removed")

    def _on_exit(self, why: str) -> None:
        """XCom has ended by itself."""
        left = self._left
        self.die()
        if left is not None:
            left()
            return
        self._note("evicted", (), why)
        self._tell_expelled(why)

    # -- joining ---------------------------------------------------------------------------------

    def _ask(self, turn: tuple[int, int, int]) -> None:
        """Ask the next seed to have this member added (``send_add_node_request``).

        One that is in no group yet, as it wants to join itself, is asked again every second.
        """
        attempt, asked, times = turn
        if attempt != self._attempt or self._added:
            return
        seeds = [position for position in range(self._transport.size) if position != self.me]
        rounds, seed = divmod(asked, len(seeds)) if seeds else (_CONNECTION_ATTEMPTS, 0)
        if rounds >= (1 if self._failed is None else _CONNECTION_ATTEMPTS):
            if not (self._refused or self._alone):
                self._alone = True
                self._note("alone", ())
            self._fail_to_join()
            return

        def answered(answer: Any) -> None:
            if attempt != self._attempt:
                return
            if answer is _Added.YES:
                self._added = True
                self._refused = self._alone = False
                self._clock.at(self._clock.now + _WAIT_S, self._without_snapshot, attempt)
                return
            if answer is _Added.LATER and times < _RETRIES:
                self._clock.at(self._clock.now + _RETRY_S, self._ask, (attempt, asked, times + 1))
                return
            if answer is _Added.NO and not self._refused:
                self._refused = True
                self._note("refused", (seeds[seed],))
            self._ask((attempt, asked + 1, 1))

        self._transport.requests.ask(seeds[seed], self._life, answered)

    def _without_snapshot(self, attempt: int) -> None:
        """None has come for long: XCom ends, and somebody begins anew."""
        if attempt == self._attempt and self._added:
            self._fail_to_join()

    def _fail_to_join(self) -> None:
        failed = self._failed
        self.die()
        if failed is not None:
            failed()
        else:
            self._clock.at(self._clock.now + _START_AGAIN_S, self._join_again, self._attempt)

    def _join_again(self, attempt: int) -> None:
        if attempt == self._attempt:
            self.join()

    def _allow(self, position: int, life: Any) -> _Added:
        """Have a process added, unless a former one of it is there (``can_execute_cfgchange``).

        One that has just left, and whose XCom has not ended yet, cannot.
        """
        if not self._running or self.me not in self._order.latest.members:
            return _Added.LATER
        return _Added.YES if self._order.add(position, life) else _Added.NO

    def _on_alive(self, message: Alive) -> None:
        """A sign of life; who waits for a snapshot asks for one (``handle_alive``)."""
        if self._running:
            self.detector.take(message)
        elif self._added and self._clock.now >= self._asked_s + _ASK_AGAIN_S:
            self._asked_s = self._clock.now
            self._transport.send(message.source, _NeedBoot(self.me, self._life), _NEED_BOOT_BYTES)

    def _on_need_boot(self, request: _NeedBoot) -> None:
        """Give a snapshot to a process that is in the configuration (``should_handle_need_boot``).

        One whose former process is there gets none: it has forgotten what that has promised.
        """
        if not self._running:
            return
        latest = self._order.latest
        process = request.source, request.life
        if request.source in latest.members and process in latest.lives:
            snapshot = self._order.snapshot()
            answer = _Snapshot(self.me, snapshot)
            self._transport.send_each((request.source,), answer, answer.size_bytes)
            self._order.push(request.source, snapshot)
            self.detector.tell()

    def _on_snapshot(self, message: _Snapshot) -> None:
        if self._added and not self._running:
            self._order.adopt(message.snapshot)
            self._run()

    # -- the order -------------------------------------------------------------------------------

    def _deliver(self, sender: int, payload: Any) -> None:
        if type(payload) is not StateMessage:
            self._views.take(sender, payload)
            return
        view = self._views.hear(payload)
        if view is not None:
            self._install(view)

    def _hand_over(self, sender: int, payload: Any) -> None:
        self._deliver_to(sender, payload)

    def _on_site(self, site: Any, valid: bool) -> None:
        if self._running and self.me in site.members:
            self._transport.connect(site.members)
        self._expelled.intersection_update(site.members)
        if not valid and site.members != self._members:
            self._members = site.members
            self._note("stable", site.members)
        if not site.members:  # nobody is left who could go on to the end of the last configuration
            self._clock.at(self._clock.now + _TERMINATE_S, self._end_last, self._attempt)

    def _end_last(self, attempt: int) -> None:
        if self._running and attempt == self._attempt:
            self._order.end()
            self._on_exit("removed")

    def _on_present(self, site: Any, alive: frozenset[int]) -> None:
        """All have agreed on who is there (``xcom_receive_global_view``)."""
        self.detector.agreed(alive)
        view = self.view
        members = () if view is None else view.members
        self._suspicions.see(site.members, alive, members)
        if any(position not in alive for position in site.members):
            return  # it waits until whoever is dead is removed
        if site.formed != self._views.exchanged and self.me in site.members:
            state = self._state()
            self._views.start(site.formed, site.members, state, forced=site.forced)

    def _install(self, view: View) -> None:
        self._reach(frozenset(filter(self.detector.alive, view.members)))
        if self.has_majority:
            self._note("primary", view.members)
        self._tell_view(view)
        self._views.end()

    # -- who is alive ----------------------------------------------------------------------------

    def _on_local_view(self, alive: frozenset[int]) -> None:
        """Others come or go, as this member sees it (``xcom_receive_local_view``)."""
        view = self.view
        if view is None or self.me not in view.members:
            return
        there = self._order.site.members
        self._suspicions.see(there, alive, view.members)
        had, before = self.has_majority, self.reachable
        gone = before.intersection(view.members, there) - alive
        if gone:
            self._note("suspect", tuple(sorted(gone)))
        self._reach(alive)
        if had and not self.has_majority:
            self._note("non-primary", tuple(sorted(self.reachable)))
        elif self.has_majority and not had:
            there_still = tuple(p for p in view.members if p in there)
            self._note("primary", there_still, "it reaches them again")
        if before != self.reachable:
            self._tell_reachable(self.reachable)

    def _reach(self, alive: frozenset[int]) -> None:
        """Tell those of the view who are alive from those who are not (``on_suspicions``).

        What is known of members that are no longer in the configuration stays as it was.
        """
        view, there = self.view, self._order.site.members
        assert view is not None
        known = [position for position in view.members if position in there]
        reached = alive.intersection(known)
        self.reachable = reached | (self.reachable.intersection(view.members) - frozenset(known))
        self.has_majority = 2 * len(reached) > len(known)

    def _expel(self, positions: tuple[int, ...]) -> None:
        if self.me not in self._order.site.members:
            return
        asked = self._order.remove(positions)  # not if they are removed already
        if asked and not self._expelled.issuperset(positions):
            self._expelled.update(positions)
            self._note("expel", positions)

    def _note(self, what: str, of: tuple[int, ...], how: str = "") -> None:
        if self._timeline is not None:
            self._timeline.note(self.me, what, of, how)
