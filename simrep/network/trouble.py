"""What goes wrong with a link for a while: it is cut, loses packets, or its delay varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Self

from simrep.kernel.streams import Stream, Streams
from simrep.network.link import LONGEST_TIMEOUT_S, Jitter, Link

__all__ = ["Trouble", "TroubledLink"]

# The timer wheel of Linux (kernel/time/timer.c): timers of up to 64 grains are that exact, longer
# ones eight times coarser, and so on; they are never early. The grain is a tick: CONFIG_HZ=250.
_GRAIN_S = 0.004
_GRAINS = 64
_COARSER = 8.0
_LONGEST_GRAIN_S = _GRAIN_S * _COARSER**3  # of waits up to 131 s


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


class TroubledLink(Link):
    """A link to which something happens.

    The first message that meets a cut is sent again by the retransmission timeout, which doubles
    every time. The first repetition after the end of the cut gets through; everything behind it
    follows then. What had left before the cut arrives. What waits for the end of a cut that has
    none never arrives.

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
        "_at", "_cuts", "_deaf", "_first_unheard_s", "_lossy", "_own_coin", "_own_loss",
        "_own_sampler", "_phase_s", "_resume_s", "_timeout_s", "_trouble_coin", "_varied",
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
        self._deaf = [cut for cut in ((one.from_s, one.to_s) for one in back if one.cut)
                      if cut not in self._cuts]  # fmt: skip
        self._first_unheard_s = inf  # when the first message left that nobody acknowledged
        self._timeout_s = self._base + self._back + self._tcp.minimum_timeout_s
        self._resume_s = self._at = 0.0
        self._phase_s: float | None = None
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
        """See ``Link.arrival``; infinite if the message never arrives."""
        if self._deaf:
            self._hear(at)
        if at < self._resume_s:
            at = self._resume_s
            if at == inf:
                return inf
        timeout_s = self._timeout_s
        while (until_s := self._cut_until(at)) > at:
            if until_s == inf:
                self._resume_s = inf
                return inf
            at = self._repeated(at, timeout_s)
            timeout_s = min(2 * timeout_s, LONGEST_TIMEOUT_S)
            self._resume_s = at
        self._set_out(at)
        return super().arrival(size_bytes, at)

    def stalled(self, at: float) -> bool:
        """See ``Link.stalled``."""
        return at < self._resume_s or self._cut_until(at) > at

    def coarsen_timers(self, phase: float) -> None:
        """See ``Link.coarsen_timers``."""
        self._phase_s = _LONGEST_GRAIN_S * phase
        self._timeout_s = (self._timeout_s // _GRAIN_S + 1.0) * _GRAIN_S  # in whole ticks

    def _repeated(self, at: float, timeout_s: float) -> float:
        """When TCP repeats what it has sent at some time and nobody has acknowledged."""
        at += timeout_s
        if self._phase_s is None:
            return at
        grain_s = _GRAIN_S
        while timeout_s >= _GRAINS * grain_s:
            grain_s *= _COARSER
        return self._phase_s + ((at - self._phase_s) // grain_s + 1.0) * grain_s

    def renew(self) -> None:
        """See ``Link.renew``."""
        super().renew()
        self._resume_s = 0.0
        self._first_unheard_s = inf

    def another(self) -> Self:
        """See ``Link.another``."""
        other = super().another()
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
        if at >= first_s + timeout_s:
            repeated_s = self._repeated(first_s, timeout_s)
            while self._unheard(repeated_s):
                ends = [to_s for from_s, to_s in (*self._cuts, *self._deaf) if from_s <= repeated_s]
                if max(ends, default=0.0) == inf:
                    self._resume_s = inf
                    return
                timeout_s = min(2 * timeout_s, LONGEST_TIMEOUT_S)
                repeated_s = self._repeated(repeated_s, timeout_s)
            self._resume_s = max(self._resume_s, repeated_s + round_trip_s)
            self._first_unheard_s = first_s = inf
        at = max(at, self._resume_s)
        if self._unheard(at):
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
