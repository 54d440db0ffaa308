"""Which numbers of a scenario move its answer most: Morris and Sobol by SALib.

Every point is simulated with the same random numbers, so that what differs is what was varied. What
chance does is told by repetitions with other random numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import exp, isfinite, log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ContentionWarning, ScenarioError, SimrepError, nearest
from simrep.runs.batch import Task, figures_of, simulate_groups
from simrep.runs.contention import preset_trap
from simrep.runs.executor import collected, workers
from simrep.runs.progress import told, work_expected
from simrep.runs.sampler import Progress, at_least, seed_of
from simrep.scenario import Scenario, load
from simrep.whatif.sensitivity.design import Indices, check_installed, design_of
from simrep.whatif.sensitivity.inputs import Input, given_input, nudged, usual_inputs, varied
from simrep.whatif.sensitivity.result import Effect, Sensitivity

__all__ = ["METHODS", "sensitivity"]

METHODS = ("morris", "sobol")
_POINTS = {"morris": 10, "sobol": 64}  # trajectories; rows of the base sample
_FEWEST = 2
_LEAST_REPEATS = 3
# Beside the figure itself: what tells whether a cost was ever paid.
_WITNESSES = ("throughput_tps", "makespan_s", "latency_s.mean")


@dataclass(frozen=True, slots=True)
class _Ends:
    """What the scenario gives itself, and with one factor at an end of its range."""

    base: float
    noise: list[float]
    low: list[float]
    high: list[float]
    used: list[bool]


@told
def sensitivity(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    of: str = "latency_s.p95",
    over: Mapping[str, tuple[float, float]] | None = None,
    method: Literal["morris", "sobol"] = "morris",
    points: int | None = None,
    repeats: int = 10,
    replications: int = 1,
    seed: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Sensitivity:
    """Find out which numbers of a scenario move one of its figures most.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    of : str
        The figure: ``throughput_tps``, ``latency_s.p95``, ...
    over : mapping of str to (float, float), optional
        Ranges by path: ``{"network.rtt_ms": (1, 100)}``; ``network.delays`` stands for all delays
        between nodes, as a factor. Default: all costs of the model within their usual range, and
        half to twice the delays. What the run never uses is found out and left out.
    method : {"morris", "sobol"}
        ``morris`` ranks by elementary effects and takes (factors + 1) runs per point; ``sobol``
        splits the variance and takes (factors + 2), of many more points.
    points : int, optional
        Trajectories of Morris (default 10), or rows of the base sample of Sobol (default 64, best
        a power of two).
    repeats : int
        Runs of the scenario itself, and of as many points, with other random numbers and all costs
        a hair off, which tell what chance does; at least 3.
    replications : int
        Runs per point, of which the mean counts.
    seed, jobs, executor
        See :func:`simrep.run`.
    progress : callable or bool, optional
        True for a bar on a terminal, False for silence; or called with
        the number of finished points and of all points.

    Returns
    -------
    Sensitivity
        Of the finished points when it was interrupted (Ctrl-C) and they are enough.

    Raises
    ------
    ScenarioError
        If an argument, a path or a range is not valid.
    SimrepError
        If SALib is missing, or a run has no such figure, as when nothing commits.
    """
    executor = workers(jobs, executor)
    check_installed()
    loaded = load(scenario)
    if method not in METHODS:
        raise ScenarioError("method", f"no method {method!r}", nearest(method, METHODS))
    points = at_least("points", _POINTS[method] if points is None else points, _FEWEST)
    at_least("repeats", repeats, _LEAST_REPEATS)
    at_least("replications", replications, 1)
    seed = seed_of(seed, loaded.run.seed)
    base = setup_of(loaded)
    if trap := preset_trap(base):
        warnings.warn(trap, ContentionWarning, stacklevel=2)
    if over is not None and not over:
        raise ScenarioError("over", "names nothing to vary", "give a path and a range")
    candidates = (
        usual_inputs(base)
        if over is None
        else tuple(given_input(loaded, path, *ends) for path, ends in over.items())
    )
    simulated = _Simulated(of, seed, replications, executor, progress)
    more = points * (len(candidates) + (1 if method == "morris" else 2))
    ends = _at_the_ends(loaded, base, candidates, repeats, simulated, more)
    factors = [one for one, used in zip(candidates, ends.used, strict=True) if used]
    unused = tuple(one.path for one, used in zip(candidates, ends.used, strict=True) if not used)
    values: list[float] = []
    echoes: list[float] = []
    complete = True
    design = None
    if factors:
        design = design_of(method, len(factors), points, seed)
        setups = [_setup_at(loaded, factors, shares) for shares in design.shares]
        least = _FEWEST * design.block
        values, complete = collected(simulated.means(setups, min(repeats, points)), least=least)
        if complete:
            again = simulated.echoes(setups[:: design.block][:repeats])
            echoes, complete = collected(again, least=0)
        values = values[: len(values) // design.block * design.block]
    block = 1 if design is None else design.block
    factor_scale = min([ends.base, *ends.noise, *ends.low, *ends.high, *values, *echoes]) > 0.0
    scaled = log if factor_scale else float
    chance = max(
        stdev(map(scaled, ends.noise)) / sqrt(replications),
        _spread([(scaled(a), scaled(b)) for a, b in zip(echoes, values[::block], strict=False)]),
    )
    indices = None
    if design is not None:
        indices = design.indices(np.array([scaled(value) for value in values]), chance)
    return Sensitivity(
        title=loaded.name,
        of=of,
        method=method,
        scale="factor" if factor_scale else "difference",
        base=ends.base,
        noise=exp(chance) - 1.0 if factor_scale else chance,
        floor=_floor(method, indices, factor_scale=factor_scale),
        effects=tuple(
            sorted(
                _effects(candidates, ends, indices, method, factor_scale=factor_scale),
                key=lambda one: -one.effect,
            )
        ),
        unused=unused,
        points=0 if design is None else len(values) // block,
        runs=replications * (1 + 2 * len(candidates) + len(values) + len(echoes)) + repeats,
        seed=seed,
        replications=replications,
        repeats=repeats,
        complete=complete,
        scenario=base.scenario.to_dict(),
        versions=base.versions,
    )


class _Simulated:
    """Simulates setups with common random numbers, and counts what is done."""

    def __init__(
        self,
        of: str,
        seed: int,
        replications: int,
        executor: Executor | None,
        progress: Progress | None,
    ) -> None:
        self._of = of
        self._reduce = partial(figures_of, paths=(of, *_WITNESSES))
        self._seed = seed
        self._replications = replications
        self._executor = executor
        self._progress = progress
        self._done = 0

    def figures(self, groups: Sequence[Sequence[Task]], rest: int = 0) -> Any:
        """The figures of every run, group by group."""
        total = self._done + len(groups) + rest
        work_expected(total)
        for found in simulate_groups(groups, self._reduce, self._seed, self._executor):
            if not all(isfinite(values[0]) for values in found):
                raise SimrepError(
                    f"{self._of} is not known at every point: nothing commits there, or too little "
                    "(narrow the ranges, or lengthen the run)"
                )
            self._done += 1
            if callable(self._progress):
                self._progress(self._done, total)
            yield found

    def nudged(self, setup: Setup, number: int) -> Setup:
        """The setup a hair off, for a repetition with other random numbers."""
        return nudged(setup, self._seed, number)

    def runs(self, setup: Setup) -> list[Task]:
        """The replications of a point."""
        return [Task(setup, number) for number in range(self._replications)]

    def means(self, setups: Sequence[Setup], more: int) -> Any:
        """The mean of the figure, setup by setup."""
        for found in self.figures([self.runs(setup) for setup in setups], more):
            yield fmean(values[0] for values in found)

    def echoes(self, setups: Sequence[Setup]) -> Any:
        """The same of setups a hair off, with other random numbers."""
        numbers = range(self._replications, 2 * self._replications)
        groups = [[Task(self.nudged(one, n), n) for n in numbers] for one in setups]
        for found in self.figures(groups):
            yield fmean(values[0] for values in found)


def _at_the_ends(
    scenario: Scenario,
    base: Setup,
    candidates: Sequence[Input],
    repeats: int,
    simulated: _Simulated,
    more: int,
) -> _Ends:
    """The scenario itself, repeatedly, and every factor at both ends of its range."""
    setups = [
        varied(scenario, {one.path: one.range.at(share)})
        for one, share in product(candidates, (0.0, 1.0))
    ]
    groups = [simulated.runs(setup) for setup in (base, *setups)]
    groups.append([Task(simulated.nudged(base, number), number) for number in range(repeats)])
    first, *found, noise = simulated.figures(groups, more)
    means = [fmean(values[0] for values in runs) for runs in found]
    same = [runs == first for runs in found]
    return _Ends(
        base=fmean(values[0] for values in first),
        noise=[values[0] for values in noise],
        low=means[::2],
        high=means[1::2],
        used=[not (low and high) for low, high in zip(same[::2], same[1::2], strict=True)],
    )


def _spread(pairs: Sequence[tuple[float, float]]) -> float:
    """Standard deviation of one of a pair that should be equal; 0 without pairs."""
    return sqrt(fmean((a - b) ** 2 for a, b in pairs) / 2.0) if pairs else 0.0


def _setup_at(scenario: Scenario, factors: Sequence[Input], shares: NDArray[np.float64]) -> Setup:
    return varied(
        scenario,
        {one.path: one.range.at(float(share)) for one, share in zip(factors, shares, strict=True)},
    )


def _effects(
    candidates: Sequence[Input],
    ends: _Ends,
    indices: Indices | None,
    method: str,
    *,
    factor_scale: bool,
) -> list[Effect]:
    effects = []
    number = 0
    told = exp if factor_scale and method == "morris" else float
    for position, one in enumerate(candidates):
        if indices is None or not ends.used[position]:
            continue
        effect, half = indices.effects[number], indices.halves[number]
        effects.append(
            Effect(
                path=one.path,
                low=one.range.low,
                high=one.range.high,
                at_low=ends.low[position],
                at_high=ends.high[position],
                effect=told(effect),
                interval=(told(max(0.0, effect - half)), told(effect + half)),
                direction=indices.directions[number],
                alone=indices.alone[number],
                above_chance=effect > indices.floor,
            )
        )
        number += 1
    return effects


def _floor(method: str, indices: Indices | None, *, factor_scale: bool) -> float:
    if indices is None:
        return 0.0
    return exp(indices.floor) if factor_scale and method == "morris" else indices.floor
