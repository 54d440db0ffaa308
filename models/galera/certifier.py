"""Certification of the ordered stream on one node, and what of it may be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from simrep.modelling import CertificationIndex, Trace, deque

from .schema_change import ChangedTable
from .stream_appliers import StreamAppliers
from .writeset import Ordered, Writeset

__all__ = ["Certifier", "NodeState"]


@dataclass(frozen=True, slots=True)
class NodeState:
    """What a node that joins has to know: the state at a place of the order."""

    position: int  # everything up to this sequence number is in it
    members: Collection[int]
    since: Mapping[int, int]  # from which place of the order on each of them is there
    index: CertificationIndex
    reported: tuple[int, ...]  # up to where every node had told that it has committed
    cuts: tuple[tuple[int, int], ...]  # see ``Certifier``
    # Open streaming transactions, with the fragments in ``mysql.wsrep_streaming_log``.
    streams: dict[tuple[int, int], tuple[Ordered, ...]]
    barrier: int  # see ``StreamAppliers``
    changed: tuple[ChangedTable, ...] = ()


Copied = Callable[[NodeState], object]


class Certifier:
    """Decides, in the total order, which writesets pass; the same on every node."""

    def __init__(self, node: int, size: int, streams: StreamAppliers, trace: Trace | None) -> None:
        self._node = node
        self._streams = streams
        self._trace = trace
        self._members: Collection[int] = range(size)
        self._without: Collection[int] = ()
        self._reported = [0] * size
        self._cuts: deque[tuple[int, int]] = deque()  # (ordered before it, purge up to)
        self._copies: list[tuple[NodeState, Copied]] = []  # asked for; not yet complete
        self._done = 0
        self.index = CertificationIndex()
        self._changed: list[ChangedTable] = []
        self.ordered = 0  # number of the last writeset that was received
        # Writesets that passed, and how far back what they depend on lies, added up.
        self.passed = self.distance_sum = 0

    def sums(self) -> tuple[int, int, int]:
        """Writesets that passed, how far back what they depend on lies, and keys in the index."""
        return self.passed, self.distance_sum, len(self.index)

    def leave_out(self, nodes: Collection[int]) -> None:
        """These members commit nothing, so that nobody waits for them to tell."""
        self._without = nodes
        self._members = [node for node in self._members if node not in nodes]

    def number(self, message: Writeset) -> Ordered:
        """The next writeset of the order."""
        self.ordered += 1
        ordered = Ordered(message, self.ordered)
        if self._trace is not None:
            self._trace.record(
                self._node, "order", ordered.seqno,
                message.origin, message.last_seen, (*message.keys, *message.ranges),
            )  # fmt: skip
        return ordered

    def hear(self, node: int, seqno: int) -> None:
        """A node tells, at this place of the order, up to where it has committed."""
        self._reported[node] = seqno
        self._cut()

    def _cut(self) -> None:
        self._cuts.append((self.ordered, min(self._reported[node] for node in self._members)))

    def certify(self, ordered: Ordered) -> bool:
        """Whether a writeset passes; if so, what it depends on."""
        writeset = ordered.writeset
        seqno = self._done = ordered.seqno
        cuts = self._cuts
        while cuts and cuts[0][0] < seqno:  # at its place in the order, on every node
            self.index.purge(cuts.popleft()[1])
        depends = self._depends(ordered)
        if self._trace is not None:
            self._trace.record(self._node, "certify", seqno, depends >= 0)
        if depends >= 0:
            barrier = self._streams.barrier
            ordered.depends = depends if depends > barrier else barrier
            if writeset.part is not None:
                self._streams.order(ordered)
            self.passed += 1
            self.distance_sum += seqno - ordered.depends
        if self._copies:
            self._copy_if_due()
        return depends >= 0

    def _depends(self, ordered: Ordered) -> int:
        """The last writeset that one depends on; -1 if it fails."""
        writeset = ordered.writeset
        return self.index.certify(
            ordered.seqno, writeset.origin, writeset.last_seen, writeset.keys,
            writeset.shared_keys, writeset.ranges,
        )  # fmt: skip

    # -- membership ----------------------------------------------------------------------------

    def change(self, members: Collection[int], joined: Collection[int]) -> None:
        """The members from this place of the order on; those who join get the state up to here."""
        self._members = [node for node in members if node not in self._without]
        for node in joined:
            self._reported[node] = self.ordered
        self._cut()

    def copy(self, since: Mapping[int, int], call: Copied) -> None:
        """``call(state)`` when everything that is ordered by now is certified."""
        here = NodeState(
            position=self.ordered,
            members=self._members,
            since=dict(since),
            index=self.index,
            reported=tuple(self._reported),
            cuts=(),
            streams={},
            barrier=0,
        )
        self._copies.append((here, call))
        self._copy_if_due()

    def _copy_if_due(self) -> None:
        while self._copies and self._done >= self._copies[0][0].position:
            here, call = self._copies.pop(0)
            call(
                replace(
                    here,
                    index=self.index.copy(),
                    cuts=tuple(cut for cut in self._cuts if cut[0] <= here.position),
                    streams=self._streams.stored(),
                    barrier=self._streams.barrier,
                    changed=tuple(self._changed),
                )
            )

    def adopt(self, state: NodeState) -> None:
        """Begin from the state of another node."""
        self.start_after(state.position)
        self._members = state.members
        self.index = state.index
        self._reported = list(state.reported)
        self._cuts = deque(state.cuts)
        self._changed = list(state.changed)

    def start_after(self, position: int) -> None:
        """Begin from what is on the disk: everything up to a sequence number."""
        self.ordered = self._done = position
