"""What a pack tells of a run: whether it was checked there, and where a measurement would lie.

A pack tells how sure its costs are and how far the model was off where they were fitted. Runs whose
costs are drawn from that, each with the random numbers of a replication, spread by chance and by
the costs; the error of the model comes on top.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, log, sqrt
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

from simrep.contract.setup import Setup
from simrep.kernel.streams import Streams
from simrep.measure.student import student_quantile
from simrep.runs.model_error import ModelError, model_error, network_share
from simrep.scenario.pack import FitTable, Pack
from simrep.scenario.prior import prior_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CONFIDENCE",
    "Prediction",
    "Uncertainty",
    "extrapolation",
    "factors_of",
    "predictable",
    "prediction_interval",
    "spans",
    "uncertainty_of",
    "with_drawn_costs",
]

CONFIDENCE = 0.9
_MACHINE = "machine."
_ROUNDING = 1e-6  # of the ends of a range


@dataclass(frozen=True, slots=True)
class Prediction:
    """Prediction intervals of a run.

    Attributes
    ----------
    intervals : mapping of str to (float, float)
        Where the figure of one measurement lies, by the path of the figure.
    confidence : float
        How often it does.
    draws : int
        Simulated runs with costs drawn from the pack; with 0 the intervals cover the error of the
        model alone.
    costs : tuple of str
        The costs that were drawn.
    errors : mapping of str to float
        The error of the model in each figure: standard deviation of the logarithm.
    """

    intervals: Mapping[str, tuple[float, float]]
    confidence: float
    draws: int
    costs: tuple[str, ...]
    errors: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Uncertainty:
    """How sure the costs of a run are."""

    # Costs, and traits of the machine as ``machine.TRAIT``, that the run takes from fits.
    names: tuple[str, ...]
    # Of each fit, which of its costs these are.
    blocks: tuple[tuple[FitTable, tuple[int, ...]], ...]
    # Relative error of the model beyond the costs, as standard deviation of the logarithm.
    discrepancy: float
    freedom: float  # on how many cells that rests
    shared: bool = False  # all servers are on one machine
    rtt_s: float = 0.0  # the longest round trip

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the logarithms of the costs, shape (names, names)."""
        import numpy as np

        covariance = np.zeros((len(self.names), len(self.names)))
        first = 0
        for fit, used in self.blocks:
            end = first + len(used)
            covariance[first:end, first:end] = fit.covariance()[np.ix_(used, used)]
            first = end
        return covariance

    def error(self, figure: str, latency_s: float) -> ModelError:
        """The error of the model in a figure of a run of this mean latency."""
        return model_error(
            figure,
            network=network_share(self.rtt_s, latency_s),
            shared=self.shared,
            discrepancy=self.discrepancy,
            freedom=self.freedom,
        )

    def factors(self, seed: int, number: int) -> dict[str, float]:
        """What the costs are multiplied with in a draw; the same for all runs of a pack."""
        if not self.names:
            return {}
        import numpy as np

        generator = Streams(seed, number).generator("prediction/costs")
        logs = generator.multivariate_normal(
            np.zeros(len(self.names)), self.covariance, method="eigh", check_valid="ignore"
        )
        return dict(zip(self.names, np.exp(logs).tolist(), strict=True))


def uncertainty_of(setup: Setup) -> Uncertainty | None:
    """What the pack of a run says of its costs; None without a pack that says so.

    Costs that the scenario sets itself are taken as known. A cost that several fits have
    determined has the standard error of the last.
    """
    pack = setup.pack
    if pack is None or not pack.fits:
        return None
    last = {name: number for number, fit in enumerate(pack.fits) for name in fit.names}
    names: list[str] = []
    blocks: list[tuple[FitTable, tuple[int, ...]]] = []
    for number, fit in enumerate(pack.fits):
        used = tuple(
            position
            for position, name in enumerate(fit.names)
            if last[name] == number and _holds(setup, pack, name)
        )
        names += [fit.names[position] for position in used]
        blocks.append((fit, used))
    freedom = sum(fit.freedom for fit in pack.fits)
    squares = sum(fit.freedom * fit.discrepancy**2 for fit in pack.fits)
    return Uncertainty(
        tuple(names),
        tuple(blocks),
        sqrt(squares / freedom),
        freedom,
        setup.scenario.cluster.shared_host,
        _commits_over_s(setup),
    )


def _commits_over_s(setup: Setup) -> float:
    """The longest round trip, if any transaction waits for others: who only reads does not."""
    if not any(one.writes for one, _ in setup.workload.submitted()):
        return 0.0
    return factors_of(setup).get("rtt_ms", 0.0) / 1e3


def _holds(setup: Setup, pack: Pack, name: str) -> bool:
    """Whether a run takes a cost from its pack."""
    if not name.startswith(_MACHINE):
        given = pack.costs.get(name)
        return given is not None and getattr(setup.costs, name, None) == given
    trait = name.removeprefix(_MACHINE)
    given = getattr(pack.machine, trait)
    return given is not None and any(
        getattr(machine, trait) == given for machine in setup.machines.values()
    )


def with_drawn_costs(setup: Setup, uncertainty: Uncertainty, seed: int, number: int) -> Setup:
    """The setup with costs that may as well be true; equal seeds and numbers give equal costs."""
    pack = setup.pack
    assert pack is not None
    costs: dict[str, float] = {}
    machines = dict(setup.machines)
    for name, factor in uncertainty.factors(seed, number).items():
        if not name.startswith(_MACHINE):
            costs[name] = factor * getattr(setup.costs, name)
            continue
        trait = name.removeprefix(_MACHINE)
        given = getattr(pack.machine, trait)
        for host, machine in machines.items():
            if getattr(machine, trait) == given:
                prior = prior_of(type(machine).model_fields[trait])
                least = prior.least if prior is not None and prior.least is not None else 0.0
                machines[host] = machine.model_copy(update={trait: max(least, factor * given)})
    drawn: Any = setup.costs.model_copy(update=costs)
    return replace(setup, costs=drawn, machines=machines)


def predictable(setup: Setup) -> set[str]:
    """The figures of a run that its load does not prescribe."""
    figures = {f"latency_s.{name}" for name in ("mean", "p50", "p95", "p99")}
    if setup.workload.per_client is not None:
        figures.add("makespan_s")
    if not setup.workload.arrivals:
        figures.add("throughput_tps")
    return figures


def prediction_interval(
    values: Sequence[float],
    discrepancy: float,
    freedom: float,
    confidence: float = CONFIDENCE,
) -> tuple[float, float] | None:
    """Where a measurement lies, given runs with drawn costs and the error of the model.

    On a logarithmic scale, Student's interval for one further value, with the variance of the
    model's error added and the degrees of freedom after Welch and Satterthwaite. Of a single value
    only the error of the model is known; there is no interval if a value is not positive.

    References
    ----------
    F. E. Satterthwaite: An approximate distribution of estimates of variance components.
    Biometrics Bulletin 2 (1946), 110-114, doi:10.2307/3002019.
    """
    if not values or not all(isfinite(value) and value > 0.0 for value in values):
        return None
    logs = [log(value) for value in values]
    count = len(logs)
    chance = variance(logs) * (1.0 + 1.0 / count) if count > 1 else 0.0
    model = discrepancy**2
    total = chance + model
    if total == 0.0:
        return values[0], values[0]
    parts = model**2 / freedom + (chance**2 / (count - 1) if count > 1 else 0.0)
    degrees = total**2 / parts if parts > 0.0 else inf
    half = student_quantile(degrees, 0.5 + confidence / 2.0) * sqrt(total)
    middle = fmean(logs)
    return exp(middle - half), exp(middle + half)


def factors_of(setup: Setup) -> dict[str, float]:
    """Where a run lies: the factors of a ``[range]`` that it has, in their units."""
    workload, paths = setup.workload, setup.paths
    kinds = [*workload.classes, *(one.transaction_class for one in workload.scheduled)]
    found = {
        "nodes": float(len(setup.placement)),
        "rows": max(one.mean(lambda step: step.rows_written) for one in kinds),
        "transaction_bytes": max(one.mean(lambda step: step.size_bytes) for one in kinds),
    }
    if workload.nodes:
        found["clients"] = float(len(workload.nodes))
    if paths:
        found["rtt_ms"] = 1e3 * max(
            path.latency.base_s + paths[target, source].latency.base_s
            for (source, target), path in paths.items()
        )
    return found


def spans(setups: Iterable[Setup]) -> dict[str, tuple[float, float]]:
    """Lowest and highest of every factor, over runs that have it."""
    columns: dict[str, list[float]] = {}
    for setup in setups:
        for name, value in factors_of(setup).items():
            columns.setdefault(name, []).append(value)
    return {name: (min(values), max(values)) for name, values in columns.items()}


def extrapolation(setup: Setup) -> str:
    """In which factors a run lies outside of what its pack was checked in; empty if it does not."""
    if setup.pack is None:
        return ""
    found = []
    for name, value in factors_of(setup).items():
        span = getattr(setup.pack.validated, name)
        if span is None:
            continue
        low, high = span
        if not low * (1.0 - _ROUNDING) <= value <= high * (1.0 + _ROUNDING):
            checked = f"{low:g} to {high:g}" if high > low else f"{low:g}"
            found.append(f"{name} is {value:g}, checked: {checked}")
    if not found:
        return ""
    return f"pack {setup.pack.card.name!r} is used beyond its range: {'; '.join(found)}"
