"""A view change in time and space: messages between the lines of nodes, and what these noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from simrep.runs.incidents import faults_of
from simrep.scenario.events import within
from simrep.show.plot.axes import Since, draw_marks
from simrep.show.plot.events import EVENT
from simrep.show.plot.style import GREY, INK, PALETTE, Sheet, row_axis
from simrep.show.plot.why.arrows import OWN, draw_arrows, is_upright, label_arrows
from simrep.show.views import plot
from simrep.why.commit import Transmission
from simrep.why.window import WindowExplanation

__all__ = ["plot_window"]

_WIDTH = 13.3  # inches: that of a slide
_PANEL = 12.0
_ROW, _MOST_HEIGHT = 1.15, 6.0  # inches
_STRIP = 0.44  # half the height of what is shaded around the line of a node
_TOP = 0.985
_FIRST = 1e-6  # the place of the first line; arrows from 0 keep clear of what is shaded there
_NEAR = 0.012  # of the width: messages that are nearer share a name
_NOTED = {
    "suspect": ("^", PALETTE[1], "suspects"),
    "stable": ("|", INK, "new view"),
    "primary": ("o", PALETTE[2], "primary component"),
    "non-primary": ("X", PALETTE[1], "no primary component"),
    "link-closed": ("x", GREY, "link lost"),
    "link-open": ("+", GREY, "link open"),
    "synced": ("D", PALETTE[2], "synced"),
}


@plot.register(WindowExplanation)
def plot_window(window: WindowExplanation) -> Sheet:
    """Draw the messages as arrows between the nodes, and the lines of the time line on these."""
    count = len(window.nodes)
    figure = Sheet(_WIDTH, min(_MOST_HEIGHT, _ROW * (count + 1.0)) + 1.6)
    axes = figure.subplots()
    since = Since.fitting(window.from_s, window.until_s)
    lines = {node: node or _FIRST for node in range(count)}
    row_axis(axes, window.nodes)
    for line in lines.values():
        axes.axhline(line, color=GREY, linewidth=1.0, zorder=1)
    # The room above the first line is that of the names.
    axes.set_ylim(count - 0.4, -1.35)
    axes.set_xlim(since(window.from_s), since(window.until_s))
    axes.set_xlabel(f"time since {window.from_s:.3f} s ({since.unit})")
    _draw_happened(axes, window, since)
    draw_arrows(axes, window.messages, lines, since)
    handles = [Line2D([], [], color=OWN, linewidth=1.3, label="message between the servers")]
    handles += _draw_notes(axes, window, since)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    name = window.scenario.get("name")
    figure.headline(f"{name}: {window.title}" if name else window.title)
    figure.draw_without_rendering()  # from here on it is known where everything is
    upright = [one for one in window.messages if is_upright(axes, one, lines, since)]
    if 2 * len(upright) > len(window.messages):
        draw_marks(axes, _names(axes, window.messages, since), width_in=_PANEL, top=_TOP)
    else:
        label_arrows(axes, window.messages, lines, since, [])
    return figure


def _draw_happened(axes: Axes, window: WindowExplanation, since: Since) -> list[Text]:
    """Shade the lines of nodes while something happens to them."""
    texts = []
    for event in within(faults_of(window.scenario), window.from_s, window.until_s):
        began = since(max(event.at_s, window.from_s))
        ended = since(min(event.until_s, window.until_s)) if event.lasts else began
        for name in event.nodes:
            row = window.nodes.index(name)
            corner, width = (began, row - _STRIP), ended - began
            axes.add_patch(Rectangle(corner, width, 2 * _STRIP, zorder=0.5, **EVENT))
            axes.vlines(began, row - _STRIP, row + _STRIP, colors=GREY, linewidth=1.0, zorder=1)
            texts.append(
                axes.text(began, row + _STRIP, f" {event.what}", va="bottom", fontsize=8.5,
                          color=INK, zorder=6, clip_on=True, in_layout=False)
            )  # fmt: skip
    return texts


def _draw_notes(axes: Axes, window: WindowExplanation, since: Since) -> list[Line2D]:
    """A mark for each line, on the line of its node; returns what the legend explains."""
    places = {name: place for place, name in enumerate(window.nodes)}
    handles = []
    for what, (marker, shade, label) in _NOTED.items():
        noted = [line for line in window.lines if line.what == what]
        if noted:
            points = [since(line.at_s) for line in noted], [places[line.node] for line in noted]
            axes.plot(*points, marker, color=shade, markersize=9.0, markeredgewidth=1.6, zorder=6)
            handles.append(Line2D([], [], color=shade, marker=marker, markersize=9.0,
                                  markeredgewidth=1.6, linestyle="none", label=label))  # fmt: skip
    return handles


def _names(
    axes: Axes, messages: Sequence[Transmission], since: Since
) -> Iterable[tuple[str, float]]:
    """What is sent at about the same time, with how many of each kind, by its place."""
    low, high = axes.get_xlim()
    groups: list[tuple[float, Counter[str]]] = []
    for one in sorted(messages, key=lambda one: one.sent_s):
        at = since(one.sent_s)
        if not groups or at - groups[-1][0] > _NEAR * (high - low):
            groups.append((at, Counter()))
        groups[-1][1][one.label] += 1
    for at, kinds in groups:
        said = (label if times == 1 else f"{times} x {label}" for label, times in kinds.items())
        yield ", ".join(said), at
