"""A drill: faults, settings, and what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf, isfinite, isinf, isnan, nan
from pathlib import Path
from statistics import fmean, median
from typing import Any

from simrep.measure.confidence import Interval, mean_interval
from simrep.measure.units import plain
from simrep.runs.report import Report
from simrep.whatif.drill.catalogue import DrillFault
from simrep.whatif.drill.cell import Case
from simrep.whatif.drill.demand import Demand
from simrep.whatif.drill.outcome import LEAST_OUTAGE_S, Outcome
from simrep.whatif.table_file import save_table

__all__ = ["FIGURES", "PERCENTILES_FROM", "Drill", "DrillCell"]

FIGURES = (
    "detected_s",
    "writes_back_s",
    "reads_back_s",
    "rto_s",
    "lost",
    "lost_span_s",
    "duplicated",
    "stale",
    "stale_s",
    "slow_s",
    "whole_s",
)
"""Figures of an outcome that cells tell over their replications."""
PERCENTILES_FROM = 40
"""Replications from which on a 95th percentile is told: two of them are beyond it then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillCell:
    """One fault in one setting.

    Attributes
    ----------
    fault : DrillFault
    labels : mapping of str to value
        The setting.
    outcomes : tuple of Outcome
        One for each replication; empty if there is none.
    refused : str
        Why there is none: the fault does not apply to the cluster, or its model does not play it.
    case : Case or None
        What is simulated, to be looked at.
    """

    fault: DrillFault
    labels: Mapping[str, Any]
    outcomes: tuple[Outcome, ...] = ()
    refused: str = ""
    case: Case | None = None

    def values(self, figure: str) -> list[float]:
        """The figure in the replications that have it; infinite where it never came."""
        values = [getattr(one, figure) for one in self.outcomes]
        return [value for value in values if not isnan(value)]

    def median(self, figure: str) -> float:
        """The median of the replications that have the figure; NaN if none has."""
        values = self.values(figure)
        return median(values) if values else nan

    def percentile(self, figure: str, percent: float) -> float:
        """The least value that so many percent of the replications do not exceed.

        NaN if none has the figure.
        """
        values = sorted(self.values(figure))
        return values[ceil(percent / 100.0 * len(values)) - 1] if values else nan

    def interval(self, figure: str) -> Interval | None:
        """The 95 % interval of the mean; None of a single replication, or where it never came."""
        values = self.values(figure)
        if len(values) < 2 or not all(map(isfinite, values)):
            return None
        return mean_interval(values)

    @property
    def typical(self) -> int:
        """The replication whose RTO is the median, or the next one above; the first if none has."""
        order = sorted(
            (one.rto_s, place) for place, one in enumerate(self.outcomes) if not isnan(one.rto_s)
        )
        return order[len(order) // 2][1] if order else 0

    @property
    def weighed_s(self) -> list[float]:
        """The RTO of each replication, as far as it tells how precise their mean is.

        A mean below a second is no outage: it is taken to be a second, with the same spread.
        """
        values = self.values("rto_s")
        lift = max(0.0, LEAST_OUTAGE_S - fmean(values)) if values else 0.0
        return [value + lift for value in values]

    @property
    def precision(self) -> float:
        """Half of the 95 % interval of the mean RTO, as a share of it or of a second.

        The longer of the two counts. Infinite of a single replication, or where writes never came
        back in one.
        """
        values = self.weighed_s
        if len(values) < 2 or not all(map(isfinite, values)):
            return inf
        return mean_interval(values).relative

    def never(self, figure: str) -> int:
        """In how many replications it did not come before the end of the run."""
        return sum(map(isinf, self.values(figure)))

    @property
    def errors(self) -> dict[str, float]:
        """Errors that clients met, by number: how often in the mean of the replications."""
        times: Counter[str] = Counter()
        for one in self.outcomes:
            times.update(one.errors)
        return {error: number / len(self.outcomes) for error, number in times.most_common()}

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it; what did not come before the end is ``"never"``."""
        spread = self.interval("rto_s")
        return {
            "fault": self.fault.name,
            "labels": dict(self.labels),
            "refused": self.refused,
            "figures": {figure: self._spread(figure) for figure in FIGURES}
            if self.outcomes
            else {},
            "rto_interval": None if spread is None else [spread.low, spread.high],
            "errors": self.errors,
            "outcomes": [one.to_dict() for one in self.outcomes],
        }

    def _spread(self, figure: str) -> dict[str, Any]:
        values = self.values(figure)
        if not values:
            return {"median": None, "low": None, "high": None}
        told = {"median": self.median(figure), "low": min(values), "high": max(values)}
        if len(values) >= PERCENTILES_FROM:
            told["p95"] = self.percentile(figure, 95.0)
        return {name: "never" if isinf(value) else value for name, value in told.items()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Drill(Report):
    """What a catalogue of faults costs, setting by setting.

    ``plot()`` draws the longest time without a write, fault by fault and product by product.

    Attributes
    ----------
    name : str
        Title of the scenario.
    factors : tuple of str
        What settings differ in: ``product``, and what was varied.
    cells : tuple of DrillCell
        Setting by setting, in the order of the catalogue.
    replications : int
        Of each cell; with a precision, of the cell that has the most.
    precision : float or None
        That was asked for.
    limit_s : float
        So long after the begin of its fault a run ends at last.
    notes : tuple of str
        What holds for all cells, such as what clients do about errors.
    seed : int
    computed, known : int
        Replications that were simulated now, and that were known already.
    complete : bool
        False when it was interrupted; cells of which replications are missing are left out.
    versions : mapping of str to str
    demand : Demand or None
        The RTO and RPO that were asked for.
    """

    width = 100

    name: str
    factors: tuple[str, ...]
    cells: tuple[DrillCell, ...]
    replications: int
    limit_s: float
    notes: tuple[str, ...]
    seed: int
    computed: int
    known: int
    complete: bool
    versions: Mapping[str, str]
    demand: Demand | None = None
    precision: float | None = None

    @property
    def verdicts(self) -> list[tuple[Mapping[str, Any], str]]:
        """Of each setting, its labels and whether it keeps the demand; empty without a demand."""
        demand = self.demand
        if demand is None:
            return []
        return [
            (labels, demand.verdict([one for one in self.cells if one.labels == labels]))
            for labels in self.settings
        ]

    @property
    def imprecise(self) -> list[DrillCell]:
        """Cells whose mean RTO is not known as precisely as was asked for."""
        wanted = inf if self.precision is None else self.precision
        return [cell for cell in self.cells if cell.outcomes and cell.precision > wanted]

    @property
    def settings(self) -> list[Mapping[str, Any]]:
        """The labels of all settings, each once."""
        found: list[Mapping[str, Any]] = []
        for cell in self.cells:
            if cell.labels not in found:
                found.append(cell.labels)
        return found

    def cell(self, fault: str, **labels: Any) -> DrillCell:
        """The cell of a fault, in the first setting with these labels.

        Raises
        ------
        KeyError
            If there is none.
        """
        for one in self.cells:
            if one.fault.name == fault and labels.items() <= one.labels.items():
                return one
        raise KeyError(f"no cell of {fault!r} with {labels}")

    def rows(self) -> list[dict[str, Any]]:
        """A row per cell: medians, ranges, 95th percentiles from 40 replications on.

        What did not come before the end of the run is infinite there; ``FIGURE.never`` tells in how
        many replications.
        """
        return [self._row(cell) for cell in self.cells]

    _rows = rows

    def _row(self, cell: DrillCell) -> dict[str, Any]:
        row: dict[str, Any] = {
            **cell.labels,
            "fault": cell.fault.name,
            "replications": len(cell.outcomes),
        }
        for figure in FIGURES:
            values = cell.values(figure)
            row[figure] = cell.median(figure)
            row[f"{figure}.low"] = min(values, default=nan)
            row[f"{figure}.high"] = max(values, default=nan)
            if figure == "rto_s":
                enough = len(values) >= PERCENTILES_FROM
                row["rto_s.p95"] = cell.percentile(figure, 95.0) if enough else nan
            if figure in {"rto_s", "whole_s"}:
                row[f"{figure}.never"] = cell.never(figure)
        row["errors"] = ", ".join(f"{error} x {times:g}" for error, times in cell.errors.items())
        row["refused"] = cell.refused
        return row

    def save(self, path: str | Path) -> None:
        """Write the rows as ``.csv``, or as ``.parquet``, which needs pandas and pyarrow.

        What did not come before the end of the run is ``never`` in a CSV file.
        """
        rows = [
            {name: "never" if value == inf else value for name, value in row.items()}
            for row in self.rows()
        ]
        save_table(self, path, rows, (*self.factors, "fault"))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return plain(
            {
                "name": self.name,
                "factors": list(self.factors),
                "replications": self.replications,
                "precision": self.precision,
                "limit_s": self.limit_s,
                "notes": list(self.notes),
                "verdicts": [{"labels": dict(of), "verdict": said} for of, said in self.verdicts],
                "cells": [cell.to_dict() for cell in self.cells],
                "seed": self.seed,
                "computed": self.computed,
                "known": self.known,
                "complete": self.complete,
                "versions": dict(self.versions),
            }
        )

    def __repr__(self) -> str:
        return f"<Drill of {len(self.cells)} cells, seed {self.seed}>"
