"""A Galera node where servers come and go: it may lack the state of the cluster, and get it again.

It lacks the state when it has missed something: its server has just started, or it was outside the
primary component. Then it asks for what it has missed, keeps what is ordered meanwhile, and applies
that after what it was given. When it has caught up it serves its clients again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from simrep.modelling import BulkStream, Fifo, Parts
from simrep.models.galera.gcomm.view import View

from .certifier import Certifier, NodeState
from .flow_control import FlowControl, MemberFlowControl
from .gcache import Gcache, KeepingCertifier
from .group import GroupMember
from .member_states import NOBODY, Grant, MemberState, MemberStates, Report, named_donors
from .options import GaleraCosts, GaleraOptions
from .own_actions import Answer, Desync
from .recovery import Durability, Remains
from .standing_node import StandingNode
from .state_exchange import StateExchange
from .state_transfer import IncrementalTransfer, TimedTransfer, TransferPlan
from .stream_appliers import known_parts
from .views import NodeViews
from .whole_transfer import WholeTransfer
from .writeset import Control, Kind, Ordered, StateRequest, ViewChange

__all__ = ["ReturningNode"]

_KEPT = (Kind.WRITESET, Kind.LAST_COMMITTED)  # by who lacks the state before them
_ASK_AGAIN_S = 1.0  # gcs: a request that no donor could be found for (-EAGAIN)


class ReturningNode(StandingNode):
    """See the module.

    References
    ----------
    codership/galera ``galera/src/replicator_str.cpp``, ``gcs/src/gcs.cpp`` (``gcs_become_joined``).
    """

    certifier_kind: ClassVar[type[Certifier]] = KeepingCertifier
    flow_control_kind: ClassVar[type[FlowControl]] = MemberFlowControl
    certifier: KeepingCertifier
    flow_control: MemberFlowControl

    def __init__(
        self, parts: Parts, options: GaleraOptions, costs: GaleraCosts, member: GroupMember
    ) -> None:
        super().__init__(parts, options, costs, member)
        cluster = parts.cluster
        self._cluster = cluster
        self.data_disk: Callable[[], Fifo | None] = partial(cluster.data_disk, self.index)
        self.plan = TransferPlan.of(options, costs, cluster.data_bytes, self.host.cores)
        self._sync_donor = options.sync_donor
        self.gcache = self.certifier.gcache = Gcache(options.gcache_bytes)
        self.states = MemberStates(
            self.index,
            cluster.segments,
            named_donors(options.sst_donor, cluster.names),
            ordered_views=options.ordered_views,
            arbitrators=cluster.arbitrators,
        )
        self.views = NodeViews(
            cluster.size, self.certifier, self.apply_monitor, self.flow_control, self.writer
        )
        self.group.on_view(self._deliver_view)
        self.group.on_report(self._report)
        if isinstance(self.group, StateExchange):
            self.group.on_quorum(self.states.has_quorum)
        self._durability = Durability(
            self.clock, self._committed_up_to, options.flush_log_at_trx_commit
        )
        self._gcache_recover = options.gcache_recover
        self._is_galera_4 = options.ordered_views
        # What is set from outside: the other nodes, and who is told.
        self.peer: Callable[[int], ReturningNode] = self._nobody
        self.aborts: Callable[[], object] = self._ignore
        self.serves: Callable[[bool], object] = self._ignore
        self.transfer_s: float | None = None  # instead of all that a transfer is made of

        self._lacks = False
        self._anew = False  # its server has just started
        self._attempt = 0  # a number for all that is done for one transfer
        self._asking = False
        self._sent: StateRequest | None = None
        self._request: StateRequest | None = None  # that a donor was found for
        self._ahead: list[Callable[[], object]] = []  # what donors have sent before it knows that
        self._donor, self._how = NOBODY, ""
        self._kept: list[Any] = []  # what was ordered after the request
        self._given = 0  # up to here, donors have certified
        self._prepared = False  # its storage engine runs
        self._expected: NodeState | None = None
        self._applies = False  # what it has missed; until then it keeps it
        self._surplus = 0  # appliers that end after their next writeset
        self._missed: list[Ordered] = []
        # Of which its disk has fragments.
        self._streams: Mapping[tuple[int, int], tuple[Ordered, ...]] = {}
        self._gives = False
        self._requests = 0  # to be out of flow control, and whoever waits for an answer
        self._asked: dict[int, Callable[[bool], object]] = {}
        self._desyncs = 0  # how often somebody has it
        # Messages since it was asked to; of a node that asks, how many of them are in the state.
        self._given_since = self._contained = 0

    @staticmethod
    def _nobody(_: int) -> ReturningNode:
        raise AssertionError("it knows no others")

    @staticmethod
    def _ignore(*_: Any) -> None:
        pass

    def _note(self, what: str, of: tuple[int, ...] = (), how: str = "") -> None:
        if self._cluster.timeline is not None and self.alive:
            self._cluster.timeline.note(self.index, what, of, how)

    @property
    def member_state(self) -> MemberState:
        """See ``GaleraNode.member_state``."""
        return self.states.own

    def _report(self) -> Report:
        return self.states.report(self.gcache.lowest)

    def _committed_up_to(self) -> int:
        return self.apply_monitor.last_left

    # -- the ordered stream ----------------------------------------------------------------------

    def _deliver(self, sender: int, message: Any) -> None:
        kind = message.kind
        if kind == Kind.WRITESET:
            self.states.position += 1
        elif kind == Kind.REQUEST:
            grant = self.states.request(message.node, message.seqno, anew=message.anew)
            message = Answer(message, grant)
        elif kind == Kind.JOIN:
            if not self.states.join(message.node):
                return
        elif kind == Kind.DESYNC:
            may = self.states.desync(message.node, message.seqno)
            if may is None:
                return
            message = Desync(message.node, may=may)
        elif kind == Kind.SYNC and not self.states.sync(message.node):
            return
        super()._deliver(sender, message)

    def _deliver_view(self, view: View) -> None:
        lacks = False
        if view.primary:
            why = self.states.change(view)
            if why:
                self.abort(why)
                return
            lacks = self.states.own == MemberState.PRIMARY
        elif self._lacks:
            self._fall_out()
        change = ViewChange(view, lacks=lacks)
        self._receiver.do(self._action.cost(), self._receive, change)

    def _receive(self, message: Any) -> None:
        kind = message.kind
        self._given_since += self._gives and (kind in _KEPT or kind == Kind.VIEW)
        if kind < Kind.VIEW:
            if self._lacks and kind in _KEPT:
                self._kept.append(message)
            else:
                super()._receive(message)
        elif kind == Kind.VIEW:
            self._see(message)
        elif kind == Kind.REQUEST:
            self._answer(message.request, message.grant)
        elif message.node == self.index:
            if kind == Kind.JOIN:
                self._joined()
            elif kind == Kind.SYNC:
                self._synced()
            else:
                self._desynced(message.may)

    def _see(self, change: ViewChange) -> None:
        view = change.view
        self.views.see(view)
        if self._lacks:
            self._kept.append(change)
        else:
            self.views.order(view)
        if not view.primary:
            return
        if change.lacks:
            if not self._lacks:
                self._lose()
            self._ask()
        elif self.states.own == MemberState.JOINED:
            if not self._lacks:
                self._catch_up()
            elif self._request is None:
                self._begin_alone()
        elif self.states.own < MemberState.JOINED and not (
            self._gives or self._desyncs or self._lacks
        ):
            self.given()  # what it has told before was lost
        for number in self._asked:
            self.sender.control(Control(Kind.DESYNC, self.index, number))  # maybe that, too

    def _certify_ordered(self, ordered: Ordered) -> None:
        if ordered.seqno > self._given:
            super()._certify_ordered(ordered)
        else:
            self._local_monitor.leave()
            if ordered.depends < 0:
                self._commit_monitor.enter(ordered.seqno, self._cancel, ordered)
                self._next_writeset()
            elif self.apply_monitor.may_enter(ordered):
                self.writer.begin(ordered)

    # -- to lack the state, and ask for it -------------------------------------------------------

    def remains(self, what: str) -> Remains:
        """What is on its disk when it ends in this way.

        Nothing of use if it had more than the group: then ``grastate.dat`` tells no position
        (``ReplicatorSMM::async_recv``, ``SavedState::mark_corrupt``).
        """
        if self.states.diverged:
            return Remains()
        position = self._durability.position(what)
        for lost in self.gcache.between(position, self.apply_monitor.last_left):
            journal = lost.writeset.journal
            if journal is not None and lost.depends >= 0:
                journal.forgotten(self.index)
        keeps = self._gcache_recover and what != "power-loss"
        return Remains(
            position=position,
            views=self.states.views,
            gcache=self.gcache if keeps else None,
            streams=known_parts(self.streams.stored(), position),
            clean=what == "leave",
        )

    @property
    def durable(self) -> int:
        """Up to which writeset everything is on its disk, whatever happens."""
        return self._durability.position("power-loss")

    def start_anew(self, remains: Remains, transfer_s: float | None) -> None:
        """Begin as a server that has just started, with what is on its disk."""
        self._lacks = self._anew = True
        self.transfer_s = transfer_s
        self.flow_control.exempt = True
        self.states.start(remains.position, remains.views)
        self._streams = remains.streams
        self._begin_after(remains.position)
        self._durability.start_after(remains.position)
        if remains.gcache is not None:
            remains.gcache.cut(remains.position)
            self.gcache = self.certifier.gcache = remains.gcache

    def _begin_after(self, position: int) -> None:
        self.certifier.start_after(position)
        self._local_monitor.next = self._commit_monitor.next = position + 1
        self.apply_monitor.start_after(position)

    def _begin_alone(self) -> None:
        """No member of the group has more than its own disk."""
        if not self._asking:
            self._asking = True
            seconds = self.writer.recover(self._streams)
            self._later(self.plan.engine_s + seconds, self._apply_kept)

    def _later(self, seconds: float, call: Callable[[int], object]) -> None:
        """``call`` with the number of the present attempt, which may be over by then."""
        self.clock.at(self.clock.now + seconds, call, self._attempt)

    def _over(self, attempt: int) -> bool:
        return attempt != self._attempt or not self.alive

    def _lose(self) -> None:
        self._lacks = self._prepared = True
        self.flow_control.exempt = True
        self.serves(False)

    def _ask(self) -> None:
        """Ask for the state when everything that was ordered before is committed."""
        if not self._asking and self._request is None:
            self._asking = True
            self._attempt += 1
            self.apply_monitor.when_left(self.certifier.ordered, self._drained, self._attempt)

    def _drained(self, attempt: int) -> None:
        if not self._over(attempt):
            script = self._anew and self.transfer_s is None
            self._later(self.plan.script_s if script else 0.0, self._send_request)

    def _send_request(self, attempt: int) -> None:
        if not self._over(attempt):
            position = self.apply_monitor.last_left
            self._sent = StateRequest(self.index, position, anew=self._anew)
            self.sender.control(self._sent)

    def _fall_out(self) -> None:
        """Outside the primary component nobody joins: begin again later with what there is."""
        if self.states.primary < 0:
            return  # it never was in it
        self._attempt += 1
        self._asking = False
        if self._request is not None and self._how == "SST":
            self.abort("outside the primary component during a state transfer")
            return
        position = self.certifier.ordered
        if self._expected is not None and self._prepared:
            position = self._local_monitor.next - 1
            self._recv_q.clear()
            self.gcache.cut(position)
            self.certifier.start_after(position)
        self._sent = self._request = self._expected = None
        self._applies = False
        self._ahead.clear()
        self._missed.clear()
        self._kept.clear()
        self.states.lose(position)

    def abort(self, why: str) -> None:
        """The server ends itself."""
        if self.alive:
            self._note("aborted", how=why)
            self.aborts()

    def _answer(self, request: StateRequest, grant: Grant | None) -> None:
        if request.node == self.index:
            self._granted(request, grant)
        elif grant is not None and grant.donor == self.index:
            self._give(request, grant)

    def _granted(self, request: StateRequest, grant: Grant | None) -> None:
        if request is not self._sent:  # of an earlier attempt
            return
        if grant is None:
            self._later(_ASK_AGAIN_S, self._send_request)
            return
        self._asking = False
        if grant.donor == NOBODY:
            self.abort("none of the donors that it may have is there (wsrep_sst_donor)")
            return
        self._note("joiner", (grant.donor,), grant.how)
        if grant.how == "SST" and not self._anew:
            self.abort("no donor has all that it has missed, and it takes no other transfer")
            return
        self._request, self._donor, self._how = request, grant.donor, grant.how
        self._kept.clear()  # all before is in the state
        ahead, self._ahead = self._ahead, []
        for call in ahead:
            call()

    def _knows(self, call: Callable[[], object]) -> bool:
        """Whether it knows of its donor; else it is called as soon as it does."""
        if self._request is None:
            self._ahead.append(call)
        return self._request is not None

    # -- to get it -----------------------------------------------------------------------------

    def wants(self, request: StateRequest) -> bool:
        """See ``Recipient.wants``."""
        return self.alive and self._sent is request

    def start_engine(self) -> None:
        """See ``Recipient.start_engine``."""
        if self._knows(self.start_engine):
            self._later(self.plan.engine_s, self._engine_runs)

    def _engine_runs(self, attempt: int) -> None:
        if not self._over(attempt):
            self._prepared = True
            self._go_to_expected()

    def expect(self, state: NodeState) -> None:
        """See ``Recipient.expect``."""
        if self._knows(partial(self.expect, state)):
            self._expected = state
            self._go_to_expected()

    def _go_to_expected(self) -> None:
        """Apply what is missing, when it is known what, and the storage engine runs."""
        state = self._expected
        if state is None or not self._prepared:
            return
        seconds = 0.0
        if self._anew:
            seconds = self.writer.recover(known_parts(state.streams, self.certifier.ordered))
        self._given = state.position
        self._adopt(state)
        for stream, parts in state.streams.items():
            self.streams.expect(stream, parts)
        self.host.run(seconds, self._apply_missed, self._attempt)

    def _apply_missed(self, attempt: int) -> None:
        if self._over(attempt):
            return
        assert self._expected is not None
        self._applies = True
        self._note("applies")
        missed, self._missed = self._missed, []
        self.take(missed)
        self.views.close_orphans_at(self._expected.position)
        self.apply_monitor.when_left(self._expected.position, self._has_it, attempt)

    def set_options(self, options: GaleraOptions) -> None:
        """Options are set while it runs (``wsrep_slave_threads_update``, ``gcs_param_set``).

        New appliers begin at once; those that are too many end after their next writeset.
        """
        self.flow_control.set_options(options)
        assert self._redo is not None
        self._redo.level = options.flush_log_at_trx_commit
        self._durability.set_flush(options.flush_log_at_trx_commit)
        more = options.applier_threads - self._appliers
        self._surplus = max(0, -more)
        if more <= 0:
            return
        self._appliers += more
        self._idle_appliers += more
        for _ in range(min(len(self._recv_q), self._idle_appliers)):
            self._idle_appliers -= 1
            self.host.run(self._certification.cost(), self._fetch)

    def _next_writeset(self) -> None:
        if self._surplus:
            self._surplus -= 1
            self._appliers -= 1
        else:
            super()._next_writeset()

    def take(self, missed: Sequence[Ordered]) -> None:
        """See ``Recipient.take``."""
        if not self._applies:
            if self._knows(partial(self.take, missed)):
                self._missed += missed
            return
        for ordered in missed:
            self.certifier.given(ordered)
            self._recv_q.append(ordered)
            if self._idle_appliers:
                self._idle_appliers -= 1
                self.host.run(self._certification.cost(), self._fetch)

    def written_since(self, contained: int) -> tuple[int, int]:
        """See ``Recipient.written_since``."""
        kept = self._kept[:contained]
        sizes = [message.size_bytes for message in kept if message.kind == Kind.WRITESET]
        return len(sizes), sum(sizes)

    def begin_from(self, state: NodeState, seconds: float, contained: int = 0) -> None:
        """See ``Recipient.begin_from``."""
        if self._knows(partial(self.begin_from, state, seconds, contained)):
            self.gcache.clear()
            self._expected = state
            self._contained = contained
            self._later(seconds, self._adopt_whole)

    def _adopt_whole(self, attempt: int) -> None:
        state = self._expected
        if self._over(attempt) or state is None:
            return
        fates = self._cluster.fates
        if fates is not None:
            fates.adopted(self.index, self._donor)
        if self._is_galera_4:
            self._note("joiner", (self._donor,), "IST")
        self._begin_after(state.position)
        self._adopt(state)
        self.host.run(self.writer.recover(state.streams), self._has_it, attempt)

    def _adopt(self, state: NodeState) -> None:
        self.views.adopt(state)
        self.streams.barrier = state.barrier
        self.certifier.adopt(state)

    def _has_it(self, attempt: int) -> None:
        if not self._over(attempt):
            self._apply_kept(attempt)
            self.sender.control(Control(Kind.JOIN, self.index))

    def _apply_kept(self, attempt: int) -> None:
        """It has the state: what was ordered after it is applied now."""
        if self._over(attempt):
            return
        self._lacks = self._anew = self._asking = self._applies = False
        self._sent = self._request = self._expected = self.transfer_s = None
        kept, self._kept, self._contained = self._kept[self._contained :], [], 0
        for message in kept:
            if message.kind == Kind.VIEW:
                self.views.order(message.view)
            else:
                self._receive(message)
        if self.states.own == MemberState.JOINED:
            self._catch_up()

    def _joined(self) -> None:
        self._note("joined")
        self._catch_up()

    def _catch_up(self) -> None:
        self.flow_control.exempt = False
        self.flow_control.catch_up(len(self._recv_q), self._caught_up)

    def _caught_up(self) -> None:
        self.sender.control(Control(Kind.SYNC, self.index))

    def _synced(self) -> None:
        self._note("synced")
        self.serves(True)

    # -- to give it ------------------------------------------------------------------------------

    def _give(self, request: StateRequest, grant: Grant) -> None:
        if grant.how == "SST" and not request.anew:
            return  # it ends itself
        self._gives = True
        self._given_since = 0
        self._note("donor", (request.node,), grant.how)
        self.flow_control.exempt = not self._sync_donor
        self.certifier.copy(self.views.since, partial(self._certified, request, grant))

    def _certified(self, request: StateRequest, grant: Grant, state: NodeState) -> None:
        joiner = self.peer(request.node)
        cluster = self._cluster
        stream = BulkStream(cluster.clock, cluster.network, self.index, request.node)
        how = (self, joiner, request, state, self.plan, stream)
        missed = self.gcache.between(request.seqno, state.position)
        has_all = len(missed) == state.position - request.seqno
        if joiner.transfer_s is not None:
            TimedTransfer(*how).begin(joiner.transfer_s)
        elif grant.how == "IST" and (has_all or not request.anew):
            IncrementalTransfer(*how).begin(missed if has_all else None)
        else:  # also if it has been overwritten meanwhile
            WholeTransfer(*how).begin()

    def when_applied(self, seqno: int, call: Callable[[Any], object]) -> None:
        """See ``Donor.when_applied``."""
        self.apply_monitor.when_left(seqno, call, None)

    def run(self, seconds: float, call: Callable[[Any], object], argument: Any) -> None:
        """See ``Donor.run``."""
        self.host.run(seconds, call, argument)

    def halt(self, call: Callable[[NodeState, int], object]) -> None:
        """See ``Donor.halt``."""
        self._note("paused")
        self.stand_still(self.certifier.ordered)
        self.state_now(call)

    def resume(self) -> None:
        """See ``Donor.resume``."""
        self._note("resumed")
        self.go_on()

    def state_now(self, call: Callable[[NodeState, int], object]) -> None:
        """See ``Donor.state_now``."""
        contained = self._given_since
        self.certifier.copy(self.views.since, lambda state: call(state, contained))

    # -- to be out of flow control -------------------------------------------------------------

    def desync(self, call: Callable[[bool], object]) -> None:
        """Leave flow control like a donor; ``call`` with whether it may, when the group knows."""
        self._requests += 1
        self._asked[self._requests] = call
        self.sender.control(Control(Kind.DESYNC, self.index, self._requests))

    def _desynced(self, may: bool) -> None:
        if may:
            self._desyncs += 1
            self._note("desynced")
            if not self._sync_donor:
                self.flow_control.exempt = True
                self.flow_control.release()
        self._asked.pop(min(self._asked))(may)

    def resync(self) -> None:
        """Be in flow control again, as soon as nobody else has it out."""
        self._desyncs -= 1
        if self.states.own == MemberState.DONOR:  # else it has lost the state meanwhile
            self.sender.control(Control(Kind.JOIN, self.index))

    def given(self) -> None:
        """See ``Donor.given``."""
        self._gives = False
        self.sender.control(Control(Kind.JOIN, self.index))
