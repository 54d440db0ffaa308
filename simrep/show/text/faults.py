"""Faults as tables for a terminal: what servers noticed, who was out, and the time line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table

from simrep.measure.spread import Spread
from simrep.measure.units import duration
from simrep.runs.incidents import Faults, Incident
from simrep.runs.timeline import TimelineReport
from simrep.show.text.layout import table, title, words
from simrep.show.views import tables

__all__ = ["fault_parts"]

_table = partial(table, edges=True)


@tables.register(Faults)
def faults_tables(faults: Faults) -> Group:
    """What servers noticed of every fault, and the nodes that were out."""
    parts: list[RenderableType] = []
    for name, content in fault_parts(faults).items():
        parts += [title(name), content]
    return Group(*parts) if parts else Group(words("The scenario has no faults."))


@tables.register(TimelineReport)
def timeline_tables(timeline: TimelineReport) -> Group:
    """A row per line."""
    rows = ((f"{line.at_s:.3f} s", str(line)) for line in timeline.lines)
    heading = f"Time line of replication {timeline.replication}"
    return Group(title(heading), table(("time", "what"), "RL", rows))


def fault_parts(faults: Faults) -> dict[str, Table]:
    """The tables of faults by their titles; none if no server noticed anything."""
    parts = {}
    noticed = [one for one in faults.values() if one.noticed]
    if noticed:
        parts["What servers noticed, in seconds after each fault"] = _noticed(noticed)
    if any(one.absences for one in noticed):
        parts["Nodes that were out; state and synced: seconds after the fault ended"] = _absences(
            noticed
        )
    return parts


def spread_text(spread: Spread, text: Callable[[float], str] = duration) -> str:
    """The median, and the range over replications if there are several."""
    if not spread.known:
        return "-"
    if len(spread.values) == 1 or spread.low == spread.high:
        return text(spread.median)
    return f"{text(spread.median)} ({text(spread.low)} .. {text(spread.high)})"


def _seconds(spread: Spread) -> str:
    """Seconds with two decimals, which timers of servers need."""
    return spread_text(spread, lambda seconds: f"{seconds:.2f}")


def _called(incident: Incident) -> str:
    return incident.what if incident.name == incident.path else incident.name


def _noticed(found: Iterable[Incident]) -> Table:
    heads = ("fault", "at (s)", "link lost", "suspected", "by", "new view", "primary")
    rows = (
        (_called(one), f"{one.at_s:g}", _seconds(one.link_closed_s), _seconds(one.suspected_s),
         ", ".join(one.suspected_by) or "-", _seconds(one.view_s), _seconds(one.primary_s))
        for one in found
    )  # fmt: skip
    return _table(heads, "lrrrlr", rows)


def _absences(found: Iterable[Incident]) -> Table:
    heads = ("node", "fault", "non-primary", "primary again", "back by", "has the state", "synced")
    rows = (
        (node, _called(one), _seconds(absence.non_primary_s), _seconds(absence.primary_s),
         ", ".join((*absence.how, *(f"from {donor}" for donor in absence.donor), *absence.ended))
         or "-",
         _seconds(absence.joined_s), _seconds(absence.synced_s))
        for one in found
        for node, absence in one.absences.items()
    )  # fmt: skip
    return _table(heads, "llrrlr", rows)
