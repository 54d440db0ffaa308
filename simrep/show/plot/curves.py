"""The figure of a dataset of curves: throughput by group size, both figures by clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from simrep.data.curve_dataset import CurveDatasetResult
from simrep.measure.units import describe
from simrep.show.plot.style import GREY, MARKERS, Sheet, colour, save, styled, value_ticks
from simrep.show.views import plot

__all__ = ["plot_curves"]

Key = tuple[Any, Any]
"""System and size of the group."""


def plot_curves(
    points: Sequence[Mapping[str, Any]],
    sustained: Sequence[Mapping[str, Any]],
    path: str | Path | None = None,
    *,
    axis: str,
    facet: str,
    across: str,
    by: str,
    baseline: Mapping[str, Any],
    title: str = "",
) -> Sheet:
    """Draw the curves of a dataset: one row of three charts per value of a factor.

    Parameters
    ----------
    points : sequence of mappings
        Each with ``factors`` (mapping), ``x``, ``throughput_tps`` and ``latency_s``.
    sustained : sequence of mappings
        Each with ``factors`` and ``rate_tps``: drawn by group size, with the maxima.
    path : str or Path, optional
        Where to save the figure.
    axis : str
        What the curves are swept over, for the label.
    facet : str
        Factor with a row of charts per value.
    across : str
        Numeric factor on the axis of the first chart.
    by : str
        Factor that tells the systems apart, which have a colour each.
    baseline : mapping
        Factors of the curve that all are compared with: a line across the first chart.
    title : str
        Headline of the figure, none when empty.

    Returns
    -------
    Sheet
        A matplotlib figure with three axes per row.

    Raises
    ------
    ValueError
        When there is nothing to draw.
    """
    if not points:
        raise ValueError("a dataset without points cannot be drawn")
    facets = list(dict.fromkeys(point["factors"][facet] for point in points))
    systems = list(dict.fromkeys(one["factors"][by] for one in (*points, *sustained)))
    colours = {system: colour(index) for index, system in enumerate(systems)}
    sizes = sorted({point["factors"][across] for point in points})
    marks = {size: MARKERS[index % len(MARKERS)] for index, size in enumerate(sizes)}
    with styled():
        figure = Sheet(13.5, 1.2 + 4.0 * len(facets))
        rows = figure.subplots(len(facets), 3, squeeze=False)
        for axes, value in zip(rows, facets, strict=True):
            own = [point for point in points if point["factors"][facet] == value]
            rates = [one for one in sustained if one["factors"][facet] == value]
            curves = _curves(own, by, across)
            reference = {key: curve for key, curve in curves.items() if key[0] == baseline.get(by)}
            _draw_sizes(axes[0], curves, reference, rates, colours, by, across)
            axes[0].set_title(describe(str(value)))
            for key, curve in curves.items():
                style = _style(colours[key[0]], marks[key[1]])
                axes[1].plot(*_columns(curve, "throughput_tps", 1.0), **style)
                axes[2].plot(*_columns(curve, "latency_s", 1e3), **style)
            _label(axes[1], curves, axis, "throughput (transactions/s)")
            _label(axes[2], curves, axis, "mean latency (ms)")
        shown = {
            point["factors"][across] for point in points if point["factors"][by] != baseline.get(by)
        }
        marks = {size: mark for size, mark in marks.items() if size in shown}
        _legends(figure, colours, marks, across, has_sustained=bool(sustained))
        if title:
            figure.suptitle(title, x=0.012, ha="left")
        save(figure, path)
    return figure


def _curves(
    points: Sequence[Mapping[str, Any]], by: str, across: str
) -> dict[Key, list[Mapping[str, Any]]]:
    curves: dict[Key, list[Mapping[str, Any]]] = {}
    for point in sorted(points, key=lambda point: float(point["x"])):
        key = (point["factors"][by], point["factors"][across])
        curves.setdefault(key, []).append(point)
    return dict(sorted(curves.items(), key=lambda item: (str(item[0][0]), item[0][1])))


def _columns(
    curve: Sequence[Mapping[str, Any]], figure: str, scale: float
) -> tuple[list[float], list[float]]:
    return [point["x"] for point in curve], [scale * point[figure] for point in curve]


def _style(shade: str, marker: str) -> dict[str, Any]:
    return {"color": shade, "marker": marker, "markersize": 5.0, "linewidth": 1.4}


def _draw_sizes(
    axes: Axes,
    curves: Mapping[Key, Sequence[Mapping[str, Any]]],
    reference: Mapping[Key, Sequence[Mapping[str, Any]]],
    sustained: Sequence[Mapping[str, Any]],
    colours: Mapping[Any, str],
    by: str,
    across: str,
) -> None:
    """The highest throughput and the sustained one by size; the baseline as a line across."""
    maxima: dict[Any, dict[float, float]] = {}
    for key, curve in curves.items():
        best = max(point["throughput_tps"] for point in curve)
        if key in reference:
            axes.axhline(best, color=colours[key[0]], linewidth=1.4)
        else:
            maxima.setdefault(key[0], {})[key[1]] = best
    rates: dict[Any, dict[float, float]] = {}
    for one in sustained:
        rates.setdefault(one["factors"][by], {})[one["factors"][across]] = one["rate_tps"]
    for found, dashes in ((maxima, "-"), (rates, "--")):
        for system, values in found.items():
            own = sorted(values.items())
            axes.plot(
                [size for size, _ in own], [value for _, value in own],
                color=colours[system], linestyle=dashes, marker="o", markersize=5.0,
            )  # fmt: skip
    sizes = sorted({size for found in (maxima, rates) for own in found.values() for size in own})
    if sizes:
        value_ticks(axes.xaxis, [float(size) for size in sizes])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(describe(across))
    axes.set_ylabel("throughput (transactions/s)")


def _label(
    axes: Axes, curves: Mapping[Key, Sequence[Mapping[str, Any]]], axis: str, label: str
) -> None:
    values = sorted({float(point["x"]) for curve in curves.values() for point in curve})
    axes.set_xscale("log")
    value_ticks(axes.xaxis, values)
    axes.tick_params(axis="x", labelsize=8.5)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(describe(axis))
    axes.set_ylabel(label)


def _legends(
    figure: Sheet,
    colours: Mapping[Any, str],
    marks: Mapping[Any, str],
    across: str,
    *,
    has_sustained: bool,
) -> None:
    """Colours are systems, shapes are sizes of the group, dashes are sustained rates."""
    handles = [
        Line2D([], [], color=shade, label=describe(str(system)))
        for system, shade in colours.items()
    ]
    handles += [
        Line2D([], [], color=GREY, linestyle="none", marker=marker, label=f"{size} {across}")
        for size, marker in marks.items()
    ]
    if has_sustained:
        handles.append(Line2D([], [], color=GREY, linestyle="--", label="sustained"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 8))


@plot.register(CurveDatasetResult)
def _plot_result(result: CurveDatasetResult) -> Sheet:
    definition = result.dataset.definition
    return plot_curves(
        [asdict(point) for point in result.points],
        [asdict(one) for one in result.sustained],
        axis=definition.axis.name,
        facet=definition.show.facet,
        across=definition.show.across,
        by=definition.show.by,
        baseline=definition.baseline,
        title=definition.title,
    )
