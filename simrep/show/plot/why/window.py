"""A view change in time and space: messages between the lines of nodes, and what these noted."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from simrep.measure.units import duration
from simrep.runs.incidents import faults_of
from simrep.scenario.events import within
from simrep.show.plot.axes import Since, draw_marks
from simrep.show.plot.events import EVENT
from simrep.show.plot.style import GREY, INK, PALETTE, Sheet, row_axis
from simrep.show.plot.why.arrows import OWN, draw_arrows, label_arrows
from simrep.show.views import plot
from simrep.why.commit import Transmission
from simrep.why.window import WindowExplanation

__all__ = ["NOTED", "plot_window"]

_WIDTH = 13.3  # inches: that of a slide
_PANEL = 12.0
_ROW, _MOST_HEIGHT = 1.15, 6.0  # inches
_STRIP = 0.44  # half the height of what is shaded around the line of a node
_TOP = 0.985
_FIRST = 1e-6  # the place of the first line; arrows from 0 keep clear of what is shaded there
_LETTERS = "ABC"
_MOST_BURSTS = len(_LETTERS)
_APART, _SHORT = 0.005, 0.2  # of the time that is shown: between bursts, and all of them together
NOTED = {
    "suspect": ("^", PALETTE[1], "suspects"),
    "evicts": ("v", PALETTE[1], "evicts"),
    "expel": ("v", PALETTE[1], "asks to remove"),
    "wave": ("s", PALETTE[3], "decides for the silent"),
    "stable": ("|", INK, "new view"),
    "primary": ("o", PALETTE[2], "primary component"),
    "non-primary": ("X", PALETTE[1], "no primary component"),
    "writable": ("*", PALETTE[0], "takes writes"),
    "link-closed": ("x", GREY, "link lost"),
    "link-open": ("+", GREY, "link open"),
    "synced": ("D", PALETTE[2], "synced"),
}


@plot.register(WindowExplanation)
def plot_window(window: WindowExplanation) -> Sheet:
    """Draw the messages as arrows between the nodes, and the lines of the time line on these.

    Where messages come in bursts that are short beside the time that is shown, these are drawn
    once more below, each on a time axis of its own.
    """
    count = len(window.nodes)
    height = min(_MOST_HEIGHT, _ROW * (count + 0.4))
    bursts = _bursts(window)
    figure = Sheet(_WIDTH, height * (1.75 if bursts else 1.0) + 1.9)
    grid = figure.add_gridspec(2 if bursts else 1, max(1, len(bursts)),
                               height_ratios=[0.75, 1.0] if bursts else [1.0])  # fmt: skip
    whole = figure.add_subplot(grid[0, :])
    handles = _draw(whole, window, window.from_s, window.until_s)
    panels = [figure.add_subplot(grid[1, place]) for place in range(len(bursts))]
    for axes, letter, (began_s, ended_s) in zip(panels, _LETTERS, bursts, strict=False):
        margin_s = 0.08 * (ended_s - began_s)
        _draw(axes, window, began_s - margin_s, ended_s + margin_s)
        axes.set_title(f"{letter}: {duration(ended_s - began_s)} from {began_s:.4f} s on")
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    name = window.scenario.get("name")
    figure.headline(f"{name}: {window.title}" if name else window.title)
    if bursts:
        since = Since.fitting(window.from_s, window.until_s)
        marks = [(letter, since(began_s))
                 for letter, (began_s, _) in zip(_LETTERS, bursts, strict=False)]  # fmt: skip
        draw_marks(whole, marks, width_in=_PANEL, top=_TOP)
    figure.draw_without_rendering()  # from here on it is known where everything is
    for axes, (began_s, ended_s) in zip(panels, bursts, strict=True):
        margin_s = 0.08 * (ended_s - began_s)
        _label(axes, window, began_s - margin_s, ended_s + margin_s)
    if not bursts:
        _label(whole, window, window.from_s, window.until_s)
    return figure


def _lines(window: WindowExplanation) -> dict[int, float]:
    return {node: node or _FIRST for node in range(len(window.nodes))}


def _shown(window: WindowExplanation, from_s: float, until_s: float) -> list[Transmission]:
    return [one for one in window.messages if from_s <= one.sent_s <= until_s]


def _draw(axes: Axes, window: WindowExplanation, from_s: float, until_s: float) -> list[Line2D]:
    """A part of the time; returns what the legend explains."""
    since = Since.fitting(from_s, until_s)
    lines = _lines(window)
    row_axis(axes, window.nodes)
    for line in lines.values():
        axes.axhline(line, color=GREY, linewidth=1.0, zorder=1)
    axes.set_ylim(len(lines) - 0.45, -0.7)
    axes.set_xlim(since(from_s), since(until_s))
    axes.set_xlabel(f"time since {from_s:.4f} s ({since.unit})")
    _draw_happened(axes, window, since, from_s, until_s)
    draw_arrows(axes, _shown(window, from_s, until_s), lines, since)
    own = Line2D([], [], color=OWN, linewidth=1.3, label="message between the servers")
    return [own, *_draw_notes(axes, window, since, from_s, until_s)]


def _label(axes: Axes, window: WindowExplanation, from_s: float, until_s: float) -> None:
    """Name the messages, where there is room."""
    since = Since.fitting(from_s, until_s)
    label_arrows(axes, _shown(window, from_s, until_s), _lines(window), since, [])


def _bursts(window: WindowExplanation) -> list[tuple[float, float]]:
    """When messages follow each other closely, if that is short beside what is shown."""
    apart_s = _APART * (window.until_s - window.from_s)
    bursts: list[list[float]] = []
    texts: list[list[str]] = []
    for one in sorted(window.messages, key=lambda one: one.sent_s):
        end_s = one.arrived_s if isfinite(one.arrived_s) else one.sent_s
        if bursts and one.sent_s - bursts[-1][1] < apart_s:
            bursts[-1][1] = max(bursts[-1][1], end_s)
            texts[-1].append(one.label)
        else:
            bursts.append([one.sent_s, end_s])
            texts.append([one.label])
    short = sum(end_s - began_s for began_s, end_s in bursts)
    if not bursts or short > _SHORT * (window.until_s - window.from_s):
        return []
    return [(bursts[place][0], bursts[place][1]) for place in sorted(_telling(texts))]


def _telling(texts: Sequence[Sequence[str]]) -> list[int]:
    """Which bursts say most that others do not say; of those that say as much, the largest."""
    told: set[str] = set()
    chosen: list[int] = []
    while len(chosen) < min(_MOST_BURSTS, len(texts)):
        left = (place for place in range(len(texts)) if place not in chosen)
        new = max(left, key=lambda place: (len({*texts[place]} - told), len(texts[place])))
        chosen.append(new)
        told.update(texts[new])
    return chosen


def _draw_happened(
    axes: Axes, window: WindowExplanation, since: Since, from_s: float, until_s: float
) -> None:
    """Shade the lines of nodes while something happens to them."""
    for event in within(faults_of(window.scenario), from_s, until_s):
        began = since(max(event.at_s, from_s))
        ended = since(min(event.until_s, until_s)) if event.lasts else began
        for name in event.nodes:
            row = window.nodes.index(name)
            corner, width = (began, row - _STRIP), ended - began
            axes.add_patch(Rectangle(corner, width, 2 * _STRIP, zorder=0.5, **EVENT))
            axes.vlines(began, row - _STRIP, row + _STRIP, colors=GREY, linewidth=1.0, zorder=1)
            axes.text(began, row + _STRIP, f" {event.what}", va="bottom", fontsize=8.5,
                      color=INK, zorder=6, clip_on=True, in_layout=False)  # fmt: skip


def _draw_notes(
    axes: Axes, window: WindowExplanation, since: Since, from_s: float, until_s: float
) -> list[Line2D]:
    """A mark for each line, on the line of its node; returns what the legend explains."""
    places = {name: place for place, name in enumerate(window.nodes)}
    handles: list[Line2D] = []
    told = [line for line in window.lines if line.node in places]
    for what, (marker, shade, label) in NOTED.items():
        lines = [line for line in told if line.what == what]
        noted = [line for line in lines if from_s <= line.at_s <= until_s]
        if noted:
            points = [since(line.at_s) for line in noted], [places[line.node] for line in noted]
            axes.plot(*points, marker, color=shade, markersize=9.0, markeredgewidth=1.6, zorder=6)
            handles.append(Line2D([], [], color=shade, marker=marker, markersize=9.0,
                                  markeredgewidth=1.6, linestyle="none",
                                  label=window.terms.get(what, label)))  # fmt: skip
    return handles
