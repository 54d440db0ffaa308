"""Which numbers of a scenario move its answer, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, cast

from simrep.measure.units import plain
from simrep.runs.notices import mixed_notice
from simrep.runs.report import Report

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Effect", "Sensitivity"]

_COLUMNS = [
    *("path", "low", "high", "at_low", "at_high", "effect", "effect_low", "effect_high"),
    *("direction", "alone", "above_chance"),
]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one number does.

    Attributes
    ----------
    path : str
        Where it stands in the scenario; ``network.delays`` are all delays, as a factor.
    low, high : float
        Its range.
    at_low, at_high : float
        The figure with this number at an end of its range, everything else as in the scenario.
    effect : float
        Morris: how much it moves the figure over its range, on average over the ranges of all
        others, as a factor (1: not at all) or a difference (0: not at all); see
        ``Sensitivity.scale``. Sobol: its total share of the variance.
    interval : (float, float)
        95 % interval of that, by bootstrap.
    direction : float
        From -1, it always lowers the figure, to 1, it always raises it; NaN for Sobol.
    alone : float
        From 0 to 1: how far the effect is the same whatever the others are.
    above_chance : bool
        Whether the effect is larger than chance explains.
    """

    path: str
    low: float
    high: float
    at_low: float
    at_high: float
    effect: float
    interval: tuple[float, float]
    direction: float
    alone: float
    above_chance: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Sensitivity(Report):
    """What moves a figure of a scenario, the most important first.

    ``plot()`` draws a tornado: what each number does, with its interval.

    Attributes
    ----------
    title : str
        Name of the scenario.
    of : str
        The figure.
    method : {"morris", "sobol"}
    scale : {"factor", "difference"}
        Whether effects are factors, as of all figures that are positive at every point, or
        differences in the unit of the figure.
    base : float
        The figure of the scenario itself.
    noise : float
        Standard deviation of a point by chance, relative if effects are factors.
    floor : float
        95 of 100 numbers that do nothing stay below this effect by chance.
    effects : tuple of Effect
    unused : tuple of str
        What was varied and never made any difference at all: the run does not use it.
    points : int
        Trajectories, or rows of the base sample.
    runs : int
        Simulated runs in all.
    seed, replications, repeats : int
    complete : bool
        False if it was interrupted.
    scenario, versions : mapping
    """

    width = 120

    title: str
    of: str
    method: Literal["morris", "sobol"]
    scale: Literal["factor", "difference"]
    base: float
    noise: float
    floor: float
    effects: tuple[Effect, ...]
    unused: tuple[str, ...]
    points: int
    runs: int
    seed: int
    replications: int
    repeats: int
    complete: bool
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def note(self) -> str:
        """That the figure mixes the phases of a run without a steady state; empty if not."""
        return mixed_notice([self.scenario], [self.of])

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        content = {one.name: getattr(self, one.name) for one in fields(self)}
        content["note"] = self.note or None
        return cast(dict[str, Any], plain(content))

    def to_frame(self) -> pd.DataFrame:
        """A row per number, the most important first."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=_COLUMNS)

    def _rows(self) -> list[dict[str, Any]]:
        rows = [asdict(one) for one in self.effects]
        for row in rows:
            row["effect_low"], row["effect_high"] = row.pop("interval")
        return rows

    def __repr__(self) -> str:
        first = ", ".join(one.path for one in self.effects[:3]) or "nothing"
        return f"<Sensitivity of {self.of} by {self.method}: {first}>"
