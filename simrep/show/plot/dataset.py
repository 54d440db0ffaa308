"""The figure of a dataset: measured as points, simulated as lines with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from simrep.data.cells import Cell
from simrep.data.definition import Definition
from simrep.data.reproduce import DatasetResult
from simrep.measure.units import describe
from simrep.show.plot.derived import plot_derived
from simrep.show.plot.style import (
    GREY,
    MARKERS,
    Sheet,
    colour,
    decade_ticks,
    save,
    styled,
    value_ticks,
)
from simrep.show.plot.timeline import plot_timelines
from simrep.show.views import plot

__all__ = ["plot_cells", "plot_dataset"]


@dataclass(frozen=True, slots=True)
class _Point:
    x: float
    series: tuple[Any, ...]
    measured: float | None
    predicted: float | None
    relative_error: float | None
    interval: tuple[float, float] | None
    used_in_fit: bool


def plot_dataset(
    cells: Iterable[Any],
    path: str | Path | None = None,
    *,
    x: str,
    y: str,
    by: str | Sequence[str],
    log: bool = True,
    errors: bool = False,
    title: str = "",
) -> Sheet:
    """Draw the cells of a dataset over one of their factors, one colour per value of another.

    Parameters
    ----------
    cells : iterable of mappings or objects
        Each with ``factors`` (mapping), ``measured``, ``predicted``, ``unit``,
        ``relative_error`` (a fraction), ``interval`` (low and high of the prediction, or None)
        and ``used_in_fit``. ``measured`` may be None for what was only simulated.
    path : str or Path, optional
        Where to save the figure.
    x : str
        Name of the factor on the horizontal axis; a unit at its end ("_ms") goes to the label.
    y : str
        What was measured, for the label; its unit is that of the cells.
    by : str or sequence of str
        The factor, or factors, whose values make the series.
    log : bool
        Logarithmic axes; needs positive values.
    errors : bool
        Add a panel with the relative errors.
    title : str
        Headline of the figure, none when empty.

    Returns
    -------
    Sheet
        A matplotlib figure with one or two axes.

    Raises
    ------
    ValueError
        When two cells would lie on one place of one line, which mixes what a further factor
        tells apart; when there are no cells, or a factor is missing.
    """
    cells = list(cells)
    names = (by,) if isinstance(by, str) else tuple(by)
    points = [_point(cell, x, names) for cell in cells]
    if not points:
        raise ValueError("a dataset without cells cannot be drawn")
    _refuse_overlap(points, cells, {x, *names})
    units = {str(_get(cell, "unit")) for cell in cells}
    if len(units) > 1:
        raise ValueError(f"cells of different units share no axis: {sorted(units)}")
    series = _ordered({point.series for point in points})
    with styled():
        figure = Sheet(12.0 if errors else 8.4, 5.4)
        if errors:
            main, second = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
        else:
            main, second = figure.subplots(), None
        for index, key in enumerate(series):
            own = sorted((p for p in points if p.series == key), key=lambda point: point.x)
            _draw(main, own, index)
            if second is not None:
                _draw_errors(second, own, index)
        _scale(main, points, x, log)
        main.set_ylabel(f"{y} ({units.pop()})")
        _legends(figure, points, series, names)
        if second is not None:
            _scale_errors(second, points, x, log)
        if title:
            figure.suptitle(title, x=0.012, ha="left")
        save(figure, path)
    return figure


@plot.register(DatasetResult)
def plot_reproduction(result: DatasetResult) -> Sheet:
    """Draw the first metric over a factor, or commits over time if the dataset shows them.

    Measured as points, simulated as lines with intervals; in a dataset with timelines a panel for
    each cell, measured levels as bands; without measured cells the rows about several of them.
    """
    if result.timelines:
        return plot_timelines(result)
    if not result.dataset.definition.metrics:
        return plot_derived(result.derived, title=result.dataset.definition.title)
    return plot_cells(result.dataset.definition, result.cells)


def plot_cells(
    definition: Definition, cells: Iterable[Cell], path: str | Path | None = None
) -> Sheet:
    """Draw the first metric of a dataset as its definition says, with the relative errors.

    Parameters
    ----------
    definition : Definition
    cells : iterable of Cell
        Those of other metrics, and those without a number on the axis, are left out.
    path : str or Path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        When there is none to draw.
    """
    x = definition.show.x
    drawn = [
        {**asdict(cell), "factors": {**cell.factors, "series": cell.series}}
        for cell in cells
        if cell.metric == definition.metric.column and not isinstance(cell.factors[x], str)
    ]
    several = len({cell["series"] for cell in drawn}) > 1
    by = [name for name in ("series" if several else None, definition.show.by) if name]
    return plot_dataset(
        drawn,
        path,
        x=x,
        y=definition.metric.label,
        by=_telling_apart(drawn, x, by, definition.factors) or "series",
        log=not any(cell["measured"] <= 0 or cell["predicted"] <= 0 for cell in drawn),
        errors=True,
        title=definition.title,
    )


def _telling_apart(
    cells: Sequence[Mapping[str, Any]], x: str, by: Sequence[str], others: Iterable[str]
) -> list[str]:
    """The factors of the lines, and of the others as many as keep cells apart."""
    names = list(by)
    for name in others:
        places = {tuple(cell["factors"][each] for each in (x, *names)) for cell in cells}
        if len(places) == len(cells):
            break
        values = {cell["factors"][name] for cell in cells}
        if name not in {x, *names} and len(values) > 1:
            names.append(name)
    return names


def _get(cell: Any, name: str) -> Any:
    return cell[name] if isinstance(cell, Mapping) else getattr(cell, name)


def _point(cell: Any, x: str, by: tuple[str, ...]) -> _Point:
    factors = _get(cell, "factors")
    for name in (x, *by):
        if name not in factors:
            raise ValueError(f"a cell has no factor {name!r}; it has {sorted(factors)}")
    return _Point(
        x=float(factors[x]),
        series=tuple(factors[name] for name in by),
        measured=_get(cell, "measured"),
        predicted=_get(cell, "predicted"),
        relative_error=_get(cell, "relative_error"),
        interval=_get(cell, "interval"),
        used_in_fit=bool(_get(cell, "used_in_fit")),
    )


def _refuse_overlap(points: list[_Point], cells: list[Any], used: set[str]) -> None:
    if len({(point.series, point.x) for point in points}) == len(points):
        return
    factors = [_get(cell, "factors") for cell in cells]
    others = sorted(
        name
        for name in set(factors[0]) - used
        if len({repr(factor.get(name)) for factor in factors}) > 1
    )
    hint = f"choose cells with one value of {', '.join(others)}, or add to 'by'" if others else ""
    raise ValueError(f"several cells lie on the same place of a line; {hint or 'drop repeats'}")


def _ordered(keys: set[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Numbers by value and before texts, so that colours follow the size of a delay."""

    def order(key: tuple[Any, ...]) -> list[tuple[int, float, str]]:
        return [
            (0, float(part), "") if isinstance(part, (int, float)) else (1, 0.0, str(part))
            for part in key
        ]

    return sorted(keys, key=order)


def _draw(axes: Axes, points: list[_Point], index: int) -> None:
    shade = colour(index)
    lined = [point for point in points if point.predicted is not None]
    axes.plot([p.x for p in lined], [p.predicted for p in lined], color=shade, zorder=2)  # type: ignore[arg-type]
    banded = [(p.x, *p.interval) for p in lined if p.interval is not None]
    if banded:
        at, low, high = zip(*banded, strict=True)
        axes.fill_between(at, low, high, color=shade, alpha=0.22, linewidth=0, zorder=1)
    for fitted in (False, True):
        own = [p for p in points if p.measured is not None and p.used_in_fit is fitted]
        if own:
            axes.plot([p.x for p in own], [p.measured for p in own],  # type: ignore[arg-type]
                      **_marker(index, fitted, shade))  # fmt: skip


def _marker(index: int, fitted: bool, shade: str) -> dict[str, Any]:
    """Full for a cell the model has not seen, hollow for one it was fitted to."""
    return {
        "linestyle": "none",
        "marker": MARKERS[index % len(MARKERS)],
        "color": shade,
        "markerfacecolor": "white" if fitted else shade,
        "markeredgecolor": shade if fitted else "white",
        "markeredgewidth": 1.6 if fitted else 0.9,
        "markersize": 7.0 if fitted else 8.0,
        "zorder": 3,
    }


def _draw_errors(axes: Axes, points: list[_Point], index: int) -> None:
    shade = colour(index)
    own = [point for point in points if point.relative_error is not None]
    axes.plot([p.x for p in own], [100 * p.relative_error for p in own],  # type: ignore[operator]
              color=shade, linewidth=1.0, alpha=0.6, zorder=2)  # fmt: skip
    for fitted in (False, True):
        some = [p for p in own if p.used_in_fit is fitted]
        if some:
            axes.plot([p.x for p in some], [100 * p.relative_error for p in some],  # type: ignore[operator]
                      **_marker(index, fitted, shade))  # fmt: skip


def _scale_x(axes: Axes, points: list[_Point], x: str, log: bool) -> None:
    values = sorted({point.x for point in points})
    if log and values[0] > 0:
        axes.set_xscale("log")
        value_ticks(axes.xaxis, values)
    axes.set_xlabel(describe(x))


def _scale(axes: Axes, points: list[_Point], x: str, log: bool) -> None:
    _scale_x(axes, points, x, log)
    drawn = [value for p in points for value in (p.measured, p.predicted) if value is not None]
    low, high = min(drawn), max(drawn)
    if log:
        if low <= 0:
            raise ValueError(f"a logarithmic axis needs positive values, given {low}")
        axes.set_yscale("log")
        axes.set_ylim(low / 1.6, high * 1.6)
        decade_ticks(axes, low / 1.6, high * 1.6)
    else:
        axes.set_ylim(0 if low >= 0 else 1.1 * low, 1.1 * high)


def _scale_errors(axes: Axes, points: list[_Point], x: str, log: bool) -> None:
    _scale_x(axes, points, x, log)
    axes.axhline(0, color=GREY, linewidth=1.0, zorder=1)
    sizes = [abs(p.relative_error) for p in points if p.relative_error is not None]
    reach = 115 * max((size for size in sizes if isfinite(size)), default=0.05) or 5.0
    axes.set_ylim(-reach, reach)
    axes.yaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0 if reach >= 5 else 1))
    axes.set_ylabel("simulated relative to measured")


def _legends(
    figure: Sheet, points: list[_Point], series: list[tuple[Any, ...]], by: tuple[str, ...]
) -> None:
    """What the colours mean, beside the axes, and what points, lines and bands mean, below."""
    colours = [
        Line2D([], [], color=colour(i), marker=MARKERS[i % len(MARKERS)], markeredgecolor="white",
               markersize=8.0, label=", ".join(_label(part) for part in key))
        for i, key in enumerate(series)
    ]  # fmt: skip
    title = ", ".join(describe(name) for name in by)
    # Largest first: in most datasets that is the order of the lines, from the top.
    figure.legend(handles=colours[::-1], loc="outside right upper", title=title, alignment="left")

    kinds: list[Line2D | Patch] = []
    measured = [point for point in points if point.measured is not None]
    if any(not point.used_in_fit for point in measured):
        kinds.append(Line2D([], [], label="measured", **_marker(0, False, GREY)))
    if any(point.used_in_fit for point in measured):
        kinds.append(Line2D([], [], label="measured, used in fit", **_marker(0, True, GREY)))
    if any(point.predicted is not None for point in points):
        kinds.append(Line2D([], [], color=GREY, label="simulated"))
    if any(point.interval is not None for point in points):
        kinds.append(Patch(color=GREY, alpha=0.22, linewidth=0, label="interval of simulation"))
    figure.legend(handles=kinds, loc="outside lower center", ncols=len(kinds))


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)
