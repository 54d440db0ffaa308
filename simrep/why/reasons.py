"""Whom a transaction waited for, and for which messages."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Sequence
from math import inf, isnan
from operator import attrgetter
from typing import NamedTuple

from simrep.kernel.trace import MessageText, Sent
from simrep.kernel.watch import NO_LAP, Key, Span, Waited
from simrep.measure.units import duration
from simrep.runs.story import Journey, Story, belongs
from simrep.workload.laps import LAPS
from simrep.workload.transaction import Transaction

__all__ = ["Causes", "Messages", "Reasons"]


class Messages:
    """Each is described once; what is asked about transactions then costs little."""

    def __init__(self, story: Story) -> None:
        self.names = story.names
        self._texts = [story.describe(sent.message) for sent in story.sent]
        self._carrying: dict[int, list[Sent]] = defaultdict(list)
        self._placed: dict[Hashable, list[Sent]] = defaultdict(list)
        self._followers: dict[int, list[Sent]] = defaultdict(list)
        for sent, text in zip(story.sent, self._texts, strict=True):
            for one in text.about:
                self._carrying[id(getattr(one, "whole", None) or one)].append(sent)
            if text.position is not None:
                self._placed[text.position].append(sent)
            if sent.cause is not None:
                self._followers[sent.cause.number].append(sent)

    def text(self, sent: Sent) -> MessageText:
        """What a message is."""
        return self._texts[sent.number]

    def of(self, transaction: Transaction) -> set[Sent]:
        """Those that carry a transaction, and the answers to them."""
        found = {
            sent
            for sent in self._carrying.get(id(transaction), ())
            if any(belongs(one, transaction) for one in self.text(sent).about)
        }
        positions = {self.text(sent).position for sent in found} - {None}
        found |= {sent for position in positions for sent in self._placed[position]}
        return found | {one for sent in found for one in self._followers.get(sent.number, ())}

    def cause(self, sent: Sent) -> Sent | None:
        """What its sender had been handling, or what it answers."""
        if sent.cause is not None:
            return sent.cause
        position = self.text(sent).position
        answered = [
            other
            for other in (self._placed[position] if position is not None else ())
            if other.target == sent.source and other.arrived_s <= sent.sent_s
        ]
        return answered[-1] if answered else None


_WORTH = 0.05
"""Share of a stage: whom it waited for a shorter time is not worth a word."""
_MOST = 0.8
"""Share of a stage: whom it waited for a shorter time is not all that there is to say."""


class Reasons:
    """What stations waited for, by station.

    The total order waits for whom nothing was heard of for longer than ``silence_s``, and not for a
    message on its way.
    """

    def __init__(self, story: Story, nodes: Sequence[str], silence_s: float = inf) -> None:
        self._nodes = nodes
        self._silence_s = silence_s
        self._by_node: dict[tuple[str, Hashable], list[Waited]] = defaultdict(list)
        self._journeys = {id(one.transaction): one for one in story.all_journeys}
        for one in story.waited:
            for key in one.waiters:
                self._by_node[key].append(one)

    def waits(
        self, node: str, who: Hashable, stage: str, began_s: float, ended_s: float
    ) -> list[tuple[float, Waited]]:
        """What somebody waited for in a stage, and for how long, the longest first."""
        found = []
        for one in self._by_node.get((node, who), ()):
            lap = "" if one.lap == NO_LAP else LAPS[one.lap]
            if lap == stage and (stage != "order" or self._is_long(one)):
                seconds = min(one.ended_s, ended_s) - max(one.began_s, began_s)
                if seconds > 0.0:
                    found.append((seconds, one))
        found.sort(key=lambda pair: -pair[0])
        return found

    def longest(self, node: str, who: Hashable, began_s: float, ended_s: float) -> str:
        """The stage in which somebody waited longest in a time; empty if in none."""
        total_s = {
            stage: sum(seconds for seconds, _ in self.waits(node, who, stage, began_s, ended_s))
            for stage in LAPS
        }
        longest = max(LAPS, key=lambda stage: total_s[stage])
        return longest if total_s[longest] > 0.0 else ""

    def _is_long(self, one: Waited) -> bool:
        """Whether a member was silent for so long that no message of it was on its way."""
        return one.ended_s - one.began_s > self._silence_s

    def of(self, node: str, who: Hashable, stage: str, began_s: float, ended_s: float) -> str:
        """Whom somebody waited for in a stage; empty if that is not known."""
        least_s = _WORTH * (ended_s - began_s)
        by_holder: dict[Hashable, list[tuple[float, Waited]]] = defaultdict(list)
        for seconds, one in self.waits(node, who, stage, began_s, ended_s):
            by_holder[one.holder.keys or one.holder.text].append((seconds, one))
        held = [(sum(s for s, _ in waits), waits[0][1]) for waits in by_holder.values()]
        held = sorted((one for one in held if one[0] >= least_s), key=lambda one: -one[0])
        if not held:
            return ""
        longest_s, longest = held[0]
        text = self._sentence(longest, began_s, ended_s)
        if longest_s < _MOST * (ended_s - began_s):
            text = f"for {duration(longest_s)} {text}"
        others = len(held) - 1
        return f"{text}; before or after it {others} more" if others else text

    def of_span(self, span: Span) -> str:
        """What a wait was for."""
        longest_s, text = 0.0, "waits"
        for one in self._by_node.get((span.node, span.who), ()):
            if one.station == span.station and one.detail == span.detail:
                seconds = min(one.ended_s, span.ended_s) - max(one.began_s, span.began_s)
                if seconds > longest_s:
                    longest_s, text = seconds, f"waits for {one.holder.text}"
        return text

    def _sentence(self, one: Waited, began_s: float, ended_s: float) -> str:
        """A blockage without its duration."""
        station = f"row {one.detail}" if one.detail else one.station
        verb = " ".join(one.holder.verb.replace("{}", "").split())
        text = f"{station} {verb} {one.holder.text}"
        began_s, ended_s = max(began_s, one.began_s), min(ended_s, one.ended_s)
        for key in one.holder.keys:
            stage = self.stage_of(key, began_s, ended_s)
            if stage:
                return f"{text}, then in its stage {stage}"
        return f"{text}, which was {one.doing}" if one.doing else text

    def stage_of(self, key: Key, began_s: float, ended_s: float) -> str:
        """The stage in which somebody was longest; empty if it is no transaction of that node."""
        shares = self.stages_of(key, began_s, ended_s)
        return max(shares, key=lambda name: shares[name]) if shares else ""

    def stages_of(self, key: Key, began_s: float, ended_s: float) -> dict[str, float]:
        """How long a transaction was in each of its stages between two times, in seconds."""
        node, who = key
        journey = self._journeys.get(id(who))
        if journey is None or self._nodes[journey.transaction.node] != node:
            return {}
        shares: dict[str, float] = {}
        at_s = journey.transaction.started_s
        for leg in journey.legs:
            leg_began_s, at_s = at_s, at_s + leg.seconds
            seconds = min(at_s, ended_s) - max(leg_began_s, began_s)
            if seconds > 0.0:
                name = LAPS[leg.lap]
                shares[name] = shares.get(name, 0.0) + seconds
        return shares


_ACKNOWLEDGED = "acknowledgement"
_WAITING = {"queue", "send window", "order", "consistency", _ACKNOWLEDGED, "commit order"}
_DID = {"send window": "let it go", "order": "made it safe to deliver"}
_ROUNDING_S = 1e-9


class _End(NamedTuple):
    """A leg that a message ended; its causes count back to ``since_s``."""

    name: str
    began_s: float
    ended_s: float
    cause: Sent
    since_s: float


class Causes:
    """What one transaction waited for, among the messages of a story.

    ``own`` are those that carry it, and the answers to them; ``critical`` those without which it
    could not have gone on when it did: the message that ended a stage, what its sender had been
    handling when it sent that, and so on, as far as the stage goes back.
    """

    def __init__(self, story: Story, messages: Messages, journey: Journey) -> None:
        self._messages = messages
        self._legs = journey.legs
        self._ends = _stage_ends(story, journey)
        self.critical = {sent for end in self._ends for sent in self.chain(end)}
        self.own = messages.of(journey.transaction) | self.critical

    @property
    def untold(self) -> bool:
        """Whether it waited for other nodes, and the model did not tell for which message."""
        waited = any(leg.seconds > 0.0 and LAPS[leg.lap] in _WAITING for leg in self._legs)
        return waited and not self._ends

    def chain(self, end: _End) -> list[Sent]:
        """The message that ended a stage, and what led to it, the last one first."""
        chain: list[Sent] = []
        sent: Sent | None = end.cause
        while sent is not None and sent.arrived_s > end.since_s:
            chain.append(sent)
            sent = self._messages.cause(sent)
        return chain

    def reason(self, name: str, began_s: float, ended_s: float) -> str:
        """Which message ended a stage, in words; empty if none is known."""
        for end in self._ends:
            if began_s <= end.began_s and end.ended_s <= ended_s + _ROUNDING_S:
                way_s = end.cause.arrived_s - end.cause.sent_s
                did = _DID.get(name, "ended it")
                source = self._messages.names[end.cause.source]
                label = self._messages.text(end.cause).label
                return f"{label} from {source} {did}, {duration(way_s)} on its way"
        return ""

    def wire_s(self) -> dict[str, float]:
        """By stage, how long messages that it waited for were on the wire meanwhile, in seconds."""
        total_s: dict[str, float] = {}
        for end in self._ends:
            for sent in self.chain(end):
                seconds = min(sent.arrived_s, end.ended_s) - max(sent.sent_s, end.began_s)
                if seconds > 0.0:
                    total_s[end.name] = total_s.get(end.name, 0.0) + seconds
        return total_s


def _stage_ends(story: Story, journey: Journey) -> list[_End]:
    """The legs that a message ended."""
    transaction = journey.transaction
    node = story.names[transaction.node]
    waits = [
        span
        for span in story.spans_of(transaction)
        if span.node == node and not span.what and span.cause is not None
    ]
    waits.sort(key=attrgetter("ended_s"))
    ends_s = [span.ended_s for span in waits]
    found = []
    at_s = transaction.started_s
    for leg in journey.legs:
        began_s, at_s = at_s, at_s + leg.seconds
        name, cause = LAPS[leg.lap], leg.cause
        if cause is None and name in _WAITING:
            place = bisect_right(ends_s, at_s + _ROUNDING_S) - 1
            if place >= 0 and ends_s[place] > began_s:
                cause = waits[place].cause
        if cause is not None and not isnan(cause.arrived_s):
            # What is acknowledged has left before the commit began to wait for it.
            since_s = transaction.started_s if name == _ACKNOWLEDGED else began_s
            found.append(_End(name, began_s, at_s, cause, since_s))
    return found
