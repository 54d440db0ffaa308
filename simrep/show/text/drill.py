"""A drill as tables for a terminal: for each setting a row per fault, and the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isinf, isnan
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from simrep.measure.units import counted, duration, number
from simrep.scenario.changes import short_names
from simrep.show.text.layout import closing, table, title
from simrep.show.views import tables
from simrep.whatif.drill.catalogue import CATALOGUE
from simrep.whatif.drill.result import PERCENTILES_FROM, Drill, DrillCell

__all__ = ["catalogue_table", "setting_name", "time_text"]

_ERRORS = 4  # so many kinds are printed
_LEAST_S = 0.01  # what is shorter is told as 0


@tables.register(Drill)
def drill_tables(drill: Drill) -> Group:
    """The tables, setting by setting; below them what does not apply and what all rest on."""
    parts: list[RenderableType] = []
    for labels in drill.settings:
        cells = [cell for cell in drill.cells if cell.labels == labels]
        parts += _setting(drill, setting_name(labels) or drill.name or "Drill", cells)
    return Group(title(_heading(drill)), *parts, closing(_remarks(drill)))


def catalogue_table() -> Table:
    """The faults of the catalogue, in words."""
    return table(("fault", "what happens"), "Ll", ((one.name, one.said) for one in CATALOGUE))


def setting_name(labels: Mapping[str, Any]) -> str:
    """A setting in words: its product, then what was varied."""
    names = short_names(tuple(labels))
    return ", ".join(
        str(value) if name == "product" else f"{names[name]} = {value}"
        for name, value in labels.items()
    )


def time_text(drill: Drill, seconds: float) -> str:
    """Seconds as the tables tell them; of what never came, that it is beyond the limit.

    A time that nothing is known of is a dash.
    """
    if isnan(seconds):
        return "-"
    if isinf(seconds):
        return f">{drill.limit_s:g}"
    if seconds < _LEAST_S:
        return "0"
    return (
        f"{seconds:.0f}"
        if seconds >= 100.0
        else f"{seconds:.2g}"
        if seconds < 1.0
        else (f"{seconds:.1f}")
    )


def _heading(drill: Drill) -> str:
    name = f"{drill.name}: " if drill.name else ""
    times = counted(drill.replications, "replication")
    if drill.precision is not None:
        fewest = min((len(c.outcomes) for c in drill.cells if c.outcomes), default=0)
        times = times if fewest == drill.replications else f"{fewest} to {times}"
    return f"{name}drill, {times} of each fault, seed {drill.seed}"


def _setting(drill: Drill, name: str, cells: Sequence[DrillCell]) -> Iterator[RenderableType]:
    """The tables of a setting: faults, and what reads saw of them."""
    played = [cell for cell in cells if cell.outcomes]
    refusals = list(_refusals(cells))
    yield title(name)
    if played:
        many = all(len(cell.outcomes) >= PERCENTILES_FROM for cell in played)
        rto = ["RTO p50 / p95" if many else "RTO"]
        if drill.precision is not None:
            rto += ["mean RTO", "runs"]
        heads = ("fault", "noticed", "writes back", *rto, "lost", "slow", "whole", "errors")
        rows = ((cell.fault.name, *_cells(drill, cell)) for cell in played)
        yield table(heads, f"L{'r' * (len(heads) - 2)}l", rows, keys=1)
    if any(cell.values("reads_back_s") for cell in played):
        seen = ((cell.fault.name, *_reads(drill, cell)) for cell in played)
        yield table(("fault", "reads back", "stale reads", "oldest by"), "Lr", seen, keys=1)
    said = [verdict for labels, verdict in drill.verdicts if labels == cells[0].labels]
    yield closing([*said, *refusals, ""] if said or refusals else [])


def _cells(drill: Drill, cell: DrillCell) -> Iterator[str]:
    for figure in ("detected_s", "writes_back_s"):
        yield time_text(drill, cell.median(figure))
    yield _rto(drill, cell)
    if drill.precision is not None:
        yield _mean_rto(drill, cell)
        yield f"{len(cell.outcomes)}"
    yield _lost(cell)
    for figure in ("slow_s", "whole_s"):
        yield time_text(drill, cell.median(figure))
    errors = list(cell.errors)
    yield " ".join(errors[:_ERRORS]) + (" ..." if len(errors) > _ERRORS else "") or "-"


def _reads(drill: Drill, cell: DrillCell) -> Iterator[str]:
    yield time_text(drill, cell.median("reads_back_s"))
    share = cell.median("stale")
    yield "-" if isnan(share) else "0" if not share else f"{100.0 * share:.2g} %"
    yield duration(cell.median("stale_s"))


def _rto(drill: Drill, cell: DrillCell) -> str:
    values = cell.values("rto_s")
    if len(values) >= PERCENTILES_FROM:
        middle, high = (time_text(drill, cell.percentile("rto_s", p)) for p in (50.0, 95.0))
        return f"{middle} / {high}"
    low, high = time_text(drill, min(values)), time_text(drill, max(values))
    return low if low == high else f"{low}-{high}"


def _mean_rto(drill: Drill, cell: DrillCell) -> str:
    found = cell.interval("rto_s")
    if found is None:
        return "-"
    half = time_text(drill, found.half_width)
    return f"{time_text(drill, found.mean)}{f' ± {half}' if found.half_width else ''}"


def _lost(cell: DrillCell) -> str:
    values = cell.values("lost")
    if not values:
        return "-"
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low}-{high}"


def _refusals(cells: Sequence[DrillCell]) -> Iterator[str]:
    """Why faults were not played; those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for cell in cells:
        if cell.refused:
            reasons.setdefault(cell.refused, []).append(cell.fault.name)
    for reason, names in reasons.items():
        yield f"{', '.join(names)}: {reason}."


def _precision(drill: Drill) -> Iterator[str]:
    """Of which faults the mean RTO is known as precisely as was asked for."""
    if drill.precision is None:
        return
    imprecise = drill.imprecise
    yield (
        f"Each {'other ' if imprecise else ''}fault is repeated until the 95 % interval of its "
        f"mean RTO is ± {100.0 * drill.precision:.3g} % of it, or of a second if it is shorter."
    )
    for cell in imprecise:
        name = ", ".join(filter(None, (setting_name(cell.labels), cell.fault.name)))
        runs = len(cell.outcomes)
        if never := cell.never("rto_s"):
            yield f"{name}: in {never} of {counted(runs, 'run')} writes did not come back."
        else:
            yield f"{name}: after {counted(runs, 'run')} it is ± {100.0 * cell.precision:.2g} %."


def _remarks(drill: Drill) -> Iterator[str]:
    few = "" if drill.replications >= PERCENTILES_FROM else ", lowest to highest"
    if drill.precision is not None:
        few = f", lowest to highest, or p50 / p95 from {PERCENTILES_FROM} runs on"
    yield (
        "Seconds after the begin of the fault, medians. RTO: the longest time without an answered "
        f"write{few}; lost: answered and on no node at the end; slow: time with less than half of "
        "the usual rate; whole: all nodes have all data again."
    )
    if any(cell.values("stale") for cell in drill.cells):
        yield (
            "Stale reads: from the fault on, reads that missed an answered commit; oldest by: the "
            "time since its answer."
        )
    yield from _precision(drill)
    yield from drill.notes
    if not drill.complete:
        yield "Interrupted: cells are missing."
