"""Nodes around a circle, and messages on their way between them at an instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import cos, hypot, pi, sin
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Text

from simrep.printable import shorten
from simrep.show.plot.style import GREY, INK
from simrep.show.plot.why.arrows import joined
from simrep.why.commit import Transmission

__all__ = ["LINK", "Moving", "Ring"]

_WIDE = 1.9  # the circle of the nodes is wider than it is high
_KERB = 0.05  # inches from the link to the messages on it
_INSIDE, _NAME = 5, 24  # characters of a name inside its disc, and above it
_NODE = 30.0  # points
_INCHES = (8.64 / 5.2, 3.12 / 2.84)  # of a unit of the axes, to the right and upwards
_EDGE = 0.25  # inches from the middle of a node to where a message leaves it
_NEAR = (0.7, 0.15)  # labels that are nearer than that stand above each other
_DISC = 0.2  # labels are higher than that above the middle of a node
_TOGETHER = 0.35  # messages on a link that are nearer share a label
_MOST_LABELS = 8
LINK = "#E5E7EB"

Place = tuple[float, float]
Moving = tuple[Transmission, float, Line2D, bool]
"""A message, how far it is on its way (from 0 to 1), which dots it belongs to, whether named."""


class Ring:
    """Nodes in a circle, one of them on the left, with the links between them.

    Parameters
    ----------
    axes : Axes
    names : sequence of str
        Of the nodes, by position.
    first : int
        The one on the left.

    Attributes
    ----------
    discs, doings : mapping of int to Line2D or Text
        The nodes, and what stands below them.
    links : mapping of (int, int) to Line2D
        By the two nodes, the lower number first.
    """

    def __init__(self, axes: Axes, names: Sequence[str], first: int = 0) -> None:
        self._axes = axes
        axes.set_axis_off()
        axes.set_xlim(-2.6, 2.6)
        axes.set_ylim(-1.42, 1.42)
        size = len(names)
        order = [first, *(node for node in range(size) if node != first)]
        angles = [pi - 2.0 * pi * position / size for position in range(size)]
        self.places: dict[int, Place] = {
            node: (_WIDE * cos(angle), sin(angle)) if size > 1 else (0.0, 0.0)
            for node, angle in zip(order, angles, strict=True)
        }
        self.links: dict[tuple[int, int], Line2D] = {}
        self.discs: dict[int, Line2D] = {}
        paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.4}
        self.doings: dict[int, Text] = {}
        for node, (x, y) in self.places.items():
            for other, (u, v) in self.places.items():
                if node < other:
                    (link,) = axes.plot([x, u], [y, v], color=LINK, linewidth=2.5, zorder=1)
                    self.links[node, other] = link
            (disc,) = axes.plot([x], [y], "o", markersize=_NODE, color=GREY, zorder=7)
            self.discs[node] = disc
            name = shorten(names[node], _NAME)
            inside = len(name) <= _INSIDE
            axes.text(x, y if inside else y + 0.26, name, color="white" if inside else INK,
                      fontweight="bold", ha="center", va="center", zorder=8)  # fmt: skip
            self.doings[node] = axes.text(x, y - 0.26, "", fontsize=9, ha="center", va="top",
                                          zorder=6, bbox=paper)  # fmt: skip
        self._lines: list[Line2D] = []
        self._labels = [
            axes.text(0, 0, "", fontsize=9, ha="center", va="bottom", zorder=9, bbox=paper)
            for _ in range(_MOST_LABELS)
        ]

    def dots(self, **look: Any) -> Line2D:
        """Messages that look alike."""
        (line,) = self._axes.plot([], [], linestyle="none", marker="o", **look)
        self._lines.append(line)
        return line

    def move(self, moving: Iterable[Moving]) -> None:
        """Show messages where they are now, and no others."""
        dots: dict[Line2D, list[Place]] = {line: [] for line in self._lines}
        groups: list[tuple[tuple[int, int], Place, Counter[str]]] = []
        for message, way, line, named in moving:
            place = self._place(message, way)
            dots[line].append(place)
            if named:
                ends = message.source, message.target
                for other, (x, y), labels in groups:
                    if ends == other and hypot(place[0] - x, place[1] - y) < _TOGETHER:
                        labels[message.label] += 1
                        break
                else:
                    groups.append((ends, place, Counter([message.label])))
        for line, places in dots.items():
            line.set_data([x for x, _ in places], [y for _, y in places])
        self._write([(joined(labels), place) for _, place, labels in groups])

    def _write(self, named: Sequence[tuple[str, Place]]) -> None:
        """Names above messages, none over another one or over a node."""
        written: list[Place] = []
        for text, (label, (x, y)) in zip(self._labels, named, strict=False):
            above = y + 0.09
            while any(
                abs(x - u) < _NEAR[0] and abs(above - v) < near
                for places, near in ((written, _NEAR[1]), (self.places.values(), _DISC))
                for u, v in places
            ):
                above += 0.1 * _NEAR[1]
            written.append((x, above))
            text.set_text(label)
            text.set_position((x, above))
            text.set_visible(True)
        for text in self._labels[len(named) :]:
            text.set_visible(False)

    def _place(self, message: Transmission, way: float) -> Place:
        """Between the edges of two nodes, on the right-hand side as seen by the message."""
        (x, y), (u, v) = self.places[message.source], self.places[message.target]
        right, up = (u - x) * _INCHES[0], (v - y) * _INCHES[1]
        length = hypot(right, up)
        part = (_EDGE + way * (length - 2.0 * _EDGE)) / length
        aside = _KERB / length
        return (
            x + part * (u - x) + aside * up / _INCHES[0],
            y + part * (v - y) - aside * right / _INCHES[1],
        )
