"""Galera clusters in which nothing takes time but what is asked for, and large transactions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simrep.models.galera.options import GaleraSession
from simrep.models.galera.writeset import Part
from simrep.network.link import Tcp
from simrep.workload.transaction import LongTransaction, Statement
from tests.clusters import GaleraCluster

__all__ = ["HOP_S", "MS", "equidistant", "large", "parts", "quiet_cluster"]

HOP_S = 0.01
MS = 1e3  # microseconds
_LISTED = 1000  # rows of a statement; more are a range, as in the classes of a workload


def equidistant(size: int, hop_s: float = HOP_S) -> list[list[float]]:
    """One-way delays between nodes that are equally far from each other."""
    return [[0.0 if i == j else hop_s for j in range(size)] for i in range(size)]


def quiet_cluster(
    size: int = 3,
    *,
    options: Mapping[str, Any] | None = None,
    costs: Mapping[str, float] | None = None,
    **how: Any,
) -> GaleraCluster:
    """Equidistant nodes on which nothing takes time, without keepalives that come in between."""
    chosen = {"evs.keepalive_period": 86_400, "wsrep_retry_autocommit": 0} | dict(options or {})
    delays_s = equidistant(size, how.pop("hop_s", HOP_S))
    wide = Tcp(initial_window_segments=1 << 20)  # connections that have carried much before
    return GaleraCluster(delays_s, options=chosen, costs=costs, **{"cores": 8, "tcp": wide} | how)


def large(
    rows: int = 10,
    *,
    node: int = 0,
    client: int = 0,
    first: int = 0,
    statements: int = 1,
    row_bytes: int = 100,
    autocommit: bool = True,
    unit: str | None = None,
    size: int | None = None,
    hold_s: float | None = None,
) -> LongTransaction:
    """Every statement writes so many rows, neighbours from ``first`` on.

    ``unit`` and ``size`` are its client's session variables for fragments; ``hold_s`` makes it an
    XA transaction that is prepared for so long.
    """
    starts = range(first, first + statements * rows, rows)
    scans = [range(start, start + rows) for start in starts]
    total = statements * rows
    listed = rows <= _LISTED
    transaction = LongTransaction(
        client, node, "large",
        tuple(
            Statement(0, rows, tuple(scan) if listed else (), None if listed else scan)
            for scan in scans
        ),
        tuple(row for scan in scans for row in scan) if listed else (), total, total * row_bytes,
        autocommit=autocommit and statements == 1 and hold_s is None,
    )  # fmt: skip
    if not listed:
        transaction.ranges = tuple(scans)
    transaction.xa_hold_s = hold_s
    if unit is not None or size is not None:
        transaction.session = GaleraSession(
            wsrep_trx_fragment_unit=unit, wsrep_trx_fragment_size=size
        )
    return transaction


def parts(cluster: GaleraCluster, node: int = 0) -> str:
    """What of streams a node has committed, in this order, a letter for each.

    Fragments, the prepare (P), the commit (C), the rollback (R).
    """
    letters = {Part.FRAGMENT: "f", Part.PREPARE: "P", Part.COMMIT: "C", Part.ROLLBACK: "R"}
    return "".join(
        letters[one.detail[1]]  # type: ignore[index]
        for one in cluster.trace.events
        if (one.node, one.what) == (node, "part")
    )
