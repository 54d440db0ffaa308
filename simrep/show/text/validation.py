"""Predictions beside measurements as tables for a terminal."""

from __future__ import annotations

from math import isfinite

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from simrep.data.latencies import QUANTILES, Latencies
from simrep.data.scores import NEAR, Scores
from simrep.data.validation import DatasetValidation, Validation
from simrep.measure.units import describe, duration
from simrep.show.text.dataset import cell_tables
from simrep.show.text.layout import closing, table
from simrep.show.views import tables

_SHOWN = tuple(f"p{q}" for q in QUANTILES if q >= 50)
"""Quantiles of the table; all of them are in the result."""


@tables.register(Validation)
def validation_tables(validation: Validation, cells: bool | None = None) -> Group:
    """Every cell and distribution, if they are asked for, and a row of scores per dataset."""
    if cells is None:
        cells = len(validation.parts) == 1
    parts: list[RenderableType] = []
    for part in validation.parts if cells else ():
        parts += [*cell_tables(part.result), Text()]
        if part.latencies:
            parts.append(_latencies(part))
    missing = "" if validation.complete else "cells are missing"
    return Group(*parts, _scores(validation), closing((), missing=missing))


def _latencies(part: DatasetValidation) -> Table:
    names = [name for name in part.result.dataset.definition.factors if _varies(part, name)]
    figures = ("mean", *_SHOWN)
    rows = (
        (
            one.series,
            *(str(one.factors[name]) for name in names),
            *(_both(one, name) for name in figures),
            f"{one.distance:.1%}",
            "fit" if one.used_in_fit else "",
        )
        for one in part.latencies
    )
    return table(
        ("system", *map(describe, names), *figures, "distance", ""),
        "l" * (1 + len(names)) + "R" * (1 + len(figures)) + "l",
        rows,
        name="Recorded latencies, measured | simulated",
    )


def _varies(part: DatasetValidation, name: str) -> bool:
    return len({one.factors[name] for one in part.latencies}) > 1


def _both(one: Latencies, name: str) -> str:
    return f"{duration(one.measured_s[name])} | {duration(one.simulated_s[name])}"


def _scores(validation: Validation) -> Table:
    heads = (
        *("dataset", "fitted", "predicted", "median error", "largest", f"within {NEAR:.0%}"),
        *("in interval", "order right", "tolerated"),
    )
    scores = table(heads, "Lr", ((part.name, *_row(part.scores)) for part in validation.parts))
    if len(validation.parts) > 1:
        scores.add_section()
        scores.add_row("all", *_row(validation.scores))
    return scores


def _row(scores: Scores) -> list[str]:
    ordered = f"{_percent(scores.ordered)} of {scores.pairs}" if scores.pairs else "-"
    tolerated = f"{scores.tolerated} of {scores.with_tolerance}" if scores.with_tolerance else "-"
    return [
        str(scores.fitted),
        str(scores.n),
        _percent(scores.median_abs_error, 1),
        _percent(scores.max_abs_error, 1),
        _percent(scores.near),
        _percent(scores.inside_interval),
        ordered,
        tolerated,
    ]


def _percent(value: float, digits: int = 0) -> str:
    return f"{value:.{digits}%}" if isfinite(value) else "-"
