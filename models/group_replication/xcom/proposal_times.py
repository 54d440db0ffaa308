"""How long a member's proposals have taken lately, and how long it therefore waits for a slot."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

__all__ = ["GROWTH", "SHORTEST_S", "ProposalTimes"]

GROWTH = 1.4142136
"""Each wait is that many times as long as the one before."""
SHORTEST_S = 0.1
"""No first wait is shorter."""
_SAMPLES = 19
_UNKNOWN_S = 0.1  # what a sample is before it was taken
_FUZZ = 5.0
_LONGEST_S = 20.0


class ProposalTimes:
    """The median of a member's last 19 proposals, from the batch to its being learned.

    It includes the time that a proposal waits for the event horizon, and all attempts until it is
    learned. A server begins with 19 samples of 0.1 s. Simplified: a member whose group has been
    running for long takes the median of the samples that it has, and 0.1 s if there is none.

    Parameters
    ----------
    uniform : callable
        Numbers in [0, 1).

    References
    ----------
    xcom_statistics.cc, median_time, median_filter_init; xcom_base.cc, wakeup_delay,
    recently_active, proposer_task (``add_to_filter``).
    """

    def __init__(self, uniform: Callable[[], float]) -> None:
        self._uniform = uniform
        self._samples: deque[float] = deque(maxlen=_SAMPLES)
        self.add = self._samples.append

    def clear(self) -> None:
        """A new process knows nothing yet."""
        self._samples.extend([_UNKNOWN_S] * _SAMPLES)

    @property
    def median_s(self) -> float:
        """The median in seconds."""
        samples = self._samples
        return sorted(samples)[len(samples) // 2] if samples else _UNKNOWN_S

    def first_wait(self) -> float:
        """How long is waited for a slot at first, in seconds."""
        median = self.median_s
        if median <= 0.0:
            median = _UNKNOWN_S
        if median > _LONGEST_S / _FUZZ:
            median = _LONGEST_S / _FUZZ / 2.0
        return self._limited(SHORTEST_S + _FUZZ * median + median * self._uniform())

    def next_wait(self, wait_s: float) -> float:
        """The wait after one of ``wait_s``, in seconds."""
        return self._limited(wait_s * GROWTH)

    def _limited(self, wait_s: float) -> float:
        if wait_s <= _LONGEST_S:
            return wait_s
        return _LONGEST_S / 2.0 * (1.0 + self._uniform())
