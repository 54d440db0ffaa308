"""Faults of a load: what the rig can break, when, and which links are cut meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from pydantic import Field

from simrep.errors import ScenarioError
from simrep.rig.delays import DelayMatrix, Link, Pair
from simrep.rig.syncs import DISK_FAULTS
from simrep.scenario.faults import LINKS, FaultTable, FaultWord
from simrep.scenario.operation import OperationTable
from simrep.scenario.table import Clients, Interval, Milliseconds, Name, Seconds, Table

__all__ = [
    "PLAYED",
    "Act",
    "ClientGroup",
    "RigFault",
    "acts",
    "check_faults",
    "hit",
    "links_at",
    "needs_relay",
    "raise_first",
    "relayed",
]

PLAYED: Sequence[str] = (
    *("kill", "pause", "power-loss", "leave", "restart"),
    *("cut", "loss", "jitter", "slow", "disk-stall"),
)
"""Words of faults that the rig does to real servers."""
_ENDS_LIFE = frozenset({"kill", "power-loss", "leave"})
_NOT_PLAYED: Mapping[str, str] = {
    "bootstrap": "the rig does not take an operator's decisions",
    "promote": "the rig does not take an operator's decisions",
}


class ClientGroup(Table):
    """A ``[[load.group]]``: clients of a load with faults, which go on whatever happens."""

    name: Name = Field(description="as the figures name it")
    node: Name = Field(description="that they begin with")
    threads: Clients = Field(4, description="clients, each with a connection of its own")
    on_error: Literal["stay", "next"] = Field(
        "stay",
        description="after an error: stay with the node (pinned), or connect to the next one of "
        "the list (failing over)",
    )
    nodes: tuple[Name, ...] | None = Field(
        None, min_length=2, description='of on_error = "next": that list; default: all nodes'
    )
    reads: bool = Field(
        False, strict=True, description="they read one row instead of inserting one"
    )
    think_time_ms: Milliseconds = Field(10.0, description="pause after each transaction")
    retry_pause_s: Seconds = Field(0.02, description="pause after an error, instead of that")
    read_timeout_s: Interval | None = Field(
        None,
        description="after so long without an answer a client closes its connection; default: it "
        "waits for ever",
    )
    connect_timeout_s: Interval = Field(
        3.0, description="after so long an attempt to connect has failed"
    )

    def order(self, names: Sequence[str]) -> tuple[str, ...]:
        """The nodes that they turn to, one after the other; ``names`` are those of the cluster."""
        if self.on_error == "stay":
            return (self.node,)
        every = self.nodes or tuple(names)
        first = every.index(self.node)
        return (*every[first:], *every[:first])

    def problem(self, names: Collection[str]) -> tuple[str, str] | None:
        """The key and what is wrong with it, on a cluster of nodes; None if nothing is."""
        for key, given in (("node", (self.node,)), ("nodes", self.nodes or ())):
            for name in given:
                if name not in names:
                    return key, f"there is no node {name!r}: there are {', '.join(names)}"
        if self.nodes is not None and self.on_error == "stay":
            return "nodes", 'is the list of clients that fail over: on_error = "next"'
        if self.nodes is not None and self.node not in self.nodes:
            return "nodes", f"must hold their own node, {self.node!r}"
        return None


class RigFault(FaultTable):
    """A ``[[fault]]`` of the rig: done to real servers, in the words of a scenario.

    The rig plays kill (``kill -9``), pause (SIGSTOP, SIGCONT), power-loss (every packet
    is dropped, nobody is told, and what the kernel had not written stays), leave (an orderly
    shutdown), restart, cut, loss and jitter of links, and syncs that are slow or do not return. It
    refuses all others.
    """

    what: FaultWord = Field(
        description="kill: kill -9; pause: SIGSTOP, and SIGCONT at its end; power-loss: every "
        "packet of the node is dropped and its process stopped, until it is started; leave: it "
        "shuts down in order; restart: it starts again; cut: the relay drops all packets; loss: it "
        "drops some; jitter: it draws delays evenly; slow: syncs of its server take fsync_factor "
        "times as long; disk-stall: none returns; the rig refuses all others"
    )
    at_s: Seconds = Field(description="begin, in seconds after the load began")


@dataclass(frozen=True, slots=True)
class Act:
    """Something that is done at a time.

    Attributes
    ----------
    at_s : float
        On the clock of the load.
    what : str
        ``kill``, ``stop``, ``continue``, ``power-loss``, ``leave``, ``restart``, ``links``,
        ``syncs``, ``operate`` or ``take-back``.
    node : str
        Whose server; "" of links.
    operation : int
        Which one of the load, by its position.
    """

    at_s: float
    what: str
    node: str = ""
    operation: int = -1


def acts(
    faults: Sequence[FaultTable], names: Sequence[str], operations: Sequence[OperationTable] = ()
) -> tuple[Act, ...]:
    """What is to be done, in order.

    A restart first gives back the links of a node that was silent.
    """
    found: list[Act] = []
    for fault in faults:
        if fault.what in LINKS:
            found.append(Act(fault.at_s, "links"))
            if fault.end_s < inf:
                found.append(Act(fault.end_s, "links"))
            continue
        for position in fault.struck(names, names):
            node = names[position]
            if fault.what in DISK_FAULTS:
                found.append(Act(fault.at_s, "syncs", node))
                if fault.end_s < inf:
                    found.append(Act(fault.end_s, "syncs", node))
            elif fault.what == "pause":
                found += [Act(fault.at_s, "stop", node), Act(fault.end_s, "continue", node)]
            else:
                found.append(Act(fault.at_s, fault.what, node))
    for place, one in enumerate(operations):
        for node in one.on(names):
            found.append(Act(one.at_s, "operate", node, place))
            if one.end_s < inf:
                found.append(Act(one.end_s, "take-back", node, place))
    return tuple(sorted(found, key=lambda act: act.at_s))


def links_at(
    layout: DelayMatrix,
    faults: Sequence[FaultTable],
    at_s: float,
    silent: AbstractSet[str] = frozenset(),
) -> DelayMatrix:
    """The delays and losses at a time of the load, with all links of silent nodes cut.

    Links that any fault touches pass by the relay all the time.
    """
    names = layout.nodes
    links: dict[Pair, Link] = {
        (a, b): replace(layout.link(a, b), relayed=True) for a, b in relayed(faults, names)
    }
    links = {**layout.links, **links}
    for fault in faults:
        if not fault.at_s <= at_s < fault.end_s:
            continue
        for a, b in fault.links(names, names):
            pair = names[a], names[b]
            links[pair] = _worse(links[pair], fault)
    for pair in list(links):
        if not silent.isdisjoint(pair):
            links[pair] = replace(links[pair], loss=1.0)
    return DelayMatrix(names, links)


def _worse(link: Link, fault: FaultTable) -> Link:
    if fault.what == "cut":
        return replace(link, loss=1.0)
    if fault.what == "loss":
        return replace(link, loss=1.0 - (1.0 - link.loss) * (1.0 - (fault.loss or 0.0)))
    assert fault.jitter is not None
    return replace(
        link,
        delay_ms=link.delay_ms + fault.jitter.mean_ms,
        jitter_ms=link.jitter_ms + fault.jitter.sd_ms,
    )


def relayed(faults: Sequence[FaultTable], names: Sequence[str]) -> set[Pair]:
    """Links that a fault cuts, or that belong to a node which falls silent."""
    found = {(names[a], names[b]) for fault in faults for a, b in fault.links(names, names)}
    for fault in faults:
        if fault.what == "power-loss":
            for position in fault.struck(names, names):
                own = names[position]
                found |= {pair for other in names if other != own
                          for pair in ((own, other), (other, own))}  # fmt: skip
    return found


def needs_relay(faults: Sequence[FaultTable]) -> bool:
    """Whether packets are dropped."""
    return any(fault.what in LINKS or fault.what == "power-loss" for fault in faults)


def hit(faults: Sequence[FaultTable], names: Sequence[str]) -> frozenset[str]:
    """Nodes that something happens to; of links those on the fault's own side."""
    return frozenset(names[place] for fault in faults for place in fault.struck(names, names))


def check_faults(
    faults: Sequence[FaultTable], layout: DelayMatrix, duration_s: float
) -> Iterator[tuple[int, str, str, str]]:
    """What is wrong: position of the fault, key, problem and advice."""
    names = layout.nodes
    for place, fault in enumerate(faults):
        if fault.what not in PLAYED:
            played = ", ".join(PLAYED)
            yield place, "what", f"{fault.what!r}: {_NOT_PLAYED[fault.what]}", f"it does {played}"
            continue
        if fault.host is not None:
            yield place, "host", "every host of the rig has one server", "say node"
            continue
        named = [n for n in (fault.node, *(fault.nodes or ()), *(fault.others or ())) if n]
        for name in named:
            if name not in names:
                yield place, "node", f"there is no node {name!r}", f"there are {', '.join(names)}"
                break
        if not fault.at_s < duration_s:
            yield place, "at_s", f"is not before the end of the load, {duration_s:g} s", ""
        elif fault.end_s < inf and fault.end_s > duration_s:
            yield place, "until_s", f"is after the end of the load, {duration_s:g} s", ""
        if fault.cpu_factor is not None:
            problem = "the processors are the machine's: no server's code is slow alone"
            yield place, "cpu_factor", problem, "the rig plays fsync_factor"
        if fault.fsync_factor is not None and fault.fsync_factor < 1:
            yield place, "fsync_factor", "cannot make syncs faster", "1 and above"
        if fault.transfer_s is not None:
            yield place, "transfer_s", "is what the servers make of it", "remove it"
        if fault.jitter is not None:
            yield from _jitter_problem(place, fault, layout)
    yield from _order_problems(faults, names)


def _jitter_problem(
    place: int, fault: FaultTable, layout: DelayMatrix
) -> Iterator[tuple[int, str, str, str]]:
    assert fault.jitter is not None
    names = layout.nodes
    if fault.jitter.kind != "uniform":
        yield place, "jitter.kind", "the relay draws delays evenly", 'kind = "uniform"'
        return
    for a, b in fault.links(names, names):
        link = layout.link(names[a], names[b])
        if link.jitter_ms + fault.jitter.sd_ms > link.delay_ms + fault.jitter.mean_ms:
            problem = f"would make packets early: {names[a]} to {names[b]}"
            yield place, "jitter.sd_ms", problem, "give a mean_ms of as much"
            return


def _order_problems(
    faults: Sequence[FaultTable], names: Sequence[str]
) -> Iterator[tuple[int, str, str, str]]:
    """A server that is down cannot be killed, and one that runs cannot be started."""
    down: dict[str, bool] = {}
    stopped_until: dict[str, float] = {}
    for place, fault in sorted(enumerate(faults), key=lambda one: one[1].at_s):
        if fault.what in LINKS | DISK_FAULTS or fault.what not in PLAYED:
            continue
        for node in (names[one] for one in fault.struck(names, names)):
            if (fault.what == "restart") is not down.get(node, False):
                is_so = "runs" if fault.what == "restart" else "is down"
                yield place, "what", f"{fault.what}: {node} {is_so} at {fault.at_s:g} s", ""
            elif fault.at_s < stopped_until.get(node, 0.0):
                yield place, "at_s", f"{node} is stopped until {stopped_until[node]:g} s", ""
            if fault.what == "pause":
                stopped_until[node] = fault.end_s
            elif fault.what in _ENDS_LIFE:
                down[node] = True
            elif fault.what == "restart":
                down[node] = False


def raise_first(found: Iterator[tuple[int, str, str, str]], where: str) -> None:
    """ScenarioError of the first problem, if there is one."""
    for place, key, problem, advice in found:
        raise ScenarioError(f"{where}.fault.{place}.{key}", problem, advice)
