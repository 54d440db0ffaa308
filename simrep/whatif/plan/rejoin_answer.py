"""The answer to how long a node takes to come back: the ways there are, and what was simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isnan, nan
from statistics import fmean
from typing import Any

from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.returns import Returned, ReturnWay

__all__ = ["Counters", "Kept", "PlayedWay", "Rejoin", "ReturnRules"]

Counters = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How long others keep what a node misses.

    Attributes
    ----------
    what : str
        Where: ``gcache.size = 128M (default)``.
    lasts_s : callable
        ``lasts_s(rate_tps, size_bytes)``: for how long, at so many transactions of this size per
        second; infinite if for ever.
    """

    what: str
    lasts_s: Callable[[float, float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnRules:
    """How servers of a product come back.

    Attributes
    ----------
    follows : ReturnWay
        By what it has missed.
    copies : ReturnWay or None
        By a copy of all data, where the model plays that.
    kept : Kept
    refusal : str
        What it is told beyond that, if nobody copies by itself then; empty if somebody does.
    thing : str
        What is replicated: ``writesets``.
    back : str
        In the product's word: ``SYNCED``.
    size_of : callable
        From counters to the mean size of a transaction as it is replicated, in bytes.
    notes : tuple of str
    """

    follows: ReturnWay
    copies: ReturnWay | None
    kept: Kept
    refusal: str = ""
    thing: str
    back: str
    size_of: Callable[[Counters], float]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlayedWay:
    """One way, and what its simulations showed.

    Attributes
    ----------
    way : ReturnWay
    away_s : float
        How long the node was away in them.
    data_bytes : tuple of float
        How large the copies were, by replication.
    returns : tuple of Returned
        By replication.
    byte_s : float
        What each further byte of a copy takes, in seconds.
    """

    way: ReturnWay
    away_s: float
    data_bytes: tuple[float, ...]
    returns: tuple[Returned, ...]
    byte_s: float = 0.0

    def phases(self, away_s: float, data_bytes: float) -> dict[str, tuple[float, ...]]:
        """How long each part of a return takes in each replication, in seconds."""
        found: dict[str, list[float]] = {"starts": [], "joins": []}
        for one, copied_bytes in zip(self.returns, self.data_bytes, strict=True):
            found["starts"].append(one.started_s)
            found["joins"].append(one.asked_s - one.started_s)
            begin_s = one.asked_s
            prepares_s = 0.0
            if self.way.copies:
                more_s = (data_bytes - copied_bytes) * self.byte_s
                found.setdefault("copies", []).append(one.copied_s - one.asked_s + more_s)
                begin_s = one.copied_s
                prepares_s = self._prepares_longer_s(one, more_s, (copied_bytes, data_bytes))
            found.setdefault("prepares", []).append(one.ready_s - begin_s + prepares_s)
            applied_s = inf
            if one.net_tps > 0.0:
                applied_s = self.lacks(one, copied_bytes, away_s, data_bytes) / one.net_tps
            tail_s = one.synced_s - one.caught_up_s
            applied_s += 0.0 if isnan(tail_s) else max(0.0, tail_s)
            found.setdefault("applies", []).append(applied_s)
        return {name: tuple(seconds) for name, seconds in found.items()}

    def _prepares_longer_s(
        self, one: Returned, more_s: float, data_bytes: tuple[float, float]
    ) -> float:
        """What more is to be prepared if the copy takes so much longer: copied, and all data."""
        prepares_s, rate_tps = self.way.prepares_s, one.missed_tps
        if prepares_s is None or isnan(one.size_bytes):
            return 0.0
        simulated_s = one.copied_s - one.asked_s
        few, many = rate_tps * simulated_s, rate_tps * (simulated_s + more_s)
        copied_bytes, all_bytes = data_bytes
        return prepares_s(many, many * one.size_bytes, all_bytes) - prepares_s(
            few, few * one.size_bytes, copied_bytes
        )

    def lacks(self, one: Returned, copied_bytes: float, away_s: float, data_bytes: float) -> float:
        """Transactions that the node lacks when it begins to apply."""
        if not self.way.copies:
            return one.lacks + one.missed_tps * (away_s - self.away_s)
        more_s = (data_bytes - copied_bytes) * self.byte_s if self.way.at_begin else 0.0
        return one.lacks + one.copy_tps * more_s

    def total_s(self, away_s: float, data_bytes: float) -> tuple[float, ...]:
        """How long all of it takes in each replication, in seconds."""
        parts = self.phases(away_s, data_bytes).values()
        return tuple(sum(each) for each in zip(*parts, strict=True))

    def latency_s(self, part: str, on: str) -> tuple[float, list[float]]:
        """Length of a part in all replications, and latencies of commits on some nodes in it.

        Of those in which anybody writes there.
        """
        chosen = [
            window
            for one in self.returns
            if any(len(each.latency_s) for each in one.windows if each.on == on)
            for window in one.windows
            if window.part == part and window.on == on
        ]
        latencies = [float(each) for window in chosen for each in window.latency_s]
        return sum(window.seconds for window in chosen), latencies


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rejoin(Answer):
    """The time from the start of the server until it serves its clients, in seconds.

    Attributes
    ----------
    node : str
    away_s : float or None
        None: it is new.
    data_bytes : float
    rules : ReturnRules
    follows, copies : PlayedWay or None
    by : {"follows", "copies", "hand"}
        How it gets what it lacks; ``hand``: by a copy that an operator makes.
    lasts_s : float
        How long what it misses is kept, at the rate of the scenario.
    by_hand_s : float
        What such a copy takes; NaN if it is not known.
    """

    node: str
    away_s: float | None
    data_bytes: float
    rules: ReturnRules
    follows: PlayedWay | None
    copies: PlayedWay | None
    by: str
    lasts_s: float
    by_hand_s: float = nan

    @property
    def played(self) -> PlayedWay:
        """The simulations of the way by which it comes back."""
        chosen = self.copies if self.by != "follows" and self.copies is not None else self.follows
        assert chosen is not None
        return chosen

    def phases(self) -> dict[str, tuple[float, ...]]:
        """What its return consists of, in seconds, by replication."""
        if self.by == "hand" and self.copies is None:
            found = self.played.phases(self.by_hand_s, self.data_bytes)
            return {"copies": (self.by_hand_s,) * len(self.played.returns), **found}
        return self.played.phases(self.away_s or 0.0, self.data_bytes)

    def after(self, away_s: float) -> tuple[str, tuple[float, ...]]:
        """By which way it comes back after another absence, and the time by replication.

        No times if that way was not simulated.
        """
        follows, copies = self.follows, self.copies
        some = follows or copies
        assert some is not None
        asked_s = fmean(one.asked_s for one in some.returns)
        if away_s + asked_s <= self.lasts_s:
            name = self.rules.follows.name
            return name, () if follows is None else follows.total_s(away_s, self.data_bytes)
        hand = " by hand" if self.rules.refusal else ""
        if self.rules.copies is not None:
            name = f"{self.rules.copies.name}{hand}"
            return name, () if copies is None else copies.total_s(away_s, self.data_bytes)
        assert follows is not None
        if isnan(self.by_hand_s):
            return "a copy by hand", ()
        seconds = follows.total_s(self.by_hand_s, self.data_bytes)
        return "a copy by hand", tuple(self.by_hand_s + one for one in seconds)

    def _rows(self) -> list[dict[str, Any]]:
        """A row per replication."""
        phases = self.phases()
        return [
            {
                "replication": place,
                "donor": one.donor,
                **{f"{name}_s": seconds[place] for name, seconds in phases.items()},
                "total_s": sum(seconds[place] for seconds in phases.values()),
                "missed_tps": one.missed_tps,
                "applied_tps": one.net_tps + one.arrive_tps,
                "arrives_tps": one.arrive_tps,
                "size_bytes": one.size_bytes,
                "joining_stall_s": one.stall_s,
                "later_stall_s": one.later_stall_s,
            }
            for place, one in enumerate(self.played.returns)
        ]
