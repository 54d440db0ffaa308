"""Where a growing load ends as text: the ladder of what gives out, and what would help."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group

from simrep.measure.units import duration, number
from simrep.show.text.layout import table
from simrep.show.text.plan import answer_tables
from simrep.show.views import tables
from simrep.whatif.plan.headroom import Headroom
from simrep.whatif.plan.ladder import Level

__all__ = ["headroom_tables"]

_LEAST_GAIN = 1.02  # less is chance


@tables.register(Headroom)
def headroom_tables(answer: Headroom) -> Group:
    """A row per step of the ladder, and one per resource that helps at its end."""
    sure = answer.confidence
    within = "kept up .. not" if sure is None else f"{100.0 * sure:.3g} %"
    heads = ("gives out", "at", within, "load", "kept up (1/s)", "p95", "evidence")
    today = _today(answer)
    rows = [("(today)", "1", "", answer_load(answer, today), number(today.kept_up_tps),
             duration(today.latency_p95_s), "")]  # fmt: skip
    for rung in answer.rungs:
        shows = rung.why if rung.by is None else f"{rung.by.evidence}; {rung.why}".lstrip("; ")
        rows.append(
            (rung.name, number(rung.factor.mean),
             f"{number(rung.factor.low)} .. {number(rung.factor.high)}",
             answer_load(answer, rung.end), number(rung.end.kept_up_tps),
             duration(rung.end.latency_p95_s), shows)
        )  # fmt: skip
    ladder = table(heads, "lrrrrrl", rows)
    helping = list(_helping(answer))
    if not helping:
        return answer_tables(answer, ladder)
    gains = table(("when this gives out", "more of this", "", "helps"), "lllr", helping)
    return answer_tables(answer, Group(ladder, gains))


def answer_load(answer: Headroom, level: Level) -> str:
    """A load in words."""
    unit = "clients" if answer.by == "clients" else "/s"
    return f"{number(level.offered)} {unit}" if unit == "clients" else f"{number(level.offered)}/s"


def _today(answer: Headroom) -> Level:
    return next(one for one in answer.rungs[0].levels if one.factor == 1.0)


def _helping(answer: Headroom) -> Iterator[tuple[str, str, str, str]]:
    """What helps at the end of each rung."""
    for rung in answer.rungs:
        shown = [one for one in rung.helped if one.gain >= _LEAST_GAIN]
        for place, one in enumerate(shown):
            name = rung.name if place == 0 else ""
            yield name, one.resource.name, one.resource.wider, f"{one.gain - 1.0:+.0%}"
