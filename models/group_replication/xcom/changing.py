"""XCom where members fall silent, go and come: the total order of a group that changes.

As long as nobody is silent, it orders as ``paxos.Xcom`` does. Beyond that:

A member that is silent leaves gaps: nobody skips its slots. Whoever comes to such a slot waits,
asks, and at last has the group agree that it stays empty (``missing``). That is Paxos in full:
prepare with a ballot that is higher than all before, promises of a majority with what they have
accepted, accept, learn. So what a majority may have accepted of the silent member is adopted.

A configuration is a message in the order (``site``). It is executed by each member when it comes
to it, and is valid from the horizon after it. Until a member has come to one more horizon behind
that, it hands nothing over: then a majority of the new configuration knows all of the old one.

A member that is removed reads on for one horizon and then ends. A member that is added begins
with a snapshot of the configurations, and takes no part before.

Simplified: a member's node number in messages is its position; the horizon is the same in all
configurations; acceptors of an empty slot that meet a lower ballot do not answer.

References
----------
plugin/group_replication/libmysqlgcs/src/bindings/xcom/xcom/xcom_base.cc (MySQL 9): proposer_task,
handle_prepare, handle_ack_prepare, handle_accept, handle_learn, x_fetch, setup_exit_handling,
executor_task, sweeper_task, handle_x_snapshot, process_synode_request, remote_synode_allocator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from operator import itemgetter
from typing import Any

from simrep.modelling import Clock, Deliver, Mesh, Routine

from .consensus import MESSAGE_BYTES, NEVER, Liveness
from .execution import Execution
from .missing import MissingSlots
from .paxos import XcomOptions
from .proposal_times import ProposalTimes
from .proposals import Proposals
from .site import STRIDE, Site, Sites
from .slots import Batch, Configuration, Kind, Present, Round, Slot, Snapshot

__all__ = ["ChangingXcom"]

_ASK_AGAIN_S = 0.1  # a proposer without a slot of the leader's asks again
_CONTROL_BYTES = 200  # addresses and UUIDs of nodes

_ACCEPT, _ASK, _GRANT = Kind.ACCEPT, Kind.ASK, Kind.GRANT


def _nothing(*_: Any) -> None:
    pass


class ChangingXcom(Execution):
    """One member of the group.

    Parameters
    ----------
    clock : Clock
    mesh : Mesh
        Its thread is the single thread of XCom; its members are reached by position.
    options : XcomOptions
    liveness : Liveness
    uniform : callable
        Numbers in [0, 1): how long this member waits.
    proposal : Routine, optional
        What it takes to propose a batch.
    cache_bytes : int
        ``group_replication_message_cache_size``.

    Attributes
    ----------
    batches, proposed : int
        Batches and messages taken.
    """

    def __init__(
        self,
        clock: Clock,
        mesh: Mesh,
        options: XcomOptions,
        liveness: Liveness,
        uniform: Callable[[], float],
        proposal: Routine | None = None,
        cache_bytes: int = 1 << 30,
    ) -> None:
        times = ProposalTimes(uniform)
        super().__init__(clock, mesh, liveness, times, cache_bytes)
        self._options = options
        self._proposal = proposal
        self._horizon = options.event_horizon
        self._largest = options.largest_batch
        self._largest_bytes = options.largest_batch_bytes
        self._missing = MissingSlots(clock, self, times)
        self._own = Proposals(clock, times, self._propose_again)
        self._tell_sent: Callable[[list[Any]], object] | None = None
        self._tell_site = self._tell_present = self._tell_exit = _nothing
        self._life = 0
        self.batches = self.proposed = 0
        self._clear()
        mesh.on_message(self.receive)

    def _clear(self) -> None:
        """As a process begins."""
        self._life += 1
        self.running = False
        self.group = -1
        self._sites = Sites()
        self._slots = {}
        self._early = {}
        self.executed = self.delivered = 0
        self.known = -1
        self._next_own = self._own_until = self._switch = NEVER
        self._input: deque[tuple[Any, int]] = deque()
        self._idle_proposers = self._options.proposers
        self._waking = False
        self._too_far: deque[tuple[int, Batch]] = deque()  # slots past the horizon, in order
        self._granted: set[int] = set()  # slots of the leader that it has given to this member
        self._without_slot: deque[Batch] = deque()  # batches that wait for a grant of the leader
        self._sweep_timer = False
        self._delays = deque()
        self._held = []
        self._exit_at = self._limit = NEVER
        self._halted = self._grown = False
        self._installed_s = -inf
        self._forced = self._forced_until = 0
        self._enforcing = False
        self._cache.clear()
        self._missing.stop()
        self._own.stop()

    # -- what others are told --------------------------------------------------------------------

    def on_send(self, call: Callable[[list[Any]], object]) -> None:
        """Tell ``call(payloads)`` what is proposed now, in one slot."""
        self._tell_sent = call

    def on_deliver(self, deliver: Deliver) -> None:
        """Hand every ordered message to ``deliver(sender, payload)``."""
        self._deliver_to = deliver

    def on_site(self, call: Callable[[Site, bool], object]) -> None:
        """Tell ``call(site, valid)`` of a configuration: installed, later valid."""
        self._tell_site = call

    def on_present(self, call: Callable[[Site, frozenset[int]], object]) -> None:
        """Tell ``call(site, positions)`` who is alive as the order says (global view)."""
        self._tell_present = call

    def on_exit(self, call: Callable[[str], object]) -> None:
        """Tell ``call(why)`` when XCom ends by itself: ``removed`` or ``too far behind``."""
        self._tell_exit = call

    def on_fill(self, call: Callable[[tuple[int, ...], int, float], object]) -> None:
        """Tell ``call(positions, waits, waited_s)`` when this member has slots stay empty."""
        self._missing.on_fill = call

    # -- begin and end ---------------------------------------------------------------------------

    def begin(self, members: Sequence[int]) -> None:
        """Take part in a group that has been running for long, and is at its first slot now."""
        self._run((self._first_site(members),), 0, -1, 0)

    def boot(self) -> None:
        """Make a group of its own (``group_replication_bootstrap_group``)."""
        self._times.clear()
        group = int(self._clock._now * 1e6) * STRIDE + self._me + 1
        self._run((self._first_site((self._me,)),), 0, -1, group)

    def adopt(self, snapshot: Snapshot) -> None:
        """Begin behind the snapshot of a group to which this member has been added.

        What has been learned since is on its way, behind the snapshot (``push``). All that is read
        before the executor runs for the first time (``buffered_read_msg``), so it asks nobody.
        """
        if self.running:
            return
        early = self._early
        self._times.clear()
        sites, start, known = snapshot.sites, snapshot.start, snapshot.known
        self._run(sites, start + 1, known, snapshot.group)
        for slot, batch in early.items():
            self._learn_early(slot, batch)
        self._sweep()
        self._execute()

    def _learn_early(self, slot: int, batch: Batch | None) -> None:
        if slot >= self.executed:
            state = self._slots.setdefault(slot, Slot())
            state.batch = batch
            state.finished = True

    def snapshot(self) -> Snapshot:
        """What a member that has been added needs to begin."""
        latest = self._sites.latest
        return Snapshot(self._sites.known, max(latest.formed, 0), self.known, self.group)

    def push(self, position: int, snapshot: Snapshot) -> None:
        """Send a member all that is known behind a snapshot (``server_push_log``)."""
        self._push_values(position, snapshot.start + 1)

    def heard_of(self, source: int, group: int, known: int, delivered: int) -> None:
        """A member says that it is alive, how far it knows slots, and has delivered them."""
        if group == self.group:
            self._told[source] = delivered
            if known > self.known:
                self.known = known
                self._sweep()
                self._execute()

    def end(self) -> None:
        """The process ends."""
        self._clear()

    def _first_site(self, members: Sequence[int]) -> Site:
        leader = self._options.leader
        single = leader is not None
        return Site(0, tuple(members), self._horizon, single=single, preferred=leader)

    def _run(self, sites: Sequence[Site], executed: int, known: int, group: int) -> None:
        self._clear()
        self.running = True
        self.group = group
        self._sites = Sites(sites)
        self.known = known
        site = self._sites.at(executed // STRIDE) or sites[0]
        node = executed % STRIDE
        if site.leader is not None and node != site.first:
            executed += (site.first - node) % STRIDE
        elif node >= site.size:
            executed += STRIDE - node
        self.executed = self.delivered = executed
        self._cache.clear(executed)
        self._told = [executed] * len(self._told)
        self._enter(executed // STRIDE)
        self._next_own = self._first_own(self.executed)
        self._missing.arrive()

    # -- configurations --------------------------------------------------------------------------

    @property
    def site(self) -> Site:
        """The configuration of the next slot to be executed."""
        return self._site

    @property
    def proposing(self) -> Site:
        """The configuration of what it proposes next (that of ``current_message``)."""
        slot = self._next_own
        return self._site_of(slot) if self.executed <= slot < NEVER else self._site

    @property
    def latest(self) -> Site:
        """The configuration that was installed last."""
        return self._sites.latest

    def add(self, position: int, life: int = 0) -> bool:
        """Propose to add a process of a member; False if one is there, or was a moment ago."""
        sites = (self._sites.latest, self._site) if self.running else ()
        if not sites or any(position in site.members for site in sites):
            return False
        return self._order(Configuration("add", (position,), life))

    def remove(self, positions: Sequence[int]) -> bool:
        """Propose to remove members; False if one of them is none."""
        if not self.running or not set(positions) <= set(self._sites.latest.members):
            return False
        return self._order(Configuration("remove", tuple(positions)))

    def force(self, positions: Sequence[int]) -> bool:
        """Make these the only members, all of which must agree (``force_members``)."""
        if not self.running or not {self._me} <= set(positions) <= set(self.latest.members):
            return False
        number = self.executed // STRIDE + self._horizon + 1
        self._force(len(positions), number)
        self._enforcing = self._missing.forcing = True
        members = tuple(member for member in self.latest.members if member in positions)
        return self._order(Configuration("force", members))

    @property
    def crowded(self) -> bool:
        """Whether a forced configuration would wait behind more than the event horizon lets by."""
        batches, messages = 0, False
        for payload, _ in self._input:
            order = isinstance(payload, Configuration | Present)
            batches += order or not messages
            messages = not order
        forced = max(self.executed // STRIDE + self._horizon + 1, self.known // STRIDE + 1)
        return self._next_own // STRIDE + batches >= forced + self._horizon

    def lead(self, position: int) -> bool:
        """Propose a member as the single leader."""
        return self.running and self._order(Configuration("lead", (position,)))

    def present(self, positions: frozenset[int]) -> bool:
        """Propose that these are alive."""
        return self.running and self._order(Present(positions, 0))

    def _order(self, order: Configuration | Present) -> bool:
        return self.send(order, _CONTROL_BYTES)

    def is_own(self, slot: int) -> bool:
        """See ``Consensus``."""
        return slot in self._own.under_way

    # -- proposers -------------------------------------------------------------------------------

    def send(self, payload: Any, size_bytes: int) -> bool:
        """Hand over a message; it is refused by a member that takes no part."""
        if not self.running:
            return False
        self._input.append((payload, size_bytes))
        if not self._waking and self._idle_proposers:
            self._wake_proposer()
        return True

    def _wake_proposer(self) -> None:
        """A proposer runs when the thread gets round to it: what came until then is its batch."""
        self._waking = True
        cost = 0.0 if self._proposal is None else self._proposal.cost()
        self._mesh.thread.do(cost, self._propose, self._life)

    def _propose(self, life: int) -> None:
        if life != self._life:
            return
        self._waking = False
        self._idle_proposers -= 1
        self._find_slot(self._take_batch())
        if self._input and self._idle_proposers and not self._waking:
            self._wake_proposer()

    def _take_batch(self) -> Batch:
        waiting = self._input
        now = self._clock._now
        self.batches += 1
        payload, total = waiting.popleft()
        if isinstance(payload, Configuration | Present):
            return Batch([], total, self._me, now, payload)
        payloads = [payload]
        while waiting and len(payloads) < self._largest and total <= self._largest_bytes:
            payload, size = waiting[0]
            if isinstance(payload, Configuration | Present):  # it needs a slot of its own
                break
            del waiting[0]
            payloads.append(payload)
            total += size
        self.proposed += len(payloads)
        return Batch(payloads, total, self._me, now)

    def _find_slot(self, batch: Batch) -> None:
        """Find a slot for a batch, and use it as soon as it is within the horizon."""
        slot = self._free_slot()
        if slot == NEVER:
            self._next_own = NEVER
            self._without_slot.append(batch)
            self._ask((self._life, batch))
            return
        self._next_own = self._own_after(slot)
        self._reserve(slot, batch)

    def _free_slot(self) -> int:
        """The next own slot in which nothing has been proposed."""
        slot = self._next_own
        if slot < self.executed:
            slot = self._first_own(self.executed)
        while (state := self._slots.get(slot)) is not None and state.begun:
            slot = self._own_after(slot)
        return slot

    def _reserve(self, slot: int, batch: Batch) -> None:
        """Use the slot now, or when the horizon has reached it."""
        self._look_again(slot, batch)
        waiting = self._too_far
        if waiting or self.is_too_far(slot):
            waiting.append((slot, batch))
            if len(waiting) > 1 and slot < waiting[-2][0]:  # granted after an own one
                self._too_far = deque(sorted(waiting, key=itemgetter(0)))
        else:
            self._use(slot, batch)

    def _look_again(self, slot: int, batch: Batch) -> None:
        """A view message tells who is alive when it gets a slot (``reserve_synode_number``)."""
        if isinstance(batch.order, Present):
            members = self._site_of(slot).members
            alive = frozenset(filter(self.liveness.alive, members))
            batch.order = Present(alive, len(members))

    def _use_horizon(self) -> None:
        """See ``Execution``."""
        waiting = self._too_far
        while waiting and not self.is_too_far(waiting[0][0]):
            self._use(*waiting.popleft())

    def _find_slots_from(self, first: int) -> None:
        """See ``Execution``."""
        waiting = self._too_far
        later = [batch for slot, batch in waiting if slot >= first]
        self._too_far = deque(entry for entry in waiting if entry[0] < first)
        for batch in later:
            self._find_slot(batch)

    def _use(self, slot: int, batch: Batch) -> None:
        """Propose a batch in an own slot, in two phases."""
        site = self._site_of(slot)
        state = self._slots.get(slot)
        busy = slot < self.executed or (state is not None and state.begun)
        if not self._may_use(slot) or busy:
            if batch.payloads or batch.order is not None:
                self._find_slot(batch)
            return
        if state is None:
            state = self._slots[slot] = Slot()
        ballot = site.members.index(self._me)
        if batch.forces or slot // STRIDE < self._forced_until:
            state.round = Round(batch, -1, 0)
            self._begin(slot, batch)
            self._prepare(slot, state, state.round)
            return
        state.round = Round(batch, ballot, site.majority)
        state.round.acks = 1
        state.batch = batch
        state.ballot = ballot
        state.active_s = self._clock._now
        self._begin(slot, batch)
        self._broadcast(_ACCEPT, slot, site, batch, ballot)
        if state.round.majority == 1:
            self._choose(slot, state, state.round)

    def _begin(self, slot: int, batch: Batch) -> None:
        self._own.began(slot, batch)
        if not batch.sent:
            batch.sent = True
            if self._tell_sent is not None and batch.payloads:
                self._tell_sent(batch.payloads)

    def _propose_again(self, slot: int) -> None:
        """Nothing has come of an own proposal for long: three phases."""
        state = self._slots.get(slot)
        if state is not None and state.round is not None and not state.finished:
            self._prepare(slot, state, state.round)

    def _settle(self, slot: int, learned: Batch | None) -> None:
        """It is known what became of an own proposal."""
        batch = self._own.ended(slot)
        if not (batch.payloads or batch.order is not None):
            return
        if batch is not learned:  # something else was agreed on, for instance nothing
            self._find_slot(batch)
            return
        self._times.add(self._clock._now - batch.taken_s)
        self._idle_proposers += 1
        if self._input and not self._waking:
            self._wake_proposer()

    # -- a single leader's slots for the others --------------------------------------------------

    def _ask(self, wish: tuple[int, Batch]) -> None:
        life, batch = wish
        if life != self._life or not any(waiting is batch for waiting in self._without_slot):
            return
        leader = self._sites.latest.leader
        if leader is None or leader == self._me:  # this member has slots by now
            if self._next_own == NEVER:
                self._next_own = self._first_own(self.executed)
            if self._free_slot() != NEVER:
                self._without_slot.remove(batch)
                self._find_slot(batch)
                return
        elif not self.liveness.may_be_dead(leader):
            self._mesh.send_each((leader,), self._message(_ASK, -1), MESSAGE_BYTES)
        elif self.is_first():
            self._seize(batch)
            return
        self._clock.at(self._clock._now + _ASK_AGAIN_S, self._ask, wish)

    def _seize(self, batch: Batch) -> None:
        """There is no leader: use one of its slots, in three phases, as others may want it too."""
        slot = self.executed
        while (state := self._slots.get(slot)) is not None and state.begun:
            slot = self.after(slot)
        if self.is_too_far(slot) or not self.is_member():
            self._clock.at(self._clock._now + _ASK_AGAIN_S, self._ask, (self._life, batch))
            return
        self._without_slot.remove(batch)
        self._look_again(slot, batch)
        state = self._slots.setdefault(slot, Slot())
        state.round = Round(batch, -1, self._site_of(slot).majority)
        self._begin(slot, batch)
        self._prepare(slot, state, state.round)

    def _grant(self, member: int) -> None:
        """Give a slot away, if the next one is within the horizon as well."""
        slot = self._free_slot()
        if slot == NEVER or self.is_too_far(slot + STRIDE):
            return
        self._next_own = self._own_after(slot)
        self._mesh.send(member, self._message(_GRANT, slot), MESSAGE_BYTES)

    def _granted_slot(self, slot: int) -> None:
        """Use it for the batch that waits longest; a spare one at once, for nothing."""
        if slot < self.executed or not self.is_member():
            return
        self._granted.add(slot)
        if self._without_slot:
            self._reserve(slot, self._without_slot.popleft())
        else:
            self._reserve(slot, Batch([], 0, self._me, self._clock._now))

    def _may_use(self, slot: int) -> bool:
        """Whether a slot is this member's own, or one that the single leader has given it."""
        site = self._site_of(slot)
        if slot in self._granted:
            self._granted.remove(slot)
            return site.single and slot % STRIDE == site.first and self._me in site.members
        return site.owns(slot, self._me)
