"""What may give out when a load grows, and the same cluster with one of it widened.

Whether something is the bottleneck is not read from its utilisation alone: a disk that is always
busy may carry more, since more commits then share a sync, and a lock or a window has no utilisation
at all. Each candidate is made eight times as wide, and what that changes is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Final

from simrep.contract.roles import (
    APPLIERS,
    IDLE_SEND_WINDOW,
    SEND_WINDOW,
    WRITE_CONCURRENCY,
    field_of,
    spellings_of,
)
from simrep.contract.setup import Setup
from simrep.measure.stations import StationUse
from simrep.runs.strain import LinkUse, Strain
from simrep.scenario import prior
from simrep.scenario.prior import prior_of
from simrep.workload.classes import TransactionClass
from simrep.workload.keys import Keys
from simrep.workload.laps import LAPS, Lap

__all__ = ["TIMES", "Resource", "resources"]

TIMES: Final = 8
"""How many times as wide a resource is made to see what is behind it."""

_ALIKE = 0.1  # machines and links whose use differs by less stand side by side
_USED = 0.3  # of the cores, a line or a link: what has less to do is not looked at
_NOTED = 0.03  # of the latency: a stage with less does not decide
_ROWS = 1_000_000_000  # among which nobody meets
_WINDOWS = (SEND_WINDOW, IDLE_SEND_WINDOW, WRITE_CONCURRENCY)

Relieve = Callable[[Setup], Setup]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that may give out.

    Attributes
    ----------
    kind : {"cpu", "disk", "link", "appliers", "locks", "window", "thread", "delay"}
    name : str
        With the nodes: ``CPU of n1``.
    evidence : str
        How full it is, in words; empty where nothing tells.
    wider : str
        What was made wider to see: ``8 times the cores``.
    relieve : callable
        From a setup to the same with it wider.
    last : bool
        Whether it is only to blame if nothing else is: what makes everything faster helps always.
    """

    kind: str
    name: str
    evidence: str
    wider: str
    relieve: Relieve
    last: bool = False


def resources(setup: Setup, strains: Sequence[Strain]) -> list[Resource]:
    """Candidates for what gives out, as replications of a load show them."""
    return [
        *_of_machines(setup, strains),
        *_appliers(setup, strains),
        *_windows(setup, strains),
        *_locks(strains),
        *_links(setup, strains),
        *_delays(setup),
    ]


# -- machines ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Machine:
    """A machine, its nodes and how full it is."""

    host: str
    nodes: tuple[str, ...]
    cpu: float
    lines: tuple[tuple[float, str], ...]  # of single servers: utilisation and name, fullest first

    def like(self, other: _Machine) -> bool:
        ends = zip((self.cpu, *self._fullest), (other.cpu, *other._fullest), strict=True)
        return all(abs(one - two) <= _ALIKE for one, two in ends)

    @property
    def _fullest(self) -> tuple[float]:
        return (self.lines[0][0] if self.lines else 0.0,)


def _of_machines(setup: Setup, strains: Sequence[Strain]) -> Iterator[Resource]:
    """Cores, disks and single threads, of machines that do the same together."""
    groups: list[list[_Machine]] = []
    for machine in _machines(setup, strains):
        group = next((one for one in groups if one[0].like(machine)), None)
        if group is None:
            groups.append([machine])
        else:
            group.append(machine)
    for group in groups:
        hosts = tuple(one.host for one in group)
        where = _together([node for one in group for node in one.nodes])
        cpu = max(one.cpu for one in group)
        lines = max(one.lines for one in group)
        if cpu >= _USED:
            yield Resource(
                kind="cpu",
                name=f"CPU of {where}",
                evidence=f"cores {cpu:.0%} busy",
                wider=f"{TIMES} times the cores",
                relieve=partial(_with_cores, hosts=hosts),
            )
        if lines and lines[0][0] >= _USED:
            yield Resource(
                kind="disk",
                name=f"disk of {where}",
                evidence=_fullest(lines),
                wider=f"{TIMES} times as fast a disk",
                relieve=partial(_with_disks, hosts=hosts),
            )
        if not any(setup.machines[host].autogroup for host in hosts):
            yield Resource(
                kind="thread",
                name=f"single threads of {where}",
                evidence=_fullest(lines),
                wider=f"{TIMES} times as fast cores",
                relieve=partial(_with_faster_cores, hosts=hosts),
                last=True,
            )


def _machines(setup: Setup, strains: Sequence[Strain]) -> Iterator[_Machine]:
    """Every machine with its use, on average over replications."""
    uses = [
        StationUse.mean(list(each)) for each in zip(*(s.stations for s in strains), strict=True)
    ]
    away = setup.scenario.arbitrators
    for host in dict.fromkeys(setup.placement):
        placed = zip(setup.scenario.node_names, setup.placement, strict=True)
        nodes = tuple(node for node, place in placed if place == host and node not in away)
        own = {f"{node}/": node for node in (*nodes, host)}
        cpu, lines = 0.0, []
        for use in uses:
            if use.name == f"{host}/cpu":
                cpu = use.utilisation
            elif use.servers == 1 and any(use.name.startswith(start) for start in own):
                lines.append((round(use.utilisation, 3), use.name.partition("/")[2]))
        yield _Machine(host, nodes or (host,), cpu, tuple(sorted(lines, reverse=True)))


def _fullest(lines: Sequence[tuple[float, str]]) -> str:
    """The line of a single server that has most to do."""
    return f"fullest queue: {lines[0][1]!r}, {lines[0][0]:.0%} busy" if lines else ""


def _with_cores(setup: Setup, hosts: Collection[str]) -> Setup:
    machines = dict(setup.machines)
    for host in hosts:
        cores = TIMES * (machines[host].cores or 1)
        machines[host] = machines[host].model_copy(update={"cores": cores})
    return replace(setup, machines=machines)


def _with_faster_cores(setup: Setup, hosts: Collection[str]) -> Setup:
    machines = dict(setup.machines)
    for host in hosts:
        factor = (machines[host].cpu_factor or 1.0) / TIMES
        machines[host] = machines[host].model_copy(update={"cpu_factor": factor})
    return replace(setup, machines=machines)


def _with_disks(setup: Setup, hosts: Collection[str]) -> Setup:
    """Fsyncs take less, more of them are worked on at a time, and more is written per second."""
    machines = dict(setup.machines)
    for host in hosts:
        old = machines[host]
        change: dict[str, float] = {"fsync_factor": (old.fsync_factor or 1.0) / TIMES}
        if old.autogroup and old.parallel_syncs is not None:  # such a machine has one pace alone
            change = {"parallel_syncs": TIMES * old.parallel_syncs}
        machines[host] = old.model_copy(update=change)
    fields = type(setup.costs).model_fields
    speeds = [name for name, field in fields.items() if prior_of(field) is prior.DISK]
    faster = {name: TIMES * getattr(setup.costs, name) for name in speeds}
    if not faster:
        return replace(setup, machines=machines)
    if not setup.model.node_costs:
        costs = setup.costs.model_copy(update=faster)
        return replace(setup, machines=machines, costs=costs)
    own = dict(setup.node_costs)
    for position, host in enumerate(setup.placement):
        if host in hosts:
            before = own.get(position, {})
            mine = {name: TIMES * before[name] for name in speeds if name in before}
            own[position] = {**before, **faster, **mine}
    return replace(setup, machines=machines, node_costs=own)


# -- settings of the product ---------------------------------------------------------------------


def _appliers(setup: Setup, strains: Sequence[Strain]) -> Iterator[Resource]:
    """Threads that apply what others have committed."""
    field = field_of(APPLIERS, setup.model.Options)
    if field is None or len(setup.placement) < 2:
        return
    behind = _mean_behind(strains)
    most = max(behind.values(), default=0.0)
    late = [node for node, count in behind.items() if count >= max(1.0, most / 2.0)]
    option = spellings_of(APPLIERS, setup.model.Options)[0]
    said = [f"{option} = {getattr(setup.options, field)}"]
    if late:
        said.append(f"{most:.0f} transactions behind")
    if (paused := _share(strains, Lap.QUEUE)) >= _NOTED:
        said.append(f"{paused:.0%} of the latency is 'queue'")
    where = f" of {_together(late)}" if late else ""
    yield Resource(
        kind="appliers",
        name=f"appliers{where}",
        evidence=", ".join(said),
        wider=f"{TIMES} times as many",
        relieve=partial(_with_options, fields=(field,)),
    )


def _mean_behind(strains: Sequence[Strain]) -> dict[str, float]:
    return {
        node: sum(one.behind[node] for one in strains) / len(strains) for node in strains[0].behind
    }


def _windows(setup: Setup, strains: Sequence[Strain]) -> Iterator[Resource]:
    """How much may be under way at a time."""
    share = _share(strains, Lap.WINDOW)
    found = {role: name for role in _WINDOWS if (name := field_of(role, setup.model.Options))}
    if not found or share < _NOTED:
        return
    settings = [
        f"{spellings_of(role, setup.model.Options)[0]} = {getattr(setup.options, field)}"
        for role, field in found.items()
    ]
    yield Resource(
        kind="window",
        name="send window",
        evidence=f"{', '.join(settings)}, {share:.0%} of the latency is 'send window'",
        wider=f"{TIMES} times as wide",
        relieve=partial(_with_options, fields=tuple(found.values())),
    )


def _with_options(setup: Setup, fields: Collection[str]) -> Setup:
    wider = {name: TIMES * max(1, getattr(setup.options, name)) for name in fields}
    own = {
        position: {
            name: TIMES * max(1, value) if name in fields else value
            for name, value in options.items()
        }
        for position, options in setup.node_options.items()
    }
    return replace(setup, options=setup.options.model_copy(update=wider), node_options=own)


# -- rows ----------------------------------------------------------------------------------------


def _locks(strains: Sequence[Strain]) -> Iterator[Resource]:
    """Rows that many want."""
    waiting, again = _share(strains, Lap.LOCK_WAIT), _share(strains, Lap.RETRIES)
    if waiting + again < _NOTED:
        return
    said = [f"{waiting:.0%} of the latency is 'lock wait'"]
    if again >= _NOTED:
        said.append(f"{again:.0%} 'retries'")
    yield Resource(
        kind="locks",
        name="row locks",
        evidence=", ".join(said),
        wider="rows that nobody shares",
        relieve=_without_meetings,
    )


def _without_meetings(setup: Setup) -> Setup:
    classes = tuple(_spread(one) for one in setup.workload.classes)
    return replace(setup, workload=replace(setup.workload, classes=classes))


def _spread(one: TransactionClass) -> TransactionClass:
    steps = tuple(replace(step, keys=_own_rows(step.keys)) for step in one.steps)
    return replace(one, keys=_own_rows(one.keys), steps=steps)


def _own_rows(keys: Keys) -> Keys:
    if keys.distribution == "fresh":
        return keys
    return replace(keys, distribution="uniform", rows=_ROWS, tables=1)


def _share(strains: Sequence[Strain], lap: int) -> float:
    return sum(one.stages.get(LAPS[lap], 0.0) for one in strains) / len(strains)


# -- network -------------------------------------------------------------------------------------


def _links(setup: Setup, strains: Sequence[Strain]) -> Iterator[Resource]:
    """Bandwidth of the links that carry most."""
    every = zip(*(one.links for one in strains), strict=True)
    uses = {(each[0].source, each[0].target): _mean_use(each) for each in every}
    most = max(uses.values(), default=0.0)
    if most < _USED:
        return
    full = [pair for pair, use in uses.items() if use >= most - _ALIKE]
    names = setup.scenario.node_names
    pairs = [(names.index(source), names.index(target)) for source, target in full]
    yield Resource(
        kind="link",
        name=f"link {_together([f'{source} to {target}' for source, target in full])}",
        evidence=f"{most:.0%} of the bandwidth used",
        wider=f"{TIMES} times the bandwidth",
        relieve=partial(_with_bandwidth, pairs=pairs),
    )


def _mean_use(uses: Sequence[LinkUse]) -> float:
    return sum(one.utilisation for one in uses) / len(uses)


def _with_bandwidth(setup: Setup, pairs: Collection[tuple[int, int]]) -> Setup:
    paths = dict(setup.paths)
    for pair in pairs:
        if isfinite(paths[pair].bytes_per_s):
            paths[pair] = replace(paths[pair], bytes_per_s=TIMES * paths[pair].bytes_per_s)
    return replace(setup, paths=paths)


def _delays(setup: Setup) -> Iterator[Resource]:
    """Delays: what happens one after the other takes as many round trips."""
    longest_s = max((path.latency.base_s for path in setup.paths.values()), default=0.0)
    if longest_s:
        yield Resource(
            kind="delay",
            name="round trips that follow each other",
            evidence=f"up to {2e3 * longest_s:.3g} ms each",
            wider=f"an {TIMES}th of the delay",
            relieve=_nearer,
            last=True,
        )


def _nearer(setup: Setup) -> Setup:
    return replace(
        setup,
        paths={
            pair: replace(path, latency=replace(path.latency, base_s=path.latency.base_s / TIMES))
            for pair, path in setup.paths.items()
        },
    )


def _together(names: Sequence[str]) -> str:
    """Names in a sentence: a few of them, else how many more there are."""
    names = list(dict.fromkeys(names))
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])
