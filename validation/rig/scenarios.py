"""A measured cell as a scenario: what the simulation knows of it, and how columns set it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from simrep.contract.card import package_of
from simrep.contract.registry import find_model
from simrep.errors import ScenarioError
from simrep.rig.cell import Cell, column
from simrep.rig.experiment import Experiment
from simrep.rig.load import STALL_WINDOW_S, LargeTransaction, Load, statement_bytes
from simrep.rig.server import BUFFER_POOL, Option
from simrep.scenario.changes import leaves, put
from simrep.scenario.options import resolve, version_defaults, versions
from simrep.scenario.problems import spellings

__all__ = [
    "Figures",
    "cell_scenario",
    "client_costs",
    "differences",
    "factor_paths",
    "is_factor",
    "known_options",
    "model_version",
    "run_of",
    "simulated",
    "system_scenario",
    "unknown_options",
    "workload_of",
]

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
_PRESETS = {
    "oltp_insert": "sysbench-oltp-insert",
    "oltp_update_index": "sysbench-oltp-update-index",
    "oltp_read_write": "sysbench-oltp-read-write",
}
_EVENT_BYTES = 90
"""Headers and table map of a row event."""
_COUNTER_BYTES = 9
"""A row of two integers and its null bits."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)*(?:-\d+(?:\.\d+)*)?")
_FAMILIES = {"percona": "pxc"}
_SWITCH = {"on": 1.0, "yes": 1.0, "true": 1.0, "off": 0.0, "no": 0.0, "false": 0.0}
_PERIOD = re.compile(r"pt(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_LARGE_BYTES = 8 + 18
"""A row of the large table beside its text: two integers, and what InnoDB adds to a record."""
_PAGE_SHARE = 15 / 16  # of a page are rows that come in the order of their keys
_SEGMENT = "gmcast.segment"
_POOL = "innodb_buffer_pool_size"
_PROVIDER = "wsrep_provider_options"


@dataclass(frozen=True, slots=True)
class Figures:
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


def cell_scenario(experiment: Experiment, cell: Cell, measured: Figures) -> dict[str, Any]:
    """The scenario of a cell, as a mapping.

    What a system's own ``scenario`` says comes above what was measured.
    """
    cluster: dict[str, Any] = {
        "model": cell.product,
        "nodes": cell.nodes,
        "shared_host": True,
        "options": _options(cell),
    }
    if (large := cell.load.large) is not None:  # all of it fits into the buffer pool, or not
        row_bytes = large.value_bytes + _LARGE_BYTES
        cluster["data_bytes"] = int(large.rows * row_bytes / _PAGE_SHARE)
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
        **_nodes(cell),
        "network": network,
        "workload": workload_of(cell.load),
    }
    if run := run_of(cell.load):
        scenario["run"] = run
    for path, value in _own(experiment.system(cell.system).scenario):
        put(scenario, {}, path, value)
    return scenario


def _nodes(cell: Cell) -> dict[str, Any]:
    """The ``[[node]]`` tables, if some nodes differ from others."""
    tables = []
    for name in cell.node_names:
        options = dict(cell.node_options.get(name, {}))
        table: dict[str, Any] = {"name": name}
        if (segment := options.pop(_SEGMENT, None)) is not None:
            table["segment"] = segment
        if own := simulated(cell.product, options):
            table["options"] = own
        if name in cell.arbitrators:
            table["arbitrator"] = True
        tables.append(table)
    return {"node": tables} if any(len(table) > 1 for table in tables) else {}


def _options(cell: Cell) -> dict[str, Option]:
    """Those that are set; with a large transaction the memory, too, which may be too small."""
    options = simulated(cell.product, cell.options)
    if cell.load.large is not None:
        options.setdefault(_POOL, BUFFER_POOL)
    return options


def system_scenario(
    experiment: Experiment, cells: Iterable[Cell], measured: Figures
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
    experiment: Experiment, cells: Iterable[Cell], measured: Figures
) -> dict[str, Any]:
    """The ``[factors]`` of a dataset: for each column where its values go.

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
        loads[cell.load_name(names)] = _load_settings(cell.load, measured)
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


def _load_settings(load: Load, measured: Figures) -> dict[str, Any]:
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
        for path, value in _own(scenario)
        if any(path == table or path.startswith(f"{table}.") for table in _SET_BY_COLUMNS)
    }


def _own(scenario: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, table in scenario.items():
        yield from leaves(name, table)


def workload_of(load: Load) -> dict[str, Any]:
    """The ``[workload]``."""
    table: dict[str, Any] = {"nodes": list(load.nodes), "client": "node"}
    if load.rate_tps:
        per_node = load.threads // len(load.nodes)
        table |= {"rate_tps": float(load.rate_tps), "connections": per_node}
    else:
        table["threads"] = load.threads
    if load.transactions is not None:
        table["queries"] = load.transactions
    elif load.per_client is not None:
        table["transactions_per_client"] = load.per_client
    if load.retry or load.script is not None:  # sysbench begins an event again by itself
        table["retry"] = True
    if load.script is not None:
        table["preset"] = _PRESETS[load.script]
        if load.script != "oltp_insert":
            table["class"] = [{"keys": _special_keys(load)}]
        return table
    table["class"] = [_class(load)]
    if load.large is not None:
        table["scheduled"] = [_scheduled(load.large, load.nodes[0])]
    return table


def run_of(load: Load) -> dict[str, Any]:
    """The ``[run]``."""
    if load.large is not None:
        run: dict[str, Any] = {"settle_s": load.large.rest_s, "interval_s": STALL_WINDOW_S}
        # Whoever has arrived by then is served, and counts.
        return run | {"drain": True} if load.rate_tps else run
    return {} if load.duration_s is None else {"duration_s": load.duration_s}


def client_costs(load: Load, client_us: float | None) -> dict[str, float]:
    """Costs that follow from the tool and not from the servers.

    slap connects in the time that it tells; the driver and sysbench do so before. A pack knows the
    CPU time of the clients of slap; the driver takes more, in microseconds for a transaction.
    """
    if load.tool == "slap":
        return {}
    costs = {"connect_us": 0.0}
    if load.tool == "driver" and client_us is not None:
        costs["client_us"] = client_us
    return costs


def _class(load: Load) -> dict[str, Any]:
    if load.kind == "update":
        keys = {"distribution": "uniform", "rows": load.existing_rows}
        # The event holds a row before and after.
        row_bytes = _EVENT_BYTES + 2 * _COUNTER_BYTES
        return {"name": "update", "table": "counters", "row_bytes": row_bytes, "keys": keys}
    return {
        "name": "insert",
        "table": "inserts",
        "rows": load.rows,
        "row_bytes": round(load.value_bytes + 5 + _EVENT_BYTES / load.rows),
        "statement_bytes": statement_bytes(load),
    }


def _special_keys(load: Load) -> dict[str, Any]:
    """Of sysbench's --rand-type=special: 75 % of the choices fall on 1 % of the rows."""
    rows = load.tables * load.table_rows
    hot = max(1, rows // 100)
    return {"distribution": "hot", "rows": rows, "hot_rows": hot, "hot_fraction": 0.75}


def _scheduled(large: LargeTransaction, node: str) -> dict[str, Any]:
    table: dict[str, Any] = {
        "name": "large",
        "at_s": large.after_s,
        "node": node,
        "rows": large.rows,
        # A row before and after: two integers, a text with its length, and its null bits.
        "row_bytes": 2 * (large.value_bytes + 10),
        "table": "large",
        "keys": {"distribution": "scan", "rows": large.rows},
    }
    if large.streams:
        table["session"] = {
            "wsrep_trx_fragment_unit": large.fragment_unit,
            "wsrep_trx_fragment_size": large.fragment_size,
        }
    return table


@cache
def known_options(model: str) -> frozenset[str]:
    """Options of a model, in all spellings."""
    fields = find_model(model).Options.model_fields
    return frozenset(one for name, field in fields.items() for one in spellings(name, field))


def simulated(model: str, options: Mapping[str, Option]) -> dict[str, Option]:
    """Those of the options that the model has."""
    return {name: value for name, value in options.items() if name in known_options(model)}


def unknown_options(model: str, options: Mapping[str, Option]) -> list[str]:
    """Names of the others."""
    return [name for name in options if name not in known_options(model)]


def model_version(model: str, server: str, version: str) -> str | None:
    """The version of a model whose defaults come nearest to those of a server.

    Of the same product the newest that is not newer than the server, which names itself e.g.
    ``11.8.9-MariaDB-4``, else the oldest; the newest one for a version that is no number. None if
    the model knows none of the product.
    """
    family = _FAMILIES.get(server, server)
    found = find_model(model)
    known = {
        _numbers(name.partition("-")[2]): name
        for name in versions(package_of(found), found.name)
        if name.partition("-")[0] == family
    }
    if not known:
        return None
    own = _numbers(version)
    older = [one for one in known if not own or one <= own]
    return known[max(older) if older else min(known)]


def _numbers(version: str) -> tuple[int, ...]:
    found = _NUMBERS.match(version)
    return tuple(int(part) for part in re.split(r"[.-]", found[0])) if found else ()


def differences(
    model: str, version: str | None, options: Mapping[str, Option], variables: Mapping[str, str]
) -> dict[str, str]:
    """Options that a server has, and that are simulated with another value.

    It was started with options, of a model's version, and has all the variables.
    """
    found = find_model(model)
    try:
        defaults = version_defaults(package_of(found), found.name, version)
        layers = {"version": defaults}
        ours = resolve(found.Options, "options", layers, simulated(model, options))
    except ScenarioError as error:
        return {"options": str(error)}
    theirs = {**variables, **_provider_options(variables.get(_PROVIDER, ""))}
    unequal = {}
    for name, field in found.Options.model_fields.items():
        value = getattr(ours, name)
        for spelling in spellings(name, field):
            if spelling in theirs and _plain(theirs[spelling]) != _plain(value):
                unequal[spelling] = f"{theirs[spelling]}, simulated with {value}"
    return unequal


def _provider_options(text: str) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in text.split(";"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def _plain(value: Any) -> float | str:
    """A value such that equal settings are equal, however they are written."""
    text = str(value).strip().lower()
    if text in _SWITCH:
        return _SWITCH[text]
    period = _PERIOD.fullmatch(text)
    if period and any(period.groups()):
        return 60.0 * float(period[1] or 0) + float(period[2] or 0)
    try:
        return float(text)
    except ValueError:
        return text
