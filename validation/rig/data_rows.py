"""The rows of ``data.csv``: those of the journal, with the columns that this version knows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from simrep.rig.cell import Run
from simrep.rig.journal import Entry
from simrep.rig.load import Load
from simrep.rig.progress import Progress
from simrep.rig.rows import column, counter_columns, factor_columns
from simrep.rig.scenarios import is_factor
from simrep.rig.simulated import unknown_options

__all__ = ["as_csv", "client_us", "data_rows", "is_usable"]

_MOST_DRAIN = 0.05
"""Of the duration: an open loop whose backlog took longer was saturated."""


def data_rows(progress: Progress) -> list[dict[str, Any]]:
    """A row for every attempt."""
    cells = [cell for cell, _ in progress.experiment.cells()]
    factors = {name: is_factor(name, cells) for name in progress.factors}
    return [_row(entry, progress.runs[entry.id], factors) for entry in progress.entries()]


def is_usable(row: Mapping[str, Any]) -> bool:
    """Whether a simulation may be compared with a row."""
    return bool(row["passed"]) and not row["saturated"]


def client_us(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """CPU time of the driver for a transaction in microseconds, in the cell where it is least.

    Clients that wait between transactions find cold caches, which a simulation knows by itself.
    """
    by_cell: dict[str, list[float]] = {}
    for row in rows:
        seconds = row.get("cpu_client", "")
        if row["tool"] != "driver" or not row["passed"] or seconds == "":
            continue
        attempts = sum(int(row.get(name) or 0) for name in ("committed", "failed", "retried"))
        cell = str(row["run"]).rpartition(".")[0]
        by_cell.setdefault(cell, []).append(1e6 * float(seconds) / attempts)
    return round(min(map(median, by_cell.values())), 1) if by_cell else None


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a file; what a row does not have is empty."""
    # So that the order of the columns is that of a row that has most of them.
    fullest_first = sorted(rows, key=len, reverse=True)
    columns = list(dict.fromkeys(name for row in fullest_first for name in row))
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _row(entry: Entry, run: Run, factors: Mapping[str, bool]) -> dict[str, Any]:
    cell = run.cell
    row: dict[str, Any] = factor_columns(run, list(factors))
    row |= {name: value for name, value in entry.row.items() if name not in row}
    if entry.counters:
        row |= counter_columns(cell.product, entry.counters)
    unknown = [name for name in unknown_options(cell.product, cell.options) if name in factors]
    row["not_simulated"] = " ".join(f"{name}={cell.options[name]}" for name in unknown)
    # What sets the scenarios of other products would not be valid in that of this one.
    row |= {column(name): "" for name in unknown if factors[name]}
    errors = entry.details.get("errors", {})
    row["errors"] = " ".join(f"{number}:{count}" for number, count in errors.items())
    row["drain_s"] = _drain_s(cell.load, entry.row)
    row["saturated"] = int(bool(row["drain_s"] and _is_saturated(cell.load, row["drain_s"])))
    return row


def _drain_s(load: Load, row: Mapping[str, Any]) -> float | str:
    """How long an open loop went on after its last arrival."""
    lasted_s = row.get("lasted_s", "")
    if load.tool != "driver" or not load.rate_tps or load.duration_s is None or lasted_s == "":
        return ""
    return round(max(0.0, float(lasted_s) - load.duration_s), 6)


def _is_saturated(load: Load, drain_s: float) -> bool:
    """Its latencies count what a simulation, which ends with the arrivals, never sees."""
    return load.duration_s is not None and drain_s > _MOST_DRAIN * load.duration_s
