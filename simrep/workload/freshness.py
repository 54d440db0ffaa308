"""Whether what clients read misses what clients had been told: stale reads, seen from outside.

A client sends a transaction that begins with a read. Its server takes the snapshot of all its reads
when it begins to execute the first statement, after whatever a consistency level has it wait for. A
transaction that was answered to its client before the read was sent, and that the server has not
committed when it takes the snapshot, is missing in it. Then the read is stale; its age is the time
since the oldest such transaction was answered. What is answered while the read is on its way, or
waits, is concurrent with it: nobody can tell which of the two was first, and no product promises
anything.

Writes are followed by their fates: all that a node lacks is kept, and nothing of what all have.
Nothing here makes an event or draws a random number.

Simplified: a server whose processor is busy, or which stands still, takes the snapshot when the
statement arrives. Scheduled transactions are not looked at. Of a stream with any number of
connections every transaction has a client of its own, which has written nothing before.

References
----------
M. Herlihy and J. Wing, Linearizability, ACM TOPLAS 12 (1990), doi 10.1145/78969.78972: what has
returned before another operation is called comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from copy import copy
from math import inf, nan
from typing import Any, NamedTuple, Protocol

from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock, Event
from simrep.workload.clients import Clients, Server
from simrep.workload.fate import Fate, Fates
from simrep.workload.mix import Make
from simrep.workload.served import Resume
from simrep.workload.transaction import (
    Statement,
    TrackedTransaction,
    Transaction,
    Witness,
)
from simrep.workload.workload import Arrivals, Loop

__all__ = ["FollowedClients", "FollowedFates", "ReadRecorder", "WaitingServer"]

_FIRST = 0  # of what is numbered from 1 on, before anything is


class ReadRecorder(Protocol):
    """Who is told of every read whose client has its answer."""

    def read(
        self, at_s: float, node: int, group: int, age_s: float, missed_own: bool | None
    ) -> None:
        """A read.

        Parameters
        ----------
        at_s : float
            When its server took the snapshot.
        node, group : int
            Where, and for which group of clients.
        age_s : float
            Its age in seconds; NaN if it was not stale.
        missed_own : bool or None
            Whether the last write of its own client was missing; None if there was none.
        """


class _Snapshot(NamedTuple):
    """What a read saw."""

    at_s: float
    age_s: float
    missed_own: bool | None


class _Sent(NamedTuple):
    """Of a transaction under way: who sent it, and after how many answers."""

    group: int
    lasting: bool  # its client sends others
    own_writes_s: float | None  # how long it may wait for what that has written
    after: int


class FollowedFate(Fate):
    """A fate that tells which nodes lack what was answered.

    Attributes
    ----------
    number : int
        Its place in the order of all answers, from 1; 0 before.
    """

    fates: FollowedFates

    def __init__(self, fates: FollowedFates, transaction: TrackedTransaction) -> None:
        super().__init__(fates)
        self.transaction = transaction
        self.client = transaction.client if transaction.sent.lasting else -1
        self.number = _FIRST
        self.readable = 0  # a bit for each node whose readers see it

    def shown(self, node: int) -> None:
        """See ``Witness.shown``; of one in several parts nobody knows which is the last."""
        if self._parts == 1:
            self.readable |= 1 << node
            if self.number:
                self.fates.arrived(self, node)

    def committed(self, node: int) -> None:
        """See ``Fate.committed``."""
        super().committed(node)
        if self.nodes >> node & 1:
            self.readable |= 1 << node
            if self.number:
                self.fates.arrived(self, node)

    def forgotten(self, node: int) -> None:
        """See ``Fate.forgotten``."""
        super().forgotten(node)
        self.readable &= ~(1 << node)
        if self.number:
            self.fates.missed(self, node)

    def ended(self, ending: str) -> None:
        """See ``Fate.ended``."""
        super().ended(ending)
        if ending == "answered":
            self.fates.answered(self)


class FollowedFates(Fates):
    """Fates of transactions that write, and whether others see them.

    Parameters
    ----------
    clock : Clock
    nodes : int
    arbitrators : collection of int
    recorder : ReadRecorder
    model : str
        Its name, for errors.
    """

    def __init__(
        self,
        clock: Clock,
        nodes: int,
        arbitrators: Collection[int],
        recorder: ReadRecorder,
        model: str,
    ) -> None:
        super().__init__(clock, nodes, arbitrators)
        self._recorder = recorder
        self._model = model
        self._answers = _FIRST
        # By node what was answered and is not committed there, the oldest answer first.
        self._lacking: list[dict[FollowedFate, None]] = [{} for _ in range(nodes)]
        self._own: dict[int, FollowedFate] = {}  # the last write of each client that stays
        self._lost: set[FollowedFate] = set()  # of these, for as long as nobody is back who has it
        self._waiting: dict[tuple[FollowedFate, int], list[Event]] = {}  # for a write on a node

    # -- what clients send and get ----------------------------------------------------------------

    def marked(self, make: Make, source: Loop | Arrivals, group: int) -> Make:
        """See ``Fates.marked``."""
        lasting = source.lasting
        own_writes_s = None if source.policy is None else source.policy.own_writes_s
        mark = _Sent(group, lasting, own_writes_s, _FIRST)

        def sent(now: float) -> Transaction:
            transaction = make(now)
            assert isinstance(transaction, TrackedTransaction)
            transaction.sent = mark
            return transaction

        return sent

    def send(self, transaction: TrackedTransaction) -> None:
        """See ``Fates.send``."""
        sent: _Sent = transaction.sent
        transaction.sent = sent._replace(after=self._answers)
        transaction.seen = None

    def begin(self, transaction: TrackedTransaction, before: Fate | None = None) -> Fate:
        """See ``Fates.begin``."""
        return self.follow(FollowedFate(self, transaction), transaction, before)

    def answered(self, fate: FollowedFate) -> None:
        """A client is told that its transaction is committed: reads sent from now on are to see it.

        A transaction that no other node will have is nowhere missing.
        """
        self._answers += 1
        fate.number = self._answers
        if fate.client >= 0:
            self._own[fate.client] = fate
        lacking = fate.wanted & ~fate.readable
        for node, own in enumerate(self._lacking):
            if lacking >> node & 1:
                own[fate] = None

    def read(self, transaction: TrackedTransaction) -> None:
        """See ``Fates.read``."""
        if not _reads(transaction):
            return
        seen: _Snapshot | None = transaction.seen
        if seen is None:
            raise ScenarioError(
                "run.staleness",
                f"model {self._model!r} does not tell when a read takes its snapshot",
                "its servers take the statements of clients by Sessions, or leave it out",
            )
        self._recorder.read(
            seen.at_s, transaction.node, transaction.sent.group, seen.age_s, seen.missed_own
        )

    def wait(self, transaction: TrackedTransaction) -> TrackedTransaction | None:
        """What a client lets a server do first, before it reads there; None if that is nothing.

        It waits for the last write of the client, if that was on another node.
        """
        sent: _Sent = transaction.sent
        own = self._own.get(transaction.client) if sent.lasting else None
        if transaction.rows or sent.own_writes_s is None or own is None:
            return None
        if own.transaction.node == transaction.node:
            return None
        first = copy(transaction)
        first.statements = (Statement(0, 0),)
        first.autocommit = True
        first.started_s = self.clock.now
        first.journal = Witness()
        first.seen = own
        return first

    # -- what nodes do ---------------------------------------------------------------------------

    def snapshot(self, transaction: Transaction) -> None:
        """A server begins to execute the first statement of a transaction."""
        if not isinstance(transaction, TrackedTransaction) or transaction.sent is None:
            return
        if isinstance(transaction.seen, FollowedFate):
            transaction.awaited = self._wait_for(transaction.seen, transaction)
            return
        if transaction.abandoned or not _reads(transaction):
            return
        lacking, now = self._lacking[transaction.node], self.clock.now
        sent: _Sent = transaction.sent
        age_s = nan
        for fate in self._oldest(lacking):
            if fate.number <= sent.after:
                age_s = now - fate.answered_s
        own = self._own.get(transaction.client) if sent.lasting else None
        missed_own = None if own is None else own in lacking and not self._is_lost(own)
        transaction.seen = _Snapshot(now, age_s, missed_own)

    def arrived(self, fate: FollowedFate, node: int) -> None:
        """A node has committed what was answered before."""
        self._lacking[node].pop(fate, None)
        if fate in self._lost:  # it was not, after all
            for other in range(len(self._lacking)):
                self._compare(other)
        if self._waiting:
            for awaited in self._waiting.pop((fate, node), ()):
                self._end(awaited)

    def missed(self, fate: FollowedFate, node: int) -> None:
        """A node has lost what it had committed."""
        if fate.wanted >> node & 1:
            self._reorder(node, {*self._lacking[node], fate})

    def adopted(self, node: int, donor: int) -> None:
        """See ``Fates.adopted``."""
        super().adopted(node, donor)
        self._compare(node)

    def emptied(self, node: int) -> None:
        """See ``Fates.emptied``."""
        super().emptied(node)
        self._compare(node)

    def node_changes(self, change: tuple[int, bool]) -> None:
        """See ``Fates.node_changes``: what was shown is gone if it was not on the disk."""
        super().node_changes(change)
        self._compare(change[0])

    def inside(self, node: int) -> None:
        """See ``Fates.inside``: what only this node has is not lost."""
        super().inside(node)
        for other in range(len(self._lacking)):
            self._compare(other)

    def never_told(self) -> None:
        """See ``Fates.never_told``: then nobody knows which reads are stale."""
        raise ScenarioError(
            "run.staleness",
            f"model {self._model!r} does not tell which nodes have committed a transaction",
            "transaction.journal.committed(node) tells it",
        )

    def _oldest(self, lacking: dict[FollowedFate, None]) -> Sequence[FollowedFate]:
        """The oldest write that a node lacks, if there is one; what is lost is set aside."""
        oldest = []
        gone = []
        for fate in lacking:
            if not self._is_lost(fate):
                oldest.append(fate)
                break
            gone.append(fate)
        for fate in gone:
            del lacking[fate]
            self._lost.add(fate)
        return oldest

    def _is_lost(self, fate: FollowedFate) -> bool:
        """Whether no node of the service has it any more."""
        return not fate.nodes & ~self._outside

    def _wait_for(self, fate: FollowedFate, transaction: TrackedTransaction) -> Event | None:
        """What a session waits for that wants this on its server; None if that is there."""
        node, limit_s = transaction.node, transaction.sent.own_writes_s
        if fate not in self._lacking[node]:
            return None
        awaited = Event(self.clock)
        self._waiting.setdefault((fate, node), []).append(awaited)
        if limit_s < inf:
            self.clock.at(self.clock.now + limit_s, self._end, awaited)
        return awaited

    def _end(self, awaited: Event) -> None:
        if not awaited.triggered:
            self.clock.fire(awaited)

    def _compare(self, node: int) -> None:
        """What a node has now is what it has committed."""
        lacking = set()
        for fate in self.kept:
            assert isinstance(fate, FollowedFate)
            if fate.nodes >> node & 1:
                fate.readable |= 1 << node
                continue
            fate.readable &= ~(1 << node)
            if fate.number and fate.wanted >> node & 1:
                lacking.add(fate)
        self._reorder(node, lacking)

    def _reorder(self, node: int, lacking: Collection[FollowedFate]) -> None:
        self._lacking[node] = dict.fromkeys(sorted(lacking, key=lambda fate: fate.number))
        self._lost.difference_update(lacking)
        for fate, of in [key for key in self._waiting if key[1] == node and key[0] not in lacking]:
            for awaited in self._waiting.pop((fate, of)):
                self._end(awaited)


class FollowedClients(Clients):
    """Clients of a run without faults, whose writes are followed to all nodes."""

    def __init__(self, *how: Any, fates: Fates, groups: Mapping[str, int]) -> None:
        super().__init__(*how, tracked=True)
        self._fates = fates
        self._groups = groups

    def _make(self, source: Loop | Arrivals, name: str, client: int, node: int) -> Make:
        make = super()._make(source, name, client, node)
        return self._fates.marked(make, source, self._groups[source.group])

    def _submit(self, transaction: Transaction, resume: Resume) -> Generator[None, Any, bool]:
        assert isinstance(transaction, TrackedTransaction)
        fates = self._fates
        fates.send(transaction)
        fate = fates.begin(transaction) if transaction.rows else None
        committed = yield from super()._submit(transaction, resume)
        if fate is not None:
            fate.ended("answered" if committed else "failed")
            if not committed:
                fates.dismiss(fate)
        if committed:
            fates.read(transaction)
        return committed


class WaitingServer:
    """A server whose clients wait for their own writes, before they read on another node.

    The wait is a statement of its own, on the connection of the read.

    Parameters
    ----------
    clock : Clock
    server : Server
    fates : FollowedFates
    """

    def __init__(self, clock: Clock, server: Server, fates: FollowedFates) -> None:
        self._clock = clock
        self._server = server
        self._fates = fates

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """See ``Server.connect``."""
        return self._server.connect(node)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """See ``Server.transact``."""
        if isinstance(transaction, TrackedTransaction) and transaction.sent is not None:
            first = self._fates.wait(transaction)
            if first is not None:
                return self._after(first, transaction)
        return self._server.transact(transaction)

    def _after(
        self, first: TrackedTransaction, transaction: TrackedTransaction
    ) -> Generator[Event, Any, bool]:
        done = yield from self._server.transact(first)
        if not done or transaction.abandoned:
            transaction.error, transaction.unserved = first.error, first.unserved
            return False
        transaction.waited_s = self._clock.now - first.started_s
        return (yield from self._server.transact(transaction))


def _reads(transaction: Transaction) -> bool:
    """Whether it begins with a read."""
    return transaction.statements[0].rows_read > 0
