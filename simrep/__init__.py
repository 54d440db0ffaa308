"""Discrete-event simulation of database replication.

Everything here is loaded when it is first used: ``import simrep`` costs next to nothing, and the
command is ready for Ctrl-C as soon as the interpreter is. How to read the source:
docs/explanation/reading-the-source.md.
"""

import sys

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
    "simrep.runs.sustain": ("sustainable_rate",),
    "simrep.scenario": ("Scenario", "json_schema", "load", "with_value", "with_values"),
    "simrep.whatif.analytic.opinion": ("analytic",),
    "simrep.whatif.compare": ("compare",),
    "simrep.whatif.drill.ask": ("drill",),
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


class _Moved:
    """Finds modules under their old names, after all other finders have failed."""

    @staticmethod
    def find_spec(fullname: str, path: object, target: object = None) -> object:
        """See ``importlib.abc.MetaPathFinder``."""
        if not fullname.startswith("simrep."):
            return None
        from simrep.deprecated import MovedModules

        return MovedModules().find_spec(fullname, path, target)


sys.meta_path.append(_Moved())


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("simrep")
    elif name in _HOME:
        from importlib import import_module

        value = getattr(import_module(_HOME[name]), name)
    else:
        from simrep.deprecated import moved_name

        return moved_name(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
