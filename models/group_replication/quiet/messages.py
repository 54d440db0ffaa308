"""How messages reach a quiet member, and when it has to be looked after because of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Any

from simrep.modelling import Clock, Host, Mesh, MessageWork, Network, Thread
from simrep.models.group_replication.xcom.paxos import SKIP

from .machine import Job, Machine

__all__ = ["DirectMesh", "Inbox", "MemberThread"]

Call = Callable[[Any], object]


class _ThreadJob(Job):
    """What the thread has on the processor."""

    __slots__ = ("_thread_of_group",)

    def __init__(self, thread: MemberThread) -> None:
        super().__init__()
        self._thread_of_group = thread

    def done(self) -> None:
        """See ``Thread._finish``."""
        thread = self._thread_of_group
        arrival = thread.arrival
        if arrival is not None:
            arrival.handle()
        if thread.waiting or thread._extra:
            thread._go_on()
        else:
            thread._busy = False


class MemberThread(Thread):
    """The thread of the group communication on a machine of its own."""

    __slots__ = ("_job", "_machine", "arrival", "least_end_s", "slice_s", "waiting")
    arrival: _Arrival | None  # what its present job is about; none if that is sending

    def __init__(self, host: Host, machine: Machine) -> None:
        super().__init__(host)
        self._machine = machine
        self._job = _ThreadJob(self)
        self.slice_s = host.slice_s
        self.least_end_s = 0.0  # its present job, if it has one, ends then at the earliest
        self.arrival = None
        self.waiting: deque[_Arrival] = deque()

    def do(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Not used: see ``take``."""
        raise TypeError("it takes arrivals, and nothing else")

    def take(self, arrival: _Arrival) -> None:
        """Handle what has arrived, when it has handled all that did before."""
        if self._busy:
            self.waiting.append(arrival)
        else:
            self._busy = True
            self.arrival = arrival
            seconds = arrival.seconds
            machine = self._machine
            self.least_end_s = machine.now + seconds if seconds <= self.slice_s else 0.0
            machine.run(self._job, seconds)

    def _go_on(self) -> None:
        """See ``Thread._go_on``: all that it does takes some time."""
        seconds = self._extra
        self._extra = 0.0
        if self.waiting:
            self.arrival = arrival = self.waiting.popleft()
            seconds += arrival.seconds
        else:
            self.arrival = None
        machine = self._machine
        self.least_end_s = machine.now + seconds if seconds <= self.slice_s else 0.0
        machine.go_on(self._job, seconds)


class _Arrival(Job):
    """A message that will arrive."""

    __slots__ = ("handled", "inbox", "least_end_s", "message", "seconds")

    def __init__(self, inbox: Inbox, least_end_s: float, seconds: float, message: Any) -> None:
        self.inbox = inbox
        self.least_end_s = least_end_s  # it is not handled before
        self.seconds = seconds
        self.message = message
        self.handled = False

    def done(self) -> None:
        """It has arrived."""
        inbox = self.inbox
        inbox.mesh.received += 1
        inbox.thread.take(self)

    def handle(self) -> None:
        """The thread has received it."""
        self.handled = True
        self.inbox.receive(self.message)


class _Own(_Arrival):
    """Something of its own that the thread has to do."""

    __slots__ = ("call",)
    call: Call

    def handle(self) -> None:
        """The thread does it."""
        self.handled = True
        self.call(None)


class Inbox:
    """The messages that will reach a member, from when they are sent.

    There is an event of the run for when it handles the next one that may have it send something.

    Parameters
    ----------
    clock : Clock
        Of the run.
    machine : Machine
    thread : MemberThread
    work : MessageWork
        What messages cost it.
    """

    def __init__(
        self, clock: Clock, machine: Machine, thread: MemberThread, work: MessageWork
    ) -> None:
        self._clock = clock
        self.machine = machine
        self.thread = thread
        self._receive_s = work.receive.seconds
        self._byte_s = work.byte_s
        self.slice_s = thread.slice_s
        self._number = 0
        # What may have it send something, by arrival.
        self._telling: list[tuple[float, int, _Arrival]] = []
        self._wake_s = inf

    def serve(
        self,
        mesh: Mesh,
        receive: Callable[[Any], object],
        silent: Callable[[Any], bool],
        restless: Callable[[], bool],
    ) -> None:
        """Hand messages to ``receive(message)``.

        ``silent(message)`` says whether it will surely send nothing because of a skip, and
        ``restless()`` whether it may do so because of any message.
        """
        self.mesh = mesh
        self.receive = receive
        self._silent = silent
        self._restless = restless

    def expect(self, message: Any, size_bytes: int, arrival_s: float, now: float) -> None:
        """A message was sent to it."""
        seconds = self._receive_s + self._byte_s * size_bytes
        # Work in slices may end a rounding earlier than its sum: only the first one is certain.
        least_end_s = arrival_s + (seconds if seconds <= self.slice_s else self.slice_s)
        arrival = _Arrival(self, least_end_s, seconds, message)
        self.machine.at(arrival_s, arrival, now)
        if message.kind != SKIP or not self._silent(message):
            self._number += 1
            heappush(self._telling, (arrival_s, self._number, arrival))
            if least_end_s < self._wake_s:
                self._arm(least_end_s)

    def do(self, seconds: float, call: Call) -> None:
        """The thread has something to do, which may have it send something."""
        now = self._clock._now
        job = _Own(self, now, seconds, None)
        job.call = call
        self._number += 1
        heappush(self._telling, (now, self._number, job))
        self.thread.take(job)
        self.look()

    def look(self) -> None:
        """Have an event when it next handles what may have it send something."""
        machine = self.machine
        if self._restless():
            when = machine.next_s
        else:
            telling = self._telling
            while telling:
                arrival = telling[0][2]
                if not arrival.handled:
                    message = arrival.message
                    if message is None or message.kind != SKIP or not self._silent(message):
                        break
                heappop(telling)
            else:
                return
            when = arrival.least_end_s
            end_s = self.thread.least_end_s
            if self.thread.arrival is not arrival:  # it does something else before
                seconds = arrival.seconds
                end_s += seconds if seconds <= self.slice_s else self.slice_s
            if end_s > when:
                when = end_s
            if when <= self._clock._now:  # it waits for a core
                when = machine.next_s
        if when < self._wake_s:
            self._arm(when)

    def _arm(self, when: float) -> None:
        self._wake_s = when
        self._clock.at(when, self._wake, when)

    def _wake(self, when: float) -> None:
        if when == self._wake_s:  # else it has turned out that this had to be done earlier
            self._wake_s = inf
            self.machine.advance(when)
            self.look()


class DirectMesh(Mesh):
    """A mesh that hands a message to the inbox of a quiet member as soon as it is sent.

    Parameters
    ----------
    inboxes : sequence of (Inbox or None)
        By position; None for members that are played.
    """

    __slots__ = ("_inboxes", "_links")

    def __init__(
        self,
        clock: Clock,
        network: Network,
        me: int,
        thread: Thread,
        work: MessageWork,
        inboxes: list[Inbox | None],
    ) -> None:
        super().__init__(clock, network, me, [0] * len(inboxes), thread, work)
        self._inboxes = inboxes
        self._links = {peer: network.link(me, peer) for peer in range(self.size) if peer != me}

    def _copy(self, copies: list[tuple[int, bool]], message: Any, size_bytes: int) -> None:
        cost = self._send.seconds
        at = now = self._clock._now
        links, inboxes = self._links, self._inboxes
        for peer, relay in copies:
            at += cost
            inbox = inboxes[peer]
            if inbox is None:
                self._network.send(self.me, peer, size_bytes, (message, size_bytes, relay), at)
            else:
                inbox.expect(message, size_bytes, links[peer].arrival(size_bytes, at), now)
        self.sent += len(copies)
        self.thread.charge(cost * len(copies))
