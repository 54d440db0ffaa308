"""Breaks servers and links of a running cluster at given times, and gives them back."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from simrep.rig.faults import Act, acts, links_at
from simrep.rig.operations import Held
from simrep.rig.syncs import of_disk, order_syncs, syncs_at

if TYPE_CHECKING:
    from simrep.rig.clients import LoadClock
    from simrep.rig.cluster import Arbitrator, RigCluster
    from simrep.rig.delays import DelayMatrix
    from simrep.rig.engine import RigEngine
    from simrep.rig.load import Load
    from simrep.rig.server import RigServer

    _Member = RigServer | Arbitrator

__all__ = ["Done", "Injector"]

_DEAD_S = 20.0
_LEAVES_S = 120.0
_CLOSED_S = 30.0


@dataclass(frozen=True, slots=True)
class Done:
    """What was done, or what happened to it then: ``kill``, ``restart``, ``answers``, ``failed``.

    Attributes
    ----------
    at_s : float
        On the clock of the load.
    what : str
    node : str
        "" of links.
    detail : str
        What went wrong.
    """

    at_s: float
    what: str
    node: str = ""
    detail: str = ""


class Injector:
    """Called beside a load, with its clock; returns when the load is over.

    It touches only processes that the rig has started on its hosts, and links of its relay.

    Parameters
    ----------
    load : Load
        With faults.
    layout : DelayMatrix
        Delays without any fault.
    engine, cluster
    """

    def __init__(
        self, load: Load, layout: DelayMatrix, engine: RigEngine, cluster: RigCluster
    ) -> None:
        assert load.duration_s is not None
        self._faults = load.fault
        self._operations = load.operations
        self._held: dict[int, Held] = {}
        self._duration_s = load.duration_s
        self._layout = layout
        self._engine = engine
        self._cluster = cluster
        self._servers = {server.name: server for server in cluster.members}
        self._silent: set[str] = set()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()
        self.done: list[Done] = []
        self.cpu_s = dict.fromkeys(self._servers, 0.0)
        """CPU time of servers that have ended."""

    def prepare(self) -> None:
        """Let all packets pass by the relay whose links will be cut."""
        self._engine.set_delays(self._matrix(-1.0))

    def __call__(self, clock: LoadClock) -> None:
        """Do everything at its time, and wait for the end of the load."""
        for act in acts(self._faults, tuple(self._servers), self._operations):
            clock.wait_until(act.at_s)
            self._do(act, clock)
        clock.wait_until(self._duration_s)

    def _do(self, act: Act, clock: LoadClock) -> None:
        if act.what == "links":
            self._links(act.at_s)
            self._told(clock, "links")
            return
        server = self._servers[act.node]
        if act.what in {"operate", "take-back"}:
            self._operate(act, server, clock)
        elif act.what == "syncs":
            self._syncs(server, act.at_s)
            self._told(clock, "syncs", act.node)
        elif act.what == "restart":
            if act.node in self._silent:  # it was without power: now its processes are gone
                self._end(server, signal.SIGKILL)
                self._silent.discard(act.node)
                self._links(act.at_s)
            self._told(clock, "restart", act.node)
            self._beside(self._start, server, clock)
        elif act.what == "power-loss":
            self._silent.add(act.node)
            self._links(act.at_s)
            server.host.signal(signal.SIGSTOP)
            self._told(clock, act.what, act.node)
        elif act.what == "kill":
            self._count(server)
            server.host.signal(signal.SIGKILL)
            self._told(clock, act.what, act.node)
            server.host.await_end(_DEAD_S)
        elif act.what == "leave":
            self._count(server)
            server.host.signal(signal.SIGTERM)
            self._told(clock, act.what, act.node)
            self._beside(self._watch_end, server, clock)
        else:
            number = signal.SIGSTOP if act.what == "stop" else signal.SIGCONT
            server.host.signal(number)
            self._told(clock, act.what, act.node)

    def _operate(self, act: Act, server: _Member, clock: LoadClock) -> None:
        """An operation waits for its server beside everything else."""
        operation = self._operations[act.operation]

        def begin(server: _Member, clock: LoadClock) -> None:
            held = self._held[act.operation]
            held.begin()
            self._told(clock, "answered", server.name)

        def take_back(_server: _Member, _clock: LoadClock) -> None:
            self._held.pop(act.operation).end()

        if act.what == "operate":
            # Arbitrators are no place for operations, which was checked.
            self._held[act.operation] = Held(operation, cast("RigServer", server))
            self._told(clock, operation.what, server.name)
            self._beside(begin, server, clock)
        elif act.operation in self._held:
            self._told(clock, "taken-back", server.name)
            self._beside(take_back, server, clock)

    def _end(self, server: _Member, number: signal.Signals) -> None:
        self._count(server)
        server.host.signal(number)
        server.host.await_end(_DEAD_S)

    def _count(self, server: _Member) -> None:
        self.cpu_s[server.name] += server.cpu_seconds()

    def _watch_end(self, server: _Member, clock: LoadClock) -> None:
        server.host.await_end(_LEAVES_S)
        self._told(clock, "ended", server.name)

    def _start(self, server: _Member, clock: LoadClock) -> None:
        if server.host.alive():
            server.host.await_end(_LEAVES_S)  # an orderly shutdown takes its time
        if not self._closing.is_set():
            self._cluster.rejoin(cast("RigServer", server))  # arbitrators never are
            self._told(clock, "answers", server.name)

    def _beside(
        self,
        call: Callable[[_Member, LoadClock], None],
        server: _Member,
        clock: LoadClock,
    ) -> None:
        def run() -> None:
            try:
                call(server, clock)
            except Exception as error:  # noqa: BLE001 - a server may fail to start in many ways
                self._told(clock, "failed", server.name, f"{type(error).__name__}: {error}")

        thread = threading.Thread(target=run, name=f"simrep {server.name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _told(self, clock: LoadClock, what: str, node: str = "", detail: str = "") -> None:
        with self._lock:
            self.done.append(Done(clock.now(), what, node, detail))

    def _syncs(self, server: _Member, at_s: float) -> None:
        names = list(self._servers)
        place = names.index(server.name)
        factor, stalled = syncs_at(self._faults, place, len(names), at_s)
        order_syncs(server.host, factor, stalled=stalled)

    def _links(self, at_s: float) -> None:
        self._engine.change_links(self._matrix(at_s))

    def _matrix(self, at_s: float) -> DelayMatrix:
        return links_at(self._layout, self._faults, at_s, self._silent)

    def heal(self) -> None:
        """Give back all links and locks, and let stopped servers run: the load is over."""
        for place in list(self._held):
            self._held.pop(place).end()
        for server in self._servers.values() if of_disk(self._faults) else ():
            order_syncs(server.host, 1.0, stalled=False)
        for server in self._servers.values():
            if server.host.alive() and server.name not in self._silent:
                server.host.signal(signal.SIGCONT)
        for name in sorted(self._silent):
            self._end(self._servers[name], signal.SIGKILL)
        self._silent.clear()
        self._engine.change_links(self._matrix(float("inf")))

    def await_returns(self, timeout_s: float) -> None:
        """Wait for servers that are still being started."""
        patience = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, patience - time.monotonic()))

    def close(self) -> None:
        """Leave nobody behind who would start a server later; may be called twice."""
        self._closing.set()
        for place in list(self._held):
            self._held.pop(place).end()
        patience = time.monotonic() + _CLOSED_S
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < patience:
                # It may be about to launch one: what runs is ended until it has given up.
                self._servers[thread.name.removeprefix("simrep ")].host.terminate(1.0)
                thread.join(0.3)
