"""Clients that meet errors: they wait, give up, connect again, and turn to other nodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from copy import copy
from itertools import repeat
from math import inf
from typing import Any, Protocol

from simpy.exceptions import Interrupt

from simrep.kernel.clock import Clock, Event, Process
from simrep.kernel.streams import Streams
from simrep.workload.clients import NOT_TOLD, Clients, Crew, Recorder, Server
from simrep.workload.fate import Fate, Fates
from simrep.workload.mix import Make
from simrep.workload.policy import CONNECTION_ERRORS, Policy
from simrep.workload.proxy import Leg
from simrep.workload.transaction import TrackedTransaction, Transaction
from simrep.workload.ways import Way
from simrep.workload.workload import Arrivals, Loop, Workload

__all__ = ["NO_ANSWER", "Attempted", "Caller", "FailoverClients", "again", "ending", "groups_of",
           "is_lost"]  # fmt: skip

NO_CONNECTION = "2003 no answer while connecting"
NO_ANSWER = "2013 no answer until the read timeout"
WAITING = "waiting"
_WAITING_S = 1.0  # what has no answer for so long when the run ends is not just under way


class Attempted(Protocol):
    """Who is told of every attempt: a log of them."""

    def ended(
        self,
        began_s: float,
        group: int,
        node: int,
        *,
        writes: bool,
        error: str = "",
        connecting: bool = False,
    ) -> None:
        """An attempt that began then ends now."""

    def attempts(self) -> Any:
        """All until now."""


def groups_of(workload: Workload) -> tuple[str, ...]:
    """Names of the groups of clients."""
    return tuple(dict.fromkeys(source.group for source in workload.sources))


class Caller:
    """A client, or all connections of a stream without a limit: where it turns to.

    Attributes
    ----------
    node : int
        Where it is connected, or tries to be.
    connected : bool
    stopped : bool
        It has ended for good, at an error.
    paused : bool
        The last attempt ended with a pause, instead of which it does not think.
    since_s : float or None
        Since when it tries to get something done, and has paused; None: it has not.
    """

    def __init__(self, source: Loop | Arrivals, node: int, group: int, *, writes: bool) -> None:
        self.policy = source.policy or Policy()
        self.home = self.node = node
        self.group = group
        self.writes = writes  # what it connects for
        self.connected = self.paused = self.stopped = False
        self.since_s: float | None = None
        self.connecting: dict[Process, float] = {}  # since when
        self.pauses = 0  # in a row
        self.way: Way | None = None  # if it is not where its server is
        self.leg: Leg | None = None  # by which a proxy has connected it


class FailoverClients(Clients):
    """Clients of a run in which servers may fail, or whose clients have a policy.

    A client that waits for a connection, or pauses after an error, has work for the cluster: that
    time counts where a stall is looked for. A transaction whose client has given up counts as
    aborted at that time, whatever its server makes of it.

    Simplified: a read timeout is that of a whole transaction, not of each of its statements;
    an unlimited number of connections of an open loop turns to another node all at once; clients
    outlive the machine that they share with a node.

    Parameters
    ----------
    clock, streams, workload, server, recorder, nodes
        As of ``Clients``.
    log : Attempted
    fates : Fates

    Attributes
    ----------
    stops_s : list of float
        When clients have ended for good, at an error.
    """

    def __init__(
        self,
        clock: Clock,
        streams: Streams,
        workload: Workload,
        server: Server,
        recorder: Recorder,
        nodes: int,
        *,
        log: Attempted,
        fates: Fates,
    ) -> None:
        super().__init__(clock, streams, workload, server, recorder, nodes, tracked=True)
        self._nodes = nodes
        self._log = log
        self._fates = fates
        self._groups = {name: number for number, name in enumerate(groups_of(workload))}
        self._callers: list[Caller] = []
        self._open: dict[int, tuple[float, Caller]] = {}  # since when, by client
        self.stops_s: list[float] = []

    def attempts(self) -> Any:
        """The run has ended: the log of all attempts, also of those that wait for a second."""
        since_s = self._clock.now - _WAITING_S
        for client, (began_s, caller) in self._open.items():
            if began_s > since_s:
                continue
            transaction = self._in_flight[client]
            writes = transaction.rows > 0
            self._log.ended(began_s, caller.group, transaction.node, writes=writes, error=WAITING)
        for caller in self._callers:
            for began_s in caller.connecting.values():
                if began_s > since_s:
                    continue
                self._failed_to_connect(caller, began_s, caller.node, WAITING)
        return self._log.attempts()

    @property
    def in_flight_since_s(self) -> float | None:
        """Start of the oldest of them, or of the wait of a client that pauses or connects."""
        starts = [super().in_flight_since_s, *(caller.since_s for caller in self._callers)]
        return min((start for start in starts if start is not None), default=None)

    # -- who they are --------------------------------------------------------------------------

    def _loop(self, client: int, node: int, loop: Loop) -> Generator[Event, Any, None]:
        """One client of a closed loop: connect, then one transaction after the other."""
        process = self._begun()
        caller = self._caller(loop, node)
        think = self._think(client, loop)
        make = self._make(loop, str(client), client, node)
        number = self._workload.per_client
        self._recorder.opened()
        yield from self._connect(caller, process)
        for _ in repeat(None) if number is None else repeat(None, number):
            if think is not None and not caller.paused:
                yield self._clock.timeout(think())
            yield from self._connect(caller, process)
            if not caller.stopped:
                yield from self._run(make(self._clock._now), caller, process)
            if caller.stopped:
                return

    def _guest(
        self, client: int, node: int, loop: Loop, crew: Crew, place: int
    ) -> Generator[Event, Any, None]:
        """One client of a crew: it is there while it is wanted."""
        process = self._begun()
        caller = self._caller(loop, node)
        think = self._think(client, loop)
        make = self._make(loop, str(client), client, node)
        while True:
            self._recorder.opened()
            yield from self._connect(caller, process)
            while crew.wanted > place:
                if think is not None and not caller.paused:
                    yield self._clock.timeout(think())
                    if crew.wanted <= place:
                        break
                yield from self._connect(caller, process)
                yield from self._run(make(self._clock._now), caller, process)
            caller.connected = caller.paused = False
            caller.since_s = None
            yield crew.call(place)

    def _arrive(self, arrivals: Arrivals, position: int) -> Generator[Event, Any, None]:
        """An open stream, over connections that are open already until an error ends them."""
        clock = self._clock
        caller = self._caller(arrivals, arrivals.node)
        caller.connected = True
        make, gaps = self._stream(arrivals, position)
        for gap in gaps:
            yield clock.timeout(gap)
            transaction = make(clock._now)
            transaction.client = next(self._numbers)
            clock.process(self._arrival(transaction, caller))

    def _arrival(self, transaction: Transaction, caller: Caller) -> Generator[Event, Any, None]:
        """One that finds no connection fails, unless it is submitted again until it commits."""
        process = self._begun()
        if not caller.connected and not self._workload.retry:
            node, error = caller.node, (yield from self._connect_once(caller, process))
            if error:
                self.submitted += 1
                self.aborted += 1
                started_s, kind = transaction.started_s, transaction.kind
                self._recorder.aborted(started_s, kind, transaction.client, node, error)
                return
        yield from self._connect(caller, process)
        yield from self._run(transaction, caller, process)

    def _connection(
        self, arrivals: Arrivals, line: deque[Transaction], idle: deque[Event]
    ) -> Generator[Event, Any, None]:
        """A connection of an open stream: one transaction of the line after the other."""
        clock, process = self._clock, self._begun()
        client = next(self._numbers)
        caller = self._caller(arrivals, arrivals.node)
        self._recorder.opened()
        while True:
            yield from self._connect(caller, process)
            while not line:
                arrived = Event(clock)
                idle.append(arrived)
                yield arrived
            transaction = line.popleft()
            transaction.client = client
            transaction.queued_s = clock._now - transaction.started_s
            yield from self._run(transaction, caller, process)

    def _make(self, source: Loop | Arrivals, name: str, client: int, node: int) -> Make:
        make = super()._make(source, name, client, node)
        return self._fates.marked(make, source, self._groups[source.group])

    def _begun(self) -> Process:
        """The process that begins now; later on, another one may have run inside of it."""
        process = self._clock.active_process
        assert process is not None
        return process

    def _caller(self, source: Loop | Arrivals, node: int) -> Caller:
        writes = any(
            one.statements > 0
            for one in self._workload.classes
            if source.classes is None or one.name in source.classes
        )
        caller = Caller(source, node, self._groups[source.group], writes=writes)
        self._callers.append(caller)
        return caller

    # -- what they do --------------------------------------------------------------------------

    def _run(
        self, transaction: Transaction, caller: Caller, process: Process
    ) -> Generator[Event, Any, None]:
        """One transaction to its end; latency counts from its first attempt."""
        assert isinstance(transaction, TrackedTransaction)
        clock = self._clock
        client, started_s, kind = transaction.client, transaction.started_s, transaction.kind
        writes = transaction.rows > 0
        fate: Fate | None = None
        began_s = started_s  # with the time in line for a connection
        while True:
            node = transaction.node = caller.node
            self._in_flight[client] = transaction
            self._open[client] = began_s, caller
            self.submitted += 1
            self._fates.send(transaction)
            if writes:
                fate = self._fates.begin(transaction, fate)
            done, transaction, fate = yield from self._attempt(transaction, caller, fate)
            if clock._now == started_s:  # so that the clock sees it when time stands still
                yield clock.timeout(0.0)
            del self._in_flight[client], self._open[client]
            node = transaction.node
            error = "" if done else transaction.error or NOT_TOLD
            self._log.ended(began_s, caller.group, node, writes=writes, error=error)
            if fate is not None:
                fate.ended("answered" if done else ending(transaction, fate, error))
            self._waited(caller)
            if done:
                self._fates.read(transaction)
                caller.paused = False
                caller.pauses = 0
                self.committed += 1
                self._recorder.committed(started_s, kind, client, node)
                return
            self.aborted += 1
            self._recorder.aborted(started_s, kind, client, node, error)
            if self._stops(caller, error, unserved=transaction.unserved):
                self._turn(caller, node, error)
                return
            yield from self._recover(caller, node, error, unserved=transaction.unserved)
            if not self._workload.retry:
                return
            transaction = again(transaction)
            yield from self._connect(caller, process)
            if caller.stopped:
                return
            began_s = clock._now

    def _attempt(
        self, transaction: TrackedTransaction, caller: Caller, fate: Fate | None
    ) -> Generator[Event, Any, tuple[bool, TrackedTransaction, Fate | None]]:
        """Whether it committed; a server goes on alone when its client gives up.

        Returned with it are the transaction and its fate, which are others if somebody between
        client and server has submitted it again.
        """
        limit_s = caller.policy.read_timeout_s
        if limit_s == inf:
            done = yield from self._server.transact(transaction)
            return done, transaction, fate
        running = self._clock.process(self._server.transact(transaction))
        yield running | self._clock.timeout(limit_s)
        if running.triggered:
            return bool(running.value), transaction, fate
        transaction.abandoned = True
        transaction.error = NO_ANSWER
        return False, transaction, fate

    def _recover(
        self, caller: Caller, node: int, error: str, *, unserved: bool
    ) -> Generator[Event, Any, None]:
        """What follows an error: a pause, and another node or connection where it takes one."""
        self._turn(caller, node, error)
        caller.paused = unserved or is_lost(error)
        if caller.paused:
            if caller.since_s is None:
                caller.since_s = self._clock.now
            caller.pauses += 1
            yield self._clock.timeout(caller.policy.pause_s(caller.pauses))

    def _stops(self, caller: Caller, error: str, *, unserved: bool) -> bool:
        """Whether it ends for good at this error, which it then does."""
        if caller.policy.on_error != "stop":
            return False
        caller.stopped = not self._workload.retry or unserved or is_lost(error)
        if caller.stopped:
            self.stops_s.append(self._clock.now)
        return caller.stopped

    def _turn(self, caller: Caller, node: int, error: str) -> None:
        """Leave the connection that is lost, or the node that has failed."""
        if caller.policy.on_error == "next":
            if caller.node == node:
                caller.node = caller.policy.after(node, self._nodes)
                caller.connected = False
        elif is_lost(error):
            caller.connected = False

    def _connect(self, caller: Caller, process: Process) -> Generator[Event, Any, None]:
        """Connect until there is a connection, or until it stops."""
        while not (caller.connected or caller.stopped):
            node = caller.node
            error = yield from self._connect_once(caller, process)
            if error and not self._stops(caller, error, unserved=True):
                yield from self._recover(caller, node, error, unserved=True)

    def _connect_once(self, caller: Caller, process: Process) -> Generator[Event, Any, str]:
        """Connect; the error, empty if there is a connection."""
        began_s, node = self._clock.now, caller.node
        error = yield from self._open_connection(caller, node, process)
        if error:
            self._failed_to_connect(caller, began_s, node, error)
            self._turn(caller, node, error)
        else:
            caller.connected = caller.node == node
        return error

    def _open_connection(
        self, caller: Caller, node: int, process: Process
    ) -> Generator[Event, Any, str]:
        """Connect once; the error, empty if there is a connection."""
        clock = self._clock
        began_s = caller.connecting[process] = clock.now

        def give_up(_: object) -> None:
            if caller.connecting.get(process) == began_s:
                process.interrupt()

        clock.at(began_s + caller.policy.connect_timeout_s, give_up)
        try:
            error = yield from self._dial(caller, node)
        except Interrupt:
            return self._not_connected(caller)
        finally:
            del caller.connecting[process]
        return error or ""

    def _not_connected(self, caller: Caller) -> str:
        """The error of a client whose own time to connect is over."""
        del caller
        return NO_CONNECTION

    def _dial(self, caller: Caller, node: int) -> Generator[Event, Any, str | None]:
        """Connect to a server; the error if it is refused."""
        del caller
        return self._server.connect(node)

    def _failed_to_connect(self, caller: Caller, began_s: float, node: int, error: str) -> None:
        self._log.ended(
            began_s, caller.group, node, writes=caller.writes, error=error, connecting=True
        )

    def _waited(self, caller: Caller) -> None:
        """A client that has paused has its answer."""
        if caller.since_s is not None:
            if caller.writes or not self._writes:
                self._recorder.waited(caller.since_s)
            caller.since_s = None


def ending(transaction: Transaction, fate: Fate, error: str) -> str:
    """What the client of an attempt that has failed knows of it."""
    asked = transaction.autocommit or fate.committing  # for a commit
    unknown = transaction.outcome_unknown or (asked and is_lost(error))
    return "unknown" if unknown else "failed"


def is_lost(error: str) -> bool:
    """Whether a client has no connection any more after an error."""
    return error.partition(" ")[0] in CONNECTION_ERRORS


def again(transaction: TrackedTransaction) -> TrackedTransaction:
    """The same once more; what the server still does with the first is no business of it."""
    repeated = copy(transaction)
    repeated.error = ""
    repeated.unserved = repeated.outcome_unknown = repeated.abandoned = False
    repeated.way = None
    return repeated
