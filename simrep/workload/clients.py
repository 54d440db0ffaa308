"""Clients: closed loop, fixed number of transactions, an open stream, or at a given time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import count, repeat
from typing import Any, Final, Protocol

from simrep.kernel.clock import Clock, Event, Process
from simrep.kernel.streams import Streams
from simrep.workload.course import Course
from simrep.workload.mix import Make, Mix
from simrep.workload.served import Resume, Served, driven, run, waited
from simrep.workload.transaction import Journal, Transaction
from simrep.workload.workload import Arrivals, Loop, Scheduled, Workload

__all__ = [
    "NOT_TOLD",
    "Clients",
    "Crew",
    "Recorder",
    "Server",
]

NOT_TOLD: Final = "not told"
"""The error of a transaction whose model does not say why it failed."""


class Server(Protocol):
    """What clients talk to: a replication model."""

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """Open a connection to ``node``; the error if it is refused."""

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction to its end; returns whether it committed."""


class Recorder(Protocol):
    """Who is told what clients see: a meter."""

    def opened(self) -> None:
        """A client begins to connect now."""

    def committed(self, started_s: float, kind: str, client: int, node: int) -> None:
        """A transaction is committed now."""

    def aborted(self, started_s: float, kind: str, client: int, node: int, error: str) -> None:
        """An attempt at a transaction fails now; the error is what its client is told."""

    def waited(self, since_s: float) -> None:
        """A client with something to do has paused since then, or tried to connect."""


class Crew:
    """Clients of which some are wanted, the first ones first; the others wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._away: dict[int, Event] = {}
        self.wanted = 0

    def want(self, number: int) -> None:
        """From now on so many are wanted."""
        self.wanted = number
        for place in sorted(place for place in self._away if place < number):
            self._clock.fire(self._away.pop(place))

    def call(self, place: int) -> Event:
        """What the client at a place waits for that is not wanted: that it is again."""
        called = self._away[place] = Event(self._clock)
        return called


class Clients:
    """The clients of one replication, and the count of what they did.

    Parameters
    ----------
    clock : Clock
    streams : Streams
    workload : Workload
    server : Server
    recorder : Recorder
    nodes : int
        On how many nodes a transaction is committed in the end.
    tracked : bool
        Whether transactions may be given up, and their fates are followed.

    Attributes
    ----------
    submitted, committed, aborted : int
        Attempts since the start; a retried transaction counts once for each, a scheduled one is
        not among them.
    journals : list of Journal
        Of the scheduled transactions.
    """

    def __init__(
        self,
        clock: Clock,
        streams: Streams,
        workload: Workload,
        server: Server,
        recorder: Recorder,
        nodes: int = 1,
        *,
        tracked: bool = False,
    ) -> None:
        self._clock = clock
        self._streams = streams
        self._workload = workload
        self._server = server
        self._recorder = recorder
        singles = [one.transaction_class for one in workload.scheduled]
        self._mix = Mix(workload.classes, streams, singles, tracked=tracked)
        self._writes = workload.writes
        self._numbers = count()
        self._in_flight: dict[int, Transaction] = {}  # by client
        self._lines: list[deque[Transaction]] = []  # of arrivals that wait for a connection
        self._drained: Event | None = None  # nobody arrives any more; it fires when all are served
        self.submitted = 0
        self.committed = 0
        self.aborted = 0
        self.journals = [
            Journal(clock, one.transaction_class.name, one.node, nodes)
            for one in workload.scheduled
        ]

    def start(self) -> Sequence[Process]:
        """Start them; the processes of a fixed number of transactions end, others never do."""
        process = self._clock.process
        workload = self._workload
        loops = [process(client) for loop in workload.loops for client in self._clients_of(loop)]
        streams = [
            process(
                self._arrive(arrivals, position)
                if arrivals.connections is None
                else self._queue_up(arrivals, position, arrivals.connections)
            )
            for position, arrivals in enumerate(workload.arrivals)
        ]
        single = [
            process(self._submit_at(one, journal))
            for one, journal in zip(workload.scheduled, self.journals, strict=True)
        ]
        return loops + streams + single

    def node_changes(self, node: int) -> None:
        """A server comes or goes: nobody waits any more until scheduled transactions are on it."""
        for journal in self.journals:
            journal.excuse(node)

    def server_ends(self, node: int) -> None:
        """The kernel of a server closes all connections to it."""

    def close(self) -> Event:
        """Nobody arrives any more; the event fires when all who have arrived are answered."""
        self._drained = drained = Event(self._clock)
        self._ended(drained)
        return drained

    def _ended(self, drained: Event) -> None:
        if not self._in_flight and not any(self._lines):
            self._clock.fire(drained)

    def attempts(self) -> Any:
        """The run has ended: the log of all attempts; None if there is none."""
        return None

    @property
    def in_flight(self) -> int:
        """Attempts that have not ended."""
        return len(self._in_flight)

    @property
    def in_flight_since_s(self) -> float | None:
        """Start of the oldest of them in seconds; of a mix that writes, of those that do."""
        waiting = self._in_flight.values()
        starts = [one.started_s for one in waiting if one.rows or not self._writes]
        return min(starts, default=None)

    def _clients_of(self, loop: Loop) -> list[Generator[Event, Any, None]]:
        if loop.course is not None:
            return [self._come_and_go(loop, loop.course)]
        return [self._loop(next(self._numbers), node, loop) for node in loop.nodes]

    def _loop(self, client: int, node: int, loop: Loop) -> Generator[Event, Any, None]:
        """One client of a closed loop: connect, then one transaction after the other."""
        self._recorder.opened()
        yield from self._server.connect(node)
        ended = Event(self._clock)
        run(self._transactions(client, node, loop, ended))
        yield ended

    def _transactions(
        self, client: int, node: int, loop: Loop, ended: Event
    ) -> Generator[None, Any, None]:
        clock = self._clock
        think = self._think(client, loop)
        make = self._make(loop, str(client), client, node)
        number = self._workload.per_client
        resume = yield
        for _ in repeat(None) if number is None else repeat(None, number):
            if think is not None:
                clock.at(clock._now + think(), resume)
                yield
            yield from self._submit(make(clock._now), resume)
        clock.fire(ended)
        yield

    def _come_and_go(self, loop: Loop, course: Course) -> Generator[Event, Any, None]:
        """Have so many clients of a closed loop as their course says."""
        clock = self._clock
        crew = Crew(clock)
        numbers = [next(self._numbers) for _ in loop.nodes]
        begun = 0
        for at_s, wanted in course.counts():
            if at_s > clock.now:
                yield clock.until(at_s)
            crew.want(wanted)
            for place in range(begun, wanted):
                node = loop.nodes[place]
                clock.process(self._guest(numbers[place], node, loop, crew, place))
            begun = max(begun, wanted)

    def _guest(
        self, client: int, node: int, loop: Loop, crew: Crew, place: int
    ) -> Generator[Event, Any, None]:
        """One client of a crew: it is there while it is wanted."""
        run(self._visits(client, node, loop, crew, place))
        yield from ()

    def _visits(
        self, client: int, node: int, loop: Loop, crew: Crew, place: int
    ) -> Generator[None, Any, None]:
        clock = self._clock
        think = self._think(client, loop)
        make = self._make(loop, str(client), client, node)
        resume = yield
        while True:
            self._recorder.opened()
            yield from driven(self._server.connect(node), resume)
            while crew.wanted > place:
                if think is not None:
                    clock.at(clock._now + think(), resume)
                    yield
                    if crew.wanted <= place:
                        break
                yield from self._submit(make(clock._now), resume)
            yield from waited(crew.call(place), resume)

    def _arrive(self, arrivals: Arrivals, position: int) -> Generator[Event, Any, None]:
        """An open stream, over connections that are open already: nothing slows it down."""
        clock = self._clock
        make, gaps = self._stream(arrivals, position)

        def wait() -> None:
            gap = next(gaps, None)
            if gap is not None:
                clock.at(clock._now + gap, arrive)

        def arrive(_: None) -> None:
            if self._drained is not None:
                return
            transaction = make(clock._now)
            transaction.client = next(self._numbers)
            wait()
            run(self._single(transaction))

        wait()
        yield from ()

    def _single(self, transaction: Transaction) -> Generator[None, Any, None]:
        resume = yield
        yield from self._submit(transaction, resume)
        yield

    def _stream(self, arrivals: Arrivals, position: int) -> tuple[Make, Iterator[float]]:
        """What builds its transactions, and the times between them in seconds."""
        name = f"arrivals{position}"
        make = self._make(arrivals, name, 0, arrivals.node)
        path, course = f"client/{name}/gap", arrivals.course
        if course is None:
            return make, iter(self._streams.exponential(path, 1.0 / arrivals.rate_tps), None)
        unit = self._streams.exponential(path, 1.0)
        times = course.arrivals(unit, self._streams.uniform(f"client/{name}/thin"))
        return make, map(self._until, times)

    def _until(self, at_s: float) -> float:
        return max(0.0, at_s - self._clock.now)

    def _queue_up(
        self, arrivals: Arrivals, position: int, connections: int
    ) -> Generator[Event, Any, None]:
        """An open stream over so many connections: what finds none free waits in line."""
        clock = self._clock
        make, gaps = self._stream(arrivals, position)
        line: deque[Transaction] = deque()
        self._lines.append(line)
        idle: deque[Event] = deque()
        for _ in range(connections):
            clock.process(self._connection(arrivals, line, idle))
        for gap in gaps:
            yield clock.timeout(gap)
            if self._drained is not None:
                return
            line.append(make(clock._now))
            if idle:
                clock.fire(idle.popleft())

    def _connection(
        self, arrivals: Arrivals, line: deque[Transaction], idle: deque[Event]
    ) -> Generator[Event, Any, None]:
        """A connection of an open stream: one transaction of the line after the other."""
        run(self._lined_up(arrivals, line, idle))
        yield from ()

    def _lined_up(
        self, arrivals: Arrivals, line: deque[Transaction], idle: deque[Event]
    ) -> Generator[None, Any, None]:
        clock = self._clock
        client = next(self._numbers)
        resume = yield
        self._recorder.opened()
        yield from driven(self._server.connect(arrivals.node), resume)
        while True:
            if not line:
                arrived = Event(clock)
                idle.append(arrived)
                yield from waited(arrived, resume)
            transaction = line.popleft()
            transaction.client = client
            transaction.queued_s = clock._now - transaction.started_s
            yield from self._submit(transaction, resume)

    def _submit_at(self, one: Scheduled, journal: Journal) -> Generator[Event, Any, None]:
        """A scheduled transaction; its journal tells how it went, and nobody counts it."""
        clock = self._clock
        make = self._mix.single(one.transaction_class, next(self._numbers), one.node)
        yield clock.until(max(one.at_s, clock.now))
        transaction = make(clock.now)
        transaction.journal = journal
        journal.begin(transaction.rows, transaction.size_bytes)
        committed = yield from self._server.transact(transaction)
        journal.answered("" if committed else transaction.error or NOT_TOLD)

    def _submit(self, transaction: Transaction, resume: Resume) -> Generator[None, Any, bool]:
        """One transaction to its end; latency counts from its first attempt.

        Returns whether it committed.
        """
        clock = self._clock
        client, started_s, kind = transaction.client, transaction.started_s, transaction.kind
        node = transaction.node
        self._in_flight[client] = transaction
        while True:
            self.submitted += 1
            served = self._server.transact(transaction)
            if isinstance(served, Served):
                done = served.start(resume)
                if done is None:
                    done = yield
            else:
                done = yield from driven(served, resume)
            if clock._now == started_s:  # so that the clock sees it when time stands still
                clock.at(started_s, resume)
                yield
            if done:
                self.committed += 1
                self._recorder.committed(started_s, kind, client, node)
                break
            self.aborted += 1
            self._recorder.aborted(started_s, kind, client, node, transaction.error or NOT_TOLD)
            transaction.error = ""
            if not self._workload.retry:
                break
        del self._in_flight[client]
        if self._drained is not None:
            self._ended(self._drained)
        return bool(done)

    def _make(self, source: Loop | Arrivals, name: str, client: int, node: int) -> Make:
        """What builds the transactions of a client, or of a stream."""
        return self._mix.client(name, client, node, source.classes)

    def _think(self, client: int, loop: Loop) -> Callable[[], float] | None:
        think = loop.think or self._workload.think
        if think.mean_s <= 0.0:
            return None
        if think.kind == "constant":
            return lambda: think.mean_s
        return self._streams.exponential(f"client/{client}/think", think.mean_s)
