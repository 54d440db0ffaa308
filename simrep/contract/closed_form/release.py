"""Those who wait for an answer, and go on together when the last of them has it.

A group that holds a lock until its last member is answered lets others gather behind it, whose
answers are under way meanwhile. Nobody waits less than for the own answer, nor much more than one
and a half times that.
"""

from __future__ import annotations

from math import expm1

__all__ = ["open_release_s"]

_GROUPS = 300
_RARE = 1e-9


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
    # From the first, who finds nobody, through group after group until one finds nobody behind it.
    arrivals, waits_s = 1.0, answer_s
    hold_s, reached = answer_s, 1.0
    for _ in range(_GROUPS):
        some = -expm1(-rate * hold_s)  # the probability that anybody gathers
        arrivals += reached * rate * hold_s
        # Half of the hold, and the answer of the last, which was under way for a while.
        waits_s += reached * (rate * hold_s * (hold_s / 2.0 + answer_s) - hold_s + some / rate)
        age_s = 1.0 / rate - hold_s * (1.0 - some) / some
        hold_s = answer_s - age_s
        reached *= some
        if reached < _RARE:
            break
    return waits_s / arrivals
