"""Where a cluster did not keep what it promises while it was measured, and how a run says so."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

from simrep.contract.model import Degradation
from simrep.errors import DegradedWarning
from simrep.kernel.clock import Clock
from simrep.measure.units import describe, number

__all__ = ["DegradationWatch", "degradations", "degraded", "warn_degraded"]


class DegradationWatch:
    """Remembers the counts of a model when measuring starts, to report the difference."""

    def __init__(
        self, clock: Clock, tell: Callable[[], Sequence[Degradation]], start_s: float
    ) -> None:
        self._tell = tell
        self._before: dict[str, float] = {}
        if tell() and start_s > clock.now:
            clock.at(start_s, self._mark)

    def _mark(self, _: object) -> None:
        self._before = {one.figure: one.times for one in self._tell()}

    def measured(self) -> tuple[Degradation, ...]:
        """What there was since measuring began, with those of which there was nothing."""
        return tuple(
            one._replace(times=one.times - self._before.get(one.figure, 0)) for one in self._tell()
        )


def degradations(records: Iterable[Sequence[Degradation]]) -> list[Degradation]:
    """The mean over replications; they all have the same figures."""
    means = []
    for same in zip(*records, strict=True):
        times = sum(one.times for one in same) / len(same)
        worst = max(same, key=lambda one: one.times)  # whose reason counts
        means.append(worst._replace(times=int(times) if float(times).is_integer() else times))
    return means


def degraded(found: Iterable[Degradation]) -> Iterator[str]:
    """What is to be said of those that there were."""
    for one in found:
        if one.times:
            yield f"degraded, {number(one.times)} {describe(one.figure)}: {one.why}"


def warn_degraded(found: Sequence[Degradation], stacklevel: int = 4) -> None:
    """Warn of what one replication gave its clients less than its product promises."""
    for line in degraded(found):
        warnings.warn(line, DegradedWarning, stacklevel=stacklevel)
