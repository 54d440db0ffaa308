"""Predictions beside measurements as tables for a terminal."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from simrep.data.latencies import QUANTILES
from simrep.data.scores import NEAR, Scores
from simrep.measure.units import describe, duration
from simrep.show.text.dataset import cell_tables

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from simrep.data.latencies import Latencies
    from simrep.data.validation import DatasetValidation, Validation

__all__ = ["tables"]

_SHOWN = tuple(f"p{q}" for q in QUANTILES if q >= 50)
"""Quantiles of the table; all of them are in the result."""


def tables(validation: Validation, *, cells: bool) -> Group:
    """Every cell and distribution, if they are asked for, and a row of scores per dataset."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for part in validation.parts if cells else ():
        parts += [*cell_tables(part.result), Text()]
        if part.latencies:
            parts.append(_latencies(part))
    parts.append(_scores(validation))
    if not validation.complete:
        parts.append(Text("Interrupted: cells are missing."))
    return Group(*parts)


def _latencies(part: DatasetValidation) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.title = "Recorded latencies, measured | simulated"
    names = [name for name in part.result.dataset.definition.factors if _varies(part, name)]
    for heading in ("system", *map(describe, names)):
        table.add_column(heading)
    for heading in ("mean", *_SHOWN, "distance"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for one in part.latencies:
        table.add_row(
            one.series,
            *(str(one.factors[name]) for name in names),
            *(_both(one, name) for name in ("mean", *_SHOWN)),
            f"{one.distance:.1%}",
            "fit" if one.used_in_fit else "",
        )
    return table


def _varies(part: DatasetValidation, name: str) -> bool:
    return len({one.factors[name] for one in part.latencies}) > 1


def _both(one: Latencies, name: str) -> str:
    return f"{duration(one.measured_s[name])} | {duration(one.simulated_s[name])}"


def _scores(validation: Validation) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("dataset", no_wrap=True)
    for heading in (
        *("fitted", "predicted", "median error", "largest", f"within {NEAR:.0%}"),
        *("in interval", "order right", "tolerated"),
    ):
        table.add_column(heading, justify="right")
    for part in validation.parts:
        table.add_row(part.name, *_row(part.scores))
    if len(validation.parts) > 1:
        table.add_section()
        table.add_row("all", *_row(validation.scores))
    return table


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
