"""From the ``[network]`` table to the path of every ordered pair of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from simrep.errors import ScenarioError, nearest
from simrep.network.link import Latency
from simrep.network.network import Path
from simrep.network.regions import PRESETS
from simrep.scenario.cluster import NodeTable
from simrep.scenario.network import JitterTable, NetworkTable, PathTable
from simrep.scenario.table import seconds

__all__ = ["paths"]

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
    network: NetworkTable, nodes: Sequence[NodeTable], rtt_ms: float, *, relayed: bool = False
) -> dict[tuple[int, int], Path]:
    """The path of every ordered pair of nodes, addressed by position.

    Parameters
    ----------
    network : NetworkTable
    nodes : sequence of NodeTable
        By position.
    rtt_ms : float
        Round trip of any two nodes when the scenario gives none.
    relayed : bool
        Whether delays are made by a relay in user space; it hands on what an egress or a path
        entry delays.

    Raises
    ------
    ScenarioError
        If a preset has no figure for a pair that no entry describes either.
    """
    if network.rtt_ms is not None:
        rtt_ms = network.rtt_ms
    return {
        (i, j): _path(network, source, target, rtt_ms, relayed=relayed)
        for i, source in enumerate(nodes)
        for j, target in enumerate(nodes)
        if i != j
    }


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
    bandwidth = direction.bandwidth_mbit
    return Path(
        latency=Latency(base_s, tuple(jitter)),
        bytes_per_s=inf if bandwidth is None else bandwidth * _BYTES_PER_MBIT,
        loss=loss,
        tcp=network.tcp.tcp(),
        relayed=relayed and base_s > seconds(rtt_ms / 2),
        outages=tuple(
            sorted(
                entry.outage()
                for entry in network.outages
                if (entry.node == source.name and entry.direction != "in")
                or (entry.node == target.name and entry.direction != "out")
            )
        ),
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
