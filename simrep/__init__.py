"""Discrete-event simulation of database replication.

Everything here is loaded when it is first used: ``import simrep`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simrep.calibrate.fit import fit
    from simrep.calibrate.fit_result import FitResult
    from simrep.calibrate.measured_figures import CalibrationError
    from simrep.contract.card import model_card
    from simrep.contract.cluster import Cluster
    from simrep.contract.model import Model, find_model, model_names
    from simrep.data.curve_dataset import CurveDatasetResult
    from simrep.data.curves import CurveDataset
    from simrep.data.dataset import Dataset, datasets, load_dataset
    from simrep.data.reproduce import DatasetResult, reproduce
    from simrep.data.validation import Validation, validate
    from simrep.errors import (
        DatasetWarning,
        ExtrapolationWarning,
        ScenarioError,
        ShortRunWarning,
        SimrepError,
    )
    from simrep.explore.exploration import explore
    from simrep.models.galera.questions.fragment_sizes import fragment_sizes
    from simrep.runs.result import Result
    from simrep.runs.run import run
    from simrep.runs.sustain import SustainedRate, sustainable_rate
    from simrep.scenario import Scenario, json_schema, load, with_value, with_values
    from simrep.whatif.analytic.opinion import analytic
    from simrep.whatif.compare import compare
    from simrep.whatif.plan.ask import plan
    from simrep.whatif.sensitivity.ask import sensitivity
    from simrep.whatif.sweep import sweep
    from simrep.whatif.swept import Sweep
    from simrep.why.commit import explain
    from simrep.why.explanation import Explanation
    from simrep.why.stall import StallExplanation, explain_stall
    from simrep.why.tail import explain_tail
    from simrep.why.tail_explanation import TailExplanation
    from simrep.workload.transaction import Transaction

    __version__: str

__all__ = [
    "CalibrationError",
    "Cluster",
    "CurveDataset",
    "CurveDatasetResult",
    "Dataset",
    "DatasetResult",
    "DatasetWarning",
    "Explanation",
    "ExtrapolationWarning",
    "FitResult",
    "Model",
    "Result",
    "Scenario",
    "ScenarioError",
    "ShortRunWarning",
    "SimrepError",
    "StallExplanation",
    "SustainedRate",
    "Sweep",
    "TailExplanation",
    "Transaction",
    "Validation",
    "__version__",
    "analytic",
    "compare",
    "datasets",
    "explain",
    "explain_stall",
    "explain_tail",
    "explore",
    "find_model",
    "fit",
    "fragment_sizes",
    "json_schema",
    "load",
    "load_dataset",
    "model_card",
    "model_names",
    "plan",
    "reproduce",
    "run",
    "sensitivity",
    "sustainable_rate",
    "sweep",
    "validate",
    "with_value",
    "with_values",
]

_HOMES = {
    "simrep.calibrate.fit": ("fit",),
    "simrep.calibrate.fit_result": ("FitResult",),
    "simrep.calibrate.measured_figures": ("CalibrationError",),
    "simrep.errors": (
        "DatasetWarning",
        "ExtrapolationWarning",
        "ScenarioError",
        "ShortRunWarning",
        "SimrepError",
    ),
    "simrep.contract.cluster": ("Cluster",),
    "simrep.data.curve_dataset": ("CurveDatasetResult",),
    "simrep.data.curves": ("CurveDataset",),
    "simrep.data.dataset": ("Dataset", "datasets", "load_dataset"),
    "simrep.why.stall": ("StallExplanation", "explain_stall"),
    "simrep.why.commit": ("explain",),
    "simrep.why.explanation": ("Explanation",),
    "simrep.models.galera.questions.fragment_sizes": ("fragment_sizes",),
    "simrep.contract.model": ("Model", "find_model", "model_names"),
    "simrep.contract.card": ("model_card",),
    "simrep.data.reproduce": ("DatasetResult", "reproduce"),
    "simrep.runs.result": ("Result",),
    "simrep.runs.run": ("run",),
    "simrep.runs.sustain": ("SustainedRate", "sustainable_rate"),
    "simrep.why.tail": ("explain_tail",),
    "simrep.why.tail_explanation": ("TailExplanation",),
    "simrep.data.validation": ("Validation", "validate"),
    "simrep.explore.exploration": ("explore",),
    "simrep.scenario": ("Scenario", "json_schema", "load", "with_value", "with_values"),
    "simrep.whatif.compare": ("compare",),
    "simrep.whatif.plan.ask": ("plan",),
    "simrep.whatif.sweep": ("sweep",),
    "simrep.whatif.swept": ("Sweep",),
    "simrep.whatif.analytic.opinion": ("analytic",),
    "simrep.whatif.sensitivity.ask": ("sensitivity",),
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
