"""The ``[[fault]]`` table: what goes wrong in a run, when, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from simrep.errors import ScenarioError, nearest
from simrep.scenario.cluster import NodeTable
from simrep.scenario.table import Factor, Interval, Name, Seconds, Table

__all__ = ["SHARED_HOST", "FaultTable", "FaultWord", "fault_problems", "hosts_of"]

SHARED_HOST = "host"
"""Name of the machine that all nodes share with ``cluster.shared_host``."""

FaultWord = Literal["slow", "pause", "disk-stall"]


@dataclass(frozen=True, slots=True)
class _Rule:
    """What the keys of a fault have to be, by its word."""

    lasts: bool = False  # it needs an end; else it goes on to the end of the run without one
    factors: bool = False  # it needs a factor at least; else it knows none


_RULES: Mapping[str, _Rule] = {
    "slow": _Rule(factors=True),
    "pause": _Rule(lasts=True),
    "disk-stall": _Rule(),
}
assert tuple(_RULES) == get_args(FaultWord)


class FaultTable(Table):
    """A ``[[fault]]``: something that goes wrong at a node, or at a machine with all that is on it.

    ``slow``: code or fsyncs take several times as long. ``pause``: a server's process is stopped
    (SIGSTOP), or a machine frozen (a virtual machine that is paused); what arrives for it waits,
    and its timers are late. ``disk-stall``: no fsync returns.
    """

    at_s: Seconds = Field(description="begin, in simulated seconds with the warm-up")
    until_s: Interval | None = Field(
        None, description="end; default: that of the run, but a pause needs one"
    )
    node: Name | None = Field(None, description="the node whose server it happens to")
    host: Name | None = Field(
        None, description="the machine it happens to, instead of a single node"
    )
    what: FaultWord = Field(
        description="slow: code or fsyncs take longer; pause: it stands still; disk-stall: no "
        "fsync returns"
    )
    cpu_factor: Factor | None = Field(
        None, description="of slow: how many times as long code takes; default: 1"
    )
    fsync_factor: Factor | None = Field(
        None, description="of slow: how many times as long an fsync takes; default: 1"
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        rule = _RULES[self.what]
        if (self.node is None) == (self.host is None):
            given = "neither" if self.node is None else "both"
            raise ScenarioError("node", f"a fault is of a node or of a host, given {given}")
        if self.until_s is not None and not self.until_s > self.at_s:
            raise ScenarioError(
                "until_s", f"must be after at_s = {self.at_s:g}, given {self.until_s:g}"
            )
        if rule.lasts and self.until_s is None:
            raise ScenarioError("until_s", f"is required: a {self.what} has to end")
        factors = {"cpu_factor": self.cpu_factor, "fsync_factor": self.fsync_factor}
        given_factors = {name: value for name, value in factors.items() if value is not None}
        for name, value in given_factors.items():
            if not rule.factors:
                raise ScenarioError(
                    name, f"is not for {self.what!r}, given {value:g}", "remove it, or say 'slow'"
                )
        if rule.factors and all(value == 1.0 for value in given_factors.values()):
            raise ScenarioError(
                "cpu_factor", "this fault changes nothing", "give cpu_factor or fsync_factor"
            )
        return self

    @property
    def end_s(self) -> float:
        """When it ends, in simulated seconds; infinite if it goes on to the end of the run."""
        return inf if self.until_s is None else self.until_s


def hosts_of(nodes: Sequence[NodeTable], *, shared: bool) -> tuple[str, ...]:
    """The machine of each node by its name."""
    return tuple(SHARED_HOST if shared else node.host or node.name for node in nodes)


def fault_problems(
    faults: Sequence[FaultTable], nodes: Sequence[NodeTable], *, shared: bool, run_end_s: float
) -> Iterator[ScenarioError]:
    """What is right in each fault, but not together, or not in this cluster and this run.

    Parameters
    ----------
    faults : sequence of FaultTable
    nodes : sequence of NodeTable
        By position.
    shared : bool
        Whether all nodes share one machine.
    run_end_s : float
        When the run ends in simulated seconds; infinite if that is not known.
    """
    names = [node.name for node in nodes]
    hosts = dict.fromkeys(hosts_of(nodes, shared=shared))
    places: list[frozenset[str]] = []
    for position, fault in enumerate(faults):
        path = f"fault.{position}"
        struck = _struck(fault, nodes, shared=shared)
        places.append(struck)
        if fault.node is not None and not struck:
            yield ScenarioError(
                f"{path}.node", f"no node {fault.node!r}", nearest(fault.node, names)
            )
        if fault.host is not None and not struck:
            hint = nearest(fault.host, hosts)
            yield ScenarioError(f"{path}.host", f"no host {fault.host!r}", hint)
        if fault.at_s >= run_end_s:
            yield ScenarioError(
                f"{path}.at_s",
                f"is after the end of the run at {run_end_s:g} s, given {fault.at_s:g}",
                "run.warmup_s + run.duration_s is its end",
            )
        elif fault.until_s is not None and fault.until_s > run_end_s:
            yield ScenarioError(
                f"{path}.until_s",
                f"is after the end of the run at {run_end_s:g} s, given {fault.until_s:g}",
                "run.warmup_s + run.duration_s is its end",
            )
        for earlier, other in enumerate(faults[:position]):
            both = struck & places[earlier]
            if both and _clash(fault, other):
                yield ScenarioError(
                    path,
                    f"{fault.what} of {min(both)!r} at {fault.at_s:g} s, during that of "
                    f"fault.{earlier}",
                    "let one end before the other begins",
                )


def _struck(fault: FaultTable, nodes: Sequence[NodeTable], *, shared: bool) -> frozenset[str]:
    """Names of the nodes that it happens to."""
    hosts = hosts_of(nodes, shared=shared)
    return frozenset(
        node.name
        for node, host in zip(nodes, hosts, strict=True)
        if node.name == fault.node or (fault.host is not None and host == fault.host)
    )


def _clash(one: FaultTable, other: FaultTable) -> bool:
    """Whether both would have the same thing happen at the same time."""
    if one.what != other.what or min(one.end_s, other.end_s) <= max(one.at_s, other.at_s):
        return False
    return one.what != "slow" or any(
        getattr(one, name) is not None and getattr(other, name) is not None
        for name in ("cpu_factor", "fsync_factor")
    )
