"""A figure over replications: its median and its range, which is all that a few runs tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isnan, nan
from statistics import median
from typing import Any, TypeVar, cast

from simrep.measure.histogram import LatencyHistogram

__all__ = ["NEVER", "NONE", "Spread", "over_replications", "spread_dict"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Spread:
    """The values of a figure, one for each replication.

    Nothing in it comes from within one run: a run in which something breaks is one case.

    Attributes
    ----------
    values : tuple of float
        In the order of the replications; NaN in those that have no such figure.
    """

    values: tuple[float, ...]

    @classmethod
    def of(cls, value: float) -> Spread:
        """That of one replication."""
        return cls((value,))

    @property
    def known(self) -> Sequence[float]:
        """Values of the replications that have one."""
        return [value for value in self.values if not isnan(value)]

    @property
    def median(self) -> float:
        """Of the known values; NaN if there are none."""
        known = self.known
        return median(known) if known else nan

    @property
    def low(self) -> float:
        """The least of them."""
        return min(self.known, default=nan)

    @property
    def high(self) -> float:
        """The greatest of them."""
        return max(self.known, default=nan)


NEVER = Spread((nan,))
"""What did not happen, in one replication."""
NONE = Spread((0.0,))
"""What was counted, and was not there."""


def over_replications(records: Sequence[R]) -> R:
    """One record from those of several replications, field by field.

    Spreads hold the values of all, histograms all latencies, tuples of words every word once, and
    mappings every key: a record that some replications lack is an empty one there. All else is
    that of the first.
    """
    if len(records) == 1:
        return records[0]
    first: Any = records[0]
    joined = {one.name: _joined([getattr(r, one.name) for r in records]) for one in fields(first)}
    return cast(R, type(first)(**joined))


def _joined(values: Sequence[Any]) -> Any:
    first = values[0]
    if any(value is None for value in values):
        return None
    if isinstance(first, Spread):
        return Spread(tuple(value for spread in values for value in spread.values))
    if isinstance(first, LatencyHistogram):
        return LatencyHistogram.merged(values)
    if isinstance(first, tuple):
        return tuple(dict.fromkeys(word for words in values for word in words))
    if isinstance(first, Mapping):
        keys = dict.fromkeys(key for value in values for key in value)
        return {
            key: _joined([_or_empty(value.get(key), key, values) for value in values])
            for key in keys
        }
    return over_replications(values) if is_dataclass(first) else first


def _or_empty(value: Any, key: object, values: Sequence[Mapping[Any, Any]]) -> Any:
    """A record, or an empty one of the type that others have under the key."""
    if value is not None:
        return value
    kind = next(type(one[key]) for one in values if key in one)
    return NEVER if kind is Spread else kind()


def spread_dict(record: Any) -> dict[str, Any]:
    """All fields of a record by name: medians of spreads, and their ranges if there are several."""
    content: dict[str, Any] = {}
    ranges: dict[str, list[float]] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if isinstance(value, Spread):
            content[one.name] = value.median
            if len(value.values) > 1 and value.known:
                ranges[one.name] = [value.low, value.high]
        elif isinstance(value, LatencyHistogram):
            content[f"{one.name}_s"] = value.figures()
        elif isinstance(value, Mapping):
            content[one.name] = {
                str(key): own.median if isinstance(own, Spread) else spread_dict(own)
                for key, own in value.items()
            }
        elif isinstance(value, tuple):
            content[one.name] = list(value)
        elif is_dataclass(value):
            content[one.name] = spread_dict(value)
        else:
            content[one.name] = value
    return content | ({"ranges": ranges} if ranges else {})
