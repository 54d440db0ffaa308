"""What came of a procedure: its steps, who served meanwhile, and what clients saw of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any

from simrep.kernel.arrays import np
from simrep.measure.attempts import Attempts
from simrep.measure.spread import NEVER, NONE, Spread, spread_dict

__all__ = ["ProcedureRecord", "StepRecord"]

_SECOND_S = 1.0  # of this length is the worst piece of a step


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One node of a procedure; times in seconds.

    Attributes
    ----------
    node : str
    began_s : Spread
        When it was its turn, in simulated seconds.
    promoted : tuple of str
        Who was made to take writes before it went; empty if nobody was.
    ready_s : Spread
        How long it took until it could go: the operator had seen that it serves, and, if need be,
        that the other one takes writes.
    stop_s : Spread
        From the order to shut down until the operator saw that it has.
    down_s : Spread
        From then to the order to start.
    back_s : Spread
        From the order to start until the operator saw that it serves and has caught up.
    pause_s : Spread
        How long the operator waited then.
    duration_s : Spread
        All of the step: the sum of these five.
    serving : Spread
        The fewest nodes that served meanwhile.
    stall_s : Spread
        The longest time between two successive commits of transactions that write; of a load that
        only reads, between its reads.
    stall_began_s : Spread
        When that began, in simulated seconds.
    throughput_tps, worst_tps : Spread
        Commits per second of the step, and of its worst second, whenever that begins.
    errors : Spread
        How often clients met an error.
    """

    node: str = ""
    began_s: Spread = NEVER
    promoted: tuple[str, ...] = ()
    ready_s: Spread = NONE
    stop_s: Spread = NONE
    down_s: Spread = NONE
    back_s: Spread = NONE
    pause_s: Spread = NONE
    duration_s: Spread = NEVER
    serving: Spread = NEVER
    stall_s: Spread = NEVER
    stall_began_s: Spread = NEVER
    throughput_tps: Spread = NEVER
    worst_tps: Spread = NEVER
    errors: Spread = NEVER

    def seen(self, attempts: Attempts) -> StepRecord:
        """The same with what clients saw."""
        from_s = self.began_s.median
        length_s = self.duration_s.median
        to_s = attempts.end_s if isnan(length_s) else from_s + length_s
        seen = _Seen.between(attempts, from_s, to_s)
        return replace(
            self,
            stall_s=seen.stall_s,
            stall_began_s=seen.stall_began_s,
            throughput_tps=seen.throughput_tps,
            worst_tps=seen.worst_tps,
            errors=seen.errors,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureRecord:
    """A procedure of a run; times in seconds.

    Attributes
    ----------
    name : str
        Its name in the scenario; the path if it has none.
    what : str
        As in the scenario: ``rolling-restart``.
    at_s : float
        When it began, in simulated seconds.
    nodes : int
        How many nodes it is about.
    steps : mapping of str to StepRecord
        By name of the node, in their order; those that were begun.
    total_s : Spread
        From its begin until its last step was over; NaN if it stopped, or the run ended before.
    stopped : tuple of str
        Why it stopped before its end; empty if it did not.
    reduced_s : Spread
        How long fewer nodes served than at the begin.
    serving : Spread
        The fewest nodes that served at any time.
    without_quorum : Spread
        How often a node noted that it is in no primary component, or in a minority.
    before_tps : Spread
        Commits per second before it began.
    stall_s, worst_tps, errors : Spread
        The longest stall, the worst second, and the errors of clients, of all steps.
    looks : list of (float, tuple of str)
        Who served, from when on in simulated seconds; of the first replication.
    """

    name: str
    what: str
    at_s: float
    nodes: int
    steps: Mapping[str, StepRecord] = field(default_factory=dict)
    total_s: Spread = NEVER
    stopped: tuple[str, ...] = ()
    reduced_s: Spread = NEVER
    serving: Spread = NEVER
    without_quorum: Spread = NONE
    before_tps: Spread = NEVER
    stall_s: Spread = NEVER
    worst_tps: Spread = NEVER
    errors: Spread = NEVER
    looks: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)

    def seen(self, attempts: Attempts, from_s: float) -> ProcedureRecord:
        """The same with what clients saw; measured from then on."""
        to_s = attempts.end_s
        if not isnan(self.total_s.median):
            to_s = self.at_s + self.total_s.median
        before = attempts.between(from_s, self.at_s).commits_s
        seen = _Seen.between(attempts, self.at_s, to_s)
        return replace(
            self,
            steps={name: step.seen(attempts) for name, step in self.steps.items()},
            before_tps=_rate(len(before), from_s, self.at_s),
            stall_s=seen.stall_s,
            worst_tps=seen.worst_tps,
            errors=seen.errors,
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures by name: medians over the replications, and their ranges."""
        content = spread_dict(self)
        del content["looks"]
        return content


@dataclass(frozen=True, slots=True)
class _Seen:
    """What clients saw between two times."""

    stall_s: Spread
    stall_began_s: Spread
    throughput_tps: Spread
    worst_tps: Spread
    errors: Spread

    @classmethod
    def between(cls, attempts: Attempts, from_s: float, to_s: float) -> _Seen:
        """Of all clients together."""
        writers = attempts.of(writes=True)
        those = (writers if len(writers) else attempts).commits_s
        inside = those[(those > from_s) & (those < to_s)]
        edges = np.concatenate(([from_s], inside, [to_s]))
        gaps = np.diff(edges)
        ended = attempts.between(from_s, to_s)
        commits = ended.commits_s
        worst = NEVER
        if to_s - from_s >= _SECOND_S:
            begins = np.concatenate(([from_s], commits[commits <= to_s - _SECOND_S]))
            held = np.searchsorted(commits, begins + _SECOND_S)
            held -= np.searchsorted(commits, begins, side="right")
            worst = Spread.of(float(held.min()) / _SECOND_S)
        return cls(
            stall_s=Spread.of(float(gaps.max())),
            stall_began_s=Spread.of(float(edges[gaps.argmax()])),
            throughput_tps=_rate(len(commits), from_s, to_s),
            worst_tps=worst,
            errors=Spread.of(float(sum(one.times for one in ended.errors()))),
        )


def _rate(commits: int, from_s: float, to_s: float) -> Spread:
    return Spread.of(commits / (to_s - from_s)) if to_s > from_s else NEVER
