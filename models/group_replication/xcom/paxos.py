"""XCom: total order by Paxos over numbered slots that the members own in turn.

Every message number has one slot for each leader, and slots are delivered in the order (number,
member). A member proposes only in its own slots, so nobody competes with it and Paxos needs no
prepare phase: accept to all, acknowledgements from a majority, learn to all. What is learned tells
the others how far the numbers have got; they skip their own slots below it. So do the skips of
others: where the way over a third member is shorter, its skip comes before the learn message. That
is measured (MySQL 9.7, dataset symmetric-sites: two layouts within 2 %, which come out 6 and 90 %
too slow without it); in the source that was read, 8.0, only learn and alive messages do so. A slot
is delivered when every slot before it is learned or skipped, so with several leaders the slowest
*live* member bounds every delivery although a majority is enough for consensus.

Three things are taken in this order, which decides how throughput grows with load: a proposer
takes all messages that wait as one batch, then the member's next slot, and only then it waits
until the slot is within the event horizon.

With a single leader only its slots exist and nothing is skipped; other members ask it for a slot.

Simplified: membership is fixed and nobody fails (no view changes, no detector); links lose nothing
for good (TCP), so that no value has to be read from another member and no no-op is proposed for
someone else's slot (real members begin to, after 0.1 s and five median rounds without a delivery);
alive messages, which are not ordered, are left out.

References
----------
mysql/mysql-server, plugin/group_replication/libmysqlgcs/src/bindings/xcom/xcom/xcom_base.cc:
proposer_task, reserve_synode_number, handle_accept, handle_ack_accept, handle_tiny_learn,
sweeper_task, executor_task, too_far. Y. Mao, F. Junqueira, K. Marzullo: Mencius (OSDI 2008).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from simrep.modelling import Clock, Deliver, Mesh, MessageText, Routine
from simrep.modelling.watching import together

__all__ = ["KINDS", "SKIP", "Xcom", "XcomOptions", "describe_xcom"]

_MESSAGE_BYTES: Final = 200  # pax_msg without its payload, TLS record, TCP/IP
_SWEEP_AGAIN_S: Final = 0.010  # a sweeper that is stopped by the event horizon looks again
_ASK_AGAIN_S: Final = 0.1  # a proposer without a slot of the leader's asks again

_ACCEPT: Final = 0
_ACK: Final = 1
_LEARN: Final = 2
SKIP: Final = 3
_ASK: Final = 4
_GRANT: Final = 5
KINDS: Final = ("accept", "ack", "learn", "skip", "ask", "grant")
"""Names of the messages by ``kind``."""

Batch = tuple[list[Any], int]


@dataclass(frozen=True, slots=True)
class XcomOptions:
    """Settings of the group communication, with the product's defaults."""

    # Message numbers past the next one to be delivered that may be in use (the write concurrency of
    # the group: 10 to 200); at least 2.
    event_horizon: int = 10
    proposers: int = 10  # rounds of consensus that a member has under way at most (compiled in)
    largest_batch: int = 5000  # messages in one slot at most (MAX_BATCH_APP_DATA)
    # A batch is closed by the message that makes it larger than this (MAX_BATCH_SIZE).
    largest_batch_bytes: int = 0x3FFFFFFF
    leader: int | None = None  # the only member with slots; None: all have them


class _Message:
    __slots__ = ("batch", "kind", "known", "slot", "source")

    def __init__(
        self, kind: int, source: int, slot: int, known: int, batch: Batch | None = None
    ) -> None:
        self.kind = kind
        self.source = source
        self.slot = slot
        self.known = known  # the highest slot that the sender knew to be learned
        self.batch = batch


class _Slot:
    """What a member knows about a slot that it has not delivered."""

    __slots__ = ("acks", "batch", "finished", "source")

    def __init__(self) -> None:
        self.acks = 0
        self.batch: Batch | None = None  # accepted; stays None for a skipped slot
        self.finished = False  # learned or skipped
        self.source = -1


class Xcom:
    """One member of the group.

    Slots are numbered through: with L leaders, the slot of the leader at position p (from 0) in
    message number m is ``m * L + p``.
    """

    def __init__(
        self,
        clock: Clock,
        mesh: Mesh,
        size: int,
        options: XcomOptions,
        proposal: Routine | None = None,
    ) -> None:
        self._clock = clock
        self._mesh = mesh  # its thread is the single thread of XCom
        self._proposal = proposal
        self._me = mesh.me
        self._majority = size // 2 + 1
        self._leader = options.leader
        self._leaders = size if options.leader is None else 1
        self._horizon = options.event_horizon
        self._largest = options.largest_batch
        self._largest_bytes = options.largest_batch_bytes
        # Own slots are those of one position, but for members that own none.
        position = self._me if options.leader is None else 0
        self._owner = options.leader is None or options.leader == self._me
        self._slots: dict[int, _Slot] = {}
        self._executed = 0  # the next slot to deliver
        self._known = -1  # the highest slot known to be learned (max_synode)
        self._next_own = position  # the next own slot that is neither proposed in nor skipped
        self._input: deque[tuple[Any, int]] = deque()
        self._idle_proposers = options.proposers
        self._waking = False
        self._too_far: deque[tuple[int, Batch]] = deque()  # slots past the horizon, in order
        self._without_slot: deque[Batch] = deque()  # batches that wait for a grant of the leader
        self._sweep_timer = False
        self._tell_sent: Callable[[list[Any]], object] | None = None
        self.batches = self.proposed = 0
        mesh.on_message(self._receive)

    def on_send(self, call: Callable[[list[Any]], object]) -> None:
        """Tell ``call(payloads)`` what is proposed now, in one slot."""
        self._tell_sent = call

    def on_deliver(self, deliver: Deliver) -> None:
        """Hand every ordered message to ``deliver(sender, payload)``."""
        self._deliver_to = deliver

    # -- proposers -----------------------------------------------------------------------------

    def send(self, payload: Any, size_bytes: int) -> bool:
        """Hand over a message; it is never refused."""
        self._input.append((payload, size_bytes))
        if not self._waking and self._idle_proposers:
            self._wake_proposer()
        return True

    def _wake_proposer(self) -> None:
        """A proposer runs when the thread gets round to it: what came until then is its batch."""
        self._waking = True
        cost = 0.0 if self._proposal is None else self._proposal.cost()
        self._mesh.thread.do(cost, self._propose)

    def _propose(self, _: None) -> None:
        self._waking = False
        self._idle_proposers -= 1
        batch = self._take_batch()
        if self._owner:
            slot = self._next_own
            self._next_own += self._leaders
            self._reserve(slot, batch)
        else:
            self._without_slot.append(batch)
            self._ask(batch)
        if self._input and self._idle_proposers:
            self._wake_proposer()

    def _take_batch(self) -> Batch:
        waiting = self._input
        payloads: list[Any] = []
        total = 0
        while waiting and len(payloads) < self._largest and total <= self._largest_bytes:
            payload, size = waiting.popleft()
            payloads.append(payload)
            total += size
        self.batches += 1
        self.proposed += len(payloads)
        return payloads, total

    def _reserve(self, slot: int, batch: Batch) -> None:
        """Use the slot now, or when the horizon has reached it."""
        if self._too_far or self._is_too_far(slot):
            self._too_far.append((slot, batch))
        else:
            self._push(slot, batch)

    def _is_too_far(self, slot: int) -> bool:
        leaders = self._leaders
        return slot // leaders >= self._executed // leaders + self._horizon

    def _push(self, slot: int, batch: Batch) -> None:
        state = self._slot(slot)
        state.batch = batch
        state.source = self._me
        state.acks = 1
        if self._tell_sent is not None:
            self._tell_sent(batch[0])
        self._broadcast(_ACCEPT, slot, batch)
        if self._majority == 1:
            self._choose(slot, state)

    def _choose(self, slot: int, state: _Slot) -> None:
        """A majority has accepted: tell everybody."""
        self._broadcast(_LEARN, slot)
        if slot > self._known:
            self._known = slot
        state.finished = True
        if state.batch is not None and state.batch[0]:
            self._idle_proposers += 1
            if self._input and not self._waking:
                self._wake_proposer()
        self._sweep()
        self._execute()

    # -- a single leader's slots for the others ------------------------------------------------

    def _ask(self, batch: Batch) -> None:
        if any(waiting[0] is batch[0] for waiting in self._without_slot):
            leader = self._leader
            assert leader is not None
            message = _Message(_ASK, self._me, -1, self._known)
            self._mesh.send(leader, message, _MESSAGE_BYTES)
            self._clock.at(self._clock._now + _ASK_AGAIN_S, self._ask, batch)

    def _grant(self, member: int) -> None:
        slot = self._next_own
        if not self._is_too_far(slot):
            self._next_own += 1
            grant = _Message(_GRANT, self._me, slot, self._known)
            self._mesh.send(member, grant, _MESSAGE_BYTES)

    def _granted_slot(self, slot: int) -> None:
        """Use it for the batch that waits longest; a spare one at once, for nothing."""
        self._reserve(slot, self._without_slot.popleft() if self._without_slot else ([], 0))

    # -- acceptors and learners ----------------------------------------------------------------

    def _receive(self, message: _Message) -> None:
        kind = message.kind
        if kind == _ACCEPT:
            state = self._slot(message.slot)
            state.batch = message.batch
            state.source = message.source
            reply = _Message(_ACK, self._me, message.slot, self._known)
            self._mesh.send(message.source, reply, _MESSAGE_BYTES)
            if self._sweep_timer:  # it was stopped by the horizon
                self._sweep()
                self._execute()
        elif kind == _ACK:
            acknowledged = self._slots.get(message.slot)
            if acknowledged is not None and not acknowledged.finished:
                acknowledged.acks += 1
                if acknowledged.acks == self._majority:
                    self._choose(message.slot, acknowledged)
        elif kind == _LEARN:
            self._slot(message.slot).finished = True
            self._known = max(self._known, message.slot, message.known)
            self._sweep()
            self._execute()
        elif kind == SKIP:
            self._slot(message.slot).finished = True
            self._known = max(self._known, message.known)
            self._sweep()
            self._execute()
        elif kind == _ASK:
            self._grant(message.source)
        else:
            self._granted_slot(message.slot)

    def _slot(self, slot: int) -> _Slot:
        state = self._slots.get(slot)
        if state is None:
            state = self._slots[slot] = _Slot()
        return state

    def _broadcast(self, kind: int, slot: int, batch: Batch | None = None) -> None:
        size = _MESSAGE_BYTES if batch is None else _MESSAGE_BYTES + batch[1]
        self._mesh.broadcast(_Message(kind, self._me, slot, self._known, batch), size)

    # -- sweeper and executor ------------------------------------------------------------------

    def _sweep(self, _: None = None) -> None:
        """Skip own slots below what is known to be learned, as far as the horizon goes."""
        if self._leader is not None:
            return
        while self._next_own < self._known:
            slot = self._next_own
            if self._is_too_far(slot):
                if not self._sweep_timer:
                    self._sweep_timer = True
                    self._clock.at(self._clock._now + _SWEEP_AGAIN_S, self._sweep_later)
                return
            self._next_own += self._leaders
            self._slot(slot).finished = True
            self._broadcast(SKIP, slot)

    def _sweep_later(self, _: None) -> None:
        self._sweep_timer = False
        self._sweep()
        self._execute()

    def _execute(self) -> None:
        """Deliver in order all that is finished; the horizon moves with it."""
        slots = self._slots
        before = self._executed
        while (state := slots.get(self._executed)) is not None and state.finished:
            del slots[self._executed]
            self._executed += 1
            if state.batch is not None:
                source = state.source
                for payload in state.batch[0]:
                    self._deliver_to(source, payload)
        if self._executed == before:
            return
        waiting = self._too_far
        while waiting and not self._is_too_far(waiting[0][0]):
            slot, batch = waiting.popleft()
            self._push(slot, batch)


def describe_xcom(message: Any, payload: Callable[[Any], MessageText]) -> MessageText:
    """A message of XCom; a slot is the position of what is proposed in it and of all answers."""
    kind = KINDS[message.kind]
    if message.batch is None or not message.batch[0]:
        return MessageText(kind, (), message.slot if message.slot >= 0 else None)
    text = together(payload(one) for one in message.batch[0])
    return MessageText(f"{kind}: {text.label}", text.about, message.slot)
