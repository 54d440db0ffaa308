"""One local cost from one benchmark: a dataset of a single cell, and the usual fit."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tomlkit

from simrep.calibrate.fit import fit
from simrep.calibrate.misfit import Progress
from simrep.contract.registry import find_model
from simrep.errors import ScenarioError
from simrep.files import write_text
from simrep.intake.sysbench import Sysbench
from simrep.runs.run import run
from simrep.scenario import load, with_value

__all__ = ["COST", "CellFit", "default_cost", "fit_cell"]

COST = "statement_us"
_SIGMA = 0.7
"""Of the logarithm of the cost: within a factor of two, probably."""
_NOISE = 0.05
_METRIC = {"column": "mean_s", "result": "latency_s.mean", "unit": "s", "label": "mean latency"}
_TRANSACTIONS = 3000
_SHORTEST_S, _LONGEST_S = 1.0, 30.0
_WARMUP_S = 0.5
_REPLICATIONS = 2
_SAYS_NOTHING = 0.5
"""Of the prior's sigma: with a standard error above, the benchmark says little about the cost."""
_MET = 0.1


@dataclass(frozen=True, slots=True)
class CellFit:
    """A cost that was fitted to a benchmark."""

    cost: str
    prior: float
    value: float
    standard_error: float  # of its logarithm
    # measured_s, fitted_s: mean latency.
    measured_s: float
    fitted_s: float
    percentile: int | None  # which one sysbench printed
    # percentile_measured_s, percentile_simulated_s: its latency: the fit has not seen it.
    percentile_measured_s: float | None
    percentile_simulated_s: float | None

    @property
    def informative(self) -> bool:
        """Whether the benchmark says more about the cost than was known before."""
        return self.standard_error < _SAYS_NOTHING * _SIGMA

    @property
    def met(self) -> bool:
        """Whether the scenario reproduces the benchmark with it."""
        return abs(self.fitted_s / self.measured_s - 1.0) <= _MET

    @property
    def usable(self) -> bool:
        """Whether the cost belongs into the pack."""
        return self.informative and self.met


def default_cost(model: str, cost: str) -> float | None:
    """The default of a cost of a model; None if it has no such cost."""
    value = getattr(find_model(model).Costs(), cost, None)
    return None if value is None else float(value)


def fit_cell(
    scenario: Mapping[str, Any],
    pack: Mapping[str, Any],
    bench: Sysbench,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> CellFit:
    """Fit the CPU per statement so that the scenario has the mean latency of the benchmark.

    In a closed loop the mean latency and the throughput say the same (Little's law). Scenario and
    pack are those that will be written.
    """
    model = scenario["cluster"]["model"]
    prior = default_cost(model, COST)
    if prior is None:
        raise ScenarioError("--sysbench", f"{model} has no cost {COST!r} to fit", "leave it out")
    arrivals = "threads" if bench.target_tps is None else "rate_tps"
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_dataset(folder, scenario, pack, bench, arrivals, prior)
        found = fit(folder, executor=executor, progress=progress)
        [estimate], [residual] = found.estimates, found.residuals
        simulated = _percentile(folder, bench, estimate.value)
    return CellFit(
        cost=COST,
        prior=prior,
        value=float(f"{estimate.value:.4g}"),
        standard_error=estimate.standard_error,
        measured_s=residual.measured,
        fitted_s=residual.fitted,
        percentile=bench.percentile[0] if bench.percentile else None,
        percentile_measured_s=bench.percentile[1] if bench.percentile else None,
        percentile_simulated_s=simulated,
    )


def _write_dataset(
    folder: Path,
    scenario: Mapping[str, Any],
    pack: Mapping[str, Any],
    bench: Sysbench,
    arrivals: str,
    prior: float,
) -> None:
    """A dataset of one cell, which the fit may use."""
    length = min(max(_TRANSACTIONS / bench.throughput_tps, _SHORTEST_S), _LONGEST_S)
    cell = {
        **scenario,
        "cluster": {**scenario["cluster"], "pack": "pack.toml"},
        "run": {"duration_s": length, "warmup_s": _WARMUP_S},
    }
    value = cell["workload"][arrivals]
    parameter = {"name": COST, "prior": prior, "sigma": _SIGMA}
    fitted = {"noise": _NOISE, "replications": _REPLICATIONS, "parameter": [parameter]}
    series = {"name": "sysbench", "title": "sysbench", "scenario": "scenario.toml", "fit": fitted}
    definition = {
        "title": "sysbench",
        "source": bench.file,
        "metric": _METRIC,
        "factors": {arrivals: f"workload.{arrivals}"},
        "fit_where": {arrivals: [value]},
        "show": {"x": arrivals},
        "series": [series],
    }
    contents = {"scenario": cell, "pack": pack, "dataset": definition}
    texts = {f"{name}.toml": tomlkit.dumps(content) for name, content in contents.items()}
    texts["data.csv"] = f"{arrivals},mean_s\n{value},{bench.mean_s}\n"
    for name, text in texts.items():
        write_text(folder / name, text)


def _percentile(folder: Path, bench: Sysbench, value: float) -> float | None:
    """The simulated latency of the percentile that sysbench printed; None for one it cannot."""
    name = f"p{bench.percentile[0]}" if bench.percentile else ""
    if name not in {"p50", "p95", "p99"}:
        return None
    fitted = with_value(load(folder / "scenario.toml"), f"cluster.costs.{COST}", value)
    return float(run(fitted, seed=1, replications=_REPLICATIONS).latency_s[name])
