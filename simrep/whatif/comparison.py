"""Pairs of replications of two scenarios: how far apart the two are, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log, log1p
from statistics import fmean, variance
from typing import Any

from simrep.errors import ScenarioError, nearest
from simrep.measure.confidence import Interval, difference_interval, mean_interval, ratio_interval
from simrep.measure.units import duration, number, unit_of
from simrep.runs.notices import mixed_notice
from simrep.runs.report import Report

__all__ = ["Compared", "Comparison", "name_of", "value_text"]


_CLEAR = 0.2  # of a difference: an interval of it that is half as wide is clear
_EQUAL = 0.01  # of a figure: a difference that is surely smaller is none that counts
_FACTOR = 1.25  # from here on a ratio is told as a factor, and below it in per cent
_NAMES = {
    "throughput_tps": "throughput",
    "makespan_s": "makespan",
    "aborted": "aborted transactions",
    "latency_s.mean": "mean latency",
    "latency_s.p50": "median latency",
}
_OF_FAULTS = {
    re.compile(r"faults\.(.+)\.(before|during|after)\.clients\.throughput_tps"): (
        "throughput {1} {0}"
    ),
    re.compile(r"faults\.(.+)\.stalls\.(.+)\.stall_s"): "stall of {1} ({0})",
    re.compile(r"faults\.(.+)\.absences\.(.+)\.synced_s"): "time until {1} is synced ({0})",
}
"""Figures of faults that are compared if nothing else is asked for, in words."""
_MOST_SAID = 3
_TOLD = ("latency_s.p99", "latency_s.p95", "latency_s.mean")  # the first of them that there is

Pair = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure of two scenarios.

    Attributes
    ----------
    figure : str
        Its path in a result.
    a, b : Interval
        The mean of each, by itself.
    difference : Interval
        b - a, of pairs.
    ratio : Interval or None
        b / a, of pairs; None where a mean is not positive.
    values : tuple of (float, float)
        The pairs.
    """

    figure: str
    a: Interval
    b: Interval
    difference: Interval
    ratio: Interval | None
    values: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, figure: str, values: Sequence[tuple[float, float]], confidence: float) -> Compared:
        """From the pairs of one figure."""
        first, second = [pair[0] for pair in values], [pair[1] for pair in values]
        positive = fmean(first) > 0.0 and fmean(second) > 0.0
        return cls(
            figure=figure,
            a=mean_interval(first, confidence),
            b=mean_interval(second, confidence),
            difference=difference_interval(second, first, confidence),
            ratio=ratio_interval(second, first, confidence) if positive else None,
            values=tuple(values),
        )

    @property
    def different(self) -> bool:
        """Whether the interval of the difference leaves 0 out."""
        return 0.0 not in self.difference

    @property
    def clear(self) -> bool:
        """Whether more pairs would hardly change the answer.

        Either the two surely differ, and the difference of the logarithms is known to a fifth of
        itself, or the ratio surely lies within 1 % of 1.
        """
        if self.ratio is None:
            return False
        low, high = log(self.ratio.low), log(self.ratio.high)
        return high - low <= _CLEAR * abs(low + high) or max(-low, high) <= log1p(_EQUAL)

    @property
    def gain(self) -> float | None:
        """By what factor fewer pairs this takes than independent replications would.

        For the difference, at the same precision: the variances of both by the variance of the
        difference. None where nothing varies.
        """
        first, second = [pair[0] for pair in self.values], [pair[1] for pair in self.values]
        apart = variance([high - low for low, high in self.values])
        return (variance(first) + variance(second)) / apart if apart > 0.0 else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Report):
    """Two scenarios, compared pair by pair.

    ``plot()`` draws the ratios with their intervals.

    Attributes
    ----------
    figures : mapping of str to Compared
        By path. A figure that a pair does not have (no transaction committed) is left out.
    labels : (str, str)
    pairs : int
        Replications that both have.
    confidence : float
        Of each interval by itself.
    most : int
        Pairs that there would have been had the answer not been clear before.
    seed : int
    complete : bool
        False if it was interrupted.
    scenarios : (mapping, mapping)
        What was simulated, with all defaults.
    versions : (mapping, mapping)
        What computed it.
    asked_s : float or None
        Simulated seconds that the scenarios ask for, where runs were shorter.
    drilled : tuple of str
        Of each, whether it keeps an RTO and an RPO in a drill; empty if nobody asked.
    """

    width = 120

    figures: Mapping[str, Compared]
    labels: tuple[str, str]
    pairs: int
    confidence: float
    most: int
    seed: int
    complete: bool
    scenarios: tuple[Mapping[str, Any], ...]
    versions: tuple[Mapping[str, str], ...]
    asked_s: float | None = None
    drilled: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        pairs: Sequence[Pair],
        figures: Sequence[str],
        *,
        confidence: float,
        look: float | None = None,
        most: int | None = None,
        complete: bool = True,
        **about: Any,
    ) -> Comparison:
        """From the figures of every pair; ``look``: how sure one of several looks has to be."""
        found = {}
        for position, figure in enumerate(figures):
            values = [(one[position], other[position]) for one, other in pairs]
            if all(isfinite(value) for pair in values for value in pair):
                found[figure] = Compared.of(figure, values, look or confidence)
        return cls(
            figures=found,
            pairs=len(pairs),
            confidence=confidence,
            most=most or len(pairs),
            complete=complete,
            **about,
        )

    def __getitem__(self, figure: str) -> Compared:
        if figure not in self.figures:
            raise ScenarioError(figure, "was not compared", nearest(figure, self.figures))
        return self.figures[figure]

    def precise(self, precision: float) -> bool:
        """Whether the ratio of the first figure is known to this share of it."""
        first = next(iter(self.figures.values()), None)
        return first is None or first.ratio is None or first.ratio.relative <= precision

    @property
    def clear(self) -> bool:
        """Whether more pairs would hardly change the verdict: that of the first figure."""
        return bool(self.figures) and next(iter(self.figures.values())).clear

    @property
    def early(self) -> bool:
        """Whether it ended early, as the answer was clear."""
        return self.complete and self.pairs < self.most

    @property
    def verdict(self) -> str:
        """What the two differ in, in words."""
        return _verdict(self)

    @property
    def note(self) -> str:
        """What the figures mix or leave out in runs without a steady state; empty if nothing."""
        parts = [self._shortened, mixed_notice(self.scenarios, self.figures)]
        if self.apart and any(one.startswith("faults.") for one in self.figures):
            only = "; ".join(f"{label}: {', '.join(names)}" for label, names in self.apart.items())
            parts.append(f"faults that only one of the two has are not compared ({only})")
        return "; ".join(filter(None, parts))

    @property
    def _shortened(self) -> str:
        if self.asked_s is None:
            return ""
        measured_s = self.scenarios[0]["run"]["duration_s"]
        return (
            f"each run measured {measured_s:.3g} s of the {self.asked_s:g} s asked for, and the "
            "answer rests on their number (--replications without --quick measures all of the time)"
        )

    @property
    def apart(self) -> dict[str, list[str]]:
        """By label: names of faults that the other has not."""
        tables = [
            {_fault_name(n, one): one for n, one in enumerate(scenario.get("fault", ()))}
            for scenario in self.scenarios
        ]
        both = zip(self.labels, tables, reversed(tables), strict=False)
        names = {label: [*own.keys() - theirs.keys()] for label, own, theirs in both}
        return {label: sorted(one) for label, one in names.items() if one}

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "labels": list(self.labels),
            "verdict": self.verdict,
            "note": self.note or None,
            "figures": {
                name: {
                    "a": _interval(one.a),
                    "b": _interval(one.b),
                    "difference": _interval(one.difference),
                    "ratio": None if one.ratio is None else _interval(one.ratio),
                    "different": one.different,
                    "gain": one.gain,
                    "values": [list(pair) for pair in one.values],
                }
                for name, one in self.figures.items()
            },
            "pairs": self.pairs,
            "confidence": self.confidence,
            "most": self.most,
            "early": self.early,
            "asked_s": self.asked_s,
            "seed": self.seed,
            "complete": self.complete,
            "scenarios": [dict(one) for one in self.scenarios],
            "versions": [dict(one) for one in self.versions],
            "drilled": list(self.drilled),
        }

    def _rows(self) -> list[dict[str, Any]]:
        """A row per figure: means, difference and ratio with their bounds."""
        rows = []
        for one in self.figures.values():
            row: dict[str, Any] = {"figure": one.figure, "a": one.a.mean, "b": one.b.mean}
            for name, interval in (("difference", one.difference), ("ratio", one.ratio)):
                row[name] = None if interval is None else interval.mean
                row[f"{name}_low"] = None if interval is None else interval.low
                row[f"{name}_high"] = None if interval is None else interval.high
            rows.append(row)
        return rows

    def __repr__(self) -> str:
        return f"<Comparison of {self.pairs} pairs, seed {self.seed}: {self.verdict}>"


def _fault_name(position: int, fault: Mapping[str, Any]) -> str:
    return str(fault.get("name") or f"fault.{position}")


def _interval(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}


def name_of(figure: str) -> str:
    """A figure as people call it.

    >>> name_of("latency_s.p99"), name_of("throughput_tps"), name_of("stall_max_s")
    ('p99', 'throughput', 'stall_max_s')
    >>> name_of("faults.crash.during.clients.throughput_tps")
    'throughput during crash'
    """
    for pattern, words in _OF_FAULTS.items():
        if match := pattern.fullmatch(figure):
            return words.format(*match.groups())
    return _NAMES.get(figure, figure.removeprefix("latency_s."))


def value_text(figure: str, value: float) -> str:
    """A value of a figure with its unit."""
    if unit_of(figure) != "s":
        per_second = figure.startswith("faults.") and unit_of(figure) == "1/s"
        return f"{number(value)}/s" if per_second else number(value)
    return f"-{duration(-value)}" if value < 0.0 else duration(value)


def _verdict(comparison: Comparison) -> str:
    """One or two sentences: transactions first, then latency, then aborts."""
    a, b = comparison.labels
    figures = comparison.figures
    if not figures:
        return "Nothing can be compared: no transaction committed in some replication."
    if all(low == high for one in figures.values() for low, high in one.values):
        if comparison.apart:
            return f"{a} and {b} do exactly the same where they are compared."
        return f"{a} and {b} do exactly the same."
    said = []
    if "throughput_tps" in figures:
        said.append(_throughput(figures["throughput_tps"], a, b))
    else:
        first, *others = figures.values()
        said.append(_plain(first, b))
        others = [one for one in others if one.different and one.figure.startswith("faults.")]
        said += [_plain(one, "its" if first.different else b) for one in others[: _MOST_SAID - 1]]
    told = [said_of for said_of in _TOLD if said_of in figures][:1]
    if "throughput_tps" in figures and told:
        same = figures["throughput_tps"].different  # that is said of b: it is the subject
        said.append(_plain(figures[told[0]], "its" if same else b))
    sentence = _joined(said)
    aborted = figures.get("aborted")
    if aborted is not None and aborted.different:
        sentence += f" {_plain(aborted, b)}."
    return sentence


def _joined(said: list[str]) -> str:
    *others, last = said
    return f"{', '.join(others)} and {last}." if others else f"{last}."


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
