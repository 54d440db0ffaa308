"""A horizontal axis of latencies: logarithmic where they are far apart, with units at its ticks."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

__all__ = ["latency_axis"]

_LEAST_S = 1e-6
_FAR_APART = 20.0
_STEPS: tuple[tuple[float, ...], ...] = ((1, 2, 5), (1, 3), (1,))  # ticks per decade, fewer if many


def latency_axis(axes: Axes, low_s: float, high_s: float, *, ticks: int = 6) -> None:
    """Make the x axis one of latencies between two, in seconds.

    Parameters
    ----------
    axes : Axes
    low_s, high_s : float
    ticks : int
        At most so many where it is not logarithmic.
    """
    low = max(low_s, _LEAST_S)
    if high_s > _FAR_APART * low:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.1, high_s * 1.1)
        steps = _STEPS[sum(high_s > ratio * low for ratio in (100, 3000))]
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
