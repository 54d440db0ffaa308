"""A member of a group where servers come and go: its state, its role, and its views."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, ClassVar

from simrep.modelling import Event, OpenTransaction, Parts, ServerStatus, Transaction
from simrep.models.group_replication.gcs.views import View
from simrep.models.mysql.channel import Committing
from simrep.models.mysql.server import BinlogTransaction
from simrep.models.mysql.table_changes import TableStatement

from .auto_rejoin import AutoRejoin
from .consistency import ChangingConsistency, Consistency
from .election import Election, MemberInfo, MemberState
from .flow_control import ChangingFlowControl, FlowControl
from .member import PRIMARY
from .messages import Control, GtidExecuted, Metadata, Packet, ViewMessage, Word
from .options import GroupReplicationCosts, GroupReplicationOptions, waits_before
from .partition import Partition
from .promotion import Promotion
from .recovering_member import RecoveringMember, Remains
from .role_actions import MemberElection, MemberPromotion
from .roster import Roster
from .seat import Seat
from .transaction_message import Kind, TransactionMessage

__all__ = ["ChangingMember"]

READ_ONLY = "1290 the server is running with --super-read-only"
NOT_MEMBER = "3100 the member has left the group"
SWITCHING = "4094 the operation is not allowed while the primary is switched"
NOT_ALLOWED = "3796 the consistency level is not allowed in this state of the member"
NOT_SYNCED = "3797 the member has left the group before the transaction could begin"
_PATIENCE_S = 50.0  # TRANSACTION_KILL_TIMEOUT
_OFFLINE = {"9": "6400 the server is in offline mode"}
_ERRANT = "it has transactions that the group does not have"
_OFFLINE_BEFORE = "3032 the server is in offline mode"


class ChangingMember(RecoveringMember):
    """A server of the group, up to the end of its process.

    Attributes
    ----------
    state : MemberState
    read_only : bool
        ``super_read_only``: it refuses transactions that write.
    offline : bool
        ``offline_mode``: it refuses connections.
    lone : bool
        Its server runs, and group replication was never started on it: it is a server like any,
        which serves its clients, and takes writes that no other member gets.
    blocked : bool
        Transactions may not begin, as there is a switch of the primary by hand.

    References
    ----------
    plugin/group_replication/src: gcs_event_handlers.cc, leave_group_on_failure.cc,
    hold_transactions.cc, applier.cc, observer_trans.cc (group_replication_trans_before_commit lets
    all pass where the plugin does not run), plugin.cc (9).
    """

    consistency_kind: ClassVar[type[Consistency]] = ChangingConsistency
    flow_control_kind: ClassVar[type[FlowControl]] = ChangingFlowControl
    consistency: ChangingConsistency
    flow_control: ChangingFlowControl

    def __init__(
        self,
        parts: Parts,
        options: GroupReplicationOptions,
        costs: GroupReplicationCosts,
        loop_at_s: float,
        seat: Seat,
    ) -> None:
        cluster, index = parts.cluster, parts.index
        group = seat.group
        self.read_only = True
        self.offline = False
        self.lone = False
        self._options_here = cluster.options_of(index, options)
        self._tickets: dict[OpenTransaction, TransactionMessage] = {}
        self._held: list[Event] = []  # transactions that wait until it has applied its backlog
        self.roster = Roster(index, self.tell)
        self.election = Election(index, MemberElection(self))
        self._promotion = Promotion(index, self.election, MemberPromotion(self))
        self.blocked = False
        super().__init__(parts, options, costs, loop_at_s, seat)
        self.server.on_fail = self._fail_waiting
        self.connect = self._connect
        self.transact = self._serve
        self._partition = Partition(
            self.clock, options.unreachable_majority_timeout, self._leave_the_others
        )
        self._auto_rejoin = AutoRejoin(
            self.clock, options.autorejoin_tries, self._rejoin, group.exit, self._exit
        )
        group.on_view(self._view_comes)
        group.on_reachable(self._reachable)
        group.on_expelled(self._expelled)
        group.on_state(self.info)

    def _holds_up(self, options: GroupReplicationOptions) -> bool:
        del options
        return True

    # -- its life --------------------------------------------------------------------------------

    def begin(self, infos: Mapping[int, MemberInfo]) -> None:
        """Be ONLINE in a group that has been there for long."""
        self.state = MemberState.ONLINE
        self.roster.begin(infos)
        self.consistency.online = frozenset(infos)
        self.election.begin(PRIMARY if self._single_primary else None, infos, running=False)
        self.read_only = self._single_primary and self.index != PRIMARY

    def start(self, remains: Remains, transfer_s: float | None, *, boots: bool) -> None:
        """Begin with what is on the disk, and join the group or begin one."""
        self._recovery.transfer_s = transfer_s
        self.without_data = remains.without_data
        self._unlogged = remains.unlogged
        self._purged = remains.purged
        self._branch = remains.branch
        self.executed.start_after(remains.executed)
        self._order = max(remains.executed.above, default=remains.executed.low)
        self._errant = remains.errant
        self._order = max([self._order, *(order for order, _ in remains.relayed)])
        if not (boots or self._options.start_on_boot):
            self.lone = True
            if self._fates is not None:
                self._fates.outside(self.index)
            self.read_only = False
            self.note("not-started")
            return
        for order, message in remains.relayed:
            self._missed.write(order, message)
        if boots:
            self._missed.when_applied(self._boot)
        elif self._seat.history.knows(remains.branch, remains.executed):
            self._group.join()
        else:
            self.note("aborted", how=_ERRANT)

    def _boot(self) -> None:
        """It has applied its relay log, and begins a group."""
        self._seat.history.cut(self._order, self.executed.snapshot())
        self._branch = self._seat.history.branch
        self._group.boot()

    def die(self, *, silent: bool = False, killed: bool = True) -> None:
        """The process ends; see ``EndingServer.die``."""
        self.trace = None
        self.server.die(silent=silent, killed=killed)
        self._group.die(self.server.when_closed)
        self._end_membership(MemberState.OFFLINE)
        self.flow_control.release()

    def leave(self, left: Callable[[], object]) -> None:
        """Shut down in order: the group is left, clients have to go, and then the process ends.

        The plugin leaves first, and while it does so the server takes all that comes: a commit
        gets no verdict any more, and no answer before its connection is closed. If there is one,
        the plugin then waits 50 s for the verdict. MySQL 5.7, and 8.0.19 at least, have their
        clients go first.

        References
        ----------
        observer_server_state.cc (group_replication_before_server_shutdown, ...after...);
        plugin.cc (leave_group, plugin_group_replication_stop).
        """
        if self._options.release == "5.7":
            self.server.dismiss(partial(self._leave_group, left))
        else:
            self._leave_group(partial(self._dismiss, left))

    def _dismiss(self, left: Callable[[], object]) -> None:
        """It has left its group."""
        if self.server.alive:
            self.note("left")
            self._end_membership(MemberState.OFFLINE)
            self.server.dismiss(partial(self._stop_plugin, left))

    def _stop_plugin(self, left: Callable[[], object]) -> None:
        if self._tickets:
            self.clock.at(self.clock.now + _PATIENCE_S, lambda _: left())
        else:
            left()

    def _roll_back(self, _: object = None) -> None:
        """Those of its clients that wait for a verdict fail."""
        for owner in list(self._tickets):
            self.server.fail(owner, NOT_MEMBER)

    def _end_membership(self, state: MemberState) -> None:
        self.state = state
        self.election.end()
        self._partition.end()
        self._recovery.end()
        self._catch_up.end()
        self._auto_rejoin.end()
        self.roster.end()
        self._promotion.end()
        self.consistency.release()
        self._release_held()

    # -- clients ---------------------------------------------------------------------------------

    def _connect(self) -> Generator[Event, Any, str | None]:
        if self.offline and self.server.alive:
            return self.server.sessions.refused(
                _OFFLINE.get(self._options.release, _OFFLINE_BEFORE)
            )
        return self.server.connect()

    def _serve(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        server = self.server
        if self.offline:
            return server.lose(transaction)
        if server.alive:
            if self.blocked:
                return server.turn_away(transaction, SWITCHING)
            if transaction.rows:
                if self.read_only:
                    return server.turn_away(transaction, READ_ONLY)
            elif self._not_allowed(transaction):
                return server.turn_away(transaction, NOT_ALLOWED)
        return server.transact(transaction)

    def _not_allowed(self, transaction: Transaction) -> bool:
        """Whether a consistency level has no meaning in its state."""
        waits = waits_before(self._options, transaction.session) or self._options.waits_after
        return waits and self.state in {MemberState.RECOVERING, MemberState.ERROR}

    def _before_begin(self, transaction: Transaction) -> Generator[Event, Any, None]:
        """Wait until the backlog of the old primary is applied, if the level says so."""
        if self.lone:
            return
        began_s = self.clock.now
        if self._holds():
            gate = Event(self.clock)
            self._held.append(gate)
            yield gate
        options = self._options
        in_order = waits_before(options, transaction.session)
        if in_order or options.waits_after:
            yield from self.consistency.begin(transaction, in_order=in_order)
        if self.state != MemberState.ONLINE and self.clock.now > began_s and self.server.alive:
            self.server.fail(self.server.owner_of(transaction), NOT_SYNCED)

    def _holds(self) -> bool:
        election = self.election
        return (
            self._options.consistency != "EVENTUAL"
            and election.running
            and election.primary == self.index
            and self.read_only
        )

    def _release_held(self) -> None:
        held, self._held = self._held, []
        for gate in held:
            self.clock.fire(gate)

    def _before_commit(self, entry: BinlogTransaction) -> Generator[Event, Any, bool]:
        owner = entry.owner
        if self.read_only:
            owner.error = READ_ONLY
            owner.transaction.unserved = True
            return False
        if self.lone:
            if entry.transaction.journal is not None:
                entry.transaction.journal.alone()
            return True
        passed = yield from super()._before_commit(entry)
        self._tickets.pop(owner, None)
        return passed

    def committed(self, committing: BinlogTransaction | Committing) -> None:
        """See ``Member.committed``."""
        if self.lone:
            self._errant += 1
        else:
            super().committed(committing)

    def _fail_waiting(self, owner: OpenTransaction) -> None:
        message = self._tickets.pop(owner, None)
        ticket = None if message is None else message.ticket
        if ticket is not None and not ticket.triggered:
            self.clock.fire(ticket, False)

    def _wake(self, verdict: tuple[TransactionMessage, bool]) -> None:
        message, _ = verdict
        if message.ticket is None or not message.ticket.triggered:  # else it was made to fail
            super()._wake(verdict)

    # -- what it sends ---------------------------------------------------------------------------

    def tell(self, message: Any) -> None:
        """Send a message to all members, if it is in a group."""
        if self.server.alive and self.state in {MemberState.ONLINE, MemberState.RECOVERING}:
            super()._send(message)

    def _send(self, message: Any) -> None:
        if message.kind == Kind.TRANSACTION:
            self._tickets[message.entry.owner] = message
        self.tell(message)

    def _loop(self, at: None) -> None:
        if self.server.alive:
            super()._loop(at)
            if self._loops_to_skip == self._options.flow_control_period:
                self._catch_up.period()

    # -- what comes ------------------------------------------------------------------------------

    def _handed_over(self, messages: list[Any]) -> None:
        self._delivered.leave()
        if not self.server.alive:
            return
        for message in messages:
            kind = message.kind
            if kind < Kind.CONTROL:
                if kind == Kind.STATISTICS:
                    if message.member in self.consistency.online:
                        self.flow_control.hear(message)
                elif kind != Kind.FRAGMENT:
                    self.waiting_certification += kind == Kind.TRANSACTION
                    self.queue(message)
            elif kind == Kind.CONTROL:
                self._promotion.deliver(message, self.roster.online)
                self.election.deliver(message)
            elif kind == Kind.VIEW:
                self._see(message.view)
            elif kind == Kind.METADATA:
                self.roster.informed(message)
                self._recovery.hear(message)
            else:
                self._see_recovered(message.member)

    def _handle(self, messages: list[Any]) -> None:
        (message,) = messages
        if message.kind == Kind.PACKET:
            message.call()
            self._applier_module.leave()
        else:
            super()._handle(messages)

    def _pass(self, message: TransactionMessage, seqno: int, parent: int) -> None:
        order = self._order + 1
        self._seat.history.add(order, message)
        if self._options.waits_after:
            self.consistency.expect(order)
        if isinstance(message.transaction, TableStatement):
            parent = seqno - 1
            self.certifier.begin_after(seqno)
        super()._pass(message, seqno, parent)

    def _collect_garbage(self, message: GtidExecuted) -> None:
        """When all that are ONLINE have told."""
        self._stable[message.member] = message.committed
        online = self.consistency.online
        if not all(member in self._stable for member in online):
            self._applier_module.leave()
            return
        stable = min(self._stable[member] for member in online)
        self._stable.clear()
        self.host.go_on(self._garbage_s(len(self.certifier), stable), self._collected, stable)

    # -- views -----------------------------------------------------------------------------------

    def info(self) -> MemberInfo:
        """What it tells others in an exchange of states."""
        primary = self._single_primary and self.election.primary == self.index
        return MemberInfo(self.state, primary, self._options_here.member_weight)

    def _view_comes(self, view: View) -> None:
        self._delivered.join(ViewMessage(view))

    def _see(self, view: View) -> None:
        joins = self.index in view.joined
        self.roster.see(view)
        if joins:
            self._auto_rejoin.end()
            self.state = MemberState.RECOVERING
            self.read_only = True
            self._suspended = True
            if not self._takes_history():
                self.fail(_ERRANT)
                return
        self.queue(Packet(partial(self._change, view, self.roster.online)))
        self._partition.see(majority=self._group.has_majority)
        if self._single_primary:
            if joins:
                self.election.begin(self.roster.primary, view.members, running=False)
            self._promotion.see(frozenset(view.members) - view.gone)
            self.election.see(self.roster.infos, view.gone)
        if not joins:
            self._recovery.see(view)
        elif len(view.members) == 1:
            self._resume_alone()
        else:
            self._recovery.begin(view)

    def _takes_history(self) -> bool:
        """Whether the group that it joins has all that it has executed."""
        history = self._seat.history
        if not history.knows(self._branch, self.executed.snapshot()):
            return False
        self._branch = history.branch
        for order in sorted(history.void):
            if not self.executed.has(order):
                self.executed.add(order)
        return True

    def _change(self, view: View, online: frozenset[int]) -> None:
        """A view, in the turn of the applier module."""
        if view.forced:
            self._seat.history.force(view.number, view.members, self._order)
            self._branch = self._seat.history.branch
        self.consistency.leave(view.gone)
        self.consistency.online = online
        self._stable.clear()
        self.roster.inform(
            view, online, lambda: Metadata(view.number, self._order, self.certifier.copy())
        )

    def _resume(self) -> None:
        self.consistency.left = False
        super()._resume()

    def _reachable(self, _: frozenset[int]) -> None:
        self._partition.see(majority=self._group.has_majority)

    def elected(self, primary: int | None) -> None:
        """An election has a result."""
        if primary is not None:
            self.note("elected", (primary,))
        if primary != self.index:
            self._release_held()

    def set_writable(self) -> None:
        """It takes writes."""
        self.read_only = False
        self.note("writable")
        self._release_held()
        if self._options.paxos_single_leader and self._single_primary:
            self._group.lead()

    # -- a switch of the primary by hand ---------------------------------------------------------

    def promote(self, timeout_s: float | None) -> bool:
        """Ask to become the primary (``group_replication_set_as_primary``); False if it cannot."""
        if self.state != MemberState.ONLINE:
            return False
        self.tell(Control(Word.PROMOTE, self.index, self.index, timeout_s))
        return True

    def wait_for_transactions(self, timeout_s: float | None, call: Callable[[], object]) -> None:
        """See ``PromotionActions.wait_for_transactions``."""
        self.server.when_ended(call)
        if timeout_s is not None:
            self.blocked = True
            self.clock.at(self.clock.now + timeout_s, self._end_transactions)

    def _end_transactions(self, _: None) -> None:
        if self.blocked:
            self.server.disconnect_all(committing=False)

    # -- who is ONLINE ---------------------------------------------------------------------------

    def _see_recovered(self, member: int) -> None:
        """A member is ONLINE."""
        if not self.roster.set_online(member):
            return
        self.queue(Packet(partial(self._add_online, member)))
        if member == self.index:
            self.state = MemberState.ONLINE
            self.note("synced")
            if not self._single_primary:
                self.set_writable()
        if self._single_primary:
            self.election.see(self.roster.infos)

    def _add_online(self, member: int) -> None:
        self.consistency.online |= {member}

    def online_members(self) -> list[int]:
        """See ``Joiner.online_members``."""
        return sorted(self.roster.online - {self.index})

    def status(self) -> ServerStatus:
        """See ``Model.status``: it serves while it is ONLINE and reaches most of its group.

        That is what check scripts look at (``sys.gr_member_in_primary_partition``): members that it
        holds for UNREACHABLE count as lost.
        """
        serves = self.state == MemberState.ONLINE and self._group.has_majority and not self.offline
        return self._status(self.state, serves=serves, writes=serves and not self.read_only)

    # -- errors ----------------------------------------------------------------------------------

    def _expelled(self, why: str) -> None:
        """It learns that it is no longer in the group (``Group`` notes that)."""
        del why
        self._leave_with_error()

    def _leave_the_others(self, why: str) -> None:
        """It leaves a group that has no majority."""
        self.note("aborted", how=why)
        self._group.exit()
        self._leave_with_error()

    def _leave_with_error(self) -> None:
        recovers = self._suspended
        self._end_membership(MemberState.ERROR)
        if recovers:
            self._forget_queue()
            self._stop_applying()
        else:
            self._applier_module.join(Packet(self._stop_applying))

    def _stop_applying(self) -> None:
        """All that was ordered before is certified: what still waits rolls back."""
        self._suspended = True
        self._roll_back()
        self.read_only = True
        self._auto_rejoin.begin()

    def _rejoin(self, number: int, failed: Callable[[], object]) -> None:
        self.note("rejoin", how=f"{number} of {self._options.autorejoin_tries}")
        self._group.join(failed)

    def _exit(self) -> None:
        """It does not come back by itself."""
        self._group.exit()
        if self._options.exit_state_action == "OFFLINE_MODE":
            self.offline = True
            self.server.disconnect_all()
        elif self._options.exit_state_action == "ABORT_SERVER":
            self.note("aborted", how="its server ends (exit_state_action = ABORT_SERVER)")
            self._seat.aborts(self.index)
