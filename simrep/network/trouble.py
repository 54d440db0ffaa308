"""What goes wrong with a link for a while: it is cut, loses packets, or its delay varies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Self

from simrep.kernel.streams import Stream, Streams
from simrep.network.link import LONGEST_TIMEOUT_S, Jitter, Link
from simrep.network.retransmission import (
    LONGEST_DELAY_S,
    Exchange,
    Repetitions,
    Sent,
    Timers,
)

__all__ = ["Trouble", "TroubledLink"]

_REMEMBERED = 64  # messages: what is older counts for less than a thousandth in a round trip


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens to whatever is sent in one direction between two nodes for a while.

    It comes on top of what the path has of its own, and of other troubles at the same time. A
    machine without power is cut off in both directions of all its paths until it starts again.
    """

    from_s: float  # in simulated seconds
    to_s: float = inf  # end; infinite: it never ends
    cut: bool = False  # whether nothing gets through
    loss: float = 0.0  # probability that a segment is lost, 0 to below 1
    jitter: tuple[Jitter, ...] = ()  # varies the delay; independent parts


class _Held:
    """Messages of a connection that wait for a repetition."""

    __slots__ = ("due_s", "in_loss", "messages")

    def __init__(self) -> None:
        self.due_s = inf
        self.in_loss = False  # after a timeout the window is one segment, and doubles
        self.messages: list[tuple[int, float, Callable[[Any], object], Any]] = []


class TroubledLink(Link):
    """A link to which something happens.

    The first message that meets a cut is sent again as Linux does (``Repetitions``), by a timeout
    that follows from how long acknowledgements took (``Exchange``). The first repetition after the
    end of the cut gets through. What is behind it follows then, after a timeout by slow start from
    one segment on (RFC 5681). What had left before the cut arrives. What waits for the end of a cut
    that has none never arrives.

    While only the acknowledgements are cut, messages arrive for one retransmission timeout. Then
    TCP repeats the first of them alone, and sends nothing new until that is acknowledged.

    Parameters
    ----------
    *args, **link
        Those of ``Link``.
    troubles : sequence of Trouble
    back : sequence of Trouble
        Those of the other direction, which cut the acknowledgements.
    streams : Streams
        For their loss and jitter, if they have any.
    name : str
        Of the streams: ``NAME/trouble/loss``, ``NAME/trouble/1/jitter/0``.

    Notes
    -----
    Timers are exact if nobody says otherwise (``coarsen_timers``).

    Simplified: a message counts as lost or not as a whole, by the time at which it is sent; only
    its own acknowledgement counts, not one that comes with data of the other side; losses of
    acknowledgements other than by a cut do not matter; TCP gives up no connection (Linux does so
    after 15 repetitions, which take 15 minutes).
    """

    __slots__ = (
        "_answers", "_at", "_back_cuts", "_cuts", "_deaf", "_first_unheard_s", "_held", "_lossy",
        "_own_coin", "_own_loss", "_own_sampler", "_repetitions", "_resume_s", "_sent",
        "_timeout_s", "_timers", "_trouble_coin", "_varied",
    )  # fmt: skip

    def __init__(
        self,
        *args: Any,
        troubles: Sequence[Trouble],
        back: Sequence[Trouble] = (),
        streams: Streams | None = None,
        name: str = "",
        **link: Any,
    ) -> None:
        super().__init__(*args, **link)
        self._cuts = [(trouble.from_s, trouble.to_s) for trouble in troubles if trouble.cut]
        # What is cut both ways is not sent; no need to ask for its acknowledgements.
        self._back_cuts = [(trouble.from_s, trouble.to_s) for trouble in back if trouble.cut]
        self._deaf = [cut for cut in self._back_cuts if cut not in self._cuts]
        self._first_unheard_s = inf  # when the first message left that nobody acknowledged
        self._timeout_s = self._base + self._back + self._tcp.minimum_timeout_s
        self._resume_s = self._at = 0.0
        self._timers = Timers()
        self._sent: deque[Sent] = deque(maxlen=_REMEMBERED)
        self._answers: TroubledLink | None = None
        self._repetitions: Repetitions | None = None
        self._held = _Held()
        self._varies = True  # what is on the way may change at any time
        self._own_loss, self._own_coin = self._loss, self._coin
        self._own_sampler = self._sampler
        self._lossy = [trouble for trouble in troubles if trouble.loss]
        self._trouble_coin: Stream | None = None
        self._varied: list[tuple[float, float, list[Stream]]] = []
        if streams is None:
            return
        if self._lossy:
            self._trouble_coin = streams.uniform(f"{name}/trouble/loss")
        for i, trouble in enumerate(troubles):
            draws = [
                streams.stream(f"{name}/trouble/{i}/jitter/{k}", jitter.draw())
                for k, jitter in enumerate(trouble.jitter)
            ]
            if draws:
                self._varied.append((trouble.from_s, trouble.to_s, draws))
        if self._varied:
            self._sampler = self._delay

    def arrival(self, size_bytes: int, at: float) -> float:
        """See ``Link.arrival``; infinite if the message never arrives.

        What is sent later does not let the message arrive earlier: see ``carry``.
        """
        sets_out_s = self._sets_out(size_bytes, at)
        if sets_out_s == inf:
            return inf
        self._set_out(sets_out_s)
        arrival = super().arrival(size_bytes, sets_out_s)
        if sets_out_s == at:
            self._sent.append((at, arrival, size_bytes))
        return arrival

    def carry(
        self, size_bytes: int, at: float, call: Callable[[Any], object], argument: Any
    ) -> None:
        """See ``Link.carry``: a message that never arrives is forgotten."""
        held = self._held
        sets_out_s = self._sets_out(size_bytes, at)
        if sets_out_s == at and not held.messages:
            self._set_out(at)
            arrival = super().arrival(size_bytes, at)
            self._sent.append((at, arrival, size_bytes))
            self._clock.at(arrival, call, argument)
        elif sets_out_s < inf:
            held.messages.append((size_bytes, at, call, argument))
            if self._resume_s != held.due_s:
                repetitions = self._repetitions
                held.in_loss = repetitions is not None and repetitions.in_loss(self._resume_s)
                held.due_s = max(self._resume_s, self._clock.now)
                self._clock.at(held.due_s, self._release, (held, held.due_s))

    def _release(self, due: tuple[_Held, float]) -> None:
        """What has waited is sent.

        The first segment of a connection that has been closed is acknowledged by an answer, at
        which it ends (RST), or after 40 ms.
        """
        held, due_s = due
        if held.due_s != due_s:
            return  # it was sent again earlier, or is later
        messages, held.messages, held.due_s = held.messages, [], inf
        window = self._tcp.segment_bytes if held.in_loss else sum(one[0] for one in messages)
        room, last_s = window, self._arrival
        ended = held is not self._held
        wait_s = self._base + self._back + (LONGEST_DELAY_S if ended else 0.0)
        for size_bytes, at, call, argument in messages:
            if room <= 0:
                due_s += wait_s
                wait_s = self._base + self._back
                window *= 2
                room += window
            room -= size_bytes
            self._set_out(max(at, due_s))
            self._clock.at(super().arrival(size_bytes, max(at, due_s)), call, argument)
        if ended:  # another connection has begun, which nothing of this holds up
            self._arrival = last_s

    def _sets_out(self, size_bytes: int, at: float) -> float:
        """When a message leaves for the first time, or again, and arrives; infinite if never."""
        if self._deaf:
            self._hear(at)
        packets = -(-max(size_bytes, 1) // self._tcp.segment_bytes)
        if at < self._resume_s:
            if self._repetitions is not None:
                self._go_on(self._repetitions, packets, at)
            return max(at, self._resume_s)
        if self._cut_until(at) <= at:
            return at
        smoothed_s, unheard = self._exchanged(at)
        self._repetitions = Repetitions(
            self._timers,
            self._tcp,
            smoothed_s,
            min(unheard, default=at),
            packets + len(unheard),
            at,
        )
        self._resume_s = self._repetitions.through(self._cut_until, self._base + self._back)
        return self._resume_s

    def _go_on(self, repetitions: Repetitions, packets: int, at: float) -> None:
        """More is sent while what is before it is lost."""
        if repetitions.in_loss(at):
            return
        round_trip_s = self._base + self._back
        if self._cut_until(at) > at:
            repetitions.sends(at, packets)
            self._resume_s = repetitions.through(self._cut_until, round_trip_s)
        else:  # that it arrives tells that what is before it got lost (SACK)
            self._resume_s = min(self._resume_s, at + round_trip_s)

    def _exchanged(self, at: float) -> tuple[float, list[float]]:
        """The smoothed round trip, and when what nobody has acknowledged by then was sent."""
        answers = () if self._answers is None else [one[0] for one in self._answers._sent]
        until_s = min(
            (from_s for from_s, to_s in self._back_cuts if from_s <= at < to_s), default=at
        )
        exchange = Exchange(self._sent, answers, self._back, until_s)
        round_trip_s = exchange.smoothed_s
        return (self._base + self._back if round_trip_s is None else round_trip_s), exchange.unheard

    def stalled(self, at: float) -> bool:
        """See ``Link.stalled``."""
        return at < self._resume_s or self._cut_until(at) > at

    def coarsen_timers(self, phase: float) -> None:
        """See ``Link.coarsen_timers``."""
        self._timers = Timers(phase)

    def answered_on(self, back: Link) -> None:
        """See ``Link.answered_on``."""
        self._answers = back if isinstance(back, TroubledLink) else None

    def renew(self) -> None:
        """See ``Link.renew``."""
        super().renew()
        self._resume_s = 0.0
        self._first_unheard_s = inf
        self._repetitions = None
        self._held = _Held()
        self._sent.clear()

    def another(self) -> Self:
        """See ``Link.another``."""
        other = super().another()
        other._answers = None
        other._sent = deque(maxlen=_REMEMBERED)
        if other._varied:
            other._sampler = other._delay
        return other

    def arrival_once(self, at: float) -> float:
        """See ``Link.arrival_once``."""
        if self._cut_until(at) > at:
            return inf
        self._set_out(at)
        return super().arrival_once(at)

    def _hear(self, at: float) -> None:
        """Note whether acknowledgements come; if none did for too long, let messages wait."""
        first_s, timeout_s = self._first_unheard_s, self._timeout_s
        round_trip_s = self._base + self._back
        after = self._timers.after
        if at >= first_s + timeout_s:
            repeated_s = after(first_s, timeout_s)
            while self._unheard(repeated_s):
                ends = [to_s for from_s, to_s in (*self._cuts, *self._deaf) if from_s <= repeated_s]
                if max(ends, default=0.0) == inf:
                    self._resume_s = inf
                    return
                timeout_s = min(2 * timeout_s, LONGEST_TIMEOUT_S)
                repeated_s = after(repeated_s, timeout_s)
            self._resume_s = max(self._resume_s, repeated_s + round_trip_s)
            self._repetitions = None
            self._first_unheard_s = first_s = inf
        at = max(at, self._resume_s)
        if self._unheard(at):
            if first_s == inf:
                smoothed_s, _ = self._exchanged(at)
                self._timeout_s = self._timers.whole(smoothed_s + self._tcp.minimum_timeout_s)
            self._first_unheard_s = min(first_s, at)
        elif at + round_trip_s <= first_s + self._timeout_s:
            self._first_unheard_s = inf

    def _unheard(self, at: float) -> bool:
        """Whether what is sent then is not acknowledged."""
        arrival = at + self._base
        return self._cut_until(at) > at or any(
            from_s <= arrival < to_s for from_s, to_s in self._deaf
        )

    def _cut_until(self, at: float) -> float:
        """When the cut ends, or the longest of them, during which this is; else the time itself."""
        return max((to_s for from_s, to_s in self._cuts if from_s <= at < to_s), default=at)

    def _set_out(self, at: float) -> None:
        """Let the loss be that of the time."""
        self._at = at
        kept = 1.0
        for trouble in self._lossy:
            if trouble.from_s <= at < trouble.to_s:
                kept *= 1.0 - trouble.loss
        if kept < 1.0:
            self._loss, self._coin = 1.0 - kept * (1.0 - self._own_loss), self._trouble_coin
        else:
            self._loss, self._coin = self._own_loss, self._own_coin

    def _delay(self) -> float:
        """Draw the one-way delay of what sets out now."""
        delay = self._base if self._own_sampler is None else self._own_sampler()
        for from_s, to_s, draws in self._varied:
            if from_s <= self._at < to_s:
                delay += sum(draw() for draw in draws)
        return max(0.0, delay)
