"""Running a load against a cluster: its tables, its tool, and what the tool reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import nan
from resource import RUSAGE_CHILDREN, getrusage

from simrep.rig.clients import Clock
from simrep.rig.cluster import RigCluster
from simrep.rig.driver import drive
from simrep.rig.load import Load
from simrep.rig.server import RigServer
from simrep.rig.slap import slap_command, slap_seconds
from simrep.rig.statement import DATABASE
from simrep.rig.sysbench import sysbench_command, sysbench_figures
from simrep.rig.tables import large_tables, tables
from simrep.rig.transactions import Transaction, summarise

__all__ = [
    "Loaded",
    "empty_tables",
    "fingerprints",
    "make_tables",
    "run_load",
    "table_keys",
    "written",
]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load came to; figures that its tool does not give are not numbers.

    Attributes
    ----------
    failed : int
        Transactions that were given up.
    tool_s : float
        The tool's own time for all of it.
    cpu_s : float
        CPU time of the clients; not a number where they run in a container.
    retried : int
        Attempts that failed and were followed by another one; sysbench does so by itself.
    service_p95_s : float
        95th percentile from when transactions were submitted, not from when they should have been.
    by_node : mapping of str to float
        Mean latency by the node of the client.
    records : tuple of Transaction
        Of the driver; empty for other tools.
    """

    committed: int
    failed: int
    tool_s: float
    cpu_s: float
    retried: int = 0
    mean_s: float = nan
    p50_s: float = nan
    p95_s: float = nan
    p99_s: float = nan
    max_s: float = nan
    service_p95_s: float = nan
    by_node: Mapping[str, float] = field(default_factory=dict)
    records: tuple[Transaction, ...] = ()
    errors: tuple[tuple[int, int], ...] = ()


def _in(statements: tuple[str, ...]) -> tuple[str, ...]:
    return (f"use {DATABASE}", *statements)


def table_keys(load: Load) -> dict[str, tuple[int | str, ...]]:
    """What the tables of a load depend on, by a name for them: equal keys share tables."""
    if load.script is not None:
        keys: dict[str, tuple[int | str, ...]] = {
            "sysbench": (load.script, load.tables, load.table_rows)
        }
    else:
        keys = {load.kind: ()}
    if load.large is not None:
        keys["large"] = (load.large.rows, load.large.value_bytes)
    return keys


def make_tables(load: Load, cluster: RigCluster) -> None:
    """Make the database and the tables of a load, on the first node."""
    writer = cluster.nodes[0]
    writer.query(f"create database if not exists {DATABASE}")
    chosen = tables(load)
    if chosen.create:
        writer.query(*_in(chosen.create))
    if load.script is not None:
        names = [f"sbtest{number}" for number in range(1, load.tables + 1)]
        writer.query(*_in(tuple(f"drop table if exists {name}" for name in names)))
        writer.run(sysbench_command(load, writer.socket_inside, "prepare"), timeout_s=600.0)
    if load.large is not None:
        writer.query(*_in(large_tables(load.large).create))


def empty_tables(load: Load, cluster: RigCluster) -> None:
    """Put the tables of a load back as they were."""
    chosen = tables(load)
    if chosen.empty:
        cluster.nodes[0].query(*_in(chosen.empty))


def fingerprints(load: Load, cluster: RigCluster) -> dict[str, str]:
    """What the tables hold, by node: equal where they hold the same."""
    queries = [tables(load).fingerprint]
    if load.large is not None:
        queries.append(large_tables(load.large).fingerprint)
    return {
        node.name: " ".join(
            str(value)
            for query in queries
            for row in node.query(f"use {DATABASE}", query)
            for value in row.values()
        )
        for node in cluster.nodes
    }


def written(load: Load, node: RigServer) -> int | None:
    """Transactions that the tables of a node show; None if they do not tell."""
    query = tables(load).written
    if not query:
        return None
    [row] = node.query(f"use {DATABASE}", query)
    return round(float(row["total"] or 0))


def run_load(
    load: Load,
    cluster: RigCluster,
    *,
    seed: int,
    limit_s: float,
    beside: Callable[[Clock], None] | None = None,
    during: AbstractContextManager[object] | None = None,
) -> Loaded:
    """Run a load to its end.

    Parameters
    ----------
    load : Load
    cluster : RigCluster
        With the tables of the load.
    seed : int
        Root of the random choices of the clients.
    limit_s : float
        Longest duration.
    beside : callable, optional
        What happens meanwhile; only beside the driver.
    during : context manager, optional
        Entered when the load begins, left when it ends. With slap and sysbench the start of the
        program and connecting belong to it, with the driver they do not.
    """
    during = during or nullcontext()
    if load.tool == "driver":
        sockets = {node.name: node.socket for node in cluster.nodes}
        driven = drive(load, sockets, seed=seed, limit_s=limit_s, beside=beside, during=during)
        found = summarise(driven.records)
        return Loaded(
            committed=found.committed,
            failed=found.failed,
            retried=found.retried,
            tool_s=found.makespan_s,
            cpu_s=driven.cpu_s,
            mean_s=found.mean_s,
            p50_s=found.p50_s,
            p95_s=found.p95_s,
            p99_s=found.p99_s,
            max_s=found.max_s,
            service_p95_s=found.service_p95_s,
            by_node=found.by_node,
            records=driven.records,
            errors=tuple(sorted(found.errors.items())),
        )
    [name] = load.nodes
    node = next(node for node in cluster.nodes if node.name == name)
    cpu = _children_cpu_s()
    if load.tool == "slap":
        command = slap_command(load, node.slap_program, node.socket_inside)
        with during:
            output = node.run(command, timeout_s=limit_s)
        seconds = slap_seconds(output)
        assert load.each is not None
        return Loaded(
            committed=load.each * load.threads,
            failed=0,
            tool_s=seconds,
            cpu_s=_children_cpu_s() - cpu,
        )
    command = sysbench_command(load, node.socket_inside, "run", seed=seed)
    with during:
        output = node.run(command, timeout_s=limit_s)
    figures = sysbench_figures(output)
    return Loaded(
        committed=figures.committed,
        failed=0,
        retried=figures.ignored_errors,
        tool_s=figures.seconds,
        cpu_s=_children_cpu_s() - cpu,
        mean_s=figures.mean_s,
        p95_s=figures.p95_s,
        max_s=figures.max_s,
    )


def _children_cpu_s() -> float:
    """CPU time of programs that have ended and were started from here."""
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
