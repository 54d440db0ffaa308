"""Every transaction of a run: its records, their file, and what they say about latency."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from math import nan
from pathlib import Path

from simrep.rig.files import write_packed

__all__ = [
    "Transaction",
    "Transactions",
    "percentile",
    "read_transactions",
    "summarise",
    "write_transactions",
]


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction, seen by its client; times count from the begin of the load.

    Attributes
    ----------
    client : int
    node : str
        That the client is connected to.
    intended_s : float
        When it should have begun: in an open loop its arrival, in a closed loop the end of the one
        before. Latency counts from here, so that what waited behind a stall has waited.
    start_s, end_s : float
        When the client submitted it, and had the answer.
    rows, bytes : int
        Rows written and size of the statements' text.
    attempts : int
        Submissions, with those that were repeated after a deadlock.
    error : int
        Number of the server's error; 0 means that it was committed.
    """

    client: int
    node: str
    intended_s: float
    start_s: float
    end_s: float
    rows: int
    bytes: int
    attempts: int
    error: int

    @property
    def latency_s(self) -> float:
        """From when it should have begun."""
        return self.end_s - self.intended_s


@dataclass(frozen=True, slots=True)
class Transactions:
    """What the records of a run come to.

    Attributes
    ----------
    committed, failed, retried : int
    makespan_s : float
        From the begin of the load to the last end.
    mean_s, p50_s, p95_s, p99_s, max_s : float
        Latency of those that committed, from when they should have begun.
    service_p95_s : float
        The same from when they were submitted: what a client that waits in line does not see.
    by_node : mapping of str to float
        Mean latency by the node of the client.
    errors : mapping of int to int
        How many failed with which error.
    """

    committed: int
    failed: int
    retried: int
    makespan_s: float
    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float
    service_p95_s: float
    by_node: dict[str, float]
    errors: dict[int, int]


COLUMNS = [field.name for field in fields(Transaction)]


def percentile(ordered: Sequence[float], share: float) -> float:
    """A quantile by linear interpolation; not a number if there is nothing."""
    if not ordered:
        return nan
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summarise(records: Sequence[Transaction]) -> Transactions:
    """Counts and latencies."""
    done = [record for record in records if not record.error]
    latencies = sorted(record.latency_s for record in done)
    service = sorted(record.end_s - record.start_s for record in done)
    by_node: dict[str, list[float]] = {}
    for record in done:
        by_node.setdefault(record.node, []).append(record.latency_s)
    return Transactions(
        committed=len(done),
        failed=len(records) - len(done),
        retried=sum(record.attempts - 1 for record in records),
        makespan_s=max((record.end_s for record in records), default=nan),
        mean_s=_mean(latencies),
        p50_s=percentile(latencies, 0.50),
        p95_s=percentile(latencies, 0.95),
        p99_s=percentile(latencies, 0.99),
        max_s=latencies[-1] if latencies else nan,
        service_p95_s=percentile(service, 0.95),
        by_node={node: _mean(values) for node, values in sorted(by_node.items())},
        errors=dict(Counter(record.error for record in records if record.error)),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else nan


def write_transactions(path: Path, records: Iterable[Transaction]) -> None:
    """Write the records as compressed CSV, in the order of their ends.

    Equal records make equal bytes: the file holds neither its name nor the time.
    """
    lines = [",".join(COLUMNS)]
    for record in sorted(records, key=lambda one: (one.end_s, one.client)):
        values = [f"{v:.6f}" if isinstance(v, float) else str(v) for v in astuple(record)]
        lines.append(",".join(values))
    write_packed(path, "\n".join(lines) + "\n")


def read_transactions(path: Path) -> list[Transaction]:
    """Read what :func:`write_transactions` or a client process wrote."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return [
        Transaction(
            client=int(row["client"]),
            node=row["node"],
            intended_s=float(row["intended_s"]),
            start_s=float(row["start_s"]),
            end_s=float(row["end_s"]),
            rows=int(row["rows"]),
            bytes=int(row["bytes"]),
            attempts=int(row["attempts"]),
            error=int(row["error"]),
        )
        for row in csv.DictReader(text.splitlines())
    ]
