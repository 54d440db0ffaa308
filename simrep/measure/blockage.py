"""What was blocked while nothing committed, and which of it was the cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from simrep.kernel.watch import Key, Waited
from simrep.measure.series import Stall
from simrep.measure.units import amount, duration

__all__ = ["Blockage", "Cause", "blockages", "causes"]


@dataclass(frozen=True, slots=True)
class Blockage:
    """A station in front of which somebody waited, for one thing.

    Attributes
    ----------
    node, station : str
    began_s, ended_s : float
        In simulated seconds.
    waited_for : str
        Who or what it waited for.
    doing : str
        What that did most of the time; empty where it is not known.
    waiting : int
        How many waited when it ended.
    ended : bool
        False: it went on when the run ended.
    because : tuple of int
        Positions of the blockages that explain this one: what it waited for, waited there.
    verb : str
        How it waited; ``{}`` stands for the duration.
    """

    node: str
    station: str
    began_s: float
    ended_s: float
    waited_for: str
    doing: str
    waiting: int
    ended: bool
    because: tuple[int, ...]
    verb: str

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.ended_s - self.began_s

    def within(self, stall: Stall) -> float:
        """How many seconds of a stall it covers."""
        return _overlap(self, stall)

    def __str__(self) -> str:
        how = self.verb.format(duration(self.seconds))
        if self.station.endswith(" rows"):
            how = how.replace("was ", "were ", 1)
        text = f"{self.station} on {self.node} {how} "
        text += self.waited_for
        if self.doing:
            text += f", which was {self.doing}"
        text += f"; {amount(self.waiting)} waited"
        return text if self.ended else f"{text}; it went on when the run ended"


@dataclass(frozen=True, slots=True)
class Cause:
    """A blockage that nobody else explains, and what follows from it.

    Attributes
    ----------
    blockage : int
        Its position.
    seconds : float
        How long within the stall nothing else explained it.
    follows : tuple of (int, int)
        Positions of the blockages that it explains, and how far down the chain they are (from 1).
    """

    blockage: int
    seconds: float
    follows: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class _Merged:
    """Recorded blockages of one station by one holder without a gap between them."""

    first: Waited
    began_s: float
    ended_s: float
    waiters: set[Key]
    waiting: int
    details: dict[str, None]
    ended: bool
    longest_s: float
    doing: str

    @classmethod
    def of(cls, one: Waited) -> _Merged:
        return cls(
            one, one.began_s, one.ended_s, set(one.waiters), one.waiting, {one.detail: None},
            one.ended, one.ended_s - one.began_s, one.doing,
        )  # fmt: skip

    def add(self, one: Waited) -> None:
        length = one.ended_s - one.began_s
        if length > self.longest_s:
            self.longest_s, self.doing, self.first = length, one.doing, one
        self.began_s = min(self.began_s, one.began_s)
        self.ended_s = max(self.ended_s, one.ended_s)
        self.waiting = (
            max(self.waiting, one.waiting)
            if one.detail in self.details
            else self.waiting + one.waiting
        )
        self.waiters |= one.waiters
        self.details[one.detail] = None
        self.ended = self.ended and one.ended

    @property
    def station(self) -> str:
        if self.first.detail == "":
            return self.first.station
        if len(self.details) == 1:
            return f"row {self.first.detail}"
        return f"{amount(len(self.details))} rows"


def blockages(waited: Iterable[Waited]) -> tuple[Blockage, ...]:
    """Blockages from their records, the longest first.

    Records of one station and one holder that overlap or follow each other at once are one
    blockage: the rows that a transaction has locked, for example.
    """
    groups: dict[object, list[_Merged]] = {}
    for one in sorted(waited, key=lambda one: one.began_s):
        keys = frozenset(one.holder.keys) or one.holder.text
        same = groups.setdefault((one.node, one.station, keys), [])
        if same and one.began_s <= same[-1].ended_s:
            same[-1].add(one)
        else:
            same.append(_Merged.of(one))
    merged = [one for same in groups.values() for one in same]
    merged.sort(key=_place)
    return tuple(
        Blockage(
            node=one.first.node,
            station=one.station,
            began_s=one.began_s,
            ended_s=one.ended_s,
            waited_for=one.first.holder.text,
            doing="" if _waits_itself(position, merged) else one.doing,
            waiting=one.waiting,
            ended=one.ended,
            because=_explained_by(position, merged),
            verb=one.first.holder.verb,
        )
        for position, one in enumerate(merged)
    )


def _place(one: _Merged) -> tuple[float, float, str, str]:
    """For sorting, the longest first."""
    return (one.began_s - one.ended_s, one.began_s, one.first.node, one.station)


def _explained_by(position: int, merged: Sequence[_Merged]) -> tuple[int, ...]:
    own = merged[position]
    keys = own.first.holder.keys
    return tuple(
        other
        for other, one in enumerate(merged)
        if other != position
        and min(own.ended_s, one.ended_s) > max(own.began_s, one.began_s)
        and not one.waiters.isdisjoint(keys)
    )


def _waits_itself(position: int, merged: Sequence[_Merged]) -> bool:
    """Whether what is waited for waits itself most of the time: then it does nothing."""
    own = merged[position]
    return any(
        min(own.ended_s, merged[n].ended_s) - max(own.began_s, merged[n].began_s)
        > 0.5 * (own.ended_s - own.began_s)
        for n in _explained_by(position, merged)
    )


def causes(found: Sequence[Blockage], stall: Stall) -> tuple[tuple[Cause, ...], float]:
    """Which blockages caused a stall, the one that did for the longest time first.

    At every instant of the stall the cause is what is blocked and not explained by another
    blockage of that instant. Of several that are blocked in a circle the longest counts.

    Returns
    -------
    tuple of (tuple of Cause, float)
        The causes, and the seconds of the stall during which nothing was blocked.
    """
    inside = [n for n, one in enumerate(found) if _overlap(one, stall) > 0.0]
    end_s = stall.began_s + stall.seconds
    times = {stall.began_s, end_s} if stall.seconds > 0.0 else set()
    for n in inside:
        times |= {max(stall.began_s, found[n].began_s), min(end_s, found[n].ended_s)}
    instants = sorted(times)
    seconds: dict[int, float] = {}
    free_s = 0.0
    for since_s, until_s in pairwise(instants):
        active = {n for n in inside if found[n].began_s <= since_s and found[n].ended_s >= until_s}
        roots = [n for n in sorted(active) if active.isdisjoint(found[n].because)]
        for n in roots or sorted(active)[:1]:
            seconds[n] = seconds.get(n, 0.0) + until_s - since_s
        if not active:
            free_s += until_s - since_s
    order = sorted(seconds, key=lambda n: (-seconds[n], n))
    return tuple(Cause(n, seconds[n], _follows(n, found, inside)) for n in order), free_s


def _follows(
    root: int, found: Sequence[Blockage], inside: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """What a blockage explains, each under the one that explains it."""
    seen, listed = {root}, []

    def descend(cause: int, depth: int) -> None:
        for n in inside:
            if n not in seen and cause in found[n].because:
                seen.add(n)
                listed.append((n, depth))
                descend(n, depth + 1)

    descend(root, 1)
    return tuple(listed)


def _overlap(one: Blockage, stall: Stall) -> float:
    if not stall.seconds > 0.0:
        return 0.0
    return max(
        0.0, min(one.ended_s, stall.began_s + stall.seconds) - max(one.began_s, stall.began_s)
    )
