"""Paxos about single slots: what acceptors promise and accept, and who learns what.

Each slot is an instance of its own. Its owner proposes in it without asking before (ballot 0, two
phases: accept, learn) or leaves it empty. Whoever else wants to have it decided asks all for a
promise first, with a higher ballot; what a member of the majority that promises has accepted
already is then proposed again, the latest of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final, Protocol

from simrep.modelling import Clock, Mesh

from .cache import MessageCache
from .proposal_times import ProposalTimes
from .site import STRIDE, Site
from .slots import SKIPPED, Batch, Kind, Message, Promise, Round, Slot

__all__ = ["MESSAGE_BYTES", "NEVER", "Consensus", "Liveness"]

MESSAGE_BYTES: Final = 200
"""A message without its payload: pax_msg, TLS record, TCP/IP."""
_ENFORCED = 1 << 29  # who forces a configuration has higher ballots than all others
NEVER: Final = 1 << 62
"""A slot that no group comes to."""

_ACCEPT, _ACK, _LEARN, _SKIP, _ASK, _GRANT = range(6)
_PREPARE, _PROMISE, _READ, _VALUE, _DIE = range(6, 11)


class Liveness(Protocol):
    """What a member's failure detector knows."""

    def may_be_dead(self, position: int) -> bool:
        """Whether nothing was heard of a member for more than 4 s; never of itself."""
        ...

    def alive(self, position: int) -> bool:
        """Whether something was heard of a member within 5 s; always of itself."""
        ...


class Consensus(ABC):
    """One member as proposer, acceptor and learner of slots.

    Attributes
    ----------
    running : bool
        It takes part: it has a configuration.
    group : int
        Which group it is in; messages of others are of no interest.
    executed, delivered : int
        The next slot to execute, and to deliver.
    known : int
        The highest slot known to be learned, or needed (``max_synode``).
    active_s : float
        When it last sent something to all others.
    waves : int
        How often it has proposed that a slot of another member stays empty.
    """

    running: bool
    group: int
    executed: int
    delivered: int
    known: int
    _site: Site
    _slots: dict[int, Slot]
    _sweep_timer: bool  # the sweeper was stopped by the horizon
    # Before this message number so many members must agree, all of a configuration that is forced.
    _forced_until: int
    _forced: int
    _enforcing: bool  # this member forces it

    def __init__(
        self, clock: Clock, mesh: Mesh, liveness: Liveness, times: ProposalTimes, cache_bytes: int
    ) -> None:
        self._clock = clock
        self._mesh = mesh
        self._me = mesh.me
        self.liveness = liveness
        self._times = times
        self._cache = MessageCache(cache_bytes)
        self._told = [0] * mesh.size  # which slot each member was to deliver next
        self._asked = 0  # the node number that was asked last
        self._early: dict[int, Batch | None] = {}  # learned before there was a snapshot
        self.active_s = 0.0
        self.waves = 0

    # -- what a member does with what it learns --------------------------------------------------

    @abstractmethod
    def _site_of(self, slot: int) -> Site:
        """The configuration that holds for a slot."""

    @abstractmethod
    def _settle(self, slot: int, learned: Batch | None) -> None:
        """It is known what became of an own proposal."""

    @abstractmethod
    def is_own(self, slot: int) -> bool:
        """Whether this member proposes something in the slot itself."""

    @abstractmethod
    def _sweep(self) -> None:
        """Skip own slots below what is known to be learned."""

    @abstractmethod
    def _execute(self) -> None:
        """Execute all that is finished."""

    @abstractmethod
    def _learn_forced(self, slot: int, batch: Batch) -> None:
        """Somebody forces a configuration."""

    @abstractmethod
    def _grant(self, member: int) -> None:
        """Another member asks the single leader for a slot."""

    @abstractmethod
    def _granted_slot(self, slot: int) -> None:
        """The single leader has given this member a slot."""

    @abstractmethod
    def _terminate(self, why: str) -> None:
        """End by itself."""

    # -- messages --------------------------------------------------------------------------------

    def _message(self, kind: int, slot: int, batch: Batch | None = None, ballot: int = -1) -> Any:
        return Message(kind, self._me, slot, self.known, self.delivered, self.group, batch, ballot)

    def _broadcast(
        self, kind: int, slot: int, site: Site, batch: Batch | None = None, ballot: int = -1
    ) -> None:
        message = Message(
            kind, self._me, slot, self.known, self.delivered, self.group, batch, ballot
        )
        size = MESSAGE_BYTES if batch is None else MESSAGE_BYTES + batch.size_bytes
        self.active_s = self._clock._now
        if site is self._site:
            self._mesh.broadcast(message, size)
        else:
            self._mesh.send_each(site.others(self._me), message, size)

    def _send_value(self, peer: int, slot: int, batch: Batch | None, *, asked: bool = True) -> None:
        """Send what was learned, as an answer or because it will be needed."""
        size = MESSAGE_BYTES if batch is None else MESSAGE_BYTES + batch.size_bytes
        message = self._message(Kind.VALUE, slot, batch)
        if asked:
            self._mesh.send(peer, message, size)
        else:
            self._mesh.send_each((peer,), message, size)

    def receive(self, message: Message) -> None:
        """Take a message of another member."""
        if message.group != self.group:
            self._receive_early(message)
            return
        self._told[message.source] = message.delivered
        kind = message.kind
        slot = message.slot
        if kind == _ACCEPT:
            self._accept(message)
        elif kind == _ACK:
            state = self._slots.get(slot)
            if state is not None and not state.finished:
                attempt = state.round
                if attempt is not None and attempt.ballot == message.ballot:
                    attempt.acks += 1
                    if attempt.acks == attempt.majority:
                        self._choose(slot, state, attempt)
        elif kind == _LEARN:
            if slot >= self.executed:
                state = self._slots.get(slot)
                if state is None or (state.ballot != message.ballot and not state.finished):
                    self.read(slot)
                elif not state.finished:
                    self._finish(slot, state, state.batch)
            known = message.known if message.known > slot else slot
            if known > self.known:
                self.known = known
            self._sweep()
            self._execute()
        elif kind == _SKIP:
            if slot >= self.executed:
                state = self._slots.get(slot)
                if state is None:
                    self._slots[slot] = SKIPPED
                elif not state.finished:
                    self._finish(slot, state, None)
            if message.known > self.known:
                self.known = message.known
            self._sweep()
            self._execute()
        elif kind == _ASK:
            self._grant(message.source)
        elif kind == _GRANT:
            self._granted_slot(slot)
        elif kind == _PREPARE:
            self._promise(message)
        elif kind == _PROMISE:
            state = self._slots.get(slot)
            if state is not None and not state.finished and state.round is not None:
                assert isinstance(message, Promise)
                if state.round.ballot == message.ballot:
                    self._promised(slot, state, state.round, message.accepted, message.batch)
        elif kind == _READ:
            self._teach(message)
        elif kind == _VALUE:
            self._learn(message)
        elif slot >= self.executed:
            self._terminate("too far behind")

    def _receive_early(self, message: Message) -> None:
        """Without a configuration a member only notes what others have learned."""
        if not self.running:
            if message.kind == _VALUE:
                self._early[message.slot] = message.batch
            elif message.kind == _SKIP:
                self._early[message.slot] = None

    # -- acceptors -------------------------------------------------------------------------------

    def _accept(self, message: Message) -> None:
        slot = message.slot
        state = self._slots.get(slot)
        if state is None:
            if slot < self.executed or self._is_nobodys(slot):
                self._teach(message)
                return
            state = self._slots[slot] = Slot()
        if state.finished:
            self._send_value(message.source, slot, state.batch)
            return
        ballot = message.ballot
        if ballot >= state.promise:
            state.batch = message.batch
            state.ballot = ballot
            state.active_s = self._clock._now
            reply = self._message(_ACK, slot, None, ballot)
            self._mesh.send(message.source, reply, MESSAGE_BYTES)
            if self._sweep_timer:
                self._sweep()
                self._execute()

    def _promise(self, message: Message) -> None:
        slot = message.slot
        state = self._slots.get(slot)
        if slot < self.executed or self._is_nobodys(slot) or (state and state.finished):
            self._teach(message)
            return
        if state is None:
            state = self._slots[slot] = Slot()
        ballot = message.ballot
        if ballot > state.promise:
            state.promise = ballot
            state.active_s = self._clock._now
            batch = state.batch
            promise = Promise(
                state.ballot, _PROMISE, self._me, slot, self.known, self.delivered, self.group,
                batch, ballot,
            )  # fmt: skip
            size = MESSAGE_BYTES if batch is None else MESSAGE_BYTES + batch.size_bytes
            self._mesh.send(message.source, promise, size)

    def _is_nobodys(self, slot: int) -> bool:
        """Whether no member has that node number: the sender has not heard of a configuration."""
        return slot % STRIDE >= self._site.size and slot % STRIDE >= self._site_of(slot).size

    def _teach(self, message: Message) -> None:
        """Tell a member that asks, or that is behind, what was learned."""
        slot = message.slot
        if slot < self.executed:
            if slot < self._cache.begin:
                return
            if slot < self._cache.first:
                self._mesh.send(message.source, self._message(_DIE, slot), MESSAGE_BYTES)
            else:
                self._send_value(message.source, slot, self._cache.get(slot))
            return
        state = self._slots.get(slot)
        if state is not None and state.finished:
            self._send_value(message.source, slot, state.batch)
        elif message.kind != _READ:
            self._send_value(message.source, slot, None)  # no slot of this configuration

    # -- learners --------------------------------------------------------------------------------

    def _learn(self, message: Message) -> None:
        """What was agreed on in a slot comes as a whole."""
        slot = message.slot
        self.known = max(self.known, slot, message.known)
        if slot >= self.executed:
            state = self._slots.get(slot)
            if state is None:
                state = self._slots[slot] = Slot()
            if not state.finished:
                self._finish(slot, state, message.batch)
        self._sweep()
        self._execute()

    def _finish(self, slot: int, state: Slot, batch: Batch | None) -> None:
        state.batch = batch
        state.finished = True
        state.active_s = self._clock._now
        if batch is not None and batch.forces:
            self._learn_forced(slot, batch)
        if self.is_own(slot):
            self._settle(slot, batch)

    # -- proposers -------------------------------------------------------------------------------

    def _choose(self, slot: int, state: Slot, attempt: Round) -> None:
        """A majority has accepted: tell everybody."""
        batch = attempt.batch
        site = self._site_of(slot)
        if batch is not None and slot // STRIDE < self._forced_until:
            batch.void = not batch.forces
        if batch is None:
            self._broadcast(_VALUE, slot, site)
        else:
            self._broadcast(_LEARN, slot, site, None, attempt.ballot)
        if slot > self.known:
            self.known = slot
        self._finish(slot, state, batch)
        self._sweep()
        self._execute()

    def _prepare(self, slot: int, state: Slot, attempt: Round) -> bool:
        """Ask all for a promise (``push_msg_3p``); False if this member has no say in the slot."""
        site = self._site_of(slot)
        node = site.number_of(self._me)
        if node is None:
            return False
        count = max(attempt.ballot // STRIDE, state.promise // STRIDE) + 1
        attempt.majority = site.majority
        forces = attempt.batch is not None and attempt.batch.forces  # wherever its slot is
        if forces or slot // STRIDE < self._forced_until:
            attempt.majority = self._forced
            if self._enforcing and count < _ENFORCED:
                count += _ENFORCED
        ballot = attempt.ballot = count * STRIDE + node
        attempt.promises = 0
        attempt.acks = -NEVER  # nobody is asked to accept yet
        self._broadcast(_PREPARE, slot, site, None, ballot)
        state.promise = ballot
        state.active_s = self._clock._now
        self._promised(slot, state, attempt, state.ballot, state.batch)
        return True

    def _promised(
        self, slot: int, state: Slot, attempt: Round, accepted: int, batch: Batch | None
    ) -> None:
        """An acceptor has promised; once it is a majority, propose what they know of last."""
        if accepted > attempt.value_ballot:
            attempt.value_ballot = accepted
            attempt.batch = batch
        attempt.promises += 1
        if attempt.promises != attempt.majority:
            return
        ballot = attempt.value_ballot = attempt.ballot
        attempt.acks = 0
        self._broadcast(_ACCEPT, slot, self._site_of(slot), attempt.batch, ballot)
        if ballot >= state.promise:
            state.batch = attempt.batch
            state.ballot = ballot
            state.active_s = self._clock._now
            attempt.acks = 1
            if attempt.majority == 1:
                self._choose(slot, state, attempt)

    def take_over(self, slot: int) -> bool:
        """Propose that a slot stays empty; False if this member has no say there."""
        state = self._slots.get(slot)
        if state is None:
            state = Slot()
        attempt = Round(None, -1, 0)
        if state.round is not None:
            attempt.ballot = state.round.ballot
        if self._me not in self._site_of(slot).members:
            return False
        self._slots[slot] = state
        state.round = attempt
        self.waves += 1
        return self._prepare(slot, state, attempt)

    def read(self, slot: int) -> None:
        """Ask the next live member for a slot's value; all of them for an own one."""
        site = self._site_of(slot)
        message = self._message(_READ, slot)
        if self._me not in site.members or site.members[slot % STRIDE % site.size] == self._me:
            self._mesh.send_each(site.others(self._me), message, MESSAGE_BYTES)
            return
        size = site.size
        for step in range(1, size):
            node = (self._asked + step) % size
            peer = site.members[node]
            if peer != self._me and not self.liveness.may_be_dead(peer):
                self._asked = node
                self._mesh.send_each((peer,), message, MESSAGE_BYTES)
                return
