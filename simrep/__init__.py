"""Discrete-event simulation of database replication.

Everything here is loaded when it is first used: ``import simrep`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simrep.calibrate.fit import CalibrationError, FitResult, fit
    from simrep.errors import ScenarioError, ShortRunWarning, SimrepError
    from simrep.experiment.cluster import Cluster
    from simrep.experiment.curve_dataset import CurveDatasetResult
    from simrep.experiment.curves import CurveDataset
    from simrep.experiment.explain import StallExplanation, explain_stall
    from simrep.experiment.fragment_sizes import fragment_sizes
    from simrep.experiment.model import Model, find_model, model_names
    from simrep.experiment.model_card import model_card
    from simrep.experiment.reproduce import DatasetResult, reproduce
    from simrep.experiment.result import Result
    from simrep.experiment.run import run
    from simrep.experiment.dataset import Dataset, load_dataset, datasets
    from simrep.experiment.sustain import SustainedRate, sustainable_rate
    from simrep.scenario import Scenario, json_schema, load, with_value, with_values
    from simrep.workload.transaction import Transaction

    __version__: str

__all__ = [
    "CalibrationError",
    "Cluster",
    "CurveDataset",
    "CurveDatasetResult",
    "FitResult",
    "Model",
    "Result",
    "Scenario",
    "ScenarioError",
    "ShortRunWarning",
    "SimrepError",
    "StallExplanation",
    "Dataset",
    "DatasetResult",
    "SustainedRate",
    "Transaction",
    "__version__",
    "explain_stall",
    "find_model",
    "fit",
    "fragment_sizes",
    "json_schema",
    "load",
    "load_dataset",
    "model_card",
    "model_names",
    "reproduce",
    "run",
    "datasets",
    "sustainable_rate",
    "with_value",
    "with_values",
]

_HOMES = {
    "simrep.calibrate.fit": ("CalibrationError", "FitResult", "fit"),
    "simrep.errors": ("ScenarioError", "ShortRunWarning", "SimrepError"),
    "simrep.experiment.cluster": ("Cluster",),
    "simrep.experiment.curve_dataset": ("CurveDatasetResult",),
    "simrep.experiment.curves": ("CurveDataset",),
    "simrep.experiment.explain": ("StallExplanation", "explain_stall"),
    "simrep.experiment.fragment_sizes": ("fragment_sizes",),
    "simrep.experiment.model": ("Model", "find_model", "model_names"),
    "simrep.experiment.model_card": ("model_card",),
    "simrep.experiment.reproduce": ("DatasetResult", "reproduce"),
    "simrep.experiment.result": ("Result",),
    "simrep.experiment.run": ("run",),
    "simrep.experiment.dataset": ("Dataset", "load_dataset", "datasets"),
    "simrep.experiment.sustain": ("SustainedRate", "sustainable_rate"),
    "simrep.scenario": ("Scenario", "json_schema", "load", "with_value", "with_values"),
    "simrep.workload.transaction": ("Transaction",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("simrep")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
