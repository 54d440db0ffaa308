"""How large one transaction may be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, nan
from typing import Unpack

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, SimrepError, nearest
from simrep.measure.grammar import Range
from simrep.runs.batch import Task, simulate_groups
from simrep.runs.result import Result
from simrep.scenario import Scenario, with_value, with_values
from simrep.whatif.objective import Condition, Objective
from simrep.whatif.plan.threshold import SearchOptions, Threshold, Varied, threshold

__all__ = ["largest_transaction", "scheduled_position", "until_it_has_ended"]

_INTERVALS = 5  # of the time series, in the longest stall that is allowed
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
    position = scheduled_position(scenario, transaction)
    table = scenario.workload.scheduled[position]
    base = until_it_has_ended(scenario, position, longest_stall_s)
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
        raise SimrepError(f"nothing commits before {name!r} begins, so it could stall nobody")
    return (nan if record.error else record.stall_s,)


def scheduled_position(scenario: Scenario, name: str | None) -> int:
    """Which of the scheduled transactions is meant."""
    names = [one.name for one in scenario.workload.scheduled]
    if not names:
        raise ScenarioError(
            "workload.scheduled", "there is no scheduled transaction", "add [[workload.scheduled]]"
        )
    if name is None and len(names) > 1:
        raise ScenarioError(
            "transaction", "say which one, there are several", f"valid: {', '.join(names)}"
        )
    if name is not None and name not in names:
        raise ScenarioError("transaction", f"none is called {name!r}", nearest(name, names))
    position = 0 if name is None else names.index(name)
    if not scenario.workload.scheduled[position].statements:
        raise ScenarioError(
            f"workload.scheduled.{position}.statements", "it writes nothing that could be streamed"
        )
    return position


def until_it_has_ended(scenario: Scenario, position: int, longest_stall_s: float) -> Scenario:
    """The scenario, run until a while after the transaction, in intervals that show a stall."""
    if not 0.0 < longest_stall_s < inf:
        raise ScenarioError(
            "longest_stall_s", f"must be above 0 s and finite, given {longest_stall_s}"
        )
    table = scenario.workload.scheduled[position]
    run, workload = scenario.run, scenario.workload
    if workload.fixed:
        raise ScenarioError(
            "workload.queries",
            "the payload has to go on for as long as the large transaction takes",
            "remove queries and transactions_per_client, and set run.duration_s or run.settle_s",
        )
    interval_s = longest_stall_s / _INTERVALS
    if table.at_s < run.warmup_s + interval_s:
        raise ScenarioError(
            f"workload.scheduled.{position}.at_s",
            f"leaves no payload before it to compare with, given {table.at_s:g}",
            f"let it begin some seconds after run.warmup_s = {run.warmup_s:g}",
        )
    settle_s = _INTERVALS * longest_stall_s if run.settle_s is None else run.settle_s
    return with_values(
        scenario,
        {
            "run.duration_s": None,
            "run.settle_s": settle_s,
            "run.interval_s": interval_s,
            "run.log": False,
            # Without a duration, a preset would bring its own number of transactions back.
            "workload.queries": None,
            "workload.transactions_per_client": None,
        },
    )
