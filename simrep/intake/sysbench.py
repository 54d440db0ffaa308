"""What sysbench printed at the end of a run, in the form of 1.0 or of 0.4 and 0.5."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from simrep.errors import ScenarioError
from simrep.intake.given import Number, Place, text_of

__all__ = ["Sysbench", "read_sysbench", "sysbench_of"]

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
_PERCENTILE = re.compile(r"(?:approx\. +)?(\d+)(?:th)? percentile: +([\d.]+)(?:ms)?")
_SLACK = 0.05  # transactions that were open at the end
_REQUIRED = ("threads", "transactions", "seconds", "mean_ms")


@dataclass(frozen=True, slots=True)
class Sysbench:
    """Figures of a run.

    Attributes
    ----------
    file : str
    threads, transactions : int
    seconds, mean_s : float
    reads, writes, others : int
        Statements of a transaction, each; ``others`` are BEGIN and COMMIT.
    target_tps : float or None
        Rate that was asked for (``--rate``).
    percentile : (int, float) or None
        Which one, and its latency in seconds; None if it was not asked for.
    places : tuple of Place
        Lines of the required figures.
    """

    file: str
    threads: int
    transactions: int
    seconds: float
    mean_s: float
    reads: int
    writes: int
    others: int
    target_tps: float | None
    percentile: tuple[int, float] | None
    places: tuple[Place, ...]

    @property
    def throughput_tps(self) -> float:
        """Transactions per second."""
        return self.transactions / self.seconds


def read_sysbench(path: Path) -> Sysbench:
    """The figures in a file."""
    return sysbench_of(text_of(path, "--sysbench"), path.name)


def sysbench_of(text: str, file: str) -> Sysbench:
    """The figures in a text.

    Parameters
    ----------
    text : str
    file : str
        Its name, for the places of the figures.

    Raises
    ------
    ScenarioError
        If one is missing, or nothing was committed.
    """
    found: dict[str, Number] = {}
    percentile = None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        for name, pattern in _FIGURES.items():
            if match := pattern.fullmatch(stripped):
                found[name] = Number(float(match[1]), (Place(file, number),))
        if match := _PERCENTILE.fullmatch(stripped):
            percentile = int(match[1]), float(match[2]) / 1000
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
