"""What a consistency of reads costs, as text: levels side by side, then over distance and load."""

from __future__ import annotations

from math import isnan

from rich.console import Group
from rich.table import Table

from simrep.measure.histogram import LatencyHistogram
from simrep.measure.units import duration, number
from simrep.show.text.layout import table, words
from simrep.show.text.plan import answer_tables
from simrep.show.views import tables
from simrep.whatif.plan.reads import ReadCell, Reads

__all__ = ["reads_tables"]

_SEES = {"all": "all", "own": "own writes", "any": "-"}


@tables.register(Reads)
def reads_tables(answer: Reads) -> Group:
    """A row per level for the scenario itself; then a row per distance and load."""
    first = _levels(answer)
    if len(answer.points) < 2:
        return answer_tables(answer, first)
    head = words("\nReads p95 / writes p95 / stale reads, over distance and load\n", "bold")
    return answer_tables(answer, Group(first, head, _points(answer)))


def _levels(answer: Reads) -> Table:
    own = any(cell.stale.of_own for cell in answer.cells)
    heads = ["level", "promises", "reads p50", "p95", "writes p50", "p95", "writes/s", "stale",
             "age p95", "oldest", *(["own missing"] * own)]  # fmt: skip
    rows = [_row(cell, own) for cell in answer.at(answer.own.rtt_ms, answer.own.load)]
    return table(heads, "ll" + "r" * (len(heads) - 2), rows)


def _row(cell: ReadCell, own: bool) -> tuple[str, ...]:
    stale = cell.stale
    return (
        cell.level.name,
        _SEES[cell.level.sees],
        *_both(cell.reads),
        *_both(cell.writes),
        number(cell.writes_tps),
        _share(stale.share),
        duration(cell.age_s) if stale.reads else "-",
        duration(stale.ages.max_s) if stale.reads else "-",
        *([_share(stale.own_share)] * own),
    )


def _points(answer: Reads) -> Table:
    several = len({rtt for rtt, _ in answer.points}) > 1
    heads = [*(["round trip"] * several), "load", *(level.name for level in answer.levels)]
    rows = []
    for rtt, load in answer.points:
        cells = answer.at(rtt, load)
        known = [_brief(cell) for cell in cells]
        known += ["-"] * (len(answer.levels) - len(known))
        trip = [] if not several else [f"{rtt or 0.0:g} ms"]
        rows.append((*trip, cells[0].writers, *known))
    return table(heads, "r" * len(heads), rows)


def _brief(cell: ReadCell) -> str:
    reads, writes = (_at(one, 95.0) for one in (cell.reads, cell.writes))
    return f"{reads} / {writes} / {_share(cell.stale.share)}"


def _both(latency: LatencyHistogram) -> tuple[str, str]:
    return _at(latency, 50.0), _at(latency, 95.0)


def _at(latency: LatencyHistogram, q: float) -> str:
    return duration(latency.percentile(q)) if latency.count else "-"


def _share(share: float) -> str:
    if isnan(share):
        return "-"
    return "0" if share == 0.0 else f"{100.0 * share:.2g} %" if share < 0.995 else "100 %"
