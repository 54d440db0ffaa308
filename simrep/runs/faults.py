"""From the faults of a scenario to machines, processes and disks that play them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf

from simrep.contract.cluster import NodeTraits
from simrep.contract.setup import Setup
from simrep.kernel.clock import Clock
from simrep.kernel.pace import Pace, Spell, merged
from simrep.scenario.cluster import MachineTable
from simrep.scenario.faults import FaultTable
from simrep.scenario.schema import Scenario
from simrep.server.core_host import CoreHost
from simrep.server.host import Host
from simrep.server.process import PacedHost, Process, ProcessClock
from simrep.server.shared import SharedHost

__all__ = ["build_processes", "faults_of_host", "host_kind", "node_traits"]


_PACES = {"slow", "pause", "disk-stall"}
"""Words of faults that change how fast a machine, a server or a disk is."""


def faults_of_host(scenario: Scenario, host: str) -> list[FaultTable]:
    """What slows or stops a machine, or a node on it alone."""
    there = _nodes_on(scenario, host)
    return [
        fault
        for fault in scenario.faults
        if fault.what in _PACES and (fault.host == host or fault.node in there)
    ]


def host_kind(scenario: Scenario, machine: MachineTable, host: str) -> Callable[..., Host]:
    """What makes the machine: a plain one where nothing happens and all cores are alike."""
    faults = faults_of_host(scenario, host)
    own_disk = machine.fsync_factor is not None and machine.parallel_syncs is not None
    gain = machine.second_thread_gain or 0.0
    if not faults and machine.cpu_factor is None and not own_disk and not gain:
        if machine.core_queues:
            return CoreHost
        return SharedHost if machine.autogroup else Host
    whole = [fault for fault in faults if fault.host == host]
    alone = len(_nodes_on(scenario, host)) == 1  # its disk faults are those of its node
    return partial(
        PacedHost,
        pace=_cpu_pace(machine, whole),
        stops=_stops(whole),
        syncs=_sync_pace(machine, faults if alone else whole),
        second_thread_gain=gain,
    )


def build_processes(setup: Setup, hosts: Sequence[Host]) -> dict[int, Process]:
    """A process for each node, by its position, on machines where something happens."""
    scenario = setup.scenario
    processes = {}
    for node, (name, machine) in enumerate(zip(setup.placement, hosts, strict=True)):
        if faults := _faults_of_node(scenario, node, name):
            assert isinstance(machine, PacedHost)
            pace = _cpu_pace(setup.machines[name], faults)
            processes[node] = Process(machine, pace, _stops(faults))
    return processes


def node_traits(
    setup: Setup, clock: Clock, processes: Mapping[int, Process]
) -> dict[int, NodeTraits]:
    """How nodes differ from the others, by position; nothing of those that do not."""
    traits = {}
    for node, name in enumerate(setup.placement):
        faults, machine = _faults_of_node(setup.scenario, node, name), setup.machines[name]
        syncs = _sync_pace(machine, faults) if faults or machine.fsync_factor is not None else None
        process = processes.get(node)
        timers = None if process is None else ProcessClock(clock, process)
        costs, options = setup.node_costs.get(node, {}), setup.node_options.get(node, {})
        varies = machine.disk_variation or 0.0
        if syncs is not None or timers is not None or costs or options or varies:
            traits[node] = NodeTraits(costs, timers, syncs, varies, options)
    return traits


def _nodes_on(scenario: Scenario, host: str) -> list[str]:
    placed = zip(scenario.node_names, scenario.host_names, strict=True)
    return [node for node, place in placed if place == host]


def _faults_of_node(scenario: Scenario, node: int, host: str) -> list[FaultTable]:
    """What slows or stops a node, or all of its machine."""
    name = scenario.node_names[node]
    faults = faults_of_host(scenario, host)
    return [fault for fault in faults if fault.host == host or fault.node == name]


def _cpu_pace(machine: MachineTable, faults: Iterable[FaultTable]) -> Pace:
    spells = [
        Spell(fault.at_s, fault.end_s, fault.cpu_factor)
        for fault in faults
        if fault.cpu_factor is not None
    ]
    return Pace(1.0 if machine.cpu_factor is None else machine.cpu_factor, spells)


def _sync_pace(machine: MachineTable, faults: Iterable[FaultTable]) -> Pace:
    spells = [
        Spell(fault.at_s, fault.end_s, inf if stalls else fault.fsync_factor or 1.0)
        for fault in faults
        if (stalls := fault.what == "disk-stall") or fault.fsync_factor is not None
    ]
    return Pace(1.0 if machine.fsync_factor is None else machine.fsync_factor, spells)


def _stops(faults: Iterable[FaultTable]) -> list[tuple[float, float]]:
    return merged((fault.at_s, fault.end_s) for fault in faults if fault.what == "pause")
