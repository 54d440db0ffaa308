"""A run of sysbench: its output, in the form of 1.0 or of 0.4 and 0.5, and the load that it was."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil, inf
from pathlib import Path
from typing import Any

from simrep.contract.server_reading import Place, Quantity, ServerReading
from simrep.errors import ScenarioError
from simrep.intake.findings import Findings, text_of
from simrep.intake.load import LoadReading
from simrep.scenario.presets import preset

__all__ = ["Sysbench", "counters_cover", "load_of_sysbench", "read_sysbench", "sysbench_of"]

_FIGURES = {
    "threads": re.compile(r"Number of threads: (\d+)"),
    "target_tps": re.compile(r"Target transaction rate: ([\d.]+)/sec"),
    "read": re.compile(r"read: +(\d+)"),
    "write": re.compile(r"write: +(\d+)"),
    "other": re.compile(r"other: +(\d+)"),
    "transactions": re.compile(r"transactions: +(\d+) .*"),
    "errors": re.compile(r"(?:ignored errors|deadlocks): +(\d+) .*"),
    "seconds": re.compile(r"total time: +([\d.]+)s"),
    "mean_ms": re.compile(r"avg: +([\d.]+)(?:ms)?"),
    "max_ms": re.compile(r"max: +([\d.]+)(?:ms)?"),
}
_PERCENTILE = re.compile(r"(?:approx\. +)?(\d{1,2})(?:th)? percentile: +([\d.]+)(?:ms)?")
_SLACK = 0.05  # transactions that were open at the end
_REQUIRED = ("threads", "transactions", "seconds", "mean_ms")
_INSERT, _UPDATE = "sysbench-oltp-insert", "sysbench-oltp-update-index"
_READ_WRITE = "sysbench-oltp-read-write"
_POINTS, _RANGES, _RANGE_ROWS = 10, 4, 100  # of oltp_read_only and oltp_read_write
_COVERED = 0.5
"""Share of its transactions that counters have to hold to be of the run."""


@dataclass(frozen=True, slots=True)
class Sysbench:
    """Figures of a run."""

    file: str
    threads: int
    transactions: int
    seconds: float
    mean_s: float
    # reads, writes, others: statements of a transaction, each; ``others`` are BEGIN and COMMIT.
    reads: int
    writes: int
    others: int
    target_tps: float | None  # rate that was asked for (``--rate``)
    # Which one, and its latency in seconds; None if it was not asked for.
    percentile: tuple[int, float] | None
    places: tuple[Place, ...]  # lines of the required figures

    @property
    def throughput_tps(self) -> float:
        """Transactions per second."""
        return self.transactions / self.seconds


def read_sysbench(path: Path) -> Sysbench:
    """The figures in a file."""
    return sysbench_of(text_of(path, "--sysbench"), path.name)


def _figure(text: str, file: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = inf
    if value == inf:
        raise ScenarioError("--sysbench", f"{file}:{line}: {text!r} is no figure")
    return value


def sysbench_of(text: str, file: str) -> Sysbench:
    """The figures in the text of a file; none of them may be missing, and something committed."""
    found: dict[str, Quantity] = {}
    percentile = None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        for name, pattern in _FIGURES.items():
            if match := pattern.fullmatch(stripped):
                value = _figure(match[1], file, number)
                found[name] = Quantity(value, (Place(file, number),))
        if match := _PERCENTILE.fullmatch(stripped):
            percentile = int(match[1]), _figure(match[2], file, number) / 1000
    for name in _REQUIRED:
        if name not in found:
            raise ScenarioError(
                "--sysbench", f"{file} has no {name}", "give what 'sysbench ... run' printed"
            )
    transactions = found["transactions"].value
    if not (transactions and found["seconds"].value and found["mean_ms"].value):
        raise ScenarioError("--sysbench", f"{file}: nothing was committed")

    errors = found["errors"].value if "errors" in found else 0.0

    def each(name: str) -> int:
        if name not in found:
            return 0
        # Attempts that failed have submitted some of their statements, too.
        least = found[name].value / (transactions + errors)
        whole = ceil(least - _SLACK)
        return whole if whole <= found[name].value / transactions + _SLACK else round(least)

    target = found.get("target_tps")
    return Sysbench(
        file=file,
        threads=int(found["threads"].value),
        transactions=int(transactions),
        seconds=found["seconds"].value,
        mean_s=found["mean_ms"].value / 1000,
        reads=each("read"),
        writes=each("write"),
        others=each("other"),
        target_tps=target.value if target is not None else None,
        percentile=percentile if percentile and percentile[0] else None,
        places=tuple(found[name].places[0] for name in _REQUIRED),
    )


def load_of_sysbench(server: ServerReading, bench: Sysbench, findings: Findings) -> LoadReading:
    """Threads, or a rate, and what a transaction does: by its numbers of statements."""
    one, note = _class(server, bench, findings)
    path = "workload.class.0"
    for key in ("statements", "reads", "range_reads"):
        if key in one:
            findings.read(f"{path}.{key}", one[key], bench.places[1:2], note)
    if one.get("statements", 1):
        why = "as in the preset of that script: sysbench does not print tables and row sizes"
        hot = "; it sends 75 % of the writes to 100 of 10,000 rows, so set those of your test"
        for key, more in (("row_bytes", ""), ("keys", hot)):
            if key in one:
                findings.default(f"{path}.{key}", one[key], why + more)
    table: dict[str, Any] = {"nodes": ["n1"]}
    figures: dict[str, float] = {"threads": bench.threads}
    if bench.target_tps is not None:
        figures = {"rate_tps": bench.target_tps, "connections": bench.threads}
    for key, value in figures.items():
        table[key] = findings.read(f"workload.{key}", value, bench.places[:1])
    return LoadReading([one], table, None)


def counters_cover(server: ServerReading, bench: Sysbench, load: LoadReading) -> bool:
    """Whether two snapshots of the counters lie around the run, so that they are about it."""
    seconds = server.status.seconds
    if server.status.before is None or seconds is None or load.per_s is None:
        return False
    return load.per_s.value * seconds.value >= _COVERED * bench.transactions


def _class(
    server: ServerReading, bench: Sysbench, findings: Findings
) -> tuple[dict[str, Any], str]:
    reads, writes, others = bench.reads, bench.writes, bench.others
    note = f"{reads} reads, {writes} writes and {others} others per transaction"
    if (reads, writes, others) == (0, 1, 0):
        name = _single(server, findings)
        return _of(name), f"{note}: {name}"
    points = {"reads": reads, "range_reads": 0}
    if reads == _POINTS + _RANGES:
        points = {"reads": _POINTS, "range_reads": _RANGES, "range_rows": _RANGE_ROWS}
    if writes:
        own = {**_of(_READ_WRITE), "statements": writes, **points}
        note += f": as {_READ_WRITE}"
    else:
        own = {"name": "read-only", "statements": 0, **points, "autocommit": False}
    if not others:  # no BEGIN and COMMIT
        own.pop("autocommit")
    return own, note


def _single(server: ServerReading, findings: Findings) -> str:
    """A statement that writes: the counters know of which kind, sysbench does not say."""
    inserts, updates = (server.status.rate(name) for name in ("com_insert", "com_update"))
    if inserts is not None and updates is not None and inserts.value != updates.value:
        name = _INSERT if inserts.value > updates.value else _UPDATE
        note = "one statement that writes; Com_insert and Com_update say which"
        return str(findings.read("workload.class", name, inserts.places + updates.places, note))
    why = "one statement that writes: sysbench does not print of which kind (oltp_insert?)"
    return str(findings.default("workload.class", _UPDATE, why))


def _of(name: str) -> dict[str, Any]:
    [one] = preset(name)["class"]
    return dict(one)
