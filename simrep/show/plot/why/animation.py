"""One transaction as a film: messages travel between the nodes while a clock runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from simrep.measure.units import duration
from simrep.scenario.events import events, within
from simrep.show.plot.axes import Since
from simrep.show.plot.breakdown import STAGE_COLOURS, ink_on, stage_hatch
from simrep.show.plot.style import INK, Sheet
from simrep.show.plot.why.arrows import CRITICAL, FOREIGN, MOST_FOREIGN, OWN
from simrep.show.plot.why.film import Film, make_film
from simrep.show.plot.why.ring import Moving, Ring
from simrep.show.views import animate
from simrep.why.commit import CommitStage, Explanation

__all__ = ["Scene", "animate_explanation", "film_times"]

_STILL, _OTHERS = 0.25, 0.6  # lengths of a second in which nothing moves, or only what is pale
_SEEN = 3.0  # frames for the shortest flight of a message
_FOR_SHORT = 0.5  # of the frames may go to such flights
_HELD = 0.08  # of the frames show the end

_GLYPH = 0.0105  # of the bar: width of a character of a name in it
_REASON = 90  # characters


class Scene:
    """Any instant of a transaction, on an empty figure: its nodes, the messages between them."""

    def __init__(self, explanation: Explanation, figure: Sheet) -> None:
        figure.set_layout_engine("none")  # nothing may move but the messages
        self._explanation = explanation
        self._since = Since.fitting(explanation.started_s, explanation.until_s)
        self._ring = Ring(figure.add_axes((0.02, 0.26, 0.96, 0.60)), explanation.nodes,
                          explanation.node)  # fmt: skip
        self._bar = figure.add_axes((0.04, 0.11, 0.92, 0.07))
        figure.text(0.02, 0.965, explanation.title, fontsize=12.5, fontweight="bold", va="top")
        self._clock = figure.text(0.98, 0.965, "", fontsize=14, fontweight="bold", va="top",
                                  ha="right", fontfamily="monospace")  # fmt: skip
        self._state = figure.text(0.02, 0.895, "", fontsize=10, va="top")
        foreign = [one for one in explanation.messages if not (one.own or one.critical)]
        self._hidden = set() if len(foreign) <= MOST_FOREIGN else {one.number for one in foreign}
        self._foreign = self._ring.dots(color=FOREIGN, markersize=5, zorder=3)
        self._own = self._ring.dots(color=OWN, markersize=8, zorder=4)
        self._critical = self._ring.dots(color=CRITICAL, markersize=11, markeredgecolor=INK,
                                         zorder=5)  # fmt: skip
        self._draw_bar(self._bar)
        until_s = explanation.until_s
        self._happened = within(events(explanation.scenario), explanation.started_s, until_s)

    def _draw_bar(self, axes: Axes) -> None:
        """All stages on a time axis; what is to come is veiled."""
        explanation, since = self._explanation, self._since
        end = since(explanation.until_s) or 1.0
        for stage in explanation.stages:
            began, width = since(stage.began_s), since(stage.ended_s) - since(stage.began_s)
            axes.barh(0, width, left=began, height=1.0, color=STAGE_COLOURS[stage.name],
                      edgecolor="white", linewidth=0.0, hatch=stage_hatch(stage.name))  # fmt: skip
            if width > _GLYPH * len(stage.name) * end:
                axes.text(began + width / 2, 0, stage.name, color=ink_on(stage.name), fontsize=9,
                          fontweight="bold", ha="center", va="center")  # fmt: skip
        axes.set_xlim(0.0, end)
        axes.set_ylim(-0.5, 0.5)
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"time since the transaction began ({since.unit})")
        self._veil = Rectangle((0.0, -0.5), end, 1.0, color="white", alpha=0.75, zorder=4)
        axes.add_patch(self._veil)
        self._hand = axes.axvline(0.0, color=INK, linewidth=2.0, zorder=5)

    def show(self, time_s: float) -> None:
        """Move everything to where it is at that simulated second."""
        since, end = self._since, self._bar.get_xlim()[1]
        now = since(time_s)
        self._clock.set_text(f"{now:{'.0f' if end >= 1000 else '.1f'}} {since.unit}")
        self._veil.set_bounds(now, -0.5, max(end - now, 0.0), 1.0)
        self._hand.set_xdata([now, now])
        self._tell_state(time_s)
        for node, text in self._ring.doings.items():
            if node != self._explanation.node:
                text.set_text(self._doing(node, time_s))
            if happens := self._happens(node, time_s):
                text.set_text(f"{happens}\n{text.get_text()}".rstrip())
        self._ring.move(self._moving(time_s))

    def _happens(self, node: int, time_s: float) -> str:
        """What of the scenario lasts at a node."""
        name = self._explanation.nodes[node]
        return "\n".join(
            event.what
            for event in self._happened
            if name in event.nodes and event.at_s <= time_s < event.until_s
        )

    def _tell_state(self, time_s: float) -> None:
        explanation = self._explanation
        stage = self._stage(time_s)
        if stage is None:
            after = f"answered after {duration(explanation.latency_s)}"
            colour, short, long = INK, "committed", after
        else:
            colour, short, long = STAGE_COLOURS[stage.name], stage.name, stage.name
            if stage.reason:
                long = f"{stage.name}: {stage.reason}"
        self._ring.discs[explanation.node].set_color(colour)
        self._ring.doings[explanation.node].set_text(short)
        self._ring.doings[explanation.node].set_fontweight("bold")
        self._state.set_text(long if len(long) <= _REASON else f"{long[: _REASON - 3]}...")

    def _stage(self, time_s: float) -> CommitStage | None:
        """The one that the transaction is in; none when it has been answered."""
        stages = self._explanation.stages
        return next((one for one in stages if one.began_s <= time_s < one.ended_s), None)

    def _doing(self, node: int, time_s: float) -> str:
        """What a node does for the transaction, its latest work if there is more than one."""
        found = [
            one
            for one in self._explanation.activities
            if one.own and one.node == node and one.began_s <= time_s < one.ended_s
        ]
        return f"{found[-1].station}:\n{found[-1].what}" if found else ""

    def _moving(self, time_s: float) -> Iterator[Moving]:
        """Messages on their way; those of the transaction have their names."""
        for one in self._explanation.messages:
            if one.number in self._hidden or not one.sent_s <= time_s < one.arrived_s:
                continue
            line = self._critical if one.critical else self._own if one.own else self._foreign
            way = (time_s - one.sent_s) / (one.arrived_s - one.sent_s)
            yield one, way, line, line is not self._foreign


@animate.register(Explanation)
def animate_explanation(
    explanation: Explanation, path: str | Path | None = None, *, seconds: float = 12.0
) -> Film:
    """Show the messages on their way between the nodes, and what the transaction waits for.

    The film is slow while a message of the transaction travels and fast while none does; its clock
    shows simulated time.
    """
    return make_film(
        lambda figure: Scene(explanation, figure),
        lambda frames: film_times(explanation, frames).tolist(),
        path,
        seconds,
    )


def film_times(explanation: Explanation, frames: int) -> NDArray[np.float64]:
    """Simulated seconds of at least 2 frames, ascending, from the begin of the transaction."""
    began_s, until_s = explanation.started_s, explanation.until_s
    held = round(_HELD * frames)
    moving = frames - held
    flights = [
        (max(one.sent_s, began_s), min(one.arrived_s, until_s), one.own or one.critical)
        for one in explanation.messages
        if one.sent_s < until_s and one.arrived_s > began_s  # not what never arrives
    ]
    own = [(sent_s, arrived_s) for sent_s, arrived_s, shown in flights if shown]
    edges = np.unique([began_s, until_s, *(edge for flight in own for edge in flight)])
    middles, spans_s = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    busy = np.array([any(a < at < b for a, b in own) for at in middles])
    others = np.array([any(a < at < b for a, b, _ in flights) for at in middles])
    weights = spans_s * np.where(busy, 1.0, np.where(others, _OTHERS, _STILL))
    lengths = moving * weights / weights.sum()
    least = min(_SEEN, _FOR_SHORT * moving / max(1, int(busy.sum())))
    lengths = np.where(busy, np.maximum(lengths, least), lengths)
    at = np.concatenate(([0.0], np.cumsum(lengths)))
    times = np.interp(np.linspace(0.0, at[-1], moving), at, edges)
    return np.concatenate((times, np.full(held, until_s)))
