"""The figure of a dataset: its cells, stated ranges, timelines, or what came of failures."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path

from simrep.data.cells import Cell
from simrep.data.definition import Definition
from simrep.data.reproduce import DatasetResult
from simrep.errors import DrawError
from simrep.show.plot.arrangement import arrange
from simrep.show.plot.cloud import plot_cloud
from simrep.show.plot.curves import curves_height, draw_curves
from simrep.show.plot.failures import plot_failures
from simrep.show.plot.rows import draw_rows, rows_height, rows_width
from simrep.show.plot.stated import plot_derived
from simrep.show.plot.style import Sheet, save, styled
from simrep.show.plot.timeline import plot_timelines
from simrep.show.views import plot

__all__ = ["plot_cells", "plot_reproduction"]

_WIDTH = 13.3  # inches: that of a slide


@plot.register(DatasetResult)
def plot_reproduction(result: DatasetResult) -> Sheet:
    """Draw the first metric of every cell, or commits over time if the dataset shows them.

    Without measured cells the rows about several of them are drawn, or figures of failures.
    """
    definition = result.dataset.definition
    if definition.failures is not None:
        titles = {series.name: series.title for series in definition.series}
        return plot_failures(result.failures, title=definition.title, titles=titles)
    if result.timelines:
        return plot_timelines(result)
    if not definition.metrics:
        return plot_derived(result.derived, title=definition.title)
    return plot_cells(definition, result.cells)


def plot_cells(
    definition: Definition, cells: Iterable[Cell], path: str | Path | None = None
) -> Sheet:
    """Draw the first metric of all cells, in the way that suits how many there are of which kind.

    Curves over the factor that the dataset shows, where there are such; a row for each of the
    other cells, with its interval and its relative error; a cloud if even that is too much.

    Raises
    ------
    ValueError
        When no cell has a measured figure of the metric.
    """
    metric = definition.metric
    drawn = [c for c in cells if c.metric == metric.column and isfinite(c.measured)]
    if not drawn:
        raise DrawError("a dataset without cells cannot be drawn")
    arrangement = arrange(drawn, definition)
    words = (
        metric.label
        if metric.unit in ["", *metric.label.split()]
        else f"{metric.label} ({metric.unit})"
    )
    with styled():
        if arrangement.cloud:
            figure = plot_cloud(arrangement, words)
        elif not arrangement.rows:
            figure = Sheet(_WIDTH, curves_height(len(arrangement.curves)))
            draw_curves(figure, arrangement, words)
        elif not arrangement.curves:
            figure = Sheet(rows_width(arrangement), rows_height(arrangement))
            draw_rows(figure, arrangement, words)
        else:
            heights = curves_height(len(arrangement.curves)), rows_height(arrangement)
            figure = Sheet(_WIDTH, sum(heights))
            above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)[:, 0]
            draw_curves(above, arrangement, words)
            draw_rows(below, arrangement, words)
        figure.headline(definition.title)
        return save(figure, path)
