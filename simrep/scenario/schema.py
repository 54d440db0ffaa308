"""A whole scenario: cluster, network, workload and run; reading it, and variants of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from html import escape
from math import inf
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator

from simrep.errors import ScenarioError, nearest
from simrep.scenario.backup import BackupTable
from simrep.scenario.changes import leaves, put
from simrep.scenario.cluster import (
    MOST_NODES,
    ClusterTable,
    HostTable,
    MachineTable,
    NodeTable,
    hosts_of,
)
from simrep.scenario.fault_checks import fault_problems
from simrep.scenario.faults import FaultTable
from simrep.scenario.maintenance import MaintenanceTable
from simrep.scenario.network import NetworkTable, paths
from simrep.scenario.old_faults import listed_faults, outdated
from simrep.scenario.operation import OperationTable
from simrep.scenario.operations import listed_operations, operation_problems
from simrep.scenario.problems import ProblemsError, combined, dotted, problems
from simrep.scenario.procedure import ProcedureTable, procedure_problems
from simrep.scenario.proxy import ProxyTable
from simrep.scenario.replica_cluster import ReplicaClusterTable
from simrep.scenario.run import RunTable
from simrep.scenario.settings import SettingTable
from simrep.scenario.table import Table, Title
from simrep.scenario.workload import WorkloadTable, expand
from simrep.user_files import check_content, parse_toml, read_text

__all__ = [
    "DEFAULT_NODES",
    "RunTable",
    "Scenario",
    "json_schema",
    "load",
    "with_value",
    "with_values",
]

DEFAULT_NODES = ("n1", "n2", "n3")


class Scenario(Table):
    """Everything that a run needs, as a scenario file says it."""

    name: Title = Field("", description="title of the scenario")
    description: str = Field("", description="what it is about")
    cluster: ClusterTable = Field(description="the product and its machines")
    nodes: tuple[NodeTable, ...] = Field((), alias="node", description="details of single nodes")
    hosts: tuple[HostTable, ...] = Field((), alias="host", description="machines by name")
    network: NetworkTable = Field(
        default_factory=NetworkTable, description="latency, jitter, bandwidth, loss"
    )
    workload: WorkloadTable = Field(default_factory=WorkloadTable, description="the load")
    proxy: ProxyTable | None = Field(
        None,
        description="a proxy between clients and servers: it checks these and routes clients to "
        "them; default of all keys but like: as the proxy that it is like (below)",
    )
    fault_tables: tuple[FaultTable, ...] = Field(
        (), alias="fault", description="what goes wrong, when and where"
    )
    maintenance: tuple[MaintenanceTable, ...] = Field((), description="locks on servers, desync")
    backups: tuple[BackupTable, ...] = Field(
        (), alias="backup", description="copies of all data of running servers"
    )
    settings: tuple[SettingTable, ...] = Field(
        (), alias="setting", description="dynamic options that are set on a running cluster"
    )
    procedure_tables: tuple[ProcedureTable, ...] = Field(
        (), alias="procedure", description="what is done to one node after the other"
    )
    replica_cluster: ReplicaClusterTable | None = Field(
        None, description="another cluster that follows this one asynchronously"
    )
    run: RunTable = Field(default_factory=RunTable, description="length and repetitions")

    _source: dict[str, Any] = PrivateAttr(default_factory=dict)
    _folder: Path | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_and_check(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, dict):
            return handler(data)
        workload, run = data.get("workload"), data.get("run")
        expanded = data
        if isinstance(workload, dict):
            timed = isinstance(run, dict) and run.get("duration_s") is not None
            expanded = data | {"workload": expand(workload, timed=timed)}
        scenario = handler(expanded)
        scenario._source = deepcopy(data)
        found = list(_contradictions(scenario))
        if found:
            raise ProblemsError(found)
        return scenario

    @property
    def node_names(self) -> tuple[str, ...]:
        """Names of all nodes by position."""
        if self.cluster.nodes is not None:
            return self.cluster.nodes
        return tuple(node.name for node in self.nodes) or DEFAULT_NODES

    def node_tables(self) -> tuple[NodeTable, ...]:
        """Details of every node by position."""
        given = {node.name: node for node in self.nodes}
        return tuple(given.get(name) or NodeTable(name=name) for name in self.node_names)

    @property
    def arbitrators(self) -> tuple[str, ...]:
        """Names of the nodes without data, by position."""
        return tuple(node.name for node in self.node_tables() if node.arbitrator)

    @property
    def host_names(self) -> tuple[str, ...]:
        """The machine of every node by its name, by position of the node."""
        return hosts_of(self.node_tables(), shared=self.cluster.shared_host)

    @property
    def faults(self) -> tuple[FaultTable, ...]:
        """All that goes wrong, also what ``cluster.change`` and ``network.outage`` say."""
        return listed_faults(self.fault_tables, self.cluster.changes, self.network.outages)

    @property
    def operations(self) -> tuple[OperationTable, ...]:
        """All that operators do, table by table."""
        return listed_operations(self._operation_tables)

    @property
    def _operation_tables(self) -> dict[str, Sequence[OperationTable]]:
        return {
            "workload.ddl": self.workload.ddl,
            "maintenance": self.maintenance,
            "backup": self.backups,
            "setting": self.settings,
            "procedure": self.procedure_tables,
        }

    @property
    def procedures(self) -> tuple[ProcedureTable, ...]:
        """What is done to one node after the other."""
        return tuple(one for one in self.operations if isinstance(one, ProcedureTable))

    def without_faults(self) -> Self:
        """The same, in which nothing goes wrong."""
        cluster = self.cluster.model_copy(update={"changes": ()})
        network = self.network.model_copy(update={"outages": ()})
        quiet = {"fault_tables": (), "cluster": cluster, "network": network}
        return self.model_copy(update=quiet)

    @property
    def timed(self) -> tuple[str, ...]:
        """Its tables of what happens at a given time: such a run has no steady state."""
        tables = {
            "workload.variation": self.workload.variations,
            "workload.scheduled": self.workload.scheduled,
            "cluster.change": self.cluster.changes,
            "network.outage": self.network.outages,
            "fault": self.fault_tables,
            **self._operation_tables,
        }
        return tuple(path for path, entries in tables.items() if entries)

    @property
    def end_s(self) -> float:
        """When the run ends, in simulated seconds; infinite if that is not known before it."""
        run = self.run
        return inf if run.duration_s is None else run.warmup_s + run.duration_s

    @property
    def folder(self) -> Path | None:
        """Where the file lies that it was loaded from: relative paths start there."""
        return self._folder

    @property
    def source(self) -> dict[str, Any]:
        """A copy of what was written, without defaults."""
        return deepcopy(self._source)

    def replace(self, values: Mapping[str, Any] | None = None, /, **tables: Any) -> Scenario:
        """A scenario with some values changed, all of them before it is checked again.

        Parameters
        ----------
        values : mapping of str to value, optional
            By dotted path: ``network.rtt_ms``, ``network.egress.0.delay_ms``,
            ``cluster.options."evs.send_window"`` (the quotes may be left out there).
        **tables
            Tables by name; keys in them are set, all others stay:
            ``network={"rtt_ms": 50}, name="far away"``. A list takes the place of the list.

        Raises
        ------
        ScenarioError
            If a path leads nowhere or the result is not valid.
        """
        check_content({**(values or {}), **tables}, "scenario")
        changes = dict(values or {})
        for name, table in tables.items():
            changes |= leaves(name, table)
        content, complete = self.source, self.to_dict()
        for path, value in changes.items():
            put(content, complete, path, value)
        return self.checked(content, "scenario", self._folder)

    def steady(self, question: str) -> Self:
        """The same scenario, as long as its load does not vary.

        Raises
        ------
        ScenarioError
            If it does: ``question`` is about a load that lasts.
        """
        for path in self.workload.variations:
            raise ScenarioError(
                f"workload.{path}",
                f"{question} needs a lasting load, but this load varies",
                "remove the variation: set rate_tps or threads",
            )
        return self

    @classmethod
    def checked(cls, content: dict[str, Any], where: str, folder: Path | None = None) -> Self:
        """A scenario of this content.

        Parameters
        ----------
        content : dict
        where : str
            What it is called in errors.
        folder : Path, optional
            Where relative paths start.

        Raises
        ------
        ScenarioError
            With everything that is wrong with it.
        """
        check_content(content, where)
        try:
            scenario = cls.model_validate(content, context={"folder": folder})
        except ValidationError as error:
            raise combined(problems(error, cls), where) from error
        scenario._folder = folder
        return scenario

    def to_toml(self) -> str:
        """What was written, as the text of a scenario file."""
        import tomlkit

        return tomlkit.dumps(_without_none(self._source))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.to_toml())}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """The scenario with its defaults, as :func:`simrep.scenario.schema` accepts it again."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def _without_none(value: Any) -> Any:
    """The same as TOML can hold it: a key that is None was taken back."""
    if isinstance(value, Mapping):
        kept = {key: _without_none(one) for key, one in value.items() if one is not None}
        # TOML wants the tables after the plain keys.
        return dict(sorted(kept.items(), key=lambda pair: _is_table(pair[1])))
    if isinstance(value, (list, tuple)):
        return [_without_none(one) for one in value]
    return value


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )


def json_schema() -> dict[str, Any]:
    """The JSON schema of scenario files, for editors that complete and check them."""
    schema = Scenario.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _contradictions(scenario: Scenario) -> Iterator[ScenarioError]:
    """What is right in each table, but not together."""
    names = scenario.node_names
    if len(names) > MOST_NODES:
        problem = f"a cluster has 1 to {MOST_NODES} nodes, given {len(names):,}"
        yield ScenarioError("node", problem)
        return
    yield from _duplicates("node", [node.name for node in scenario.nodes])
    yield from _duplicates("host", [host.name for host in scenario.hosts])
    for position, node in enumerate(scenario.nodes):
        yield from _unknown(("node", position, "name"), "node", node.name, names)
    yield from _arbitrators(scenario)
    yield from _placement(scenario)
    yield from fault_problems(scenario.faults, names, scenario.host_names, scenario.end_s)
    yield from operation_problems(scenario.operations, names, scenario.arbitrators, scenario.end_s)
    yield from procedure_problems(scenario.procedures, scenario.faults, names, scenario.arbitrators)
    yield from _addresses(scenario)
    for position, name in enumerate(scenario.workload.nodes or ()):
        yield from _unknown(("workload", "nodes", position), "node", name, [*names, "*"])
    yield from _strangers(("workload", "group"), scenario.workload.groups, names)
    for path, policy in scenario.workload.policies:
        whole = policy.above(scenario.workload.policy)
        if whole.longest_pause_s is not None and whole.longest_pause_s < whole.retry_pause_s:
            yield ScenarioError(
                f"{path}.longest_pause_s",
                f"must be at least retry_pause_s ({whole.retry_pause_s:g}), "
                f"given {whole.longest_pause_s:g}",
            )
        for position, name in enumerate(policy.nodes or ()):
            yield from _unknown((*path.split("."), "nodes", position), "node", name, names)
        if policy.on_error == "stop" and (
            scenario.workload.open_loop or scenario.workload.variations
        ):
            yield ScenarioError(
                f"{path}.on_error",
                '"stop" is for a closed loop whose number of clients does not vary',
                'set threads without variation, or "stay"',
            )
        if policy.on_error == "next" and len(names) == 1:
            yield ScenarioError(
                f"{path}.on_error", "there is no next node: the cluster has one", 'set "stay"'
            )
    yield from _strangers(("workload", "scheduled"), scenario.workload.scheduled, names)
    followed = scenario.replica_cluster
    for position, name in enumerate(followed.follows or () if followed is not None else ()):
        yield from _unknown(("replica_cluster", "follows", position), "node", name, names)
    if followed is not None and followed.name in names:
        yield ScenarioError("replica_cluster.name", f"a node is called {followed.name!r}, too")
    yield from _places(scenario)
    run = scenario.run
    yield from _warmup(scenario)
    yield from run.problems()
    yield from _drain(scenario)
    if run.settle_s is not None and not scenario.workload.scheduled:
        yield ScenarioError(
            "run.settle_s", "there is no scheduled transaction", "set run.duration_s instead"
        )
    if run.settle_s is not None and scenario.workload.variations:
        yield ScenarioError(
            "run.settle_s", "does not go with a load that varies", "set run.duration_s instead"
        )
    if scenario.workload.fixed:
        for name, value in (
            ("duration_s", run.duration_s),
            ("warmup_s", run.warmup_s),
            ("settle_s", run.settle_s),
        ):
            if value:
                yield ScenarioError(
                    f"run.{name}",
                    f"does not go with a fixed number of transactions, given {value:g}",
                    "remove it, or workload.queries and workload.transactions_per_client",
                )
    elif run.duration_s is None and run.settle_s is None:
        yield ScenarioError(
            "run.duration_s",
            "is required unless the number of transactions is fixed",
            "or set workload.queries or workload.transactions_per_client (or run.settle_s, with a "
            "scheduled transaction)",
        )


def _places(scenario: Scenario) -> Iterator[ScenarioError]:
    """Where a proxy and clients are, and whether there is a proxy for them."""
    proxy, workload = scenario.proxy, scenario.workload
    if proxy is not None:
        yield from proxy.strangers(scenario.node_names, scenario.arbitrators)
    placed = ["proxy.beside"] if proxy is not None and proxy.beside is not None else []
    for path, policy in workload.policies:
        if policy.place is not None:
            placed.append(f"{path}.place")
        if policy.via == "proxy" and proxy is None:
            yield ScenarioError(f"{path}.via", "there is no proxy", "describe it in [proxy]")
    if workload.client_rtt_ms:
        for path in placed:
            yield ScenarioError(
                path,
                "the network of that node tells how far it is to the others, and "
                f"workload.client_rtt_ms = {workload.client_rtt_ms:g} says otherwise",
                "remove either",
            )


def _warmup(scenario: Scenario) -> Iterator[ScenarioError]:
    """What is to happen at a given time does not go with a warm-up of unknown length."""
    if scenario.run.warmup is None:
        return
    if scenario.run.warmup_s:
        yield ScenarioError("run.warmup", "cannot be combined with run.warmup_s", "remove either")
    elif scenario.run.duration_s is None:
        yield ScenarioError(
            "run.warmup", "is for runs of given length", "set run.duration_s, or remove it"
        )
    for name in scenario.timed:
        yield ScenarioError(
            "run.warmup", f"does not go with the times in {name}", "set run.warmup_s instead"
        )


def _drain(scenario: Scenario) -> Iterator[ScenarioError]:
    """Only where nothing but arrivals goes on for ever does a run end when these are served."""
    if not scenario.run.drain:
        return
    if not scenario.workload.open_loop:
        yield ScenarioError(
            "run.drain", "is for arrivals (workload.rate_tps): clients never end", "remove it"
        )
    disturbed = {*scenario.timed} - {"workload.variation", "workload.scheduled"}
    errors = (path for path, _ in scenario.workload.policies)
    for name in (*sorted(disturbed), *errors):
        yield ScenarioError("run.drain", f"does not go with {name}: some may never be answered")


def _arbitrators(scenario: Scenario) -> Iterator[ScenarioError]:
    """Nodes without data, to which no client can be connected."""
    away, workload = scenario.arbitrators, scenario.workload
    if not away:
        return
    if len(away) == len(scenario.node_names):
        yield ScenarioError("node", "every node is an arbitrator", "one at least must have data")
    places: list[tuple[str, str | None]] = [
        (f"workload.nodes.{i}", name) for i, name in enumerate(workload.nodes or ())
    ]
    tables: dict[str, Sequence[Any]] = {
        "group": workload.groups,
        "scheduled": workload.scheduled,
    }
    for key, entries in tables.items():
        places += [(f"workload.{key}.{i}.node", entry.node) for i, entry in enumerate(entries)]
    for path, name in places:
        if name in away:
            others = [other for other in scenario.node_names if other not in away]
            yield ScenarioError(
                path,
                f"{name!r} is an arbitrator: it has no data, and no client is connected to it",
                f"nodes with data: {', '.join(others)}",
            )


def _placement(scenario: Scenario) -> Iterator[ScenarioError]:
    """Nodes and the hosts that they name."""
    hosts = [host.name for host in scenario.hosts]
    if scenario.cluster.shared_host and hosts:
        yield ScenarioError(
            "host",
            "all nodes share one machine (cluster.shared_host)",
            "describe it in [cluster.machine]",
        )
        return
    for position, node in enumerate(scenario.nodes):
        traits = [key for key in MachineTable.model_fields if getattr(node, key) is not None]
        if traits and (scenario.cluster.shared_host or node.host is not None):
            table = "[cluster.machine]" if scenario.cluster.shared_host else "its [[host]]"
            yield ScenarioError(
                f"node.{position}.{traits[0]}",
                f"node {node.name!r} has no machine of its own",
                f"give it in {table}",
            )
        if node.host is None:
            continue
        path = ("node", position, "host")
        if scenario.cluster.shared_host:
            yield ScenarioError(dotted(path), "cluster.shared_host places all nodes already")
        else:
            yield from _unknown(path, "host", node.host, hosts)
    used = {node.host for node in scenario.nodes}
    alone = {node.name for node in scenario.node_tables() if node.host is None}
    for position, host in enumerate(hosts):
        if host not in used:
            yield ScenarioError(f"host.{position}.name", f"no node runs on host {host!r}")
        if host in alone:
            yield ScenarioError(
                f"host.{position}.name",
                f"node {host!r} has a machine of its own, which goes by that name",
                "name the host differently, or place the node on it",
            )


def _addresses(scenario: Scenario) -> Iterator[ScenarioError]:
    """Names that the network table uses."""
    names = scenario.node_names
    sites = {node.site for node in scenario.nodes if node.site is not None}
    for position, node in enumerate(scenario.nodes):
        if node.name in sites and node.site != node.name:
            yield ScenarioError(
                f"node.{position}.name", f"{node.name!r} is the site of another node"
            )
    found = False
    for position, path in enumerate(scenario.network.paths):
        for key, name in (("from", path.source), ("to", path.target)):
            steps = ("network", "path", position, key)
            for problem in _unknown(steps, "node or site", name, [*names, *sites, "*"]):
                found = True
                yield problem
    yield from _strangers(("network", "egress"), scenario.network.egress, names)
    if found or any(True for node in scenario.nodes if node.name not in names):
        return
    try:
        paths(scenario.network, scenario.node_tables(), 0.0)
    except ScenarioError as error:
        yield error


def _duplicates(path: str, names: Sequence[str]) -> Iterator[ScenarioError]:
    for position, name in enumerate(names):
        if name in names[:position]:
            yield ScenarioError(f"{path}.{position}.name", f"{path} {name!r} is there twice")


def _strangers(
    steps: Sequence[str], tables: Sequence[Any], names: Sequence[str]
) -> Iterator[ScenarioError]:
    """Tables of a node that there is not."""
    for position, table in enumerate(tables):
        if table.node is not None:
            yield from _unknown((*steps, position, "node"), "node", table.node, names)


def _unknown(
    steps: Sequence[str | int], what: str, name: str, valid: Sequence[str]
) -> Iterator[ScenarioError]:
    if name not in valid:
        hint = nearest(name, valid) or f"describe it in [[{what}]]"
        yield ScenarioError(dotted(steps), f"no {what} {name!r}", hint)


def load(scenario: str | Path | Mapping[str, Any] | Scenario) -> Scenario:
    """Read and check a scenario.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        Path of a TOML file, its text (recognised by its line breaks), its content as a mapping,
        or a scenario, which is returned as it is.

    Raises
    ------
    ScenarioError
        With everything that is wrong with it.

    Warns
    -----
    FutureWarning
        If it has tables that another one has taken the place of.

    Examples
    --------
    >>> load({"cluster": {"model": "galera"}, "workload": {"queries": 100}}).node_names
    ('n1', 'n2', 'n3')
    """
    if isinstance(scenario, Scenario):
        return scenario
    where, folder = "scenario", None
    if isinstance(scenario, Mapping):
        content = dict(scenario)
    elif isinstance(scenario, str) and "\n" in scenario:
        content = parse_toml(scenario, where)
    else:
        where, folder = str(scenario), Path(scenario).parent
        content = parse_toml(read_text(scenario, where), where)
    loaded = Scenario.checked(content, where, folder)
    for notice in outdated(loaded.cluster.changes, loaded.network.outages):
        warnings.warn(notice, FutureWarning, stacklevel=2)
    return loaded


def with_value(scenario: Scenario, path: str, value: Any) -> Scenario:
    """The scenario with one value changed; see :meth:`Scenario.replace`."""
    return scenario.replace({path: value})


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The scenario with some values changed; see :meth:`Scenario.replace`.

    Examples
    --------
    >>> one = load({"cluster": {"model": "galera"}, "workload": {"queries": 100}})
    >>> with_values(one, {"workload.threads": 8, "network.rtt_ms": 5}).workload.threads
    8
    """
    return scenario.replace(values)
