"""Replications until there are enough: a number, until a figure is precise, or an answer clear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Generic, TypeVar

from simrep.errors import ScenarioError
from simrep.measure.confidence import mean_interval
from simrep.measure.looks import Look

__all__ = [
    "LEAST",
    "MOST",
    "Progress",
    "Sampler",
    "at_least",
    "check_precision",
    "replications_wanted",
    "seed_of",
]

T = TypeVar("T")
Progress = Callable[[int, int], object] | bool
"""Called with the number of finished replications, and of those that are wanted so far.

True for a bar on a terminal, False for silence; an estimate is printed without it.
"""

LEAST = 10
"""With fewer replications their spread is too uncertain to decide by."""
MOST = 1000
"""Replications at which a search for a precision is given up."""


@dataclass(slots=True, kw_only=True)
class Sampler(Generic[T]):
    """Replications one by one; iterating over it simulates them."""

    # Gives the replications of a range of numbers, in their order.
    simulate: Callable[[range], Iterable[T]]
    # The figure of each replication so far, on which the precision decides.
    figure: Callable[[Sequence[T]], Sequence[float]] = lambda _: ()
    replications: int = 1  # how many there are to be, without a precision and without looks
    # Half width of the 95 % interval that is wanted, as a share of the figure.
    precision: float | None = None
    most: int = MOST  # with a precision, the replications at which to give up
    looks: Sequence[Look] = ()  # instead of a number: when to ask whether the answer is clear
    clear: Callable[[Sequence[T], Look], bool] = lambda _, __: False
    progress: Progress | None = None
    wanted: int = field(default=0, init=False)  # replications that are known to be needed so far

    def __iter__(self) -> Iterator[T]:
        samples: list[T] = []
        while len(samples) < self._look(samples):
            for sample in self.simulate(range(len(samples), self.wanted)):
                samples.append(sample)
                yield sample
                if callable(self.progress):
                    self.progress(len(samples), self.wanted)

    def _look(self, samples: Sequence[T]) -> int:
        """How many replications there have to be, as far as those that there are can tell."""
        self.wanted = self.replications
        if self.looks:
            here = next((look for look in self.looks if look.count == len(samples)), None)
            if here is not None and self.clear(samples, here):
                self.wanted = len(samples)
            else:
                later = (look.count for look in self.looks if look.count > len(samples))
                self.wanted = next(later, len(samples))
        elif self.precision is not None:
            values = self.figure(samples) if samples else ()
            if all(map(isfinite, values)):
                self.wanted = replications_wanted(values, self.precision, most=self.most)
            else:
                self.wanted = len(samples)  # more of them do not make it precise
        return self.wanted


def replications_wanted(
    values: Sequence[float], precision: float, *, most: int = MOST, confidence: float = 0.95
) -> int:
    """How many replications there must be before their interval is looked at (again).

    Every look may stop too early by luck, so looks are few: after the first replications, then
    at as many as their spread asks for, at least a tenth more and at most twice as many. As many
    as there are, are enough.

    References
    ----------
    A. M. Law: Simulation Modeling and Analysis. 5th ed., McGraw-Hill 2015, section 9.4.1.

    Examples
    --------
    >>> replications_wanted([], 0.02), replications_wanted([1.0] * 10, 0.02)
    (10, 10)
    """
    count = len(values)
    if count < LEAST or count >= most:
        return min(LEAST, most) if count < most else count
    found = mean_interval(values, confidence).relative
    if found <= precision:
        return count
    needed = ceil(min(2.0, (found / precision) ** 2) * count)
    return min(most, max(needed, count + ceil(count / 10)))


def check_precision(precision: float) -> None:
    """Refuse a precision that is no share of a figure: it lies between 0 and 1."""
    if not 0.0 < precision < 1.0:
        raise ScenarioError(
            "precision", f"must lie between 0 and 1, given {precision:g}", "0.02 is 2 %"
        )


def at_least(name: str, value: object, least: int, most: int = 1_000_000) -> int:
    """A whole number that is not too small, nor beyond reason; the error names the argument."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ScenarioError(name, f"must be a whole number of at least {least}, given {value!r}")
    if value > most:
        raise ScenarioError(name, f"must be at most {most}, given {value!r}")
    return value


def seed_of(given: int | None, own: int) -> int:
    """The seed that was given, or the scenario's (or dataset's) own if none was."""
    return own if given is None else at_least("seed", given, 0, 2**63 - 1)
