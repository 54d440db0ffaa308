"""Bars on rows: the stages of one latency, those of the slowest transactions, and blockages."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten, wrap
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch

from simrep.errors import DrawError
from simrep.measure.units import amount, duration
from simrep.scenario.events import events, within
from simrep.show.plot.axes import Since
from simrep.show.plot.breakdown import STAGE_COLOURS, stage_hatch
from simrep.show.plot.events import draw_events
from simrep.show.plot.style import GREY, INK, PALETTE, SHADE, Sheet, line_label, row_axis
from simrep.show.text.why import StageRow
from simrep.show.views import plot
from simrep.why.stall import StallExplanation
from simrep.why.tail import TailExplanation, TailStage

__all__ = ["TableRow", "draw_row_table", "draw_waterfall", "plot_blockages", "plot_tail"]

_HALF = 0.31  # of the height of a bar
_LINE, _LINES = 36, 3  # characters and lines of the words
_TIME, _SHARE, _WORDS = 0.14, 0.29, 0.33  # places of the columns

_FLOOR = "network floor"
_PALE = "#C3C8CF"
_WORTH = 0.05  # of its stage: a blocker that deserves to be named

_MOST_ROWS = 16
_HEADLINE = 90  # characters
_WIDTH = 11.0
_ROW_IN, _WIDTH_IN = 0.42, 8.5  # of a row, and about of the axes
_LETTER_IN, _EDGES_IN = 0.085, 0.6  # of the names of rows, and at both sides
_PHASES, _NAMED = (
    "timers and messages",
    0.085,
)  # a row, and the share of it that has room for a name
_CAUSE, _EXPLAINED, _OUTSIDE = PALETTE[1], PALETTE[0], GREY


def draw_waterfall(axes: Axes, rows: Sequence[StageRow], since: Since) -> None:
    """A bar per stage, on a row of its own, from top to bottom."""
    for number, row in enumerate(rows):
        colour = STAGE_COLOURS[row.stages[0].name]
        for stage in row.stages:
            began = since(stage.began_s)
            axes.barh(
                number, since(stage.ended_s) - began, left=began, height=2 * _HALF, color=colour,
                edgecolor="white", linewidth=0.0, hatch=stage_hatch(stage.name),
            )  # fmt: skip
            # As wide as a pen at least, so that the shortest stage is found.
            low, high = number - _HALF, number + _HALF
            axes.vlines(began, low, high, colors=colour, linewidth=2.0, zorder=3)
    row_axis(axes, [row.name for row in rows])
    axes.tick_params(axis="y", length=0)


class TableRow(NamedTuple):
    """What stands beside a bar; a share that is None has no meaning there."""

    seconds: float
    share: float | None
    words: str


def draw_row_table(axes: Axes, rows: Sequence[TableRow], words: str) -> None:
    """Write the rows below headings, the last of which is given.

    The axes are beside those of the bars, about 4 inches wide, with the same vertical limits.
    """
    axes.set_axis_off()
    place = axes.get_yaxis_transform()
    for x, heading, align in (
        (_TIME, "time", "right"), (_SHARE, "share", "right"), (_WORDS, words, "left")
    ):  # fmt: skip
        axes.text(x, 1.0, heading, transform=axes.transAxes, ha=align, va="bottom", color=GREY,
                  fontsize=9, in_layout=False)  # fmt: skip
    for number, row in enumerate(rows):
        text = shorten(row.words, _LINES * _LINE - 12, placeholder=" ...")
        for x, cell, align, size in (
            (_TIME, duration(row.seconds), "right", 10.0),
            (_SHARE, "" if row.share is None else _percent(row.share), "right", 10.0),
            (_WORDS, "\n".join(wrap(text, _LINE)), "left", 8.5),
        ):
            axes.text(x, number, cell, transform=place, ha=align, va="center", fontsize=size,
                      color=INK, linespacing=1.05, in_layout=False)  # fmt: skip


def _percent(share: float) -> str:
    """A share without digits that mean nothing; what is not nothing is not called 0 %.

    >>> _percent(0.1375), _percent(0.0137), _percent(1e-6), _percent(0.9999), _percent(0)
    ('14 %', '1.4 %', '<0.1 %', '>99.9 %', '0 %')
    """
    part = 100.0 * share
    if 0.0 < part < 0.1:
        return "<0.1 %"
    if 99.9 < part < 100.0:
        return ">99.9 %"
    return f"{part:.1f} %" if 0.0 < part < 10.0 or 99.0 < part < 100.0 else f"{part:.0f} %"


@plot.register(TailExplanation)
def plot_tail(explanation: TailExplanation) -> Sheet:
    """Draw where the slowest transactions spent their time, above what the network alone takes.

    There is a bar per stage, the longest first, and one for the network floor; beside them stand
    time, share, and for whom the transactions waited.
    """
    stages = [one for one in explanation.stages if one.above_s > 0.0]
    rows = [TableRow(one.above_s, one.share, _blockers(one)) for one in stages]
    alone = "messages on their way, if nobody else is there"
    rows.append(TableRow(explanation.floor_s, None, alone))
    names = [*(one.name for one in stages), _FLOOR]
    longest_s = max(row.seconds for row in rows)
    since = Since.fitting(0.0, longest_s)
    figure = Sheet(13.3, 1.9 + 0.45 * len(rows))
    axes, table = figure.subplots(1, 2, width_ratios=[7.9, 4.4], sharey=True)
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        axes.barh(
            number, since(row.seconds), height=0.62, linewidth=0.0, edgecolor="white",
            color=STAGE_COLOURS.get(name, _PALE), hatch=stage_hatch(name),
        )  # fmt: skip
    row_axis(axes, names)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0.0, 1.02 * since(longest_s) or 1.0)
    axes.set_xlabel(f"mean time of a slow transaction above the network floor ({since.unit})")
    axes.axhline(len(rows) - 1.5, color=GREY, linewidth=0.8)
    draw_row_table(table, rows, "for whom")
    figure.headline(_title(explanation))
    return figure


def _title(explanation: TailExplanation) -> str:
    name = explanation.scenario.get("name")
    share, committed = 100 * explanation.share, amount(explanation.committed)
    which = f"slowest {share:.3g} % of {committed} transactions"
    took = f"{duration(explanation.latency_s)}, the others {duration(explanation.rest_s)}"
    return f"{name}: the {which}: {took}" if name else f"The {which}: {took}"


def _blockers(stage: TailStage) -> str:
    """Those for whom at least one in twenty of its seconds was spent, three at most."""
    return "; ".join(
        f"{100 * one.seconds / stage.slow_s:.0f} % {one.who}"
        + (f" ({one.doing.removeprefix('stage ')})" if one.doing else "")
        for one in stage.blockers[:3]
        if one.seconds >= _WORTH * stage.slow_s
    )


def _draw_phases(axes: Axes, explanation: StallExplanation, least_s: float) -> None:
    """The timers and messages of the stall, in the first row; the longer ones have names."""
    at_s = explanation.stall.began_s
    for number, one in enumerate(explanation.phases):
        axes.barh(0, one.seconds, left=at_s, height=0.8, color=PALETTE[5 if number % 2 else 2],
                  alpha=0.6, edgecolor="white")  # fmt: skip
        if one.seconds > least_s:
            words = f"{one.name} {one.seconds:.2f} s".replace(" ", "\n", one.name.count(" ") + 1)
            axes.text(at_s + 0.5 * one.seconds, 0, words, ha="center", va="center", fontsize=7.0,
                      linespacing=0.95, color=INK, in_layout=False)  # fmt: skip
        at_s += one.seconds


@plot.register(StallExplanation)
def plot_blockages(explanation: StallExplanation) -> Sheet:
    """Draw when each station was blocked: at most 16, those with the longest blockages."""
    found, stall = explanation.blockages, explanation.stall
    if not found and not explanation.phases:
        least = duration(explanation.longer_than_s)
        raise DrawError(f"nothing was blocked for {least} or longer, so there is nothing to draw")
    # A chain takes moments to build up, during which each of its links is the last.
    causes = {
        cause.blockage
        for cause in explanation.causes
        if cause.seconds > 0.5 * found[cause.blockage].within(stall)
    }
    origins = {origin.event: origin.causes for origin in explanation.origins}
    causes -= {n for follows in origins.values() for n in follows}
    stations = list(dict.fromkeys(f"{one.node}  {one.station}" for one in found))[:_MOST_ROWS]
    named = [_PHASES] * bool(explanation.phases) + sorted(stations)
    rows = {station: row for row, station in enumerate(named)}
    spans = [(one.began_s, one.ended_s) for one in found]
    if explanation.phases:
        spans.append((stall.began_s, stall.began_s + stall.seconds))
    began_s, ended_s = min(span[0] for span in spans), max(span[1] for span in spans)
    happened = within(events(explanation.scenario), 0.0, ended_s)
    height_in = 2.2 + _ROW_IN * len(rows)
    figure = Sheet(_WIDTH, height_in)
    axes = figure.subplots()
    if stall.seconds > 0.0:
        axes.axvspan(stall.began_s, stall.began_s + stall.seconds, **SHADE)
    for position, one in enumerate(found):
        row = rows.get(f"{one.node}  {one.station}")
        if row is not None:
            colour = _EXPLAINED if one.within(stall) > 0.0 else _OUTSIDE
            axes.barh(
                row, one.seconds, left=one.began_s, height=0.62,
                color=_CAUSE if position in causes else colour, edgecolor="white",
            )  # fmt: skip
    _draw_phases(axes, explanation, _NAMED * (ended_s - began_s))
    row_axis(axes, rows)
    axes.set_xlabel("simulated time (s)")
    if happened:
        aside_s = 0.02 * (ended_s - began_s)
        axes.set_xlim(began_s - aside_s, ended_s + aside_s)
        names_in = _LETTER_IN * max(len(line_label(station)) for station in rows)
        width_in = min(_WIDTH_IN, _WIDTH - _EDGES_IN - names_in)
        strip_in = draw_events(
            axes, happened, causes=list(origins), width_in=width_in, top=1.0
        )  # above the rows
        axes.set_ylim(len(rows) - 0.5, -0.5 - strip_in / _ROW_IN)
        figure.set_size_inches(_WIDTH, height_in + strip_in)
    shades = {bar.get_facecolor() for bar in axes.patches}
    kinds = {"cause": _CAUSE, "explained by another": _EXPLAINED, "not in the stall": _OUTSIDE}
    handles = [
        Patch(color=shade, label=label)
        for label, shade in kinds.items()
        if to_rgba(shade) in shades
    ]
    if stall.seconds > 0.0:
        silent = f"no commit for {duration(stall.seconds)}"
        handles.append(Patch(color=PALETTE[4], alpha=0.22, label=silent))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    reasons = explanation.sentences()[1:]
    said = next((one for one in reasons if one.startswith("Cause")), " ".join(reasons[:1]))
    said = said.rstrip(".")
    words = f"No commit for {duration(stall.seconds)}. {said}" if stall.seconds > 0.0 else said
    figure.headline(shorten(words, _HEADLINE, placeholder=" ..."))
    return figure
