"""How a member executes and delivers slots, and changes its configuration when it comes to that.

A message that changes the configuration is executed at once by each member that comes to it: the
new configuration is valid from the horizon after it. From then on nothing is handed over until the
member has come to one more horizon behind the begin of the new configuration: a majority of that
one knows all slots of the old one then. Members that are no longer in it are told the values that
they need to get so far, and end.

Simplified: who may be the single leader follows from a view message when that is executed; in the
source, when it is handed over.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from math import inf

from simrep.modelling import Deliver

from .consensus import NEVER, Consensus
from .missing import MissingSlots
from .site import STRIDE, Site, Sites
from .slots import SKIPPED, Batch, Configuration, Kind, Present, Slot

__all__ = ["Execution"]

_SWEEP_AGAIN_S = 0.010  # a sweeper that is stopped by the event horizon looks again
_TERMINATE_S = 3.0  # TERMINATE_DELAY: what is on its way out is still sent
_PROTECTED_S = 5.0  # the cache forgets nothing so long after a new configuration
_SKIP = Kind.SKIP


class Execution(Consensus):
    """One member as executor and sweeper.

    Attributes
    ----------
    site : Site
        The configuration of the next slot to be executed.
    """

    _life: int  # of how many processes this is the last
    _horizon: int
    _sites: Sites
    _missing: MissingSlots
    _next_own: int  # the next own slot that is neither proposed in nor skipped
    _own_until: int  # from here on own slots are those of another configuration
    _switch: int  # the first slot of the next configuration
    # Deliveries are held back until the executor has come to the first of these slots.
    _delays: deque[tuple[int, Site, tuple[int, ...]]]
    _held: list[tuple[int, Batch]]
    _exit_at: int  # for a member that has been removed: it ends there,
    _limit: int  # and delivers what is before this
    _halted: bool
    _grown: bool  # a configuration wants slots that have not been skipped
    _installed_s: float
    _deliver_to: Deliver
    _tell_site: Callable[[Site, bool], object]
    _tell_present: Callable[[Site, frozenset[int]], object]
    _tell_exit: Callable[[str], object]

    @abstractmethod
    def _use_horizon(self) -> None:
        """The horizon has moved: propose what waits for that."""

    @abstractmethod
    def _find_slots_from(self, first: int) -> None:
        """From a slot on, own slots are others than before."""

    @abstractmethod
    def end(self) -> None:
        """The process ends."""

    # -- configurations ------------------------------------------------------------------------

    def _site_of(self, slot: int) -> Site:
        if slot < self._switch and slot // STRIDE >= self._site.start:
            return self._site
        return self._sites.at(slot // STRIDE) or self._site

    def _enter(self, number: int) -> int:
        """The executor comes to a message number of another configuration; its first slot."""
        site = self._sites.at(number) or self._sites.known[0]
        self._site = site
        self._steps = site.steps or (STRIDE,)
        start = self._sites.next_start(number)
        self._switch = NEVER if start == inf else int(start) * STRIDE
        if self._me in site.members:
            self._mesh.reach(site.members)
        if number >= self._forced_until:
            self._enforcing = self._missing.forcing = False
        return number * STRIDE + site.first

    def _configure(self, slot: int, batch: Batch) -> None:
        """Execute a configuration message (``x_fetch``, ``setup_exit_handling``)."""
        latest = self._sites.latest
        order = batch.order
        assert isinstance(order, Configuration)
        members = latest.members
        idle = order.what == "remove" and not set(order.positions) & set(members)
        if slot <= latest.boot or batch.void or idle:
            return
        start = slot // STRIDE + self._horizon + 1
        site = self._next_site(latest, order, start, slot)
        self._install(site)
        behind = (start + self._horizon) * STRIDE + slot % STRIDE
        gone = self._part(latest, site, behind)
        self._need(behind + STRIDE)
        self._delays.append((behind, site, gone))

    def _part(self, latest: Site, site: Site, behind: int) -> tuple[int, ...]:
        """Who comes begins here, and who goes ends behind one more horizon."""
        gone = tuple(member for member in latest.members if member not in site.members)
        if self._me in gone and self._exit_at == NEVER:
            self._limit = site.start * STRIDE
            self._exit_at = behind
        for member in set(site.members) - set(latest.members):
            self._told[member] = site.boot
        self._cache.keep_for((self._told[member], behind + 2 * STRIDE) for member in gone)
        return gone

    def _force(self, members: int, number: int) -> None:
        """All before a message number, and all that is known, is decided by so many members."""
        number = max(number, self.known // STRIDE + 1)
        self._forced, self._forced_until = members, number
        self._need(number * STRIDE)

    def _learn_forced(self, slot: int, batch: Batch) -> None:
        """Install at once what somebody forces (``handle_learn``, ``start_force_config``)."""
        latest = self._sites.latest
        order = batch.order
        if slot <= latest.boot or not isinstance(order, Configuration):
            return
        start = slot // STRIDE + self._horizon + 1
        site = self._next_site(latest, order, start, slot)
        self._part(latest, site, (start + self._horizon) * STRIDE)
        self._force(site.size, start)
        if self._me in site.members:
            self._exit_at = self._limit = NEVER
        self._install(site)

    def _next_site(self, latest: Site, order: Configuration, start: int, slot: int) -> Site:
        if order.what == "add":
            return latest.with_added(order.positions[0], start, slot, order.life)
        if order.what == "remove":
            return latest.without(order.positions, start, slot)
        if order.what == "lead":
            return latest.led_by(order.positions[0], start, slot)
        return latest.forced_to(order.positions, start, slot)

    def _install(self, site: Site) -> None:
        self._sites.add(site)
        first = site.start * STRIDE
        self._switch = min(self._switch, first)
        self._need(first)
        self._own_until = min(self._own_until, first)
        if self._next_own >= first:
            self._next_own = self._first_own(first)
            self._find_slots_from(first)
        self._installed_s = self._clock._now
        self._grown = True
        self._tell_site(site, False)

    def _need(self, slot: int) -> None:
        """Slots up to this one are wanted: who owns them, skips them (``set_max_synode``)."""
        self.known = max(self.known, slot)

    # -- own slots -----------------------------------------------------------------------------

    def is_too_far(self, slot: int) -> bool:
        """Whether a slot is beyond the event horizon."""
        return slot // STRIDE >= self.executed // STRIDE + self._horizon

    def _first_own(self, slot: int) -> int:
        """The first own slot from a slot on."""
        sites = self._sites
        number = slot // STRIDE
        while True:
            site = sites.at(number)
            until = sites.next_start(number)
            node = None if site is None else site.number_of(self._me)
            if site is not None and node is not None and site.leader in (None, self._me):
                own = number * STRIDE + node
                if own < slot:
                    own += STRIDE
                if own // STRIDE < until:
                    self._own_until = NEVER if until == inf else int(until) * STRIDE
                    return own
            if until == inf:
                return NEVER
            number = int(until)

    def _own_after(self, slot: int) -> int:
        after = slot + STRIDE
        if after < self._own_until:
            return after
        return self._first_own(after // STRIDE * STRIDE)

    # -- sweeper and executor --------------------------------------------------------------------

    def state(self, slot: int) -> Slot | None:
        """What is known about a slot."""
        return self._slots.get(slot)

    def owner(self, slot: int) -> int:
        """The position of the member whose slot it is."""
        members = self._site_of(slot).members
        return members[min(slot % STRIDE, len(members) - 1)]

    def is_member(self) -> bool:
        """Whether this member belongs to the configuration of the next slot."""
        return self._me in self._site.members

    def is_first(self) -> bool:
        """Whether it is the first of those that are alive (``iamthegreatest``)."""
        dead = self.liveness.may_be_dead
        first = next((m for m in self._site.members if m == self._me or not dead(m)), None)
        return first == self._me

    def after(self, slot: int) -> int:
        """The next slot."""
        site = self._site_of(slot)
        node = slot % STRIDE
        following = slot + (site.steps[node] if node < site.size else STRIDE - node)
        behind = self._site_of(following)
        if behind is site:
            return following
        return following // STRIDE * STRIDE + behind.first

    def _sweep(self) -> None:
        """Skip own slots below what is known to be learned, as far as the horizon goes."""
        while self._next_own < self.known:
            slot = self._next_own
            site = self._site_of(slot)
            if site.single:
                return
            if self.is_too_far(slot):
                if not self._sweep_timer:
                    self._sweep_timer = True
                    at_s = self._clock._now + _SWEEP_AGAIN_S
                    self._clock.at(at_s, self._sweep_later, self._life)
                return
            self._next_own = self._own_after(slot)
            if slot >= self.executed and slot not in self._slots:
                self._slots[slot] = SKIPPED
                self._broadcast(_SKIP, slot, site)

    def _sweep_later(self, life: int) -> None:
        if life == self._life:
            self._sweep_timer = False
            self._sweep()
            self._execute()

    def _execute(self) -> None:
        """Execute in order all that is finished, and deliver it; the horizon moves with it."""
        if self._halted:
            return
        slots = self._slots
        slot = before = self.executed
        while (state := slots.get(slot)) is not None and state.finished:
            del slots[slot]
            batch = state.batch
            here = slot
            slot += self._steps[slot % STRIDE]
            if slot >= self._switch:
                slot = self._enter(slot // STRIDE)
                self._tell_site(self._site, True)
            self.executed = slot
            if batch is None:
                if not self._delays:
                    self.delivered = slot
                elif slot >= self._delays[0][0]:
                    self._release()
                continue
            if self._cache.keep(here, batch):
                self._forget()
            if batch.order is not None:
                if isinstance(batch.order, Configuration):
                    self._configure(here, batch)
                elif self._sites.latest.single:
                    self._note_present(here, batch.order)
            if self._delays:
                self._held.append((here, batch))
                if slot >= self._delays[0][0]:
                    self._release()
                continue
            self.delivered = slot
            sender = batch.sender
            for payload in batch.payloads:
                self._deliver_to(sender, payload)
            if batch.order is not None:
                self._follow(here, batch.order)
            slot = self.executed
        if slot == before or not self.running:  # a delivery may have ended it
            return
        self._use_horizon()
        if slot >= self._exit_at:
            self._halted = True
            self._missing.stop()
            self._clock.at(self._clock._now + _TERMINATE_S, self._leave, self._life)
        elif self.executed == slot:
            self._missing.arrive()
            if self._grown:  # a configuration wants slots behind it
                self._grown = False
                self._sweep()
                self._execute()

    def _release(self) -> None:
        """A majority of the new configuration knows all of the old one: deliver, and tell."""
        delays = self._delays
        ready = []
        while delays and self.executed >= delays[0][0]:
            ready.append(delays.popleft())
        held, self._held = self._held, []
        self.delivered = self.executed
        limit, life = self._limit, self._life
        for slot, batch in held:
            if slot >= limit or life != self._life:
                break
            for payload in batch.payloads:
                self._deliver_to(batch.sender, payload)
            if batch.order is not None:
                self._follow(slot, batch.order)
        for _, site, gone in ready:
            for member in gone:
                if member != self._me and self._me in site.members:
                    self._push_values(member, site.start * STRIDE)

    def _push_values(self, peer: int, slot: int) -> None:
        """Send a member all that is known from a slot on."""
        slot = max(slot, self._cache.begin, self._cache.first)
        while slot <= self.known:
            if slot < self.executed:
                self._send_value(peer, slot, self._cache.get(slot), asked=False)
            else:
                state = self._slots.get(slot)
                if state is not None and state.finished:
                    self._send_value(peer, slot, state.batch, asked=False)
            slot = self.after(slot)

    def _follow(self, slot: int, order: Configuration | Present) -> None:
        """Execute an order at its place among the deliveries (``execute_msg``)."""
        if not isinstance(order, Present):
            return
        site = self._site_of(slot)
        if order.members == site.size:
            self._tell_present(site, order.positions & frozenset(site.members))

    def _note_present(self, slot: int, order: Present) -> None:
        """A single leader is one of those that are alive (``execute_msg``, ``analyze_leaders``)."""
        latest = self._sites.latest
        there = order.positions & frozenset(latest.members)
        newer = slot > max(latest.boot, latest.start * STRIDE)
        if newer and order.members == latest.size and there and there != latest.present:
            start = slot // STRIDE + self._horizon + 1
            self._install(latest.with_present(there, start, slot))

    def _forget(self) -> None:
        """Let the cache forget what nobody needs."""
        told, me = self._told, self._me
        members = {*self._site.members, *self._sites.latest.members} - {me}
        needed = min((told[member] for member in members), default=self.delivered)
        heard = self.delivered
        if self._clock._now < self._installed_s + _PROTECTED_S:
            heard = 0
        for member in members:
            if self.liveness.alive(member):
                heard = min(heard, told[member])
        self._cache.forget(heard, min(needed, self.delivered))

    def _leave(self, life: int) -> None:
        if life == self._life:
            self._terminate("removed")

    def _terminate(self, why: str) -> None:
        """See ``Consensus``."""
        self.end()
        self._tell_exit(why)
