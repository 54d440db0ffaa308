"""How every figure of simrep looks, without touching the settings of the caller.

Figures are built as objects and never registered with pyplot: no window, no backend, nothing to
close. Settings apply only inside :func:`styled`.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

from matplotlib import rc_context, rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogFormatter,
    LogFormatterMathtext,
    LogLocator,
    NullLocator,
)

from simrep.files import whole_file
from simrep.measure.units import number
from simrep.printable import printable, shorten

__all__ = ["GREY", "INK", "LIMIT", "MARKERS", "PALETTE", "SHADE", "VERDICTS", "Sheet", "colour",
           "decade_ticks", "dots", "entry", "figure_scale", "folded", "line_label", "line_width",
           "logarithmic", "marker", "plain_text", "row_axis", "save", "styled", "thousands",
           "value_ticks"]  # fmt: skip

# Okabe and Ito's set for all kinds of colour vision (https://jfly.uni-koeln.de/color/), without
# its yellow, which is too pale for lines on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")  # series differ in shape too, for grey prints
GREY = "#6B7280"
INK = "#1F2937"
_FAR_APART = 4.0  # figures whose range is wider are on a logarithmic axis
VERDICTS = {"met": PALETTE[2], "open": GREY, "failed": PALETTE[1]}
"""Colours of what meets an objective, may meet it, and does not."""
LIMIT: dict[str, Any] = {"color": PALETTE[1], "linewidth": 1.2, "linestyle": (0, (2, 2))}
SHADE: dict[str, Any] = {"color": PALETTE[4], "alpha": 0.22, "linewidth": 0}
"""The line of a limit, and what is shaded between two places of an axis."""

_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelpad": 6.0,
    "axes.labelsize": 11.0,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 10.0,
    "axes.titlesize": 12.0,
    "axes.titleweight": "bold",
    "figure.dpi": 100.0,
    "figure.titlesize": 14.0,
    "figure.titleweight": "bold",
    "font.size": 10.5,
    "grid.color": "#E5E7EB",
    "grid.linewidth": 0.8,
    "legend.fontsize": 10.0,
    "legend.frameon": False,
    "legend.title_fontsize": 10.0,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.5,
    "savefig.dpi": 160.0,
    "text.color": INK,
    "text.parse_math": False,  # a name with dollars is no formula
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
}  # fmt: skip

_LONG_LABEL = 24  # characters
_PER_INCH = 8  # characters of a headline
_JOINED = "\N{NO-BREAK SPACE}"

# Everything in these groups that a user's own matplotlibrc could change about a figure.
_GROUPS = {
    *("axes", "figure", "font", "grid", "legend", "lines"),
    *("mathtext", "patch", "savefig", "text", "xtick", "ytick"),
}
_NOT_STYLE = {"figure.max_open_warning", "savefig.directory"}
_DEFAULTS: dict[str, Any] = {
    key: value
    for key, value in rcParamsDefault.items()
    if key.split(".")[0] in _GROUPS and key not in _NOT_STYLE
}


@contextmanager
def styled() -> Iterator[None]:
    """The style of simrep inside, matplotlib as it was outside."""
    settings: Any = _DEFAULTS | _SETTINGS
    with rc_context(settings):
        yield


class Sheet(Figure):
    """A matplotlib figure that keeps its style when drawn and shows itself in a notebook.

    Parameters
    ----------
    width, height : float
        Size in inches.
    """

    def __init__(self, width: float, height: float) -> None:
        layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1, wspace=0.05)
        super().__init__(figsize=(width, height), layout=layout)

    def headline(self, words: str) -> None:
        """Write a title at the left edge, if there are words."""
        if words:
            most = int(_PER_INCH * self.get_figwidth())
            lines = [shorten(line, most) for line in printable(words).split("\n")]
            self.suptitle("\n".join(lines), x=0.012, ha="left")

    def draw(self, renderer: Any) -> None:
        """Draw as matplotlib does; numbers of a logarithmic axis are no formulas either."""
        for axes in self.axes:
            for axis in (axes.xaxis, axes.yaxis):
                if isinstance(own := axis.get_major_formatter(), LogFormatterMathtext):
                    axis.set_major_formatter(_LogNumbers.like(own))
                if isinstance(own := axis.get_minor_formatter(), LogFormatterMathtext):
                    axis.set_minor_formatter(_LogNumbers.like(own))
        super().draw(renderer)

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """Save as matplotlib does, in the style of simrep; a file is there as a whole or not."""
        with styled():
            if not isinstance(fname, str | Path):
                super().savefig(fname, **kwargs)
                return
            path = Path(fname)
            ending = kwargs.pop("format", None) or path.suffix[1:] or rcParams["savefig.format"]
            with whole_file(path if path.suffix else path.with_suffix(f".{ending}")) as file:
                super().savefig(file, format=ending.lower(), **kwargs)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


class _LogNumbers(LogFormatter):
    """Plain numbers where matplotlib would write powers of ten as formulas."""

    @classmethod
    def like(cls, other: LogFormatter) -> _LogNumbers:
        """At the same ticks."""
        how: Any = vars(other)
        return cls(how["_base"], how["labelOnlyBase"], how["minor_thresholds"])

    def __call__(self, x: float, pos: int | None = None) -> str:
        return plain_text(x) if super().__call__(x, pos) else ""


def save(figure: Sheet, path: str | Path | None) -> Sheet:
    """Write the figure if there is a path; the ending of its name chooses the format."""
    if path is not None:
        figure.savefig(Path(path))
    return figure


def colour(index: int) -> str:
    """Colour of the series with this number."""
    return PALETTE[index % len(PALETTE)]


def marker(index: int) -> str:
    """Shape of the points of the series with this number; with its colour, that of no other."""
    return MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]


def line_width(index: int, count: int) -> float:
    """Of one line among so many: the later ones are thinner, so that those below are seen."""
    return max(0.8, 3.2 * 0.75**index) if count > 1 else 2.0


def dots(shade: str, *, hollow: bool, marker: str = "o") -> dict[str, Any]:
    """Points without a line, hollow or full."""
    inside = "white" if hollow else shade
    return {"linestyle": "none", "marker": marker, "color": shade, "markerfacecolor": inside}


def entry(name: object) -> str:
    """A name as an entry of a legend; matplotlib leaves out those that begin with an underscore.

    >>> entry("_one"), entry("two")
    (' _one', 'two')
    """
    text = printable(str(name))
    return f" {text}" if text.startswith("_") else text


def line_label(name: str, longest: int = 44) -> str:
    """A name as it stands at an axis, line by line: a long one without its middle."""
    return "\n".join(shorten(line, longest) for line in printable(name).split("\n"))


def folded(words: str, width: int) -> str:
    r"""A label in lines; its unit stays with the last word.

    >>> folded("time for all transactions (s)", 26)
    'time for all\ntransactions (s)'
    """
    joined = words.replace(" (", _JOINED + "(")
    return fill(joined, width).replace(_JOINED, " ")


def row_axis(axes: Axes, labels: Collection[str], *, room: float = 0.5, **text: Any) -> None:
    """Make the y axis one of rows from top to bottom, with so much room around the outer ones."""
    axes.set_yticks(range(len(labels)), labels=list(map(line_label, labels)), **text)
    axes.set_ylim(len(labels) - room, room - 1.0)
    axes.grid(visible=False, axis="y")


def logarithmic(axis: Axis, words: str = "") -> None:
    """Make an axis logarithmic, with plain numbers; its label says so, inner panels have none."""
    axes = axis.axes
    (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(plain_text))
    if words:
        between = ",\n" if len(words) > _LONG_LABEL else ", "
        axis.set_label_text(f"{words}{between}logarithmic")


def value_ticks(axis: Axis, values: list[float]) -> None:
    """Ticks exactly at the values that were run, such as 1, 4, 8, 16 threads."""
    axis.set_major_locator(FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(plain_text))


def thousands(axis: Axis) -> None:
    """Plain numbers on a linear axis, their thousands separated."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def plain_text(value: float, _: object = None) -> str:
    """A number as it stands at a tick: 0.05, 64, 1,048,576."""
    return f"{value:g}" if abs(value) < 1000 else number(value)


def figure_scale(
    axis: Axis, low: float, high: float, words: str = "", *, sparse_from: float = 3000.0
) -> None:
    """The axis of figures from ``low`` to ``high``: from 0 on; logarithmic if they are far apart.

    Its label is ``words``; of more than ``sparse_from`` times its begin, only decades have ticks.
    """
    limits = axis.axes.set_xlim if axis is axis.axes.xaxis else axis.axes.set_ylim
    if low > 0.0 and high > _FAR_APART * low:
        low, high = low / 1.2, high * 1.2
        logarithmic(axis, words)
        limits(low, high)
        decade_ticks(axis, low, high, sparse_from=sparse_from)
    else:
        axis.set_label_text(words)
        limits(1.1 * min(low, 0.0), 1.1 * high or 1.0)


def decade_ticks(axis: Axis, low: float, high: float, *, sparse_from: float = 3000.0) -> None:
    """Plain numbers on a logarithmic axis: 0.1, 1, 10, or 1, 2, 5 when it spans little."""
    steps = (1, 2, 5) if high / low < sparse_from else (1,)
    ticks = [step * 10.0**power for power in range(-9, 13) for step in steps]
    value_ticks(axis, [tick for tick in ticks if low <= tick <= high])
