"""The data of runs with faults: a row for each figure of each run, and how figures are judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from scipy.stats import t as student

from simrep.rig.cell import Cell, column
from simrep.rig.fault_figures import MEASURED_ALONE, figures_anew
from simrep.rig.fault_scenarios import fault_scenario
from simrep.rig.journal import Progress
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
"""How well each figure is known; those that are not to 10 % are marked with 0."""
_KNOWN = 0.1
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
_OF_PRODUCTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    # As in the datasets group-replication-failures and semisync-failures, made by other scripts.
    "group_replication": {
        # Commits a second, and how long they take, while slots of a silent member are filled.
        "slow_phases": [
            *("degraded_tps", "degraded_latency_median_ms", "joining_tps"),
            *("joining_latency_median_ms", "slow_phase_*", "tput_while_stopped_tps"),
            *("tput_first_4s_of_silence_tps", "mean_latency_first_4s_ms"),
        ],
        "processors": [
            *("after_removal_tps", "after_removal_latency_median_ms", "err_*_1290_max_wait_s"),
            *("err_*_2003_connect_*_s", "err_*_2013_*_s", "err_*_1290_first_after_inject_s"),
            *("joining_seconds_s", "max_read_latency_new_primary_s"),
        ],
        "distributions": [
            *("joining_latency_max_ms", "joining_longest_gap_s", "victim_state_error_*"),
            *("victim_learns_it_was_expelled_*", "first_autorejoin_after_heal_s"),
        ],
    },
    "semisync": {
        "processors": [
            *("async_fallback_*", "waiting_on_again_after_restart_or_heal_s"),
            *("waiting_on_with_2_clients_after_restart_s", "old_source_restart_s"),
        ],
    },
}
_KILLED_MEMBER = ("after_removal_latency_max_ms", "after_removal_longest_gap_s")
"""Of a group: decided by processors, where no redial to a silent host holds everybody up."""


def data_text(progress: Progress) -> str:
    """Figures that simulated runs have as well, of attempts that passed."""
    return as_csv(list(_rows(progress, alone=False)))


def checks_text(progress: Progress) -> str:
    """All others."""
    return as_csv(list(_rows(progress, alone=True)))


def known_text(progress: Progress) -> str:
    """How well each figure is known: half of the 95 % interval of its mean, as a share of it."""
    found: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for row in _rows(progress, alone=False):
        where = tuple((key, value) for key, value in row.items() if key not in {"run", "value"})
        found.setdefault(where, []).append(float(row["value"]))
    rows = []
    for where, values in found.items():
        share = _uncertainty(values)
        known = "" if share is None else int(share <= _KNOWN)
        told = "" if share is None else round(share, 4)
        rows.append({**dict(where), "runs": len(values), "uncertainty": told, "known": known})
    return as_csv(rows)


def _uncertainty(values: Sequence[float]) -> float | None:
    """None of one value alone, which tells nothing; 0 of equal ones."""
    if len(values) < 2:
        return None
    middle, spread = mean(values), stdev(values)
    if spread == 0.0:
        return 0.0
    half = float(student.ppf(0.975, len(values) - 1)) * spread / math.sqrt(len(values))
    return half / abs(middle) if middle else None


def _rows(progress: Progress, *, alone: bool) -> Iterator[dict[str, Any]]:
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


def fault_factors(progress: Progress, measured: Figures) -> dict[str, Any]:
    """The ``[factors]``: layouts set the network, options themselves."""
    cells = [cell for cell, _ in progress.experiment.cells()]
    layouts = {cell.layout.name: cell.layout.settings(measured.base_rtt_ms) for cell in cells}
    found: dict[str, Any] = {"layout": {"path": "network.path", "at": layouts}}
    for name in factor_names(progress.experiment):
        found[column(name)] = {"path": f'cluster.options."{name}"', "optional": True}
    return found


def failures_table(progress: Progress) -> dict[str, Any]:
    """The ``[failures]``: what decides a figure was settled before any was measured."""
    started = [
        f"{series_name(cell)} */first_declaring_stable_on_{cell.node_names[place]}_s"
        for cell in _firsts(progress)
        for fault in cell.load.fault
        if fault.what == "restart"
        for place in fault.struck(cell.node_names, cell.node_names)
    ]
    found = {**_FAILURES, "processors": [*_FAILURES["processors"], *started]}
    for cell in _firsts(progress):
        own = {kind: [*names] for kind, names in _OF_PRODUCTS.get(cell.product, {}).items()}
        dies = any(fault.what == "kill" for fault in cell.load.fault)
        if cell.product == "group_replication" and dies:
            own["processors"] += _KILLED_MEMBER
        for kind, names in own.items():
            patterns = [f"{series_name(cell)} */{name}" for name in names]
            found[kind] = [*found.get(kind, ()), *patterns]
    return found


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
