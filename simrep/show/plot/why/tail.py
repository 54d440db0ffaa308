"""The figure of the slowest transactions of a run: their time above the network floor, by stage."""

from __future__ import annotations

from simrep.measure.units import amount, duration
from simrep.show.plot.axes import Since
from simrep.show.plot.stages import STAGE_COLOURS, stage_hatch
from simrep.show.plot.style import GREY, Sheet
from simrep.show.plot.why.waterfall import TableRow, draw_row_table
from simrep.show.views import plot
from simrep.why.tail import TailExplanation, TailStage

__all__ = ["plot_tail"]

_FLOOR = "network floor"
_PALE = "#C3C8CF"
_WORTH = 0.05  # of its stage: a blocker that deserves to be named


@plot.register(TailExplanation)
def plot_tail(explanation: TailExplanation) -> Sheet:
    """Draw where the slowest transactions spent their time, above what the network alone takes.

    Returns
    -------
    Sheet
        A matplotlib figure: a bar per stage, the longest first, and one for the network floor;
        beside them time, share, and for whom the transactions waited.
    """
    stages = [one for one in explanation.stages if one.above_s > 0.0]
    rows = [TableRow(one.above_s, one.share, _blockers(one)) for one in stages]
    rows.append(
        TableRow(explanation.floor_s, None, "messages on their way, if nobody else is there")
    )
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
    axes.set_yticks(range(len(rows)), labels=names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.02 * since(longest_s) or 1.0)
    axes.set_xlabel(f"mean time of a slow transaction above the network floor ({since.unit})")
    axes.grid(visible=False, axis="y")
    axes.axhline(len(rows) - 1.5, color=GREY, linewidth=0.8)
    draw_row_table(table, rows, "for whom")
    figure.suptitle(_title(explanation), x=0.012, ha="left")
    return figure


def _title(explanation: TailExplanation) -> str:
    name = explanation.scenario.get("name")
    which = (
        f"slowest {100 * explanation.share:.3g} % of {amount(explanation.committed)} transactions"
    )
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
