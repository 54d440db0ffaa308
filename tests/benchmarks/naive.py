"""Galera as one would write it with SimPy first: resources, stores, and a process for everything.

A slow twin of ``simrep.models.galera`` for one purpose: to be told equal to it, and to be timed
beside it. Cores are a ``Resource``, links too; every thread is a process with a ``Store`` of jobs;
every message is a process; monitors are events that processes wait for. Shared with the model are
only rules that take no time: the EVS automaton, certification, and when flow control stops.

It knows inserts only (no row locks, no conflicts), and machines on which nothing is cold.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import simpy
from simpy.events import Event

from simrep.kernel.streams import Streams
from simrep.models.galera.flow_control import FlowControl
from simrep.models.galera.gcomm.evs import Evs, EvsOptions
from simrep.models.galera.options import GaleraCosts, GaleraOptions
from simrep.models.galera.writeset import Control, Kind, LocalTransaction, Ordered, Writeset
from simrep.server.certification import CertificationIndex
from simrep.workload.transaction import Transaction

__all__ = ["Clock", "NaiveGalera"]

REPORT_EVERY = 128
US = 1e-6

Process = Generator[Event, Any, None]


class Clock(simpy.Environment):
    """SimPy's own, with what the EVS automaton wakes itself by."""

    def at(self, when: float, call: Callable[[Any], object], argument: Any = None) -> None:
        self.process(self.later(when, call, argument))

    def later(self, when: float, call: Callable[[Any], object], argument: Any) -> Process:
        yield self.timeout(when - self.now)
        call(argument)


class Thread:
    """A thread: a process that takes jobs from a store."""

    def __init__(self, clock: Clock, cores: simpy.Resource) -> None:
        self.clock = clock
        self.cores = cores
        self.jobs: simpy.Store = simpy.Store(clock)
        self.extra_s = 0.0
        self.busy = False
        clock.process(self.run())

    def do(self, seconds: float, call: Callable[[Any], object], argument: Any) -> None:
        self.busy = True
        self.jobs.put((seconds, call, argument))

    def charge(self, seconds: float) -> None:
        self.extra_s += seconds
        if not self.busy:
            self.do(0.0, lambda _: None, None)

    def run(self) -> Process:
        while True:
            seconds, call, argument = yield self.jobs.get()
            yield from work(self.clock, self.cores, seconds + self.take_extra())
            call(argument)
            while self.extra_s and not self.jobs.items:
                yield from work(self.clock, self.cores, self.take_extra())
            self.busy = bool(self.jobs.items)

    def take_extra(self) -> float:
        extra_s, self.extra_s = self.extra_s, 0.0
        return extra_s


def work(clock: Clock, cores: simpy.Resource, seconds: float) -> Process:
    """Use a core."""
    with cores.request() as core:
        yield core
        yield clock.timeout(seconds)


class Link:
    """One direction between two nodes: a wire that carries one message at a time."""

    def __init__(self, clock: Clock, delay_s: float, bytes_per_s: float) -> None:
        self.clock = clock
        self.delay_s = delay_s
        self.bytes_per_s = bytes_per_s
        self.wire = simpy.Resource(clock)

    def carry(
        self,
        leaves_in_s: float,
        size_bytes: int,
        arrived: Callable[[Any, int], object],
        message: Any,
    ) -> Process:
        """The life of a message."""
        yield self.clock.timeout(leaves_in_s)
        with self.wire.request() as wire:
            yield wire
            yield self.clock.timeout(size_bytes / self.bytes_per_s)
        yield self.clock.timeout(self.delay_s)
        arrived(message, size_bytes)


class Mesh:
    """What the EVS automaton sends by: a process for every copy of a message."""

    def __init__(self, clock: Clock, me: int, thread: Thread, costs: GaleraCosts) -> None:
        self.clock = clock
        self.me = me
        self.thread = thread
        self.send_s = costs.send_us * US
        self.receive_s = costs.receive_us * US
        self.byte_s = costs.byte_ns * 1e-9
        self.peers: list[tuple[Link, Mesh]] = []

    def on_message(self, handle: Callable[[Any], object]) -> None:
        self.handle = handle

    def broadcast(self, message: Any, size_bytes: int) -> None:
        for number, (link, peer) in enumerate(self.peers, start=1):
            self.clock.process(link.carry(number * self.send_s, size_bytes, peer.arrived, message))
        self.thread.charge(self.send_s * len(self.peers))

    def arrived(self, message: Any, size_bytes: int) -> None:
        self.thread.do(self.receive_s + self.byte_s * size_bytes, self.handle, message)


class Monitor:
    """Entry in the order of positions; an event for each that waits."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.next = 1
        self.waiting: dict[int, Event] = {}

    def enter(self, position: int) -> Event:
        event = self.clock.event()
        if position == self.next:
            event.succeed()
        else:
            self.waiting[position] = event
        return event

    def leave(self) -> None:
        self.next += 1
        if self.next in self.waiting:
            self.waiting.pop(self.next).succeed()


class SendMonitor:
    """One holder at a time, and none that enters during a pause."""

    def __init__(self, clock: Clock, cores: simpy.Resource, switch_s: float) -> None:
        self.clock = clock
        self.cores = cores
        self.switch_s = switch_s
        self.holder = simpy.Resource(clock)
        self.resumed: Event | None = None
        self.paused_at_s = self.paused_s = 0.0

    def pause(self) -> None:
        self.resumed = self.clock.event()
        self.paused_at_s = self.clock.now

    def resume(self) -> None:
        if self.resumed is not None:
            self.resumed.succeed()
            self.resumed = None
            self.paused_s += self.clock.now - self.paused_at_s

    def paused_until_now_s(self) -> float:
        return self.paused_s + (self.clock.now - self.paused_at_s if self.resumed else 0.0)

    def hold(self, call: Callable[[Any], object], argument: Any) -> Process:
        """Do something as the holder; who had to wait must be woken."""
        with self.holder.request() as turn:
            waits = not turn.triggered
            yield turn
            while self.resumed is not None:
                waits = True
                yield self.resumed
            if waits:
                yield from work(self.clock, self.cores, self.switch_s)
            call(argument)


class Node:
    """One server."""

    def __init__(
        self,
        clock: Clock,
        index: int,
        size: int,
        cores: int,
        options: GaleraOptions,
        costs: GaleraCosts,
        keepalive_at_s: float,
    ) -> None:
        self.clock = clock
        self.index = index
        self.costs = costs
        self.cores = simpy.Resource(clock, cores)
        self.receiver = Thread(clock, self.cores)
        self.mesh = Mesh(clock, index, Thread(clock, self.cores), costs)
        evs = EvsOptions(
            send_window=options.send_window,
            user_send_window=options.user_send_window,
            keepalive_period_s=options.keepalive_period_s,
        )
        self.evs = Evs(clock, self.mesh, size, evs, keepalive_at_s)  # type: ignore[arg-type]
        self.evs.on_deliver(self.deliver)
        self.send_monitor = SendMonitor(clock, self.cores, costs.switch_us * US)
        self.flow_control = FlowControl(options, size, self.send_monitor, self.send)  # type: ignore[arg-type]
        self.certification = CertificationIndex()
        self.local_monitor = Monitor(clock)
        self.commit_monitor = Monitor(clock)
        self.recv_q: simpy.Store = simpy.Store(clock)
        self.wake: simpy.Store = simpy.Store(clock)
        self.idle = 0
        self.ordered = 0
        self.committed: list[tuple[object, ...]] = []
        log_write_us = costs.log_write_us if options.flush_log_at_trx_commit else 0.0
        self.commit_s = (costs.commit_us + log_write_us) * US
        self.certify_s = costs.certify_us * US
        self.key_s = costs.certify_key_us * US  # an insert has one
        for _ in range(options.applier_threads):
            clock.process(self.applier())

    def send(self, message: Any) -> None:
        assert self.evs.send(message, message.size_bytes)

    def deliver(self, _: int, message: Any) -> None:
        self.receiver.do(self.costs.action_us * US, self.receive, message)

    def receive(self, message: Any) -> None:
        if message.kind == Kind.WRITESET:
            self.ordered += 1
            ordered = Ordered(message, self.ordered)
            if message.origin == self.index:
                self.clock.process(self.finish_own(ordered))
            else:
                self.recv_q.put(ordered)
                self.flow_control.grown(len(self.recv_q.items))
                if self.idle:
                    self.idle -= 1
                    self.wake.put(ordered)
        elif message.kind != Kind.LAST_COMMITTED:
            self.flow_control.deliver(message)

    def finish_own(self, ordered: Ordered) -> Process:
        yield from self.certify(ordered)
        yield from self.commit(ordered, self.commit_s + self.certify_s + self.key_s)
        ordered.writeset.local.done.succeed(value=True)

    def applier(self) -> Process:
        while True:
            if not self.recv_q.items:
                self.idle += 1
                yield self.wake.get()
            yield from work(self.clock, self.cores, self.certify_s)
            if not self.recv_q.items:  # another applier was faster
                continue
            ordered = yield self.recv_q.get()
            self.flow_control.shrunk(len(self.recv_q.items))
            yield from self.certify(ordered)
            rows_s = self.costs.apply_row_us * US * ordered.writeset.rows
            yield from work(self.clock, self.cores, self.costs.apply_us * US + rows_s + self.key_s)
            yield from self.commit(ordered, self.commit_s)

    def certify(self, ordered: Ordered) -> Process:
        yield self.local_monitor.enter(ordered.seqno)
        writeset = ordered.writeset
        depends = self.certification.certify(
            ordered.seqno, writeset.origin, writeset.last_seen, writeset.keys
        )
        assert depends == 0, "inserts do not conflict"
        self.local_monitor.leave()

    def commit(self, ordered: Ordered, seconds: float) -> Process:
        yield self.commit_monitor.enter(ordered.seqno)
        yield from work(self.clock, self.cores, seconds)
        self.commit_monitor.leave()
        self.committed.append(ordered.writeset.keys)
        if ordered.seqno % REPORT_EVERY == 0:
            report = Control(Kind.LAST_COMMITTED, self.index, ordered.seqno)
            self.clock.process(self.send_monitor.hold(self.send, report))


class NaiveGalera:
    """The cluster.

    Parameters
    ----------
    delays_s : matrix of float
        One-way delays in seconds.
    bytes_per_s : float
        Bandwidth of every direction.
    cores : int
        Of each node's machine.
    """

    def __init__(
        self,
        clock: Clock,
        streams: Streams,
        delays_s: Sequence[Sequence[float]],
        bytes_per_s: float,
        cores: int,
        options: GaleraOptions,
        costs: GaleraCosts,
    ) -> None:
        self.clock = clock
        self.costs = costs
        size = len(delays_s)
        uniform = streams.uniform("galera/keepalive")
        phase = uniform() * options.keepalive_period_s
        spread = costs.keepalive_spread_ms * 1e-3
        self.nodes = [
            Node(clock, i, size, cores, options, costs, phase + spread * uniform())
            for i in range(size)
        ]
        for i, node in enumerate(self.nodes):
            node.mesh.peers = [
                (Link(clock, delays_s[i][j], bytes_per_s), self.nodes[j].mesh)
                for j in range(size)
                if i != j
            ]

    def connect(self, node: int) -> Process:
        yield from work(self.clock, self.nodes[node].cores, self.costs.connect_us * US)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run an insert to its end."""
        clock, costs, node = self.clock, self.costs, self.nodes[transaction.node]
        statement_us = costs.statement_us + costs.row_us * transaction.rows
        prepare_us = costs.replicate_us + costs.byte_ns * 1e-3 * transaction.size_bytes
        yield from work(clock, node.cores, (statement_us + prepare_us) * US)
        writeset = Writeset(transaction, LocalTransaction(clock))  # type: ignore[arg-type]
        writeset.last_seen = node.commit_monitor.next - 1
        clock.process(node.send_monitor.hold(node.send, writeset))
        yield writeset.local.done
        return True
