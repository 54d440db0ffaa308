"""Procedures as tables for a terminal: a row for every node that was taken."""

from __future__ import annotations

from math import isnan

from rich.console import Group
from rich.table import Table

from simrep.measure.spread import Spread
from simrep.measure.units import duration, number
from simrep.runs.procedure_record import ProcedureRecord
from simrep.show.text.faults import spread_text
from simrep.show.text.layout import table
from simrep.show.text.plan import answer_tables
from simrep.show.views import tables
from simrep.whatif.plan.rolling_restart import RollingRestart

__all__ = ["procedure_heading", "steps_table"]


@tables.register(RollingRestart)
def rolling_restart_tables(answer: RollingRestart) -> Group:
    """A row per node."""
    return answer_tables(answer, steps_table(answer.record, begins=False))


def procedure_heading(one: ProcedureRecord) -> str:
    """What it was, how long it took, and how few nodes served at a time."""
    what = one.what.replace("-", " ").capitalize()
    name = "" if one.name.startswith("procedure.") else f" {one.name!r}"
    serving = number(one.serving.low)
    told = f"{serving} node{'s' if serving != '1' else ''} served at the fewest"
    if one.stopped:
        return f"{what}{name}: stopped, as {'; '.join(one.stopped)}; {told}"
    reduced = f"{spread_text(one.reduced_s)} with fewer nodes than at the begin"
    if one.what == "grow":
        reduced = f"{number(one.before_tps.median)} commits/s before"
    return f"{what}{name}: {spread_text(one.total_s)} in all, {reduced}; {told}"


def steps_table(one: ProcedureRecord, *, begins: bool = True) -> Table:
    """Where the time of every step goes, and what clients saw of it."""
    moves = any(step.promoted for step in one.steps.values())
    heads = (
        *("node", *(("from (s)",) if begins else ()), *(("promoted",) if moves else ())),
        *("stops", "down", "back", "in all"),
        *("serving", "stall", "worst s", "errors"),
    )
    rows = (
        (
            step.node,
            *((f"{step.began_s.median:.5g}",) if begins else ()),
            *((", ".join(step.promoted) or "-",) if moves else ()),
            _known(step.stop_s),
            _known(step.down_s),
            _known(step.back_s),
            spread_text(step.duration_s),
            spread_text(step.serving, number),
            spread_text(step.stall_s),
            spread_text(step.worst_tps, number),
            spread_text(step.errors, number),
        )
        for step in one.steps.values()
    )
    return table(heads, f"l{'r' * begins}{'l' * moves}r", rows, edges=True)


def _known(spread: Spread) -> str:
    return "-" if isnan(spread.median) or not spread.median else spread_text(spread, duration)
