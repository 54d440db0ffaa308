"""What a comparison says, in plain words; no difference is said to be none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simrep.measure.confidence import Interval
from simrep.measure.figures import unit_of
from simrep.measure.units import duration, number

if TYPE_CHECKING:
    from simrep.whatif.comparison import Compared, Comparison

__all__ = ["name_of", "value_text", "verdict"]

_FACTOR = 1.25  # from here on a ratio is told as a factor, and below it in per cent
_NAMES = {
    "throughput_tps": "throughput",
    "makespan_s": "makespan",
    "aborted": "aborted transactions",
    "latency_s.mean": "mean latency",
    "latency_s.p50": "median latency",
}
_TOLD = ("latency_s.p99", "latency_s.p95", "latency_s.mean")  # the first of them that there is


def name_of(figure: str) -> str:
    """A figure as people call it.

    >>> name_of("latency_s.p99"), name_of("throughput_tps"), name_of("stall_max_s")
    ('p99', 'throughput', 'stall_max_s')
    """
    return _NAMES.get(figure, figure.removeprefix("latency_s."))


def value_text(figure: str, value: float) -> str:
    """A value of a figure with its unit."""
    if unit_of(figure) != "s":
        return number(value)
    return f"-{duration(-value)}" if value < 0.0 else duration(value)


def verdict(comparison: Comparison) -> str:
    """One or two sentences: transactions first, then latency, then aborts."""
    a, b = comparison.labels
    figures = comparison.figures
    if not figures:
        return "Nothing can be compared: no transaction committed in some replication."
    if all(low == high for one in figures.values() for low, high in one.values):
        return f"{a} and {b} do exactly the same."
    said = []
    if "throughput_tps" in figures:
        said.append(_throughput(figures["throughput_tps"], a, b))
    else:
        said.append(_plain(next(iter(figures.values())), b))
    told = [said_of for said_of in _TOLD if said_of in figures][:1]
    if "throughput_tps" in figures and told:
        said.append(_plain(figures[told[0]], "its"))
    sentence = _joined(said)
    aborted = figures.get("aborted")
    if aborted is not None and aborted.different:
        sentence += f" {_plain(aborted, b)}."
    return sentence


def _joined(said: list[str]) -> str:
    return " and ".join(said) + "."


def _throughput(one: Compared, a: str, b: str) -> str:
    ratio = one.ratio
    if ratio is None:
        idle = [label for label, mean in ((a, one.a.mean), (b, one.b.mean)) if not mean > 0.0]
        return f"{' and '.join(idle)} committed nothing"
    if not one.different:
        return (
            f"no difference between {a} and {b} is seen in throughput "
            f"(ratio {number(ratio.low)}-{number(ratio.high)})"
        )
    if ratio.mean >= _FACTOR:
        span = _span(ratio.low, ratio.high)
        return f"{b} commits {number(ratio.mean)} times as many transactions{span}"
    more = ratio.mean > 1.0
    ends = sorted(100.0 * abs(bound - 1.0) for bound in (ratio.low, ratio.high))
    share = number(100.0 * abs(ratio.mean - 1.0), 2)
    return (
        f"{b} commits {share} % {'more' if more else 'fewer'} transactions"
        f"{_span(ends[0], ends[1], ' %', 2)}"
    )


def _plain(one: Compared, whose: str) -> str:
    """A difference in the unit of the figure."""
    apart = one.difference
    owner = whose if whose == "its" else f"{whose}'s"
    name = name_of(one.figure)
    if not one.different:
        return (
            f"no difference is seen in {name} ({_signed(one.figure, apart.low)} to "
            f"{_signed(one.figure, apart.high)})"
        )
    word = "lower" if apart.mean < 0.0 else "higher"
    if one.figure == "aborted":
        word = "fewer" if apart.mean < 0.0 else "more"
        return f"{whose} has {number(abs(apart.mean))} {word} {name} per run{_absolute(one, apart)}"
    size = value_text(one.figure, abs(apart.mean))
    return f"{owner} {name} is {size} {word}{_absolute(one, apart)}"


def _absolute(one: Compared, apart: Interval) -> str:
    low, high = sorted(abs(bound) for bound in (apart.low, apart.high))
    if low == high:
        return ""
    return f" ({value_text(one.figure, low)} to {value_text(one.figure, high)})"


def _span(low: float, high: float, unit: str = "", digits: int = 3) -> str:
    if low == high:
        return ""
    return f" ({number(low, digits)}-{number(high, digits)}{unit})"


def _signed(figure: str, value: float) -> str:
    return ("+" if value > 0.0 else "") + value_text(figure, value)
