"""What follows from rules and was not measured: bounds that were written down before, and runs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from statistics import median
from typing import Any

from simrep.data.dataset import dataset_folder
from simrep.data.definition import SeriesTable
from simrep.data.failure_metrics import failure_sample
from simrep.scenario import load, with_values

__all__ = ["Prediction", "predicted", "predictions"]

DATASET = "group-replication-failures"
REPLICATIONS = 5
PHASE_S = 2.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """One figure of one case, as the file has it.

    Attributes
    ----------
    case, scenario : str
    settings : dict
        What the scenario is changed to.
    metric : str
        Of :mod:`simrep.data.failure_metrics`.
    bounds : list of float
        Between them the median has to be.
    source : str
        What they rest on.
    """

    case: str
    scenario: str
    settings: dict[str, Any]
    metric: str
    bounds: list[float]
    source: str


def predictions() -> list[Prediction]:
    """All of the dataset."""
    text = (dataset_folder(DATASET) / "predictions.toml").read_text(encoding="utf-8")
    return [Prediction(**one) for one in tomllib.loads(text)["prediction"]]


def predicted(one: Prediction, replications: int = REPLICATIONS) -> float:
    """The median of simulated runs."""
    scenario = with_values(load(dataset_folder(DATASET) / one.scenario), one.settings)
    series = SeriesTable(name=one.case, title=one.case, scenario=one.scenario)
    runs = [
        failure_sample(scenario, series, PHASE_S, None, 1, number) for number in range(replications)
    ]
    return median(figures[one.metric] for figures, _ in runs)
