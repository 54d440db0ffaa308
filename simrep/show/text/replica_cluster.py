"""What a replica cluster lacks, as a table for a terminal."""

from __future__ import annotations

from functools import partial

from rich.console import Group
from rich.table import Table

from simrep.measure.spread import Spread
from simrep.measure.units import duration, number
from simrep.runs.replica_cluster import ReplicaClusterLag
from simrep.show.text.layout import table, title
from simrep.show.views import tables

__all__ = ["replica_heading", "replica_table"]

_table = partial(table, edges=True)


@tables.register(ReplicaClusterLag)
def replica_tables(lag: ReplicaClusterLag) -> Group:
    """A row per instant at which all nodes could be lost."""
    return Group(title(replica_heading(lag)), replica_table(lag))


def replica_heading(lag: ReplicaClusterLag) -> str:
    """The title of the table."""
    late = lag.late.figures()
    return (
        f"Losses at {lag.name!r}: it receives answered transactions after {duration(late['p50'])} "
        f"(p50), {duration(late['p95'])} (p95)"
    )


def replica_table(lag: ReplicaClusterLag) -> Table:
    """What would be lost with all nodes, by the instant of their loss."""
    rows = [("at any instant, mean", _text(lag.mean), "")]
    rows += [
        (when, _text(transactions), _text(seconds, duration))
        for when, transactions, seconds in lag.rows()
    ]
    return _table(("all nodes are lost", "transactions lost", "the first one answered"), rows=rows)


def _text(spread: Spread, unit: object = number) -> str:
    assert callable(unit)
    if spread.low == spread.high:
        return str(unit(spread.median))
    return f"{unit(spread.median)} ({unit(spread.low)} .. {unit(spread.high)})"
