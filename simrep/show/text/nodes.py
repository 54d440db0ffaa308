"""The nodes of a result as tables for a terminal: their clients' transactions, and the errors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table

from simrep.measure.counts import ClassCount
from simrep.measure.units import duration, number
from simrep.runs.nodes import Nodes
from simrep.show.text.layout import table, title
from simrep.show.views import tables

__all__ = ["errors_table", "nodes_table"]

_LATENCIES = ("p50", "p95", "p99", "max")
_table = partial(table, edges=True)


@tables.register(Nodes)
def nodes_tables(nodes: Nodes) -> Group:
    """Commits, aborts and latencies of every node and class; the errors, if there were any."""
    parts: list[RenderableType] = [title("Nodes"), nodes_table(nodes)]
    if nodes.errors:
        parts += [title("Errors of clients"), errors_table(nodes)]
    return Group(*parts)


def nodes_table(nodes: Nodes) -> Table:
    """A row per node that has clients; with several classes below it one for each of them."""
    several = len(_classes(nodes)) > 1

    def rows() -> Iterator[tuple[str, ...]]:
        for name, node in nodes.used.items():
            yield (name, *(["all"] if several else []), *_figures(node))
            if several:
                for kind, count in node.classes.items():
                    if count.committed or count.aborted:
                        yield ("", kind or "-", *_figures(count))

    heads = ["node", *(["class"] if several else []), "committed", "aborted", *_LATENCIES]
    return _table(heads, "llr" if several else "lr", rows())


def _figures(count: ClassCount) -> Iterator[str]:
    yield from (number(count.committed), number(count.aborted))
    latency_s = count.latency_s
    yield from (duration(latency_s[name]) for name in _LATENCIES)


def errors_table(nodes: Nodes) -> Table:
    """A row per error, and per class if there are several; a column per node with errors."""
    kinds = _classes(nodes)
    failing = {name: node for name, node in nodes.items() if node.aborted}

    def rows() -> Iterator[tuple[str, ...]]:
        for error in nodes.errors:
            for kind in kinds:
                times = [
                    node.classes[kind].errors.get(error, 0) if kind in node.classes else 0
                    for node in failing.values()
                ]
                if any(times):
                    own = [kind or "-"] if len(kinds) > 1 else []
                    total = [number(sum(times))] if len(times) > 1 else []
                    yield (nodes.error_text(error), *own, *map(number, times), *total)

    heads = ["error", *(["class"] if len(kinds) > 1 else []), *failing]
    heads += ["all"] if len(failing) > 1 else []
    return _table(heads, "llr" if len(kinds) > 1 else "lr", rows())


def _classes(nodes: Nodes) -> list[str]:
    """Classes of transactions, each once."""
    return list(dict.fromkeys(kind for node in nodes.values() for kind in node.classes))
