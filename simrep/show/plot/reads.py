"""What a consistency of reads costs, as a picture: latency against how stale reads are.

A panel for each load: above, what 95 % of the reads take; below, what 95 % of the writes do. Each
level is a line from the shortest round trip to the longest. Left of the axis of ages is a strip
for what never was stale, in which every level has a place of its own.
"""

from __future__ import annotations

from math import log10
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullLocator,
)

from simrep.measure.units import duration
from simrep.show.plot.style import GREY, INK, MARKERS, PALETTE, Sheet, logarithmic
from simrep.show.views import plot
from simrep.whatif.plan.reads import ReadCell, Reads

__all__ = ["plot_reads"]

_STRIP = 1.0  # width of the strip, in decades of the axis of ages
_SIZES = (4.5, 7.0, 9.5, 12.0)  # of the dots: the longer the round trip, the larger
_APART = 0.08  # decades between shares that can be read
_PER_INCH = 12  # characters of a line below the panels
_LEAST_S = 1e-5  # ages below a hundredth of a millisecond are the same to everybody


@plot.register(Reads)
def plot_reads(answer: Reads) -> Sheet:
    """Draw latencies of reads and of writes against the ages of stale reads."""
    loads = sorted({cell.load for cell in answer.cells})
    rtts = sorted({cell.rtt_ms or 0.0 for cell in answer.cells})
    ages = [max(cell.age_s, _LEAST_S) for cell in answer.cells if cell.stale.reads]
    first = round(log10(min(ages, default=1e-3)) - 0.4, 1)
    last = max(round(log10(max(ages, default=1e-3)) + 0.4, 1), first + 1.0)
    figure = Sheet(3.0 + 3.1 * len(loads), 7.4)
    panels = figure.subplots(2, len(loads), sharex=True, sharey="row", squeeze=False)
    for column, load in enumerate(loads):
        for row, what in enumerate(("reads", "writes")):
            axes = panels[row, column]
            for position, level in enumerate(answer.levels):
                own = [c for c in answer.cells if c.level.name == level.name and c.load == load]
                own.sort(key=lambda cell: cell.rtt_ms or 0.0)
                place = first - _STRIP * (len(answer.levels) - position) / (len(answer.levels) + 1)
                _line(axes, own, what, position, place, rtts)
            axes.axvline(first, color=GREY, linewidth=0.8)
            logarithmic(axes.yaxis, f"95 % of the {what} take at most" if column == 0 else "")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
            axes.set_xlim(first - _STRIP, last)
        words = next(cell.writers for cell in answer.cells if cell.load == load)
        panels[0, column].set_title(words)
        _ages(panels[1, column], first, last)
    trips = ", ".join(f"{rtt:g}" for rtt in rtts)
    said = "Along: 95 % of the stale reads are at most so old, logarithmic"
    if len(rtts) > 1:
        said += f". The larger a dot, the farther the nodes: {trips} ms"
    words = "\n".join(wrap(said, int(_PER_INCH * figure.get_figwidth())))
    handles, names = panels[0, 0].get_legend_handles_labels()
    columns = len(names) if len(loads) > 1 else 2
    figure.legend(handles, names, loc="outside lower center", ncols=columns, title=words)
    figure.headline(answer.question.partition(":")[0])
    return figure


def _line(
    axes: Axes,
    cells: list[ReadCell],
    what: str,
    position: int,
    place: float,
    rtts: list[float],
) -> None:
    """One level under one load, over the round trip."""
    colour, sign = PALETTE[position % len(PALETTE)], MARKERS[position % len(MARKERS)]
    known = [cell for cell in cells if getattr(cell, what).count]
    x = [log10(max(c.age_s, _LEAST_S)) if c.stale.reads else place for c in known]
    y = [getattr(cell, what).percentile(95.0) for cell in known]
    label = known[0].level.name if known else None
    told: list[float] = []  # places with a share
    axes.plot(x, y, color=colour, linewidth=1.4, zorder=2)
    for cell, at, high in zip(known, x, y, strict=True):
        size = _SIZES[min(rtts.index(cell.rtt_ms or 0.0), len(_SIZES) - 1)]
        axes.plot([at], [high], sign, color=colour, markersize=size, markeredgecolor="white",
                  markeredgewidth=0.6, zorder=3, label=label)  # fmt: skip
        label = None
        if what == "reads" and cell.stale.reads and all(abs(at - one) > _APART for one in told):
            told.append(at)
            share = f"{100.0 * cell.stale.share:.2g} % stale"
            axes.annotate(share, (at, high), xytext=(0, 10), textcoords="offset points",
                          ha="center", va="bottom", rotation=90, fontsize=8, color=INK)  # fmt: skip


def _ages(axes: Axes, first: float, last: float) -> None:
    """The axis of ages: whole decades, and a word for the strip."""
    steps = (1.0,) if last - first > 1.5 else (1.0, 3.0)
    ages = [step * 10.0**power for power in range(-6, 4) for step in steps]
    ages = [age_s for age_s in ages if first < log10(age_s) < last]
    places = [first - _STRIP / 2.0, *map(log10, ages)]
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_minor_locator(NullLocator())
    names = ["never\nstale", *map(duration, ages)]
    axes.xaxis.set_major_formatter(FixedFormatter(names))
