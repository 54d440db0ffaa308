"""Names of the figures of runs with faults: their units, and those that no simulation has."""

from __future__ import annotations

__all__ = ["MEASURED_ALONE", "unit"]

MEASURED_ALONE = (
    *("inject_s", "loadavg_start", "tables_equal_n", "duplicated_n", "not_acked_but_present_n"),
    *("only_on_hit_nodes_n", "acked_missing_on_"),
)
"""Beginnings of the names of figures that no simulation has."""
_UNITS = (("_ms", "ms"), ("_tps", "1/s"), ("_n", ""), ("_s", "s"))


def unit(metric: str) -> str:
    """Of a figure, by the end of its name; empty of a count."""
    return next((found for end, found in _UNITS if metric.endswith(end)), "")
