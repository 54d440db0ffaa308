"""A member of an EVS group that computes ahead what it does with the messages that reach it."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappush
from itertools import islice
from math import inf
from operator import itemgetter
from typing import Any, Final

from simrep.modelling import BookedCores, Clock, Coming, DirectMesh
from simrep.models.galera.gcomm.evs import Evs, EvsOptions
from simrep.models.galera.gcomm.view import EvsMessage

__all__ = ["QuietEvs"]

_ARRIVAL: Final = itemgetter(0)
_MOST: Final = 4096  # bookings of the thread that are kept


# A message that was handled before its time, and how to take that back: when it is received, the
# message, when the thread begins with it; how it was before: when the thread was free, what it had
# to do beside and when it had begun, what was seen of the sender, and reported by it.
_Ahead = tuple[float, Coming, float, float, float, float, int, int]


class QuietEvs(Evs):
    """A member whose thread never has to wait for a core, and whose messages are known when sent.

    Most messages have no effect that anybody could see: they tell of one member what has to be
    told of all. Such a message is handled together with those before and behind it; only at the end
    of one that has this member send or deliver something, there is an event of the clock. When
    something else has it send (a timer, or its own node), what was handled before its time is taken
    back, and done again.

    Parameters
    ----------
    cores : BookedCores
        The group communication is the last of their threads.
    """

    def __init__(
        self,
        cores: BookedCores,
        clock: Clock,
        mesh: DirectMesh,
        size: int,
        options: EvsOptions,
        keepalive_at_s: float | None = None,
    ) -> None:
        super().__init__(clock, mesh, size, options, keepalive_at_s)
        self._direct = mesh
        mesh.charge = self._charge
        self.cores = cores
        self._last_thread = thread = cores.threads[-1]
        self._slice_s = thread.slice_s
        self._ahead_s = mesh.least_delay_s  # nothing that is not yet sent arrives earlier
        self._aheads: list[_Ahead] = []
        self._handling = False
        self.began_s = -1.0  # when the thread began what it has begun last
        self._free_s = -1.0  # when it has done that
        self._extra_s = 0.0  # what it has to do then, beside the next message
        self._serving: Coming | None = None  # was taken back while it was being received
        self._received = 0
        # How many members have been seen, or have reported, no further than the last of them;
        # the first is negative when both have to be counted.
        self._last_seen = self._last_reported = size
        self.goes_on: bool | None = None  # who has it send is on a core, and uses it further
        # -- the inbox
        self.receive_s, self.byte_s = mesh.work()
        self.coming: list[Coming] = []
        self.sorted = True
        self.last_s = -1.0
        self.wake_s = inf

    def on_settle(self, settle: Callable[[], object]) -> None:
        """Have ``settle()`` count what has happened until now."""
        self._settle_node = settle

    def arm(self, when: float) -> None:
        """See ``Inbox.arm``."""
        self.wake_s = when
        self._clock.at(when, self._wake, when)

    def _wake(self, when: float) -> None:
        """Go on with the messages, if it has not turned out that this had to be done earlier."""
        if when == self.wake_s:
            self.wake_s = inf
            self._proceed()
            if len(self._last_thread.starts) > _MOST:
                self._settle_node()

    def send(self, payload: Any, size_bytes: int) -> bool:
        """See ``Evs.send``."""
        self._take_back()
        sent = super().send(payload, size_bytes)
        self._last_seen = -1
        self._proceed()
        return sent

    def _keepalive(self, argument: None) -> None:
        self._take_back()
        super()._keepalive(argument)
        self._last_seen = -1
        self._proceed()

    def settle(self) -> None:
        """Count what has happened until now."""
        self._take_back()
        now = self._clock.now
        self._direct.received = self._received + sum(one[0] < now for one in self.coming)
        self.cores.settle()
        self._proceed()

    def run(self, seconds: float, call: Callable[[Any], object], argument: Any = None) -> None:
        """Let a thread that is woken use a core for ``seconds``, then ``call(argument)``."""
        self.cores.run(seconds, self._woken, (call, argument))

    def _woken(self, work: tuple[Callable[[Any], object], Any]) -> None:
        self.goes_on = False
        work[0](work[1])
        self.goes_on = None

    # -- the thread ----------------------------------------------------------------------------

    def _charge(self, seconds: float) -> None:
        """The thread has more to do: it sends."""
        now = self._clock._now
        if self._handling or self._free_s > now:
            self._extra_s += seconds
        else:
            # A thread that has a core gives it to this one, when it has gone on with another.
            thread = self.cores.threads[0] if self.goes_on is None else self._last_thread
            if self.goes_on is not False:
                thread.visits.append(now)
            self.began_s = now
            self._free_s = thread.book(now, seconds)

    def _proceed(self) -> None:
        """Handle what is received by now, and what nobody can see; wake up for the rest."""
        now = self._clock._now
        coming, aheads = self.coming, self._aheads
        if aheads and aheads[-1][0] <= now:
            aheads.clear()
        if not self.sorted:
            coming.sort(key=_ARRIVAL)
            self.sorted = True
        if self._serving is not None:
            if self._free_s > now:
                self._wake_at(self._free_s)
                return
            message, self._serving = self._serving, None
            self._handle(message[2], message[3])
        taken = 0
        horizon_s = now + self._ahead_s
        thread, slice_s = self._last_thread, self._slice_s
        content: EvsMessage
        while taken < len(coming):
            message = coming[taken]
            arrival_s, seconds, content, relayed, sent_s = message
            free_s = self._free_s
            if arrival_s > horizon_s:  # another may arrive before
                self._wake_at((arrival_s if arrival_s > free_s else free_s) + seconds)
                break
            if content.last <= self._last_sent and not self._queue:
                if self._last_seen < 0:
                    self._count()
                last_of_all = (
                    self._last_reported == 1
                    and content.aru > self._safe
                    and self._reported[content.source] == self._safe
                ) or (
                    self._last_seen == 1
                    and content.last >= 0
                    and self._seen[content.source] == self._aru
                )
                if not last_of_all:
                    silent = self._take_silent(taken, now)
                    if silent > taken:
                        taken = silent
                        continue
            if self._extra_s or seconds > slice_s:
                start_s, seconds, visit, rests = self._booking(message)
                end_s = thread.end_s(start_s, seconds)
                if end_s > now:
                    self._wake_at(end_s)
                    break
                self._book(start_s, seconds, visit=visit, rests=rests)
            else:
                waited = arrival_s < free_s or (arrival_s == free_s and sent_s < self.began_s)
                start_s = free_s if waited else arrival_s
                end_s = start_s + seconds
                if end_s > now:
                    self._wake_at(end_s)
                    break
                if not waited:
                    thread.visits.append(start_s)
                thread.starts.append(start_s)
                thread.seconds.append(seconds)
                self.began_s = start_s
                self._free_s = end_s
            taken += 1
            self._handle(content, relayed)
        self._received += taken
        del coming[:taken]

    def _take_silent(self, first: int, now: float) -> int:
        """Handle those of the messages from ``first`` on of which nobody can see anything.

        Such a one changes nothing but what is known of its sender. Nothing is missing here then,
        nor would what is sent on another occasion meanwhile become another. Returns which is the
        next.
        """
        last_sent = self._last_sent
        if self._queue or last_sent < self._max_seen:
            return first
        horizon_s = now + self._ahead_s
        coming, aheads, thread = self.coming, self._aheads, self._last_thread
        starts, lasts, visits, slice_s = thread.starts, thread.seconds, thread.visits, self._slice_s
        all_seen, all_reported = self._seen, self._reported
        own_aru, safe = self._aru, self._safe
        last_seen, last_reported = self._last_seen, self._last_reported
        free_s, extra_s, began_s = self._free_s, self._extra_s, self.began_s
        taken = first
        content: EvsMessage
        for message in islice(coming, first, None):
            arrival_s, seconds, content, relayed, sent_s = message
            source, last, aru = content.source, content.last, content.aru
            seen, reported = all_seen[source], all_reported[source]
            if (
                arrival_s > horizon_s
                or relayed
                or last > last_sent
                or (last_seen == 1 and last >= 0 and seen == own_aru)
                or (last_reported == 1 and aru > safe and reported == safe)
            ):
                break
            taken += 1
            if extra_s or seconds > slice_s:
                self._free_s, self._extra_s, self.began_s = free_s, extra_s, began_s
                start_s, seconds, visit, rests = self._booking(message)
                end_s = thread.end_s(start_s, seconds)
                if end_s > now:
                    aheads.append(
                        (end_s, message, start_s, free_s, extra_s, began_s, seen, reported)
                    )
                self._book(start_s, seconds, visit=visit, rests=rests)
                extra_s = 0.0
            else:
                if arrival_s > free_s or (arrival_s == free_s and sent_s >= began_s):
                    start_s = arrival_s
                    visits.append(arrival_s)
                else:
                    start_s = free_s
                end_s = start_s + seconds
                if end_s > now:
                    aheads.append((end_s, message, start_s, free_s, 0.0, began_s, seen, reported))
                starts.append(start_s)
                lasts.append(seconds)
            began_s = start_s
            free_s = end_s
            if last >= 0:
                all_seen[source] = last
                if seen == own_aru:
                    last_seen -= 1
                if content.payloads:
                    heappush(self._undelivered, (content.first, source, content))
            if aru > reported:
                all_reported[source] = aru
                if reported == safe:
                    last_reported -= 1
        self._last_seen, self._last_reported = last_seen, last_reported
        self._free_s, self._extra_s, self.began_s = free_s, extra_s, began_s
        return taken

    def _wake_at(self, when: float) -> None:
        if when < self.wake_s:
            self.arm(when)

    def _booking(self, message: Coming) -> tuple[float, float, bool, bool]:
        """When the thread gets round to a message, and how long it takes.

        Whether it comes to the cores anew for it, and whether it first does what is left to do.
        """
        free_s, extra_s = self._free_s, self._extra_s
        arrival_s, seconds, _, _, sent_s = message
        if arrival_s < free_s or (arrival_s == free_s and sent_s < self.began_s):
            return free_s, seconds + extra_s if extra_s else seconds, False, False
        if not extra_s:
            return arrival_s, seconds, True, False
        rested_s = self._last_thread.end_s(free_s, extra_s)
        if arrival_s < rested_s or (arrival_s == rested_s and sent_s < free_s):
            return rested_s, seconds, False, True
        return arrival_s, seconds, True, True

    def _book(self, start_s: float, seconds: float, *, visit: bool, rests: bool) -> None:
        thread = self._last_thread
        if rests:
            thread.book(self._free_s, self._extra_s)
        if visit:
            thread.visits.append(start_s)
        self.began_s = start_s
        self._free_s = thread.book(start_s, seconds)
        self._extra_s = 0.0

    def _take_back(self) -> None:
        """Be as the member is now: of what was handled ahead nothing has happened yet."""
        now = self._clock._now
        thread = self._last_thread
        while self._aheads and self._aheads[-1][0] > now:
            _, coming, start_s, free_s, extra_s, began_s, seen, reported = self._aheads.pop()
            content = coming[2]
            self._seen[content.source] = seen
            self._reported[content.source] = reported
            if content.payloads:
                self._undelivered.remove((content.first, content.source, content))
                heapify(self._undelivered)
            if start_s > now:
                thread.cancel_from(free_s if extra_s else start_s)
                self._free_s, self._extra_s, self.began_s = free_s, extra_s, began_s
                self.coming.insert(0, coming)
                self._received -= 1
            else:
                self._serving = coming
        self._last_seen = -1
        if self._serving is not None:
            return
        if not self.sorted:
            self.coming.sort(key=_ARRIVAL)
            self.sorted = True
        if self.coming and self.coming[0][0] <= now:
            message = self.coming[0]
            start_s, seconds, visit, rests = self._booking(message)
            if start_s <= now:
                self._book(start_s, seconds, visit=visit, rests=rests)
                self._serving = message
                self._received += 1
                del self.coming[0]
                return
        if self._extra_s and self._free_s <= now:
            self.began_s = self._free_s
            self._free_s = thread.book(self._free_s, self._extra_s)
            self._extra_s = 0.0

    # -- messages ------------------------------------------------------------------------------

    def _handle(self, message: EvsMessage, relayed: int) -> None:
        self._handling = True
        if relayed:
            self._direct.relay(message, relayed)
        self.receive(message)
        self._handling = False
        self._last_seen = -1

    def _count(self) -> None:
        self._last_seen = self._seen.count(self._aru)
        self._last_reported = self._reported.count(self._safe)
