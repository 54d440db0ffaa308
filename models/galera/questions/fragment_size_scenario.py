"""What is asked of a comparison of fragment sizes: which transaction, which unit, which sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from simrep.contract.registry import find_model
from simrep.contract.setup import Setup
from simrep.errors import ScenarioError, nearest
from simrep.models.galera.questions.fragment_size_result import Criteria, size_text
from simrep.scenario import Scenario, with_values
from simrep.scenario.problems import spellings
from simrep.scenario.workload import ScheduledTable

__all__ = [
    "FRAGMENT_SIZE",
    "FRAGMENT_UNIT",
    "check_model",
    "checked",
    "criteria_of",
    "grid_of",
    "position_of",
    "unit_of",
    "until_it_has_ended",
    "whole_of",
]

FRAGMENT_UNIT = "wsrep_trx_fragment_unit"
FRAGMENT_SIZE = "wsrep_trx_fragment_size"
_UNITS = ("bytes", "rows", "statements")
_LARGEST = 2**31 - 1  # of wsrep_trx_fragment_size
_INTERVALS = 5  # of the time series, in the longest stall that is allowed


def criteria_of(longest_stall_s: float, largest_slowdown: float, least_payload: float) -> Criteria:
    """The criteria, if they can be met."""
    if not 0.0 < longest_stall_s < inf:
        raise ScenarioError(
            "longest_stall_s", f"must be above 0 s and finite, given {longest_stall_s}"
        )
    if not 1.0 <= largest_slowdown < inf:
        raise ScenarioError(
            "largest_slowdown", f"must be at least 1 and finite, given {largest_slowdown}"
        )
    if not 0.0 <= least_payload <= 1.0:
        raise ScenarioError("least_payload", f"must be from 0 to 1, given {least_payload}")
    return Criteria(longest_stall_s, largest_slowdown, least_payload)


def check_model(scenario: Scenario) -> None:
    """Refuse a model whose sessions have no fragment size."""
    model = find_model(scenario.cluster.model)
    session = model.Session
    if session is None or not any(
        FRAGMENT_SIZE in spellings(name, field) for name, field in session.model_fields.items()
    ):
        raise ScenarioError(
            "cluster.model",
            f"model {model.name!r} has no streaming replication",
            'Galera 4 has it: cluster.model = "galera"',
        )


def position_of(scenario: Scenario, name: str | None) -> int:
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


def until_it_has_ended(
    scenario: Scenario, table: ScheduledTable, criteria: Criteria, position: int
) -> Scenario:
    """The scenario, run until a while after the transaction, in intervals that show a stall."""
    run, workload = scenario.run, scenario.workload
    if workload.fixed:
        raise ScenarioError(
            "workload.queries",
            "the payload has to go on for as long as the large transaction takes",
            "remove queries and transactions_per_client, and set run.duration_s or run.settle_s",
        )
    interval_s = criteria.longest_stall_s / _INTERVALS
    if table.at_s < run.warmup_s + interval_s:
        raise ScenarioError(
            f"workload.scheduled.{position}.at_s",
            f"leaves no payload before it to compare with, given {table.at_s:g}",
            f"let it begin some seconds after run.warmup_s = {run.warmup_s:g}",
        )
    settle_s = _INTERVALS * criteria.longest_stall_s if run.settle_s is None else run.settle_s
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


def unit_of(setup: Setup, table: ScheduledTable, unit: str | None) -> str:
    """The unit: as asked for, as the scenario sets it, or bytes."""
    options = setup.scenario.cluster.options
    chosen = str(
        unit or table.session.get(FRAGMENT_UNIT) or options.get(FRAGMENT_UNIT) or _UNITS[0]
    )
    if chosen not in _UNITS:
        raise ScenarioError("unit", f"no unit {chosen!r}", nearest(chosen, _UNITS))
    return chosen


def whole_of(table: ScheduledTable, unit: str) -> int:
    """All of the transaction in that unit."""
    rows = table.statements * table.rows
    return {"bytes": rows * table.row_bytes, "rows": rows, "statements": table.statements}[unit]


def grid_of(least: int, whole: int) -> list[int]:
    """Powers of the root of ten, with two digits, from the largest to the smallest."""
    most = min(whole, _LARGEST)
    powers = [round(float(f"{10 ** (half / 2):.1e}")) for half in range(20)]
    return [size for size in reversed(powers) if least <= size <= most] or [most]


def checked(sizes: Sequence[int], least: int, whole: int, unit: str) -> list[int]:
    """Sizes that were asked for, the largest first, if all of them can be reached."""
    if not sizes:
        raise ScenarioError("sizes", "needs at least one size")
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int):
            raise ScenarioError("sizes", f"must be whole numbers, given {size!r}")
        if size < least:
            row = f"a row has {least} bytes" if unit == "bytes" else "at least 1"
            raise ScenarioError("sizes", f"{size} {unit} are less than one row", row)
        if size > min(whole, _LARGEST):
            raise ScenarioError(
                "sizes",
                f"{size_text(size)} {unit} would never be reached",
                f"all of it are {size_text(whole)}, and {FRAGMENT_SIZE} is at most {_LARGEST}",
            )
    return sorted(set(sizes), reverse=True)
