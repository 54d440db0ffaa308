"""The points of a sweep as tables: rows for files and frames, columns for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any

from rich.console import Group

from simrep.measure.units import counted, duration, number, unit_of
from simrep.runs.pilot import FIRST_LOOK
from simrep.scenario.changes import short_names
from simrep.show.text.layout import closing, table, title
from simrep.show.views import html, tables
from simrep.whatif.point import SweepPoint
from simrep.whatif.sweep import Sweep

_SHOWN = ("throughput_tps", "latency_s.p95")  # beside what was asked for
_LEAST = 0.1  # percent; narrower intervals are not printed more finely
_NOTICES = 4  # so many kinds are printed


@tables.register(Sweep)
def sweep_tables(sweep: Sweep) -> Group:
    """Levels, and a few figures with half of their intervals; notices below."""
    heading = f"{sweep.name or 'Sweep'}, {counted(len(sweep.points), 'point')}, seed {sweep.seed}"
    points = table(_headings(sweep), "r", _cells(sweep), edges=True, keys=len(sweep.factors))
    return Group(title(heading), points, closing(_remarks(sweep)))


@html.register(Sweep)
def sweep_page(sweep: Sweep) -> str:
    """The same for a notebook."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in _headings(sweep))
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _cells(sweep)
    )
    said = "".join(f"<p>{escape(line)}</p>" for line in _remarks(sweep))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"


def _headings(sweep: Sweep) -> list[str]:
    return [*short_names(sweep.factors).values(), *_figures(sweep)]


def _figures(sweep: Sweep) -> list[str]:
    return list(dict.fromkeys((*sweep.asked, *_SHOWN)))


def _cells(sweep: Sweep) -> Iterator[list[str]]:
    for point in sweep.points:
        labels = [_label(point.labels[factor]) for factor in sweep.factors]
        if point.error:
            yield [*labels, point.error]
        else:
            yield [*labels, *(_figure(point, figure) for figure in _figures(sweep))]


def _label(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _figure(point: SweepPoint, figure: str) -> str:
    mean, found = point.mean(figure), point.interval(figure)
    text = duration(mean) if unit_of(figure) == "s" else number(mean)
    if found is None or not found.mean:
        return text
    percent = 100 * found.relative
    return f"{text} ± {percent:.2g} %" if percent >= _LEAST else f"{text} ± <{_LEAST} %"


def _remarks(sweep: Sweep) -> Iterator[str]:
    if not sweep.complete:
        yield f"Interrupted after {counted(len(sweep.points), 'point')}."
    if any(point.replications == 1 for point in sweep.points):
        yield "Single replications have no intervals: ask for several, or for a precision."
    told = Counter(notice for point in sweep.points for notice in point.notices)
    looks = {notice: told.pop(notice) for notice in [*told] if notice.startswith(FIRST_LOOK)}
    if looks:
        rests = [
            f"{look.removeprefix(FIRST_LOOK)} ({counted(n, 'point')})" for look, n in looks.items()
        ]
        more = "; ..." if len(rests) > _NOTICES else ""
        yield f"A first look: {'; '.join(rests[:_NOTICES])}{more}."
    said = told.most_common()
    for notice, count in said[:_NOTICES]:
        yield f"{notice} ({count} of {counted(len(sweep.points), 'point')})."
    if len(said) > _NOTICES:
        yield f"And {sum(count for _, count in said[_NOTICES:])} more of the kind."
