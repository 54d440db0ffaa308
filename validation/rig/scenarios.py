"""A measured cell as a scenario: what a dataset simulates, and how its columns set it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from simrep.experiment.model import find_model
from simrep.experiment.model_card import model_card
from simrep.rig.cell import Cell
from simrep.rig.experiment import Experiment
from simrep.rig.rows import column, load_name

__all__ = ["cell_scenario", "factor_paths", "model_version"]

_VERSION = re.compile(r"(\d+)\.(\d+)")

# Where keys of a load that are varied stand in a scenario; the load's own table says the same.
_LOAD_PATHS = {
    "threads": "workload.threads",
    "transactions": "workload.queries",
    "per_client": "workload.transactions_per_client",
    "rate_tps": "workload.rate_tps",
    "duration_s": "run.duration_s",
    "rows": "workload.class.0.rows",
    "existing_rows": "workload.class.0.keys.rows",
    "large.fragment_size": "workload.scheduled.0.session.wsrep_trx_fragment_size",
    "large.fragment_unit": "workload.scheduled.0.session.wsrep_trx_fragment_unit",
}
# Settings that the servers know and the simulation does not.
_NOT_SIMULATED = re.compile(
    r"^(innodb_(buffer_pool|log|redo)_|max_|thread_|table_|performance_schema|log_)", re.IGNORECASE
)


def model_version(model: str, server: str, version: str) -> str | None:
    """The version of a model whose defaults are those of a server; None if it has no such.

    Parameters
    ----------
    model : str
    server : str
        ``mariadb``, ``mysql`` or ``percona``.
    version : str
        As ``SELECT VERSION()`` gives it, e.g. ``11.8.9-MariaDB-4``.
    """
    found = _VERSION.match(version)
    if found is None:
        return None
    name = {"percona": "pxc"}.get(server, server)
    known = model_card(find_model(model))["versions"]
    for candidate in (f"{name}-{found[1]}.{found[2]}", f"{name}-{found[1]}"):
        if candidate in known:
            return candidate
    return None


def cell_scenario(
    experiment: Experiment, cell: Cell, *, version: str = "", base_rtt_ms: float = 0.1
) -> dict[str, Any]:
    """The scenario of a cell, as a mapping.

    Parameters
    ----------
    experiment : Experiment
    cell : Cell
    version : str
        Of the server, as it says itself.
    base_rtt_ms : float
        Round trip without added delay.
    """
    cluster: dict[str, Any] = {
        "model": cell.product,
        "nodes": cell.nodes,
        "shared_host": True,
        "options": _simulated(cell),
    }
    if chosen := model_version(cell.product, cell.server, version):
        cluster["version"] = chosen
    network: dict[str, Any] = {"rtt_ms": base_rtt_ms}
    for path, value in cell.layout.settings(base_rtt_ms).items():
        if value:
            network[path.partition(".")[2]] = value
    scenario: dict[str, Any] = {
        "name": cell.label,
        "cluster": cluster,
        "network": network,
        "workload": cell.load.workload(),
    }
    if run := cell.load.run():
        scenario["run"] = run
    return _merged(scenario, experiment.system(cell.system).scenario)


def factor_paths(
    experiment: Experiment, cells: Iterable[Cell], base_rtt_ms: float
) -> dict[str, Any]:
    """The ``[factors]`` of a dataset: for each column where its values go.

    The load and the layout set whole tables, what is varied in them single values; in an open loop
    ``threads`` are connections, which the load sets.
    """
    every = list(cells)
    names = experiment.factors()
    layouts: dict[str, Any] = {}
    loads: dict[str, Any] = {}
    for cell in every:
        layouts[cell.layout.name] = cell.layout.settings(base_rtt_ms)
        settings: dict[str, Any] = {"workload": cell.load.workload()}
        if run := cell.load.run():
            settings["run"] = run
        loads[load_name(cell, names)] = settings
    paths: dict[str, Any] = {
        "layout": {"path": "network.path", "at": layouts},
        "load": {"path": "workload", "at": loads},
    }
    for name in names:
        path = _LOAD_PATHS.get(name, f'cluster.options."{name}"')
        at = _row_settings(every) if name == "rows" else {}
        # A table even without `at`: in a file tables keep their order, and come after the load's.
        paths[column(name)] = {"path": path, "at": at} if at else {"path": path}
    return paths


def _row_settings(cells: Iterable[Cell]) -> dict[str, Any]:
    """What rows of that number set; nothing if loads with different rows have the same number."""
    found: dict[str, dict[str, Any]] = {}
    for cell in cells:
        [kind] = cell.load.workload()["class"]
        settings = {
            f"workload.class.0.{key}": kind[key]
            for key in ("rows", "row_bytes", "statement_bytes")
            if key in kind
        }
        if found.setdefault(str(cell.load.rows), settings) != settings:
            return {}
    return found


def _simulated(cell: Cell) -> dict[str, Any]:
    """Options that are not only about the server's memory and logs."""
    return {name: value for name, value in cell.options.items() if not _NOT_SIMULATED.match(name)}


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(one)
    for key, value in other.items():
        own = merged.get(key)
        both = isinstance(own, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(own, value) if both else value  # type: ignore[arg-type]
    return merged
