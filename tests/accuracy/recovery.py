"""Costs that made the data are looked for: data are simulated, and fitted.

Data are made with costs drawn from their priors, with other random numbers than those of the fit,
and measurement noise is added. A cost is recovered if the fit lies within two of its standard
errors, on the logarithmic scale.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from simrep.calibrate.fit import fit
from simrep.runs.run import run
from simrep.scenario import load, with_values
from tests.small_dataset import change, write_dataset, write_rows

__all__ = ["PARAMETERS", "dataset", "distances"]

NOISE = 0.05
PARAMETERS = {"statement_us": (100.0, 0.7), "commit_us": (20.0, 0.7), "connect_us": (800.0, 0.7)}
THREADS = (1, 2, 4, 8)


def distances(folder: Path, number: int) -> dict[str, float]:
    """One trial: how many standard errors each cost is found away from what it was."""
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
    return {
        estimate.name: math.log(estimate.value / true[estimate.name]) / estimate.standard_error
        for estimate in fit(folder, seed=1, replications=2).estimates
    }


def dataset(place: Path) -> Path:
    """The folder of a dataset whose rows a trial writes."""
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
