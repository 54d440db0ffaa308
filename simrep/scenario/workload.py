"""The ``[workload]`` table: who submits which transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from simrep.errors import ScenarioError, nearest
from simrep.scenario.classes import ClassTable, ScheduledTable
from simrep.scenario.clients import ClientsTable
from simrep.scenario.ddl import DdlTable
from simrep.scenario.presets import Preset, preset
from simrep.scenario.sysbench import KEY_WORDS, SysbenchTable
from simrep.scenario.table import (
    Clients,
    Milliseconds,
    Name,
    Rate,
    Table,
    Transactions,
    seconds,
)
from simrep.scenario.tpcc import TPCC_PRESETS, TpccTable
from simrep.scenario.variation import VariationTable
from simrep.workload.course import Course
from simrep.workload.workload import Arrivals, Loop, Scheduled, Think, Workload

__all__ = ["GroupTable", "WorkloadTable", "expand"]


_MOST_CLIENTS = 100_000  # in all: each of them takes some kilobytes of memory


class GroupTable(Table):
    """A ``[[workload.group]]``: clients of one node, which submit the same."""

    node: Name = Field(description="node that they are connected to")
    name: Name | None = Field(
        None, description="of the group in results; default: clients of n1 etc."
    )
    classes: tuple[Name, ...] | None = Field(
        None,
        alias="class",
        min_length=1,
        description="names of the classes that they submit, with their weights; default: all",
    )
    threads: Clients | None = Field(None, description="clients of a closed loop")
    rate_tps: Rate | None = Field(None, description="arrivals of an open loop")
    connections: Clients | None = Field(
        None, description="of an open loop: so many transactions at a time; default: any number"
    )
    think_time_ms: Milliseconds | None = Field(
        None, description="pause of a client before a transaction; default: that of the workload"
    )
    think_time: Literal["constant", "exponential"] | None = Field(
        None, description="distribution of that pause; default: that of the workload"
    )
    clients: ClientsTable | None = Field(
        None, description="what they do about errors; other keys are those of the workload"
    )
    variation: VariationTable | None = Field(None, description="how its load changes over time")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        neither = self.kind is None
        if neither or (self.threads is not None and self.rate_tps is not None):
            raise ScenarioError("", "give threads (closed loop) or rate_tps (open loop)")
        if self.connections is not None and self.kind != "rate_tps":
            raise ScenarioError("connections", "belong to an open loop (rate_tps)", "give threads")
        for name in ("think_time_ms", "think_time"):
            if self.kind == "rate_tps" and getattr(self, name) is not None:
                raise ScenarioError(name, "has no meaning for an open loop (rate_tps)", "remove it")
        if self.variation is not None:
            self.variation.check(self._base, str(self.kind))
        return self

    @property
    def kind(self) -> str | None:
        """``threads`` of a closed or ``rate_tps`` of an open loop; None if neither is given."""
        return _kind(self.threads, self.rate_tps, self.variation)

    @property
    def _base(self) -> float | None:
        return self.rate_tps if self.threads is None else float(self.threads)

    def loop(self, node: int) -> Loop:
        """A closed loop for the engine."""
        course = None if self.variation is None else self.variation.course(self._base)
        return Loop((node,) * _clients(self.threads, course), self.classes, course)

    def think(self, otherwise: Think) -> Think:
        """The pauses of its clients; as those of all others, where it says nothing of them."""
        mean_s = otherwise.mean_s if self.think_time_ms is None else seconds(self.think_time_ms)
        return Think(self.think_time or otherwise.kind, mean_s)

    def arrivals(self, node: int) -> Arrivals:
        """An open loop for the engine."""
        course = None if self.variation is None else self.variation.course(self._base)
        rate = self.rate_tps if course is None else course.peak
        assert rate is not None
        return Arrivals(node, rate, self.connections, self.classes, course)


def _kind(
    threads: int | None, rate_tps: float | None, variation: VariationTable | None
) -> str | None:
    if rate_tps is not None:
        return "rate_tps"
    if threads is not None:
        return "threads"
    return None if variation is None else variation.kind


def _clients(threads: int | None, course: Course | None) -> int:
    """Clients that there are at any time."""
    return threads or 0 if course is None else int(course.peak + 0.5)


_ABOUT = {
    "keys": KEY_WORDS,
    "statements": ("index_updates", "non_index_updates", "delete_inserts"),
    "reads": ("point_selects",),
    "range_reads": (
        "range_selects",
        "simple_ranges",
        "sum_ranges",
        "order_ranges",
        "distinct_ranges",
    ),
    "range_rows": ("range_size",),
}
"""What of a class words of sysbench say."""


class WorkloadTable(Table):
    """Closed loop by default; ``queries`` or ``transactions_per_client`` fix the number."""

    preset: Preset | None = Field(
        None, description="start from what a well-known tool submits; other keys override it"
    )
    sysbench: SysbenchTable | None = Field(
        None, description="options of sysbench, for a preset of it"
    )
    tpcc: TpccTable | None = Field(
        None, description="how large the database is, for a preset of TPC-C"
    )
    threads: Clients | None = Field(None, description="clients of a closed loop; default: 1")
    think_time_ms: Milliseconds = Field(0.0, description="pause of a client before a transaction")
    think_time: Literal["constant", "exponential"] = Field(
        "constant", description="distribution of that pause"
    )
    queries: Transactions | None = Field(
        None, description="transactions in all; each client submits floor(queries / threads)"
    )
    transactions_per_client: Transactions | None = Field(
        None, description="transactions of each client"
    )
    rate_tps: Rate | None = Field(
        None, description="open loop: Poisson arrivals per second, whatever the answers take"
    )
    connections: Clients | None = Field(
        None,
        description="of an open loop: so many transactions of each node at a time, the others wait "
        "in line; default: any number",
    )
    nodes: tuple[Name, ...] | None = Field(
        None,
        min_length=1,
        description='nodes that clients connect to, in turn; ["*"] for all; default: the first',
    )
    groups: tuple[GroupTable, ...] = Field(
        (),
        alias="group",
        description="clients group by group, instead of threads and nodes; a node may have several",
    )
    variation: VariationTable | None = Field(None, description="how the load changes over time")
    policy: ClientsTable | None = Field(
        None, alias="clients", description="what clients do about errors"
    )
    client: Literal["node", "own"] = Field(
        "node", description="where clients run: on the machine of their node or on their own"
    )
    client_rtt_ms: Milliseconds = Field(
        0.0, description="round trip between clients on a machine of their own and their node"
    )
    interpreters: Clients | None = Field(
        None,
        description="clients are threads of so many processes, each of which runs one thread at a "
        "time, as CPython does; default: all run at once",
    )
    retry: bool = Field(False, strict=True, description="clients submit aborted transactions again")
    classes: tuple[ClassTable, ...] = Field(
        (ClassTable(),), alias="class", min_length=1, description="the mix"
    )
    scheduled: tuple[ScheduledTable, ...] = Field(
        (), description="single transactions at given times, beside the mix and not counted with it"
    )
    ddl: tuple[DdlTable, ...] = Field(
        (), description="statements that change a table, such as ALTER TABLE, at given times"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        amounts = {
            name: getattr(self, name)
            for name in ("queries", "transactions_per_client", "rate_tps")
            if getattr(self, name) is not None
        }
        if len(amounts) > 1:
            first, second = list(amounts)[:2]
            raise ScenarioError(second, f"cannot be combined with {first}")
        if self.groups:
            for name in ("threads", "nodes", "rate_tps", "variation"):
                if getattr(self, name) is not None:
                    raise ScenarioError(name, "is given by the groups")
            groups = [group.name for group in self.groups if group.name is not None]
            for place, group in enumerate(self.groups):
                if group.name is not None and groups.count(group.name) > 1:
                    raise ScenarioError(
                        f"group.{place}.name", f"there are two groups {group.name!r}", "rename one"
                    )
            if len({group.kind for group in self.groups}) > 1:
                raise ScenarioError("group", "threads and rate_tps cannot be mixed")
        elif self.variation is not None:
            self.variation.check(self._base, "rate_tps" if self.open_loop else "threads")
        if self.variations and self.fixed:
            raise ScenarioError(
                next(iter(amounts)),
                "does not go with a load that varies",
                "remove it, and set run.duration_s",
            )
        if self.open_loop:
            for name in ("threads", "queries", "transactions_per_client"):
                if getattr(self, name) is not None:
                    raise ScenarioError(name, "has no meaning for an open loop (rate_tps)")
            if self.think_time_ms:
                raise ScenarioError("think_time_ms", "has no meaning for an open loop (rate_tps)")
        if self.connections is not None and (self.groups or not self.open_loop):
            raise ScenarioError("connections", "belong to an open loop (rate_tps)", "set threads")
        if (clients := self.clients + sum(g.connections or 0 for g in self.groups)) > _MOST_CLIENTS:
            raise ScenarioError(
                "group",
                f"must have at most {_MOST_CLIENTS:,} clients in all, given {clients:,}",
                "each of them takes some kilobytes of memory",
            )
        if self.queries is not None and self.queries < self.clients:
            raise ScenarioError(
                "queries",
                f"must be at least one for each of {self.clients} threads, given {self.queries}",
            )
        if self.client == "node" and self.client_rtt_ms:
            raise ScenarioError(
                "client_rtt_ms",
                "clients on the machine of their node have no round trip",
                'set client = "own"',
            )
        self._check_mixes()
        if self.sysbench is not None:
            self._check_words(self.sysbench)
        if self.tpcc is not None:
            self.tpcc.check(self.preset)
        names: list[str] = []
        for table, kinds in (("class", self.classes), ("scheduled", self.scheduled)):
            for position, one in enumerate(kinds):
                if one.name in names:
                    raise ScenarioError(
                        f"{table}.{position}.name", f"there is a class {one.name!r} already"
                    )
                names.append(one.name)
        return self

    def _check_words(self, sysbench: SysbenchTable) -> None:
        """Words of sysbench go with the preset, and no class says otherwise."""
        sysbench.check(self.preset)
        assert self.preset is not None
        words = sysbench.words
        said = {one["name"]: one for one in preset(self.preset, words)["class"]}
        for position, one in enumerate(self.classes):
            expected = ClassTable.model_validate(said.get(one.name, {}))
            for key, about in _ABOUT.items():
                same = getattr(one, key) == getattr(expected, key)
                if key == "keys":
                    same = one.keys.keys() == expected.keys.keys()
                if one.name in said and not same and words.keys() & {*about}:
                    raise ScenarioError(
                        f"class.{position}.{key}",
                        f"says otherwise than {', '.join(sorted(words.keys() & {*about}))} of "
                        "[workload.sysbench]",
                        "say it in one of the two places",
                    )

    def _check_mixes(self) -> None:
        """Groups name classes that there are, and every class has clients."""
        classes = [one.name for one in self.classes]
        used: set[str] = set()
        for position, group in enumerate(self.groups):
            chosen = classes if group.classes is None else group.classes
            for place, name in enumerate(chosen):
                path = f"group.{position}.class.{place}"
                if name not in classes:
                    raise ScenarioError(path, f"no class {name!r}", nearest(name, classes))
                if name in chosen[:place]:
                    raise ScenarioError(path, f"class {name!r} is there twice", "name it once")
            used |= {*chosen}
        users = [*classes, *(one.name for one in self.scheduled)]
        for position, one in enumerate(self.ddl):
            for place, name in enumerate(one.classes or ()):
                if name not in users:
                    path = f"ddl.{position}.class.{place}"
                    raise ScenarioError(path, f"no class {name!r}", nearest(name, users))
        for position, name in enumerate(classes):
            if self.groups and name not in used:
                raise ScenarioError(
                    f"class.{position}.name",
                    f"no group submits class {name!r}",
                    "name it in the class of a [[workload.group]], or remove it",
                )

    @property
    def open_loop(self) -> bool:
        """Whether arrivals do not wait for answers."""
        own = _kind(self.threads, self.rate_tps, self.variation)
        return "rate_tps" in {own, *(group.kind for group in self.groups)}

    @property
    def variations(self) -> tuple[str, ...]:
        """Where it says how the load changes over time."""
        own = ("variation",) if self.variation is not None else ()
        groups = enumerate(self.groups)
        varied = (number for number, one in groups if one.variation is not None)
        return (*own, *(f"group.{number}.variation" for number in varied))

    @property
    def _base(self) -> float | None:
        return self.rate_tps if self.threads is None else float(self.threads)

    @property
    def fixed(self) -> bool:
        """Whether the number of transactions is given, so that the run ends by itself."""
        return self.queries is not None or self.transactions_per_client is not None

    @property
    def clients(self) -> int:
        """Clients of a closed loop, the most that there are at a time."""
        if self.open_loop:
            return 0
        if self.groups:
            return sum(len(group.loop(0).nodes) for group in self.groups)
        course = None if self.variation is None else self.variation.course(self._base)
        return _clients(self.threads, course) or 1

    @property
    def policies(self) -> Iterator[tuple[str, ClientsTable]]:
        """What it says of errors, for all clients and for groups, and where."""
        if self.policy is not None:
            yield "workload.clients", self.policy
        for number, group in enumerate(self.groups):
            if group.clients is not None:
                yield f"workload.group.{number}.clients", group.clients

    @property
    def group_names(self) -> tuple[str, ...]:
        """Of the groups of clients, by position; those without one are told by their node."""
        names: list[str] = []
        taken = {group.name for group in self.groups}
        for group in self.groups:
            plain = f"clients of {group.node}"
            others = (f"{plain} ({turn})" for turn in count(2))
            free = (name for name in chain([plain], others) if name not in taken)
            names.append(group.name or next(free))
            taken.add(names[-1])
        return tuple(names)

    def workload(self, names: Sequence[str], arbitrators: Collection[str] = ()) -> Workload:
        """The same for the engine; ``names`` are those of the nodes by position.

        No client is connected to ``arbitrators``.
        """
        position = {name: index for index, name in enumerate(names)}
        servers = [name for name in names if name not in arbitrators]
        chosen = self.nodes or servers[:1]
        targets = [position[name] for name in (servers if "*" in chosen else chosen)]
        per_client = self.transactions_per_client
        if self.queries is not None:
            per_client = self.queries // self.clients
        loops, arrivals = [], []
        think = Think(self.think_time, seconds(self.think_time_ms))
        policy = None if self.policy is None else self.policy.policy(position)
        if self.groups:
            thinks = [group.think(think) for group in self.groups]
            own = len({*thinks}) > 1
            think = think if own else thinks[0]
            for group, name in zip(self.groups, self.group_names, strict=True):
                table = self.policy if group.clients is None else group.clients.above(self.policy)
                rules = None if table is None else table.policy(position)
                node = position[group.node]
                own_think = group.think(think) if own else None
                if group.kind == "threads":
                    loop = group.loop(node)
                    loops.append(replace(loop, group=name, policy=rules, think=own_think))
                else:
                    arrivals.append(replace(group.arrivals(node), group=name, policy=rules))
        else:
            course = None
            if self.variation is not None:
                share = 1.0 / len(targets) if self.open_loop else 1.0
                course = self.variation.course(self._base, share)
            if self.open_loop:
                rate = (self.rate_tps or 0.0) / len(targets) if course is None else course.peak
                arrivals = [
                    Arrivals(target, rate, self.connections, course=course, policy=policy)
                    for target in targets
                ]
            else:
                nodes = tuple(targets[client % len(targets)] for client in range(self.clients))
                loops = [Loop(nodes, course=course, policy=policy)]
        return Workload(
            classes=tuple(one.transaction_class() for one in self.classes),
            loops=tuple(loops),
            per_client=per_client,
            think=think,
            arrivals=tuple(arrivals),
            retry=self.retry,
            scheduled=tuple(
                Scheduled(one.transaction_class(), position[one.node or servers[0]], one.at_s)
                for one in self.scheduled
            ),
        )


def _override(preset_class: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """A class of a preset with keys of one's own; the preset's text belongs to its own rows."""
    merged = preset_class | own
    if own.keys() & {"rows", "row_bytes", "statements"} and "statement_bytes" not in own:
        merged.pop("statement_bytes", None)
    return merged


def _words(given: Mapping[str, Any]) -> dict[str, Any]:
    """The words of the tool; none, if they are wrong: they are reported where they stand."""
    try:
        if given["preset"] in TPCC_PRESETS:
            return TpccTable.model_validate(given.get("tpcc") or {}).words
        return SysbenchTable.model_validate(given.get("sysbench") or {}).words
    except ValidationError:
        return {}


def expand(given: dict[str, Any], *, timed: bool) -> dict[str, Any]:
    """A ``[workload]`` as written, with its preset filled in.

    Classes are matched by name; an entry without a name means the only class of the preset. A
    number of transactions or a rate of one's own replaces that of the preset, and so does a
    duration (``timed``).
    """
    if given.get("preset") not in get_args(Preset):
        return given
    merged = preset(given["preset"], _words(given))
    groups = given.get("group")
    rated = isinstance(groups, (list, tuple)) and any(
        isinstance(group, dict) and "rate_tps" in group for group in groups
    )
    if timed or rated or given.keys() & {"queries", "transactions_per_client", "rate_tps"}:
        merged.pop("queries", None)
    merged |= {key: value for key, value in given.items() if key != "class"}
    own = given.get("class", [])
    if not isinstance(own, (list, tuple)) or not all(isinstance(one, dict) for one in own):
        return merged | {"class": own}  # wrong, and reported as such
    classes = {one["name"]: one for one in merged["class"]}
    for position, one in enumerate(own):
        name = one.get("name")
        if name is None and len(merged["class"]) == 1 and position == 0:
            name = merged["class"][0]["name"]
        if isinstance(name, str) and name in classes:
            classes[name] = _override(classes[name], one)
        else:
            classes[name if isinstance(name, str) else f"\0{position}"] = one
    return merged | {"class": list(classes.values())}
