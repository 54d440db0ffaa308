"""As many replications of a figure as a precision needs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ShortRunWarning, SimrepError
from simrep.measure.stopping import MOST, replications_wanted
from simrep.runs.batch import Run, figures_of, simulate_groups
from simrep.runs.notices import precision_notice
from simrep.runs.replication import with_warmup
from simrep.runs.steady_state import check_precision, with_warmup_found
from simrep.scenario import Scenario, load

__all__ = ["run_until"]


def run_until(
    scenario: Setup | str | Path | Mapping[str, Any] | Scenario,
    figure: str,
    precision: float,
    *,
    seed: int | None = None,
    most: int = MOST,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[float]:
    """Simulate replications until the interval of a figure is narrow enough.

    Parameters
    ----------
    scenario : Setup, str, Path, mapping or Scenario
        Of what is not a plan, a warm-up that is not set is found out and left out.
    figure : str
        A figure of a result by its path, such as ``latency_s.p95``.
    precision : float
        Half width of the 95 % interval that is wanted, as a share of the mean.
    seed : int, optional
        Root of all random numbers; default: ``run.seed`` of the scenario.
    most : int
        Replications at which to give up.
    executor : concurrent.futures.Executor, optional
    progress : callable, optional
        Called with the number of finished replications, and of those that are wanted so far.

    Returns
    -------
    list of float
        The figure of every replication, in their order.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run, or there is no such figure.
    SimrepError
        If a replication does not have the figure: nothing committed.

    Warns
    -----
    ShortRunWarning
        If the precision was not reached.
    """
    check_precision(precision)
    if not isinstance(scenario, Setup):
        scenario = setup_of(with_warmup_found(load(scenario)))
    seed = scenario.scenario.run.seed if seed is None else seed
    setup = with_warmup(scenario, seed)
    reduce = partial(figures_of, paths=(figure,))
    values: list[float] = []
    while (wanted := replications_wanted(values, precision, most=most)) > len(values):
        groups = [[Run(setup, number)] for number in range(len(values), wanted)]
        for [(value,)] in simulate_groups(groups, reduce, seed, executor):
            if not isfinite(value):
                raise SimrepError(f"replication {len(values)} has no {figure}: lengthen the run")
            values.append(value)
            if progress is not None:
                progress(len(values), wanted)
    if notice := precision_notice(figure, values, precision):
        warnings.warn(notice, ShortRunWarning, stacklevel=2)
    return values
