"""One cell of an experiment: a cluster, its options, delays and load, and what may be asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from simrep.errors import ScenarioError
from simrep.rig.faults import check_faults, raise_first
from simrep.rig.layout import Layout
from simrep.rig.load import Load
from simrep.rig.operations import operation_problems
from simrep.rig.proxy import proxy_problems
from simrep.rig.server import Option

__all__ = [
    "RESERVED",
    "Cell",
    "ProductName",
    "Run",
    "ServerName",
    "check_cell",
    "check_factors",
    "check_options",
    "column",
]

ProductName = Literal["galera", "group_replication", "semisync", "asynchronous"]
ServerName = Literal["mariadb", "mysql", "percona"]
FIXED = (
    *("run", "system", "variant", "layout", "load", "nodes", "tool", "writers", "connections"),
    *("repetition", "attempt", "passed", "failed_gates", "began"),
)
"""Columns that no option and no key of a load may take."""
RESERVED = frozenset({"dataset", "experiment"})
"""Files of a dataset that no system's scenario may replace."""
_LOOSE = "loose_"
_PROVIDER = "wsrep_provider_options"
_OFF = {"false", "off", "0"}


@dataclass(frozen=True, slots=True)
class Cell:
    """What is measured, some times over.

    System and variant are names in the experiment, the variant "" where there is none; options all
    that the servers are started with, above which single nodes have their own.
    """

    system: str
    variant: str
    product: ProductName
    server: ServerName
    nodes: int
    options: Mapping[str, Option]
    layout: Layout
    load: Load
    node_options: Mapping[str, Mapping[str, Option]] = field(default_factory=dict)
    arbitrators: tuple[str, ...] = ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """``n1``, ``n2``, ..."""
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))

    @property
    def cluster_key(self) -> str:
        """Cells with the same key may use the same cluster, one after the other."""
        content: list[Any] = [self.system, self.product, self.server, self.nodes]
        content.append(dict(sorted(self.options.items())))
        if self.node_options or self.arbitrators:  # keys of others stay as they were
            own = {name: dict(sorted(of.items())) for name, of in self.node_options.items()}
            content += [own, list(self.arbitrators)]
        return json.dumps(content)

    @property
    def key(self) -> str:
        """The same for equal cells, whatever else the experiment holds and titles say."""
        content = [
            self.cluster_key,
            self.variant,
            *(_given(table) for table in (self.layout, self.load)),
        ]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return f"{self.label}.{digest[:8]}".replace("/", "-").replace(" ", "_")

    @property
    def label(self) -> str:
        """The cell for people, short."""
        parts = [self.system, self.variant, self.layout.name, self.load.name]
        return ".".join([part for part in parts if part] + [f"t{self.load.clients}"])

    def value(self, name: str) -> Any:
        """The value of a factor: an option, or a key of the load with its tables dotted."""
        if name in self.options:
            return self.options[name]
        found: Any = self.load
        for step in name.split("."):
            found = getattr(found, step, None)
        return found

    def load_name(self, factors: Sequence[str]) -> str:
        """The load with what is varied in it, the number of threads left out."""
        given = self.load.model_dump(exclude_unset=True)
        varied = []
        for name in factors:
            table: Any = given
            for step in name.split("."):
                table = table.get(step) if isinstance(table, dict) else None
            if table is not None and name != "threads":
                varied.append(f"{name}={table}")
        return " ".join([self.load.name, *varied])


def _given(table: Layout | Load) -> dict[str, Any]:
    """What is not by default: keys that later versions add change no name."""
    return table.model_dump(mode="json", exclude_defaults=True, exclude={"title"})


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition of a cell."""

    cell: Cell
    repetition: int

    @property
    def id(self) -> str:
        """Its name in the dataset."""
        return f"{self.cell.key}.r{self.repetition}"


def column(factor: str) -> str:
    """Name of the column of an option or of a key of the load."""
    return factor.replace(".", "_")


def check_options(names: Iterable[str], where: str) -> None:
    """Refuse options not spelled as servers show them: the simulation knows them by that."""
    for name in names:
        if name == _PROVIDER:
            raise ScenarioError(
                f"{where}.{name}",
                "cannot be told apart in there",
                'write its options by their own names, e.g. "gcs.fc_limit" = 100',
            )
        plain = name.lower().replace("-", "_").removeprefix(_LOOSE)
        if name != plain:
            raise ScenarioError(
                f"{where}.{name}", "is not what servers show", f"did you mean {plain!r}?"
            )


def check_factors(varied: Mapping[str, Any], options: Iterable[str], where: str) -> None:
    """Refuse to vary what has a column already, which it would become, or is no key of a load."""
    for name in (*varied, *options):
        if column(name) in FIXED:
            raise ScenarioError(
                f"{where}.{name}", "is a column of its own", "give several loads instead"
            )
    for name in varied:
        first, *inner = name.split(".")
        if first not in Load.model_fields or (inner and first != "large") or len(inner) > 1:
            raise ScenarioError(f"{where}.vary.{name}", "is no key of a load")
        if not inner and first in {"name", "title", "large"}:
            raise ScenarioError(f"{where}.vary.{name}", "cannot be varied")


def check_cell(cell: Cell, longest_s: float, where: str) -> None:
    """Refuse what the servers would refuse, and loads that would be cut off, with their cell."""
    load = cell.load
    for name in sorted(cell.layout.names() | set(load.nodes)):
        if name not in cell.node_names:
            raise ScenarioError(
                where,
                f"{cell.label}: {cell.system} has no node {name!r}",
                f"it has {', '.join(cell.node_names)}",
            )
    if _one_writer(cell) and set(load.nodes) != {"n1"} and not load.group:
        raise ScenarioError(
            where, f"{cell.label}: only n1 of {cell.system} takes writes", 'nodes = ["n1"]'
        )
    if load.large is not None and load.large.fragment_size and cell.product != "galera":
        raise ScenarioError(where, f"{cell.label}: only galera replicates fragments")
    if load.breaks:
        _check_broken(cell, f"{where}: {cell.label}")
    elif load.group:
        raise ScenarioError(
            where, f"{cell.label}: groups of clients are for loads with faults", "use threads"
        )
    if load.duration_s is not None and load.duration_s >= longest_s:
        raise ScenarioError(
            where,
            f"{cell.label}: would be cut off after {longest_s:g} s",
            "limits.run_s must be above its duration_s",
        )


def _check_broken(cell: Cell, where: str) -> None:
    """Refuse loads and faults that cannot be played together, or not on this cluster."""
    load = cell.load
    if load.tool != "driver" or load.kind != "insert" or load.rows != 1:
        problem = "with faults clients insert single rows, so that each can be found again"
        raise ScenarioError(where, problem, 'tool = "driver", kind = "insert", rows = 1')
    if load.duration_s is None or load.rate_tps:
        raise ScenarioError(where, "with faults a load is a closed loop with a duration_s")
    if load.group and "nodes" in load.model_fields_set:
        raise ScenarioError(where, "groups say their nodes themselves", "remove nodes")
    names = [group.name for group in load.groups]
    for group in load.groups:
        if names.count(group.name) > 1:
            raise ScenarioError(where, f"there are two groups {group.name!r}")
        if (wrong := group.problem(cell.node_names)) is not None:
            raise ScenarioError(f"{where}: group {group.name}: {wrong[0]}", wrong[1])
        if cell.product in {"semisync", "asynchronous"} and not group.reads:
            others = set(group.order(cell.node_names)) - {"n1"}
            if others:
                problem = f"group {group.name} would write to {min(others)}: nobody promotes it"
                raise ScenarioError(where, problem, "let it stay with n1, or read")
    for group in load.groups:
        if empty := set(group.order(cell.node_names)) & set(cell.arbitrators):
            problem = f"group {group.name}: {min(empty)} is an arbitrator: it has no data"
            raise ScenarioError(where, problem)
    every = cell.node_names
    without = set(cell.arbitrators)
    for fault in load.fault:
        if fault.what == "restart" and without & {every[n] for n in fault.struck(every, every)}:
            raise ScenarioError(where, "an arbitrator is not started again")
    for one in load.operations:
        if without.intersection(one.on(every)):
            raise ScenarioError(where, f"{one.what}: an arbitrator has no data")
    if all(group.reads for group in load.groups):
        raise ScenarioError(where, "nobody writes")
    layout = cell.layout.matrix(cell.node_names)
    raise_first(check_faults(load.fault, layout, load.duration_s), where)
    if load.proxy is not None:
        for key, problem, advice in proxy_problems(load.proxy, galera=cell.product == "galera"):
            raise ScenarioError(f"{where}.proxy.{key}", problem, advice)
    problems = operation_problems(
        load.maintenance, load.ddl, cell.node_names, load.duration_s,
        galera=cell.product == "galera",
    )  # fmt: skip
    for place, problem, advice in problems:
        raise ScenarioError(f"{where}.{place}", problem, advice)


def _one_writer(cell: Cell) -> bool:
    if cell.product == "group_replication":
        mode = cell.options.get("group_replication_single_primary_mode", True)
        return str(mode).lower() not in _OFF
    return cell.product in {"semisync", "asynchronous"}
