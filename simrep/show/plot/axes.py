"""Axes of figures: latencies, times since an instant, values of a scenario by their names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from simrep.measure.units import describe

__all__ = ["Since", "latency_axis", "path_label"]

_LEAST_S = 1e-6
_FAR_APART = 20.0
_STEPS: tuple[tuple[float, ...], ...] = ((1, 2, 5), (1, 3), (1,))  # ticks per decade, fewer if many
_UNITS = ((10.0, 1.0, "s"), (5e-4, 1e3, "ms"), (0.0, 1e6, "us"))
_PRODUCTS_OWN = ("cluster.options.", "cluster.costs.")
_SAID = {"rtt_ms": "round trip (ms)", "rate_tps": "arrivals per second"}


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


@dataclass(frozen=True, slots=True)
class Since:
    """How times become places on an axis.

    Attributes
    ----------
    origin_s : float
        The instant, in simulated seconds.
    per_second : float
        Units in a second.
    unit : str
        ``s``, ``ms`` or ``us``.
    """

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
    return short


def _short(path: str) -> str:
    for table in _PRODUCTS_OWN:
        if path.startswith(table):
            return path.removeprefix(table).strip("\"'")
    last = path.rpartition(".")[2]
    return _SAID.get(last, describe(last))
