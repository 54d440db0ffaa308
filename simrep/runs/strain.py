"""How strained a cluster is by a load that lasts: what it keeps up, and how full its resources are.

A run measures what clients see. Here it is measured, beside that, which part of it all nodes keep
up, how many bytes every link carries, and which share of its bandwidth that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from simrep.contract.model import Model
from simrep.contract.setup import Setup
from simrep.errors import SimrepError
from simrep.kernel.streams import Streams
from simrep.measure.meter import Measurement, Meter
from simrep.measure.stations import Station, StationUse, StationWatch
from simrep.network.network import Network
from simrep.runs.batch import figures_of
from simrep.runs.build import build_clients, build_cluster
from simrep.runs.record import RunRecord
from simrep.runs.result import Result
from simrep.workload.laps import LAPS, LapClock

__all__ = ["DRIFT", "Length", "LinkUse", "Strain", "strain"]

DRIFT: Final = 0.025
"""Share of the commits by which a backlog may grow: less is not told from none in a short run."""
_MOST_PIECES = 400  # of the time, before a cluster that hardly commits is left alone


@dataclass(frozen=True, slots=True)
class Length:
    """How long a load is looked at.

    Parameters
    ----------
    warm, wanted : int
        Transactions that end before it is measured, and while it is.
    least_s : float
        What each of the two takes at least, in simulated seconds.
    expected_tps : float
        About how many end per second.
    patient : bool
        Whether it goes on until so many have ended; else no longer than they take at that rate,
        since of arrivals that are not kept up ever fewer end.
    """

    warm: int
    wanted: int
    least_s: float
    expected_tps: float
    patient: bool = True


@dataclass(frozen=True, slots=True)
class LinkUse:
    """What went over the link from one node to another while a load was measured.

    Attributes
    ----------
    source, target : str
        Names of the nodes.
    bytes, messages : int
        What the servers handed to TCP: without its headers, and without repetitions.
    utilisation : float
        Share of the bandwidth; 0 where that is unlimited.
    """

    source: str
    target: str
    bytes: int
    messages: int
    utilisation: float


@dataclass(frozen=True, slots=True)
class Strain:
    """One replication of a load that lasts.

    Attributes
    ----------
    seconds : float
        Simulated time that was measured.
    committed : int
        Transactions that clients committed in it.
    kept_up_tps : float
        Those per second that all nodes keep up: without what they fall further behind.
    behind : mapping of str to float
        By how many transactions each node was behind at the end.
    drift : float
        By how much the backlog of the slowest node grew, as a share of the transactions that write;
        0 up to ``DRIFT``.
    slowest : str
        That node; empty if none falls behind.
    stages : mapping of str to float
        Share of the latency that each stage takes.
    stations : tuple of StationUse
    links : tuple of LinkUse
    latency_p95_s : float
    figures : tuple of float
        Those that were asked for.
    """

    seconds: float
    committed: int
    kept_up_tps: float
    behind: Mapping[str, float]
    drift: float
    slowest: str
    stages: Mapping[str, float]
    stations: tuple[StationUse, ...]
    links: tuple[LinkUse, ...]
    latency_p95_s: float
    figures: tuple[float, ...] = ()

    @property
    def throughput_tps(self) -> float:
        """Commits per second that clients see."""
        return self.committed / self.seconds if self.seconds else 0.0


class _Recorder:
    """Hands on what clients do to a meter that may be exchanged."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def opened(self) -> None:
        self.meter.opened()

    def committed(self, started_s: float, kind: str, client: int, node: int) -> None:
        self.meter.committed(started_s, kind, client, node)

    def aborted(self, started_s: float, kind: str, client: int, node: int, error: str) -> None:
        self.meter.aborted(started_s, kind, client, node, error)

    def waited(self, since_s: float) -> None:
        self.meter.waited(since_s)

    def laps(self, kind: str, seconds: Sequence[float]) -> None:
        self.meter.laps(kind, seconds)


def strain(
    setup: Setup, seed: int, replication: int, length: Length, figures: Sequence[str] = ()
) -> Strain:
    """Let a load run, and measure it once it has warmed up.

    Parameters
    ----------
    setup : Setup
        Its ``[run]`` table does not matter.
    seed, replication : int
        Together they choose the random numbers.
    length : Length
    figures : sequence of str
        Paths in a result that are wanted besides.

    Raises
    ------
    SimrepError
        If nothing ends, however long it goes on.
    """
    clock, streams = LapClock(), Streams(seed, replication)
    names, readers = setup.scenario.node_names, setup.workload.readers

    def meter() -> Meter:
        return Meter(clock, names=names, errors=setup.model.errors, readers=readers)

    recorder = _Recorder(meter())
    clock.laps = recorder.laps
    cluster = build_cluster(setup, clock, streams, ahead=True)
    model = setup.model(cluster, setup.options, setup.costs)
    hosts = dict.fromkeys(host.machine for host in cluster.hosts)
    flushers = [host.flusher for host in hosts if host.flusher is not None]
    clients = build_clients(setup, cluster, model, recorder)
    clients.start()

    def ended() -> int:
        return clients.committed + clients.aborted

    def run_on(least_s: float, wanted: int) -> None:
        """Until so much time has passed and so many have ended."""
        began_s, before = clock.now, ended()
        if not length.patient:
            clock.run(began_s + max(least_s, wanted / length.expected_tps))
            return
        piece_s = max(least_s, 0.5 * wanted / length.expected_tps)
        for _ in range(_MOST_PIECES):
            clock.run(clock.now + piece_s)
            if ended() - before >= wanted and clock.now - began_s >= least_s:
                return
            piece_s = max(piece_s / 2.0, length.least_s)
        if ended() == before:
            raise SimrepError(f"nothing commits in {clock.now - began_s:g} simulated seconds")

    run_on(length.least_s, length.warm)
    model.settle()
    recorder.meter = meter()
    stations: list[Station] = [*hosts, *flushers, *model.stations()]
    watch = StationWatch(clock, stations, clock.now, model.settle)
    began_s, committed = clock.now, clients.committed
    behind, carried = _behind(model), _carried(cluster.network)
    run_on(length.least_s, length.wanted)
    uses, seconds = watch.use(), clock.now - began_s
    measured = recorder.meter.measurement(clock.now, clients.in_flight_since_s)
    done, late = clients.committed - committed, _behind(model)
    writes = sum(one.latency.count for name, one in measured.classes.items() if name not in readers)
    slowest = max(late, key=lambda name: late[name] - behind[name], default="")
    drift = (late[slowest] - behind[slowest]) / max(1, writes) if late else 0.0
    if drift <= DRIFT:
        drift, slowest = 0.0, ""
    return Strain(
        seconds=seconds,
        committed=done,
        kept_up_tps=max(0.0, 1.0 - drift) * done / seconds,
        behind=late,
        drift=drift,
        slowest=slowest,
        stages=_stages(measured),
        stations=uses,
        links=_links(setup, cluster.network, carried, seconds),
        latency_p95_s=measured.latency.percentile(95),
        figures=_figures(measured, seed, replication, model, uses, figures),
    )


def _behind(model: Model) -> dict[str, float]:
    """By how many transactions each node is behind; nothing if the model does not tell."""
    told = model.backlog()
    return {} if told is None else {name: float(late) for name, late in told.items()}


def _carried(network: Network) -> dict[tuple[int, int], tuple[int, int]]:
    """Bytes and messages so far."""
    links = {pair: network.link(*pair) for pair in network.paths}
    return {pair: (link.bytes, link.messages) for pair, link in links.items()}


def _links(
    setup: Setup,
    network: Network,
    before: Mapping[tuple[int, int], tuple[int, int]],
    seconds: float,
) -> tuple[LinkUse, ...]:
    names, found = setup.scenario.node_names, []
    for pair, (size, messages) in _carried(network).items():
        sent, width = size - before[pair][0], setup.paths[pair].bytes_per_s
        use = sent / (width * seconds) if isfinite(width) else 0.0
        found.append(
            LinkUse(names[pair[0]], names[pair[1]], sent, messages - before[pair][1], min(1.0, use))
        )
    return tuple(found)


def _stages(measured: Measurement) -> dict[str, float]:
    """Share of the latency that each stage takes."""
    sums = [sum(column) for column in zip(*measured.laps.values(), strict=True)]
    whole = sum(sums)
    return {name: spent / whole for name, spent in zip(LAPS, sums, strict=True)} if whole else {}


def _figures(
    measured: Measurement,
    seed: int,
    replication: int,
    model: Model,
    stations: tuple[StationUse, ...],
    paths: Sequence[str],
) -> tuple[float, ...]:
    if not paths:
        return ()
    record = RunRecord(seed, replication, measured, counters=model.counters(), stations=stations)
    return figures_of(Result.combine([record]), paths)
