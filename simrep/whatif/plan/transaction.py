"""How large one transaction may be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import nan
from typing import Unpack

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, SimrepError
from simrep.measure.range import Range
from simrep.models.galera.questions.fragment_size_scenario import (
    criteria_of,
    position_of,
    until_it_has_ended,
)
from simrep.runs.batch import Task, simulate_groups
from simrep.runs.result import Result
from simrep.scenario import Scenario, with_value
from simrep.whatif.objective import Condition, Objective
from simrep.whatif.plan.threshold import SearchOptions, Threshold, Varied, threshold

__all__ = ["largest_transaction"]

_ROUNDING = 1e-9  # a stall of five intervals of 0.2 s is not longer than 1 s


def largest_transaction(
    scenario: Scenario,
    *,
    transaction: str | None = None,
    longest_stall_s: float = 1.0,
    within: tuple[int, int] | None = None,
    **options: Unpack[SearchOptions],
) -> Threshold:
    """The most rows of a scheduled transaction that do not stall everybody else for too long.

    What counts is the mean of the longest stall of each replication. A size at which the
    transaction fails is too large.

    Parameters
    ----------
    scenario : Scenario
        With a ``[[workload.scheduled]]`` transaction.
    transaction : str, optional
        Which one, if there are several.
    longest_stall_s : float
        How long all others may stand still, in seconds.
    within : (int, int), optional
        Range of the search, in rows of a statement. Default: from a thousandth to ten times the
        rows of the scenario, as far as its table has them.
    **options
        See :func:`simrep.plan`.
    """
    position = position_of(scenario, transaction)
    table = scenario.workload.scheduled[position]
    base = until_it_has_ended(scenario, table, criteria_of(longest_stall_s, 1.0, 0.0), position)
    most = 10 * table.rows if table.keys.distribution == "fresh" else table.keys.rows
    low, high = within or (max(1, table.rows // 1000), min(10 * table.rows, most))
    if high > most and table.keys.distribution != "fresh":
        raise ScenarioError(
            "within",
            f"the table has {most:,} rows",
            f"raise workload.scheduled.{position}.keys.rows",
        )
    limits = Range(low, high, whole=True)
    several = f" (of each of {table.statements} statements)" if table.statements > 1 else ""
    name = f"number of rows of {table.name!r}{several}"
    varied = Varied(name, "rows", largest=True, within=limits, points=7)
    chosen = options.get("seed")
    seed = scenario.run.seed if chosen is None else chosen
    executor = options.get("executor")
    reduce = partial(_stall, name=table.name)
    setups: dict[float, Setup] = {}

    def sample(rows: float, numbers: range) -> Sequence[Sequence[float]]:
        if rows not in setups:
            changed = with_value(base, f"workload.scheduled.{position}.rows", int(rows))
            setups[rows] = setup_of(changed)
        groups = [[Task(setups[rows], number) for number in numbers]]
        [found] = simulate_groups(groups, reduce, seed, executor)
        return found

    limit = longest_stall_s * (1.0 + _ROUNDING)
    objective = Objective((Condition("stall_s", at_most=True, limit=limit),))
    return threshold(base, objective, varied, None, sample=sample, **options)


def _stall(result: Result, name: str) -> tuple[float]:
    record = result.scheduled[name]
    if not record.before_tps > 0.0:
        raise SimrepError(
            f"nothing commits before {name!r} begins: there is nobody that it could stall"
        )
    return (nan if record.error else record.stall_s,)
