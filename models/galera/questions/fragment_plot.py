"""The figure of fragment sizes: what they cost the large transaction, and everybody else."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, nan

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from simrep.modelling.figure import GREY, PALETTE, Sheet, decade_ticks, logarithmic
from simrep.modelling.questions import plot
from simrep.models.galera.questions.fragment import FragmentSize, FragmentSizes, size_text

__all__ = ["plot_fragment_sizes"]

_LINE, _LIMIT, _GOOD = PALETTE[0], PALETTE[1], PALETTE[2]
_FAR_APART = 8.0  # times whose range is wider are on a logarithmic axis
_MARGIN = 1.6  # of the size axis beyond the outermost sizes, as a factor


@plot.register(FragmentSizes)
def plot_fragment_sizes(found: FragmentSizes) -> Sheet:
    """Draw time, payload and stall over the fragment size, with the recommended range shaded."""
    if not found.sizes:
        raise ValueError("no sizes to draw")
    figure = Sheet(9.0, 9.6)
    time, payload, stall = figure.subplots(3, 1, sharex=True)
    criteria = found.criteria
    limit_s = criteria.largest_slowdown * _reference_s(found)
    _panel(time, found, lambda one: one.duration_s, limit_s, "duration_s")
    _panel(payload, found, lambda one: one.payload_share, criteria.least_payload,
           "payload_share")  # fmt: skip
    _panel(stall, found, lambda one: one.stall_s, criteria.longest_stall_s, None)
    time.set_title(f"Time of {found.transaction!r}")
    time.set_ylabel("begin to commit (s)")
    _times(time, found, limit_s)
    payload.set_title("Payload while it runs")
    payload.set_ylabel("of the rate before")
    payload.yaxis.set_major_formatter(PercentFormatter(1.0))
    stall.set_title("Longest stall of the payload")
    stall.set_ylabel("stall (s)")
    for axes in (payload, stall):
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    _size_axis(stall, found)
    handles, labels = payload.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.suptitle(found.title or "Fragment sizes", x=0.012, ha="left")
    return figure


def _reference_s(found: FragmentSizes) -> float:
    """The time that slowdowns refer to; it has none of its own where no streaming fails."""
    times = (one.duration_s / one.slowdown for one in (found.without, *found.sizes))
    return next((time for time in times if isfinite(time)), nan)


def _panel(
    axes: Axes,
    found: FragmentSizes,
    figure: Callable[[FragmentSize], float],
    limit: float,
    name: str | None,
) -> None:
    """One figure over the size; hollow points are sizes that fail somewhere."""
    at = [one.size for one in found.sizes]
    values = [figure(one) for one in found.sizes]
    if isfinite(limit):
        axes.axhline(limit, color=_LIMIT, linewidth=1.2, linestyle=(0, (2, 2)), label="limit",
                     zorder=1)  # fmt: skip
    level = figure(found.without)
    if isfinite(level):
        axes.axhline(level, color=GREY, linewidth=1.4, linestyle=(0, (6, 3)),
                     label="without streaming", zorder=1)  # fmt: skip
    axes.plot(at, values, color=_LINE, zorder=2, label="simulated")
    if name is not None and all(name in one.intervals for one in found.sizes):
        low, high = zip(*(one.intervals[name] for one in found.sizes), strict=True)
        axes.fill_between(at, low, high, color=_LINE, alpha=0.2, linewidth=0, zorder=1)
    for one, value in zip(found.sizes, values, strict=True):
        axes.plot([one.size], [value], "o", color=_LINE, zorder=3, markeredgewidth=1.4,
                  markeredgecolor=_LINE,
                  markerfacecolor=_LINE if one.recommended else "white")  # fmt: skip
    chosen = found.recommended
    if chosen:
        wide = len(chosen) == 1  # one size alone would be a line
        first, last = chosen[0].size, chosen[-1].size
        axes.axvspan(first / 1.15 if wide else first, last * 1.15 if wide else last, color=_GOOD,
                     alpha=0.16, linewidth=0, label="recommended", zorder=0)  # fmt: skip


def _times(axes: Axes, found: FragmentSizes, limit_s: float) -> None:
    """Logarithmic where sizes differ by a lot."""
    times = [limit_s, *(one.duration_s for one in (found.without, *found.sizes))]
    known = [time for time in times if time > 0.0]
    if not known:
        return
    low, high = min(known) / 1.4, max(known) * 1.4
    if high < _FAR_APART * low:
        axes.set_ylim(0, high)
        return
    logarithmic(axes.yaxis, axes.get_ylabel())
    axes.set_ylim(low, high)
    decade_ticks(axes.yaxis, low, high)


def _size_axis(axes: Axes, found: FragmentSizes) -> None:
    sizes = [one.size for one in found.sizes]
    logarithmic(axes.xaxis, f"fragment size ({found.unit})")
    axes.set_xlim(sizes[0] / _MARGIN, sizes[-1] * _MARGIN)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(sizes, labels=[size_text(size) for size in sizes])
