"""What is asked of a comparison of fragment sizes: which transaction, which unit, which sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from simrep.modelling import ScenarioError, Setup, nearest
from simrep.modelling.questions import ScheduledTable
from simrep.models.galera.questions.fragment_size_result import Criteria, size_text

__all__ = [
    "FRAGMENT_SIZE",
    "FRAGMENT_UNIT",
    "checked",
    "criteria_of",
    "grid_of",
    "unit_of",
    "whole_of",
]

FRAGMENT_UNIT = "wsrep_trx_fragment_unit"
FRAGMENT_SIZE = "wsrep_trx_fragment_size"
_UNITS = ("bytes", "rows", "statements")
_LARGEST = 2**31 - 1  # of wsrep_trx_fragment_size


def criteria_of(longest_stall_s: float, largest_slowdown: float, least_payload: float) -> Criteria:
    """The criteria, if they can be met."""
    if not 1.0 <= largest_slowdown < inf:
        raise ScenarioError(
            "largest_slowdown", f"must be at least 1 and finite, given {largest_slowdown}"
        )
    if not 0.0 <= least_payload <= 1.0:
        raise ScenarioError("least_payload", f"must be from 0 to 1, given {least_payload}")
    return Criteria(longest_stall_s, largest_slowdown, least_payload)


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
