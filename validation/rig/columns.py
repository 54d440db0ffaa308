"""Which columns of a dataset are metrics, of which rows, and which are information."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simrep.rig.cell import Cell
from simrep.rig.rows import METRICS, Metric, load_name

__all__ = ["ignored", "metrics"]

_BEYOND = 20
"""A percentile is a metric where so many transactions lie beyond it in every run: with five, one
slow transaction moves it to another place."""


def metrics(
    cells: Sequence[Cell], factors: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The ``[[metric]]`` tables of a dataset.

    Parameters
    ----------
    cells : sequence of Cell
        Of the experiment.
    factors : sequence of str
        As the experiment has them.
    rows : sequence of mapping
        Those of the data that may be used.
    """
    loads = {load_name(cell, factors): cell.load for cell in cells}
    used = [name for name in loads if any(row["load"] == name for row in rows)]
    found = []
    for metric in METRICS:
        told = [
            name
            for name in used
            if metric.of(loads[name]) and _told(metric, name, rows) and _enough(metric, name, rows)
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


def _told(metric: Metric, load: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    return any(row.get(metric.column, "") != "" for row in rows if row["load"] == load)


def _enough(metric: Metric, load: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    if metric.tail is None:
        return True
    counts = [float(row["committed"] or 0) for row in rows if row["load"] == load]
    return metric.tail * min(counts) >= _BEYOND


def ignored(content: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    """Columns that no factor, metric or series of a description uses."""
    used = {*content["factors"], *(metric["column"] for metric in content["metric"])}
    used |= {column for series in content["series"] for column in series["where"]}
    return [column for column in columns if column not in used]
