"""All that a scenario lets happen at a given time: one list for checks, words and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any

from simrep.measure.units import number
from simrep.scenario.schema import Scenario

__all__ = ["Event", "events"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a scenario lets happen.

    Attributes
    ----------
    path : str
        Where the scenario says it: ``fault.0``.
    what : str
        It in words: ``n2 paused``.
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

    @property
    def lasts(self) -> bool:
        """Whether it has an end of its own, or goes on to the end of the run."""
        return self.until_s > self.at_s

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        return {
            "path": self.path,
            "what": self.what,
            "nodes": list(self.nodes),
            "at_s": self.at_s,
            "until_s": self.until_s if isfinite(self.until_s) else None,
        }


def events(scenario: Scenario | Mapping[str, Any]) -> tuple[Event, ...]:
    """What a scenario lets happen at a given time, in the order of time.

    Faults, outages of the network, servers that come and go, scheduled transactions.

    Parameters
    ----------
    scenario : Scenario, or mapping
        Also as a result holds it.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.checked(dict(scenario), "scenario")
    placed = dict(zip(scenario.node_names, scenario.host_names, strict=True))
    listed = []
    for position, fault in enumerate(scenario.faults):
        place = fault.node or fault.host or ""
        nodes = tuple(n for n, host in placed.items() if n == fault.node or host == fault.host)
        said = _FAULTS[fault.what].format(place=place) + _factors(
            {"CPU": fault.cpu_factor, "fsync": fault.fsync_factor}
        )
        listed.append(Event(f"fault.{position}", said, nodes, fault.at_s, fault.end_s))
    for position, outage in enumerate(scenario.network.outages):
        said = f"{outage.node} {_CUT[outage.direction]}"
        times = outage.from_s, outage.to_s
        listed.append(Event(f"network.outage.{position}", said, (outage.node,), *times))
    for position, change in enumerate(scenario.cluster.changes):
        said = f"{change.node} {_CHANGES[change.what]}"
        listed.append(Event(f"cluster.change.{position}", said, (change.node,), change.at_s))
    for position, single in enumerate(scenario.workload.scheduled):
        node = single.node if single.node is not None else scenario.node_names[0]
        path = f"workload.scheduled.{position}"
        listed.append(Event(path, f"{single.name} begins", (node,), single.at_s))
    return tuple(sorted(listed, key=_begin_s))


def _begin_s(event: Event) -> float:
    return event.at_s


_FAULTS = {
    "slow": "{place} slow",
    "pause": "{place} paused",
    "disk-stall": "disk of {place} stalls",
}
_CUT = {"both": "cut off", "out": "not heard", "in": "hears nothing"}
_CHANGES = {"crash": "crashes", "leave": "leaves", "join": "joins"}


def _factors(factors: Mapping[str, float | None]) -> str:
    """By how much something is slower: ``(CPU 4x, fsync 10x)``."""
    said = [f"{name} {number(x)}x" for name, x in factors.items() if x not in {None, 1.0, inf} if x]
    return f" ({', '.join(said)})" if said else ""
