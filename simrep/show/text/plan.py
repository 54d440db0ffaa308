"""Answers to inverse questions as text: the question, what was simulated, the answer and notes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from statistics import median

from rich.console import Group, RenderableType
from rich.table import Table

from simrep.measure.confidence import Interval
from simrep.measure.units import duration, number
from simrep.scenario.changes import short_names
from simrep.show.text.layout import closing, table, title, words
from simrep.show.views import tables
from simrep.whatif.objective import Condition
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.capacity import Capacity, Carried
from simrep.whatif.plan.product import Product
from simrep.whatif.plan.rate import Rate
from simrep.whatif.plan.threshold import Threshold
from simrep.whatif.plan.timeouts import Timeouts

__all__ = ["answer_tables"]

_WORDS = {"met": "met", "failed": "not met", "open": "open"}
_MEETS = {"met": "yes", "failed": "no", "open": "perhaps"}


def answer_tables(answer: Answer, simulated: RenderableType) -> Group:
    """An answer around a table of what was simulated, for every kind of question."""
    missing = "" if answer.complete else "the search is not over"
    notes = [closing(["", *answer.notes], missing=missing)] if answer.notes or missing else []
    heading = f"{answer.question}, seed {answer.seed}"
    return Group(title(heading), simulated, words(answer.sentence), *notes)


@tables.register(Threshold)
def threshold_tables(answer: Threshold) -> Group:
    """A row per value that was tried."""
    return answer_tables(answer, _tried(answer))


def _tried(answer: Threshold) -> Table:
    conditions = answer.objective.conditions
    heads = [answer.varied.name, *map(answer.heading, conditions), "replications", ""]
    rows = (
        (answer.varied.text(one.value), *map(_cell, conditions, one.means, one.intervals),
         str(one.replications), _WORDS[one.verdict])
        for one in answer.tried
    )  # fmt: skip
    return table(heads, _columns(heads), rows)


@tables.register(Capacity)
def capacity_tables(answer: Capacity) -> Group:
    """A row per value of one topology, or per topology of several."""
    if len(answer.carried) == 1:
        return answer_tables(answer, _tried(answer.carried[0].search))
    conditions = answer.objective.conditions
    levels = short_names(dict.fromkeys(path for one in answer.carried for path in one.levels))
    named = len({one.name for one in answer.carried}) > 1 or not levels
    heads = [*(["topology"] * named), *levels.values(), answer.by, "not at"]
    heads += [*(condition.name for condition in conditions), "limited by"]
    rows = (
        (*([one.name] * named), *(str(one.levels[path]) for path in levels),
         _known(one, one.search.value), _known(one, one.search.high),
         *("-" if one.at is None else c.text(one.at.means[place])
           for place, c in enumerate(conditions)), one.limited_by)
        for one in answer.carried
    )  # fmt: skip
    return answer_tables(answer, table(heads, _columns(heads, words=int(named)), rows))


def _known(one: Carried, value: float | None) -> str:
    return "-" if value is None else one.search.varied.text(value).partition(" ")[0]


@tables.register(Rate)
def rate_tables(answer: Rate) -> Group:
    """A row per search."""
    heads = ("replication", "sustained", "not sustained", "probes", "limited by")
    rows = (
        (str(place), number(one.low_tps), number(one.high_tps), str(len(one.probes)),
         one.limited_by)
        for place, one in enumerate(answer.searches)
    )  # fmt: skip
    return answer_tables(answer, table(heads, _columns(heads), rows))


@tables.register(Product)
def product_tables(answer: Product) -> Group:
    """A row per candidate."""
    conditions = answer.objective.conditions
    heads = ["product", "servers", "met", *(condition.name for condition in conditions), "why"]
    rows = (
        (one.candidate.product, one.candidate.servers, _MEETS[one.tried.verdict],
         *(c.text(mean) for c, mean in zip(conditions, one.tried.means, strict=True)), one.reason)
        for one in answer.ranked
    )  # fmt: skip
    return answer_tables(answer, table(heads, _columns(heads, words=3), rows))


def _columns(heads: Sequence[str], words: int = 1) -> str:
    """Words at the left, then numbers, and words in the last column."""
    return "l" * words + "r" * (len(heads) - words - 1) + "l"


def _cell(condition: Condition, mean: float, interval: Interval) -> str:
    low, high = condition.text(interval.low), condition.text(interval.high)
    return condition.text(mean) if low == high else f"{condition.text(mean)} ({low} .. {high})"


@tables.register(Timeouts)
def timeouts_tables(answer: Timeouts) -> Group:
    """A row per setting: what a crash costs, then what came of short outages."""
    heads = (answer.option, "", "crash: stall", f"{answer.verb} after", "commits/s before",
             "outage: stall", "suspected", answer.verb)  # fmt: skip
    rows = [
        (
            one.setting.brief,
            one.setting.name,
            duration(median(one.crash_s)),
            duration(gone_s) if isfinite(gone_s := median(one.removed_s)) else "never",
            number(median(one.rates_tps)),
            duration(median(one.outage_s)),
            f"{one.suspected} of {len(one.outage_s)}",
            f"{one.removed} of {len(one.outage_s)}",
        )
        for one in answer.tried
    ]
    return answer_tables(answer, table(heads, "llrrrrrr", rows))
