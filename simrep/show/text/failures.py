"""Datasets of failures as tables for a terminal: what is missed first, then all figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isfinite, isnan
from statistics import median

from rich.console import RenderableType
from rich.table import Table

from simrep.data.failures import ErrorCodes, FailureFigure
from simrep.data.reproduce import DatasetResult
from simrep.measure.units import number
from simrep.show.text.layout import table, title, words

__all__ = ["failure_notes", "failure_tables", "span_of", "system_of"]

_HEADS = ("figure", "unit", "measured", "from", "to", "simulated", "99 % of runs", "decided by", "")


def failure_tables(result: DatasetResult) -> Iterator[RenderableType]:
    """Figures that are missed, errors that clients met, then a table for each cell."""
    missed = [figure for figure in result.failures if not figure.right]
    if missed:
        yield words("")
        yield title("Missed")
        rows = ((system_of(one.series, one.factors), *_row(one)) for one in missed)
        yield table(("run", *_HEADS), "llrRRRrll", rows, keys=2)
    if result.error_codes:
        yield words("")
        yield title("Errors that clients met: group, node and number")
        heads = ("run", "measured", "in share of the simulated runs", "")
        yield table(heads, "llll", (_codes(one) for one in result.error_codes))
    titles = {series.name: series.title for series in result.dataset.definition.series}
    for (name, factors), own in groupby(result.failures, lambda f: (f.series, f.factors)):
        yield words("")
        yield title(f"{system_of(name, factors)}: {titles[name]}")
        yield _block(list(own))


def system_of(series: str, factors: Mapping[str, object]) -> str:
    """A cell in words."""
    return ", ".join([series, *map(str, factors.values())])


def span_of(figure: FailureFigure) -> str:
    """Where 99 % of the simulated runs lie."""
    if not isfinite(figure.low):
        return "-"
    return f"{number(figure.low)} .. {number(figure.high)}"


def _block(figures: Sequence[FailureFigure]) -> Table:
    return table(_HEADS, "llRRRrrll", map(_row, figures), keys=1)


def _row(figure: FailureFigure) -> tuple[RenderableType, ...]:
    return (
        figure.metric,
        figure.unit,
        number(median(figure.measured)),
        number(min(figure.measured)),
        number(max(figure.measured)),
        number(figure.predicted),
        span_of(figure),
        figure.decided_by,
        "" if figure.right else words("missed", "red"),
    )


def _codes(codes: ErrorCodes) -> tuple[RenderableType, ...]:
    simulated = ", ".join(
        f"{code} ({100 * share:.0f} %)" for code, share in codes.predicted.items()
    )
    return (
        system_of(codes.series, codes.factors),
        ", ".join(codes.measured) or "none",
        simulated or "none",
        "" if codes.right else words("wrong", "red"),
    )


def failure_notes(result: DatasetResult) -> list[str]:
    """The scores in sentences."""
    scores, table = result.failure_scores, result.dataset.definition.failures
    assert table is not None
    least = f"{table.tolerance_s:g} s"
    slow = exact = ""
    if scores.slow_phases[1]:
        slow = f"{_counted(scores.slow_phases)} of slow phases within 25 %."
    if not isnan(result.attainable):
        exact = _counted((round(result.attainable), scores.timers[1]))
        exact += " if the simulation were exact: medians of a few runs differ by chance."
    return [
        f"{_counted(scores.timers)} figures that timers decide within 5 % or {least}.",
        *filter(None, [exact, slow]),
        f"{_counted(scores.processors)} that processors decide within 25 %.",
        f"Errors of clients are right in {_counted(scores.codes)} experiments.",
        f"{result.replications} replications each, seed {result.seed}.",
    ]


def _counted(pair: tuple[int, int]) -> str:
    right, n = pair
    share = f" ({100 * right / n:.0f} %)" if n else ""
    return f"{right} of {n}{share}"
