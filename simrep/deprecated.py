"""Names that have moved: they still work, with a warning, for one minor release."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from warnings import warn

__all__ = ["moved_name"]

_MODEL_AUTHORS = "import it from simrep.modelling"
_MOVED = {
    "Cluster": ("simrep.contract.cluster", _MODEL_AUTHORS),
    "Model": ("simrep.contract.model", _MODEL_AUTHORS),
    "Transaction": ("simrep.workload.transaction", _MODEL_AUTHORS),
    "CurveDataset": ("simrep.data.curves", "use simrep.Dataset"),
    "CurveDatasetResult": ("simrep.data.curve_dataset", "use simrep.DatasetResult"),
    "fragment_sizes": (
        "simrep.models.galera.questions.fragment_sizes",
        'use simrep.plan(scenario, "fragment")',
    ),
    "find_model": ("simrep.contract.model", _MODEL_AUTHORS),
    "model_card": ("simrep.contract.card", "use simrep.models()[name]"),
    "model_names": ("simrep.contract.model", "use list(simrep.models())"),
}


def moved_name(name: str) -> Any:
    """A public name of an earlier release, for ``simrep.__getattr__``.

    Raises
    ------
    AttributeError
        If there never was such a name.
    """
    if name not in _MOVED:
        raise AttributeError(f"module 'simrep' has no attribute {name!r}")
    module, advice = _MOVED[name]
    warn(f"simrep.{name} has moved: {advice}", DeprecationWarning, stacklevel=3)
    return getattr(import_module(module), name)
