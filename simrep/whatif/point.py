"""One point of a sweep, in the process that simulates it: from its plan to a few figures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import Any, Self

from simrep.contract.setup import Setup
from simrep.errors import ScenarioError, SimrepError
from simrep.runs.batch import figures_of
from simrep.runs.replication import simulate, with_warmup
from simrep.runs.result import Result
from simrep.runs.sampler import Sampler

__all__ = ["FIGURES", "How", "Outcome", "measure"]

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
    """

    seed: int
    replications: int
    precision: float | None
    most: int
    figures: tuple[str, ...]

    @property
    def about(self) -> str:
        """The figure that the sweep is about."""
        return self.figures[0]

    def to_dict(self) -> dict[str, Any]:
        """What makes a difference to the values, as JSON can hold it."""
        content = asdict(self) | {"figures": sorted(self.figures)}
        if self.precision is None:
            del content["most"]
        else:
            content |= {"replications": None, "about": self.about}
        return content


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a point.

    Attributes
    ----------
    values : mapping of str to tuple of float
        Every figure, by replication; NaN where a replication has none.
    warmup_s : float
        What was left out at the beginning.
    notices : tuple of str
        Warnings of the simulation.
    error : str
        Why it could not be simulated; then there are no values.
    """

    values: Mapping[str, tuple[float, ...]]
    warmup_s: float = 0.0
    notices: tuple[str, ...] = ()
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        return {
            "values": {
                name: [value if isfinite(value) else None for value in values]
                for name, values in self.values.items()
            },
            "warmup_s": self.warmup_s,
            "notices": list(self.notices),
            "error": self.error,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What ``to_dict`` made, bit for bit."""
        values = {
            name: tuple(nan if value is None else float(value) for value in own)
            for name, own in content["values"].items()
        }
        return cls(values, content["warmup_s"], tuple(content["notices"]), content["error"])


def measure(setup: Setup, how: How) -> Outcome:
    """Simulate the replications of a point.

    Raises
    ------
    ScenarioError
        If a result has no such figure.
    """

    def simulated(numbers: range) -> Iterator[tuple[float, ...]]:
        for number in numbers:
            yield figures_of(Result.combine([simulate(setup, how.seed, number)]), how.figures)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            setup = with_warmup(setup, how.seed)
            rows = list(
                Sampler(
                    simulate=simulated,
                    figure=lambda rows: [row[0] for row in rows],
                    replications=how.replications,
                    precision=how.precision,
                    most=how.most,
                )
            )
        except ScenarioError:
            raise
        except SimrepError as error:
            return Outcome({}, error=str(error))
    values = dict(zip(how.figures, zip(*rows, strict=True), strict=True))
    notices = dict.fromkeys(str(warning.message) for warning in caught)
    return Outcome(values, setup.scenario.run.warmup_s, tuple(notices))
