"""Explanations as text: one transaction, the slowest ones, a stall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from rich.console import Group
from rich.table import Table

from simrep.measure.units import amount, duration, size
from simrep.runs.timeline import without_repeats
from simrep.show.text.layout import sentences, table, title, words
from simrep.show.views import tables
from simrep.why.commit import CommitStage, Explanation, Transmission
from simrep.why.stall import StallExplanation
from simrep.why.tail import TailExplanation
from simrep.why.window import WindowExplanation

__all__ = ["StageRow", "stage_rows"]

_BAR = 24  # columns of the whole latency
_MOST_MESSAGES = 16
_MOST_ROWS = 12
_MOST_BLOCKAGES = 20
_MOST_MEMBERSHIP = 60
_MOST_ALIKE = 4  # of one kind, where there are more than that
_AT_ONCE = 0.5  # of its way: what a node sends until then follows from the same as the first
_LOST_S = 1e-4  # stands for the way of a message that was lost


@tables.register(Explanation)
def explanation_tables(explanation: Explanation) -> Group:
    """The stages as bars, and the messages that the commit waited for."""
    one = explanation
    rows = "1 row" if one.rows == 1 else f"{one.rows:,} rows"
    facts = (
        f"client {one.client}, {rows}, {size(one.size_bytes)}, from {one.started_s:.6f} to "
        f"{one.ended_s:.6f} s, {duration(one.latency_s)}, seed {one.seed}"
    )
    heading = f"{one.title[0].upper()}{one.title[1:]}"
    parts: list[Any] = [title(heading), words(facts), words(""), _waterfall(one)]
    critical = [message for message in one.messages if message.critical]
    if critical:
        origin = one.nodes[one.node]
        parts += [title(f"Messages that it waited for, times since its start on {origin}")]
        parts += [_messages(one, critical)]
    return Group(*parts)


@tables.register(TailExplanation)
def tail_tables(explanation: TailExplanation) -> Group:
    """Sentences and a table of the stages."""

    def rest(seconds: float) -> str:
        return "-" if isnan(seconds) else duration(seconds)

    heads = ("stage", "slowest", "others", "network floor", "above the floor", "share")
    rows = (
        (one.name, duration(one.slow_s), rest(one.rest_s),
         duration(one.floor_s) if one.floor_s else "-", duration(one.above_s), f"{one.share:.1%}")
        for one in explanation.stages
    )  # fmt: skip
    whole = explanation
    total = (
        *("latency", duration(whole.latency_s), rest(whole.rest_s)),
        *(duration(whole.floor_s), duration(whole.above_s), "100.0%"),
    )
    stages = table(heads, "LR", rows, total=total)
    return Group(sentences(explanation.sentences()), words(""), stages)


@tables.register(StallExplanation)
def stall_tables(explanation: StallExplanation) -> Group:
    """Sentences and a table of the longest blockages."""
    parts: list[Any] = [sentences(explanation.sentences())]
    shown = explanation.blockages[:_MOST_BLOCKAGES]
    if shown:
        heading = (
            f"Blockages of {duration(explanation.longer_than_s)} or longer, seed "
            f"{explanation.seed}: the longest {len(shown)} of {amount(len(explanation.blockages))}"
        )
        rows = (
            (f"{one.began_s:.3f} s", duration(one.seconds),
             duration(inside_s) if (inside_s := one.within(explanation.stall)) > 0.0 else "-",
             str(one))
            for one in shown
        )  # fmt: skip
        blockages = table(("began", "lasted", "in stall", "what"), "RRRl", rows)
        parts += [words(""), title(heading), blockages]
    return Group(*parts)


@tables.register(WindowExplanation)
def window_tables(window: WindowExplanation) -> Group:
    """The lines of the time line, and the messages of the membership."""
    lines = ((f"{one.at_s:.4f} s", text) for one, text in without_repeats(window.lines))
    parts: list[Any] = [title(f"Time line {window.title}"), table(("time", "what"), "Rl", lines)]
    groups = _together(window.messages)
    if len(groups) > _MOST_MEMBERSHIP:
        groups = _without_alike(groups)
    rows = [_copies_row(window, group) for group in groups[:_MOST_MEMBERSHIP]]
    shown = sum(map(len, groups[:_MOST_MEMBERSHIP]))
    if left := len(window.messages) - shown:
        rows.append(("", "", "", f"and {left} more", ""))
    if not rows:
        return Group(*parts, words("No message by which servers agree who is there was sent."))
    parts += [
        title(f"Messages by which servers agree who is there; {amount(window.others)} others"),
        table(("sent", "from", "to", "message", "on its way"), "RLLlR", rows),
    ]
    return Group(*parts)


def _together(messages: Sequence[Transmission]) -> list[list[Transmission]]:
    """Messages of one name that a node sends at once, to all others or for them, as a group."""
    groups: list[list[Transmission]] = []
    latest: dict[tuple[int, str], list[Transmission]] = {}
    for one in messages:
        group = latest.get((one.source, one.label))
        if group is not None and one.sent_s - group[0].sent_s <= _AT_ONCE * _flight_s(group[0]):
            group.append(one)
        else:
            latest[one.source, one.label] = group = [one]
            groups.append(group)
    return groups


def _without_alike(groups: Sequence[list[Transmission]]) -> list[list[Transmission]]:
    """The first few of each kind, from the same node: what is said again and again says no more."""
    told: Counter[tuple[int, str]] = Counter()
    kept = []
    for group in groups:
        kind = group[0].source, group[0].label
        told[kind] += 1
        if told[kind] <= _MOST_ALIKE:
            kept.append(group)
    return kept


def _flight_s(message: Transmission) -> float:
    """How long it was on its way; a moment if it was lost."""
    return _LOST_S if isnan(message.arrived_s) else message.arrived_s - message.sent_s


def _copies_row(window: WindowExplanation, group: Sequence[Transmission]) -> tuple[str, ...]:
    """When, from whom, to whom, what and how often, how long it took."""
    first = group[0]
    targets = sorted({one.target for one in group})
    copies = f" ({len(group)} copies)" if len(group) > len(targets) else ""
    flights = sorted(_flight_s(one) for one in group if not isnan(one.arrived_s))
    lost = len(group) - len(flights)
    took = " .. ".join(dict.fromkeys(map(duration, (*flights[:1], *flights[-1:]))))
    lost_text = "lost" if lost == len(group) else f"{lost} lost" if lost else ""
    return (
        f"{first.sent_s:.4f} s",
        window.nodes[first.source],
        ", ".join(window.nodes[target] for target in targets),
        f"{first.label}{copies}",
        ", ".join(filter(None, (took, lost_text))),
    )


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage, or all of a name."""

    stages: tuple[CommitStage, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        name, times = self.stages[0].name, len(self.stages)
        return name if times == 1 else f"{name} ({times:,} times)"

    @property
    def seconds(self) -> float:
        """All of them together."""
        return sum(one.seconds for one in self.stages)

    @property
    def reason(self) -> str:
        """Of the longest that has one."""
        known = [one for one in self.stages if one.reason]
        return max(known, key=lambda one: one.seconds).reason if known else ""


def stage_rows(stages: Sequence[CommitStage]) -> list[StageRow]:
    """A row per stage; if those are too many, one per name, in the order of their first begin."""
    if len(stages) <= _MOST_ROWS:
        return [StageRow((one,)) for one in stages]
    names = dict.fromkeys(one.name for one in stages)
    return [StageRow(tuple(one for one in stages if one.name == name)) for name in names]


def _waterfall(one: Explanation) -> Table:
    rows = (
        (row.name, duration(row.stages[0].began_s - one.started_s), duration(row.seconds),
         f"{row.seconds / one.latency_s:.1%}" if one.latency_s > 0.0 else "-", _bar(one, row),
         row.reason)
        for row in stage_rows(one.stages)
    )  # fmt: skip
    heads = ("stage", "began", "lasted", "share", "", "why")
    total = ("latency", "", duration(one.latency_s), "100.0%", "", "")
    return table(heads, "LRRRLl", rows, total=total)


def _bar(one: Explanation, row: StageRow) -> str:
    """The places of its stages in the latency; at least a thin line each."""
    cells = [" "] * _BAR
    if one.latency_s > 0.0:
        for stage in row.stages:
            first = int(_BAR * (stage.began_s - one.started_s) / one.latency_s)
            last = round(_BAR * (stage.ended_s - one.started_s) / one.latency_s)
            first = min(first, _BAR - 1)
            if last > first:
                cells[first:last] = "█" * (last - first)
            elif cells[first] == " ":
                cells[first] = "▏"
    return "".join(cells).rstrip()


def _messages(one: Explanation, critical: list[Transmission]) -> Table:
    rows = [
        (_since(message.sent_s - one.started_s), _since(message.arrived_s - one.started_s),
         one.nodes[message.source], one.nodes[message.target], message.label,
         duration(message.arrived_s - message.sent_s))
        for message in critical[:_MOST_MESSAGES]
    ]  # fmt: skip
    left = len(critical) - _MOST_MESSAGES
    if left > 0:
        rows.append(("", "", "", "", f"and {left} more", ""))
    return table(("sent", "arrived", "from", "to", "message", "on its way"), "RRLLlR", rows)


def _since(seconds: float) -> str:
    """A time since the start; what was sent before it is negative."""
    return duration(seconds) if seconds >= 0.0 else f"-{duration(-seconds)}"
