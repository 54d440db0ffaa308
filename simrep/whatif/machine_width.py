"""How wide a prediction is on a machine of which nobody knows how fast it is.

Machines are drawn from the priors of the costs and traits, each by itself, as a fit takes them
before it has seen a cell. Each is simulated with the same random numbers as the pack is; what
comes out, as a multiple of what the pack says, is the width of such a guess. The error of the model
comes on top. Costs and traits that the scenario sets are known, and stay.

Simplified: priors are independent of each other, while a fast machine is fast in all it does; that
makes the interval narrower where many costs decide together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import exp, inf, isfinite
from typing import Any

from numpy.random import Generator

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, SimrepError
from simrep.kernel.streams import Streams
from simrep.runs.batch import figures_of
from simrep.runs.executor import collected, in_order, workers
from simrep.runs.pilot import enough_s
from simrep.runs.prediction import CONFIDENCE, predictable, prediction_interval, uncertainty_of
from simrep.runs.replication import simulate, with_run_settings
from simrep.runs.result import Result
from simrep.runs.sampler import Progress, seed_of
from simrep.scenario import Scenario, with_values
from simrep.scenario.cluster import MachineTable
from simrep.scenario.prior import Prior, prior_of
from simrep.scenario.problems import spellings

__all__ = ["MachineWidth", "machine_width"]

_PILOT = 2**31 - 3  # the replication that all machines are simulated with; no figure counts it
_SHORTER = 8.0  # than the 5,000 transactions that a point of a sweep takes


@dataclass(frozen=True, slots=True)
class MachineWidth:
    """Where a measurement lies on a machine of unknown speed, beside what a pack says.

    Attributes
    ----------
    pack : str
    figure : str
        By its path: throughput, or the mean latency where the load prescribes that.
    low, high : float
        It lies between so many times what is simulated with the pack.
    confidence : float
        How often it does.
    machines : int
        Drawn from the priors, and simulated.
    """

    pack: str
    figure: str
    low: float
    high: float
    confidence: float
    machines: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def machine_width(
    scenario: Scenario,
    pack: str,
    *,
    draws: int = 12,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> MachineWidth:
    """How wide a prediction with a pack is, on a machine of unknown speed.

    Parameters
    ----------
    scenario : Scenario
    pack : str
        Name of the pack that it is simulated with.
    draws : int
        Machines that are drawn from the priors; at least 2.
    seed, jobs, progress
        See :func:`simrep.run`.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run, or draws are too few.
    SimrepError
        If nothing commits on one of the machines: a factor would rest on nothing.
    """
    if draws < 2:
        raise ScenarioError("draws", f"must be at least 2, given {draws}")
    executor = workers(jobs)
    seed = seed_of(seed, scenario.run.seed)
    setup = setup_of(with_values(scenario, {"cluster.pack": pack}))
    figure = "throughput_tps" if "throughput_tps" in predictable(setup) else "latency_s.mean"
    machines = [setup, *(_drawn(scenario, setup, seed, number) for number in range(draws))]
    tasks = [(machine, seed, figure) for machine in machines]
    told, complete = collected(
        in_order(_figure, tasks, executor), progress=progress, total=len(tasks)
    )
    if not complete or not all(isfinite(value) and value > 0.0 for value in told):
        raise SimrepError(
            f"{figure} is not known on every machine: nothing commits there, or it was interrupted "
            "(lengthen run.duration_s)"
        )
    at_home, *elsewhere = told
    known = uncertainty_of(setup)
    error, freedom = 0.0, inf
    if known is not None:
        own = known.error(figure, 0.0)  # processors decide: machines differ in nothing else
        error, freedom = own.relative, own.freedom
    span = prediction_interval([value / at_home for value in elsewhere], error, freedom)
    assert span is not None
    return MachineWidth(pack, figure, *span, CONFIDENCE, draws)


def _figure(setup: Setup, seed: int, figure: str) -> float:
    """The figure, of hundreds of transactions: machines differ by more than chance then does."""
    if (long_s := enough_s(setup, seed, [figure])) is not None:
        setup = with_run_settings(setup, {"duration_s": long_s / _SHORTER})
    return figures_of(Result.combine([simulate(setup, seed, _PILOT)]), (figure,))[0]


def _drawn(scenario: Scenario, setup: Setup, seed: int, number: int) -> Setup:
    """The setup on another machine: all that has a prior, and the scenario does not set, is new."""
    generator = Streams(seed, number).generator("packs/machine")
    kind = type(setup.costs)
    said = scenario.cluster.costs
    costs = {
        name: _of(prior, generator)
        for name, field in kind.model_fields.items()
        if (prior := prior_of(field)) is not None
        and not prior.rare
        and not any(spelling in said for spelling in spellings(name, field))
    }
    traits = {name: _of(prior, generator) for name, prior in _unsaid(scenario)}
    machines = {name: machine.model_copy(update=traits) for name, machine in setup.machines.items()}
    return replace(setup, costs=setup.costs.model_copy(update=costs), machines=machines)


def _unsaid(scenario: Scenario) -> Iterator[tuple[str, Prior]]:
    """Traits of machines with a prior that the scenario says of no machine."""
    tables: list[MachineTable] = [scenario.cluster.machine, *scenario.hosts, *scenario.nodes]
    for name, field in MachineTable.model_fields.items():
        prior = prior_of(field)
        if prior is not None and all(getattr(table, name) is None for table in tables):
            yield name, prior


def _of(prior: Prior, generator: Generator) -> float:
    """A value from a prior."""
    value = exp(float(generator.normal(0.0, prior.sigma))) * prior.median
    return max(prior.least or 0.0, value)
