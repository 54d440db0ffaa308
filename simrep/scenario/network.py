"""The ``[network]`` table, and the path of every ordered pair of nodes that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import attrgetter
from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError, nearest
from simrep.network import link
from simrep.network.link import Latency
from simrep.network.network import Path
from simrep.network.regions import PRESETS
from simrep.network.trouble import Trouble
from simrep.scenario.cluster import NodeTable
from simrep.scenario.fault_checks import power_losses
from simrep.scenario.faults import FaultTable
from simrep.scenario.jitter import JitterTable
from simrep.scenario.old_faults import OutageTable
from simrep.scenario.table import (
    Bandwidth,
    Loss,
    Microseconds,
    Milliseconds,
    Name,
    Period,
    SegmentBytes,
    Table,
    WindowBytes,
    WindowSegments,
    seconds,
)

__all__ = ["Egress", "NetworkTable", "PathTable", "TcpTable", "paths"]

Preset = Literal["aws-2017", "ibm-2024"]

_MOST_LOSS = 0.9  # of a path and all interfaces on it together


class TcpTable(Table):
    """How the TCP senders are set; see :class:`simrep.network.link.Tcp`."""

    segment_bytes: SegmentBytes = Field(1448, description="maximum segment size")
    initial_window_segments: WindowSegments = Field(10, description="segments before the first ack")
    window_limit_bytes: WindowBytes = Field(4 << 20, description="largest window (socket buffers)")
    minimum_timeout_ms: Period = Field(
        200.0, description="retransmission timeout, above the round trip"
    )

    def tcp(self) -> link.Tcp:
        """The same in seconds."""
        return link.Tcp(
            segment_bytes=self.segment_bytes,
            initial_window_segments=self.initial_window_segments,
            window_limit_bytes=self.window_limit_bytes,
            minimum_timeout_s=seconds(self.minimum_timeout_ms),
        )


class PathTable(Table):
    """A ``[[network.path]]``: what differs between some nodes; later entries override earlier.

    An entry holds for messages that go from ``from`` to ``to``; one that gives ``rtt_ms`` holds,
    with everything in it, for the other direction too.
    """

    source: Name = Field("*", alias="from", description='node or site, "*" for all')
    target: Name = Field("*", alias="to", description='node or site, "*" for all')
    one_way_ms: Milliseconds | None = Field(None, description="delay in this direction")
    rtt_ms: Milliseconds | None = Field(
        None, description="round trip, half of it in each direction"
    )
    jitter: JitterTable | None = Field(None, description="varies the delay")
    bandwidth_mbit: Bandwidth | None = Field(None, description="megabits per second")
    loss: Loss | None = Field(None, description="probability that a segment is lost")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.one_way_ms is not None and self.rtt_ms is not None:
            raise ScenarioError("rtt_ms", "give one_way_ms or rtt_ms, not both")
        given = (self.one_way_ms, self.rtt_ms, self.jitter, self.bandwidth_mbit, self.loss)
        if all(value is None for value in given):
            raise ScenarioError(
                "", "this path changes nothing", "give one_way_ms, rtt_ms, jitter, ..."
            )
        return self


class Egress(Table):
    """A ``[[network.egress]]``: delay on everything a node sends, as ``tc netem`` does it."""

    node: Name = Field(
        description="whose interface; its messages to other nodes are delayed, its answers to "
        "clients are not"
    )
    delay_ms: Milliseconds = Field(0.0, description="added to every message it sends")
    jitter: JitterTable | None = Field(None, description="varies that delay")
    loss: Loss = Field(0.0, description="probability that a segment is lost there")


class NetworkTable(Table):
    """The network between the nodes."""

    rtt_ms: Milliseconds | None = Field(
        None,
        description="round trip between any two nodes (of one site, with a preset); "
        "default: that of the pack, else 0.1",
    )
    jitter: JitterTable | None = Field(None, description="varies every one-way delay")
    bandwidth_mbit: Bandwidth | None = Field(
        None, description="of every path, in megabits per second; default: unlimited"
    )
    loss: Loss = Field(0.0, description="probability that a segment is lost, on every path")
    preset: Preset | None = Field(
        None, description="published round trips between sites; the nodes name theirs"
    )
    paths: tuple[PathTable, ...] = Field((), alias="path", description="what differs where")
    egress: tuple[Egress, ...] = Field((), description="delays of single nodes; they add up")
    outages: tuple[OutageTable, ...] = Field(
        (),
        alias="outage",
        description="nodes that are cut off for a while, as earlier releases say it",
    )
    relay_us: Microseconds | None = Field(
        None,
        description="CPU that a delay relay in user space takes per delayed message, on the "
        "machine that the nodes share; default: that of the pack, else 0 (the kernel delays)",
    )
    tcp: TcpTable = Field(default_factory=TcpTable, description="the TCP senders")


_BYTES_PER_MBIT = 1e6 / 8


@dataclass(slots=True)
class _Direction:
    """One direction while the entries that describe it are read, in the units of the file."""

    one_way_ms: float | None
    jitter: JitterTable | None
    bandwidth_mbit: float | None
    loss: float

    def override(self, entry: PathTable, one_way_ms: float | None) -> None:
        """What the entry gives replaces what was there."""
        if one_way_ms is not None:
            self.one_way_ms = one_way_ms
        if entry.jitter is not None:
            self.jitter = entry.jitter
        if entry.bandwidth_mbit is not None:
            self.bandwidth_mbit = entry.bandwidth_mbit
        if entry.loss is not None:
            self.loss = entry.loss


def paths(
    network: NetworkTable,
    nodes: Sequence[NodeTable],
    rtt_ms: float,
    *,
    hosts: Sequence[str] = (),
    faults: Sequence[FaultTable] = (),
    relayed: bool = False,
) -> dict[tuple[int, int], Path]:
    """The path of every ordered pair of nodes, addressed by position.

    ``rtt_ms`` is the round trip of any two nodes when the scenario gives none. With ``relayed``, a
    relay in user space hands on what an egress or a path entry delays. A pair of which neither a
    preset nor an entry says anything is refused. ``hosts`` are the machines of the nodes, for what
    ``faults`` do to links.
    """
    troubles = _troubles(faults, [node.name for node in nodes], hosts)
    if network.rtt_ms is not None:
        rtt_ms = network.rtt_ms
    return {
        (i, j): replace(
            _path(network, source, target, rtt_ms, relayed=relayed),
            troubles=tuple(sorted(troubles.get((i, j), ()), key=attrgetter("from_s", "to_s"))),
        )
        for i, source in enumerate(nodes)
        for j, target in enumerate(nodes)
        if i != j
    }


def _troubles(
    faults: Sequence[FaultTable], names: Sequence[str], hosts: Sequence[str]
) -> dict[tuple[int, int], list[Trouble]]:
    """What faults do to links, by the ordered pair of nodes."""
    found: dict[tuple[int, int], list[Trouble]] = {}
    for fault in faults:
        trouble = Trouble(
            fault.at_s,
            fault.end_s,
            cut=fault.what == "cut",
            loss=fault.loss or 0.0,
            jitter=() if fault.jitter is None else (fault.jitter.jitter(),),
        )
        for pair in fault.links(names, hosts):
            found.setdefault(pair, []).append(trouble)
    for node, spells in power_losses(faults, names, hosts).items():
        for other in range(len(names)):
            for pair in ((node, other), (other, node)) if other != node else ():
                found.setdefault(pair, []).extend(Trouble(*spell, cut=True) for spell in spells)
    return found


def _path(
    network: NetworkTable, source: NodeTable, target: NodeTable, rtt_ms: float, *, relayed: bool
) -> Path:
    one_way_ms: float | None = rtt_ms / 2
    if network.preset is not None and (source.site is None or source.site != target.site):
        one_way_ms = _published_ms(network.preset, source, target)
    direction = _Direction(one_way_ms, network.jitter, network.bandwidth_mbit, network.loss)
    for entry in network.paths:
        half_ms = None if entry.rtt_ms is None else entry.rtt_ms / 2
        if _is(source, entry.source) and _is(target, entry.target):
            direction.override(entry, entry.one_way_ms if half_ms is None else half_ms)
        elif half_ms is not None and _is(source, entry.target) and _is(target, entry.source):
            direction.override(entry, half_ms)
    if direction.one_way_ms is None:
        raise _not_published(network, source, target)

    base_s = seconds(direction.one_way_ms)
    jitter = [] if direction.jitter is None else [direction.jitter.jitter()]
    loss = direction.loss
    for egress in network.egress:
        if egress.node == source.name:
            base_s += seconds(egress.delay_ms)
            loss += (1.0 - loss) * egress.loss
            if egress.jitter is not None:
                jitter.append(egress.jitter.jitter())
    if loss > _MOST_LOSS:
        raise ScenarioError(
            "network.egress",
            f"of what {source.name!r} sends to {target.name!r} a share of {loss:g} is lost in "
            f"all, must be at most {_MOST_LOSS:g}",
            "TCP gives up a connection that loses more, which is a [[fault]]: cut",
        )
    bandwidth = direction.bandwidth_mbit
    return Path(
        latency=Latency(base_s, tuple(jitter)),
        bytes_per_s=inf if bandwidth is None else bandwidth * _BYTES_PER_MBIT,
        loss=loss,
        tcp=network.tcp.tcp(),
        relayed=relayed and base_s > seconds(rtt_ms / 2),
    )


def _is(node: NodeTable, address: str) -> bool:
    return address in {"*", node.name, node.site}


def _published_ms(preset: str, source: NodeTable, target: NodeTable) -> float | None:
    """Half the published round trip."""
    if source.site is None or target.site is None:
        return None
    rtt_ms = PRESETS[preset].rtt_ms(source.site, target.site)
    return None if rtt_ms is None else rtt_ms / 2


def _not_published(network: NetworkTable, source: NodeTable, target: NodeTable) -> ScenarioError:
    assert network.preset is not None
    sites = PRESETS[network.preset].sites
    for node in (source, target):
        if node.site is None:
            return ScenarioError(
                "network.preset",
                f"{network.preset} needs a site for node {node.name!r}",
                "give it in [[node]]; valid: " + ", ".join(sorted(sites)),
            )
        if node.site not in sites:
            return ScenarioError(
                "network.preset",
                f"{network.preset} has no site {node.site!r}",
                nearest(node.site, sites),
            )
    return ScenarioError(
        "network.preset",
        f"{network.preset} has no figure from {source.site!r} to {target.site!r}",
        "give it in [[network.path]]",
    )
