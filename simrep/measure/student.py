"""Student's quantile, which every interval needs: from SciPy, or without it."""

from __future__ import annotations

from functools import cache
from math import exp, isinf, lgamma, log, log1p, pi
from statistics import NormalDist

__all__ = ["exact_quantile", "student_quantile"]

LARGE = 1000.0
"""Degrees of freedom from which four terms of an expansion are exact to 12 digits."""


@cache
def student_quantile(freedom: float, probability: float) -> float:
    """Below which value a variable of Student's distribution lies with a probability.

    Parameters
    ----------
    freedom : float
        Degrees of freedom, above 0; ``inf`` for the normal distribution.
    probability : float
        Between 0 and 1.
    """
    try:
        from scipy.special import stdtrit  # scipy.stats gives the same, 0.6 s later
    except ImportError:
        return exact_quantile(freedom, probability)
    return float(stdtrit(freedom, probability))


def exact_quantile(freedom: float, probability: float) -> float:
    """The same without SciPy, to 10 digits: by Newton's method on the incomplete beta function.

    References
    ----------
    M. Abramowitz, I. A. Stegun: Handbook of Mathematical Functions. Dover 1972; 26.5.8 (the
    continued fraction), 26.7.1 (the distribution) and 26.7.5 (the expansion).
    """
    if not (freedom > 0.0 and 0.0 < probability < 1.0):
        raise ValueError(f"no quantile {probability} of Student's with {freedom} degrees")
    if probability < 0.5:
        return -exact_quantile(freedom, 1.0 - probability)
    if probability == 0.5:
        return 0.0
    if freedom >= LARGE:
        return _expanded(freedom, NormalDist().inv_cdf(probability))
    above, low, high = 1.0 - probability, 0.0, 1.0
    while _above(freedom, high) > above:
        low, high = high, 2.0 * high
    value = 0.5 * (low + high)
    for _ in range(200):
        wrong = _above(freedom, value) - above
        if wrong > 0.0:
            low = value
        else:
            high = value
        following = value + wrong / _density(freedom, value)
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - value) <= 1e-15 * value:
            break
        value = following
    return value


def _expanded(freedom: float, x: float) -> float:
    if isinf(freedom):
        return x
    terms = (
        (x**3 + x) / 4.0,
        (5.0 * x**5 + 16.0 * x**3 + 3.0 * x) / 96.0,
        (3.0 * x**7 + 19.0 * x**5 + 17.0 * x**3 - 15.0 * x) / 384.0,
        (79.0 * x**9 + 776.0 * x**7 + 1482.0 * x**5 - 1920.0 * x**3 - 945.0 * x) / 92160.0,
    )
    return x + sum(term / freedom**power for power, term in enumerate(terms, 1))


def _density(freedom: float, value: float) -> float:
    scale = lgamma(0.5 * (freedom + 1.0)) - lgamma(0.5 * freedom) - 0.5 * log(freedom * pi)
    return exp(scale - 0.5 * (freedom + 1.0) * log1p(value**2 / freedom))


def _above(freedom: float, value: float) -> float:
    """The probability of a larger value, for values above 0."""
    a, b = 0.5 * freedom, 0.5
    x, rest = freedom / (freedom + value**2), value**2 / (freedom + value**2)
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)
    if x < (a + 1.0) / (a + b + 2.0):
        return 0.5 * exp(front) * _fraction(a, b, x) / a
    return 0.5 - 0.5 * exp(front) * _fraction(b, a, rest) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    upper = 1.0
    lower = 1.0 / (1.0 - (a + b) * x / (a + 1.0) or tiny)
    value = lower
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for part in (even, odd):
            lower = 1.0 / (1.0 + part * lower or tiny)
            upper = 1.0 + part / upper or tiny
            before, value = value, value * lower * upper
        if abs(value - before) <= 1e-16 * abs(value):
            break
    return value
