"""One point of a sweep, in the process that simulates it: from its setup to a few figures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import isfinite, nan
from statistics import fmean
from typing import Any, Self

from simrep.contract.model import Degradation
from simrep.contract.setup import Setup
from simrep.errors import ScenarioError, SimrepError
from simrep.measure.confidence import Interval, mean_interval
from simrep.runs.batch import figures_of
from simrep.runs.degradation import degradations, degraded
from simrep.runs.notices import mixed_notice, percentile_notice, precision_notice, rests_on
from simrep.runs.pilot import FIRST_LOOK, looked_at, quick_setup
from simrep.runs.replication import simulate, with_warmup
from simrep.runs.result import Result
from simrep.runs.sampler import Sampler

__all__ = ["FIGURES", "How", "SweepPoint", "measure"]

FIGURES = (
    "throughput_tps",
    "makespan_s",
    "committed",
    "aborted",
    "latency_s.mean",
    "latency_s.p50",
    "latency_s.p95",
    "latency_s.p99",
    "latency_s.max",
    "stall_max_s",
)


@dataclass(frozen=True, slots=True)
class How:
    """How every point of a sweep is simulated.

    Attributes
    ----------
    seed, replications : int
    precision : float or None
        Instead of ``replications``: as many as the first figure needs.
    most : int
        With a precision, the replications at which to give up.
    figures : tuple of str
        By their paths in a result.
    asked : tuple of str
        Those of them that were asked for.
    quick : int
        Replications of a point of which shorter runs are enough for a first look; 0: no first look
        is asked for.
    """

    seed: int
    replications: int
    precision: float | None
    most: int
    figures: tuple[str, ...]
    asked: tuple[str, ...] = ()
    quick: int = 0

    @property
    def about(self) -> str:
        """The figure that the sweep is about."""
        return self.figures[0]

    def to_dict(self) -> dict[str, Any]:
        """What makes a difference to the values, as JSON can hold it."""
        content = asdict(self) | {"figures": sorted(self.figures)}
        if not self.quick:
            del content["quick"], content["asked"]
        if self.precision is None:
            del content["most"]
        else:
            content |= {"replications": None, "about": self.about}
        return content


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One point.

    Attributes
    ----------
    values : mapping of str to tuple of float
        Figures by their paths, one value per replication, NaN where one has none; empty if the
        point failed.
    warmup_s : float
        Simulated time that was left out at the beginning.
    notices : tuple of str
        What is to be said of the figures.
    error : str
        Why it could not be simulated; empty if it was.
    labels : mapping of str to value
        The level of every factor.
    """

    values: Mapping[str, tuple[float, ...]]
    warmup_s: float = 0.0
    notices: tuple[str, ...] = ()
    error: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What ``to_dict`` made, bit for bit."""
        values = {
            name: tuple(nan if value is None else float(value) for value in own)
            for name, own in content["values"].items()
        }
        return cls(values, content["warmup_s"], tuple(content["notices"]), content["error"])

    def to_dict(self) -> dict[str, Any]:
        """All but the labels, as JSON can hold it; what is not a number becomes None."""
        return {
            "values": {
                name: [value if isfinite(value) else None for value in values]
                for name, values in self.values.items()
            },
            "warmup_s": self.warmup_s,
            "notices": list(self.notices),
            "error": self.error,
        }

    def at(self, labels: Mapping[str, Any], how: How) -> SweepPoint:
        """The point in its place in a sweep, with what is wrong with the figure of that."""
        notices = dict.fromkeys(self.notices) | dict.fromkeys(_notices(self, how))
        return replace(self, labels=labels, notices=tuple(notices))

    @property
    def replications(self) -> int:
        """How many there were."""
        return len(next(iter(self.values.values()), ()))

    def mean(self, figure: str) -> float:
        """The mean over the replications; NaN if one of them does not have the figure."""
        values = self.values.get(figure, ())
        return fmean(values) if values else nan

    def interval(self, figure: str) -> Interval | None:
        """The 95 % interval of the mean; None for a single replication."""
        values = self.values.get(figure, ())
        if len(values) < 2 or not all(map(isfinite, values)):
            return None
        return mean_interval(values)


def _notices(point: SweepPoint, how: How) -> Iterator[str]:
    """What is wrong with the figure that the sweep is about."""
    if point.error:
        return
    about, values = how.about, point.values[how.about]
    fewest = min(point.values["committed"])
    if not fewest:
        yield "no transaction committed in the measured time of a replication"
    elif not all(map(isfinite, values)):
        yield f"a replication has no {about}"
    else:
        if rests_on(about) == "committed" and (notice := percentile_notice(about, fewest)):
            yield notice
        if how.precision is not None and (notice := precision_notice(about, values, how.precision)):
            yield notice


def measure(setup: Setup, how: How) -> SweepPoint:
    """Simulate the replications of a point.

    Raises
    ------
    ScenarioError
        If a result has no such figure.
    """
    less: list[tuple[Degradation, ...]] = []
    counted = rests_on(how.about)
    counts: list[float] = []

    def simulated(numbers: range) -> Iterator[tuple[float, ...]]:
        for number in numbers:
            record = simulate(setup, how.seed, number)
            less.append(record.degradation)
            *figures, count = figures_of(Result.combine([record]), (*how.figures, counted))
            counts.append(count)
            yield tuple(figures)

    replications, asked_s = how.replications, setup.scenario.run.duration_s
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if how.quick:
                short = quick_setup(setup, how.seed, how.asked)
                replications = replications if short is None else how.quick
                setup = short or setup
            setup = with_warmup(setup, how.seed, briefly=True)
            rows = list(
                Sampler(
                    simulate=simulated,
                    figure=lambda rows: [row[0] for row in rows],
                    replications=replications,
                    precision=how.precision,
                    most=how.most,
                )
            )
        except ScenarioError:
            raise
        except SimrepError as error:
            return SweepPoint({}, error=str(error))
    values = dict(zip(how.figures, zip(*rows, strict=True), strict=True))
    notices = dict.fromkeys(str(warning.message) for warning in caught)
    notices |= dict.fromkeys(degraded(degradations(less)))
    run = setup.scenario.run
    if how.quick:
        notices[FIRST_LOOK + looked_at(replications, run.duration_s, asked_s)] = None
    if mixed := mixed_notice([setup.scenario], [how.about]):
        notices[mixed] = None
    if counted != "committed" and (thin := percentile_notice(how.about, min(counts))):
        notices[thin] = None
    return SweepPoint(values, setup.scenario.run.warmup_s, tuple(notices))
