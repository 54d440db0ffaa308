"""One direction of a TCP connection: in order, with bandwidth, window and loss."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Stream
from simrep.network.latency import Sampler

__all__ = ["Link", "Tcp"]

_BURST_SEGMENTS = 44  # what is acknowledged together: 64 KB, as Linux hands it to the card


@dataclass(frozen=True, slots=True)
class Tcp:
    """What a TCP sender adds to the latency of large or lost messages.

    Parameters
    ----------
    segment_bytes : int
        Maximum segment size; a message of several segments can lose any of them.
    initial_window_segments : int
        Segments that may be sent before the first acknowledgement (RFC 6928: 10). The window
        grows by what is acknowledged (slow start) and returns to its initial value when the
        connection was idle for longer than the retransmission timeout (RFC 5681 section 4.1).
    window_limit_bytes : int
        Largest window (socket buffers). Linux tunes it up to 4-6 MB.
    minimum_timeout_s : float
        What the retransmission timeout is above the round trip. Linux takes the smoothed round
        trip and a term for its variance, as RFC 6298 does, which is not less than 0.2 s; on a
        path whose delay varies little it is that.

    Notes
    -----
    Simplified: a lost segment of a message with at least three segments behind it is repaired
    by fast retransmit after one round trip, any other loss by the timeout, doubled on repetition;
    the congestion window does not shrink on loss.
    """

    segment_bytes: int = 1448
    initial_window_segments: int = 10
    window_limit_bytes: int = 4 << 20
    minimum_timeout_s: float = 0.2


class Link:
    """Ordered byte stream from one node to another.

    Parameters
    ----------
    clock : Clock
    base_s : float
        One-way delay in seconds, if constant.
    back_s : float
        One-way delay of the acknowledgements in seconds.
    sampler : callable or None
        Draws the one-way delay of a message when it is not constant.
    bytes_per_s : float
        Bandwidth of the path; messages are serialised one after the other.
    loss : float
        Probability that a segment is lost.
    coin : Stream or None
        Uniform numbers that decide the losses; required when ``loss`` is positive.
    tcp : Tcp
    """

    __slots__ = (
        "_arrival",
        "_back",
        "_base",
        "_clock",
        "_coin",
        "_free",
        "_in_flight",
        "_limit",
        "_loss",
        "_per_byte",
        "_sampler",
        "_sent_at",
        "_tcp",
        "_unacked",
        "_window",
        "bytes",
        "messages",
    )

    def __init__(
        self,
        clock: Clock,
        base_s: float,
        *,
        back_s: float | None = None,
        sampler: Sampler | None = None,
        bytes_per_s: float = float("inf"),
        loss: float = 0.0,
        coin: Stream | None = None,
        tcp: Tcp | None = None,
    ) -> None:
        self._clock = clock
        self._base = base_s
        self._back = base_s if back_s is None else back_s
        self._sampler = sampler
        self._per_byte = 1.0 / bytes_per_s
        self._loss = loss
        self._coin = coin
        self._tcp = tcp or Tcp()
        self._limit = self._tcp.initial_window_segments * self._tcp.segment_bytes
        self._window = self._limit
        self._unacked: deque[tuple[float, int]] = deque()  # (acknowledged at, bytes)
        self._in_flight = 0
        self._sent_at = 0.0
        self._free = 0.0
        self._arrival = 0.0
        self.messages = 0
        self.bytes = 0

    def arrival(self, size_bytes: int, at: float) -> float:
        """Put a message on the link at time ``at``; returns when its last byte arrives."""
        self.messages += 1
        self.bytes += size_bytes
        delay = self._base if self._sampler is None else self._sampler()
        start = self._free if self._free > at else at
        if self._unacked or size_bytes > self._limit:
            self._free = self._pass_window(size_bytes, start, delay)
        else:
            self._free = start + size_bytes * self._per_byte
            if size_bytes > 4 * self._tcp.segment_bytes:
                self._unacked.append((start + delay + self._back, size_bytes))
                self._in_flight += size_bytes
                self._sent_at = start
        arrival = self._free + delay
        if self._loss:
            arrival += self._repair(size_bytes, delay)
        if arrival < self._arrival:  # TCP never reorders: jitter cannot overtake
            arrival = self._arrival
        self._arrival = arrival
        return arrival

    def _pass_window(self, size_bytes: int, start: float, delay: float) -> float:
        """When the last byte has left, given slow start and what is still unacknowledged."""
        round_trip = delay + self._back
        unacked = self._unacked
        idle = start - self._sent_at
        if not unacked or unacked[-1][0] <= start:
            unacked.clear()
            self._in_flight = 0
            if idle > round_trip + self._tcp.minimum_timeout_s:
                self._window = self._limit
        left = size_bytes
        burst = _BURST_SEGMENTS * self._tcp.segment_bytes
        limited = False
        while left:
            while unacked and unacked[0][0] <= start:
                acked = unacked.popleft()[1]
                self._in_flight -= acked
                if limited and self._window < self._tcp.window_limit_bytes:
                    self._window = min(self._window + acked, self._tcp.window_limit_bytes)
            room = self._window - self._in_flight
            if room >= self._tcp.segment_bytes or room >= left:
                chunk = min(room, left, burst)
                left -= chunk
                unacked.append((start + chunk * self._per_byte + round_trip, chunk))
                self._in_flight += chunk
                self._sent_at = start
                start += chunk * self._per_byte
            else:
                limited = True
                start = max(start, unacked[0][0])
        return start

    def _repair(self, size_bytes: int, delay: float) -> float:
        """Extra delay from lost segments, as the receiver's in-order stream shows it."""
        assert self._coin is not None
        round_trip = delay + self._back
        segments = -(-max(size_bytes, 1) // self._tcp.segment_bytes)
        extra = 0.0
        for position in range(segments):
            timeout = round_trip + self._tcp.minimum_timeout_s
            wait = 0.0
            first = True
            while self._coin() < self._loss:
                if first and segments - position > 3:
                    wait += round_trip
                else:
                    wait += timeout
                    timeout *= 2
                first = False
            extra = max(extra, wait)
        return extra
