"""Those who wait for an answer, and go on together when the last of them has it.

A group that holds a lock until its last member is answered lets others gather behind it, whose
answers are under way meanwhile. Nobody waits less than for the own answer, nor much more than one
and a half times that.
"""

from __future__ import annotations

from math import exp

__all__ = ["open_release_s"]

_STEPS = 200


def open_release_s(rate: float, answer_s: float) -> float:
    """Mean wait of Poisson arrivals, in seconds.

    Parameters
    ----------
    rate : float
        Arrivals per second.
    answer_s : float
        From an arrival to its own answer.
    """
    if rate <= 0.0 or answer_s <= 0.0:
        return answer_s
    hold_s = answer_s  # of a group behind another one: less, as its last answer was under way
    age_s = 0.0  # of the last arrival when the lock becomes free
    for _ in range(_STEPS):
        age_s = (1.0 - exp(-rate * hold_s)) / rate
        hold_s += 0.5 * (max(0.0, answer_s - age_s) - hold_s)
    held_s = (answer_s + hold_s) / 2.0  # the first group of a row holds it for the whole time
    busy = held_s / (held_s + exp(-rate * held_s) / rate)
    return answer_s + busy * max(0.0, held_s / 2.0 - age_s)
