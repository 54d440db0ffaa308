"""Which timeouts of a group's members suit a network.

A short timeout lets the others wait less long for a member that has crashed, and takes members for
dead that were only cut off for a moment. Both are simulated for several settings of a model: a node
of the scenario is killed, and, in runs of their own, cut off from all others for a while. Loss and
jitter, if any are given, are there from the beginning to the end of each run.

Where somebody else looks after the one node that takes writes, that node loses power, and, in runs
of its own, stands still for a while; it is removed if another one takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import inf, isfinite
from statistics import median
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.measure.units import duration
from simrep.runs.executor import collected, in_groups
from simrep.runs.progress import work_expected
from simrep.runs.replication import Replication, simulate
from simrep.scenario import Scenario, with_values
from simrep.scenario.faults import FaultWord
from simrep.whatif.plan.answer import Answer

__all__ = ["TimeoutSetting", "Timeouts", "TriedTimeout", "weighed_timeouts"]

_SETTLED_S = 2.0  # of load before anything happens
_AFTER_S = 4.0  # of the run, after the last timer has run out
_DECIDED_S = 6.0  # after an outage: a removal that was decided before is agreed on
_ANSWERS_S = 0.3  # after a crash: commits that had all they needed
_MOST_S = 3600.0
_DEFAULTS = "defaults"
_BESIDE = 'cluster.options."{}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Struck:
    """What happens to which node, and the words for it."""

    crash: FaultWord
    outage: FaultWord
    node: int  # its position
    least: int  # nodes
    question: str  # with {outage}, as the next one
    spares: str
    all_remove: str
    removed: str


_MEMBER = _Struck(
    crash="kill",
    outage="cut",
    node=-1,
    least=3,
    question="Timeouts for a network whose nodes are cut off for {outage}",
    spares="removes nobody that is cut off for {outage}",
    all_remove="Every setting removes a node that is cut off for {outage}.",
    removed="removed",
)
_WRITER = _Struck(
    crash="power-loss",
    outage="pause",
    node=0,
    least=2,
    question="Timeouts of a failover manager, for a source that stands still for {outage}",
    spares="replaces no source that stands still for {outage}",
    all_remove="Every setting replaces a source that stands still for {outage}.",
    removed="replaced",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutSetting:
    """Options that are tried together.

    Attributes
    ----------
    name : str
        What they are known as; empty for most, ``defaults`` for those of the product.
    timeout_s : float
        The timeout that the answer is about.
    options : mapping of str to object
        Of ``cluster.options``; all others are as in the scenario.
    longest_s : float
        After so long a silence a member is out, at the latest.
    brief, written : str
        The options for a table, and as one writes them for a server.
    """

    name: str = ""
    timeout_s: float
    options: Mapping[str, object]
    longest_s: float
    brief: str
    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedTimeout:
    """What came of a setting, by replications.

    Attributes
    ----------
    setting : TimeoutSetting
    crash_s : tuple of float
        How long writers stand still at most when a node is killed.
    removed_s : tuple of float
        How long after that the others go on without it; infinite if they did not.
    rates_tps : tuple of float
        Commits per second until then, or until somebody asked for its removal.
    outage_s : tuple of float
        How long writers stand still at most when the node is cut off for a while.
    suspected, removed : int
        In how many of those another node suspected it, and the others removed it.
    """

    setting: TimeoutSetting
    crash_s: tuple[float, ...]
    removed_s: tuple[float, ...]
    rates_tps: tuple[float, ...]
    outage_s: tuple[float, ...]
    suspected: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Timeouts(Answer):
    """The shortest timeout that removes nobody, in seconds.

    Attributes
    ----------
    option : str
        Name of the timeout.
    length_s : float
        How long a node is cut off, or stands still.
    tried : tuple of TriedTimeout
    verb : str
        What happens to a node that is taken for dead: it is removed, or replaced.
    """

    option: str
    length_s: float
    tried: tuple[TriedTimeout, ...]
    verb: str = "removed"

    def _rows(self) -> list[dict[str, Any]]:
        """A row per setting."""
        return [
            {
                "settings": one.setting.written,
                "known_as": one.setting.name,
                "crash_s": median(one.crash_s),
                "crash_max_s": max(one.crash_s),
                "removed_after_s": median(one.removed_s),
                "until_removed_tps": median(one.rates_tps),
                "outage_s": median(one.outage_s),
                "suspected": one.suspected,
                "removed": one.removed,
                "replications": len(one.outage_s),
            }
            for one in self.tried
        ]


@dataclass(frozen=True, slots=True)
class _Run:
    """What came of one run."""

    stall_s: float
    removed_s: float
    suspected: bool
    rate_tps: float


def weighed_timeouts(
    scenario: Scenario,
    settings: Sequence[TimeoutSetting],
    *,
    option: str,
    cost: Callable[[TriedTimeout], str],
    notes: tuple[str, ...] = (),
    writer: bool = False,
    outage_s: float = 4.0,
    loss: float = 0.0,
    jitter_s: float = 0.0,
    replications: int = 6,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Timeouts:
    """Crashes and false suspicions, over the settings of a model.

    Parameters
    ----------
    scenario : Scenario
        Without faults of its own. Its last node is the one that is killed or cut off; with
        ``writer`` its first one loses power or stands still.
    settings : sequence of TimeoutSetting
        By their timeout.
    option : str
        Name of the timeout.
    cost : callable
        Says what a crash costs with a setting: "a crash stops writers for 6.2 s".
    notes : tuple of str
        What else there is to know.
    writer : bool
        Whether the node that takes writes is the one that it is about.
    outage_s : float
        How long the node is cut off or stands still, in seconds.
    loss : float
        Share of the segments that the network loses.
    jitter_s : float
        Mean of what the network adds to every delay in seconds, drawn from an exponential
        distribution.
    replications, seed, executor, progress
        Those of :func:`simrep.plan`.
    """
    struck = _WRITER if writer else _MEMBER
    _check(scenario, outage_s, struck)
    seed = scenario.run.seed if seed is None else seed
    network = _background(scenario, loss, jitter_s)
    tasks = [
        [(scenario, network, setting, struck, kind, outage_s, seed, number)
         for kind in (struck.crash, struck.outage) for number in range(replications)]
        for setting in settings
    ]  # fmt: skip

    def finished() -> Iterator[TriedTimeout]:
        groups = in_groups(_one_run, tasks, executor)
        for setting, runs in zip(settings, groups, strict=True):
            crashes, outages = runs[:replications], runs[replications:]
            yield TriedTimeout(
                setting=setting,
                crash_s=tuple(run.stall_s for run in crashes),
                removed_s=tuple(run.removed_s for run in crashes),
                rates_tps=tuple(run.rate_tps for run in crashes),
                outage_s=tuple(run.stall_s for run in outages),
                suspected=sum(run.suspected for run in outages),
                removed=sum(isfinite(run.removed_s) for run in outages),
            )

    # Clients of a cluster in which nothing happens may not do all that they may do in this one.
    versions = _hit(
        scenario, network, settings[0], struck, struck.crash, outage_s, _SETTLED_S
    ).versions
    work_expected(
        len(tasks),
        2 * replications,
        costs=[
            sum(_length_s(setting, kind, outage_s) for kind in (struck.crash, struck.outage))
            for setting in settings
        ],
    )
    tried, complete = collected(finished(), least=1, progress=progress, total=len(tasks))
    safe = [one for one in tried if not one.removed]
    best = min(safe, key=lambda one: one.setting.timeout_s, default=None)
    value = None if best is None else best.setting.timeout_s
    below = [one.setting.timeout_s for one in tried if one.removed]
    return Timeouts(
        question=struck.question.format(outage=duration(outage_s)),
        sentence=_sentence(best, tried, struck, duration(outage_s), cost),
        value=value,
        low=max((s for s in below if value is None or s < value), default=None),
        high=value,
        unit="s",
        confidence=None,
        notes=notes,
        seed=seed,
        complete=complete,
        scenario=scenario.to_dict(),
        versions=versions,
        option=option,
        length_s=outage_s,
        tried=tuple(tried),
        verb=struck.removed,
    )


def _check(scenario: Scenario, outage_s: float, struck: _Struck) -> None:
    if not 0.0 < outage_s <= _MOST_S:
        most = f"must be above 0 and at most {_MOST_S:g}, given {outage_s:g}"
        raise ScenarioError("outage_s", most)
    if scenario.faults:
        raise ScenarioError(
            "fault", "the question crashes a node itself", "ask with a scenario without faults"
        )
    if scenario.workload.fixed:
        raise ScenarioError("workload", "its transactions would end", "set run.duration_s instead")
    if len(scenario.node_names) < struck.least:
        few = f"nobody survives a crash of one of {len(scenario.node_names)}"
        raise ScenarioError("cluster.nodes", few, f"set {struck.least}")


def _sentence(
    best: TriedTimeout | None,
    tried: Sequence[TriedTimeout],
    struck: _Struck,
    outage: str,
    cost: Callable[[TriedTimeout], str],
) -> str:
    usual = next((one for one in tried if one.setting.name == _DEFAULTS), None)
    beside = ""
    if usual is not None and usual is not best:
        beside = (
            f" With the defaults {cost(usual)}, and the node is {struck.removed} in "
            f"{usual.removed} of {len(usual.outage_s)} outages."
        )
    if best is None:
        return f"{struck.all_remove.format(outage=outage)}{beside}"
    spares = struck.spares.format(outage=outage)
    return f"{best.setting.written} {spares}; {cost(best)}.{beside}"


def _background(scenario: Scenario, loss: float, jitter_s: float) -> list[dict[str, Any]]:
    """Faults of all links, from the beginning to the end."""
    names = list(scenario.node_names)
    faults = []
    for place, name in enumerate(names[:-1]):
        links = {"nodes": [name], "others": names[place + 1 :], "at_s": 0.0}
        if loss:
            faults.append({**links, "what": "loss", "loss": loss})
        if jitter_s:
            table = {"kind": "exponential", "mean_ms": 1e3 * jitter_s}
            faults.append({**links, "what": "jitter", "jitter": table})
    return faults


def _one_run(
    scenario: Scenario,
    background: Sequence[Mapping[str, Any]],
    setting: TimeoutSetting,
    struck: _Struck,
    kind: str,
    outage_s: float,
    seed: int,
    replication: int,
) -> _Run:
    """One run in which the node is hit.

    When it happens differs from run to run, as timers of servers know nothing of it.
    """
    at_s = _SETTLED_S + (replication * 0.618034) % 1.0
    changed = _hit(scenario, background, setting, struck, kind, outage_s, at_s)
    node = struck.node % len(scenario.node_names)
    return _outcome(simulate(changed, seed, replication), node, at_s)


def _hit(
    scenario: Scenario,
    background: Sequence[Mapping[str, Any]],
    setting: TimeoutSetting,
    struck: _Struck,
    kind: str,
    outage_s: float,
    at_s: float,
) -> Setup:
    """The run in which the node is hit at a time."""
    fault: dict[str, Any] = {"what": kind, "node": scenario.node_names[struck.node], "at_s": at_s}
    if kind == struck.outage:
        fault["until_s"] = at_s + outage_s
    changed = with_values(
        scenario,
        {
            **{_BESIDE.format(name): value for name, value in setting.options.items()},
            "fault": [*background, fault],
            "run.warmup_s": 0.0,
            "run.duration_s": at_s + _length_s(setting, kind, outage_s),
        },
    )
    return setup_of(changed)


def _length_s(setting: TimeoutSetting, kind: str, outage_s: float) -> float:
    """How long a run goes on after the fault.

    Timers that are longer than an outage do not run out: everybody is heard again.
    """
    if kind in {"kill", "power-loss"}:
        return setting.longest_s + _AFTER_S
    return max(outage_s, min(setting.longest_s, outage_s + _DECIDED_S)) + 2.0 * _AFTER_S


def _outcome(run: Replication, hit: int, at_s: float) -> _Run:
    noted = [one for one in run.noted if one.at_s >= at_s and one.node != hit]
    views = (
        one.at_s
        for one in noted
        if one.what == "promoted" or (one.what == "primary" and hit not in one.of)
    )
    removed_s = next(views, inf)
    assert run.attempts is not None, "there is a fault"
    # Whoever asks for a removal has it some time before the view tells of it.
    asked_s = next((one.at_s for one in noted if one.what == "expel"), removed_s)
    begin_s, end_s = at_s + _ANSWERS_S, min(asked_s, removed_s, run.attempts.end_s)
    commits_s = run.attempts.between(begin_s, end_s).commits_s
    return _Run(
        stall_s=run.measurement.stall.seconds,
        removed_s=removed_s - at_s,
        suspected=any(one.what == "suspect" and hit in one.of for one in noted),
        rate_tps=len(commits_s) / max(end_s - begin_s, _ANSWERS_S),
    )
