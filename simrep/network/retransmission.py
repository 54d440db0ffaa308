"""When TCP of Linux sends again what nobody has acknowledged.

The timeout is the smoothed round trip and 0.2 s. A round trip is as long as the acknowledgement
takes, and the other side may keep that back for 40 ms. A packet that is alone on its way is sent
again after the timeout, as a probe; the timeout runs anew from there, and doubles then: after 1, 2,
4, 8 timeouts. Of several packets the last is the probe, after two round trips and some
milliseconds, so that repetitions come 1, 3, 7, 15 timeouts after that.

Linux 6.18 on a link that drops everything (250 ticks a second, two network namespaces, a relay in
user space), timeout 204 ms: a lone packet was sent again after 0.207, 0.415, 0.839, 1.671, 3.335,
6.823 and 13.479 s; of two packets 1 ms apart the second after 0.007, the first after 0.215, 0.643,
1.475 and 3.139 s; of packets every 100 ms the second after 0.108, the first after 0.216, 0.648,
1.480 s.

References
----------
Linux: net/ipv4/tcp_input.c: tcp_rtt_estimator, tcp_event_data_recv, tcp_rearm_rto;
net/ipv4/tcp_output.c: tcp_schedule_loss_probe, tcp_send_loss_probe, tcp_event_data_sent;
net/ipv4/tcp_timer.c: tcp_retransmit_timer, tcp_delack_timer_handler; net/ipv4/tcp.c:
tcp_cleanup_rbuf; include/net/tcp.h; kernel/time/timer.c: calc_wheel_index. RFC 6298, RFC 8985.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, floor, inf

from simrep.network.link import LONGEST_TIMEOUT_S, Tcp

__all__ = ["LONGEST_DELAY_S", "Exchange", "Repetitions", "Sent", "Timers"]

LONGEST_DELAY_S = 0.04
"""How long a receiver keeps back an acknowledgement (TCP_DELACK_MIN, TCP_ATO_MIN)."""
_UNREAD_BYTES = 536  # more than that is acknowledged at once (TCP_MSS_DEFAULT: rcv_mss)
_PROBE_S = 0.002  # TCP_TIMEOUT_MIN_US: on top of two round trips
_SMOOTHED = 8.0  # a new round trip counts for an eighth

_TICK_S = 0.004  # CONFIG_HZ=250
_GRAINS = 63  # LVL_START: waits of so many grains are that exact, longer ones eight times coarser
_COARSER = 8
_LONGEST_GRAIN = _COARSER**3  # in ticks, of waits up to 129 s
_ROUNDED = 1e-6


class Timers:
    """Those of a machine.

    Parameters
    ----------
    phase : float or None
        Where its ticks are, 0 to 1; None for timers that are exact.
    """

    __slots__ = ("_from_s",)

    def __init__(self, phase: float | None = None) -> None:
        self._from_s = None if phase is None else phase * _TICK_S * _LONGEST_GRAIN

    def after(self, at: float, wait_s: float) -> float:
        """When a timer goes off that is set at a time: never early, late by up to an eighth."""
        if self._from_s is None:
            return at + wait_s
        ticks = ceil(wait_s / _TICK_S - _ROUNDED)
        grain = 1
        while ticks >= _GRAINS * grain:
            grain *= _COARSER
        now = floor((at - self._from_s) / _TICK_S + _ROUNDED)
        return self._from_s + ((now + ticks) // grain + 1) * grain * _TICK_S

    def whole(self, timeout_s: float) -> float:
        """A timeout in whole ticks."""
        if self._from_s is None:
            return timeout_s
        return ceil(timeout_s / _TICK_S - _ROUNDED) * _TICK_S


Sent = tuple[float, float, int]
"""When a message was sent, when it arrives, its bytes."""


class Exchange:
    """How long round trips took of late, and what has not been acknowledged.

    Parameters
    ----------
    sent : iterable of Sent
        The last messages.
    answers_s : iterable of float
        When the other side has sent something.
    back_s : float
        One-way delay of an acknowledgement.
    until_s : float
        Only acknowledgements count that have left before.

    Attributes
    ----------
    smoothed_s : float or None
        The smoothed round trip.
    unheard : list of float
        When what nobody has acknowledged was sent.

    Notes
    -----
    The other side acknowledges with what it sends itself. If it has sent nothing in answer, it
    acknowledges at once; else the second packet at once, and a single one after 40 ms, from when
    on it does not count on answers. Simplified: whatever arrives is read at once.
    """

    __slots__ = ("_back_s", "smoothed_s", "unheard")

    def __init__(
        self, sent: Iterable[Sent], answers_s: Iterable[float], back_s: float, until_s: float
    ) -> None:
        self._back_s = back_s
        self.smoothed_s: float | None = None
        self.unheard: list[float] = []
        answers = True  # pingpong mode; connections begin with questions and answers
        unread_bytes, due_s, heard_s = 0, inf, -inf
        events = [(arrival, at, size_bytes) for at, arrival, size_bytes in sent]
        events += [(at, inf, 0) for at in answers_s]
        for at, sent_s, size_bytes in sorted([*events, (inf, inf, 0)]):
            if due_s <= min(at, until_s):
                self._acknowledge(due_s)
                answers = False
                unread_bytes, due_s = 0, inf
            if sent_s < inf:
                self.unheard.append(sent_s)
            if at > until_s:
                continue
            if sent_s < inf:
                heard_s = at
                unread_bytes += size_bytes
                due_s = min(due_s, at + LONGEST_DELAY_S)
                many = len(self.unheard) > 1 or unread_bytes > _UNREAD_BYTES
            else:
                answers = answers or at < heard_s + LONGEST_DELAY_S
                many = True
            if self.unheard and (many or not answers):
                self._acknowledge(at)
                unread_bytes, due_s = 0, inf

    def _acknowledge(self, at: float) -> None:
        round_trip_s = at + self._back_s - self.unheard[0]
        self.unheard.clear()
        if self.smoothed_s is None:
            self.smoothed_s = round_trip_s
        else:
            self.smoothed_s += (round_trip_s - self.smoothed_s) / _SMOOTHED


class Repetitions:
    """When the first packet that got lost is sent again.

    Parameters
    ----------
    timers : Timers
        Of the sender.
    tcp : Tcp
    smoothed_s : float
        The smoothed round trip.
    first_s : float
        When the first packet was sent that nobody has acknowledged.
    packets : int
        How many were sent until now.
    at : float
        When the last one was.

    Notes
    -----
    Simplified: no more than the initial window is sent without an acknowledgement.
    """

    __slots__ = ("_again_s", "_first_s", "_packets", "_probe_s", "_soon_s", "_tcp", "_timeout_s",
                 "_timers")  # fmt: skip

    def __init__(
        self,
        timers: Timers,
        tcp: Tcp,
        smoothed_s: float,
        first_s: float,
        packets: int,
        at: float,
    ) -> None:
        self._timers = timers
        self._tcp = tcp
        self._timeout_s = timeout_s = timers.whole(smoothed_s + tcp.minimum_timeout_s)
        self._soon_s = 2.0 * smoothed_s + _PROBE_S
        self._first_s = first_s
        self._packets = packets
        if packets == 1:
            wait_s = min(2.0 * smoothed_s + tcp.minimum_timeout_s, timeout_s)
            self._probe_s = timers.after(at, wait_s)
        else:
            self._probe_s = self._soon(at)
        self._again_s = timers.after(self._probe_s, timeout_s)

    def _soon(self, at: float) -> float:
        """When the probe of several packets is sent, not later than the timeout."""
        left_s = self._first_s + self._timeout_s - at
        return self._timers.after(at, min(self._soon_s, left_s) if left_s > 0.0 else self._soon_s)

    def sends(self, at: float, packets: int) -> None:
        """More is sent."""
        self._packets += packets
        if at >= self._again_s or self._packets > self._tcp.initial_window_segments:
            return
        timers = self._timers
        if at < self._probe_s:
            self._probe_s = self._soon(at)
            self._again_s = timers.after(self._probe_s, self._timeout_s)
        else:
            if self._packets == 1 + packets:  # the probe was the first packet itself
                self._first_s = self._probe_s
            first_s = timers.after(self._first_s, self._timeout_s)
            self._again_s = max(first_s, timers.after(self._soon(at), _TICK_S))

    def in_loss(self, at: float) -> bool:
        """Whether the timeout has passed by then, so that nothing new is sent any more."""
        return at >= self._again_s

    def through(self, lost_until: Callable[[float], float], round_trip_s: float) -> float:
        """When the first packet is sent that gets through; infinite if none does.

        Parameters
        ----------
        lost_until : callable
            Until when packets are lost that are sent at a time; that time itself if they are not.
        round_trip_s : float
            A probe that is not the first packet itself has to be answered.
        """
        at = self._probe_s
        if lost_until(at) <= at:
            return at if self._packets == 1 else at + round_trip_s
        at, wait_s = self._again_s, self._timeout_s
        while (until_s := lost_until(at)) > at:
            if until_s == inf:
                return inf
            wait_s = min(2.0 * wait_s, LONGEST_TIMEOUT_S)
            at = self._timers.after(at, wait_s)
        return at
