"""One transaction as a film: messages travel between the nodes while a clock runs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from io import BytesIO
from math import cos, hypot, inf, pi, sin
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from simrep.errors import ScenarioError
from simrep.files import whole_file, write_text
from simrep.measure.units import duration
from simrep.printable import shorten
from simrep.scenario.events import events, within
from simrep.show.plot.axes import Since
from simrep.show.plot.breakdown import STAGE_COLOURS, ink_on, stage_hatch
from simrep.show.plot.style import GREY, INK, Sheet, styled
from simrep.show.plot.why.arrows import CRITICAL, FOREIGN, MOST_FOREIGN, OWN
from simrep.show.views import animate
from simrep.why.commit import CommitStage, Explanation, Transmission

__all__ = ["Film", "Scene", "animate_explanation", "film_times"]

_WIDTH, _HEIGHT, _DPI = 9.0, 5.2, 80  # inches, dots per inch
_PER_SECOND, _FEWEST, _MOST = 8.0, 24, 120  # frames
_COLOURS = 64

_STILL, _OTHERS = 0.25, 0.6  # lengths of a second in which nothing moves, or only what is pale
_SEEN = 3.0  # frames for the shortest flight of a message
_FOR_SHORT = 0.5  # of the frames may go to such flights
_HELD = 0.08  # of the frames show the end

_FONT = re.compile(r'<link rel="stylesheet"\s+href="https://[^"]*font-awesome[^"]*">')
_SIGNS = {
    "minus": "-",
    "fast-backward": "|\u25c0",
    "step-backward": "\u25c1",
    "play": "\u25b6",
    "pause": "||",
    "step-forward": "\u25b7",
    "fast-forward": "\u25b6|",
    "plus": "+",
}
"""What stands on the buttons, without a font that a browser would have to fetch."""

_WIDE = 1.9  # the circle of the nodes is wider than it is high
_KERB = 0.05  # inches from the link to the messages on it
_INSIDE, _NAME = 5, 24  # characters of a name inside its disc, and above it
_NODE = 30.0  # points
_GLYPH = 0.0105  # of the bar: width of a character of a name in it
_INCHES = (8.64 / 5.2, 3.12 / 2.84)  # of a unit of the axes, to the right and upwards
_EDGE = 0.25  # inches from the middle of a node to where a message leaves it
_NEAR = (0.7, 0.15)  # labels that are nearer than that stand above each other
_DISC = 0.2  # labels are higher than that above the middle of a node
_MOST_LABELS = 8
_REASON = 90  # characters

Place = tuple[float, float]


class Scene:
    """Any instant of a transaction, on an empty figure: its nodes, the messages between them."""

    def __init__(self, explanation: Explanation, figure: Sheet) -> None:
        self._explanation = explanation
        self._since = Since.fitting(explanation.started_s, explanation.until_s)
        figure.set_layout_engine("none")  # nothing may move but the messages
        self._axes = figure.add_axes((0.02, 0.26, 0.96, 0.60))
        self._bar = figure.add_axes((0.04, 0.11, 0.92, 0.07))
        figure.text(0.02, 0.965, explanation.title, fontsize=12.5, fontweight="bold", va="top")
        self._clock = figure.text(0.98, 0.965, "", fontsize=14, fontweight="bold", va="top",
                                  ha="right", fontfamily="monospace")  # fmt: skip
        self._state = figure.text(0.02, 0.895, "", fontsize=10, va="top")
        self._places = self._draw_nodes(self._axes)
        foreign = [one for one in explanation.messages if not (one.own or one.critical)]
        self._hidden = set() if len(foreign) <= MOST_FOREIGN else {one.number for one in foreign}
        dots: dict[str, Any] = {"linestyle": "none", "marker": "o"}
        (self._foreign,) = self._axes.plot([], [], color=FOREIGN, markersize=5, zorder=3, **dots)
        (self._own,) = self._axes.plot([], [], color=OWN, markersize=8, zorder=4, **dots)
        (self._critical,) = self._axes.plot(
            [], [], color=CRITICAL, markersize=11, markeredgecolor=INK, zorder=5, **dots
        )
        paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.4}
        self._labels = [
            self._axes.text(0, 0, "", fontsize=9, ha="center", va="bottom", zorder=9, bbox=paper)
            for _ in range(_MOST_LABELS)
        ]
        self._draw_bar(self._bar)
        until_s = explanation.until_s
        self._happened = within(events(explanation.scenario), explanation.started_s, until_s)

    def _draw_nodes(self, axes: Axes) -> dict[int, Place]:
        """The origin on the left, the others around the circle."""
        explanation = self._explanation
        axes.set_axis_off()
        axes.set_xlim(-2.6, 2.6)
        axes.set_ylim(-1.42, 1.42)
        size = len(explanation.nodes)
        order = [explanation.node, *(n for n in range(size) if n != explanation.node)]
        angles = [pi - 2.0 * pi * position / size for position in range(size)]
        places = {
            node: (_WIDE * cos(angle), sin(angle)) if size > 1 else (0.0, 0.0)
            for node, angle in zip(order, angles, strict=True)
        }
        for node, (x, y) in places.items():
            for other, (u, v) in places.items():
                if node < other:
                    axes.plot([x, u], [y, v], color="#E5E7EB", linewidth=2.5, zorder=1)
            axes.plot([x], [y], "o", markersize=_NODE, color=GREY, zorder=7)
            name = shorten(explanation.nodes[node], _NAME)
            inside = len(name) <= _INSIDE
            axes.text(x, y if inside else y + 0.26, name, color="white" if inside else INK,
                      fontweight="bold", ha="center", va="center", zorder=8)  # fmt: skip
        self._disc = axes.plot(*places[explanation.node], "o", markersize=_NODE, zorder=7)[0]
        self._doings = {
            node: axes.text(x, y - 0.26, "", fontsize=9, ha="center", va="top", zorder=8)
            for node, (x, y) in places.items()
        }
        return places

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
        for node, text in self._doings.items():
            if node != self._explanation.node:
                text.set_text(self._doing(node, time_s))
            if happens := self._happens(node, time_s):
                text.set_text(f"{happens}\n{text.get_text()}".rstrip())
        self._move(time_s)

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
        self._disc.set_color(colour)
        self._doings[explanation.node].set_text(short)
        self._doings[explanation.node].set_fontweight("bold")
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

    def _move(self, time_s: float) -> None:
        moving: dict[Line2D, list[Place]] = {
            line: [] for line in (self._foreign, self._own, self._critical)
        }
        labels: dict[str, list[Place]] = defaultdict(list)
        for one in self._explanation.messages:
            if one.number in self._hidden or not one.sent_s <= time_s < one.arrived_s:
                continue
            place = self._place(one, time_s)
            line = self._critical if one.critical else self._own if one.own else self._foreign
            moving[line].append(place)
            if line is not self._foreign:
                labels[one.label].append(place)
        for line, places in moving.items():
            line.set_data([x for x, _ in places], [y for _, y in places])
        named = [(label, place) for label, places in labels.items() for place in places]
        written: list[Place] = []
        for text, (label, (x, y)) in zip(self._labels, named, strict=False):
            above = y + 0.09
            while any(
                abs(x - u) < _NEAR[0] and abs(above - v) < near
                for places, near in ((written, _NEAR[1]), (self._places.values(), _DISC))
                for u, v in places
            ):
                above += 0.1 * _NEAR[1]
            written.append((x, above))
            text.set_text(label)
            text.set_position((x, above))
            text.set_visible(True)
        for text in self._labels[len(named) :]:
            text.set_visible(False)

    def _place(self, message: Transmission, time_s: float) -> Place:
        """Between the edges of two nodes, on the right-hand side as seen by the message."""
        (x, y), (u, v) = self._places[message.source], self._places[message.target]
        right, up = (u - x) * _INCHES[0], (v - y) * _INCHES[1]
        length = hypot(right, up)
        way = (time_s - message.sent_s) / (message.arrived_s - message.sent_s)
        way = (_EDGE + way * (length - 2.0 * _EDGE)) / length
        aside = _KERB / length
        return (
            x + way * (u - x) + aside * up / _INCHES[0],
            y + way * (v - y) - aside * right / _INCHES[1],
        )


class _Screen(Sheet):
    """A sheet whose PNG files have few colours, for a film is many of them in one file."""

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        if kwargs.get("format") != "png":
            super().savefig(fname, **kwargs)
            return
        drawn = BytesIO()
        super().savefig(drawn, **kwargs)
        Image.open(drawn).convert("RGB").quantize(_COLOURS).save(fname, format="png")


class Film(FuncAnimation):
    """An animation of a scene at simulated times, one a frame; it shows itself in a notebook."""

    def __init__(self, figure: Sheet, scene: Scene, times: Sequence[float], seconds: float) -> None:
        def show(time_s: float) -> list[Any]:
            scene.show(time_s)
            return []

        interval_ms = 1e3 * seconds / len(times)
        super().__init__(figure, show, frames=times, interval=interval_ms, cache_frame_data=False)
        self._draw_was_started = True  # a film that nobody looks at is nothing to be warned of

    def to_jshtml(
        self, fps: int | None = None, embed_frames: bool = True, default_mode: str | None = None
    ) -> str:
        """A player with all frames, which needs nothing from outside."""
        signs = "".join(f'.fa-{n}:before{{content:"{sign}"}}' for n, sign in _SIGNS.items())
        style = f"<style>{signs}.fa-flip-horizontal{{display:inline-block;rotate:180deg}}</style>"
        with rc_context({"savefig.dpi": _DPI}):
            player = super().to_jshtml(fps, embed_frames, default_mode)
        return _FONT.sub(lambda _: style, player)

    def _repr_html_(self) -> str:
        return self.to_jshtml()


@animate.register(Explanation)
def animate_explanation(
    explanation: Explanation, path: str | Path | None = None, *, seconds: float = 12.0
) -> Film:
    """Show the messages on their way between the nodes, and what the transaction waits for.

    A file is a player for a browser (``.html``) or a ``.gif``. The film is slow while a message of
    the transaction travels and fast while none does; its clock shows simulated time.
    """
    ending = Path(path).suffix.lower() if path is not None else ""
    if path is not None and ending not in {".html", ".gif"}:
        raise ScenarioError("path", f"must end in .html or .gif, given {str(path)!r}")
    if not 0.0 < seconds < inf:
        raise ScenarioError("seconds", f"must be above 0 and finite, given {seconds}")
    frames = min(max(round(_PER_SECOND * seconds), _FEWEST), _MOST)
    with styled():
        figure = _Screen(_WIDTH, _HEIGHT)
        figure.set_dpi(_DPI)
        times = film_times(explanation, frames)
        film = Film(figure, Scene(explanation, figure), times.tolist(), seconds)
        if path is not None and ending == ".html":
            write_text(path, film.to_jshtml())
        elif path is not None:
            with TemporaryDirectory() as folder, whole_file(path) as file:
                drawn = Path(folder) / "film.gif"
                film.save(drawn, writer="pillow", dpi=_DPI)
                file.write(drawn.read_bytes())
    return film


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
