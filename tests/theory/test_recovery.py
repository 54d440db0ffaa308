"""Costs that made the data are found again, and standard errors are as large as they say.

Data are simulated with costs drawn from their priors, with other random numbers than those of the
fit, and measurement noise is added. A cost is recovered if the fit lies within two of its standard
errors, on the logarithmic scale. For a normal posterior that happens in 95.4 of 100 trials.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from simrep.calibrate.fit import FitResult, fit
from simrep.runs.run import run
from simrep.scenario import load, with_values
from tests.small_dataset import change, write_dataset, write_rows

TRIALS = 20
NOISE = 0.05
TRUE_RATE = math.erf(math.sqrt(2.0))
PARAMETERS = {"statement_us": (100.0, 0.7), "commit_us": (20.0, 0.7), "connect_us": (800.0, 0.7)}
THREADS = (1, 2, 4, 8)


def trial(folder, number: int) -> tuple[FitResult, dict[str, float]]:
    """One set of costs, the data that they make, and the fit to them."""
    generator = np.random.default_rng(number)
    true = {
        name: prior * math.exp(sigma * generator.normal())
        for name, (prior, sigma) in PARAMETERS.items()
    }
    costs = {f"cluster.costs.{name}": value for name, value in true.items()}
    base = with_values(load(folder / "galera.toml"), costs)
    rows = []
    for threads in THREADS:
        one = with_values(base, {"workload.threads": threads, "network.egress.0.delay_ms": 0.0})
        # Of many runs: the chance of a single one is part of the stated noise.
        seconds = run(one, seed=1000 + number, replications=20).makespan_s
        rows.append(("galera", 0.05, threads, seconds * math.exp(NOISE * generator.normal())))
    write_rows(folder, rows)
    return fit(folder, seed=1, replications=2), true


def dataset(place) -> Path:
    folder = write_dataset(place)
    text = (folder / "dataset.toml").read_text()
    parameters = "".join(
        f'\n[[series.fit.parameter]]\nname = "{name}"\nprior = {prior}\nsigma = {sigma}\n'
        for name, (prior, sigma) in PARAMETERS.items()
    )
    (folder / "dataset.toml").write_text(
        text.partition("\n[[series.fit.parameter]]")[0] + parameters
    )
    change(folder, "galera.toml", "shared_host = true", "shared_host = true\nmachine.cores = 2")
    return folder


def recovered(place, trials: int) -> dict[str, int]:
    """In how many trials each cost was found within two standard errors."""
    folder = dataset(place)
    counts = dict.fromkeys(PARAMETERS, 0)
    for number in range(trials):
        result, true = trial(folder, number)
        for estimate in result.estimates:
            distance = abs(math.log(estimate.value / true[estimate.name]))
            counts[estimate.name] += distance <= 2.0 * estimate.standard_error
    return counts


@pytest.mark.slow
def test_known_costs_are_found_within_two_standard_errors(tmp_path):
    """False alarm: three costs, each below the limit with a probability of less than 1e-4."""
    least = int(binom.ppf(1e-4, TRIALS, TRUE_RATE))
    assert least >= 14
    counts = recovered(tmp_path / "recovery", TRIALS)
    assert min(counts.values()) >= least, counts
