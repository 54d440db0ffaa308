"""A load of writers and readers, at a distance, and so many times as large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.measure.units import counted, number
from simrep.runs.prediction import factors_of
from simrep.runs.progress import uncounted
from simrep.runs.replication import simulate, with_run_settings
from simrep.scenario import Scenario, with_values
from simrep.scenario.workload import GroupTable

__all__ = ["Brief", "ReadingLoad", "brief", "distances", "loads_of", "reading_load"]

_RTT = "network.rtt_ms"
_AROUND = (1.0, 0.25, 4.0)  # of the round trip of the scenario, which comes first
_LOADS = (1.0, 0.5, 2.0)
_PAUSE_MS = 20.0  # of an added reader: one row for a page that somebody looks at
_ADDED = "read"
_ENOUGH = 750  # transactions of a run
_LEAST_S, _LEAST_TRIPS = 0.15, 6.0  # of a run: what happens in rounds is in it
_MOST_S = 10.0
_PILOT = 2**31 - 3  # a replication that no figure counts
_PILOT_S, _PILOT_TRIPS = 0.1, 5.0
_WARMUP = 0.25  # of what is measured


@dataclass(frozen=True, slots=True)
class Brief:
    """How long runs last, in simulated seconds.

    Attributes
    ----------
    duration_s, warmup_s : float
    """

    duration_s: float
    warmup_s: float

    def of(self, setup: Setup) -> Setup:
        """The setup with runs of this length."""
        settings = {"duration_s": self.duration_s, "warmup_s": self.warmup_s, "warmup": None}
        return with_run_settings(setup, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLoad:
    """Writers and readers of a scenario.

    Attributes
    ----------
    scenario : Scenario
    reading : frozenset of str
        Names of the classes that only read.
    scaled : mapping of str to float
        How many clients write, or how often, by the path that says it.
    open_loop : bool
        Whether these are rates.
    apart : bool
        Whether writers and readers are different clients.
    writer : str
        The node that takes all writes, if there is one and none of the reads goes there.
    notes : tuple of str
    """

    scenario: Scenario
    reading: frozenset[str]
    scaled: Mapping[str, float]
    open_loop: bool
    apart: bool
    writer: str
    notes: tuple[str, ...]

    def at(self, rtt_ms: float | None, times: float) -> Scenario:
        """The scenario at a distance, with so many times as many writers."""
        changes: dict[str, Any] = {} if rtt_ms is None else {_RTT: rtt_ms}
        if times != 1.0:
            changes |= {path: self._scaled(value, times) for path, value in self.scaled.items()}
        return with_values(self.scenario, changes) if changes else self.scenario

    def words(self, times: float) -> str:
        """How many writers those are."""
        total = sum(self._scaled(value, times) for value in self.scaled.values())
        if self.open_loop:
            return f"{number(total)} writes/s" if self.apart else f"{number(total)}/s"
        return counted(int(total), "writer" if self.apart else "client")

    def _scaled(self, value: float, times: float) -> float:
        return value * times if self.open_loop else max(1, round(value * times))


def reading_load(scenario: Scenario, readers: int) -> ReadingLoad:
    """The load of a scenario; readers are added if nobody only reads."""
    workload = scenario.steady("the price of reads").workload
    if scenario.faults or scenario.replica_cluster is not None or workload.scheduled:
        raise ScenarioError(
            "fault" if scenario.faults else "workload",
            "the price of reads needs a lasting load, without events",
            "remove faults, scheduled transactions and the replica cluster",
        )
    if workload.fixed:
        raise ScenarioError("workload", "its transactions would end", "set run.duration_s instead")
    if not any(one.writes for one in workload.classes):
        raise ScenarioError("workload.class", "nobody writes, so no read can be stale")
    reading = [one.name for one in workload.classes if not one.writes]
    notes: list[str] = []
    if not reading:
        scenario, note = _with_readers(scenario, readers)
        notes.append(note)
        reading = [scenario.workload.classes[-1].name]
    scenario = with_values(scenario, {"run.staleness": True})
    return ReadingLoad(
        scenario=scenario,
        reading=frozenset(reading),
        scaled=dict(_sources(scenario, frozenset(reading))),
        open_loop=scenario.workload.open_loop,
        apart=any(_reads(group, frozenset(reading)) for group in scenario.workload.groups),
        writer=_writer(scenario, frozenset(reading)),
        notes=tuple(notes),
    )


def distances(
    scenario: Scenario, rtts: Sequence[str] | Sequence[float] | None
) -> tuple[float | None, ...]:
    """Round trips in milliseconds, that of the scenario first; None: as the scenario has them."""
    network = scenario.network
    several = network.preset is not None or network.paths or network.egress
    if rtts is None:
        if several:
            return (None,)
        own = factors_of(setup_of(scenario))["rtt_ms"]
        return tuple(dict.fromkeys(float(f"{own * times:.2g}") for times in _AROUND))
    if several:
        raise ScenarioError(
            _RTT, "is not the only delay of this scenario", "leave out rtts to keep its delays"
        )
    return tuple(_numbers("rtts", rtts, least=0.0))


def loads_of(loads: Sequence[str] | Sequence[float] | None) -> tuple[float, ...]:
    """Multiples of the writers; the first is what the answer is about."""
    return _LOADS if loads is None else tuple(_numbers("loads", loads, least=1e-3))


def brief(setup: Setup, seed: int) -> Brief:
    """How long a run has to be, as a pilot tells by its pace."""
    asked = setup.scenario.run
    trip_s = 1e-3 * factors_of(setup).get("rtt_ms", 0.0)
    pilot_s = _PILOT_S + _PILOT_TRIPS * trip_s
    with uncounted():
        pilot = Brief(pilot_s, _PILOT_TRIPS * trip_s).of(setup)
        measured = simulate(pilot, seed, _PILOT).measurement
    tps = max(measured.throughput_tps, 1.0)
    least_s = _LEAST_S + _LEAST_TRIPS * trip_s
    length_s = min(max(least_s, _ENOUGH / tps), asked.duration_s or _MOST_S, _MOST_S)
    return Brief(length_s, _WARMUP * length_s + _PILOT_TRIPS * trip_s)


def _numbers(name: str, given: Sequence[str] | Sequence[float], least: float) -> Iterator[float]:
    if not given:
        raise ScenarioError(name, "needs a value at least")
    for one in given:
        try:
            value = float(one)
        except ValueError:
            value = float("nan")
        if not (isfinite(value) and value >= least):
            raise ScenarioError(name, f"must be numbers of at least {least:g}, given {one!r}")
        yield value


def _with_readers(scenario: Scenario, readers: int) -> tuple[Scenario, str]:
    """The scenario with readers on all nodes that nobody writes on, or on all nodes."""
    if scenario.proxy is not None:
        raise ScenarioError(
            "workload.class",
            "no class only reads, and the proxy routes reads",
            "add a class with statements = 0 and reads = 1",
        )
    workload = scenario.workload
    names = [name for name in scenario.node_names if name not in scenario.arbitrators]
    classes = [one.model_dump(by_alias=True, exclude_unset=True) for one in workload.classes]
    own = [one.name for one in workload.classes]
    added = _ADDED if _ADDED not in own else f"{_ADDED} (added)"
    writing = _writing_groups(scenario, own)
    served = {group["node"] for group in writing}
    elsewhere = [name for name in names if name not in served] or names
    open_loop = workload.open_loop
    rate = readers * 1e3 / _PAUSE_MS
    how: dict[str, Any] = {"rate_tps": rate}
    if not open_loop:
        how = {"threads": readers, "think_time_ms": _PAUSE_MS, "think_time": "exponential"}
    reading = [
        {"name": f"readers on {name}", "node": name, "class": [added], **how} for name in elsewhere
    ]
    changes: dict[str, Any] = dict.fromkeys(
        f"workload.{name}" for name in ("threads", "nodes", "rate_tps", "connections")
    )
    changes["workload.class"] = [*classes, {"name": added, "statements": 0, "reads": 1}]
    changes["workload.group"] = [*writing, *reading]
    each = f"{number(rate)} reads of a row per second"
    if not open_loop:
        each = f"{counted(readers, 'client')} that read a row and pause for {_PAUSE_MS:g} ms"
    return with_values(scenario, changes), (
        f"The scenario has no readers. Added: {each}, on each of {', '.join(elsewhere)}."
    )


def _writing_groups(scenario: Scenario, classes: Sequence[str]) -> list[dict[str, Any]]:
    """The clients of a scenario as groups that name their classes."""
    workload = scenario.workload
    if workload.groups:
        written = [one.model_dump(by_alias=True, exclude_unset=True) for one in workload.groups]
        return [{"class": list(classes), **group} for group in written]
    engine = setup_of(scenario).workload
    names = scenario.node_names
    groups: list[dict[str, Any]] = []
    for arriving in engine.arrivals:
        group = {"node": names[arriving.node], "rate_tps": arriving.rate_tps}
        if arriving.connections is not None:
            group["connections"] = arriving.connections
        groups.append(group)
    for loop in engine.loops:
        groups += [
            {"node": names[node], "threads": loop.nodes.count(node)}
            for node in dict.fromkeys(loop.nodes)
        ]
    return [{"name": f"writers on {one['node']}", "class": list(classes), **one} for one in groups]


def _sources(scenario: Scenario, reading: frozenset[str]) -> Iterator[tuple[str, float]]:
    """What says how many clients write, or how often."""
    workload = scenario.workload
    for position, group in enumerate(workload.groups):
        if _reads(group, reading):
            continue
        if group.rate_tps is not None:
            yield f"workload.group.{position}.rate_tps", group.rate_tps
        else:
            yield f"workload.group.{position}.threads", float(group.threads or 1)
    if not workload.groups:
        if workload.rate_tps is not None:
            yield "workload.rate_tps", workload.rate_tps
        else:
            yield "workload.threads", float(workload.threads or 1)


def _reads(group: GroupTable, reading: frozenset[str]) -> bool:
    """Whether its clients only read."""
    return group.classes is not None and reading.issuperset(group.classes)


def _writer(scenario: Scenario, reading: frozenset[str]) -> str:
    """The only node on which anybody writes, if nobody reads there; else nothing."""
    groups = scenario.workload.groups
    if scenario.proxy is not None or not groups:
        return ""
    writers = {group.node for group in groups if not _reads(group, reading)}
    readers = {group.node for group in groups if _reads(group, reading)}
    return next(iter(writers)) if len(writers) == 1 and not writers & readers else ""
