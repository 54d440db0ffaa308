"""What certification has found, for all nodes of a run in which none comes or goes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from simrep.modelling import CertificationIndex

from .certifier import Certifier
from .monitors import ApplyMonitor, Reports
from .stream_appliers import StreamAppliers
from .writeset import UNDECIDED, Kind, Ordered, Verdict, Writeset

__all__ = ["Run", "SharedApplyMonitor", "SharedCertifier", "Verdicts"]

_WRITESET: Final = Kind.WRITESET
_FRAGMENT: Final = Kind.FRAGMENT
_LAST_COMMITTED: Final = Kind.LAST_COMMITTED


class Run:
    """Messages that the group delivers together.

    Attributes
    ----------
    payloads : tuple
        The messages.
    writesets : int
        How many of them are writesets.
    urgent : bool
        Whether nodes answer to one of them.
    works : dict
        How long it takes to write each of them; see ``QuietNode``.
    next : Run or None
        The messages behind them, as far as any node has got them.
    """

    __slots__ = ("next", "payloads", "urgent", "works", "writesets")

    def __init__(self, payloads: tuple[Any, ...]) -> None:
        self.payloads = payloads
        self.writesets = 0
        self.urgent = False
        self.works: dict[int, list[float]] = {}
        self.next: Run | None = None


class Verdicts:
    """Certification is the same on every node, so that it is done once, for all of them.

    Each node asks for what it gets, in the total order; the first to ask has it certified.
    ``Certifier`` is what a node does alone.
    """

    def __init__(self, size: int, arbitrators: Collection[int]) -> None:
        self._index = CertificationIndex()
        self._streams = StreamAppliers()
        self._reports = Reports()
        self._reported = [0] * size
        self._members = [node for node in range(size) if node not in arbitrators]
        self.last = Run(())  # that any node has got
        self._costs: list[tuple[float, ...]] = []
        self._ordered = self._passed = self._distance = self._bytes = 0

    def costs(self, costs: tuple[float, ...]) -> int:
        """A number for nodes on which everything costs the same."""
        if costs not in self._costs:
            self._costs.append(costs)
        return self._costs.index(costs)

    def of(self, writeset: Writeset) -> Verdict:
        """What is found of a writeset; asked of those that have no verdict."""
        self._ordered = seqno = self._ordered + 1
        self._bytes += writeset.size_bytes
        index = self._index
        depends = index.certify(
            seqno, writeset.origin, writeset.last_seen, writeset.keys, writeset.shared_keys,
            writeset.ranges,
        )  # fmt: skip
        if depends >= 0:
            barrier = self._streams.barrier
            if barrier > depends:
                depends = barrier
            if writeset.part is not None:
                ordered = Ordered(writeset, seqno)
                ordered.depends = depends
                self._streams.order(ordered)
                depends = ordered.depends
            self._passed += 1
            self._distance += seqno - depends
        writeset.verdict = verdict = Verdict(
            seqno,
            depends,
            self._passed,
            self._distance,
            self._bytes,
            len(index),
            reported=self._reports.due(seqno, writeset),
        )
        return verdict

    def hear(self, node: int, seqno: int) -> None:
        """A node tells, at this place of the order, up to where it has committed."""
        reported = self._reported
        if seqno > reported[node]:  # nobody has asked before
            reported[node] = seqno
            self._index.purge(min(reported[member] for member in self._members))

    def run(self, before: Run, payloads: tuple[Any, ...]) -> Run:
        """What the group delivers behind the messages of ``before``."""
        run = before.next
        if run is not None:
            return run
        before.next = self.last = run = Run(payloads)
        for message in payloads:
            kind = message.kind
            if kind == _WRITESET:
                run.writesets += 1
                verdict = message.verdict
                if verdict is UNDECIDED:
                    verdict = self.of(message)
                if verdict.reported:
                    run.urgent = True
            elif kind == _LAST_COMMITTED:
                self.hear(message.node, message.seqno)
            elif kind != _FRAGMENT:
                run.urgent = True
        return run


class SharedCertifier(Certifier):
    """What a node knows of verdicts that are made for all."""

    def __init__(self, node: int, streams: StreamAppliers, verdicts: Verdicts) -> None:
        super().__init__(node, 0, streams, None)
        self._verdicts = verdicts
        self.last = UNDECIDED  # that the node has got to

    def sums(self) -> tuple[int, int, int]:
        """See ``Certifier.sums``."""
        last = self.last
        return last.passed_sum, last.distance_sum, last.keys

    def number(self, message: Writeset) -> Ordered:
        """See ``Certifier.number``."""
        if message.verdict is UNDECIDED:
            self._verdicts.of(message)
        self.ordered = seqno = message.verdict.seqno
        return Ordered(message, seqno)

    def hear(self, node: int, seqno: int) -> None:
        """See ``Certifier.hear``."""
        self._verdicts.hear(node, seqno)

    def certify(self, ordered: Ordered) -> bool:
        """See ``Certifier.certify``."""
        self.last = verdict = ordered.writeset.verdict
        ordered.depends = depends = verdict.depends
        if depends < 0:
            return False
        if ordered.writeset.part is not None:
            self._streams.order(ordered)
        return True


class _SharedReports(Reports):
    """When nodes report, as all of them do after the same writesets."""

    __slots__ = ()

    def due(self, _seqno: int, writeset: Writeset) -> bool:
        """See ``Reports.due``."""
        return writeset.verdict.reported


class SharedApplyMonitor(ApplyMonitor):
    """An apply monitor of a node that knows the verdicts of all."""

    __slots__ = ()

    def __init__(self, wake: Callable[[Ordered], object], report: Callable[[int], object]) -> None:
        super().__init__(wake, report, _SharedReports())

    def leave(self, ordered: Ordered) -> None:
        """See ``ApplyMonitor.leave``."""
        seqno = ordered.seqno
        if self._left or self._waiting or self._asked or seqno != self.last_left + 1:
            super().leave(ordered)
        else:
            self.last_left = seqno
            if ordered.writeset.verdict.reported:
                self._report(seqno)
