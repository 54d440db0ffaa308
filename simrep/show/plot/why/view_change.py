"""A view change as a film: messages of the membership travel, and nodes say what they noted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan, log10
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from simrep.printable import shorten
from simrep.runs.incidents import faults_of
from simrep.runs.timeline import Line
from simrep.scenario import load
from simrep.scenario.events import within
from simrep.scenario.faults import FaultTable
from simrep.show.plot.style import INK, PALETTE, Sheet
from simrep.show.plot.why.arrows import FOREIGN, OWN
from simrep.show.plot.why.film import Film, make_film
from simrep.show.plot.why.ring import LINK, Moving, Ring
from simrep.show.plot.why.window import NOTED
from simrep.show.views import animate
from simrep.why.commit import Transmission
from simrep.why.window import WindowExplanation

__all__ = ["STATES", "Pace", "ViewChangeScene", "animate_window"]

_HELD = 0.08  # of the frames show the end
_FLIGHT_S = 1e-3  # a usual flight where no message travels
_QUIET = 0.4  # of a flight's frames, for each power of ten that a time without messages is longer
_FINE_S = 0.01  # flights that are shorter need a clock with more digits
_APART = 0.1  # of the axis: between the numbers at its ticks
_SAID, _TOLD = 24, 62  # characters below a node, and of the line above all
_LOST = 0.5  # of its way: where a message that is lost vanishes

STATES = {
    "in": (PALETTE[2], "primary"),
    "out": (PALETTE[1], "not primary"),
    "back": (PALETTE[4], "coming back"),
    "gone": (FOREIGN, "gone"),
}
"""Colour of a node, and what that means."""
_STATE_OF = {
    "primary": "in",
    "non-primary": "out",
    "joiner": "back",
    "synced": "in",
    "evicted": "gone",
    "aborted": "gone",
    "kill": "gone",
    "power-loss": "gone",
    "leave": "gone",
    "restart": "back",
    "bootstrap": "back",
}
"""By the word that a server notes, or by that of a fault at the node."""
_OTHER_WORDS = {
    "donor": "gives its state to",
    "joiner": "gets the state from",
    "applies": "applies what it has missed",
    "joined": "joined",
    "delayed": "finds delayed",
    "evicted": "evicted",
    "aborted": "gives up",
}
_CUT = {"color": PALETTE[1], "linestyle": (0, (2, 2)), "linewidth": 2.0}
_STATE_TRANSFER = {"color": PALETTE[4], "linestyle": "-", "linewidth": 6.0}
_PLAIN = {"color": LINK, "linestyle": "-", "linewidth": 2.5}


@dataclass(frozen=True, slots=True)
class Pace:
    """How the time of a film passes: slowly while messages travel, in a blink while none does.

    Attributes
    ----------
    edges_s : array
        Simulated seconds at which the pace changes, ascending.
    places : array
        When they are shown, from 0 to 1.
    bursts : tuple of (float, float)
        When messages travel, in simulated seconds.
    flight_s : float
        How long a usual message travels.
    """

    edges_s: NDArray[np.float64]
    places: NDArray[np.float64]
    bursts: tuple[tuple[float, float], ...]
    flight_s: float

    @classmethod
    def of(cls, window: WindowExplanation) -> Pace:
        """Every usual flight takes as long as any other."""
        low_s, high_s = window.from_s, window.until_s
        arrived = [one for one in window.messages if isfinite(one.arrived_s)]
        flights = [one.arrived_s - one.sent_s for one in arrived if one.arrived_s > one.sent_s]
        flight_s = float(np.median(flights)) if flights else _FLIGHT_S
        bursts: list[tuple[float, float]] = []
        for one in sorted(window.messages, key=lambda one: one.sent_s):
            ended_s = one.arrived_s if isfinite(one.arrived_s) else one.sent_s + _LOST * flight_s
            began_s, ended_s = max(one.sent_s, low_s), min(ended_s, high_s)
            if bursts and began_s <= bursts[-1][1]:
                bursts[-1] = bursts[-1][0], max(bursts[-1][1], ended_s)
            else:
                bursts.append((began_s, ended_s))
        edges_s = np.unique([low_s, high_s, *(edge_s for burst in bursts for edge_s in burst)])
        lengths = [
            span_s / flight_s
            if any(began_s <= middle_s <= ended_s for began_s, ended_s in bursts)
            else min(span_s / flight_s, _QUIET * (1.0 + log10(max(span_s / flight_s, 1.0))))
            for span_s, middle_s in zip(np.diff(edges_s), edges_s[:-1] + 0.5 * np.diff(edges_s),
                                        strict=True)
        ]  # fmt: skip
        places = np.concatenate(([0.0], np.cumsum(lengths)))
        return cls(edges_s, places / places[-1], tuple(bursts), flight_s)

    def place(self, time_s: float) -> float:
        """When a simulated second is shown, from 0 to 1."""
        return float(np.interp(time_s, self.edges_s, self.places))

    def times(self, frames: int) -> list[float]:
        """Simulated seconds of the frames; the last one is held."""
        held = round(_HELD * frames)
        moving = np.interp(np.linspace(0.0, 1.0, frames - held), self.places, self.edges_s)
        return [*moving.tolist(), *[float(self.edges_s[-1])] * held]


class ViewChangeScene:
    """Any instant of a view change, on an empty figure.

    Attributes
    ----------
    ring : Ring
        The nodes and the links between them.
    """

    def __init__(self, window: WindowExplanation, figure: Sheet) -> None:
        figure.set_layout_engine("none")  # nothing may move but the messages
        self._window = window
        self._pace = Pace.of(window)
        self.ring = Ring(figure.add_axes((0.02, 0.31, 0.96, 0.56)), window.nodes)
        self._lost = self.ring.dots(color=FOREIGN, markersize=8, zorder=3)
        self._own = self.ring.dots(color=OWN, markersize=8, zorder=4)
        self._digits = 4 if self._pace.flight_s < _FINE_S else 3
        name = window.scenario.get("name") or "view change"
        figure.text(0.02, 0.965, shorten(name, 60), fontsize=12.5, fontweight="bold", va="top")
        self._clock = figure.text(0.98, 0.965, "", fontsize=14, fontweight="bold", va="top",
                                  ha="right", fontfamily="monospace")  # fmt: skip
        self._state = figure.text(0.02, 0.895, "", fontsize=9, va="top")
        scenario = load(window.scenario)
        self._faults = {fault.path: fault for fault in scenario.faults}
        self._happened = within(faults_of(window.scenario), window.from_s, window.until_s)
        self._lines = [*window.earlier, *window.lines]
        self._links = [
            *self._transfers(),
            *((fault.at_s, fault.end_s, pair, _CUT) for fault in scenario.faults
              if fault.what == "cut" for pair in self._cut(fault)),
        ]  # fmt: skip
        self._draw_bar(figure.add_axes((0.05, 0.11, 0.90, 0.07)))
        self._draw_legend(figure)

    def _cut(self, fault: FaultTable) -> set[tuple[int, int]]:
        """Between which nodes links are cut."""
        nodes = self._window.nodes
        scenario = load(self._window.scenario)
        return {(min(ends), max(ends)) for ends in fault.links(nodes, scenario.host_names)}

    def _transfers(self) -> Iterator[tuple[float, float, tuple[int, int], dict[str, object]]]:
        """From when to when a node gives another one its state."""
        place = self._window.nodes.index
        for line in self._lines:
            for joiner in line.of if line.what == "donor" else ():
                ended_s = next(
                    (after.at_s for after in self._lines
                     if after.at_s > line.at_s and after.node == joiner
                     and after.what in {"joined", "synced", "aborted"}),
                    inf,
                )  # fmt: skip
                ends = sorted((place(line.node), place(joiner)))
                yield line.at_s, ended_s, (ends[0], ends[1]), _STATE_TRANSFER

    def _draw_bar(self, axes: Axes) -> None:
        """All of the time, as long as it is shown; what servers noted stands on it."""
        pace = self._pace
        for began_s, ended_s in pace.bursts:
            axes.axvspan(pace.place(began_s), pace.place(ended_s), color=OWN, alpha=0.3,
                         linewidth=0)  # fmt: skip
        for what, (marker, shade, _) in NOTED.items():
            at = [pace.place(line.at_s) for line in self._window.lines if line.what == what]
            axes.plot(at, [0.0] * len(at), marker, color=shade, markersize=7.0,
                      markeredgewidth=1.4, zorder=4)  # fmt: skip
        ticks: list[float] = [float(pace.edges_s[-1])]
        for edge_s in (float(pace.edges_s[0]), *(began_s for began_s, _ in pace.bursts)):
            if all(abs(pace.place(edge_s) - pace.place(other)) > _APART for other in ticks):
                ticks.append(edge_s)
        axes.set_xticks([pace.place(at_s) for at_s in ticks],
                        labels=[f"{at_s:.{self._digits}f}" for at_s in ticks])  # fmt: skip
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(-0.5, 0.5)
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("simulated time (s), stretched while messages travel (blue)")
        self._veil = Rectangle((0.0, -0.5), 1.0, 1.0, color="white", alpha=0.65, zorder=5)
        axes.add_patch(self._veil)
        self._hand = axes.axvline(0.0, color=INK, linewidth=2.0, zorder=6)

    def _draw_legend(self, figure: Sheet) -> None:
        discs = [
            Line2D([], [], marker="o", markersize=9.0, linestyle="none", color=shade, label=label)
            for shade, label in STATES.values()
        ]
        words = {line.what for line in self._window.lines}
        notes = [
            Line2D([], [], marker=marker, markersize=7.0, linestyle="none", color=shade,
                   markeredgewidth=1.4, label=self._window.terms.get(what, label))
            for what, (marker, shade, label) in NOTED.items() if what in words
        ]  # fmt: skip
        figure.legend(handles=discs, loc="upper right", bbox_to_anchor=(0.985, 0.90), fontsize=8.5,
                      ncols=len(discs), borderaxespad=0.0, handletextpad=0.2)  # fmt: skip
        if notes:
            figure.legend(handles=notes, loc="lower left", bbox_to_anchor=(0.04, 0.19),
                          fontsize=8.5, ncols=len(notes), borderaxespad=0.0,
                          handletextpad=0.2)  # fmt: skip

    def show(self, time_s: float) -> None:
        """Move everything to where it is at that simulated second."""
        window, place = self._window, self._pace.place(time_s)
        self._clock.set_text(f"{time_s:.{self._digits}f} s")
        self._veil.set_x(place)
        self._hand.set_xdata([place, place])
        latest = [line for line in window.lines if line.at_s <= time_s]
        said = f"{latest[-1].at_s:.{self._digits}f} s: {latest[-1]}" if latest else ""
        self._state.set_text(shorten(said, _TOLD))
        for node in range(len(window.nodes)):
            self._tell(node, time_s)
        for link in self.ring.links.values():
            link.set(**_PLAIN)
        for from_s, until_s, ends, look in self._links:
            if from_s <= time_s < until_s:
                self.ring.links[ends].set(**look)
        self.ring.move(self._moving(time_s))

    def _tell(self, node: int, time_s: float) -> None:
        """The colour of a node, and what it noted last or what happens to it."""
        name = self._window.nodes[node]
        state, said = "in", ""
        for line in self._lines:
            if line.at_s > time_s:
                break
            if line.node == name:
                said = _text(line, self._window.terms) if line.at_s >= self._window.from_s else said
                if not (state == "back" and line.what == "primary"):  # it is until it is synced
                    state = _STATE_OF.get(line.what, state)
            elif not line.node and name in line.of and not line.how.endswith(": it ends"):
                word = self._faults[line.what].what if line.what in self._faults else ""
                if word in _STATE_OF:
                    state, said = _STATE_OF[word], line.how
        lasting = [
            event.what for event in self._happened
            if name in event.nodes and event.at_s <= time_s < event.until_s
        ]  # fmt: skip
        self.ring.discs[node].set_color(STATES[state][0])
        if len(said) <= _SAID:
            said = said.replace("\n", " ")
        texts = [shorten(text, _SAID) for text in (*lasting, *said.split("\n")) if text]
        self.ring.doings[node].set_text("\n".join(texts))

    def _moving(self, time_s: float) -> Iterator[Moving]:
        """Messages on their way; one that is lost vanishes half-way."""
        for one in self._window.messages:
            way, line = self._way(one, time_s)
            if way is not None:
                yield one, way, line, True

    def _way(self, message: Transmission, time_s: float) -> tuple[float | None, Line2D]:
        lost = isnan(message.arrived_s)
        flight_s = self._pace.flight_s if lost else message.arrived_s - message.sent_s
        way = (time_s - message.sent_s) / flight_s if flight_s > 0.0 else inf
        shown = 0.0 <= way < (_LOST if lost else 1.0)
        return (way if shown else None), (self._lost if lost else self._own)


def _text(line: Line, terms: Mapping[str, str]) -> str:
    """A line of a node without its name: the word, and below it the nodes that it is about."""
    label = NOTED[line.what][2] if line.what in NOTED else _OTHER_WORDS.get(line.what, line.what)
    label = terms.get(line.what, label)
    return "\n".join(filter(None, (label, ", ".join(line.of), line.how)))


@animate.register(WindowExplanation)
def animate_window(
    window: WindowExplanation, path: str | Path | None = None, *, seconds: float = 20.0
) -> Film:
    """Show the messages by which servers agree, and what they note.

    Bursts of messages are stretched, and the time between them passes in a blink; the clock shows
    simulated time.
    """
    return make_film(
        lambda figure: ViewChangeScene(window, figure), Pace.of(window).times, path, seconds
    )
