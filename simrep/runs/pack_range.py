"""In which range a pack was checked, and whether a run lies in it."""

from __future__ import annotations

from collections.abc import Iterable

from simrep.contract.setup import Setup

__all__ = ["extrapolation", "factors_of", "spans"]

_ROUNDING = 1e-6


def factors_of(setup: Setup) -> dict[str, float]:
    """Where a run lies: the factors of a ``[range]`` that it has, in their units."""
    workload, paths = setup.workload, setup.paths
    kinds = [*workload.classes, *(one.transaction_class for one in workload.scheduled)]
    rows = [(one.statements * one.rows, one.row_bytes) for one in kinds]
    found = {
        "nodes": float(len(setup.placement)),
        "rows": float(max(count for count, _ in rows)),
        "transaction_bytes": float(max(count * size for count, size in rows)),
    }
    if workload.nodes:
        found["clients"] = float(len(workload.nodes))
    if paths:
        found["rtt_ms"] = 1e3 * max(
            path.latency.base_s + paths[target, source].latency.base_s
            for (source, target), path in paths.items()
        )
    return found


def spans(setups: Iterable[Setup]) -> dict[str, tuple[float, float]]:
    """Lowest and highest of every factor, over runs that have it."""
    columns: dict[str, list[float]] = {}
    for setup in setups:
        for name, value in factors_of(setup).items():
            columns.setdefault(name, []).append(value)
    return {name: (min(values), max(values)) for name, values in columns.items()}


def extrapolation(setup: Setup) -> str:
    """In which factors a run lies outside of what its pack was checked in; empty if it does not."""
    if setup.pack is None:
        return ""
    found = []
    for name, value in factors_of(setup).items():
        span = getattr(setup.pack.validated, name)
        if span is None:
            continue
        low, high = span
        if not low * (1.0 - _ROUNDING) <= value <= high * (1.0 + _ROUNDING):
            checked = f"{low:g} to {high:g}" if high > low else f"{low:g}"
            found.append(f"{name} is {value:g}, checked: {checked}")
    if not found:
        return ""
    return f"pack {setup.pack.card.name!r} is used beyond its range: {'; '.join(found)}"
