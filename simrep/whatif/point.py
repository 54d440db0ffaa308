"""One point of a sweep, in the process that simulates it: from its plan to a few figures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import Any, Self

from simrep.contract.setup import Setup
from simrep.errors import ScenarioError, SimrepError
from simrep.measure.stopping import replications_wanted
from simrep.runs.batch import figures_of
from simrep.runs.replication import simulate, with_warmup
from simrep.runs.result import Result

__all__ = ["FIGURES", "How", "Measured", "measure"]

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
class Measured:
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


def measure(setup: Setup, how: How) -> Measured:
    """Simulate the replications of a point.

    Raises
    ------
    ScenarioError
        If a result has no such figure.
    """
    rows: list[tuple[float, ...]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            setup = with_warmup(setup, how.seed)
            while len(rows) < (wanted := _wanted(rows, how)):
                for number in range(len(rows), wanted):
                    result = Result.combine([simulate(setup, how.seed, number)])
                    rows.append(figures_of(result, how.figures))
        except ScenarioError:
            raise
        except SimrepError as error:
            return Measured({}, error=str(error))
    values = dict(zip(how.figures, zip(*rows, strict=True), strict=True))
    notices = dict.fromkeys(str(one.message) for one in caught)
    return Measured(values, setup.scenario.run.warmup_s, tuple(notices))


def _wanted(rows: Sequence[tuple[float, ...]], how: How) -> int:
    if how.precision is None:
        return how.replications
    values = [row[0] for row in rows]
    if not all(map(isfinite, values)):
        return len(rows)
    return replications_wanted(values, how.precision, most=how.most)
