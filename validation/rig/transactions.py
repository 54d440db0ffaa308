"""What clients submit, every transaction of a run, and what these come to."""

from __future__ import annotations

import csv
import gzip
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import nan
from pathlib import Path

from simrep.rig.files import write_packed

__all__ = [
    "ATTEMPTS",
    "CONFLICTS",
    "DATABASE",
    "MOST_RECORDS",
    "USER",
    "Loaded",
    "Statement",
    "Transaction",
    "keep_records",
    "percentile",
    "read_transactions",
    "records_text",
    "summarise",
    "thin_out",
    "write_transactions",
]

DATABASE = "rig"
"""Of all tables of the rig."""
ATTEMPTS = "attempts"
"""The table of loads with faults: every row has the number of its client and of its transaction."""
USER = "app"
"""Of clients that meet faults, and its password: without the privileges of an administrator, for
servers refuse others than these."""
CONFLICTS = (1020, 1180, 1205, 1213, 3101)
"""Errors that transactions of concurrent writers may get: changed since read, error at commit, lock
wait time-out, deadlock, refused by the group."""
MOST_RECORDS = 20_000
"""Runs of more transactions are kept as commits over time."""
WINDOW_S = 0.05
_COMMITS = ".commits.csv.gz"
_LEAST_BYTES = 100_000
"""A record takes about 10: a smaller file has not too many of them."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What the clients submit.

    Attributes
    ----------
    text : str
        With ``{row}`` where the number of a row goes.
    rows : int
        That it writes.
    choices : int
        Numbers of rows go from 1 to this; 0 if the text names none.
    """

    text: str
    rows: int = 1
    choices: int = 0

    def pick(self, generator: random.Random) -> str:
        """The text of one transaction."""
        if not self.choices:
            return self.text
        return self.text.replace("{row}", str(generator.randint(1, self.choices)))


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
class Loaded:
    """What a load came to; figures that its tool does not give are not numbers.

    Attributes
    ----------
    committed, failed : int
        Transactions that were committed, and that were given up.
    tool_s : float
        The tool's own time for all of it; of the driver from the begin of the load to the last end.
    cpu_s : float
        CPU time of the clients; not a number where they run in a container.
    retried : int
        Attempts that failed and were followed by another one; sysbench does so by itself.
    mean_s, p50_s, p95_s, p99_s, max_s : float
        Latency of those that committed, from when they should have begun.
    service_p95_s : float
        The same from when they were submitted: what a client that waits in line does not see.
    by_node : mapping of str to float
        Mean latency by the node of the client.
    records : tuple of Transaction
        Of the driver; empty for other tools.
    errors : tuple of (number, count)
        How many failed with which error.
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


_COLUMNS = [column.name for column in fields(Transaction)]


def percentile(ordered: Sequence[float], share: float) -> float:
    """A quantile by linear interpolation; not a number if there is nothing."""
    if not ordered:
        return nan
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summarise(records: Sequence[Transaction], cpu_s: float = nan) -> Loaded:
    """Counts and latencies of the driver's records."""
    done = [record for record in records if not record.error]
    latencies = sorted(record.latency_s for record in done)
    service = sorted(record.end_s - record.start_s for record in done)
    by_node: dict[str, list[float]] = {}
    for record in done:
        by_node.setdefault(record.node, []).append(record.latency_s)
    return Loaded(
        committed=len(done),
        failed=len(records) - len(done),
        tool_s=max((record.end_s for record in records), default=nan),
        cpu_s=cpu_s,
        retried=sum(record.attempts - 1 for record in records),
        mean_s=_mean(latencies),
        p50_s=percentile(latencies, 0.50),
        p95_s=percentile(latencies, 0.95),
        p99_s=percentile(latencies, 0.99),
        max_s=latencies[-1] if latencies else nan,
        service_p95_s=percentile(service, 0.95),
        by_node={node: _mean(values) for node, values in sorted(by_node.items())},
        records=tuple(records),
        errors=tuple(sorted(Counter(record.error for record in records if record.error).items())),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else nan


def records_text(records: Iterable[Transaction]) -> str:
    """Records as CSV."""
    lines = [
        f"{r.client},{r.node},{r.intended_s:.6f},{r.start_s:.6f},{r.end_s:.6f},"
        f"{r.rows},{r.bytes},{r.attempts},{r.error}"
        for r in records
    ]
    return "\n".join([",".join(_COLUMNS), *lines]) + "\n"


def write_transactions(path: Path, records: Iterable[Transaction]) -> None:
    """Write the records as compressed CSV, in the order of their ends.

    Equal records make equal bytes: the file holds neither its name nor the time.
    """
    ordered = sorted(records, key=lambda record: (record.end_s, record.client))
    write_packed(path, records_text(ordered))


def read_transactions(path: Path) -> list[Transaction]:
    """Read what :func:`write_transactions` or a process of clients wrote."""
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


def keep_records(folder: Path, name: str, records: Sequence[Transaction]) -> None:
    """Write every transaction of an attempt, or its commits over time if there are too many."""
    folder.mkdir(exist_ok=True)
    if len(records) > MOST_RECORDS:
        write_packed(folder / f"{name}{_COMMITS}", _over_time(records))
    else:
        write_transactions(folder / f"{name}.csv.gz", records)


def thin_out(folder: Path) -> None:
    """Replace files of transactions that hold too many of them."""
    for path in sorted(folder.glob("*.csv.gz")):
        if path.name.endswith(_COMMITS) or path.stat().st_size < _LEAST_BYTES:
            continue
        records = read_transactions(path)
        if len(records) > MOST_RECORDS:
            keep_records(folder, path.name.removesuffix(".csv.gz"), records)
            path.unlink()


def _over_time(records: Sequence[Transaction]) -> str:
    """Windows in which something ended: their begin, and how many committed and failed."""
    commits: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    for record in records:
        (failed if record.error else commits)[int(record.end_s / WINDOW_S)] += 1
    lines = [
        f"{window * WINDOW_S:.2f},{commits[window]},{failed[window]}"
        for window in sorted({*commits, *failed})
    ]
    return "\n".join(["t_s,commits,failed", *lines]) + "\n"
