"""Marks of a scheduled transaction on a time axis, with labels that do not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from matplotlib.axes import Axes

from simrep.runs.schedule import ScheduledRecord
from simrep.show.plot.style import INK

__all__ = ["draw_marks", "marks_of"]

_SIZE = 9.0  # points
_GLYPH = 0.56  # mean width of a character, in units of the size of the font
_LINE = 1.35  # distance of rows of labels, likewise
_NEAR = 8.0  # points between marks that share a label
_PAD = 4.0  # points between a mark and its label


def marks_of(record: ScheduledRecord, origin_s: float = 0.0) -> dict[str, float]:
    """Times by what happened, in seconds after the origin; without what did not happen."""
    times = {
        "begin": record.begin_s,
        "replicate": record.replicate_s,
        "commit": record.commit_s,
        "end": record.end_s,
    }
    return {name: at - origin_s for name, at in times.items() if isfinite(at)}


def draw_marks(
    axes: Axes, marks: Iterable[tuple[str, float]], *, width_in: float, height_in: float, top: float
) -> None:
    """A vertical line at each mark and its name beside it.

    Marks that are hardly apart share a label ("commit, end"). A label that
    would reach into another one moves a row down.

    Parameters
    ----------
    axes : Axes
        Its horizontal limits are final.
    marks : iterable of (str, float)
        Label and place of each.
    width_in, height_in : float
        About how large the axes are, in inches.
    top : float
        Where the labels begin, as a fraction of the height.
    """
    low, high = axes.get_xlim()
    per_point = (high - low) / (72.0 * width_in)
    row_height = _LINE * _SIZE / (72.0 * height_in)
    ends: list[list[tuple[float, float]]] = []  # what is taken, row by row
    for at, label in _together(marks, _NEAR * per_point).items():
        axes.axvline(at, ymax=top, color=INK, linewidth=1.1, linestyle=(0, (2, 2)), zorder=4)
        reach = (_GLYPH * _SIZE * len(label) + _PAD) * per_point
        left = at + reach > high
        span = (at - reach, at) if left else (at, at + reach)
        row = _free_row(ends, span)
        axes.annotate(
            label, (at, top - row * row_height), xycoords=("data", "axes fraction"),
            xytext=(-_PAD if left else _PAD, 0), textcoords="offset points",
            ha="right" if left else "left", va="top", fontsize=_SIZE, color=INK, zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6},
        )  # fmt: skip


def _together(marks: Iterable[tuple[str, float]], nearer_than: float) -> Mapping[float, str]:
    """Labels by place, from left to right; those of one place are joined."""
    found: dict[float, str] = {}
    last = -float("inf")
    for label, at in sorted(marks, key=lambda mark: mark[1]):
        if at - last < nearer_than:
            found[last] += f", {label}"
        else:
            found[at] = label
            last = at
    return found


def _free_row(rows: list[list[tuple[float, float]]], span: tuple[float, float]) -> int:
    """The first row in which nothing lies in the way, and there the span is taken."""
    for number, taken in enumerate(rows):
        if all(span[1] <= low or high <= span[0] for low, high in taken):
            taken.append(span)
            return number
    rows.append([span])
    return len(rows) - 1
