"""What a scenario lets happen, marked on an axis of time: one look for all pictures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes

from simrep.scenario.events import Event
from simrep.show.plot.axes import draw_marks
from simrep.show.plot.style import GREY, PALETTE

__all__ = ["EVENT", "draw_events"]

EVENT: dict[str, Any] = {"facecolor": GREY, "alpha": 0.16, "linewidth": 0}
"""What is shaded while something lasts."""


def draw_events(
    axes: Axes,
    events: Sequence[Event],
    marks: Iterable[tuple[str, float]] = (),
    *,
    place: Callable[[float], float] = float,
    causes: Collection[Event] = (),
    **room: float,
) -> float:
    """Shade what lasts, and name everything where it begins, together with other marks.

    Returns the height of the names in inches.

    Parameters
    ----------
    axes : Axes
        Its horizontal limits are final.
    events : sequence of Event
        Those outside the limits are left out.
    marks : iterable of (str, float)
        What else is to be marked, by its place on the axis.
    place : callable
        The place of a simulated second on the axis.
    causes : collection of Event
        Those that are shaded in another colour.
    **room : float
        Of ``draw_marks``.
    """
    low, high = axes.get_xlim()
    named = list(marks)
    for event in events:
        began, ended = place(event.at_s), place(event.until_s) if event.lasts else None
        if began > high or (began if ended is None else ended) < low:
            continue
        look = EVENT | {"facecolor": PALETTE[1]} if event in causes else EVENT
        if ended is not None:
            axes.axvspan(max(began, low), min(ended, high), ymax=room["top"], zorder=0.5, **look)
        named.append((event.what, max(began, low)))
    return draw_marks(axes, named, **room)
