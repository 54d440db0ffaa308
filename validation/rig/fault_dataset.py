"""The data of runs with faults: a row for each figure of each run, and how figures are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from simrep.rig import decided
from simrep.rig.cell import Cell, column
from simrep.rig.fault_figures import figures_anew
from simrep.rig.fault_names import MEASURED_ALONE, unit
from simrep.rig.fault_scenarios import fault_scenario
from simrep.rig.journal import Progress
from simrep.rig.known import is_known, uncertainty
from simrep.rig.predictions import factor_names, series_name
from simrep.rig.rows import as_csv, factor_columns
from simrep.rig.scenarios import Figures

__all__ = [
    "CHECKS",
    "KNOWN",
    "checks_text",
    "data_text",
    "failures_table",
    "fault_factors",
    "fault_scenarios",
    "fault_series",
    "known_text",
]  # fmt: skip

KNOWN = "known.csv"
"""How well each figure is known; those that are not are marked with 0."""
CHECKS = "checks.csv"
"""Figures that no simulation has: rows node by node, and the machine."""


def data_text(progress: Progress) -> str:
    """Figures that simulated runs have as well, of attempts that passed."""
    return as_csv(list(_rows(progress, alone=False)))


def checks_text(progress: Progress) -> str:
    """All others."""
    return as_csv(list(_rows(progress, alone=True)))


def known_text(progress: Progress) -> str:
    """How well each figure is known: half of the 95 % interval of its mean, as a share of it.

    A figure that chance decides has modes, between which its mean lies: it is neither known nor
    not, and told by ``modes``.
    """
    found: dict[tuple[tuple[str, Any], ...], _Repeated] = {}
    for cell, row in _figures(progress, alone=False):
        where = tuple((key, value) for key, value in row.items() if key not in {"run", "value"})
        found.setdefault(where, _Repeated(cell)).values.append(float(row["value"]))
    return as_csv(
        [{**dict(where), **own.columns(dict(where)["metric"])} for where, own in found.items()]
    )


@dataclass(frozen=True, slots=True)
class _Repeated:
    """The values of a figure in the runs of a cell."""

    cell: Cell
    values: list[float] = field(default_factory=list)

    def columns(self, metric: str) -> dict[str, Any]:
        """How well they tell it."""
        share = uncertainty(self.values)
        modes = bool(decided.by_chance(self.cell, [metric]))
        judged = len(self.values) > 1 and not modes
        known = is_known(self.values, moment=unit(metric) == "s")
        return {
            "runs": len(self.values),
            "uncertainty": "" if share is None else round(share, 4),
            "known": int(known) if judged else "",
            "modes": int(modes),
        }


def _rows(progress: Progress, *, alone: bool) -> Iterator[dict[str, Any]]:
    return (row for _, row in _figures(progress, alone=alone))


def _figures(progress: Progress, *, alone: bool) -> Iterator[tuple[Cell, dict[str, Any]]]:
    factors = factor_names(progress.experiment)
    for entry in progress.entries():
        if not entry.passed:
            continue
        run = progress.runs[entry.id]
        kept = ("system", "variant", "layout", *map(column, factors))
        own = factor_columns(run, progress.factors)
        figures = figures_anew(run.cell, entry, progress.folder)
        for metric, value in figures.items():
            if metric.startswith(MEASURED_ALONE) is not alone:
                continue
            row = {
                **{name: own[name] for name in kept if name in own},
                "load": run.cell.load.name,
                "run": run.repetition,
                "metric": metric,
                "value": _number(value),
                "unit": unit(metric),
            }
            yield run.cell, row


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else value


def fault_factors(progress: Progress, measured: Figures) -> dict[str, Any]:
    """The ``[factors]``: layouts set the network, options themselves."""
    cells = [cell for cell, _ in progress.experiment.cells()]
    layouts = {cell.layout.name: cell.layout.settings(measured.base_rtt_ms) for cell in cells}
    found: dict[str, Any] = {"layout": {"path": "network.path", "at": layouts}}
    for name in factor_names(progress.experiment):
        found[column(name)] = {"path": f'cluster.options."{name}"', "optional": True}
    return found


def failures_table(progress: Progress) -> dict[str, Any]:
    """The ``[failures]``: what decides a figure."""
    return decided.failures_table(_firsts(progress))


def fault_series(progress: Progress) -> list[dict[str, Any]]:
    """A series for each system and load of which something was measured."""
    measured = {
        (run.cell.system, run.cell.load.name)
        for entry in progress.entries()
        if entry.passed
        for run in [progress.runs[entry.id]]
    }
    return [
        {
            "name": series_name(cell),
            "title": _title(progress, cell),
            "scenario": f"{series_name(cell)}.toml",
            "where": {"system": cell.system, "load": cell.load.name},
        }
        for cell in _firsts(progress)
        if (cell.system, cell.load.name) in measured
    ]


def _title(progress: Progress, cell: Cell) -> str:
    system = progress.experiment.system(cell.system)
    return f"{system.title or system.name}: {cell.load.title or cell.load.name}"


def fault_scenarios(progress: Progress, measured: Figures) -> dict[str, dict[str, Any]]:
    """The scenarios by the names of their files, without ``.toml``."""
    return {
        series_name(cell): fault_scenario(progress.experiment, cell, measured)
        for cell in _firsts(progress)
    }


def _firsts(progress: Progress) -> Sequence[Cell]:
    """The first cell of each system and load."""
    found: dict[str, Cell] = {}
    for cell, _ in progress.experiment.cells():
        found.setdefault(series_name(cell), cell)
    return list(found.values())
