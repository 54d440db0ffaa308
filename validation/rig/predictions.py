"""What is predicted of an experiment with faults before it is measured, and how near it came.

Predictions lie beside the experiments, one file each, and are never written anew once something was
measured: the history tells which was first.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib.resources import files
from math import nan
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from simrep.data.dataset import load_dataset
from simrep.data.definition import SeriesTable
from simrep.data.failure_metrics import failure_sample
from simrep.data.failures import (
    ErrorCodes,
    FailureCell,
    FailureFigure,
    FailureSample,
    FailureScores,
    judged_figure,
)
from simrep.errors import ScenarioError
from simrep.rig.cell import Cell, column
from simrep.rig.experiment import Experiment
from simrep.rig.fault_scenarios import fault_scenario
from simrep.rig.scenarios import Figures, is_factor
from simrep.runs.executor import in_groups
from simrep.scenario import Scenario

__all__ = ["Blind", "Prediction", "blind", "predict", "prediction_file", "predictions_text",
           "read_predictions"]  # fmt: skip

_PHASE_S = 1.0
_RANGE = (0.5, 99.5)  # percentiles
_MOSTLY = 0.5
_BASE_RTT_MS = 0.1
_COLUMNS = ("series", "factors", "metric", "median", "low", "high", "share", "runs")


@dataclass(frozen=True, slots=True)
class Prediction:
    """A figure of a cell, as simulated runs have it.

    Attributes
    ----------
    series, factors : str
        System and load; layout, and options that differ between cells.
    metric : str
    median, low, high : float
        Of the runs that have the figure; 99 % of them are between the last two.
    share : float
        Of the runs those that have it.
    runs : int
    """

    series: str
    factors: str
    metric: str
    median: float
    low: float
    high: float
    share: float
    runs: int


def predict(
    experiment: Experiment, runs: int, *, seed: int = 1, executor: Executor | None = None
) -> Iterator[tuple[str, list[Prediction]]]:
    """Simulate every cell some times, and yield its label with what is predicted of it.

    Raises
    ------
    ScenarioError
        If the experiment breaks nothing, or the simulation cannot play it.
    """
    if not experiment.breaks:
        raise ScenarioError("fault", "the experiment breaks nothing", "it needs [[fault]] tables")
    cells = [cell for cell, _ in experiment.cells()]
    names = factor_names(experiment)
    tasks = []
    for cell in cells:
        table = fault_scenario(experiment, cell, Figures({}, _BASE_RTT_MS))
        series = SeriesTable(name=series_name(cell), title="", scenario=cell.label)
        scenario = Scenario.model_validate(table)
        tasks.append([(scenario, series, _PHASE_S, None, seed, number) for number in range(runs)])
    for cell, samples in zip(cells, in_groups(failure_sample, tasks, executor), strict=True):
        yield cell.label, _of_cell(cell, names, samples)


def _of_cell(
    cell: Cell, names: Sequence[str], samples: Sequence[FailureSample]
) -> list[Prediction]:
    values: dict[str, list[float]] = {}
    for own, _ in samples:
        for metric, value in own.items():
            values.setdefault(metric, []).append(value)
    found = []
    for metric, known in sorted(values.items()):
        low, high = np.percentile(known, _RANGE).tolist()
        share = len(known) / len(samples)
        found.append(
            Prediction(
                series_name(cell), _factors(cell, names), metric, _plain(median(known)),
                _plain(low), _plain(high), round(share, 4), len(samples),
            )
        )  # fmt: skip
    return found


def _plain(value: float) -> float:
    return float(f"{value:.6g}")


def series_name(cell: Cell) -> str:
    """Of the series of a dataset that a cell belongs to."""
    return f"{cell.system}-{cell.load.name}"


def factor_names(experiment: Experiment) -> list[str]:
    """Options that differ between cells; loads with faults have no other keys to vary."""
    cells = [cell for cell, _ in experiment.cells()]
    return [n for n in experiment.factors() if n != "threads" and is_factor(n, cells)]


def _factors(cell: Cell, names: Sequence[str]) -> str:
    own = {column(name): cell.options.get(name, "") for name in names}
    return factors_text({"layout": cell.layout.name, **own})


def factors_text(factors: Mapping[str, Any]) -> str:
    """Factors of a cell in a line."""
    return " ".join(f"{name}={value}" for name, value in factors.items() if value != "")


def predictions_text(found: Iterable[Prediction]) -> str:
    """As CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in found:
        numbers = (f"{value:g}" for value in (one.median, one.low, one.high, one.share))
        writer.writerow([one.series, one.factors, one.metric, *numbers, one.runs])
    return file.getvalue()


def read_predictions(text: str) -> list[Prediction]:
    """The same back."""
    return [
        Prediction(
            row["series"], row["factors"], row["metric"], float(row["median"]), float(row["low"]),
            float(row["high"]), float(row["share"]), int(row["runs"]),
        )
        for row in csv.DictReader(io.StringIO(text))
    ]  # fmt: skip


def prediction_file(name: str) -> Path:
    """Where the predictions of an experiment that ships lie."""
    return Path(str(files("simrep.rig") / "predictions" / f"{name}.csv"))


@dataclass(frozen=True, slots=True)
class Blind:
    """What was predicted before it was measured, beside what was measured then.

    Attributes
    ----------
    figures : tuple of FailureFigure
    codes : tuple of ErrorCodes
    """

    figures: tuple[FailureFigure, ...]
    codes: tuple[ErrorCodes, ...]

    @property
    def scores(self) -> FailureScores:
        """How many are right, by what decides them."""
        return FailureScores.of(self.figures, self.codes)

    @property
    def missed(self) -> list[FailureFigure]:
        """Figures that were predicted wrongly."""
        return [one for one in self.figures if not one.right]


def blind(folder: Path, predictions: Sequence[Prediction]) -> Blind:
    """Judge predictions by what was measured later, by the rules of the dataset.

    Raises
    ------
    ScenarioError
        If the dataset has no faults, or a cell that nothing was predicted of.
    """
    dataset = load_dataset(folder)
    table = dataset.definition.failures
    if table is None:
        raise ScenarioError(str(folder), "is no dataset of failures")
    known: dict[tuple[str, str], dict[str, Prediction]] = {}
    for one in predictions:
        known.setdefault((one.series, one.factors), {})[one.metric] = one
    figures: list[FailureFigure] = []
    codes = []
    for cell in dataset.failures:
        own = known.get((cell.series, factors_text(cell.factors)))
        if own is None:
            where = f"{cell.series} {factors_text(cell.factors)}"
            raise ScenarioError(where, "was measured, and nothing was predicted of it")
        for metric in cell.values:
            found = own.get(metric)
            sure = found is not None and found.share >= _MOSTLY
            figures.append(
                judged_figure(
                    table, cell, metric,
                    found.median if found is not None and sure else nan,
                    (nan, nan) if found is None else (found.low, found.high),
                )
            )  # fmt: skip
        codes.append(_codes(cell, own))
    return Blind(tuple(figures), tuple(codes))


def _codes(cell: FailureCell, own: Mapping[str, Prediction]) -> ErrorCodes:
    met = {
        metric.removeprefix("err_").removesuffix("_n").replace("_", " "): one.share
        for metric, one in own.items()
        if metric.startswith("err_") and metric.endswith("_n")
    }
    return ErrorCodes(
        series=cell.series,
        factors=cell.factors,
        measured=tuple(sorted(cell.codes)),
        predicted=met,
    )
