"""Which of the things that a scenario lets happen caused a stall."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from simrep.kernel.pace import merged
from simrep.measure.blockage import Blockage, Cause
from simrep.measure.series import Stall
from simrep.scenario.events import Event

__all__ = ["Origin", "meanwhile", "origins"]

_MOST = 0.5
"""Of a time: what covers so much of it explains it, if nothing names another reason."""

_SOON_S = 1.0


@dataclass(frozen=True, slots=True)
class Origin:
    """Something that the scenario lets happen, as the cause of a stall.

    Attributes
    ----------
    event : Event
    seconds : float
        How long within the stall what follows from it blocked others.
    causes : tuple of int
        Positions of the blockages that follow from it at once.
    """

    event: Event
    seconds: float
    causes: tuple[int, ...]

    def __str__(self) -> str:
        event = self.event
        if event.scheduled:
            name = event.what.removesuffix(" begins")
            return f"scheduled transaction {name}, begun at {event.at_s:.3f} s ({event.path})"
        text = f"{event.what} ({event.how})" if event.how else event.what
        if not event.lasts:
            return f"{text} at {event.at_s:.3f} s ({event.path})"
        until = "on" if event.until_s == inf else f"to {event.until_s:.3f} s"
        return f"{text} from {event.at_s:.3f} s {until} ({event.path})"

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        own = {"seconds": self.seconds, "causes": list(self.causes), "text": str(self)}
        return self.event.to_dict() | own


def origins(
    events: Iterable[Event], found: Sequence[Blockage], causes: Sequence[Cause], stall: Stall
) -> tuple[Origin, ...]:
    """What happened as the cause of a stall, that of the longest part of it first.

    A blockage that nothing else explains follows from a scheduled transaction that it waited for,
    or from what happened meanwhile to a node that it was on, or waited for; from what happened
    during most of it, if it names no node. So does a stall in which little was blocked.
    """
    end_s = stall.began_s + stall.seconds
    near = [event for event in events if _reaches(event, stall)]
    follows: dict[Event, list[int]] = {}
    for cause in causes:
        event = _origin(near, found[cause.blockage])
        if event is not None:
            follows.setdefault(event, []).append(cause.blockage)
    blocked_s = sum(cause.seconds for cause in causes)
    whole = None if blocked_s > _MOST * stall.seconds else _covering(near, stall.began_s, end_s)
    if whole is not None:
        follows.setdefault(whole, [])
    listed = []
    for event, positions in follows.items():
        spans = [(found[n].began_s, found[n].ended_s) for n in positions]
        inside = [(max(began_s, stall.began_s), min(ended_s, end_s)) for began_s, ended_s in spans]
        seconds = sum(ended_s - began_s for began_s, ended_s in merged(inside))
        if event is whole or not seconds:
            seconds = _overlap(event, stall.began_s, end_s)
        listed.append(Origin(event, seconds, tuple(positions)))
    return tuple(sorted(listed, key=_longest))


def _longest(origin: Origin) -> float:
    return -origin.seconds


def _until_s(event: Event) -> float:
    """When its effects are over at the latest: what waits for it is repeated, or has piled up."""
    return event.at_s + 2.0 * (event.until_s - event.at_s) if event.lasts else inf


def _overlap(event: Event, began_s: float, ended_s: float) -> float:
    until_s = event.until_s if event.lasts else inf
    return min(until_s, ended_s) - max(event.at_s, began_s)


def _reaches(event: Event, stall: Stall) -> bool:
    end_s = stall.began_s + stall.seconds
    return event.at_s < end_s and _until_s(event) > stall.began_s


def _origin(near: Sequence[Event], blockage: Blockage) -> Event | None:
    """What a blockage follows from."""
    named = [one for one in near if one.scheduled and _tells_of(one, blockage)]
    if named:
        return named[0]
    others = [
        one
        for one in near
        if not one.scheduled and one.at_s < blockage.ended_s and _until_s(one) > blockage.began_s
    ]
    there = [one for one in others if any(_names(blockage, node) for node in one.nodes)]
    if there:
        # What happens while others wait already has not made them wait.
        spans = {one: _overlap(one, blockage.began_s, blockage.ended_s) for one in there}
        least_s = _MOST * (blockage.ended_s - blockage.began_s)
        first = [
            one
            for one, span_s in spans.items()
            if one.at_s < blockage.began_s + _SOON_S and span_s >= least_s
        ]
        # Of several that cover all of it the last: who was away, and comes, is waited for anew.
        return max(first or there, key=lambda one: (spans[one], one.at_s))
    return _covering(others, blockage.began_s, blockage.ended_s)


def _covering(near: Sequence[Event], began_s: float, ended_s: float) -> Event | None:
    """What lasted for most of a time; of what does not last, it began the time.

    Of several, what began last: with the others commits went on.
    """
    long_enough_s = _MOST * (ended_s - began_s)
    covering = [
        one
        for one in near
        if (one.lasts or abs(one.at_s - began_s) < _SOON_S)
        and _overlap(one, began_s, ended_s) >= long_enough_s
    ]
    return max(covering, key=_begin_s, default=None)


def _begin_s(event: Event) -> float:
    return event.at_s


def _tells_of(event: Event, blockage: Blockage) -> bool:
    """Whether a blockage waited for a scheduled transaction."""
    name = re.escape(event.what.removesuffix(" begins"))
    pattern = rf"(^|\bof |\bwith ){name}( of client| \()"
    return re.search(pattern, blockage.waited_for) is not None


def _names(blockage: Blockage, node: str) -> bool:
    """Whether a blockage was on a node, or waited for it."""
    return blockage.node == node or _mentions(blockage.waited_for, node)


def _mentions(text: str, node: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(node)}(?![\w-])", text) is not None


def meanwhile(
    events: Iterable[Event], node: str, began_s: float, ended_s: float, reason: str
) -> str:
    """The reason why something took its time on a node, and what happened during most of it.

    That is told of the node itself and of those that the reason names; of others only if it ended
    meanwhile: who waits for one node may hear nothing of the rest either.
    """
    for event in events:
        if not event.lasts or _overlap(event, began_s, ended_s) < _MOST * (ended_s - began_s):
            continue
        named = node in event.nodes or any(_mentions(reason, other) for other in event.nodes)
        if named or began_s <= event.until_s <= ended_s:
            return f"{reason} ({event.what})" if reason else event.what
    return reason
