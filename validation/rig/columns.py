"""Which columns of a dataset are metrics, of which rows, and which are information."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simrep.rig.cell import Cell
from simrep.rig.load import Load

__all__ = ["METRICS", "MeasuredColumn", "ignored", "metrics"]

_BEYOND = 20
"""A percentile is a metric where so many transactions lie beyond it in every run: with five, one
slow transaction moves it to another place."""


def _any(_load: Load) -> bool:
    return True


def _counted(load: Load) -> bool:
    return load.each is not None


def _timed(load: Load) -> bool:
    return load.duration_s is not None and not load.rate_tps


def _closed(load: Load) -> bool:
    return not load.rate_tps


@dataclass(frozen=True, slots=True)
class MeasuredColumn:
    """A measured column, and what the result of a simulation calls it.

    Attributes
    ----------
    column, result, unit, label : str
        As in ``dataset.toml``.
    absolute : float or None
        Tolerance in the unit.
    of : callable
        Whether a load leaves the figure open: a run of ten seconds says nothing by lasting ten
        seconds, nor an open loop by its throughput, and the throughput of a number of
        transactions is the time that they take once more.
    tail : float or None
        Share of the transactions beyond a percentile, of which there must be some.
    """

    column: str
    result: str
    unit: str
    label: str
    absolute: float | None = None
    of: Callable[[Load], bool] = _any
    tail: float | None = None

    def told_by(self, committed: float) -> bool:
        """Whether so many transactions tell it."""
        return self.tail is None or self.tail * committed >= _BEYOND


METRICS = (
    MeasuredColumn("seconds", "makespan_s", "s", "time for all transactions", of=_counted),
    MeasuredColumn("throughput_tps", "throughput_tps", "1/s", "transactions per second", of=_timed),
    MeasuredColumn("mean_s", "latency_s.mean", "s", "mean latency"),
    MeasuredColumn("p50_s", "latency_s.p50", "s", "median latency", tail=0.5),
    MeasuredColumn("p95_s", "latency_s.p95", "s", "95th percentile of the latency", tail=0.05),
    MeasuredColumn("p99_s", "latency_s.p99", "s", "99th percentile of the latency", tail=0.01),
    MeasuredColumn("failed", "aborted", "transactions", "transactions that failed", 5.0),
    MeasuredColumn(
        "update_s", "scheduled.large.duration_s", "s", "time until the large update answers"
    ),
    MeasuredColumn("visible_s", "scheduled.large.visible_s", "s", "time until all nodes show it"),
    MeasuredColumn("stall_s", "scheduled.large.stall_s", "s", "longest stall", 0.3),
    MeasuredColumn(
        "payload_tps_before",
        "scheduled.large.before_tps",
        "1/s",
        "commits of others before",
        of=_closed,
    ),
    MeasuredColumn(
        "payload_tps_during",
        "scheduled.large.during_tps",
        "1/s",
        "commits of others until all nodes show it",
        100.0,
    ),
    MeasuredColumn("fragments", "scheduled.large.fragments", "", "fragments", 2.0),
)


def metrics(
    cells: Sequence[Cell], factors: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The ``[[metric]]`` tables of a dataset, from those of its rows that may be used."""
    loads = {cell.load_name(factors): cell.load for cell in cells}
    used = [name for name in loads if any(row["load"] == name for row in rows)]
    found = []
    for metric in METRICS:
        told = [
            name
            for name in used
            if metric.of(loads[name]) and _told(metric, [r for r in rows if r["load"] == name])
        ]
        if not told:
            continue
        own = [row.get(metric.column, "") for row in rows if row["load"] in told]
        table: dict[str, Any] = {
            key: value
            for key in ("column", "result", "unit", "label", "absolute")
            if (value := getattr(metric, key)) is not None
        }
        if "" in own:
            table["optional"] = True
        if told != used:
            table["where"] = {"load": told}
        found.append(table)
    return found


def _told(metric: MeasuredColumn, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a load's rows tell it, of enough transactions."""
    least = min(float(row["committed"] or 0) for row in rows)
    return any(row.get(metric.column, "") != "" for row in rows) and metric.told_by(least)


def ignored(content: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    """Columns that no factor, metric or series of a description uses."""
    used = {*content["factors"], *(metric["column"] for metric in content["metric"])}
    used |= {column for series in content["series"] for column in series["where"]}
    return [column for column in columns if column not in used]
