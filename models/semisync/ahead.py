"""Acknowledgements that are known ahead of time: see ``models/asynchronous/ahead.py``."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from math import inf
from typing import Any, Final

from simrep.modelling import Clock, Cluster, Host, Link
from simrep.models.asynchronous.ahead import AheadReplica, EqualJobs, Sent
from simrep.models.mysql.server import MysqlServer

from .acknowledgements import Acknowledgements, Call, Changed
from .options import SemisyncCosts, SemisyncOptions
from .replica import REPLY_BYTES

__all__ = ["AheadAcknowledgements", "AheadReceiver", "AheadSemisyncReplica"]

_US: Final = 1e-6


Reply = tuple[float, int, int, int]
"""When it arrives in seconds, its number among all, and what it says: replica and position."""


class AheadAcknowledgements(Acknowledgements):
    """What happens to them is entered for its time, and takes place when somebody looks.

    There is an event only for what may let somebody go on who waits.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        replicas: int,
        enabled: bool = True,
        count: int = 1,
        timeout_s: float = 10.0,
        wait_no_replica: bool = True,
        changed: Changed | None = None,
    ) -> None:
        super().__init__(
            clock,
            replicas=replicas,
            enabled=enabled,
            count=count,
            timeout_s=timeout_s,
            wait_no_replica=wait_no_replica,
            changed=changed,
        )
        # Time, number, and what: a transaction is sent, or enough replicas have acknowledged.
        self._entered: list[tuple[float, int, Sent | None, int]] = []
        self._number = 0
        # Of the latest reports, those that change nothing while it is on: time, and what is decided
        self._repeats: list[tuple[float, int]] = []
        self._due_s = inf

    def sends(self, messages: list[Sent]) -> None:
        """Transactions are sent at their times; then it is known whether replies are wanted."""
        entered, number = self._entered, self._number
        for sent in messages:
            number += 1
            heappush(entered, (sent.sent_s, number, sent, 0))
        self._number = number

    def report_at(self, times_s: list[float], replies: deque[Reply]) -> None:
        """``report`` the first replies at times to come."""
        repeats, on = self._repeats, self.on
        if repeats:  # they are earlier than now
            repeats.clear()
        acknowledged, agreed = self._acknowledged, self._agreed
        for when_s in times_s:
            _, _, replica, position = replies.popleft()
            if position <= agreed:
                if position > acknowledged[replica]:
                    acknowledged[replica] = position
                if on:
                    repeats.append((when_s, agreed))
                    continue
            else:
                before, agreed = agreed, self._agreed_with(replica, position)
                if on and agreed == before:
                    repeats.append((when_s, agreed))
                    continue
            self._number = number = self._number + 1
            heappush(self._entered, (when_s, number, None, agreed))
            # What was entered before is earlier, and has been looked at.
            if self._waiters and self._due_s == inf and agreed >= self._waiters[0].position:
                self._due_s = when_s
                self._clock.at(when_s, self._due)

    def know(self) -> None:
        """Let take place what has been until now."""
        entered, now = self._entered, self._clock._now
        while entered and entered[0][0] <= now:
            _, _, sent, decided = heappop(entered)
            if sent is None:
                self._decide(decided)
            elif self.on:  # and enabled: as ``wanted`` says
                position = sent.written.seqno
                if position > self._replied and position >= self._least:
                    sent.wanted = True
                    self.requests += 1
            else:
                sent.wanted = self.wanted(sent.written.seqno)

    def _switch_off(self) -> None:
        for when_s, decided in self._repeats:  # from now on they may end that
            if when_s > self._clock._now:
                self._number += 1
                heappush(self._entered, (when_s, self._number, None, decided))
        self._repeats.clear()
        super()._switch_off()

    def _due(self, _: None) -> None:
        self._due_s = inf
        self.know()
        self._expect_release()

    def _expect_release(self) -> None:
        """Have an event when a reply may let the first go on who waits."""
        if not self._waiters:
            return
        least = self._waiters[0].position
        times = [entry[0] for entry in self._entered if entry[3] >= least]
        when_s = min(times, default=inf)
        if when_s < self._due_s:
            self._due_s = when_s
            self._clock.at(when_s, self._due)

    def written(self, position: int) -> None:
        """See ``Acknowledgements.written``."""
        self.know()
        super().written(position)

    def wait(self, position: int, call: Call, argument: Any = None) -> bool:
        """See ``Acknowledgements.wait``."""
        self.know()
        waits = super().wait(position, call, argument)
        if waits and self._waiters[0].position == position:
            self._expect_release()
        return waits

    def _time_is_over(self, none: None) -> None:
        self.know()
        super()._time_is_over(none)


class AheadReceiver(EqualJobs):
    """The thread that reads replies: it does what it has there in one event."""

    __slots__ = (
        "_acknowledgements", "_arrived", "_final_s", "_inbox", "_least_s", "_links", "_number",
        "_numbers", "_wakes_s",
    )  # fmt: skip

    def __init__(
        self,
        host: Host,
        acknowledgements: AheadAcknowledgements,
        read_s: float,
        links: dict[int, Link],
        numbers: dict[int, int],
    ) -> None:
        super().__init__(host, read_s)
        self._acknowledgements = acknowledgements
        self._links = links
        self._numbers = numbers
        self._inbox: list[Reply] = []
        self._arrived: deque[Reply] = deque()
        self._least_s = min(link.least_s for link in links.values())  # of the way of a reply
        self._final_s = 0.0  # until then no reply comes of which it does not know
        self._number = 0
        self._wakes_s = inf

    def sends(self, messages: list[Sent]) -> None:
        """See ``Replies.sends``."""
        self._acknowledgements.sends(messages)

    def know(self) -> None:
        """See ``Replies.know``."""
        self._acknowledgements.know()

    def reply(self, replica: int, positions: list[int], times_s: list[float]) -> None:
        """See ``Replies.reply``."""
        replica_number, inbox, number = self._numbers[replica], self._inbox, self._number
        arrivals_s = self._links[replica].arrivals([REPLY_BYTES] * len(times_s), times_s)
        for position, arrival_s in zip(positions, arrivals_s, strict=True):
            number += 1
            heappush(inbox, (arrival_s, number, replica_number, position))
        self._number = number
        self._wake_for_first()

    def _wake_for_first(self) -> None:
        inbox = self._inbox
        if not self._busy and inbox and inbox[0][0] < self._wakes_s:
            self._wakes_s = inbox[0][0]
            self._host.clock.at(self._wakes_s, self._wake)

    def _wake(self, _: None) -> None:
        now = self._host.clock._now
        if self._wakes_s <= now:
            self._wakes_s = inf
        if not self._busy and self._inbox and self._inbox[0][0] <= now:
            self._begin()

    def _ready(self) -> int:
        now = self._host.clock._now
        self._final_s = now + self._least_s
        self._more(now)
        return len(self._arrived)

    def _more(self, until_s: float) -> int:
        """Others may come before those that it knows, but not sooner than a reply takes."""
        inbox, arrived = self._inbox, self._arrived
        if not inbox or inbox[0][0] > until_s:
            return 0
        if until_s > self._final_s:
            until_s = self._final_s
        before = len(arrived)
        while inbox and inbox[0][0] <= until_s:
            arrived.append(heappop(inbox))
        return len(arrived) - before

    def _do(self, ends_s: list[float]) -> None:
        self._acknowledgements.report_at(ends_s, self._arrived)

    def planned(self, _: None) -> None:
        """See ``Ahead.planned``."""
        self._acknowledgements.know()  # while it has its core
        inbox = self._inbox
        if self._arrived or (inbox and inbox[0][0] <= self._host.clock._now):
            self._host.go_on_ahead(self)
        else:
            self._busy = False
            self._wake_for_first()


class AheadSemisyncReplica(AheadReplica):
    """Its IO thread acknowledges."""

    def __init__(
        self, cluster: Cluster, server: MysqlServer, options: SemisyncOptions, costs: SemisyncCosts
    ) -> None:
        super().__init__(cluster, server, options, costs, costs.reply_us * _US)
