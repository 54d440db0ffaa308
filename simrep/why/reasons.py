"""Whom a transaction waited for, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from math import inf

from simrep.kernel.chronicle import Span
from simrep.kernel.watch import NO_LAP, Key, Waited
from simrep.measure.units import duration
from simrep.runs.story import Story
from simrep.workload.laps import LAPS

__all__ = ["Reasons"]

_WORTH = 0.05
"""Share of a stage: whom it waited for a shorter time is not worth a word."""
_MOST = 0.8
"""Share of a stage: whom it waited for a shorter time is not all that there is to say."""


class Reasons:
    """What stations waited for, by station.

    Parameters
    ----------
    story : Story
    nodes : sequence of str
        Names by position.
    silence_s : float
        The total order waits for whom nothing was heard of for longer, and not for a message on
        its way, in seconds.
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
