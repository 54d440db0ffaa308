"""Replication threads that work ahead of time, where nothing can come between and nobody looks.

A dump thread knows what it will send while it has its core, so it puts all of that on the network
at once, for the times at which it will do so. An IO thread knows when its next transactions will
arrive. The results are those of ``DumpThread`` and ``Replica``; a run of jobs is one event.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Final, Protocol

from simrep.modelling import Ahead, Cluster, Host, Link, Routine, Station, deque
from simrep.models.mysql.ahead_channel import AheadChannel
from simrep.models.mysql.channel import Channel
from simrep.models.mysql.quiet_appliers import QuietAppliers, QuietChannel
from simrep.models.mysql.server import BinlogTransaction, MysqlServer

from .options import AsynchronousCosts, AsynchronousOptions
from .replica import Replica

__all__ = ["AheadDump", "AheadIO", "AheadReplica", "EqualJobs", "Replies", "Sent", "works_ahead"]

_US: Final = 1e-6


def works_ahead(cluster: Cluster, source: int, costs_us: Iterable[float]) -> bool:
    """Whether the threads of a source and its replicas may work ahead.

    That is if nobody looks on, if work always takes equally long, if all of it (``costs_us``)
    takes some time, and if there is nothing but links between the servers.
    """
    if cluster.trace is not None or cluster.watch is not None or cluster.changes:
        return False
    if any(type(host) is not Host or not host.routine(0.0).plain for host in cluster.hosts):
        return False
    direct = cluster.network.direct
    return all(cost > 0.0 for cost in costs_us) and all(
        direct(source, node) is not None and direct(node, source) is not None
        for node in range(cluster.size)
        if node != source
    )


class Sent:
    """A transaction on its way to a replica, which it leaves for at ``sent_s``."""

    __slots__ = ("arrival_s", "sent_s", "wanted", "written")

    def __init__(self, written: BinlogTransaction, sent_s: float, arrival_s: float) -> None:
        self.written = written
        self.sent_s = sent_s
        self.arrival_s = arrival_s
        self.wanted = False  # whether its receipt is to be acknowledged


class Replies(Protocol):
    """What a source does with replies: which it wants, and when they come."""

    def sends(self, messages: list[Sent]) -> None:
        """Transactions are sent at their times."""

    def know(self) -> None:
        """Whether replies are wanted to what has been sent until now is told from now on."""

    def reply(self, replica: int, positions: list[int], times_s: list[float]) -> None:
        """A replica acknowledges positions, each at its time."""


class EqualJobs(Ahead):
    """A thread each of whose jobs takes as long as any other.

    Parameters
    ----------
    host : Host
    job_s : float
        How long, in seconds, above 0.
    """

    __slots__ = ("_busy", "_host", "_job_s")

    def __init__(self, host: Host, job_s: float) -> None:
        self._host = host
        self._job_s = job_s
        self._busy = False

    @abstractmethod
    def _ready(self) -> int:
        """How many jobs there are now."""

    def _more(self, until_s: float) -> int:
        """How many more there will be until then, as far as that is known."""
        del until_s
        return 0

    @abstractmethod
    def _do(self, ends_s: list[float]) -> None:
        """Do the next jobs, which end at these times."""

    def _begin(self) -> None:
        """There are jobs, and it has had none."""
        self._busy = True
        self._host.run_ahead(self)

    def plan(self, more_s: float, used_s: float, busy_s: float) -> tuple[float, float, float]:
        """See ``Ahead.plan``."""
        host = self._host
        slice_s, seconds = host.slice_s, self._job_s + more_s
        ready = self._ready()
        if seconds > slice_s:
            return -1.0, seconds, busy_s
        end_s = host.clock._now
        ends_s: list[float] = []
        while ready:
            used_s += seconds
            busy_s += seconds
            end_s += seconds
            ends_s.append(end_s)
            if used_s >= slice_s:
                break
            seconds = self._job_s
            ready -= 1
            if not ready:
                ready = self._more(end_s)
        self._do(ends_s)
        return end_s, used_s, busy_s

    def planned(self, _: None) -> None:
        """See ``Ahead.planned``."""
        if self._ready():
            self._host.go_on_ahead(self)
        else:
            self._busy = False

    def done(self, _: None) -> None:
        """See ``Ahead.done``."""
        self._do([self._host.clock._now])
        self.planned(None)


class AheadDump(EqualJobs):
    """See ``DumpThread``."""

    __slots__ = ("_link", "_replica", "_replies", "_unsent")

    def __init__(
        self,
        host: Host,
        sending: Routine,
        link: Link,
        replica: AheadIO,
        replies: Replies | None = None,
    ) -> None:
        super().__init__(host, sending.seconds)
        self._link = link
        self._replica = replica
        self._replies = replies
        self._unsent: deque[BinlogTransaction] = deque()

    def send(self, group: list[BinlogTransaction]) -> None:
        """See ``Dump.send``."""
        self._unsent += group
        if not self._busy:
            self._begin()

    def _ready(self) -> int:
        return len(self._unsent)

    def _do(self, ends_s: list[float]) -> None:
        unsent = self._unsent
        group = [unsent.popleft() for _ in ends_s]
        arrivals_s = self._link.arrivals([written.size_bytes for written in group], ends_s)
        messages = list(map(Sent, group, ends_s, arrivals_s))
        if self._replies is not None:
            self._replies.sends(messages)
        self._replica.expect(messages)


class AheadIO(Ahead):
    """The IO thread of a replica, and its stage: see ``Replica`` and ``Stage``."""

    servers = 1

    def __init__(
        self, channel: AheadChannel, name: str, receive_s: float, byte_s: float, reply_s: float
    ) -> None:
        self.name = name
        self._channel = channel
        self._host = host = channel.server.host
        self._node = channel.server.index
        self._clock = host.clock
        self._receive_s = receive_s
        self._byte_s = byte_s
        self._reply_s = reply_s
        self._inbox: deque[Sent] = deque()
        self._busy = False
        self._present: Any = None  # the message that it has in hand,
        self._in_log = False  # which is in the relay log, but not acknowledged
        self._syncs = False  # which is to be synchronised with the relay log
        self._since_s = 0.0  # since when it has that in hand
        self._replies: Replies | None = None
        # From when on it has begun with so many, which have waited for so long in all, and at
        # most; and from when on those that it has ended took so long. Of the present plan.
        self._begun: list[tuple[float, int, float, float]] = [(0.0, 0, 0.0, 0.0)]
        self._ended: list[tuple[float, float]] = [(0.0, 0.0)]

    def answer(self, replies: Replies) -> None:
        """Acknowledge what is wanted to be."""
        self._replies = replies

    def expect(self, messages: list[Sent]) -> None:
        """Transactions will arrive."""
        inbox = self._inbox
        waits = self._busy or len(inbox) > 0  # else nothing wakes it yet
        inbox += messages
        if not waits:
            self._clock.at(inbox[0].arrival_s, self._wake)

    def _wake(self, _: None) -> None:
        self._busy = True
        self._take(self._clock._now)
        self._host.run_ahead(self)

    def _take(self, when_s: float) -> None:
        sent = self._present = self._inbox.popleft()
        self._since_s = when_s
        _, visits, wait_s, longest_s = self._begun[-1]
        waited_s = when_s - sent.arrival_s
        self._begun.append((when_s, visits + 1, wait_s + waited_s, max(longest_s, waited_s)))

    def plan(self, more_s: float, used_s: float, busy_s: float) -> tuple[float, float, float]:
        """See ``Ahead.plan``."""
        if self._replies is not None:
            self._replies.know()
        now = end_s = self._clock._now
        slice_s, inbox = self._host.slice_s, self._inbox
        receive_s, byte_s = self._receive_s, self._byte_s
        events_left = self._channel.events_left
        size_bytes = events = 0
        written: list[BinlogTransaction] = []
        written_s: list[float] = []
        positions: list[int] = []
        replied_s: list[float] = []
        begun, ended, since_s = self._begun, self._ended, self._since_s
        del begun[:-1], ended[:-1]  # by now all of it has been
        _, visits, wait_s, longest_s = begun[0]
        taken_s = ended[0][1]
        sent: Sent | None = self._present
        in_log, self._in_log = self._in_log, False
        while used_s < slice_s or end_s == now:
            if sent is None:
                # Of what is not sent yet nobody knows whether a reply is wanted.
                if not inbox:
                    break
                following = inbox[0]
                waited_s = end_s - following.arrival_s
                if waited_s < 0.0 or following.sent_s > now:
                    break
                sent = inbox.popleft()
                since_s = end_s
                visits += 1
                wait_s += waited_s
                if waited_s > longest_s:
                    longest_s = waited_s
                begun.append((end_s, visits, wait_s, longest_s))
            change = sent.written
            if not in_log:
                seconds = receive_s + byte_s * change.size_bytes + more_s
                more_s = 0.0
                if seconds > slice_s:
                    if end_s == now:
                        return -1.0, seconds, busy_s
                    break
                used_s += seconds
                busy_s += seconds
                end_s += seconds
                if events + change.events >= events_left:
                    self._syncs = True
                    break
                events += change.events
                size_bytes += change.size_bytes
                written.append(change)
                written_s.append(end_s)
                in_log = sent.wanted
            if in_log:
                if used_s >= slice_s and end_s > now:
                    break
                seconds = self._reply_s + more_s
                more_s = 0.0
                if seconds > slice_s:
                    if end_s == now:
                        self._in_log = True
                        return -1.0, seconds, busy_s
                    break
                in_log = False
                used_s += seconds
                busy_s += seconds
                end_s += seconds
                positions.append(change.seqno)
                replied_s.append(end_s)
            taken_s += end_s - since_s
            ended.append((end_s, taken_s))
            sent = None
        self._present, self._in_log, self._since_s = sent, in_log, since_s
        if written:
            self._channel.write_at(written, written_s, size_bytes, events)
        if positions:
            assert self._replies is not None
            self._replies.reply(self._node, positions, replied_s)
        return end_s, used_s, busy_s

    def planned(self, _: None) -> None:
        """See ``Ahead.planned``."""
        if self._syncs:
            self._syncs = False
            self._channel.write(self._present.written, self._written)
        else:
            self._channel.look()  # while it has its core
            self._go_on()

    def done(self, _: None) -> None:
        """See ``Ahead.done``."""
        sent: Sent = self._present
        if self._in_log:
            assert self._replies is not None
            self._replies.reply(self._node, [sent.written.seqno], [self._clock._now])
            self._in_log = False
            self._leave()
            self._go_on()
        else:
            self._channel.write(sent.written, self._written)

    def _written(self, _: Any) -> None:
        """It is in the relay log, which may have been synchronised."""
        if self._present.wanted:
            self._in_log = True
        else:
            self._leave()
        self._go_on()

    def _leave(self) -> None:
        now = self._clock._now
        self._present = None
        self._ended.append((now, self._ended[-1][1] + (now - self._since_s)))

    def _go_on(self) -> None:
        now, inbox = self._clock._now, self._inbox
        if self._present is None:
            if not inbox or inbox[0].arrival_s > now:
                self._busy = False
                if inbox:
                    self._clock.at(inbox[0].arrival_s, self._wake)
                return
            self._take(now)
        self._host.go_on_ahead(self)

    # -- as a station --------------------------------------------------------------------------

    def _has_begun(self) -> tuple[float, int, float, float]:
        now = self._clock._now
        return next(record for record in reversed(self._begun) if record[0] <= now)

    @property
    def visits(self) -> int:
        """See ``Station``."""
        return self._has_begun()[1]

    @property
    def busy_s(self) -> float:
        """See ``Station``."""
        now = self._clock._now
        return next(record[1] for record in reversed(self._ended) if record[0] <= now)

    @property
    def wait_s(self) -> float:
        """See ``Station``."""
        return self._has_begun()[2]

    @property
    def wait_max_s(self) -> float:
        """See ``Station``."""
        return self._has_begun()[3]


class AheadReplica(Replica):
    """A replica whose IO thread takes many transactions in one event."""

    def __init__(
        self,
        cluster: Cluster,
        server: MysqlServer,
        options: AsynchronousOptions,
        costs: AsynchronousCosts,
        reply_s: float = 0.0,
    ) -> None:
        super().__init__(cluster, server, options, costs)
        channel: Any = self.channel
        self._ahead_channel: AheadChannel = channel
        self.io_thread = AheadIO(
            channel, self._io_thread.name, self._receipt.seconds, self._byte_s, reply_s
        )

    def _channel_kind(
        self,
        cluster: Cluster,
        server: MysqlServer,
        options: AsynchronousOptions,
        costs: AsynchronousCosts,
    ) -> type[Channel]:
        quiet = QuietAppliers.suit(cluster, server, options, costs.schedule_us * _US)
        return QuietChannel if quiet else AheadChannel

    @property
    def is_quiet(self) -> bool:
        """Whether it needs of a transaction that is answered no more than its ``rows``."""
        return isinstance(self.channel, QuietChannel)

    def stations(self) -> Iterable[Station]:
        """See ``Replica.stations``."""
        return [self.io_thread, *self.channel.stations()]

    def reach(self) -> None:
        """See ``Replica.reach``."""
        self._ahead_channel.reach()
