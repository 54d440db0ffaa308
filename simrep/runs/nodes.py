"""The nodes of a result: the transactions of their clients, class by class, and their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simrep.measure.counts import ClassCount, NodeCount
from simrep.runs.report import Report

__all__ = ["Nodes", "node_rows", "total_classes", "total_nodes"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nodes(Report, Mapping[str, NodeCount]):
    """The clients' transactions by name of the node that they were submitted to.

    Counted are attempts that ended in the measured time, over all replications. ``plot()`` draws
    the latencies of every node, and its aborts by error.

    Attributes
    ----------
    counts : mapping of str to NodeCount
        In the order of the nodes.
    error_texts : mapping of str to str
        What the errors say, by their number.
    """

    counts: Mapping[str, NodeCount]
    error_texts: Mapping[str, str]

    def __getitem__(self, name: str) -> NodeCount:
        return self.counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def used(self) -> dict[str, NodeCount]:
        """Those on which a transaction of a client has ended."""
        return {name: one for name, one in self.items() if one.committed or one.aborted}

    @property
    def errors(self) -> dict[str, int]:
        """Errors that clients were told of, by their number, and how often."""
        sums = {e: sum(one.errors.get(e, 0) for one in self.values()) for e in self.error_texts}
        return {error: times for error, times in sums.items() if times}

    def error_text(self, error: str) -> str:
        """An error with its words."""
        words = self.error_texts[error]
        return error if words == error else f"{error} {words}"

    def to_dict(self) -> dict[str, Any]:
        """All figures by name of the node."""
        return {name: one.to_dict() for name, one in self.items()}

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per node and class."""
        return node_rows(self)

    def __repr__(self) -> str:
        each = (f"{name} {one.committed}+{one.aborted}" for name, one in self.items())
        return f"<Nodes, committed+aborted: {', '.join(each)}>"


def node_rows(nodes: Mapping[str, NodeCount]) -> list[dict[str, Any]]:
    """A row per node and class, its figures by their paths."""
    return [
        {
            "node": name,
            "kind": kind,
            "committed": count.committed,
            "aborted": count.aborted,
            **{f"latency_s.{figure}": value for figure, value in count.latency_s.items()},
            **{f"errors.{error}": times for error, times in count.errors.items()},
        }
        for name, node in nodes.items()
        for kind, count in node.classes.items()
    ]


def total_classes(replications: Sequence[Mapping[str, ClassCount]]) -> dict[str, ClassCount]:
    """Classes of transactions, over all replications, sorted by name."""
    kinds = sorted({kind for classes in replications for kind in classes})
    return {
        kind: ClassCount.total(classes[kind] for classes in replications if kind in classes)
        for kind in kinds
    }


def total_nodes(replications: Sequence[Mapping[str, NodeCount]]) -> dict[str, NodeCount]:
    """Nodes over all replications; their measured time is the sum."""
    return {
        name: NodeCount.of(
            total_classes([nodes[name].classes for nodes in replications]),
            sum(nodes[name].measured_s for nodes in replications),
        )
        for name in replications[0]
    }
