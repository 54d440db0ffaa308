"""One direction between two nodes: latency and jitter, TCP with its window, loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, log1p
from typing import Any, Final, Literal, Self

from simrep.kernel.clock import Clock
from simrep.kernel.deque import deque
from simrep.kernel.streams import Draw, Stream, Streams
from simrep.kernel.twin import twin

__all__ = ["LONGEST_TIMEOUT_S", "Jitter", "Latency", "Link", "Sampler", "Tcp"]


Sampler = Callable[[], float]

JitterKind = Literal["normal", "uniform", "lognormal", "gamma", "exponential", "empirical"]


@dataclass(frozen=True, slots=True)
class Jitter:
    """What varies on top of the base delay of a path."""

    # Shape. ``uniform`` is what ``tc netem delay D J`` adds, ``normal`` what it adds with
    # ``distribution normal``; they may shorten the delay, but never below zero. ``empirical`` draws
    # from ``samples_s``.
    kind: JitterKind
    mean_s: float = 0.0  # mean in seconds (``normal``, ``uniform``: usually 0)
    # Standard deviation in seconds; of ``uniform`` the half width, from ``mean_s - sd_s`` to
    # ``mean_s + sd_s``: with both shapes the J of netem.
    sd_s: float = 0.0
    samples_s: tuple[float, ...] = ()  # measured extra delays in seconds, for ``empirical``

    @property
    def longest_s(self) -> float:
        """What is drawn is longer less than once in a million billion times, in seconds.

        For ``gamma`` and ``exponential`` that is Bernstein's bound.
        """
        mean, sd = self.mean_s, self.sd_s
        if self.kind == "uniform":
            return mean + sd
        if self.kind == "normal":
            return mean + 8.0 * sd
        if self.kind == "lognormal":
            sigma, mu = self._of_logarithm()
            return exp(mu + 8.0 * sigma)
        if self.kind == "empirical":
            return max(self.samples_s)
        sd = mean if self.kind == "exponential" else sd
        return mean + 8.4 * sd + 35.0 * sd * sd / mean

    def _of_logarithm(self) -> tuple[float, float]:
        """Standard deviation and mean of the logarithm of what is ``lognormal``."""
        sigma2 = log1p((self.sd_s / self.mean_s) ** 2)
        return sigma2**0.5, log(self.mean_s) - sigma2 / 2

    def draw(self) -> Draw:
        """The block-drawing function of this distribution."""
        mean, sd = self.mean_s, self.sd_s
        if self.kind == "normal":
            return lambda generator, size: generator.normal(mean, sd, size)
        if self.kind == "uniform":
            return lambda generator, size: generator.uniform(mean - sd, mean + sd, size)
        if self.kind == "exponential":
            return lambda generator, size: generator.exponential(mean, size)
        if self.kind == "gamma":
            shape, scale = (mean / sd) ** 2, sd * sd / mean
            return lambda generator, size: generator.gamma(shape, scale, size)
        if self.kind == "lognormal":
            sigma, mu = self._of_logarithm()
            return lambda generator, size: generator.lognormal(mu, sigma, size)
        samples = self.samples_s
        return lambda generator, size: generator.choice(samples, size)


@dataclass(frozen=True, slots=True)
class Latency:
    """One-way latency of an ordered pair of nodes."""

    base_s: float  # constant part in seconds
    # Independent variable parts (the path's own, and one per emulated egress delay).
    jitter: tuple[Jitter, ...] = ()

    def sampler(self, streams: Streams, path: str) -> Sampler | None:
        """A function of no arguments that draws a delay; None when the delay is constant."""
        if not self.jitter:
            return None
        base = self.base_s
        draws = [
            streams.stream(f"{path}/{i}", jitter.draw()) for i, jitter in enumerate(self.jitter)
        ]
        if len(draws) == 1:
            one = draws[0]
            return lambda: max(0.0, base + one())
        return lambda: max(0.0, base + sum(draw() for draw in draws))


LONGEST_TIMEOUT_S: Final = 120.0
"""Longest time between two repetitions in seconds (Linux: TCP_RTO_MAX)."""
_BURST_SEGMENTS: Final = 44  # what is acknowledged together: 64 KB, as Linux hands it to the card


@dataclass(frozen=True, slots=True)
class Tcp:
    """What a TCP sender adds to the latency of large or lost messages.

    Notes
    -----
    Simplified: a lost segment of a message with at least three segments behind it is repaired
    by fast retransmit after one round trip, any other loss by the timeout, doubled on repetition;
    the congestion window does not shrink on loss.
    """

    # Maximum segment size; a message of several segments can lose any of them.
    segment_bytes: int = 1448
    # Segments that may be sent before the first acknowledgement (RFC 6928: 10). The window grows by
    # what is acknowledged (slow start) and returns to its initial value when the connection was
    # idle for longer than the retransmission timeout (RFC 5681 section 4.1).
    initial_window_segments: int = 10
    # Largest window (socket buffers). Linux tunes it up to 4-6 MB.
    window_limit_bytes: int = 4 << 20
    # What the retransmission timeout is above the round trip. Linux takes the smoothed round trip
    # and a term for its variance, as RFC 6298 does, which is not less than 0.2 s; on a path whose
    # delay varies little it is that.
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
        "_arrival", "_back", "_base", "_burst", "_clock", "_coin", "_free", "_in_flight",
        "_limit", "_loss", "_per_byte", "_remembered", "_sampler", "_sent_at", "_tcp", "_unacked",
        "_varies", "_window", "bytes", "messages",
    )  # fmt: skip

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
        self._varies = sampler is not None or loss > 0.0
        self._coin = coin
        self._tcp = tcp or Tcp()
        self._limit = self._tcp.initial_window_segments * self._tcp.segment_bytes
        self._burst = _BURST_SEGMENTS * self._tcp.segment_bytes
        self._remembered = 4 * self._tcp.segment_bytes  # what is longer fills the window
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
        start = self._free if self._free > at else at
        if self._unacked or self._varies or size_bytes > self._remembered:
            return self._arrival_after(size_bytes, start)
        self._free = free = start + size_bytes * self._per_byte
        self._arrival = arrival = free + self._base
        return arrival

    def _arrival_after(self, size_bytes: int, start: float) -> float:
        """When the last byte arrives, if it leaves then at the earliest."""
        delay = self._base if self._sampler is None else self._sampler()
        if self._unacked or size_bytes > self._limit:
            free = self._pass_window(size_bytes, start, delay)
        else:
            free = start + size_bytes * self._per_byte
            if size_bytes > self._remembered:
                self._unacked.append((start + delay + self._back, size_bytes))
                self._in_flight += size_bytes
                self._sent_at = start
        self._free = free
        arrival = free + delay
        if self._loss:
            arrival += self._repair(size_bytes, delay)
        if arrival < self._arrival:  # TCP never reorders: jitter cannot overtake
            arrival = self._arrival
        self._arrival = arrival
        return arrival

    def arrivals(self, sizes_bytes: list[int], times_s: list[float]) -> list[float]:
        """``arrival`` of messages, each put on the link at its time, one after the other."""
        plain = self._sampler is None and not self._loss and not self._unacked
        if not plain or max(sizes_bytes) > self._remembered:
            return list(map(self.arrival, sizes_bytes, times_s))
        delay, per_byte, free, last = self._base, self._per_byte, self._free, self._arrival
        self.messages += len(sizes_bytes)
        self.bytes += sum(sizes_bytes)
        arrivals: list[float] = []
        for size_bytes, at in zip(sizes_bytes, times_s, strict=True):
            if free < at:
                free = at
            free += size_bytes * per_byte
            if free + delay > last:
                last = free + delay
            arrivals.append(last)
        self._free = free
        self._arrival = last
        return arrivals

    def _pass_window(self, size_bytes: int, start: float, delay: float) -> float:
        """When the last byte has left, given slow start and what is still unacknowledged."""
        round_trip = delay + self._back
        unacked = self._unacked
        in_flight = self._in_flight
        if not unacked or unacked[-1][0] <= start:
            unacked.clear()
            in_flight = 0
            if start - self._sent_at > round_trip + self._tcp.minimum_timeout_s:
                self._window = self._limit
        else:
            while unacked[0][0] <= start:
                in_flight -= unacked.popleft()[1]
        burst = self._burst
        if 0 < size_bytes <= burst and size_bytes <= self._window - in_flight:  # in one piece
            end = start + size_bytes * self._per_byte
            unacked.append((end + round_trip, size_bytes))
            self._in_flight = in_flight + size_bytes
            self._sent_at = start
            return end
        self._in_flight = in_flight
        left = size_bytes
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
                    timeout = min(2 * timeout, LONGEST_TIMEOUT_S)
                first = False
            extra = max(extra, wait)
        return extra

    @property
    def instant(self) -> bool:
        """Whether what is sent arrives at once, if nothing else is on the way."""
        return self._sampler is None and self._base == 0.0

    @property
    def least_s(self) -> float:
        """No message takes less time, in seconds."""
        return self._base if self._sampler is None else 0.0

    def carry(
        self, size_bytes: int, at: float, call: Callable[[Any], object], argument: Any
    ) -> None:
        """Put a message on the link at time ``at``; ``call(argument)`` when it has arrived."""
        self._clock.at(self.arrival(size_bytes, at), call, argument)

    # -- when connections come and go ------------------------------------------------------------

    def stalled(self, at: float) -> bool:
        """Whether what is sent then waits, as nobody acknowledges what was sent before."""
        del at
        return False

    def coarsen_timers(self, phase: float) -> None:
        """Let TCP repeat as late as the timers of Linux are; ``phase`` is where they are, 0 to 1.

        It matters only where TCP repeats for many seconds what nobody acknowledges.
        """

    def answered_on(self, back: Link) -> None:
        """Tell on which link the other side answers, by which it acknowledges at once.

        It matters only where acknowledgements get lost.
        """

    def renew(self) -> None:
        """Begin a new connection, which nothing of the old one holds up.

        What is on its way still arrives, and may be overtaken: whoever renews a connection has to
        tell by the messages which connection they are of.
        """
        self._window = self._limit
        self._unacked.clear()
        self._in_flight = 0
        self._sent_at = self._free = self._arrival = 0.0

    def another(self) -> Self:
        """Another connection over the same path, with a window of its own."""
        other = twin(self)
        other._unacked = deque()
        other.messages = other.bytes = 0
        other.renew()
        return other

    def beside(self, path: Link, size_bytes: int, at: float) -> tuple[float, float]:
        """Send on this connection at time ``at``; ``path`` is the one that shares its bandwidth.

        Returns when the last byte arrives, and when it has left.
        """
        self._free = max(self._free, path._free)
        arrival = self.arrival(size_bytes, at)
        if self._per_byte and arrival < inf:
            path._free = max(path._free, at) + size_bytes * self._per_byte
        return arrival, max(self._free, at)

    def arrival_once(self, at: float) -> float:
        """When a single packet arrives that nobody repeats; infinite if it is lost."""
        if self._loss:
            assert self._coin is not None
            if self._coin() < self._loss:
                return inf
        return at + (self._base if self._sampler is None else self._sampler())
