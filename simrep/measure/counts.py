"""What was counted of transactions, by class and by node: how many, how long, and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simrep.measure.histogram import BLOCK, LatencyHistogram

__all__ = ["ClassCount", "Latencies", "NodeCount", "error_of", "error_texts"]


@dataclass(frozen=True, slots=True)
class ClassCount:
    """One class of transactions, for example the reads of a mix; everywhere, or on one node.

    Attributes
    ----------
    latency : LatencyHistogram
        Latencies of its committed transactions; its length is their number.
    aborted : int
        Attempts that failed; one that is submitted again counts each time.
    errors : mapping of str to int
        The same by what the client was told: by the number of the error, or by its words if it
        has none. Errors that a model declares are there also if nobody was told of them.
    """

    latency: LatencyHistogram
    aborted: int
    errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def committed(self) -> int:
        """How many transactions committed."""
        return self.latency.count

    @property
    def latency_s(self) -> dict[str, float]:
        """``mean``, ``p50``, ``p95``, ``p99`` and ``max`` in seconds; NaN when none committed."""
        return self.latency.figures()

    @classmethod
    def total(cls, counts: Iterable[ClassCount]) -> ClassCount:
        """All of them together."""
        counts = list(counts)
        if len(counts) == 1:
            return counts[0]
        errors: Counter[str] = Counter()
        for count in counts:
            errors.update(count.errors)  # keeps the errors that nobody was told of
        return cls(
            LatencyHistogram.merged(count.latency for count in counts),
            sum(count.aborted for count in counts),
            dict(errors),
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures by name."""
        return {
            "committed": self.committed,
            "aborted": self.aborted,
            "latency_s": self.latency_s,
            "errors": dict(self.errors),
        }


@dataclass(frozen=True, slots=True)
class NodeCount(ClassCount):
    """The transactions that clients of one node submitted.

    Attributes
    ----------
    classes : mapping of str to ClassCount
        The same by class of transaction.
    measured_s : float
        How long was measured, in seconds; summed where several replications are.
    """

    classes: Mapping[str, ClassCount] = field(default_factory=dict)
    measured_s: float = 0.0

    @property
    def throughput_tps(self) -> float:
        """Its committed transactions per second of measured time."""
        return self.committed / self.measured_s if self.measured_s > 0.0 else 0.0

    @classmethod
    def of(cls, classes: Mapping[str, ClassCount], measured_s: float) -> NodeCount:
        """A node from its classes."""
        total = ClassCount.total(classes.values())
        return cls(total.latency, total.aborted, total.errors, classes, measured_s)

    def to_dict(self) -> dict[str, Any]:
        """All figures by name, those of the classes too."""
        return {
            "throughput_tps": self.throughput_tps,
            **ClassCount.to_dict(self),
            "classes": {kind: count.to_dict() for kind, count in self.classes.items()},
        }


class Latencies:
    """The latencies of a class while they are measured, all together and by position of the node.

    Full blocks are sorted into histograms.
    """

    __slots__ = ("_nodes", "_seconds", "by_node", "total")

    def __init__(self) -> None:
        self._seconds: list[float] = []
        self._nodes: list[int] = []
        self.total = LatencyHistogram()
        self.by_node: dict[int, LatencyHistogram] = {}

    def extend(self, seconds: Sequence[float], nodes: Sequence[int]) -> None:
        """Count up to a block of latencies, in seconds, and on which node each was."""
        room = BLOCK - len(self._nodes)
        self._seconds += seconds[:room]
        self._nodes += nodes[:room]
        if len(self._nodes) == BLOCK:
            self.sort()
            self._seconds += seconds[room:]
            self._nodes += nodes[room:]

    def sort(self) -> None:
        """Bring the histograms up to date."""
        self.total.extend(self._seconds)
        of_node: dict[int, list[float]] = {node: [] for node in sorted(set(self._nodes))}
        for seconds, node in zip(self._seconds, self._nodes, strict=True):
            of_node[node].append(seconds)
        for node, own in of_node.items():
            self.by_node.setdefault(node, LatencyHistogram()).extend(own)
        self._seconds.clear()
        self._nodes.clear()


def error_of(told: str) -> str:
    """How an error is called: by its number, or by its words if it has none.

    >>> error_of("1213 deadlock"), error_of("conflict with another node")
    ('1213', 'conflict with another node')
    """
    number, _, words = told.partition(" ")
    return number if number.isdecimal() and words else told


def error_texts(declared: Sequence[str], told: Iterable[str]) -> dict[str, str]:
    """What errors say, by their name, sorted; clients may have been told other words than declared.

    >>> error_texts(["1213 deadlock", "1180 too large"], ["1180 too many rows"])
    {'1180': 'too many rows', '1213': 'deadlock'}
    """
    words: dict[str, dict[str, None]] = {}
    for text in sorted(told):
        words.setdefault(error_of(text), {})[_words(text)] = None
    for text in declared:
        words.setdefault(error_of(text), {_words(text): None})
    return {error: "; ".join(words[error]) for error in sorted(words)}


def _words(told: str) -> str:
    error = error_of(told)
    return told if error == told else told.removeprefix(error).strip()
