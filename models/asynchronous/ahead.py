"""Replication threads that work ahead of time, where nothing can come between and nobody looks.

A dump thread knows what it will send while it has its core, so it puts all of that on the network
at once, for the times at which it will do so. An IO thread knows when its next transactions will
arrive. The results are those of ``DumpThread`` and ``Replica``; a run of jobs is one event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Protocol

from simrep.modelling import Ahead, Cluster, Host, Link, Routine, Station
from simrep.models.mysql.ahead_channel import AheadChannel
from simrep.models.mysql.channel import Channel
from simrep.models.mysql.quiet_appliers import QuietAppliers, QuietChannel
from simrep.models.mysql.server import BinlogTransaction, MysqlServer

from .options import AsynchronousCosts, AsynchronousOptions
from .replica import Replica

__all__ = ["AheadDump", "AheadIO", "AheadReplica", "Replies", "Sent", "works_ahead"]


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

    __slots__ = ("sent_s", "wanted", "written")

    def __init__(self, written: BinlogTransaction, sent_s: float) -> None:
        self.written = written
        self.sent_s = sent_s
        self.wanted = False  # whether its receipt is to be acknowledged


class Replies(Protocol):
    """What a source does with replies: which it wants, and when they come."""

    def sends(self, messages: list[Sent]) -> None:
        """Transactions are sent at their times."""

    def know(self) -> None:
        """Whether replies are wanted to what has been sent until now is told from now on."""

    def reply(self, replica: int, replies: list[tuple[int, float]]) -> None:
        """A replica acknowledges positions, each at its time."""


class AheadDump(Ahead):
    """See ``DumpThread``."""

    __slots__ = ("_busy", "_host", "_link", "_replica", "_replies", "_seconds", "_unsent")

    def __init__(
        self,
        host: Host,
        sending: Routine,
        link: Link,
        replica: AheadIO,
        replies: Replies | None = None,
    ) -> None:
        self._host = host
        self._seconds = sending.seconds
        self._link = link
        self._replica = replica
        self._replies = replies
        self._unsent: deque[BinlogTransaction] = deque()
        self._busy = False

    def send(self, group: list[BinlogTransaction]) -> None:
        """See ``Dump.send``."""
        self._unsent += group
        if not self._busy:
            self._busy = True
            self._host.run_ahead(self)

    def plan(self, more_s: float, used_s: float, busy_s: float) -> tuple[float, float, float]:
        """See ``Ahead.plan``."""
        now = end_s = self._host.clock._now
        slice_s, unsent = self._host.slice_s, self._unsent
        messages: list[Sent] = []
        while unsent and (used_s < slice_s or end_s == now):
            seconds = self._seconds + more_s
            more_s = 0.0
            if seconds > slice_s:
                if end_s == now:
                    return -1.0, seconds, busy_s
                break
            used_s += seconds
            busy_s += seconds
            end_s += seconds
            messages.append(Sent(unsent.popleft(), end_s))
        self._send(messages)
        return end_s, used_s, busy_s

    def _send(self, messages: list[Sent]) -> None:
        if self._replies is not None:
            self._replies.sends(messages)
        self._replica.expect(self._link, messages)

    def planned(self, _: None) -> None:
        """See ``Ahead.planned``."""
        if self._unsent:
            self._host.go_on_ahead(self)
        else:
            self._busy = False

    def done(self, _: None) -> None:
        """See ``Ahead.done``."""
        self._send([Sent(self._unsent.popleft(), self._host.clock._now)])
        self.planned(None)


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
        self._inbox: deque[tuple[float, Sent]] = deque()
        self._busy = False
        self._present: Any = None  # the message that it has in hand,
        self._in_log = False  # which is in the relay log, but not acknowledged
        self._syncs = False  # which is to be synchronised with the relay log
        self._since_s = 0.0  # since when it has that in hand
        self._replies: Replies | None = None
        # When it begins with transactions, and their waits; when it ends, and how long it took.
        self._begins: deque[tuple[float, float]] = deque()
        self._ends: deque[tuple[float, float]] = deque()
        self._visits = 0
        self._busy_s = self._wait_s = self._wait_max_s = 0.0

    def answer(self, replies: Replies) -> None:
        """Acknowledge what is wanted to be."""
        self._replies = replies

    def expect(self, link: Link, messages: list[Sent]) -> None:
        """Transactions will arrive over a link."""
        inbox = self._inbox
        waits = self._busy or len(inbox) > 0  # else nothing wakes it yet
        for sent in messages:
            inbox.append((link.arrival(sent.written.size_bytes, sent.sent_s), sent))
        if not waits:
            self._clock.at(inbox[0][0], self._wake)

    def _wake(self, _: None) -> None:
        self._busy = True
        self._take(self._clock._now)
        self._host.run_ahead(self)

    def _take(self, when_s: float) -> None:
        arrived_s, self._present = self._inbox.popleft()
        self._since_s = when_s
        self._begins.append((when_s, when_s - arrived_s))

    def plan(self, more_s: float, used_s: float, busy_s: float) -> tuple[float, float, float]:
        """See ``Ahead.plan``."""
        self._reach()
        if self._replies is not None:
            self._replies.know()
        now = end_s = self._clock._now
        slice_s, inbox, channel = self._host.slice_s, self._inbox, self._channel
        left = channel.events_left
        written: list[tuple[float, Any]] = []
        replies: list[tuple[int, float]] = []
        sent = self._present
        while used_s < slice_s or end_s == now:
            if sent is None:
                # Of what is not sent yet nobody knows whether a reply is wanted.
                if not inbox or inbox[0][0] > end_s or inbox[0][1].sent_s > now:
                    break
                arrived_s, sent = inbox.popleft()
                self._since_s = end_s
                self._begins.append((end_s, end_s - arrived_s))
            change = sent.written
            if self._in_log:
                seconds = self._reply_s + more_s
            else:
                seconds = self._receive_s + self._byte_s * change.size_bytes + more_s
            more_s = 0.0
            if seconds > slice_s:
                if end_s == now:
                    self._present = sent
                    return -1.0, seconds, busy_s
                break
            used_s += seconds
            busy_s += seconds
            end_s += seconds
            if self._in_log:
                self._in_log = False
                replies.append((change.seqno, end_s))
            elif change.events >= left:
                self._syncs = True
                break
            else:
                left -= change.events
                written.append((end_s, change))
                if sent.wanted:
                    self._in_log = True
                    continue
            self._ends.append((end_s, end_s - self._since_s))
            sent = None
        self._present = sent
        if written:
            channel.write_at(written)
        if replies:
            assert self._replies is not None
            self._replies.reply(self._node, replies)
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
            self._replies.reply(self._node, [(sent.written.seqno, self._clock._now)])
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
        self._ends.append((now, now - self._since_s))

    def _go_on(self) -> None:
        now, inbox = self._clock._now, self._inbox
        if self._present is None:
            if not inbox or inbox[0][0] > now:
                self._busy = False
                if inbox:
                    self._clock.at(inbox[0][0], self._wake)
                return
            self._take(now)
        self._host.go_on_ahead(self)

    # -- as a station --------------------------------------------------------------------------

    def _reach(self) -> None:
        """Count what has been by now."""
        now = self._clock._now
        while self._begins and self._begins[0][0] <= now:
            wait_s = self._begins.popleft()[1]
            self._visits += 1
            self._wait_s += wait_s
            self._wait_max_s = max(self._wait_max_s, wait_s)
        while self._ends and self._ends[0][0] <= now:
            self._busy_s += self._ends.popleft()[1]

    @property
    def visits(self) -> int:
        """See ``Station``."""
        self._reach()
        return self._visits

    @property
    def busy_s(self) -> float:
        """See ``Station``."""
        self._reach()
        return self._busy_s

    @property
    def wait_s(self) -> float:
        """See ``Station``."""
        self._reach()
        return self._wait_s

    @property
    def wait_max_s(self) -> float:
        """See ``Station``."""
        self._reach()
        return self._wait_max_s


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
        self, cluster: Cluster, server: MysqlServer, options: AsynchronousOptions
    ) -> type[Channel]:
        return QuietChannel if QuietAppliers.suit(cluster, server, options) else AheadChannel

    def stations(self) -> Iterable[Station]:
        """See ``Replica.stations``."""
        return [self.io_thread, *self.channel.stations()]

    def reach(self) -> None:
        """See ``Replica.reach``."""
        self._ahead_channel.reach()
