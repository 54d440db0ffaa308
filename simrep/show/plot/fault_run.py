"""The figure of a run in which something breaks: commits over time, and what befell each node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from simrep.kernel.timeline import NOBODY, Noted
from simrep.measure.attempts import Attempts
from simrep.measure.units import duration
from simrep.runs.incidents import faults_of
from simrep.runs.record import RunRecord
from simrep.runs.result import Result
from simrep.scenario.events import Event
from simrep.scenario.faults import LINKS
from simrep.show.plot.events import draw_events
from simrep.show.plot.style import GREY, INK, PALETTE, SHADE, Sheet, colour, entry, row_axis

__all__ = ["plot_faults"]

_WIDTH = 13.3  # inches: that of a slide
_PANEL = 11.6  # of these about, of a panel
_HIGH, _ROW = 4.0, 0.34  # inches of the commits, and of a node
_STEPS = 160  # a finer curve would be a smear
_ROOM = 1.5  # height of the axes over the highest rate: names of marks stand above the curve
_TOP = 0.98
_SHOWN_STALL = 2  # a stall of this many steps is shaded
_NAMED_STALL = 0.05  # of the time that is shown: its length stands in it
_MOST_WIDE = 10  # entries of a legend with six in a row
_MOST_NAMED = 3  # nodes that one suspects
_SIZES = {".": 4.0, "*": 12.0}
_MOST_NODES = 12  # whose rows can be read

Floats = NDArray[np.float64]


def plot_faults(
    result: Result, run: RunRecord, attempts: Attempts, marks: Sequence[tuple[str, float]] = ()
) -> Sheet:
    """Draw commits per second of each group of clients above the fate of each node.

    Of several replications the first is drawn; the commits of the others are pale. ``marks`` are
    further ones, by their simulated times.
    """
    names = list(result.nodes)
    shown = len(names) <= _MOST_NODES
    heights = [_HIGH, 0.5 + _ROW * len(names)] if shown else [_HIGH]
    figure = Sheet(_WIDTH, sum(heights) + 1.3)
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)
    above = panels[0, 0]
    began_s, ended_s = run.measurement.began_s, run.measurement.ended_s
    above.set_xlim(began_s, ended_s)
    _draw_commits(above, result, attempts)
    happened = faults_of(result.scenario)
    _shade_stalls(above, attempts, happened)
    said = [
        *(*marks, *_suspicions(run.noted, names), *_components(run.noted, names)),
        *((f"{names[one.node]} takes writes", one.at_s)
          for one in run.noted if one.what in {"writable", "promoted"}),
        *((f"{one.actor} sends writes to {', '.join(names[node] for node in one.of)}", one.at_s)
          for one in run.noted if one.what == "proxy-writer" and one.of),
    ]  # fmt: skip
    said = [(text, at_s) for text, at_s in said if began_s <= at_s <= ended_s]
    draw_events(above, happened, said, width_in=_PANEL, top=_TOP)
    handles = list(above.get_legend_handles_labels()[0])
    if shown:
        handles += _draw_nodes(panels[1, 0], run, names, result.faults.terms)
    panels[-1, 0].set_xlabel("simulated time (s)")
    across = 6 if len(handles) < _MOST_WIDE else 5
    figure.legend(handles=handles, loc="outside lower center", ncols=min(across, len(handles)))
    figure.headline(str(result.scenario.get("name") or ""))
    return figure


def _draw_commits(axes: Axes, result: Result, attempts: Attempts) -> None:
    low, high = axes.get_xlim()
    step_s = max((high - low) / _STEPS, 0.05)
    edges = np.linspace(low, high, ceil((high - low) / step_s) + 1)
    top = 1.0
    for run in result.runs[1:]:
        for position, group in enumerate(attempts.groups):
            if run.attempts is not None:
                rates = _rates(run.attempts.of(group=group), edges)
                axes.stairs(rates, edges, baseline=None, color=colour(position), alpha=0.25,
                            linewidth=0.8)  # fmt: skip
                top = max(top, float(rates.max()))
    for position, group in enumerate(attempts.groups):
        rates = _rates(attempts.of(group=group), edges)
        axes.stairs(rates, edges, baseline=None, color=colour(position), linewidth=1.8, zorder=3,
                    label=entry(group))  # fmt: skip
        top = max(top, float(rates.max()))
    load = result.load
    if load is not None and load.what == "rate_tps":
        bounds = result.series.edges_s[: len(load.offered) + 1]
        axes.stairs(load.offered, bounds, baseline=None, color=INK, linewidth=1.2,
                    linestyle=(0, (4, 2)), label="offered by all", zorder=2)  # fmt: skip
        top = max(top, float(load.offered.max(initial=0.0)))
    many = f" (replication 1 of {result.replications}, the others pale)"
    axes.set_title(f"Commits of each group of clients{many if result.replications > 1 else ''}")
    axes.set_ylabel("commits per second")
    axes.set_ylim(0, _ROOM * top)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def _rates(attempts: Attempts, edges: Floats) -> Floats:
    counts, _ = np.histogram(attempts.commits_s, edges)
    return np.asarray(counts / np.diff(edges), np.float64)


def _shade_stalls(axes: Axes, attempts: Attempts, happened: Sequence[Event]) -> None:
    """Where nobody who writes commits for long because of a fault, and how long that is."""
    low, high = axes.get_xlim()
    edges = sorted({edge_s for one in happened for edge_s in (one.at_s, one.until_s)} | {high})
    writers = attempts.of(writes=True)
    least_s = _SHOWN_STALL * (high - low) / _STEPS
    stalls = set()
    for event in happened:
        until_s = next((edge_s for edge_s in edges if edge_s > event.at_s), high)
        stall = (writers if len(writers) else attempts).longest_gap(event.at_s, until_s)
        if stall.seconds >= least_s:
            stalls.add((stall.began_s, stall.seconds))
    for number, (began_s, seconds) in enumerate(sorted(stalls)):
        label = "" if number else "nobody commits"
        axes.axvspan(max(began_s, low), min(began_s + seconds, high), zorder=0.4, label=label,
                     **SHADE)  # fmt: skip
        if seconds > _NAMED_STALL * (high - low):
            axes.text(
                max(began_s, low) + 0.5 * seconds, 0.02, duration(seconds), ha="center",
                va="bottom", transform=axes.get_xaxis_transform(), fontsize=10, color=INK,
                zorder=5, in_layout=False,
            )  # fmt: skip


def _suspicions(noted: Sequence[Noted], names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """The first of each node, until it is there again; those of one member at one look together."""
    suspected: set[int] = set()
    looks: dict[tuple[float, str], list[str]] = {}
    for one in noted:
        if one.what == "suspect" and not suspected & set(one.of):
            suspected |= set(one.of)
            who = one.who(names)
            looks.setdefault((one.at_s, who), []).extend(names[node] for node in one.of)
        elif one.what == "primary":
            suspected -= set(one.of)
    for (at_s, who), whom in looks.items():
        said = ", ".join(whom) if len(whom) <= _MOST_NAMED else f"{len(whom)} others"
        yield f"{who} suspects {said}", at_s


def _components(noted: Sequence[Noted], names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """The first line of each new primary component."""
    last: tuple[int, ...] = ()
    for one in noted:
        members = tuple(sorted(one.of))
        if one.what == "primary" and members != last and not one.how:
            yield f"view: {', '.join(names[node] for node in members)}", one.at_s
            last = members


@dataclass(frozen=True, slots=True)
class _Look:
    """How a state of a node is drawn."""

    label: str
    shade: str
    alpha: float = 0.8


_AWAY = _Look("away or stopped", "#374151")
_OUT = _Look("without a quorum", PALETTE[1], 1.0)
_BEHIND = _Look("starts, gets the state, catches up", PALETTE[5], 1.0)
_CUT_OFF = _Look("its links fail", GREY, 0.4)
_SLOW = _Look("slow, or its disk stalls", PALETTE[4], 0.6)
_CHANGES = _Look("changes a table", PALETTE[3], 0.6)
_LOOKS = (_CHANGES, _SLOW, _CUT_OFF, _AWAY, _BEHIND, _OUT)
"""A later one covers an earlier one."""


def _draw_nodes(
    axes: Axes, run: RunRecord, names: Sequence[str], terms: Mapping[str, str]
) -> list[Any]:
    """A row per node with its states; returns what the legend explains."""
    low, high = axes.get_xlim()
    used: dict[_Look, None] = {}
    for row, name in enumerate(names):
        axes.axhline(row, color=GREY, linewidth=0.6, alpha=0.5, zorder=0)
        for look, from_s, to_s in _states(row, name, run):
            left, right = max(from_s, low), min(to_s, high)
            if right > left:
                used[look] = None
                axes.barh(
                    row,
                    right - left,
                    left=left,
                    height=0.56,
                    color=look.shade,
                    alpha=look.alpha,
                    linewidth=0,
                    zorder=2.0 + 0.1 * _LOOKS.index(look),
                )
    ticks = {
        "suspects somebody": ("suspect", "^", PALETTE[1]),
        "evicts somebody": ("evicts", "v", PALETTE[1]),
        "asks to remove": ("expel", "v", PALETTE[1]),
        "new view": ("stable", "|", INK),
        "takes writes": ("writable", "*", PALETTE[0]),
        "is promoted": ("promoted", "*", PALETTE[0]),
        "decides for the silent": ("wave", ".", PALETTE[3]),
        "synced": ("synced", "o", PALETTE[2]),
    }
    handles: list[Any] = [Patch(color=look.shade, alpha=look.alpha, label=look.label)
                          for look in _LOOKS if look in used]  # fmt: skip
    for label, (what, marker, shade) in ticks.items():
        points = [(one.at_s, one.node) for one in run.noted
                  if one.what == what and one.node != NOBODY]  # fmt: skip
        points = [point for point in points if low <= point[0] <= high]
        if points:
            width = 1.6 if marker == "|" else 0.8
            places = [at_s for at_s, _ in points], [node for _, node in points]
            axes.plot(*places, marker, color=shade, markersize=_SIZES.get(marker, 8.0),
                      markeredgewidth=width, zorder=3 - 0.1 * (marker == "."))  # fmt: skip
            handles.append(Line2D([], [], label=terms.get(what, label), color=shade,
                                  marker=marker, markersize=8.0, markeredgewidth=width,
                                  linestyle="none"))  # fmt: skip
    row_axis(axes, names)
    return handles


def _states(node: int, name: str, run: RunRecord) -> Iterator[tuple[_Look, float, float]]:
    """States of a node that is not simply there, from when to when."""
    own = [one for one in run.noted if one.node == node]
    faults = [one for one in run.faults.values() if name in one.nodes]
    for event in faults:
        word = event.word
        if word in {"kill", "power-loss", "leave"}:
            later = (one.at_s for one in faults
                     if one.word in {"restart", "bootstrap"} and one.at_s > event.at_s)  # fmt: skip
            yield _AWAY, event.at_s, next(later, inf)
        elif word == "pause":
            yield _AWAY, event.at_s, event.until_s
        elif word in {"slow", "disk-stall"}:
            yield _SLOW, event.at_s, event.until_s
        elif word in LINKS:
            yield _CUT_OFF, event.at_s, event.until_s
        elif word == "restart":
            synced = (one.at_s for one in own if one.what == "synced" and one.at_s > event.at_s)
            yield _BEHIND, event.at_s, next(synced, inf)
    for one in own:
        if one.what == "ddl-begins":
            ends = (later.at_s for later in own
                    if (later.what, later.how) == ("ddl-ends", one.how)
                    and later.at_s >= one.at_s)  # fmt: skip
            yield _CHANGES, one.at_s, next(ends, inf)
        elif one.what == "non-primary":
            again = (later.at_s for later in own
                     if later.what == "primary" and later.at_s > one.at_s)  # fmt: skip
            yield _OUT, one.at_s, next(again, inf)
        elif one.what in {"evicted", "aborted"}:
            back = (later.at_s for later in own
                    if later.what in {"primary", "joiner"} and later.at_s > one.at_s)  # fmt: skip
            restarts = (event.at_s for event in faults
                        if event.word == "restart" and event.at_s > one.at_s)  # fmt: skip
            yield _OUT, one.at_s, min(next(back, inf), next(restarts, inf))
        elif one.what == "joiner":
            synced = (later.at_s for later in own
                      if later.what == "synced" and later.at_s > one.at_s)  # fmt: skip
            yield _BEHIND, one.at_s, next(synced, inf)
