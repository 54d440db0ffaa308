"""Extended virtual synchrony: safe total order on one shared sequence axis.

The automaton of Galera's gcomm (``gcomm/src/evs_proto.cpp``) in its operational state. All
members number their messages on one axis and each covers every number, with a payload or with an
empty completion. A message is delivered when every member has reported that it has everything up
to it: there is no majority shortcut, the slowest member bounds every delivery.

Links lose nothing for good (TCP), so that a member's messages always arrive complete and in order
and no retransmission is asked for, and the first view lasts for ever. ``gcomm.changing_evs`` has
other views, and links that lose messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from math import inf
from typing import Any, Final

from simrep.modelling import Clock, Deliver, Mesh, deque
from simrep.models.galera.gcomm.view import EvsMessage, View

__all__ = ["AGGREGATE_BYTES", "Evs", "EvsOptions"]

_HEADER_BYTES: Final = 120  # EVS user header, gmcast, frame with checksum, TCP/IP
_GAP_BYTES: Final = 110
AGGREGATE_BYTES: Final = 8  # header of one message inside an aggregate
# At most 128 KiB may ask receivers to hold their completions back.
_FEEDBACK_BYTES: Final[float] = 1 << 17
_MAX_RANGE: Final = 0xFF  # the range of a message is one byte on the wire


@dataclass(frozen=True, slots=True)
class EvsOptions:
    """Settings of the group communication, with the provider's defaults."""

    # Sequence numbers past the safe one that may be in use when the output queue is flushed, and
    # for a message that meets an empty queue.
    send_window: int = 4
    user_send_window: int = 2
    use_aggregate: bool = True  # pack queued messages into one, up to the mtu
    keepalive_period_s: float = 1.0  # between empty messages of every member, under load too
    mtu_bytes: int = 32600  # larger writesets travel as fragments; gcomm: 32768 less headers
    # What of the output queue makes ``send`` refuse: bytes from 25.3.29 and 26.4.4 on, 128 messages
    # before (0: no limit). Versions that count messages hold completions back for any number of
    # bytes: both came with codership/galera issue 554.
    queue_limit_bytes: int = 1 << 20
    queue_limit_messages: int = 0
    # A window that is exhausted still acknowledges: from 25.3.22 on (July 2017; its change log has
    # it as GAL-521), and 26.4.
    gap_when_blocked: bool = True


def _ignore(*_: Any) -> None:
    pass


def _nothing() -> None:
    pass


class Evs:
    """One member of an EVS group."""

    def __init__(
        self,
        clock: Clock,
        mesh: Mesh,
        size: int,
        options: EvsOptions,
        keepalive_at_s: float | None = None,
    ) -> None:
        self._clock = clock
        self.mesh = mesh
        self.view = 0  # the present one, from 0
        self._options = options
        self._me = mesh.me
        self._seen = [-1] * size  # highest number seen from each member; nothing is ever missing
        self._reported = [-1] * size  # what each member last reported to have in full
        self._aru = -1  # all received up to here
        self._safe = -1  # all received by all, as far as this member knows
        self._max_seen = -1
        self._last_sent = -1
        self._queue: deque[tuple[Any, int]] = deque()  # what waits to be sent
        self._output_bytes = 0
        self._since_feedback = 0
        self._feedback_bytes = inf if options.queue_limit_messages else _FEEDBACK_BYTES
        self._undelivered: list[tuple[int, int, EvsMessage]] = []
        self._delivering = False
        self._deliver_all: Callable[[tuple[Any, ...]], object] | None = None
        self._tell_view: Callable[[View], object] = _ignore
        self._tell_sent: Callable[[tuple[Any, ...]], object] = _ignore
        # What the members of a view exchange of their applications; nothing if it is not set.
        self.report: Callable[[], Any] = _nothing
        self.held_back = False  # the application says itself when it sends again, by ``release``
        self._message: Callable[..., EvsMessage] = EvsMessage
        mesh.on_message(self.receive)
        if keepalive_at_s is not None:  # when this member sends its first
            clock.at(keepalive_at_s, self._keepalive)

    def on_deliver(self, deliver: Deliver) -> None:
        """Hand every ordered message to ``deliver(sender, payload)``."""
        self._deliver_to = self.application = deliver

    def on_deliver_all(self, deliver: Callable[[tuple[Any, ...]], object]) -> None:
        """Hand all payloads of an ordered message to ``deliver(payloads)`` instead."""
        self._deliver_all = deliver

    def on_view(self, call: Callable[[View], object]) -> None:
        """Hand every new view to ``call(view)``, at its place among the deliveries."""
        self._tell_view = call

    def on_send(self, call: Callable[[tuple[Any, ...]], object]) -> None:
        """Tell ``call(payloads)`` what leaves this member now, in one message."""
        self._tell_sent = call

    def on_report(self, report: Callable[[], Any]) -> None:
        """Let ``report()`` be told to all members of a new view: see ``View.reports``."""
        self.report = report

    def send(self, payload: Any, size_bytes: int) -> bool:
        """Send now if the window allows, else queue; False if the queue is full."""
        options = self._options
        if self._output_bytes >= options.queue_limit_bytes or (
            options.queue_limit_messages and len(self._queue) >= options.queue_limit_messages
        ):
            return False
        if self._queue or self._last_sent + 1 > self._safe + options.user_send_window:
            self._queue.append((payload, size_bytes))
            self._output_bytes += size_bytes
        else:
            self._send_user((payload,), size_bytes, options.user_send_window)
        return True

    @property
    def queued(self) -> int:
        """Messages waiting for the window, or for the next view."""
        return len(self._queue)

    def receive(self, message: EvsMessage) -> None:
        """Handle a message that has arrived."""
        if message.last < 0:
            self._handle_gap(message.source, message.aru)
            return
        source = message.source
        last = message.last
        self._seen[source] = last
        if last > self._max_seen:
            self._max_seen = last
        if message.payloads:
            heappush(self._undelivered, (message.first, source, message))
        before = self._aru
        self._aru = aru = min(self._seen)
        reported = self._reported
        if aru > reported[self._me] or message.aru > reported[source]:
            self._report(self._me, aru)
            self._report(source, message.aru)
        if not self._queue:
            if not message.more and self._last_sent < self._max_seen:
                self._complete()
            elif self._aru != before:
                self._send_gap()
        if self._queue and not self._flush() and self._options.gap_when_blocked:
            self._send_gap()
        self._deliver()

    def _handle_gap(self, source: int, aru: int) -> None:
        self._report(source, aru)
        if self._queue:
            self._flush()
        elif self._last_sent < self._max_seen:
            self._complete()
        self._deliver()

    def _report(self, member: int, aru: int) -> None:
        """``member`` has everything up to ``aru``."""
        reported = self._reported
        if aru > reported[member]:
            reported[member] = aru
            self._safe = min(reported)

    def _flush(self) -> bool:
        """Send from the output queue as far as the window allows; whether anything left it."""
        sent = False
        output = self._queue
        while output and self._last_sent + 1 <= self._safe + self._options.send_window:
            payload, size = output[0]
            count = 1
            if self._options.use_aggregate:
                total = size + AGGREGATE_BYTES
                for _, more in islice(output, 1, None):
                    total += more + AGGREGATE_BYTES
                    if total > self._options.mtu_bytes:
                        total -= more + AGGREGATE_BYTES
                        break
                    count += 1
                if count > 1:
                    size = total
            if count == 1:
                self._send_user((payload,), size, self._options.send_window, 1)
            else:
                batch = tuple([payload for payload, _ in islice(output, count)])
                self._send_user(batch, size, self._options.send_window, count)
            self._output_bytes -= size if count == 1 else size - count * AGGREGATE_BYTES
            for _ in range(count):
                output.popleft()
            sent = True
        return sent

    def _send_user(
        self, payloads: tuple[Any, ...], size: int, window: int, from_queue: int = 0
    ) -> None:
        """Send on the next number, and cover the numbers that others have used meanwhile."""
        first = last = self._last_sent + 1
        more = False
        if window < 0:  # keepalive: exempt from the window, but tells when the queue is long
            more = len(self._queue) > 1
        elif len(self._queue) > max(from_queue, 1) and first + 1 <= self._safe + window:
            more = self._since_feedback + size < self._feedback_bytes
        if more:
            self._since_feedback += size
        else:
            self._since_feedback = 0
            last = max(first, min(self._max_seen, first + _MAX_RANGE))
        if payloads and window >= 0:  # else it is the group's own
            self._tell_sent(payloads)
        self._emit(first, last, more, payloads, size)

    def _complete(self) -> None:
        """Cover all numbers that others have used, without a payload."""
        first = self._last_sent + 1
        self._since_feedback = 0
        self._emit(first, min(self._max_seen, first + _MAX_RANGE), False, (), 0)

    def _emit(
        self, first: int, last: int, more: bool, payloads: tuple[Any, ...], size: int
    ) -> None:
        me = self._me
        self._last_sent = last
        self._seen[me] = last
        if last > self._max_seen:
            self._max_seen = last
        self._aru = aru = min(self._seen)
        message = self._message(self.view, me, first, last, aru, more, payloads, size)
        if payloads:
            heappush(self._undelivered, (first, me, message))
        self._report(me, aru)
        self.mesh.broadcast(message, size + _HEADER_BYTES)
        if not self._delivering:
            self._deliver()

    def _send_gap(self) -> None:
        """Acknowledge. gcomm hands its own gap to itself, which may flush or complete."""
        gap = EvsMessage(self.view, self._me, 0, -1, self._aru, False, (), 0)
        self.mesh.broadcast(gap, _GAP_BYTES)
        self._handle_gap(self._me, self._aru)

    def _deliver(self) -> None:
        """Deliver by (number, member) all that is safe."""
        undelivered = self._undelivered
        if self._delivering or not undelivered or undelivered[0][0] > self._safe:
            return
        self._delivering = True
        while undelivered and undelivered[0][0] <= self._safe:
            _, source, message = heappop(undelivered)
            if self._deliver_all is not None:
                self._deliver_all(message.payloads)
                continue
            for payload in message.payloads:
                self._deliver_to(source, payload)
        self._delivering = False

    def _keepalive(self, _: None) -> None:
        self._send_user((), 0, -1)
        self._clock.at(self._clock.now + self._options.keepalive_period_s, self._keepalive)
