"""Axes of figures: latencies, times since an instant and marks on them, names of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from simrep.measure.units import describe
from simrep.printable import printable, shorten
from simrep.runs.record import ScheduledRecord
from simrep.show.plot.style import GREY, INK, logarithmic

__all__ = ["Since", "draw_marks", "latency_axis", "marks_of", "nothing_committed", "path_label"]

_LEAST_S = 1e-6
_FAR_APART = 20.0
_STEPS: tuple[tuple[float, ...], ...] = ((1, 2, 5), (1, 3), (1,))  # ticks per decade, fewer if many
_UNITS = ((10.0, 1.0, "s"), (5e-4, 1e3, "ms"), (0.0, 1e6, "us"))
_PRODUCTS_OWN = ("cluster.options.", "cluster.costs.")
_SAID = {"rtt_ms": "round trip (ms)", "rate_tps": "arrivals per second"}

_SIZE = 9.0  # points of the names of marks
_GLYPH = 0.56  # mean width of a character, in units of the size of the font
_LINE = 1.35  # distance of rows of labels, likewise
_NEAR = 8.0  # points between marks that share a label
_LEAST = 12  # characters of a label where there is no room
_PAD = 4.0  # points between a mark and its label


def latency_axis(
    axes: Axes, low_s: float, high_s: float, *, ticks: int = 6, sparse: bool = False
) -> None:
    """Make the x axis one of latencies; where it is not logarithmic, with at most so many ticks.

    A ``sparse`` logarithmic axis has ticks for a narrow panel.
    """
    low = max(low_s, _LEAST_S)
    if high_s > _FAR_APART * low:
        logarithmic(axes.xaxis, axes.get_xlabel())
        axes.set_xlim(low / 1.1, high_s * 1.1)
        steps = (1,) if sparse else _STEPS[sum(high_s > ratio * low for ratio in (100, 3000))]
        axes.xaxis.set_major_locator(LogLocator(subs=steps))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        margin = 0.06 * (high_s - low) or 0.5 * high_s
        axes.set_xlim(max(0.0, low - margin), high_s + margin)
        axes.xaxis.set_major_locator(MaxNLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(_tick_text))


def _tick_text(seconds: float, _: object = None) -> str:
    """Tick labels without trailing zeros: 5 ms, 0.2 s."""
    if seconds == 0:
        return "0"
    if seconds >= 0.999:
        return f"{seconds:.4g} s"
    return f"{seconds * 1e3:.4g} ms" if seconds >= 0.999e-3 else f"{seconds * 1e6:.4g} us"


def nothing_committed(axes: Axes) -> None:
    """Say so where there is nothing to draw."""
    axes.text(0.5, 0.5, "nothing committed", transform=axes.transAxes, ha="center", color=GREY)
    axes.set_xticks([])


@dataclass(frozen=True, slots=True)
class Since:
    """How times become places on an axis: units after an instant."""

    origin_s: float
    per_second: float
    unit: str

    @classmethod
    def fitting(cls, origin_s: float, until_s: float) -> Since:
        """With the unit in which the time from the one to the other is read best."""
        span_s = until_s - origin_s
        return next(cls(origin_s, n, unit) for least_s, n, unit in _UNITS if span_s >= least_s)

    def __call__(self, time_s: float) -> float:
        """The place of a time."""
        return (time_s - self.origin_s) * self.per_second


def path_label(path: str, among: Iterable[str] = ()) -> str:
    """The last name of a path with its unit; options keep the product's spelling.

    Parameters
    ----------
    path : str
        Of a value of the scenario, or any name.
    among : iterable of str
        What stands beside it: a path that would be called the same keeps its full length.

    Examples
    --------
    >>> path_label("network.path.0.rtt_ms"), path_label("workload.threads")
    ('round trip (ms)', 'threads')
    """
    short = _short(path)
    if any(other != path and _short(other) == short for other in among):
        return describe(path)
    return printable(short)


def _short(path: str) -> str:
    for table in _PRODUCTS_OWN:
        if path.startswith(table):
            return path.removeprefix(table).strip("\"'")
    last = path.rpartition(".")[2]
    return _SAID.get(last, describe(last))


def marks_of(record: ScheduledRecord, origin_s: float = 0.0) -> dict[str, float]:
    """Times by what happened, in seconds after the origin; without what did not happen."""
    times = {name: getattr(record, f"{name}_s") for name in ("begin", "replicate", "commit", "end")}
    return {name: at - origin_s for name, at in times.items() if isfinite(at)}


def draw_marks(
    axes: Axes, marks: Iterable[tuple[str, float]], *, width_in: float, top: float
) -> float:
    """A vertical line at each mark and its name beside it; the height of all names, in inches.

    Marks that are hardly apart share a label ("commit, end"). A label that would reach into
    another one moves a row down. The horizontal limits of the axes are final, their width in
    inches is about the one given, and the labels begin at a fraction ``top`` of the height.
    """
    low, high = axes.get_xlim()
    per_point = (high - low) / (72.0 * width_in)
    ends: list[list[tuple[float, float]]] = []  # what is taken, row by row
    for at, names in _together(marks, _NEAR * per_point).items():
        room = max(high - at, at - low) / per_point - _PAD
        label = _fitting(names, int(room / (_GLYPH * _SIZE)))
        axes.axvline(at, ymax=top, color=INK, linewidth=1.1, linestyle=(0, (2, 2)), zorder=4)
        reach = (_GLYPH * _SIZE * len(label) + _PAD) * per_point
        left = at + reach > high and at - low > high - at
        span = (at - reach, at) if left else (at, at + reach)
        row = _free_row(ends, span)
        axes.annotate(
            label, (at, top), xycoords=("data", "axes fraction"),
            xytext=(-_PAD if left else _PAD, -row * _LINE * _SIZE), textcoords="offset points",
            ha="right" if left else "left", va="top", fontsize=_SIZE, color=INK, zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6},
            in_layout=False,
        )  # fmt: skip
    return len(ends) * _LINE * _SIZE / 72.0


def _fitting(names: Sequence[str], letters: int) -> str:
    """As many of the names as have room, and how many more there are.

    >>> _fitting(["begin", "commit", "end"], 30), _fitting(["begin", "commit", "end"], 15)
    ('begin, commit, end', 'begin, 2 more')
    """
    rest = [f", {more} more" if more else "" for more in range(len(names))]
    texts = [", ".join(names[: len(names) - more]) + rest[more] for more in range(len(names))]
    return next((text for text in texts if len(text) <= letters), shorten(texts[-1], letters))


def _together(marks: Iterable[tuple[str, float]], nearer_than: float) -> Mapping[float, list[str]]:
    """Labels by place, from left to right; those of one place are together."""
    found: dict[float, list[str]] = {}
    last = -float("inf")
    for label, at in sorted(marks, key=lambda mark: mark[1]):
        if at - last < nearer_than:
            found[last].append(label)
        else:
            found[at] = [label]
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
