"""The data of runs with faults: a row for each figure of each run, and how figures are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simrep.rig.cell import Cell, column
from simrep.rig.fault_figures import MEASURED_ALONE, figures_anew
from simrep.rig.fault_scenarios import fault_scenario
from simrep.rig.journal import Progress
from simrep.rig.rows import as_csv, factor_columns
from simrep.rig.scenarios import Figures, is_factor

__all__ = ["CHECKS", "checks_text", "data_text", "failures_table", "fault_factors",
           "fault_scenarios", "fault_series"]  # fmt: skip

CHECKS = "checks.csv"
"""Figures that no simulation has: rows node by node, and the machine."""
_UNITS = (("_ms", "ms"), ("_tps", "1/s"), ("_n", ""), ("_s", "s"))

_FAILURES: Mapping[str, Any] = {
    # A run begins anywhere within a second, for which timers of servers are as they are.
    "phase_s": 1.0,
    "processors": [
        *("*/tput_*", "*/acked_n", "*/before_latency_median_ms", "*/rejoining_latency_median_ms"),
        *("*/rejoining_tps", "*/err_*_n", "*/reads_on_*_failed_n", "*/ist_writesets_n"),
        # How long a server takes to start, after which its joining begins.
        *("*/restart_total_s", "*/rejoin_*_s", "*/rejoining_seconds_s", "*/ist_begins_*"),
        *("*/link_open_after_back_s", "*/declared_online_after_back_s", "*/add_node_*"),
        *("*/joined_after_back_s", "*/victim_recovering_*", "*/stall_after_heal_begins_s"),
    ],
    # Multiples of timers: chance decides how many.
    "distributions": [
        *("*/stall_survivors_while_rejoining_s", "*/stall_survivors_after_heal_s"),
        *("*/rejoining_longest_gap_s", "*/rejoining_latency_max_ms"),
        "*/primary_view_after_connect_s",
    ],
}


def data_text(progress: Progress) -> str:
    """Figures that simulated runs have as well, of attempts that passed."""
    return as_csv(list(_rows(progress, alone=False)))


def checks_text(progress: Progress) -> str:
    """All others."""
    return as_csv(list(_rows(progress, alone=True)))


def _rows(progress: Progress, *, alone: bool) -> Iterator[dict[str, Any]]:
    factors = _factors(progress)
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
            yield {
                **{name: own[name] for name in kept if name in own},
                "load": run.cell.load.name,
                "run": run.repetition,
                "metric": metric,
                "value": _number(value),
                "unit": _unit(metric),
            }


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _unit(metric: str) -> str:
    return next((unit for end, unit in _UNITS if metric.endswith(end)), "")


def _factors(progress: Progress) -> list[str]:
    """Options that differ between cells; loads with faults have no other keys to vary."""
    cells = [cell for cell, _ in progress.experiment.cells()]
    return [name for name in progress.factors if name != "threads" and is_factor(name, cells)]


def fault_factors(progress: Progress, measured: Figures) -> dict[str, Any]:
    """The ``[factors]``: layouts set the network, options themselves."""
    cells = [cell for cell, _ in progress.experiment.cells()]
    layouts = {cell.layout.name: cell.layout.settings(measured.base_rtt_ms) for cell in cells}
    found: dict[str, Any] = {"layout": {"path": "network.path", "at": layouts}}
    for name in _factors(progress):
        found[column(name)] = {"path": f'cluster.options."{name}"', "optional": True}
    return found


def failures_table(progress: Progress) -> dict[str, Any]:
    """The ``[failures]``: what decides a figure was settled before any was measured."""
    started = [
        f"{_name(cell)} */first_declaring_stable_on_{cell.node_names[place]}_s"
        for cell in _firsts(progress)
        for fault in cell.load.fault
        if fault.what == "restart"
        for place in fault.struck(cell.node_names, cell.node_names)
    ]
    return {**_FAILURES, "processors": [*_FAILURES["processors"], *started]}


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
            "name": _name(cell),
            "title": _title(progress, cell),
            "scenario": f"{_name(cell)}.toml",
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
        _name(cell): fault_scenario(progress.experiment, cell, measured)
        for cell in _firsts(progress)
    }


def _name(cell: Cell) -> str:
    return f"{cell.system}-{cell.load.name}"


def _firsts(progress: Progress) -> Sequence[Cell]:
    """The first cell of each system and load."""
    found: dict[str, Cell] = {}
    for cell, _ in progress.experiment.cells():
        found.setdefault(_name(cell), cell)
    return list(found.values())
