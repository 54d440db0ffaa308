"""Discrete-event simulation of database replication.

Everything here is loaded when it is first used: ``import simrep`` costs next to nothing. How to
read the source: docs/explanation/reading-the-source.md.
"""

import sys
from importlib import import_module
from typing import Any

from simrep.deprecated import MovedModules, moved_name

_HOMES = {
    "simrep.calibrate.fit": ("FitResult", "fit"),
    "simrep.calibrate.measured_figures": ("CalibrationError",),
    "simrep.contract.card": ("model_cards",),
    "simrep.data.dataset": ("Dataset", "datasets", "load_dataset"),
    "simrep.data.reproduce": ("DatasetResult", "reproduce"),
    "simrep.data.validation": ("Validation", "validate"),
    "simrep.errors": (
        "DatasetWarning",
        "DegradedWarning",
        "ExtrapolationWarning",
        "ScenarioError",
        "ShortRunWarning",
        "SimrepError",
    ),
    "simrep.exploration.explore": ("explore",),
    "simrep.runs.result": ("Result",),
    "simrep.runs.run": ("run",),
    "simrep.runs.sustain": ("SustainedRate", "sustainable_rate"),
    "simrep.scenario": ("Scenario", "json_schema", "load", "with_value", "with_values"),
    "simrep.whatif.analytic.opinion": ("analytic",),
    "simrep.whatif.compare": ("compare",),
    "simrep.whatif.plan.ask": ("plan",),
    "simrep.whatif.sensitivity.ask": ("sensitivity",),
    "simrep.whatif.sweep": ("Sweep", "sweep"),
    "simrep.why.commit": ("Explanation", "explain"),
    "simrep.why.stall": ("StallExplanation", "explain_stall"),
    "simrep.why.tail": ("TailExplanation", "explain_tail"),
}
"""Where each public name is at home; ``__init__.pyi`` tells type checkers the same."""

_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__"]
__all__ += list(_HOME)


sys.meta_path.append(MovedModules())


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("simrep")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        return moved_name(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
