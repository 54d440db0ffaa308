"""From a setup to the machines and the network of one replication."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from simrep.contract.cluster import Cluster
from simrep.contract.model import Model
from simrep.contract.setup import Setup
from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.kernel.timeline import Timeline
from simrep.kernel.trace import Trace
from simrep.kernel.watch import Watch
from simrep.measure.attempts import AttemptLog
from simrep.measure.histogram import LatencyHistogram
from simrep.measure.staleness import ReadMeter
from simrep.network.link import Link
from simrep.network.network import EventfulNetwork, Network, Relay
from simrep.network.watched import WatchedEventfulNetwork, WatchedNetwork
from simrep.runs.failures import FailureLog, WatchedRecorder, WatchedServer
from simrep.runs.faults import build_processes, host_kind, node_traits
from simrep.runs.incidents import faults_of
from simrep.scenario.cluster import DEFAULT_MACHINE, MachineTable
from simrep.scenario.table import seconds
from simrep.server.core_host import CoreHost
from simrep.server.host import Host
from simrep.server.shared import SharedHost
from simrep.server.thread import Thread
from simrep.workload.clients import Clients, Recorder, Server
from simrep.workload.failover import FailoverClients, groups_of
from simrep.workload.fate import Fates
from simrep.workload.freshness import FollowedClients, FollowedFates, WaitingServer
from simrep.workload.interpreters import Interpreters
from simrep.workload.proxy import Proxy
from simrep.workload.replica_cluster import ReplicaCluster
from simrep.workload.routing import RoutedClients
from simrep.workload.ways import Ways

__all__ = [
    "build_clients",
    "build_cluster",
    "build_host",
    "build_reads",
    "build_replica_cluster",
]

_NEVER_CONTENDED = 1 << 16  # cores
_UNPLAYED = "is not played on a machine that a fault slows or stops, or with cpu_factor"


def build_host(
    clock: Clock,
    streams: Streams,
    machine: MachineTable,
    name: str,
    make: Callable[..., Host] = Host,
) -> Host:
    """A machine with the traits of a complete table, made by ``make``."""
    assert machine.cores is not None
    assert machine.slice_ms is not None
    assert machine.spin_ms is not None
    assert machine.cold_factor is not None
    assert machine.cold_after_ms is not None
    assert machine.wakeup_us is not None
    assert machine.variation is not None
    assert machine.newidle_us is not None
    assert machine.sleep_us is not None
    own = {}
    if make is CoreHost:
        own = {"newidle_s": machine.newidle_us / 1e6, "sleep_s": machine.sleep_us / 1e6}
        if machine.interrupt_us is not None:
            own["interrupt_s"] = machine.interrupt_us / 1e6
    host = make(
        clock,
        machine.cores,
        streams=streams,
        name=name,
        slice_s=seconds(machine.slice_ms),
        spin_s=seconds(machine.spin_ms),
        cold_factor=machine.cold_factor,
        cold_after_s=seconds(machine.cold_after_ms),
        wakeup_s=machine.wakeup_us / 1e6,
        variation=machine.variation,
        parallel_syncs=machine.parallel_syncs,
        **own,
    )
    if machine.others:
        if not isinstance(host, CoreHost):
            raise ScenarioError(
                "cluster.machine.others",
                _UNPLAYED,
                "remove one of them",
            )
        assert machine.others_weight is not None
        host.occupy(machine.others, machine.others_weight)
    return host


def _program(host: Host) -> Host:
    """A program of its own, where a machine tells programs apart."""
    return host.program() if isinstance(host, SharedHost) else host


def _relay(setup: Setup, host: Host) -> Relay | None:
    """The delay relay of a test rig: one thread on the machine that all nodes share."""
    if not setup.scenario.network.relay_us:
        return None
    host = host.urgent
    routine = host.routine(setup.scenario.network.relay_us / 1e6)
    thread = Thread(host)
    return lambda call, argument: thread.do(routine.cost(), call, argument)


def build_cluster(
    setup: Setup,
    clock: Clock,
    streams: Streams,
    trace: Trace | None = None,
    watch: Watch | None = None,
    fates: Fates | None = None,
    *,
    ahead: bool = False,
) -> Cluster:
    """The machines and the network of one replication.

    ``fates`` are those of ``build_reads``; without them they are made where a run needs them. With
    ``ahead`` only the clients of the workload come, so that nodes may be ``Cluster.quiet``.
    """
    scenario = setup.scenario
    workload = scenario.workload
    names = scenario.node_names
    machines = {
        name: build_host(clock, streams, machine, f"{name}/cpu", host_kind(scenario, machine, name))
        for name, machine in setup.machines.items()
    }
    _check_queues(setup, machines)
    hosts = [machines[name] for name in setup.placement]
    processes = build_processes(setup, hosts)
    servers = [processes.get(node, _program(host)) for node, host in enumerate(hosts)]
    client_hosts = servers
    if any(isinstance(host, SharedHost) for host in hosts):  # those of a machine are one program
        programs = {host: _program(host) for host in hosts}
        client_hosts = [
            programs[host] if isinstance(host, SharedHost) else server
            for host, server in zip(hosts, servers, strict=True)
        ]
    if workload.client == "own":
        client_hosts = [Host(clock, _NEVER_CONTENDED, name="clients/cpu")] * len(names)
    interpreters = _interpreters(setup, client_hosts, servers)
    eventful = setup.moves or any(path.troubles for path in setup.paths.values())
    make_network: Callable[..., Network] = EventfulNetwork if eventful else Network
    if watch is not None and watch.details:
        watched = WatchedEventfulNetwork if eventful else WatchedNetwork
        make_network = partial(watched, watch)
    gates = {node: process.receive for node, process in processes.items()}
    arbitrators = [names.index(name) for name in scenario.arbitrators]
    elsewhere = [source.policy for source in setup.workload.sources if source.policy is not None]
    placed = scenario.proxy is not None and scenario.proxy.beside is not None
    placed = placed or any(policy.beside_node for policy in elsewhere)
    followed = trace is not None or watch is not None or fates is not None
    network = make_network(clock, streams, names, setup.paths, _relay(setup, hosts[0]), gates)
    return Cluster(
        clock=clock,
        streams=streams,
        network=network,
        names=names,
        hosts=servers,
        segments=[node.segment for node in scenario.node_tables()],
        client_hosts=client_hosts,
        client_delays_s=[seconds(workload.client_rtt_ms) / 2] * len(names),
        interpreters=interpreters,
        trace=trace,
        watch=watch,
        changes=setup.noticed,
        arbitrators=arbitrators,
        traits=node_traits(setup, clock, processes),
        data_bytes=scenario.cluster.data_bytes,
        hot_share=scenario.cluster.hot_share,
        timeline=Timeline(clock) if scenario.faults or scenario.operations else None,
        fates=(fates or Fates(clock, len(names), arbitrators)) if _meets_errors(setup) else None,
        ways=Ways(clock, network) if placed else None,
        quiet=_quiet(setup, hosts) if ahead and not followed else (),
        sessions=setup.workload.sessions,
        operations=frozenset(one.what for one in setup.operations),
        history_s=scenario.run.history_s,
        past_by_s=scenario.run.warmup_s,
    )


def _interpreters(
    setup: Setup, client_hosts: Sequence[Host], servers: Sequence[Host]
) -> dict[Host, Interpreters]:
    """What runs the clients, where they are threads of interpreters."""
    number = setup.scenario.workload.interpreters
    if number is None:
        return {}
    if any(client is server for client, server in zip(client_hosts, servers, strict=True)):
        raise ScenarioError(
            "workload.interpreters",
            "clients are not told from their servers on this machine",
            'set client = "own", or cluster.shared_host and autogroup of its machine',
        )
    return {host: Interpreters(host, number) for host in dict.fromkeys(client_hosts)}


def _check_queues(setup: Setup, machines: Mapping[str, Host]) -> None:
    """Refuse what a scenario says of a queue for each core where a machine has one for all.

    What the pack says of it is left out there: the pack does not know what happens to a machine.
    """
    scenario = setup.scenario
    pack = DEFAULT_MACHINE if setup.pack is None else setup.pack.machine.above(DEFAULT_MACHINE)
    own: dict[str, tuple[str, MachineTable]] = {
        node.name: (f"node.{at}", node) for at, node in enumerate(scenario.nodes)
    }
    own |= {host.name: (f"host.{at}", host) for at, host in enumerate(scenario.hosts)}
    for name, machine in machines.items():
        if isinstance(machine, CoreHost) or not setup.machines[name].core_queues:
            continue
        tables: list[tuple[str, MachineTable]] = [("cluster.machine", scenario.cluster.machine)]
        tables += [own[name]] if name in own else []
        for path, table in tables:
            for key in ("sleep_us", "interrupt_us", "newidle_us", "core_queues"):
                if getattr(table, key) not in {None, getattr(pack, key)}:
                    raise ScenarioError(
                        f"{path}.{key}",
                        f"{_UNPLAYED}: it has one queue for all its cores",
                        "remove one of them",
                    )


def _quiet(setup: Setup, hosts: Sequence[Host]) -> Collection[int]:
    """Nodes that no client connects to: see ``Cluster.quiet``."""
    workload = setup.workload
    classes = workload.classes
    if (
        _meets_errors(setup)
        or setup.changes
        or workload.scheduled
        or any(path.relayed or path.troubles for path in setup.paths.values())
        or any(one.session is not None or one.xa_hold_s is not None for one in classes)
    ):
        return ()
    served = {node for _, node in workload.submitted()}
    alone = {node for node, host in enumerate(hosts) if hosts.count(host) == 1}
    varying = {name for name, machine in setup.machines.items() if machine.disk_variation}
    return [
        node
        for node in sorted(alone - served)
        if hosts[node].even and setup.placement[node] not in varying
    ]


def _meets_errors(setup: Setup) -> bool:
    """Whether anything happens that clients have to deal with, or it is said how they would."""
    scenario = setup.scenario
    said = setup.workload.has_policy or scenario.proxy is not None
    return (
        bool(scenario.faults or scenario.operations) or said or scenario.replica_cluster is not None
    )


def build_replica_cluster(
    setup: Setup, cluster: Cluster, start_s: float
) -> tuple[ReplicaCluster, LatencyHistogram] | None:
    """The other cluster that follows this one, and how late it is from ``start_s`` on."""
    table, names = setup.scenario.replica_cluster, list(cluster.names)
    if table is None:
        return None
    assert cluster.fates is not None
    rtt_s = seconds(table.rtt_ms)
    servers = [name for place, name in enumerate(names) if place not in cluster.arbitrators]
    late = LatencyHistogram()
    follower = ReplicaCluster(
        cluster.clock,
        table.name,
        cluster.fates,
        Link(cluster.clock, rtt_s / 2, bytes_per_s=table.bytes_per_s),
        rtt_s=rtt_s,
        follows=[names.index(name) for name in table.follows or servers],
        retry_s=table.retry_s,
        attempts=table.attempts,
        silence_s=table.silence_s,
        timeline=cluster.timeline,
        start_s=start_s,
        faults_s=[fault.at_s for fault in faults_of(setup.scenario)],
        late=late,
    )
    return follower, late


def build_reads(
    setup: Setup, clock: Clock, start_s: float
) -> tuple[FollowedFates, ReadMeter] | None:
    """Who follows what reads miss, and who counts it from ``start_s`` on; None if nobody asks."""
    scenario = setup.scenario
    if not (scenario.run.staleness or setup.workload.waits_for_own):
        return None
    names, groups = scenario.node_names, groups_of(setup.workload)
    edges = {edge_s for one in faults_of(scenario) for edge_s in (one.at_s, one.until_s)}
    meter = ReadMeter(start_s, scenario.run.interval_s, list(edges), groups, names)
    arbitrators = [names.index(name) for name in scenario.arbitrators]
    fates = FollowedFates(clock, len(names), arbitrators, meter, setup.model.name)
    return fates, meter


def build_clients(
    setup: Setup,
    cluster: Cluster,
    model: Model,
    recorder: Recorder,
    fates: FollowedFates | None = None,
    failures: FailureLog | None = None,
) -> Clients:
    """The clients of one replication: those that meet errors, where there is anything to meet.

    ``failures`` keeps their attempts that fail, if it is there.
    """
    clock, streams, workload = cluster.clock, cluster.streams, setup.workload
    server: Server = model
    if fates is not None and workload.waits_for_own:
        server = WaitingServer(clock, model, fates)
    if failures is not None:
        server, recorder = WatchedServer(server, failures), WatchedRecorder(recorder, failures)
    how = (clock, streams, workload, server, recorder, cluster.size)
    if cluster.fates is None and fates is not None:
        groups = {name: number for number, name in enumerate(groups_of(workload))}
        return FollowedClients(*how, fates=fates, groups=groups)
    if cluster.fates is None:
        return Clients(*how)
    log = AttemptLog(clock, groups_of(workload), cluster.names)
    proxy = _build_proxy(setup, cluster, model)
    if proxy is None and cluster.ways is None:
        return FailoverClients(*how, log=log, fates=cluster.fates)
    if cluster.ways is not None and not cluster.ways.played:
        raise ScenarioError(
            "workload.clients.place" if proxy is None else "proxy.beside",
            f"the servers of model {setup.model.name!r} do not take clients from elsewhere",
            "their sessions are to be made by parts.sessions()",
        )
    ends = [(one.at_s, one.node) for one in setup.changes if one.what in {"kill", "leave"}]
    return RoutedClients(
        *how, log=log, fates=cluster.fates, proxy=proxy, ways=cluster.ways, ends=ends
    )


def _build_proxy(setup: Setup, cluster: Cluster, model: Model) -> Proxy | None:
    table, names = setup.scenario.proxy, cluster.names
    if table is None:
        return None
    servers = [name for place, name in enumerate(names) if place not in cluster.arbitrators]
    rules = table.rules({name: place for place, name in enumerate(names)}, servers)
    clock, streams = cluster.clock, cluster.streams
    return Proxy(clock, streams, model, rules, names, timeline=cluster.timeline, ways=cluster.ways)
