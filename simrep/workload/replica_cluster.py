"""Another cluster that follows this one asynchronously: what it lacks, and would lose.

MySQL calls it a replica cluster of a ClusterSet; with Galera it is a cluster one of whose nodes
is an asynchronous replica. One of the nodes here sends what it has committed, in that order,
as soon as it has. Where that is received it is in a relay log, and applied in the end, whatever
becomes of this cluster. What has left its node arrives as well, so that what has not left yet is
lost with the cluster: it waits for the connection, or for the bandwidth of the way.

When the connection breaks, the other side connects again to the same node, and after some attempts
to the next one of its list (asynchronous connection failover). Positions are GTIDs, so that it gets
what it lacks and nothing twice.

Simplified: the other cluster is one receiver, whose own replication, failures and appliers are not
simulated; the threads that send and receive cost nothing. Of a process that is killed the kernel
sends nothing more, although it would send what is in the buffer of the socket. A node that is
frozen, or that the others go on without, is given up ``silence_s`` after its last commit, if other
nodes commit meanwhile; a real one that is idle sends heartbeats.

References
----------
MySQL 8.4 Reference Manual, Switching Sources and Replicas with Asynchronous Connection Failover;
MySQL Shell 8.4, InnoDB ClusterSet Deployment, ``clusterSetReplicationConnectRetry`` (3 s),
``clusterSetReplicationRetryCount`` (10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from simrep.kernel.clock import Clock
from simrep.kernel.timeline import Timeline
from simrep.network.link import Link
from simrep.workload.fate import Fate, Fates

__all__ = ["Missing", "ReplicaCluster"]

_ROUNDING_S = 1e-9
_ROUND_TRIPS = 4  # TCP handshake, greeting and login, registration, the request for events


@dataclass(frozen=True, slots=True)
class Missing:
    """What would be lost if all nodes were lost at an instant.

    Attributes
    ----------
    transactions : int
        Answered to their clients, and not on their way to the other cluster.
    seconds : float
        Since the first of them was answered.
    span_s : float
        From then to the answer of the last of them.
    """

    transactions: int
    seconds: float
    span_s: float = 0.0


class Lateness(Protocol):
    """Who is told how late every transaction of the measured time is received."""

    def add(self, value: float) -> None:
        """From its answer until it is received, in seconds; 0 if it was received before."""


class ReplicaCluster:
    """See the module.

    Parameters
    ----------
    clock : Clock
    name : str
        Of the other cluster.
    fates : Fates
        Of the transactions that write.
    link : Link
        From here to there.
    rtt_s : float
        Round trip in seconds.
    follows : sequence of int
        Nodes that it gets transactions from, in the order in which it turns to them.
    retry_s, attempts, silence_s : float, int, float
        Time between two attempts to connect to a node; how many fail before it turns to the next
        one; after how long without a commit a node is given up.
    timeline : Timeline or None
    start_s : float
        Begin of the measured time.
    faults_s : sequence of float
        When faults begin.
    late : Lateness

    Attributes
    ----------
    name : str
        Of the other cluster.
    most : int
        How many transactions were missing at most in the measured time.
    at_faults : list of Missing
        When each fault began.
    """

    def __init__(
        self,
        clock: Clock,
        name: str,
        fates: Fates,
        link: Link,
        *,
        rtt_s: float,
        follows: Sequence[int],
        retry_s: float,
        attempts: int,
        silence_s: float,
        timeline: Timeline | None,
        start_s: float,
        faults_s: Sequence[float],
        late: Lateness,
    ) -> None:
        self._clock = clock
        self.name = name
        self._fates = fates
        self._link = link
        self._rtt_s = rtt_s
        self._follows = follows
        self._retry_s = retry_s
        self._attempts = attempts
        self._silence_s = silence_s
        self._timeline = timeline
        self._source = follows[0]
        self._connected = True  # as far as the other cluster knows
        self._open = True  # its node has the connection, too
        self._failed = 0  # attempts
        self._number = 0  # of the connection: what belongs to an older one is void
        self._down: set[int] = set()
        self._commits_s = dict.fromkeys(follows, clock.now)  # when each has last committed
        self._leaves_s: dict[Fate, float] = {}  # when what is handed to the connection has left
        self._missing: dict[Fate, None] = {}  # answered and still here, the first one first
        self._start_s = start_s
        self._late = late
        self._sum = self._longest_s = 0.0
        self.most = 0
        self._counted_s = start_s  # up to then ``_sum`` holds missing transactions x seconds
        self.at_faults = [Missing(0, 0.0)] * len(faults_s)
        for number, at_s in enumerate(faults_s):
            clock.at(at_s, self._look, number)
        fates.attach(self)

    # -- what the nodes do -----------------------------------------------------------------------

    def committed(self, fate: Fate, node: int) -> None:
        """A node has committed a transaction."""
        if node == self._source:
            self._commits_s[node] = self._clock.now
            if self._open:
                self._send(fate)
        elif self._connected and node in self._commits_s:
            self._commits_s[node] = self._clock.now
            if self._clock.now - self._commits_s[self._source] > self._silence_s:
                self._lose("silent")
                self._turn()

    def node_changes(self, change: tuple[int, str]) -> None:
        """The server of a node ends (``kill``, ``leave``, ``power-loss``), or starts."""
        node, what = change
        if what not in {"kill", "leave", "power-loss"}:
            self._down.discard(node)
            return
        self._down.add(node)
        if node != self._source:
            return
        self._open = False
        self._leaves_s.clear()
        if self._connected:
            later_s = self._silence_s if what == "power-loss" else 0.5 * self._rtt_s
            self._clock.at(self._clock.now + later_s, self._closed, self._number)

    # -- the connection --------------------------------------------------------------------------

    def _closed(self, number: int) -> None:
        """The connection of that number has been closed, or was silent for too long."""
        if number == self._number and self._connected:
            self._lose("")
            self._try(self._number)

    def _lose(self, how: str) -> None:
        self._connected = self._open = False
        self._failed = 0
        self._number += 1
        self._note("link-closed", how)

    def _try(self, number: int) -> None:
        """Try to connect."""
        if number != self._number or self._connected:
            return
        if self._source in self._down:
            self._failed += 1
            if self._failed >= self._attempts:
                self._turn()
            else:
                self._clock.at(self._clock.now + self._retry_s, self._try, number)
            return
        self._number += 1
        self._clock.at(self._clock.now + _ROUND_TRIPS * self._rtt_s, self._begin, self._number)

    def _turn(self) -> None:
        """Turn to the next node of the list."""
        follows = self._follows
        self._source = follows[(follows.index(self._source) + 1) % len(follows)]
        self._failed = 0
        self._number += 1
        self._clock.at(self._clock.now + self._retry_s, self._try, self._number)

    def _begin(self, number: int) -> None:
        if number != self._number:
            return
        if self._source in self._down:
            self._try(number)
            return
        self._connected = self._open = True
        self._commits_s[self._source] = self._clock.now
        self._note("link-open")
        for fate in list(self._fates.kept):
            if fate.nodes >> self._source & 1:
                self._send(fate)

    def _note(self, what: str, how: str = "") -> None:
        if self._timeline is not None:
            self._timeline.note(self.name, what, (self._source,), how)

    def _send(self, fate: Fate) -> None:
        if fate in self._leaves_s or fate.nodes & self._fates.elsewhere:
            return
        arrival_s = self._link.arrival(fate.size_bytes, self._clock.now)
        self._leaves_s[fate] = leaves_s = arrival_s - 0.5 * self._rtt_s
        if leaves_s <= self._clock.now + _ROUNDING_S:
            self._left((fate, leaves_s))
        else:
            self._clock.at(leaves_s, self._left, (fate, leaves_s))

    def _left(self, leaves: tuple[Fate, float]) -> None:
        """A transaction is on its way, and will be in the relay log of the other cluster."""
        fate, leaves_s = leaves
        if self._leaves_s.get(fate) != leaves_s:  # its node has ended before
            return
        del self._leaves_s[fate]
        if fate in self._missing:
            self._count()
            del self._missing[fate]
            waited_s = self._clock.now - fate.answered_s
            if self._clock.now >= self._start_s:
                self._longest_s = max(self._longest_s, waited_s)
            self._tell(waited_s)
        fate.left_s = self._clock.now
        fate.nodes |= self._fates.elsewhere
        fate.settle()

    def _tell(self, waited_s: float) -> None:
        """One that leaves so long after its answer, or before it."""
        if self._clock.now >= self._start_s:
            self._late.add(max(0.0, waited_s + 0.5 * self._rtt_s))

    # -- what it lacks ---------------------------------------------------------------------------

    def answered(self, fate: Fate) -> None:
        """A client is told that a transaction is committed."""
        if fate.nodes & self._fates.elsewhere:
            self._tell(fate.left_s - self._clock.now)
            return
        self._count()
        self._missing[fate] = None

    def _count(self) -> None:
        now = self._clock.now
        if now > self._counted_s + _ROUNDING_S:
            self._sum += len(self._missing) * (now - self._counted_s)
            self.most = max(self.most, len(self._missing))
            self._counted_s = now

    def _look(self, number: int) -> None:
        self.at_faults[number] = self.missing

    @property
    def missing(self) -> Missing:
        """What is missing now."""
        if not self._missing:
            return Missing(0, 0.0)
        answers_s = [fate.answered_s for fate in (next(iter(self._missing)),
                                                  next(reversed(self._missing)))]  # fmt: skip
        waits_s, span_s = self._clock.now - answers_s[0], answers_s[1] - answers_s[0]
        return Missing(len(self._missing), waits_s, span_s)

    @property
    def mean(self) -> float:
        """How many were missing in the mean of the measured time up to now."""
        self._count()
        spent_s = self._clock.now - self._start_s
        return self._sum / spent_s if spent_s > 0.0 else 0.0

    @property
    def longest_s(self) -> float:
        """How long one was missing at most, up to now, in seconds."""
        return max(self._longest_s, self.missing.seconds)
