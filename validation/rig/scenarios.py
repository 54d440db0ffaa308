"""A measured cell as a scenario: what a study simulates, and how its columns set it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from simrep.rig.cell import Cell
from simrep.rig.experiment import Experiment
from simrep.rig.load import Load
from simrep.rig.rows import column, load_name
from simrep.rig.simulated import known_options, model_version, simulated
from simrep.rig.workloads import client_costs, run_of, workload_of
from simrep.scenario.problems import dotted

__all__ = ["Measured", "cell_scenario", "factor_paths", "is_factor", "system_scenario"]

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
_SET_BY_COLUMNS = (
    "workload",
    "run",
    "network.path",
    "network.egress",
    "cluster.options",
    "cluster.costs",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the measurement found out that scenarios hold.

    Attributes
    ----------
    versions : mapping of system to str
        Of the servers, as they say themselves.
    base_rtt_ms : float
        Round trip without added delay.
    client_us : float, optional
        CPU time of the driver for a transaction.
    """

    versions: Mapping[str, str]
    base_rtt_ms: float = 0.1
    client_us: float | None = None


def cell_scenario(experiment: Experiment, cell: Cell, measured: Measured) -> dict[str, Any]:
    """The scenario of a cell, as a mapping.

    What a system's own ``scenario`` says comes above what was measured.

    Parameters
    ----------
    experiment : Experiment
    cell : Cell
    measured : Measured
    """
    cluster: dict[str, Any] = {
        "model": cell.product,
        "nodes": cell.nodes,
        "shared_host": True,
        "options": simulated(cell.product, cell.options),
    }
    version = measured.versions.get(cell.system, "")
    if chosen := model_version(cell.product, cell.server, version):
        cluster["version"] = chosen
    if costs := client_costs(cell.load, measured.client_us):
        cluster["costs"] = costs
    network: dict[str, Any] = {"rtt_ms": measured.base_rtt_ms}
    for path, value in cell.layout.settings(measured.base_rtt_ms).items():
        if value:
            network[path.partition(".")[2]] = value
    scenario: dict[str, Any] = {
        "name": cell.label,
        "cluster": cluster,
        "network": network,
        "workload": workload_of(cell.load),
    }
    if run := run_of(cell.load):
        scenario["run"] = run
    return _merged(scenario, experiment.system(cell.system).scenario)


def system_scenario(
    experiment: Experiment, cells: Iterable[Cell], measured: Measured
) -> dict[str, Any]:
    """The scenario of a system, which columns change to those of its cells.

    It has the options of the system alone: an empty column leaves an option as it is. Delays and
    load are those of the first cell.
    """
    first = next(iter(cells))
    own = experiment.system(first.system)
    scenario = cell_scenario(
        experiment, replace(first, variant="", options=dict(own.options)), measured
    )
    scenario["name"] = own.title or own.name
    costs = own.scenario.get("cluster", {}).get("costs")
    scenario["cluster"].pop("costs", None)  # those of the client are its load's
    if costs:
        scenario["cluster"]["costs"] = dict(costs)
    return scenario


def factor_paths(
    experiment: Experiment, cells: Iterable[Cell], measured: Measured
) -> dict[str, Any]:
    """The ``[factors]`` of a study: for each column where its values go.

    The load and the layout set whole tables, what is varied in them single values; in an open loop
    ``threads`` are connections, which the load sets. Last comes what a system's own ``scenario``
    says where columns have replaced it.
    """
    every = list(cells)
    names = experiment.factors()
    layouts: dict[str, Any] = {}
    loads: dict[str, Any] = {}
    for cell in every:
        layouts[cell.layout.name] = cell.layout.settings(measured.base_rtt_ms)
        loads[load_name(cell, names)] = _load_settings(cell.load, measured)
    paths: dict[str, Any] = {
        "layout": {"path": "network.path", "at": layouts},
        "load": {"path": "workload", "at": loads},
    }
    for name in names:
        if is_factor(name, every):
            # A table even without `at`: in a file tables keep their order, after the load's.
            path = _LOAD_PATHS.get(name, f'cluster.options."{name}"')
            paths[column(name)] = {"path": path}
    own = {system.name: _replaced(system.scenario) for system in experiment.systems}
    if any(own.values()):
        paths["system"] = {"path": "name", "at": {name: at for name, at in own.items() if at}}
    return paths


def is_factor(name: str, cells: Iterable[Cell]) -> bool:
    """Whether a column sets something of its own: the load's column sets whole loads."""
    if name.partition(".")[0] in Load.model_fields:
        return name in _LOAD_PATHS
    return any(name in known_options(cell.product) for cell in cells)


def _load_settings(load: Load, measured: Measured) -> dict[str, Any]:
    costs = client_costs(load, measured.client_us)
    return {
        "workload": workload_of(load),
        "run": run_of(load),
        **{f"cluster.costs.{name}": value for name, value in costs.items()},
    }


def _replaced(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Of a system's own tables what columns set as well, by path."""
    return {
        path: value
        for path, value in _leaves(scenario, ())
        if any(path == table or path.startswith(f"{table}.") for table in _SET_BY_COLUMNS)
    }


def _leaves(table: Mapping[str, Any], steps: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*steps, key))
        else:
            yield dotted((*steps, key)), value


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(one)
    for key, value in other.items():
        own = merged.get(key)
        both = isinstance(own, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(own, value) if both else value  # type: ignore[arg-type]
    return merged
