"""Experiments as files: systems, delay layouts, loads, and the grids that cross them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from simrep.errors import ScenarioError, nearest
from simrep.rig.cell import (
    RESERVED,
    Cell,
    ProductName,
    Run,
    ServerName,
    check_cell,
    check_factors,
    check_options,
)
from simrep.rig.faults import RigFault
from simrep.rig.layout import FileName, Layout
from simrep.rig.load import Load
from simrep.rig.server import Option
from simrep.scenario.problems import combined, problems
from simrep.scenario.table import Clients, Count, Fraction, Interval, Name, Period, Table
from simrep.user_files import is_file, parse_toml, read_text

__all__ = [
    "SERVERS_OF",
    "Experiment",
    "Grid",
    "Limits",
    "NodeOptions",
    "StoredExperiment",
    "System",
    "Variant",
    "experiments",
    "load_experiment",
]

_SERVERS: Mapping[ProductName, ServerName] = {"galera": "mariadb", "group_replication": "mysql"}
SERVERS_OF: Mapping[ProductName, Sequence[ServerName]] = {
    "galera": ("mariadb", "percona"),
    "group_replication": ("mysql",),
    "semisync": ("mysql", "mariadb"),
    "asynchronous": ("mysql", "mariadb"),
}
_OneOrSeveral = BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
Names = Annotated[tuple[Name, ...], _OneOrSeveral]
OptionalNames = Annotated[tuple[str, ...], _OneOrSeveral]
Nodes = Annotated[int, Field(strict=True, ge=2, le=9)]


class NodeOptions(Table):
    """A ``[[system.node]]``: what one node has otherwise than the rest of its system."""

    name: Name = Field(description="n1, n2, ...")
    options: dict[str, Option] = Field({}, description="above those of the system")
    arbitrator: bool = Field(
        False, strict=True, description="of galera: garbd runs there, which votes and has no data"
    )


class System(Table):
    """A ``[[system]]``: a replication product and how its servers are started."""

    name: FileName = Field(description="as grids and the data name it")
    title: str = Field("", description="for people")
    product: ProductName = Field(description="what replicates")
    server: ServerName | None = Field(
        None,
        description="whose servers; default: mariadb for galera, mysql for group_replication",
    )
    nodes: Nodes = Field(3, description="servers, named n1, n2, ...")
    options: dict[str, Option] = Field({}, description="in the product's own spelling")
    node: tuple[NodeOptions, ...] = Field((), description="nodes that differ from the others")
    scenario: dict[str, Any] = Field(
        {}, description="tables that the scenario of the dataset has besides, e.g. cluster.pack"
    )

    @model_validator(mode="after")
    def _server(self) -> Self:
        if self.name in RESERVED:
            raise ScenarioError("name", f"{self.name}.toml is a file of every dataset")
        needed = _SERVERS.get(self.product)
        if needed is None and self.server is None:
            raise ScenarioError("server", f"is required for {self.product}", "mariadb or mysql")
        if self.server is not None and self.server not in SERVERS_OF[self.product]:
            possible = " or ".join(SERVERS_OF[self.product])
            raise ScenarioError("server", f"{self.product} runs on {possible}")
        if self.node and self.product not in {"galera", "group_replication"}:
            raise ScenarioError("node", "is for galera and group_replication", "remove it")
        names = [f"n{number}" for number in range(1, self.nodes + 1)]
        for place, one in enumerate(self.node):
            if one.name not in names:
                raise ScenarioError(
                    f"node.{place}.name", f"no node {one.name!r}", f"there are {', '.join(names)}"
                )
            if one.arbitrator and (self.product != "galera" or one.name == "n1"):
                problem = "garbd joins the nodes of galera that were there before"
                raise ScenarioError(f"node.{place}.arbitrator", problem, "not of n1")
            check_options(one.options, f"node.{place}.options")
        return self

    @property
    def runs_on(self) -> ServerName:
        """Which server program."""
        return self.server or _SERVERS[self.product]


class Variant(Table):
    """A ``[[variant]]``: options that change together."""

    name: Name = Field(description="as grids and the data name it")
    options: dict[str, Option] = Field(
        min_length=1, description="above those of the system, in the product's own spelling"
    )


class Grid(Table):
    """A ``[[grid]]``: every combination of what it lists is a cell."""

    systems: Names = Field(alias="system", min_length=1, description="one or several names")
    layouts: Names = Field(alias="layout", min_length=1, description="one or several names")
    loads: Names = Field(alias="load", min_length=1, description="one or several names")
    variants: OptionalNames = Field(
        ("",), alias="variant", description='one or several names; "" is no variant; default: none'
    )
    threads: tuple[Clients, ...] | None = Field(
        None, description="numbers of clients; default: that of the load"
    )
    options: dict[str, tuple[Option, ...]] = Field({}, description="values of single options")
    vary: dict[str, tuple[Any, ...]] = Field(
        {}, description='values of keys of the load, e.g. rows, or "large.fragment_size"'
    )
    repetitions: Count | None = Field(
        None, le=1000, description="of its cells; default: those of the experiment"
    )


class Limits(Table):
    """The ``[limits]`` that a run has to keep, else it is marked and not used."""

    used_by_others: Fraction = Field(0.15, description="share of the CPUs that other work takes")
    stolen: Fraction = Field(
        0.05, description="share of its CPUs that a virtual machine did not get from its host"
    )
    quiet: Fraction = Field(0.2, description="the machine may be so busy before a run begins")
    wait_for_quiet_s: Interval = Field(30.0, description="longest wait for that")
    late_mean_ms: Period = Field(0.5, description="mean lateness of delayed packets")
    catch_up_s: Interval = Field(60.0, description="for all nodes to have equal rows afterwards")
    run_s: Interval = Field(900.0, description="longest duration of one run")


class Experiment(Table):
    """The content of an experiment's file."""

    title: str = Field(description="what is measured")
    question: str = Field(description="what the measurement tells apart")
    repetitions: Count = Field(3, le=1000, description="runs of each cell")
    most_repetitions: Count | None = Field(
        None,
        le=1000,
        description="a cell is repeated further, at most so often in all, while the mean of one of "
        "its figures is not known to 10 %; default: as planned",
    )
    attempts: Count = Field(
        2, le=1000, description="a run that is marked is measured again, so often in all"
    )
    limits: Limits = Field(
        default_factory=Limits, description="what a run has to keep, else it is marked"
    )
    systems: tuple[System, ...] = Field(
        alias="system", min_length=1, description="products, and how their servers are started"
    )
    variants: tuple[Variant, ...] = Field(
        (), alias="variant", description="options that change together"
    )
    layouts: tuple[Layout, ...] = Field(
        alias="layout",
        min_length=1,
        description="delays that are added to a network that has next to none: `all_ms` first, "
        "`path` instead of it, `egress_ms` on top of both",
    )
    loads: tuple[Load, ...] = Field(
        alias="load", min_length=1, description="transactions, and what submits how many of them"
    )
    grids: tuple[Grid, ...] = Field(
        alias="grid", min_length=1, description="every combination of what it lists is a cell"
    )
    faults: tuple[RigFault, ...] = Field(
        (), alias="fault", description="what is broken in every run, at times after its load began"
    )

    @model_validator(mode="after")
    def _most(self) -> Self:
        planned = max(grid.repetitions or self.repetitions for grid in self.grids)
        if self.most_repetitions is not None and self.most_repetitions < planned:
            raise ScenarioError(
                "most_repetitions", f"{planned} are planned", f"must be at least {planned}"
            )
        return self

    @model_validator(mode="after")
    def _names(self) -> Self:
        for kind, tables in self._tables().items():
            names = [table.name for table in tables]
            for position, name in enumerate(names):
                if name in names[:position]:
                    raise ScenarioError(f"{kind}.{position}.name", f"there is a {name!r} already")
            for position, table in enumerate(tables):
                if isinstance(table, (System, Variant)):
                    check_options(table.options, f"{kind}.{position}.options")
        for position, grid in enumerate(self.grids):
            check_options(grid.options, f"grid.{position}.options")
            check_factors(grid.vary, grid.options, f"grid.{position}")
            self._check(grid, f"grid.{position}")
        return self

    def _tables(self) -> Mapping[str, Sequence[System | Layout | Load | Variant]]:
        return {
            "system": self.systems,
            "layout": self.layouts,
            "load": self.loads,
            "variant": self.variants,
        }

    def _check(self, grid: Grid, where: str) -> None:
        chosen = {
            "system": grid.systems,
            "layout": grid.layouts,
            "load": grid.loads,
            "variant": [name for name in grid.variants if name],
        }
        self._check_names(chosen, f"{where}.")
        broken = set()
        for one, _ in self._cells(grid, where):
            check_cell(one, self.limits.run_s, where)
            broken.add(one.load.breaks)
        if len(broken | {self.breaks}) > 1:
            raise ScenarioError(
                where, "some loads have faults and others have none", "give each kind a file"
            )

    @property
    def breaks(self) -> bool:
        """Whether its loads have faults."""
        return bool(self.faults) or any(load.breaks for load in self.loads)

    def _check_names(self, chosen: Mapping[str, Sequence[str] | None], where: str) -> None:
        for kind, names in chosen.items():
            known = [table.name for table in self._tables()[kind]]
            for name in names or ():
                if name not in known:
                    raise ScenarioError(
                        f"{where}{kind}", f"no {kind} {name!r}", nearest(name, known)
                    )

    def cells(self) -> Iterator[tuple[Cell, int]]:
        """Every cell once, with its repetitions, those of a cluster together."""
        found: dict[str, tuple[Cell, int]] = {}
        for position, grid in enumerate(self.grids):
            for cell, repetitions in self._cells(grid, f"grid.{position}"):
                known = found.get(cell.key)
                found[cell.key] = (cell, max(repetitions, known[1] if known else 0))
        clusters = list(dict.fromkeys(cell.cluster_key for cell, _ in found.values()))
        yield from sorted(found.values(), key=lambda one: clusters.index(one[0].cluster_key))

    def runs(self, *, most: bool = False) -> list[Run]:
        """All planned runs, or the most that there may be.

        Within a cluster and a layout every cell comes once before the second repetition.
        """
        groups: dict[tuple[str, str], list[tuple[Cell, int]]] = {}
        for cell, planned in self.cells():
            count = max(planned, self.most_repetitions or 0) if most else planned
            groups.setdefault((cell.cluster_key, cell.layout.name), []).append((cell, count))
        return [
            Run(cell, repetition)
            for group in groups.values()
            for repetition in range(1, max(count for _, count in group) + 1)
            for cell, count in group
            if repetition <= count
        ]

    def _cells(self, grid: Grid, where: str) -> Iterator[tuple[Cell, int]]:
        by_name = {kind: {t.name: t for t in tables} for kind, tables in self._tables().items()}
        varied = [[(name, value) for value in values] for name, values in grid.vary.items()]
        options = [[(name, value) for value in values] for name, values in grid.options.items()]
        for names in product(grid.systems, grid.variants, grid.layouts, grid.loads):
            system, layout, load = (by_name[k][n] for k, n in zip(_KINDS, names, strict=True) if k)
            assert isinstance(system, System)
            assert isinstance(layout, Layout)
            assert isinstance(load, Load)
            variant = by_name["variant"].get(names[1])
            common = dict(variant.options) if isinstance(variant, Variant) else {}
            clients = grid.threads or (load.threads,)
            for chosen, values, threads in product(product(*options), product(*varied), clients):
                cell = Cell(
                    system=system.name,
                    variant=names[1],
                    product=system.product,
                    server=system.runs_on,
                    nodes=system.nodes,
                    options={**system.options, **common, **dict(chosen)},
                    layout=layout,
                    load=self._varied(load, {"threads": threads, **dict(values)}, where),
                    node_options={one.name: one.options for one in system.node if one.options},
                    arbitrators=tuple(one.name for one in system.node if one.arbitrator),
                )
                yield cell, grid.repetitions or self.repetitions

    def _varied(self, load: Load, values: Mapping[str, Any], where: str) -> Load:
        """A load with other values, and with the faults of the experiment."""
        found = _varied(load, values, where)
        if not self.faults:
            return found
        return found.model_copy(update={"fault": (*self.faults, *found.fault)})

    def factors(self) -> list[str]:
        """Options and keys of loads that differ between cells, in the order of the grids."""
        named = ["threads"]
        for grid in self.grids:
            named += [*grid.vary, *grid.options]
            for variant in self.variants:
                named += variant.options if variant.name in grid.variants else []
        return list(dict.fromkeys(named))

    def part(
        self,
        *,
        systems: Sequence[str] | None = None,
        layouts: Sequence[str] | None = None,
        loads: Sequence[str] | None = None,
        repetitions: int | None = None,
    ) -> Experiment:
        """Some of it, or at most so many repetitions; runs keep their names.

        Raises
        ------
        ScenarioError
            If it has no such system, layout or load, or no cell with all of them.
        """
        wanted = {"system": systems, "layout": layouts, "load": loads}
        self._check_names(wanted, "--")
        grids = []
        for grid in self.grids:
            left = {
                "systems": tuple(n for n in grid.systems if n in (systems or grid.systems)),
                "layouts": tuple(n for n in grid.layouts if n in (layouts or grid.layouts)),
                "loads": tuple(n for n in grid.loads if n in (loads or grid.loads)),
            }
            count = grid.repetitions or self.repetitions
            most = count if repetitions is None else min(count, repetitions)
            if all(left.values()):
                grids.append(grid.model_copy(update={**left, "repetitions": most}))
        if not grids:
            given = ", ".join(f"--{kind}" for kind, names in wanted.items() if names)
            raise ScenarioError(given, "no cell is of all of them", "see --dry-run")
        own = tuple(system for system in self.systems if system.name in (systems or [system.name]))
        limit = self.most_repetitions
        if repetitions is not None and limit is not None:
            limit = min(limit, repetitions)
        return self.model_copy(
            update={"grids": tuple(grids), "systems": own, "most_repetitions": limit}
        )

    def system(self, name: str) -> System:
        """One of its systems."""
        return next(system for system in self.systems if system.name == name)


_KINDS = ("system", "", "layout", "load")


def _varied(load: Load, values: Mapping[str, Any], where: str) -> Load:
    content = load.model_dump(exclude_unset=True, by_alias=True)
    for name, value in values.items():
        table = content
        *inside, last = name.split(".")
        for step in inside:
            if table.get(step) is None:
                raise ScenarioError(where, f"load {load.name!r} has no {step} to vary {name!r} in")
            table = table[step]
        table[last] = value
    try:
        return Load.model_validate(content)
    except ValidationError as error:
        raise combined(problems(error, Load, ("load", load.name)), where) from None


@dataclass(frozen=True, slots=True)
class StoredExperiment:
    """An experiment, its name, and the text of its file."""

    name: str
    experiment: Experiment
    text: str


def experiments() -> list[str]:
    """Names of the experiments that ship with the package."""
    return sorted(path.stem for path in _shipped().glob("*.toml"))


def load_experiment(name: str | Path) -> StoredExperiment:
    """Read an experiment that ships, by its name, or a file.

    Raises
    ------
    ScenarioError
        With everything that is wrong with it.
    """
    path = _shipped() / f"{name}.toml" if str(name) in experiments() else Path(name)
    if not is_file(path):
        raise ScenarioError(
            str(name), "neither an experiment nor a file", nearest(str(name), experiments())
        )
    text = read_text(path, path.name)
    content = parse_toml(text, path.name)
    try:
        return StoredExperiment(path.stem, Experiment.model_validate(content), text)
    except ValidationError as error:
        raise combined(problems(error, Experiment), path.name) from None


def _shipped() -> Path:
    return Path(str(files("simrep.rig") / "experiments"))
