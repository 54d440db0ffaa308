"""All that a scenario lets happen at a given time: one list for checks, words and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any

from simrep.measure.units import number
from simrep.scenario.changes import value_at
from simrep.scenario.cluster import NodeTable
from simrep.scenario.faults import FaultTable
from simrep.scenario.old_faults import ChangeTable, OutageTable, listed_faults
from simrep.scenario.operation import OperationTable
from simrep.scenario.operations import OPERATION_TABLES, listed_operations
from simrep.scenario.schema import DEFAULT_NODES, Scenario

__all__ = ["Event", "events", "within"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a scenario lets happen.

    Attributes
    ----------
    path : str
        Where the scenario says it: ``fault.0``, or ``fault.NAME`` of one that has a name.
    what : str
        It in words: ``n2 paused``.
    how : str
        Further words: ``CPU 4x``; empty if there are none.
    nodes : tuple of str
        Those that it happens to.
    at_s : float
        Begin in simulated seconds.
    until_s : float
        End; NaN of what happens in an instant or ends by itself, infinite of what goes on to the
        end of the run.
    """

    path: str
    what: str
    nodes: tuple[str, ...]
    at_s: float
    until_s: float = nan
    how: str = ""

    @property
    def scheduled(self) -> bool:
        """Whether it is a scheduled transaction, whose record tells how it went on."""
        return self.path.startswith("workload.scheduled.")

    @property
    def of_load(self) -> bool:
        """Whether it is a part of the load, and nothing that happens to servers or links."""
        return self.path.startswith("workload.") and not self.path.startswith("workload.ddl.")

    @property
    def lasts(self) -> bool:
        """Whether it has an end of its own, or goes on to the end of the run."""
        return self.until_s > self.at_s

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        return {
            "path": self.path,
            "what": self.what,
            "how": self.how or None,
            "nodes": list(self.nodes),
            "at_s": self.at_s,
            "until_s": self.until_s if isfinite(self.until_s) else None,
        }


def events(scenario: Scenario | Mapping[str, Any]) -> tuple[Event, ...]:
    """What a scenario lets happen at a given time, in the order of time.

    Faults, what operators do, scheduled transactions, bursts of the load.

    Parameters
    ----------
    scenario : Scenario, or mapping
        Also as a result holds it: complete and checked.
    """
    content = scenario.to_dict() if isinstance(scenario, Scenario) else scenario
    workload = content.get("workload", {})
    listed = [_fault(content, fault) for fault in _faults(content)]
    listed += [_operation(content, one) for one in _operations(content)]
    for position, single in enumerate(workload.get("scheduled", ())):
        path = f"workload.scheduled.{position}"
        nodes = (single["node"],) if single.get("node") else ()
        listed.append(Event(path, f"{single['name']} begins", nodes, single["at_s"]))
    listed += _bursts("workload", workload, _end_s(content))
    for position, group in enumerate(workload.get("group", ())):
        listed += _bursts(f"workload.group.{position}", group, _end_s(content))
    return tuple(sorted(listed, key=_begin_s))


def _end_s(content: Mapping[str, Any]) -> float:
    run = content.get("run", {})
    return float(run.get("warmup_s", 0.0) + run.get("duration_s", inf))


def _bursts(path: str, table: Mapping[str, Any], end_s: float) -> Iterator[Event]:
    """Bursts of a load, each time that they come."""
    variation = table.get("variation", {})
    scale = variation.get("time_scale", 1.0)
    for position, burst in enumerate(variation.get("burst", ())):
        place = f"{path}.variation.burst.{position}"
        nodes = (table["node"],) if "node" in table else ()
        for turn in range(_MOST_BURSTS if burst.get("every_s") else 1):
            at_s = (burst["at_s"] + turn * burst.get("every_s", 0.0)) / scale
            until_s = at_s + burst["for_s"] / scale
            if at_s < end_s:
                how = f"load {number(burst['factor'])}x"
                yield Event(place, burst.get("name", "burst"), nodes, at_s, until_s, how)


def _faults(content: Mapping[str, Any]) -> tuple[FaultTable, ...]:
    """All that goes wrong; see ``Scenario.faults``."""
    changes = content.get("cluster", {}).get("change", ())
    outages = content.get("network", {}).get("outage", ())
    return listed_faults(
        [FaultTable.model_validate(one) for one in content.get("fault", ())],
        [ChangeTable.model_validate(one) for one in changes],
        [OutageTable.model_validate(one) for one in outages],
    )


def _operations(content: Mapping[str, Any]) -> tuple[OperationTable, ...]:
    """What operators do; see ``Scenario.operations``."""
    return listed_operations(
        {
            path: [kind.model_validate(one) for one in value_at(content, path) or ()]
            for path, kind in OPERATION_TABLES.items()
        }
    )


def _operation(content: Mapping[str, Any], one: OperationTable) -> Event:
    """What an operator does as an event; its end is open if it ends by itself."""
    names = _names(content)
    nodes = content.get("node", ())
    away = [node["name"] for node in nodes if node.get("arbitrator")]
    until_s = one.end_s if isfinite(one.end_s) else nan
    struck = one.on(names, away)
    said = one.text if one.what == "procedure" else f"{one.text} on {', '.join(struck)}"
    return Event(one.path, said, struck, one.at_s, until_s)


def _fault(content: Mapping[str, Any], fault: FaultTable) -> Event:
    """A fault as an event."""
    nodes = fault.nodes or ((fault.node,) if fault.node else _nodes_on(content, fault.host))
    said = _FAULTS[fault.what].format(place=fault.host or ", ".join(nodes))
    if fault.what == "cut":
        words, link = _CUT[fault.direction or "both"]
        said = f"{said} {words}"
        if fault.others is not None:
            said = f"{said} {link} {', '.join(fault.others)}"
    until_s = fault.end_s if fault.lasts else nan
    return Event(fault.path, said, nodes, fault.at_s, until_s, _how(fault))


def _nodes_on(content: Mapping[str, Any], host: str | None) -> tuple[str, ...]:
    """Names of the nodes on a machine."""
    names = _names(content)
    tables = [NodeTable.model_validate(node) for node in content.get("node", ())]
    places = {node.name: node.host for node in tables}
    if content["cluster"].get("shared_host"):
        return names
    return tuple(name for name in names if (places.get(name) or name) == host)


def _names(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of all nodes by position."""
    nodes = [node["name"] for node in content.get("node", ())]
    names = content["cluster"].get("nodes") or nodes or DEFAULT_NODES
    if isinstance(names, int):
        names = [f"n{position + 1}" for position in range(names)]
    return tuple(names)


def _begin_s(event: Event) -> float:
    return event.at_s


_MOST_BURSTS = 24  # of one that comes again and again
_FAULTS = {
    "slow": "{place} slow",
    "pause": "{place} paused",
    "disk-stall": "disk of {place} stalls",
    "kill": "{place} killed",
    "power-loss": "{place} loses power",
    "leave": "{place} leaves",
    "restart": "{place} restarts",
    "bootstrap": "{place} bootstraps",
    "promote": "{place} promoted by hand",
    "cut": "{place}",
    "loss": "links of {place} lose segments",
    "jitter": "links of {place} jitter",
}
_CUT = {
    "both": ("cut off", "from"),
    "out": ("not heard", "by"),
    "in": ("hears nothing", "of"),
}


def _how(fault: FaultTable) -> str:
    """How much it changes: ``CPU 4x, fsync 10x``, ``5 %``."""
    if fault.loss is not None:
        return f"{number(100.0 * fault.loss)} %"
    factors = {"CPU": fault.cpu_factor, "fsync": fault.fsync_factor}
    return ", ".join(f"{name} {number(x)}x" for name, x in factors.items() if x and x != 1.0)


def within(events: Iterable[Event], from_s: float, until_s: float) -> list[Event]:
    """Those that happen between two times, or last into the time between."""
    return [
        event
        for event in events
        if event.at_s <= until_s
        and max(event.at_s, event.until_s if event.lasts else event.at_s) >= from_s
    ]
