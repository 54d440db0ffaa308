"""Explaining a run: what blocked whom, when and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simrep.contract.model import StallPhase
from simrep.errors import ScenarioError
from simrep.kernel.timeline import Noted
from simrep.kernel.watch import Waited
from simrep.measure.blockage import Blockage, Cause, blockages, causes
from simrep.measure.series import Stall
from simrep.measure.units import duration
from simrep.runs.degradation import warn_degraded
from simrep.runs.incidents import Incident
from simrep.runs.progress import told, work_expected
from simrep.runs.replication import simulate
from simrep.runs.report import Report
from simrep.scenario.classes import ClassTable
from simrep.scenario.events import events
from simrep.scenario.proxy import ProxyTable
from simrep.scenario.schema import Scenario
from simrep.why.origin import Origin, origins
from simrep.why.replay import Replay

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["StallExplanation", "explain_stall"]

_SHOWN = 20
_LEAST_SHARE = 0.02
"""Of the stall: a cause or a gap that is shorter is not worth a sentence."""
_SHORT_S = 0.01
_LEAST_REST_S = 0.005
"""What phases leave out below that is not worth a line of its own."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class StallExplanation(Report):
    """What was blocked in a run, and what caused its longest stall.

    ``plot()`` draws the blockages over time, the stall shaded.

    Attributes
    ----------
    stall : Stall
        The longest time without a commit although work was in flight; where some transactions
        write, those that only read count for nothing in it.
    blockages : tuple of Blockage
        Of the whole run, warm-up included; the longest first.
    causes : tuple of Cause
        Of the stall: what nothing else explains; what did so longest first.
    origins : tuple of Origin
        What the scenario lets happen that explains causes; what did so longest first.
    unexplained_s : float
        Seconds of the stall in which nothing was blocked for long enough to be noted.
    phases : tuple of StallPhase
        What the stall consisted of, by what servers noted: timers and messages, one after the
        other; empty if the model does not tell. Seconds that it leaves unexplained are the last.
    longer_than_s : float
        Shorter blockages were not noted.
    seed, replication : int
    scenario : mapping
        The scenario that was run, with its defaults filled in.
    versions : mapping of str to str
        What computed it.
    """

    stall: Stall
    blockages: tuple[Blockage, ...]
    causes: tuple[Cause, ...]
    origins: tuple[Origin, ...]
    unexplained_s: float
    phases: tuple[StallPhase, ...] = ()
    longer_than_s: float
    seed: int
    replication: int
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it; positions are those in ``blockages``."""
        known = self.stall.seconds > 0.0
        return {
            "stall": {
                "began_s": self.stall.began_s if known else None,
                "seconds": self.stall.seconds,
                "unexplained_s": self.unexplained_s,
            },
            "phases": [
                {"name": one.name, "seconds": one.seconds, "why": one.why or None}
                for one in self.phases
            ],
            "origins": [origin.to_dict() for origin in self.origins],
            "causes": [
                {
                    "blockage": cause.blockage,
                    "seconds": cause.seconds,
                    "follows": [list(one) for one in cause.follows],
                    "text": str(self.blockages[cause.blockage]),
                }
                for cause in self.causes
            ],
            "blockages": [
                {
                    "node": one.node,
                    "station": one.station,
                    "waited_for": one.waited_for,
                    "doing": one.doing or None,
                    "began_s": one.began_s,
                    "ended_s": one.ended_s,
                    "seconds": one.seconds,
                    "waiting": one.waiting,
                    "ended": one.ended,
                    "in_stall_s": one.within(self.stall),
                    "because": list(one.because),
                    "text": str(one),
                }
                for one in self.blockages
            ],
            "longer_than_s": self.longer_than_s,
            "seed": self.seed,
            "replication": self.replication,
            "scenario": dict(self.scenario),
            "versions": dict(self.versions),
        }

    def sentences(self) -> list[str]:
        """The stall and its causes in words, what follows from each indented below it."""
        stall = self.stall
        if not stall.seconds > 0.0:
            return ["Nothing was measured: there was no transaction in flight."]
        end_s = stall.began_s + stall.seconds
        span = f"from {stall.began_s:.3f} to {end_s:.3f} s"
        of = " of a transaction that writes" if self._some_only_read() else ""
        said = [f"Longest time without a commit{of}: {duration(stall.seconds)}, {span}."]
        said += self._phase_sentences()
        least_s = _LEAST_SHARE * stall.seconds
        reasons: list[tuple[float, str, list[tuple[int, int]]]] = []  # what follows, how far down
        by_position = {cause.blockage: cause for cause in self.causes}
        for origin in self.origins:
            follows = []
            for n in origin.causes:
                follows += [(n, 1), *((m, depth + 1) for m, depth in by_position.pop(n).follows)]
            reasons.append((origin.seconds, str(origin), follows))
        for cause in by_position.values():
            text = str(self.blockages[cause.blockage])
            reasons.append((cause.seconds, text, list(cause.follows)))
        told: set[int] = set()
        kinds: set[tuple[str, ...]] = set()
        for number, (seconds, text, follows) in enumerate(reasons):
            if number and seconds < least_s:
                continue
            word = "Another cause" if number else "Cause"
            said.append(f"{word}, for {duration(seconds)} of it: {text}")
            said += self._consequences([one for one in follows if one[0] not in told], kinds)
            told |= {n for n, _ in follows}
        silent = any(not origin.causes for origin in self.origins)  # nothing waited meanwhile
        told_by_timers = bool(self.phases and reasons)  # of the time in which clients were refused
        if (self.unexplained_s >= least_s and not silent and not told_by_timers) or not reasons:
            said.append(
                f"For {duration(self.unexplained_s)} of it nothing was blocked for "
                f"{duration(self.longer_than_s)} or longer: work was executed, applied or on its "
                "way. The stages of the latency tell where that time goes."
            )
        return said

    def _phase_sentences(self) -> list[str]:
        """Timers and messages that the stall consisted of, one below the other."""
        if not self.phases:
            return []
        lines = [
            f"  {_timer_text(one.seconds)} {one.name}{f': {one.why}' if one.why else ''}"
            for one in self.phases
        ]
        return ["By the notes of the servers, it consists of", *lines]

    def _some_only_read(self) -> bool:
        """Whether classes that only read stand beside others that write."""
        classes = self.scenario.get("workload", {}).get("class", [])
        return len({ClassTable.model_validate(own).writes for own in classes}) > 1

    def _consequences(
        self, follows: Sequence[tuple[int, int]], told: set[tuple[str, ...]]
    ) -> list[str]:
        """What follows in words; of several of one kind the longest, and how many there are.

        A consequence of a consequence is not repeated if its kind was ``told`` for another cause.
        """
        kinds: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for n, depth in follows:
            one = self.blockages[n]
            kind = one.station, one.verb, one.waited_for.partition(" (")[0]
            if depth == 1 or kind not in told:
                kinds.setdefault(kind, []).append((n, depth))
        told.update(kinds)
        lines = []
        for alike in list(kinds.values())[:_SHOWN]:
            longest, depth = min(alike)
            more = f"; {len(alike) - 1} more of the kind" if len(alike) > 1 else ""
            lines.append(f"{'  ' * depth}so {self.blockages[longest]}{more}")
        return lines

    def summary(self) -> Group:
        """The same as :meth:`tables`."""
        return self.tables()

    def _rows(self) -> list[dict[str, Any]]:
        """A row per blockage."""
        found: list[dict[str, Any]] = self.to_dict()["blockages"]
        return found

    def __repr__(self) -> str:
        return (
            f"<StallExplanation {duration(self.stall.seconds)} without a commit, "
            f"{len(self.causes)} causes, {len(self.blockages)} blockages, seed {self.seed}>"
        )


def _away(faults: Mapping[str, Incident]) -> list[tuple[str, float, float]]:
    """Which servers are not there, from when to when."""
    spans = []
    for gone in faults.values():
        if gone.word in {"kill", "power-loss", "leave"}:
            for node in gone.nodes:
                back = (one.at_s for one in faults.values() if one.at_s > gone.at_s
                        and one.word in {"restart", "bootstrap"} and node in one.nodes)  # fmt: skip
                spans.append((node, gone.at_s, next(back, inf)))
    return spans


def _of_nobody(waited: Waited, away: Sequence[tuple[str, float, float]]) -> bool:
    """Whether the server that something waited in was away most of the time."""
    half_s = 0.5 * (waited.ended_s - waited.began_s)
    return any(
        node == waited.node and min(waited.ended_s, to_s) - max(waited.began_s, from_s) > half_s
        for node, from_s, to_s in away
    )


def _timer_text(seconds: float) -> str:
    """Timers are told to a hundredth of a second."""
    return f"{seconds:.2f} s" if seconds >= _SHORT_S else duration(seconds)


@told
def explain_stall(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    seed: int | None = None,
    replication: int = 0,
    longer_than_s: float = 0.1,
) -> StallExplanation:
    """Simulate one replication and tell what blocked whom.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    seed, replication : int
        Together they choose the random numbers; default: ``run.seed`` of the scenario and its
        first replication. The run is that of :func:`simrep.run`, bit for bit.
    longer_than_s : float
        Shorter blockages are not noted; above 0, in seconds.

    Raises
    ------
    ScenarioError
        If the scenario or an argument is not valid.

    Notes
    -----
    A blockage is what somebody waited for while it did not change. A queue that moves is load,
    not a blockage, however long it is; nor is a slow network or a busy processor.
    """
    if not 0.0 < longer_than_s < inf:
        raise ScenarioError("longer_than_s", f"must be above 0 and finite, given {longer_than_s}")
    replay = Replay.of(scenario, seed, replication)
    work_expected(1)
    setup = replay.setup
    record = simulate(setup, replay.seed, replication, watch_s=longer_than_s)
    warn_degraded(record.degradation)
    away = _away(record.faults)
    found = blockages([one for one in record.waited or () if not _of_nobody(one, away)])
    stall = record.measurement.stall
    reasons, unexplained_s = causes(found, stall)
    happened = events(setup.scenario)
    long = stall.seconds >= longer_than_s  # else it is the time between any two commits
    phases: list[StallPhase] = []
    if long:
        ended_s = stall.began_s + stall.seconds
        names = setup.scenario.node_names
        told_of = setup.model.stall_phases(
            record.noted, names, setup.options, stall.began_s, ended_s
        )
        phases += _by_proxy(told_of, record.noted, names, setup.scenario.proxy, stall)
        rest_s = stall.seconds - sum(one.seconds for one in phases)
        if phases and rest_s > _LEAST_REST_S:
            phases.append(StallPhase("not explained", rest_s))
    return StallExplanation(
        stall=stall,
        blockages=found,
        causes=reasons,
        origins=origins(happened, found, reasons, stall) if long else (),
        unexplained_s=unexplained_s,
        phases=tuple(phases),
        longer_than_s=longer_than_s,
        seed=replay.seed,
        replication=replication,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
    )


def _by_proxy(
    phases: Sequence[StallPhase],
    noted: Sequence[Noted],
    names: Sequence[str],
    proxy: ProxyTable | None,
    stall: Stall,
) -> list[StallPhase]:
    """The same with the time that a proxy takes, if it is the last that clients wait for."""
    ended_s = stall.began_s + stall.seconds
    moves = [one for one in noted if one.what == "proxy-writer" and one.of]
    moves = [one for one in moves if stall.began_s < one.at_s < ended_s]
    if proxy is None or not moves:
        return list(phases)
    moved, began_s = moves[-1], stall.began_s
    before: list[StallPhase] = []
    for one in phases:
        if began_s + one.seconds > moved.at_s:
            break
        before.append(one)
        began_s += one.seconds
    if len(phases) - len(before) > 1:  # others take longer
        return list(phases)
    to = ", ".join(names[node] for node in moved.of)
    why = (
        f"it sends writes to {to}; it checks every {proxy.check_s:g} s (proxy), with "
        f"fall = {proxy.fall}, fall_errors = {proxy.fall_errors}, rise = {proxy.rise}"
    )
    last = phases[len(before)] if len(before) < len(phases) else StallPhase("clients", 0.0)
    proxied = StallPhase("proxy", moved.at_s - began_s, why)
    return [*before, proxied, last._replace(seconds=ended_s - moved.at_s)]
