"""A scenario made ready for a search: its plan, its warm-up, and what there is to say of both."""

from __future__ import annotations

import warnings

from simrep.errors import ShortRunWarning
from simrep.experiment.pack_range import extrapolation
from simrep.experiment.plan import Plan, plan
from simrep.experiment.replication import with_warmup
from simrep.experiment.steady import with_warmup_found
from simrep.scenario import Scenario

__all__ = ["prepared"]


def prepared(scenario: Scenario, seed: int) -> tuple[Plan, list[str]]:
    """The plan of a scenario with its warm-up, and remarks instead of a warning for every value."""
    planned = plan(with_warmup_found(scenario))
    remarks = []
    if beyond := extrapolation(planned):
        remarks.append(beyond)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        planned = with_warmup(planned, seed)
    for one in caught:
        if not issubclass(one.category, ShortRunWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        else:
            remarks.append(str(one.message))
    return planned, [f"{said[0].upper()}{said[1:]}." for said in remarks]
