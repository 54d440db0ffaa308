"""Which messages a transaction waited for."""

from __future__ import annotations

from bisect import bisect_right
from math import isnan
from operator import attrgetter
from typing import NamedTuple

from simrep.kernel.chronicle import Sent
from simrep.measure.units import duration
from simrep.runs.story import Journey, Story
from simrep.why.messages import Messages
from simrep.workload.laps import LAPS

__all__ = ["Causes"]

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

    Parameters
    ----------
    story : Story
    messages : Messages
        Of the story.
    journey : Journey
        Of the transaction.

    Attributes
    ----------
    own : set of Sent
        Those that carry it, and the answers to them.
    critical : set of Sent
        Those without which it could not have gone on when it did: the message that ended a stage,
        what its sender had been handling when it sent that, and so on, as far as the stage goes
        back.
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
