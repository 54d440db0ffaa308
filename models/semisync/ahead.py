"""Acknowledgements that are known ahead of time: see ``models/asynchronous/ahead.py``."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import Any

from simrep.modelling import Ahead, Clock, Cluster, Host, Link
from simrep.models.asynchronous.ahead import AheadReplica, Sent
from simrep.models.mysql.server import MysqlServer

from .acknowledgements import Acknowledgements, Call, Changed
from .options import SemisyncCosts, SemisyncOptions
from .replica import REPLY_BYTES

__all__ = ["AheadAcknowledgements", "AheadReceiver", "AheadSemisyncReplica"]

_US = 1e-6


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
        # Time, number, and what: a transaction is sent, or a replica has acknowledged.
        self._entered: list[tuple[float, int, Sent | None, int, int]] = []
        self._number = 0
        self._due_s = inf

    def sends(self, messages: list[Sent]) -> None:
        """Transactions are sent at their times; then it is known whether replies are wanted."""
        for sent in messages:
            self._number += 1
            heappush(self._entered, (sent.sent_s, self._number, sent, 0, 0))

    def report_at(self, reports: list[tuple[float, int, int]]) -> None:
        """``report`` at times to come: time, replica and position."""
        for when_s, replica, position in reports:
            self._number += 1
            heappush(self._entered, (when_s, self._number, None, replica, position))
        # Those that were entered before are earlier, and have been looked at.
        if self._waiters and self._due_s == inf:
            least = self._waiters[0].position
            for when_s, _, position in reports:
                if position >= least:
                    self._due_s = when_s
                    self._clock.at(when_s, self._due)
                    break

    def know(self) -> None:
        """Let take place what has been until now."""
        entered, now = self._entered, self._clock._now
        while entered and entered[0][0] <= now:
            _, _, sent, replica, position = heappop(entered)
            if sent is None:
                self.report(replica, position)
            elif self.on:  # and enabled: as ``wanted`` says
                position = sent.written.seqno
                if position > self._replied and position >= self._least:
                    sent.wanted = True
                    self.requests += 1
            else:
                sent.wanted = self.wanted(sent.written.seqno)

    def _due(self, _: None) -> None:
        self._due_s = inf
        self.know()
        self._expect_release()

    def _expect_release(self) -> None:
        """Have an event when a reply may let the first go on who waits."""
        if not self._waiters:
            return
        least = self._waiters[0].position
        times = [entry[0] for entry in self._entered if entry[2] is None and entry[4] >= least]
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


class AheadReceiver(Ahead):
    """The thread that reads replies: it does what it has there in one event."""

    def __init__(
        self,
        host: Host,
        acknowledgements: AheadAcknowledgements,
        read_s: float,
        links: dict[int, Link],
        numbers: dict[int, int],
    ) -> None:
        self._host = host
        self._acknowledgements = acknowledgements
        self._read_s = read_s
        self._links = links
        self._numbers = numbers
        self._inbox: list[tuple[float, int, int, int]] = []
        self._number = 0
        self._wakes_s = inf
        self._busy = False

    def sends(self, messages: list[Sent]) -> None:
        """See ``Replies.sends``."""
        self._acknowledgements.sends(messages)

    def know(self) -> None:
        """See ``Replies.know``."""
        self._acknowledgements.know()

    def reply(self, replica: int, replies: list[tuple[int, float]]) -> None:
        """See ``Replies.reply``."""
        link, number, inbox = self._links[replica], self._numbers[replica], self._inbox
        for position, when_s in replies:
            self._number += 1
            arrival_s = link.arrival(REPLY_BYTES, when_s)
            heappush(inbox, (arrival_s, self._number, number, position))
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
            self._busy = True
            self._host.run_ahead(self)

    def plan(self, more_s: float, used_s: float, busy_s: float) -> tuple[float, float, float]:
        """See ``Ahead.plan``: later replies may come from others before those that it knows."""
        now = end_s = self._host.clock._now
        slice_s, inbox = self._host.slice_s, self._inbox
        reports: list[tuple[float, int, int]] = []
        while inbox and inbox[0][0] <= now and (used_s < slice_s or end_s == now):
            seconds = self._read_s + more_s
            more_s = 0.0
            if seconds > slice_s:
                if end_s == now:
                    return -1.0, seconds, busy_s
                break
            used_s += seconds
            busy_s += seconds
            end_s += seconds
            _, _, replica, position = heappop(inbox)
            reports.append((end_s, replica, position))
        self._acknowledgements.report_at(reports)
        return end_s, used_s, busy_s

    def planned(self, _: None) -> None:
        """See ``Ahead.planned``."""
        self._acknowledgements.know()  # while it has its core
        now, inbox = self._host.clock._now, self._inbox
        if inbox and inbox[0][0] <= now:
            self._host.go_on_ahead(self)
            return
        self._busy = False
        self._wake_for_first()

    def done(self, _: None) -> None:
        """See ``Ahead.done``."""
        _time, _number, replica, position = heappop(self._inbox)
        self._acknowledgements.know()
        self._acknowledgements.report(replica, position)
        self.planned(None)


class AheadSemisyncReplica(AheadReplica):
    """Its IO thread acknowledges."""

    def __init__(
        self, cluster: Cluster, server: MysqlServer, options: SemisyncOptions, costs: SemisyncCosts
    ) -> None:
        super().__init__(cluster, server, options, costs, costs.reply_us * _US)
