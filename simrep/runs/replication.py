"""One replication of a run: from its setup to what was measured."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from simrep.contract.cluster import Cluster
from simrep.contract.model import Change, Model
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, ShortRunWarning, SimrepError
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.kernel.timeline import Noted
from simrep.kernel.trace import Trace, TraceEvent
from simrep.kernel.watch import Waited, Watch
from simrep.measure.confidence import mser5
from simrep.measure.meter import Meter, TransactionLog
from simrep.measure.processors import ProcessorWatch
from simrep.measure.stations import Station, StationWatch
from simrep.runs.build import build_clients, build_cluster, build_reads, build_replica_cluster
from simrep.runs.collector import collecting_seldom
from simrep.runs.degradation import DegradationWatch
from simrep.runs.fault_report import FateSpread, Faults
from simrep.runs.incidents import incidents
from simrep.runs.load import PeriodMeter
from simrep.runs.procedures import Operator, with_steps
from simrep.runs.progress import piece_ended, piece_of, uncounted
from simrep.runs.record import RunRecord, ScheduledRecord
from simrep.runs.replica_cluster import ReplicaClusterRecord
from simrep.runs.story import Follow, Story
from simrep.runs.volume import check_volume
from simrep.scenario.run import RunTable
from simrep.scenario.schema import Scenario
from simrep.server.core import CoreProgram
from simrep.workload.clients import Clients
from simrep.workload.failover import FailoverClients
from simrep.workload.laps import LapClock

__all__ = [
    "Replication",
    "Traffic",
    "simulate",
    "with_run_settings",
    "with_warmup",
    "with_warmup_found",
]

_CLIENTS = "clients"  # under which all of them use cores
_PILOT = 2**32 - 1  # the replication that shows the warm-up; no run counts it
_FEWEST = 10  # transactions that tell anything of a warm-up
_PARTS = (0.125, 0.25, 0.5)  # of the measured time, in a brief pilot
_LONGEST = 1_000  # times as long as it should be, until enough has committed
_TELLING = 1_000  # transactions that a brief pilot has to hold


@dataclass(frozen=True, slots=True)
class Traffic:
    """What clients did since the start of the simulation, the warm-up included.

    Every attempt counts, also that of a transaction which is submitted again, so that
    ``submitted == committed + aborted + in_flight``.
    """

    submitted: int
    committed: int
    aborted: int
    in_flight: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Replication(RunRecord):
    """A replication that was simulated here: its record, and what only tests and tools need."""

    traffic: Traffic
    trace: tuple[TraceEvent, ...] | None = None  # only when it was asked for
    trace_digest: str | None = None  # equal only if the traces are equal bit for bit
    waited: tuple[Waited, ...] | None = None  # what was blocked; only when it was asked for
    # What happened to transactions and messages; only when it was asked for.
    story: Story | None = None


def simulate(
    scenario: Scenario | Setup,
    seed: int,
    replication: int = 0,
    trace: bool = False,
    watch_s: float | None = None,
    follow: Follow | None = None,
    over: Callable[[Cluster], bool] | None = None,
    attend: Callable[[Cluster, Model], object] | None = None,
) -> Replication:
    """Simulate one replication.

    Parameters
    ----------
    scenario : Scenario or Setup
        A setup spares reading options and pack again for every replication.
    seed, replication : int
        Together they choose the random numbers.
    trace : bool
        Keep a trace of what the model did.
    watch_s : float, optional
        Keep what was blocked for at least so long, in seconds; nothing if not given.
    follow : Follow, optional
        Keep what happened to transactions and messages; nothing if not given.
    over : callable, optional
        Of a run of given length: asked every simulated second whether it ends now.
    attend : callable, optional
        Called once before the run, to look at the model at times of its own, by the clock of the
        cluster.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run.
    SimrepError
        If it takes more than 10^9 events, or time stands still; if a fixed number of transactions
        has not ended at ``run.limit_s``.
    """
    setup = setup_of(scenario) if isinstance(scenario, Scenario) else scenario
    check_volume(setup)
    setup = with_warmup(setup, seed)
    with collecting_seldom():
        return _simulate(setup, seed, replication, trace, watch_s, follow, over, attend)


def _simulate(
    setup: Setup,
    seed: int,
    replication: int,
    trace: bool,
    watch_s: float | None,
    follow: Follow | None,
    over: Callable[[Cluster], bool] | None,
    attend: Callable[[Cluster, Model], object] | None,
) -> Replication:
    """The same, of a setup that says how long its warm-up is."""
    settings = setup.scenario.run
    clock = LapClock()
    streams = Streams(seed, replication)
    tracer = Trace(clock) if trace else None
    meter = Meter(
        clock,
        settings.warmup_s,
        settings.interval_s,
        settings.log,
        setup.scenario.node_names,
        setup.model.errors,
        setup.workload.readers,
    )
    clock.laps = meter.laps
    blocked = Watch(clock, watch_s) if watch_s is not None else None
    story = None
    if follow is not None:
        story = Story(clock, setup.scenario.node_names, follow, meter)
        blocked = story.watch
    watched = build_reads(setup, clock, meter.start_s)
    followed = None if watched is None else watched[0]
    if followed is not None:
        clock.snapshots = followed.snapshot
    cluster = build_cluster(setup, clock, streams, tracer, blocked, followed, ahead=True)
    follower = build_replica_cluster(setup, cluster, meter.start_s)
    model = setup.model(cluster, setup.options, setup.costs)
    hosts = dict.fromkeys(
        host.machine for host in cluster.hosts
    )  # each once, in the order of the nodes
    flushers = [host.flusher for host in hosts if host.flusher is not None]
    stations: list[Station] = [*hosts, *flushers, *model.stations()]
    watch = StationWatch(clock, stations, meter.start_s, model.settle)
    processors = ProcessorWatch(clock, _programs(cluster), meter.start_s)
    periods = None
    if setup.workload.courses:
        assert settings.duration_s is not None, "a load that varies is measured for a given time"
        end_s = meter.start_s + settings.duration_s
        periods = PeriodMeter(clock, meter, setup.workload, meter.start_s, end_s)
    log = None if story is None else story.log
    clients = build_clients(setup, cluster, model, periods or meter, followed, log)
    if story is not None:
        story.begin(cluster, model)
    degradation = DegradationWatch(clock, model.degradation, meter.start_s)
    for node in cluster.arbitrators:
        clients.node_changes(node)
    for change in setup.changes:
        clock.at(change.at_s, partial(_change, model, setup.scenario), change)
        if change.what != "promote":
            clock.at(change.at_s, clients.node_changes, change.node)
        if cluster.fates is not None:
            clock.at(change.at_s, cluster.fates.node_changes, (change.node, change.starts))
        if story is not None:
            clock.at(change.at_s, story.node_changes, (change.node, change.starts))
        if follower is not None:
            clock.at(change.at_s, follower[0].node_changes, (change.node, change.what))

    for operation in setup.operations:
        clock.at(operation.at_s, model.operate, operation)

    def tell(change: Change) -> None:
        """A server comes or goes by the hand of an operator."""
        model.change(change)
        if change.what != "promote":
            clients.node_changes(change.node)
        if change.what == "leave":
            clients.server_ends(change.node)
        if cluster.fates is not None:
            cluster.fates.node_changes((change.node, change.starts))
        if story is not None:
            story.node_changes((change.node, change.starts))
        if follower is not None:
            follower[0].node_changes((change.node, change.what))

    operators = [Operator(cluster, model, setup, one, tell) for one in setup.scenario.procedures]

    if attend is not None:
        attend(cluster, model)
    until_s = None
    piece_of(partial(_share, clock, clients, setup))
    if settings.duration_s is not None:
        clients.start()
        until_s = settings.warmup_s + settings.duration_s
        if over is None:
            clock.run(until_s)
            until_s = _run_until_enough(clock, meter, settings, until_s)
        else:
            until_s = _run_until_over(cluster, until_s, over)
    elif settings.settle_s is not None:
        until_s = _run_until_settled(clock, clients, settings, setup.model.name)
    else:
        _run_to_completion(clock, clients, settings.limit_s)
    if settings.drain and until_s is not None:
        until_s = _run_until_drained(clock, clients, settings.limit_s)
    piece_ended()
    if blocked is not None:
        blocked.finish()
    if story is not None:
        story.end(model, meter.start_s)

    attempts = clients.attempts()
    measurement = meter.measurement(until_s, clients.in_flight_since_s)
    fates = None if cluster.fates is None else cluster.fates.count()
    noted: tuple[Noted, ...] = ()
    faults = Faults()
    if cluster.timeline is not None:
        noted = tuple(cluster.timeline.noted)
        own = incidents(with_steps(setup.scenario, operators), noted, cluster.names)
        faults = Faults(own, terms=setup.model.terms)
        if attempts is not None and measurement.makespan_s > 0.0:
            faults = faults.seen(attempts, measurement.began_s, measurement.ended_s, fates)
    elif fates is not None:
        faults = Faults(fates=FateSpread.of(fates))
    procedures = [one.record(measurement.ended_s) for one in operators]
    if attempts is not None:
        procedures = [one.seen(attempts, measurement.began_s) for one in procedures]
    return Replication(
        seed=seed,
        replication=replication,
        measurement=measurement,
        scheduled=tuple(
            ScheduledRecord.of(journal, measurement.series) for journal in clients.journals
        ),
        degradation=degradation.measured(),
        counters=model.counters(),
        stations=watch.use(),
        cpu_s=processors.used_s(),
        traffic=Traffic(clients.submitted, clients.committed, clients.aborted, clients.in_flight),
        noted=noted,
        faults=faults,
        procedures={one.name: one for one in procedures},
        attempts=attempts,
        fates=fates,
        stale=watched[1].record() if watched is not None and settings.staleness else None,
        mean_active_clients=_active(clients, setup, measurement.began_s, measurement.ended_s),
        replica_cluster=None if follower is None else ReplicaClusterRecord.of(*follower),
        trace=None if tracer is None else tuple(tracer.events),
        trace_digest=None if tracer is None else tracer.digest(),
        load=None if periods is None else periods.record(measurement.series),
        waited=None if blocked is None else tuple(blocked.waited),
        story=story,
    )


def _programs(cluster: Cluster) -> dict[str, list[CoreProgram]]:
    """The servers, each by its name, and the clients, if they are on cores with a queue each.

    Nobody if a server is not, or has the name of the clients.
    """
    servers = [host for host in cluster.hosts if isinstance(host, CoreProgram)]
    if len(servers) < len(cluster.hosts) or _CLIENTS in cluster.names:
        return {}
    named = {name: [server] for name, server in zip(cluster.names, servers, strict=True)}
    every = dict.fromkeys(cluster.client_hosts)
    clients = [host for host in every if isinstance(host, CoreProgram)]
    return named | {_CLIENTS: clients} if len(clients) == len(every) else named


def _active(clients: Clients, setup: Setup, from_s: float, to_s: float) -> float | None:
    """How many clients had not stopped at an error, on average; None where none would."""
    if not isinstance(clients, FailoverClients) or not setup.workload.stops or to_s <= from_s:
        return None
    gone_s = sum(to_s - min(to_s, max(from_s, at_s)) for at_s in clients.stops_s)
    return len(setup.workload.nodes) - gone_s / (to_s - from_s)


def _change(model: Model, scenario: Scenario, change: Change) -> None:
    """Let a server come or go; what the model refuses then is told of that fault."""
    try:
        model.change(change)
    except ScenarioError as error:
        name = scenario.node_names[change.node]
        place = scenario.host_names[change.node]
        asks = (one for one in scenario.faults
                if (one.at_s, one.what) == (change.at_s, change.what)
                and (one.node == name or one.host == place))  # fmt: skip
        fault = next(asks, None)
        if fault is None or error.path != "fault":
            raise
        raise ScenarioError(f"{fault.path}.what", error.problem, error.hint) from None


def _share(clock: Clock, clients: Clients, setup: Setup) -> float:
    """Which share of a run is over, as far as that can be told; another thread may ask."""
    run, per_client = setup.scenario.run, setup.workload.per_client
    if run.duration_s is not None:
        return clock.now / (run.warmup_s + run.duration_s)
    return clients.committed / (per_client * len(setup.workload.nodes)) if per_client else 0.0


def with_warmup_found(scenario: Scenario) -> Scenario:
    """The scenario, the warm-up of which is found out if it is about the long run.

    That is a steady load over a given time in which nothing comes or goes, and of which the
    scenario does not say itself from when on it is measured.
    """
    run = scenario.run
    if run.duration_s is None or scenario.timed or "warmup_s" in run.model_fields_set:
        return scenario
    return scenario.model_copy(update={"run": run.model_copy(update={"warmup": "auto"})})


def with_warmup(setup: Setup, seed: int, *, briefly: bool = False) -> Setup:
    """The setup with the length of its warm-up, if its scenario leaves that to be found out.

    A replication that no figure counts is measured from the beginning, as long as the run is to
    measure; the rule MSER-5, applied to its latencies, tells what of it is warm-up. All
    replications then leave out the same time, so that their figures stay independent. A warning
    says that too little commits.

    With ``briefly``, a part of that time is enough if the warm-up is over in the first half of it.
    """
    settings = setup.scenario.run
    if settings.warmup is None:
        return setup
    measured: dict[str, object] = {"warmup": None, "warmup_s": 0.0}
    long_s = settings.duration_s
    for duration_s in [part * long_s for part in _PARTS] if briefly and long_s is not None else ():
        shorter = {"duration_s": duration_s, "log": True}
        log = _pilot_log(with_run_settings(setup, measured | shorter), seed)
        if int(log.committed.sum()) < _TELLING:
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found_s = _warmup_s(log)
        if not caught and found_s <= duration_s / 2.0:
            return with_run_settings(setup, measured | {"warmup_s": found_s})
    log = _pilot_log(with_run_settings(setup, measured | {"log": True}), seed)
    return with_run_settings(setup, measured | {"warmup_s": _warmup_s(log)})


def _pilot_log(setup: Setup, seed: int) -> TransactionLog:
    """What a replication that no figure counts tells of each transaction."""
    with uncounted():
        log = simulate(setup, seed, _PILOT).measurement.log
    assert log is not None
    return log


def with_run_settings(setup: Setup, settings: Mapping[str, object]) -> Setup:
    """The setup with other values in the ``[run]`` table of its scenario."""
    run = setup.scenario.run.model_copy(update=settings)
    return replace(setup, scenario=setup.scenario.model_copy(update={"run": run}))


def _warmup_s(log: TransactionLog) -> float:
    """When the last transaction ended that still belongs to the warm-up, to the millisecond."""
    latencies = log.latency_s[log.committed].round(9)  # rounding alone would choose a cut
    if len(latencies) < _FEWEST:
        warnings.warn(
            f"{len(latencies)} transactions committed, too few to tell the warm-up by: lengthen "
            "run.duration_s, or set run.warmup_s",
            ShortRunWarning,
            stacklevel=4,
        )
        return 0.0
    cut = mser5(latencies)
    if cut == 0:
        return 0.0
    ended_s = (log.started_s + log.latency_s)[log.committed]
    return ceil(1e3 * float(ended_s[cut - 1])) / 1e3


def _run_to_completion(clock: Clock, clients: Clients, limit_s: float) -> None:
    done = clock.all_of(clients.start())
    clock.run(done | clock.until(limit_s))
    if not done.processed:
        raise SimrepError(
            f"the transactions have not ended after {limit_s:g} simulated seconds (run.limit_s): "
            f"{clients.committed} committed, {clients.aborted} aborted, "
            f"{clients.in_flight} in flight"
        )


def _run_until_over(cluster: Cluster, limit_s: float, over: Callable[[Cluster], bool]) -> float:
    """Until that is so, or to the limit; returns when that was."""
    clock = cluster.clock
    while clock.now < limit_s:
        clock.run(min(limit_s, clock.now + 1.0))
        if over(cluster):
            break
    return clock.now


def _run_until_enough(clock: Clock, meter: Meter, settings: RunTable, until_s: float) -> float:
    """Until enough transactions have committed; returns when that is."""
    least, piece_s = settings.least_transactions, settings.duration_s
    assert piece_s is not None
    limit_s = min(settings.limit_s, _LONGEST * piece_s)
    while meter.count < least:
        if until_s + piece_s > limit_s:
            raise SimrepError(
                f"{meter.count} transactions have committed after {until_s:g} simulated seconds, "
                f"run.least_transactions asks for {least}"
            )
        until_s += piece_s
        clock.run(until_s)
    return until_s


def _run_until_drained(clock: Clock, clients: Clients, limit_s: float) -> float:
    """Without arrivals, until all who have arrived are answered; returns when that is."""
    drained = clients.close()
    clock.run(drained | clock.until(max(limit_s, clock.now)))
    if not drained.processed:
        raise SimrepError(
            f"not all who have arrived are answered after {limit_s:g} simulated seconds "
            f"(run.limit_s): {clients.in_flight} in flight"
        )
    return clock.now


def _run_until_settled(clock: Clock, clients: Clients, settings: RunTable, model: str) -> float:
    """Until a while after the last scheduled transaction has ended; returns when that is."""
    limit_s = settings.limit_s
    clients.start()
    ended = clock.all_of([journal.closed for journal in clients.journals])
    clock.run(ended | clock.until(limit_s))
    if not ended.processed:
        open_ones = ", ".join(j.name for j in clients.journals if not j.closed.triggered)
        raise SimrepError(
            f"scheduled transactions have not ended after {limit_s:g} simulated seconds "
            f"(run.limit_s): {open_ones}"
        )
    untold = [journal.name for journal in clients.journals if journal.untold]
    if untold:
        raise ScenarioError(
            "workload.scheduled",
            f"model {model!r} does not tell which nodes have committed {untold[0]!r}",
            "transaction.journal.committed(node) tells it",
        )
    assert settings.settle_s is not None
    until_s = clock.now + settings.settle_s
    if until_s <= settings.warmup_s:
        raise ScenarioError(
            "run.warmup_s",
            f"must be below the length of the run, which has settled at {until_s:g} s, given "
            f"{settings.warmup_s:g}",
            "measure from the beginning, or let the scheduled transactions come later",
        )
    if until_s > clock.now:
        clock.run(until_s)
    return until_s
