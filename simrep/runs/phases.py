"""Phases of a run in which something breaks: the times between faults, and what clients saw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, nan
from typing import Any

from simrep.kernel.arrays import NDArray, np
from simrep.measure.attempts import Attempts
from simrep.measure.histogram import LatencyHistogram
from simrep.measure.spread import NEVER, NONE, Spread, spread_dict
from simrep.runs.incidents import Incident, StallSpread
from simrep.workload.fate import FateCount

__all__ = ["ErrorSpread", "GroupOutcome", "Phase", "phases", "stalls"]

_LEAST_REACTION_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSpread:
    """An error that clients met in a phase.

    Attributes
    ----------
    times : Spread
        How often.
    first_s : Spread
        How long after the begin of the phase the first client was told of it, in seconds.
    longest_wait_s : Spread
        The longest time that a client waited for it, in seconds.
    """

    times: Spread = NONE
    first_s: Spread = NEVER
    longest_wait_s: Spread = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOutcome:
    """What a group of clients saw in a phase, or all of them together.

    Attributes
    ----------
    throughput_tps : Spread
        Commits per second.
    latency : LatencyHistogram
        Of the transactions that committed in the phase, of all replications together.
    longest_s : Spread
        The longest that a client had waited until it had its answer, or until the phase ended, in
        seconds; also of what failed.
    errors : mapping of str to ErrorSpread
        By number or words; ``waiting`` for no answer until the end of the run.
    """

    throughput_tps: Spread = NEVER
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    longest_s: Spread = NEVER
    errors: Mapping[str, ErrorSpread] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """The time between two neighbouring begins or ends of faults.

    Attributes
    ----------
    name : str
        What began it: ``n3 killed``; ``before`` of the first.
    from_s, to_s : float
        In simulated seconds.
    clients : GroupOutcome
        All clients together.
    groups : mapping of str to GroupOutcome
        By name of the group of clients.
    answered, lost : Spread
        Transactions that write of whose commit clients were told in the phase; of these, on no node
        at the end of the run. NaN if the model does not tell.
    duplicated, phantom : Spread
        Those of whose commit clients were told in the phase, and that are there more than once;
        those that could be read from then on, and are on no node at the end. NaN likewise.
    reaction_from_s, reaction_to_s : Spread
        When the other servers began to deal with what has happened, and when they had a view
        again, in simulated seconds; NaN if that was within a second, or not in this phase.
    reaction, then : mapping of str to GroupOutcome
        Of each group of clients between these two, and from there to the end of the phase.
    """

    name: str
    from_s: float
    to_s: float
    clients: GroupOutcome
    groups: Mapping[str, GroupOutcome]
    answered: Spread = NEVER
    lost: Spread = NEVER
    duplicated: Spread = NEVER
    phantom: Spread = NEVER
    reaction_from_s: Spread = NEVER
    reaction_to_s: Spread = NEVER
    reaction: Mapping[str, GroupOutcome] = field(default_factory=dict)
    then: Mapping[str, GroupOutcome] = field(default_factory=dict)

    def parts(self) -> Iterator[tuple[str, float, float, Mapping[str, GroupOutcome]]]:
        """The phase, then what it consists of: name, begin, end, and what clients saw."""
        yield self.name, self.from_s, self.to_s, self.groups
        if self.reaction_to_s.known:
            began_s, view_s = self.reaction_from_s.median, self.reaction_to_s.median
            yield f"{self.name}: until the view", began_s, view_s, self.reaction
            yield f"{self.name}: from there on", view_s, self.to_s, self.then

    def to_dict(self) -> dict[str, Any]:
        """All figures by name: medians over the replications, and their ranges."""
        return spread_dict(self)


def phases(
    faults: Iterable[Incident],
    attempts: Attempts,
    from_s: float,
    until_s: float,
    fates: FateCount | None = None,
) -> dict[str, Phase]:
    """The phases of one replication by name, in the order of time.

    Parameters
    ----------
    faults : iterable of Incident
    attempts : Attempts
        Of all clients.
    from_s, until_s : float
        The measured time.
    fates : FateCount, optional
        What became of transactions that write; None if nobody knows.
    """
    found: dict[str, Phase] = {}
    writes_s = attempts.of(writes=True).commits_s
    faults = list(faults)
    cuts = {edge_s for one in faults for edge_s in (one.at_s, one.until_s)}
    edges = [from_s, *sorted(edge_s for edge_s in cuts if from_s < edge_s < until_s), until_s]
    groups = {group: attempts.of(group=group) for group in attempts.groups}
    for begin_s, end_s in pairwise(edges):
        name = _unique(_name(faults, begin_s, first=begin_s == from_s), found)
        low_s, high_s = _reaction(faults, begin_s, end_s)
        reacts = high_s > low_s
        found[name] = Phase(
            name=name,
            from_s=begin_s,
            to_s=end_s,
            clients=_outcome(attempts, begin_s, end_s),
            groups=_outcomes(groups, begin_s, end_s),
            answered=_told(writes_s, begin_s, end_s),
            **_ends(fates, begin_s, end_s),
            reaction_from_s=Spread.of(low_s),
            reaction_to_s=Spread.of(high_s),
            reaction=_outcomes(groups, low_s, high_s) if reacts else {},
            then=_outcomes(groups, high_s, end_s) if reacts else {},
        )
    return found


def _ends(fates: FateCount | None, from_s: float, to_s: float) -> dict[str, Spread]:
    """What became, by the end of the run, of transactions of a phase."""
    if fates is None:
        return {}
    return {
        "lost": _told(fates.lost_at_s, from_s, to_s),
        "duplicated": _told(fates.duplicated_at_s, from_s, to_s),
        "phantom": _told(fates.phantom_at_s, from_s, to_s),
    }


def _told(at_s: Sequence[float] | NDArray[np.float64], from_s: float, to_s: float) -> Spread:
    """How many of these times lie in a phase."""
    times = np.asarray(at_s, np.float64)
    return Spread.of(float(np.count_nonzero((times >= from_s) & (times < to_s))))


def stalls(
    faults: Iterable[Incident], attempts: Attempts, until_s: float
) -> dict[float, dict[str, StallSpread]]:
    """What each group of clients saw of a stall, by the begin or end of a fault and its name.

    The stall is the longest one that overlaps the time until the next fault begins or ends: by half
    of its own length at least, or of that time.
    """
    cuts = {edge_s for one in faults for edge_s in (one.at_s, one.until_s)}
    edges = sorted(edge_s for edge_s in cuts if edge_s < until_s)
    groups = {group: attempts.of(group=group) for group in attempts.groups}
    found: dict[float, dict[str, StallSpread]] = {}
    for edge_s, end_s in pairwise([*edges, until_s]):
        own = {name: _stall(group, edge_s, end_s) for name, group in groups.items()}
        found[edge_s] = {name: stall for name, stall in own.items() if stall is not None}
    return found


def _stall(attempts: Attempts, from_s: float, to_s: float) -> StallSpread | None:
    writers = attempts.of(writes=True)
    edges = np.append((writers if len(writers) else attempts).commits_s, attempts.end_s)
    began_s, ended_s = edges[:-1], edges[1:]
    gaps = ended_s - began_s
    inside = np.minimum(ended_s, to_s) - np.maximum(began_s, from_s)
    gaps = np.where(inside >= 0.5 * np.minimum(gaps, to_s - from_s), gaps, 0.0)
    if not gaps.any():
        return None
    longest = int(gaps.argmax())
    return StallSpread(
        stall_s=Spread.of(float(gaps[longest])),
        began_s=Spread.of(float(began_s[longest]) - from_s),
        longest_wait_s=Spread.of(attempts.longest_wait_s(from_s, to_s)),
    )


def _reaction(faults: Iterable[Incident], from_s: float, to_s: float) -> tuple[float, float]:
    """From when to when servers deal with what begins a phase, if that is long; NaN if not.

    Whoever fails is there until then. Whoever comes is there when the others let it in.
    """
    found = nan, nan
    for one in faults:
        if one.at_s == from_s and one.primary_s.known:
            comes = not one.suspected_s.known
            began_s = from_s + (one.view_s.median if comes else 0.0)
            ended_s = from_s + one.primary_s.median
        elif one.until_s == from_s and one.end_primary_s.known:
            began_s = from_s + one.end_view_s.median
            ended_s = from_s + one.end_primary_s.median
        else:
            continue
        if ended_s - began_s >= _LEAST_REACTION_S and ended_s < to_s:
            found = began_s, ended_s
    return found


def _outcomes(
    groups: Mapping[str, Attempts], from_s: float, to_s: float
) -> dict[str, GroupOutcome]:
    return {name: _outcome(own, from_s, to_s) for name, own in groups.items()}


def _outcome(attempts: Attempts, from_s: float, to_s: float) -> GroupOutcome:
    # Who waits when the run ends has that as the end of the attempt.
    ended = attempts.between(from_s, to_s if to_s < attempts.end_s else inf)
    done = (ended.error == 0) & ~ended.connecting
    latency = LatencyHistogram((ended.ended_s - ended.began_s)[done].tolist())
    there = (attempts.ended_s > from_s) & (attempts.began_s < to_s)
    waits = np.minimum(attempts.ended_s, to_s)[there] - attempts.began_s[there]
    errors: dict[str, list[Any]] = {}
    for one in ended.errors():
        errors.setdefault(one.error, []).append(one)
    return GroupOutcome(
        throughput_tps=Spread.of(latency.count / (to_s - from_s)),
        latency=latency,
        longest_s=Spread.of(float(waits.max(initial=0.0))),
        errors={
            error: ErrorSpread(
                times=Spread.of(sum(one.times for one in alike)),
                first_s=Spread.of(min(one.first_s for one in alike) - from_s),
                longest_wait_s=Spread.of(max(one.longest_s for one in alike)),
            )
            for error, alike in errors.items()
        },
    )


def _name(faults: Sequence[Incident], at_s: float, *, first: bool) -> str:
    begun = [one.called for one in faults if one.at_s == at_s]
    if first:
        begun = [one.called for one in faults if one.at_s <= at_s and not one.until_s <= at_s]
    ended = [one.called for one in faults if one.until_s == at_s]
    return " + ".join([*begun, *(f"after {one}" for one in ended)]) or "before"


def _unique(name: str, taken: Mapping[str, object]) -> str:
    """A name that is not there yet."""
    names = (name if turn == 1 else f"{name} ({turn})" for turn in range(1, len(taken) + 2))
    return next(one for one in names if one not in taken)
