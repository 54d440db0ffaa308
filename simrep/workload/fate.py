"""What became of every transaction that writes, in a run in which servers come and go."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import inf, nan
from typing import Any, Protocol

from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock
from simrep.workload.mix import Make
from simrep.workload.transaction import TrackedTransaction, Witness
from simrep.workload.workload import Arrivals, Loop

__all__ = ["Fate", "FateCount", "Fates", "Follower"]

_LATE_S = 1.0
"""A node that has not applied a transaction so long after its answer is behind the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FateCount:
    """How transactions that write ended, and how many of them the nodes have at the end of the run.

    A transaction is there if a node of the service has committed it that is up when the run ends,
    or that has given its state to such a node. One that was answered less than the time before
    which it takes other nodes to apply it may count as lost. A node is outside of the service if
    the others have gone on without it: an old source, after another server was promoted.

    Attributes
    ----------
    answered : int
        Their clients were told that they are committed.
    lost : int
        Of these, on no node.
    lost_span_s : float
        From the answer of the first of them to that of the last, in seconds.
    diverged : int
        Of those that are lost, on a node that is up and outside of the service, or that has kept
        them beside what it has of the others.
    failed : int
        Attempts whose clients were told that they are not committed.
    failed_present : int
        Of these, on a node all the same.
    unknown : int
        Attempts whose clients do not know, as the connection was lost during the commit.
    unknown_present : int
        Of these, on a node.
    duplicated : int
        Transactions that are on a node more than once, as they were submitted again.
    phantom : int
        Transactions that somebody may have read, as a node had committed them, and that are on no
        node at the end.
    extra : int
        All that are on such nodes as ``diverged`` has, answered or not, and on no other.
    overlooked : int
        Transactions that are there, and that another node of the service takes itself to have, but
        has not: it never gets them, and nobody notices.
    waiting : int
        Attempts that have no answer at the end of the run.
    lost_at_s : tuple of float
        When clients were told of each that is lost, in simulated seconds.
    duplicated_at_s, phantom_at_s : tuple of float
        When clients were told of each that is on a node more than once, as far as they were; when
        each could be read that is on no node at the end.
    """

    answered: int
    lost: int
    lost_span_s: float
    diverged: int = 0
    failed: int
    failed_present: int
    unknown: int
    unknown_present: int
    duplicated: int
    phantom: int = 0
    extra: int = 0
    overlooked: int = 0
    waiting: int
    lost_at_s: tuple[float, ...] = ()
    duplicated_at_s: tuple[float, ...] = ()
    phantom_at_s: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name."""
        return {name: getattr(self, name) for name in self.__slots__ if not name.endswith("_at_s")}


class Fate(Witness):
    """What becomes of one attempt at a transaction.

    Attributes
    ----------
    committing : bool
        Its statements are executed: what follows is its commit.
    answered_s : float
        When its client was told that it is committed, in simulated seconds; NaN until then.
    size_bytes : int
        Of its row events.
    left_s : float
        When it left for the cluster that follows; NaN until then.
    """

    counted = True

    def __init__(self, fates: Fates) -> None:
        self.fates = fates
        self.nodes = 0  # a bit for each node that has it
        self.strays = 0  # and for each that has it beside what the others have
        self.overlookers = 0  # and for each that takes itself to have it, and has not
        self.visible = False  # a node had committed it for all to read
        self.visible_s = nan  # since when
        self.wanted = fates.all_nodes
        self.committing = False
        self.ending = ""  # "answered", "failed", "unknown"; empty until then
        self.answered_s = nan
        self.size_bytes = 0
        self.left_s = nan
        self.chain: list[Fate] | None = None  # attempts at the same transaction
        self._parts = 1
        self._left: dict[int, int] = {}

    def split(self, parts: int) -> None:
        """It is committed in so many parts, each of them on all nodes."""
        self._parts = parts

    def alone(self) -> None:
        """No other node will have it."""
        self.fates.told = True
        self.wanted &= self.fates.elsewhere

    def executed(self) -> None:
        """Its statements are executed."""
        self.committing = True

    def committed(self, node: int) -> None:
        """A node has committed it (its last part, if it was split)."""
        self.fates.told = True
        if self._parts > 1:
            self._left[node] = left = self._left.get(node, self._parts) - 1
            if left > 0:
                return
        if not self.visible:
            self.visible, self.visible_s = True, self.fates.clock._now
        self.nodes |= 1 << node
        self.overlookers &= ~self.nodes
        if self.fates.follower is not None:
            self.fates.follower.committed(self, node)
        self.settle()

    def recovered(self, node: int) -> None:
        """See ``Witness.recovered``: nobody had read it before the end of its server."""
        visible = self.visible
        self.committed(node)
        self.visible = visible

    def strayed(self, node: int) -> None:
        """See ``Witness.strayed``."""
        self.nodes &= ~(1 << node)
        self.strays |= 1 << node
        self.fates.reopened(self)

    def overlooked(self, node: int) -> None:
        """See ``Witness.overlooked``."""
        self.forgotten(node)
        self.overlookers |= 1 << node

    def forgotten(self, node: int) -> None:
        """See ``Witness.forgotten``; of one in several parts, its last part."""
        self.nodes &= ~(1 << node)
        self._left.pop(node, None)
        self.fates.reopened(self)

    def ended(self, ending: str) -> None:
        """Its client is told that it is committed or failed, or does not know."""
        self.ending = ending
        if ending == "answered":
            self.answered_s = self.fates.answered_s = self.fates.clock._now
            if self.fates.follower is not None:
                self.fates.follower.answered(self)
        self.settle()

    def settle(self) -> None:
        """See whether there is nothing more to learn of it."""
        if self.ending == "answered" and not self.fates.told:
            self.fates.never_told()
        if self.wanted & ~self.nodes or self.ending != "answered":
            return
        now_s = self.fates.clock._now
        if now_s - self.answered_s > _LATE_S:
            self.fates.late_s = now_s
        if self.chain is None:
            self.fates.settled(self)


class Follower(Protocol):
    """Another cluster that gets what these nodes commit."""

    def committed(self, fate: Fate, node: int) -> None:
        """A node has committed a transaction."""

    def answered(self, fate: Fate) -> None:
        """The client of a transaction has its answer."""


class Fates:
    """The fates of all transactions that write.

    What is answered and on all nodes is only counted; all others are kept to the end of the run.

    Parameters
    ----------
    clock : Clock
    nodes : int
        How many nodes there are.
    arbitrators : collection of int
        Those without data.

    Attributes
    ----------
    answered_s : float
        When a client was last told that a transaction is committed, in simulated seconds.
    late_s : float
        When a transaction last came to the last of the nodes more than a second after its answer;
        minus infinity if none did.
    follower : Follower or None
        Another cluster that has to get them as well; None if there is none.
    elsewhere : int
        The bit of that cluster beside those of the nodes; 0 without it.
    """

    def __init__(self, clock: Clock, nodes: int, arbitrators: Collection[int] = ()) -> None:
        self.clock = clock
        self.answered_s = self.late_s = -inf
        self.follower: Follower | None = None
        self.elsewhere = 0
        self._beyond = 1 << nodes
        self._up = (1 << nodes) - 1
        self._outside = 0  # a bit for each node with which the others have not gone on
        self.all_nodes = self._up & ~sum(1 << node for node in arbitrators)
        self.told = False  # the model tells which node has committed a transaction
        self._untold = False  # it does not: somebody has an answer that no node has committed
        self._settled = 0
        self._kept: dict[Fate, None] = {}
        self._chains: list[list[Fate]] = []

    def attach(self, follower: Follower) -> None:
        """Another cluster has to get all transactions as well."""
        self.follower = follower
        self.elsewhere = self._beyond
        self.all_nodes |= self._beyond

    def begin(self, transaction: TrackedTransaction, before: Fate | None = None) -> Fate:
        """A client submits a transaction; ``before`` is the attempt that it repeats."""
        return self.follow(Fate(self), transaction, before)

    def follow(
        self, fate: Fate, transaction: TrackedTransaction, before: Fate | None = None
    ) -> Fate:
        """Follow a transaction by this fate; see ``begin``."""
        transaction.journal = fate
        fate.size_bytes = transaction.size_bytes
        if self._untold:
            return fate
        self._kept[fate] = None
        if before is not None and (before.chain or before.ending == "unknown"):
            if before.chain is None:
                before.chain = [before]
                self._chains.append(before.chain)
            fate.chain = before.chain
            fate.chain.append(fate)
        return fate

    def dismiss(self, fate: Fate) -> None:
        """Nobody asks what becomes of a transaction."""
        self._kept.pop(fate, None)

    @property
    def kept(self) -> Iterable[Fate]:
        """Those of which there may be more to learn."""
        return self._kept

    # -- what others may want to know; nothing here ------------------------------------------------

    def marked(self, make: Make, source: Loop | Arrivals, group: int) -> Make:
        """What builds the transactions of a client of a group: the same, and who sends them."""
        del source, group
        return make

    def send(self, transaction: TrackedTransaction) -> None:
        """A client sends a transaction, or sends it again."""

    def read(self, transaction: TrackedTransaction) -> None:
        """A client has its answer, and with it whatever the transaction has read."""

    # -- what becomes of them ----------------------------------------------------------------------

    def settled(self, fate: Fate) -> None:
        """A transaction is answered and on all nodes."""
        if fate in self._kept:
            del self._kept[fate]
            self._settled += 1

    def reopened(self, fate: Fate) -> None:
        """A node does not have it any more."""
        if fate not in self._kept:
            self._kept[fate] = None
            self._settled -= 1

    def never_told(self) -> None:
        """The model does not tell what its nodes commit: nothing is followed."""
        if self.follower is not None:
            raise ScenarioError(
                "replica_cluster",
                "the model does not tell which nodes have committed a transaction",
                "transaction.journal.committed(node) tells it",
            )
        self._untold = True
        self._kept.clear()
        self._chains.clear()

    def adopted(self, node: int, donor: int) -> None:
        """A node has taken over the state of another one: it has what that has, and no more."""
        for fate in list(self._kept):
            fate.nodes &= ~(1 << node)
            fate.overlookers &= ~(1 << node)
            if fate.nodes >> donor & 1:
                fate.nodes |= 1 << node
                fate.settle()

    def emptied(self, node: int) -> None:
        """The server of a node has dropped all that it had."""
        for fate in self._kept:
            fate.nodes &= ~(1 << node)

    def node_changes(self, change: tuple[int, bool]) -> None:
        """The server of a node ends, or starts: what it has on its disk is kept."""
        node, up = change
        self._up = self._up | 1 << node if up else self._up & ~(1 << node)

    def outside(self, node: int) -> None:
        """The others have gone on without a node: what only that has is lost."""
        self._outside |= 1 << node

    def is_outside(self, node: int) -> bool:
        """Whether the others have gone on without a node."""
        return bool(self._outside >> node & 1)

    def inside(self, node: int) -> None:
        """A node is part of the service again; a model tells what it has of its own (``strayed``).

        All are at the beginning.
        """
        self._outside &= ~(1 << node)

    def count(self) -> FateCount | None:
        """What became of them; None if the model does not tell what its nodes commit."""
        if self._untold or not self.told:
            return None
        gone = [fate for fate in self._kept if not self._present(fate)]
        extra = [fate for fate in gone if self._up & (fate.strays | fate.nodes & self._outside)]
        twice = [chain for chain in self._chains if sum(map(self._present, chain)) > 1]
        phantom_s = sorted(fate.visible_s for fate in gone if fate.visible)
        times = {"answered": self._settled, "failed": 0, "unknown": 0, "": 0}
        present = dict.fromkeys(times, 0)
        present["answered"] = self._settled
        lost_s = []
        for fate in self._kept:
            there = self._present(fate)
            times[fate.ending] += 1
            present[fate.ending] += there
            if fate.ending == "answered" and not there:
                lost_s.append(fate.answered_s)
        return FateCount(
            answered=times["answered"],
            lost=len(lost_s),
            lost_span_s=max(lost_s) - min(lost_s) if lost_s else 0.0,
            diverged=sum(fate.ending == "answered" for fate in extra),
            failed=times["failed"],
            failed_present=present["failed"],
            unknown=times["unknown"],
            unknown_present=present["unknown"],
            duplicated=len(twice),
            phantom=len(phantom_s),
            extra=len(extra),
            overlooked=sum(
                self._present(fate) and bool(fate.overlookers & self._up & ~self._outside)
                for fate in self._kept
            ),
            waiting=times[""],
            lost_at_s=tuple(sorted(lost_s)),
            duplicated_at_s=tuple(
                sorted(fate.answered_s for chain in twice for fate in chain if fate.answered_s > 0)
            ),
            phantom_at_s=tuple(phantom_s),
        )

    @property
    def complete(self) -> bool:
        """Whether all nodes have all that was answered a second ago, but for what is lost.

        All nodes with data are up then, and inside of the service.
        """
        before_s = self.clock.now - _LATE_S
        serving = self._up & ~self._outside
        return not self.all_nodes & ~(serving | self.elsewhere) and not any(
            fate.answered_s < before_s and fate.wanted & ~fate.nodes and self._present(fate)
            for fate in self._kept
        )

    def _present(self, fate: Fate) -> bool:
        return bool(fate.nodes & self._up & ~self._outside)
