"""Questions about the long run: which scenarios ask them, and how precisely they are answered."""

from __future__ import annotations

from simrep.errors import ScenarioError
from simrep.scenario.schema import Scenario

__all__ = ["check_precision", "with_warmup_found"]


def with_warmup_found(scenario: Scenario) -> Scenario:
    """The scenario, the warm-up of which is found out if it is about the long run.

    That is a load over a given time in which nothing comes or goes, and of which the scenario
    does not say itself from when on it is measured.
    """
    run = scenario.run
    lasting = run.duration_s is not None and not (
        scenario.workload.scheduled or scenario.cluster.changes or scenario.network.outages
    )
    if not lasting or "warmup_s" in run.model_fields_set:
        return scenario
    return scenario.model_copy(update={"run": run.model_copy(update={"warmup": "auto"})})


def check_precision(precision: float) -> None:
    """Refuse what is no share of a figure.

    Raises
    ------
    ScenarioError
        If it does not lie between 0 and 1.
    """
    if not 0.0 < precision < 1.0:
        raise ScenarioError(
            "precision", f"must lie between 0 and 1, given {precision:g}", "0.02 is 2 %"
        )
