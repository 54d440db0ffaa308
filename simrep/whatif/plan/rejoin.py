"""How long a node takes to come back, and what the others feel meanwhile.

Nobody simulates four hours of absence in seconds. Short absences are simulated, by the mechanisms
of the product, and what is linear is extrapolated: a copy grows with its bytes, and what is to be
applied with the time of absence. It is worked off at the rate that was seen under the same load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from math import isfinite, nan
from statistics import fmean
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, SimrepError, nearest
from simrep.measure.confidence import mean_interval
from simrep.runs.executor import collected, in_groups
from simrep.runs.progress import uncounted, work_expected
from simrep.runs.replication import simulate
from simrep.scenario import Scenario, with_values
from simrep.whatif.plan.rejoin_answer import Kept, PlayedWay, Rejoin, ReturnRules
from simrep.whatif.plan.return_words import notes_of, sentence_of, time_of, volume_of
from simrep.whatif.plan.returns import (
    Returned,
    ReturnWay,
    SimulatedReturn,
    simulated_return,
)

__all__ = ["Kept", "PlayedWay", "Rejoin", "ReturnRules", "planned_return", "returning_node"]


_MOST_COMMITS = 6_000  # of a run, about
_ABSENCE_S = (3.0, 6.0)
_COPIES_S = (1.0, 2.0)  # of replications in turn: the difference tells what a byte takes
_JOINS_S = 12.0  # a node that has asked comes back within this, but for copies and what it applies
_CATCHES_UP = 3.0  # times the absence: whoever takes longer may never catch up
_RUN_S = 14.0  # about as long as runs are
_MOST_WORK = 80_000  # commits of all runs, about: seconds of computing
_SURELY = 0.8  # of how long what is missed is kept: nobody has to copy
_TELLING = 200  # commits of a pilot
_PILOT = 2**31 - 3  # a replication that no figure counts
_LONGEST_PILOT_S = 16.0
_LEAST_BEHIND = 100.0  # transactions that tell how fast they are applied
_LEAST_POOL = 6 << 20
_MOST_S = 366 * 86_400.0
_POOL = "buffer_pool_size"  # how the name of the option ends
_BIND = "cluster.data_bytes"


def planned_return(
    scenario: Scenario,
    rules: ReturnRules,
    *,
    node: str,
    away_s: float | None,
    disk_mb_s: float | None = None,
    replications: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Rejoin:
    """The return of a node.

    Parameters
    ----------
    scenario : Scenario
        Without faults of its own; its data are ``cluster.data_bytes``.
    rules : ReturnRules
    node : str
        Which one; see ``returning_node``.
    away_s : float, optional
        How long it was away, in seconds; if not given, it is new and has no data.
    disk_mb_s : float, optional
        For a copy by hand, what disks read and write, in MB per second.
    replications : int, optional
        3 or 4 if not given, the fewer the more is committed.
    confidence, seed, executor, progress
        Those of :func:`simrep.plan`.
    """
    _check(scenario, away_s, replications)
    seed = scenario.run.seed if seed is None else seed
    setup = setup_of(scenario)
    rate_tps, size_bytes = _pilot(setup, rules, seed)
    absence_s = min(max(_MOST_COMMITS / rate_tps - 0.5 * _JOINS_S, _ABSENCE_S[0]), _ABSENCE_S[1])
    if away_s is not None:
        absence_s = min(absence_s, max(1.0, away_s))
    hand = rules.copies is None and (away_s is None or rules.refusal)
    lasts_s = rules.kept.lasts_s(rate_tps, size_bytes)
    short = away_s is not None and away_s < _SURELY * lasts_s
    long = away_s is None or away_s * _SURELY > lasts_s
    many = rate_tps * _RUN_S * 2 * 2 > _MOST_WORK
    ways = []
    if hand or (away_s is not None and not (long and many)):
        ways.append(rules.follows)
    if rules.copies is not None and not (short and (many or rules.refusal)):
        ways.append(rules.copies)
    if replications is None:
        affordable = _MOST_WORK / (rate_tps * _RUN_S * len(ways))
        replications = max(3, min(4, int(affordable)))
    tasks: list[list[tuple[Any, ...]]] = []
    for way in ways:
        length_s = way.absence_s if way.copies else absence_s
        asked = _asked(setup, node, way, rate_tps, length_s)
        tasks.append([
            (asked[number % len(asked)], rules.size_of, seed, number)
            for number in range(replications)
        ])  # fmt: skip

    def finished() -> Iterator[PlayedWay]:
        for group, returns in zip(tasks, in_groups(simulated_return, tasks, executor), strict=True):
            asked: list[SimulatedReturn] = [task[0] for task in group]
            yield PlayedWay(
                way=asked[0].way,
                away_s=asked[0].away_s,
                data_bytes=tuple(one.data_bytes for one in asked),
                returns=tuple(returns),
                byte_s=_byte_s(asked, returns),
            )

    work_expected(len(tasks), replications, costs=[group[0][0].most_s for group in tasks])
    played, complete = collected(finished(), least=len(tasks), progress=progress, total=len(tasks))
    played = _with_rates(played)
    found = {one.way.copies: one for one in played}
    return _answer(
        scenario, setup, rules, found.get(False), found.get(True), node, away_s, disk_mb_s,
        confidence, seed, complete=complete,
    )  # fmt: skip


def returning_node(scenario: Scenario, node: str | None) -> str:
    """Which node it is about: the one that is named, or the last one with data."""
    able = [name for name in scenario.node_names if name not in scenario.arbitrators]
    if node is None:
        return able[-1]
    if node not in able:
        raise ScenarioError("node", f"no node {node!r} with data", nearest(node, able))
    return node


def _check(scenario: Scenario, away_s: float | None, replications: int | None) -> None:
    if away_s is not None and not 0.0 < away_s <= _MOST_S:
        raise ScenarioError("away_s", f"must be above 0 and at most {_MOST_S:g}, given {away_s:g}")
    if replications is not None and replications < 2:
        raise ScenarioError("replications", f"an interval needs at least 2, given {replications}")
    if scenario.timed:
        raise ScenarioError(
            scenario.timed[0],
            "the question removes a node itself, under a steady load",
            "ask with a scenario in which nothing happens",
        )
    if scenario.workload.fixed:
        raise ScenarioError("workload", "its transactions would end", "set run.duration_s instead")
    if len(scenario.node_names) - len(scenario.arbitrators) < 2:
        raise ScenarioError("cluster.nodes", "a single node has no donor", "set 3")


def _pilot(setup: Setup, rules: ReturnRules, seed: int) -> tuple[float, float]:
    """About how many transactions commit per second, and how large they are."""
    duration_s = 0.25
    while True:
        run = {"run.duration_s": duration_s, "run.warmup_s": 0.0, "run.warmup": None}
        with uncounted():
            pilot = simulate(with_values(setup.scenario, run), seed, _PILOT)
        seen = pilot.measurement
        if seen.committed >= _TELLING or duration_s >= _LONGEST_PILOT_S:
            break
        duration_s *= 4.0
    if not seen.committed:
        raise SimrepError("nothing was replicated: the clients of the scenario commit nothing")
    return seen.committed / duration_s, rules.size_of(pilot.counters)


def _asked(
    setup: Setup, node: str, way: ReturnWay, rate_tps: float, away_s: float
) -> list[SimulatedReturn]:
    """What replications simulate in turn."""
    scenario = setup.scenario
    values = {
        f'cluster.options."{name}"': value for name, value in way.values(rate_tps, away_s).items()
    }
    data_bytes = float(scenario.cluster.data_bytes)
    most_s = _JOINS_S + _CATCHES_UP * away_s
    if not way.copies:
        asked = SimulatedReturn(
            scenario=scenario, node=node, way=way, values=values, away_s=away_s,
            patience_s=_JOINS_S, most_s=most_s, data_bytes=data_bytes,
        )  # fmt: skip
        return [asked]
    byte_s = max(way.byte_s, _network_byte_s(setup, node))
    option = next((name for name in type(setup.options).model_fields if name.endswith(_POOL)), "")
    pool = getattr(setup.options, option, None)
    least = _LEAST_POOL / pool * data_bytes if pool and pool < data_bytes else 1.0
    found = []
    for copy_s in _COPIES_S:
        copied = min(data_bytes, max(copy_s / byte_s, least)) if byte_s else data_bytes
        more: dict[str, object] = {**values, _BIND: int(copied)}
        if pool and pool < data_bytes:  # as many reads miss it as before
            more[f"cluster.options.{option}"] = int(pool * copied / data_bytes)
        begins_s = copied * byte_s + _JOINS_S
        found.append(
            SimulatedReturn(
                scenario=scenario, node=node, way=way, values=more, away_s=away_s,
                patience_s=begins_s + _JOINS_S, most_s=begins_s + most_s,
                data_bytes=float(int(copied)),
            )
        )  # fmt: skip
    return found


def _network_byte_s(setup: Setup, node: str) -> float:
    """What a byte takes to a node on the slowest path, by its bandwidth or by TCP's window."""
    target = setup.scenario.node_names.index(node)
    slowest = 0.0
    for (source, end), path in setup.paths.items():
        if end == target and source != target:
            back = setup.paths[end, source]
            trip_s = path.latency.base_s + back.latency.base_s
            slowest = max(slowest, 1.0 / path.bytes_per_s, trip_s / path.tcp.window_limit_bytes)
    return slowest


def _byte_s(asked: Sequence[SimulatedReturn], returns: Sequence[Returned]) -> float:
    """What each further byte of a copy takes: from copies of two sizes, so begins do not count."""
    if not asked[0].way.copies:
        return 0.0
    by_size: dict[float, list[float]] = {}
    for one, seen in zip(asked, returns, strict=True):
        by_size.setdefault(one.data_bytes, []).append(seen.copied_s - seen.asked_s)
    if len(by_size) < 2:
        return 0.0
    (small, brief), (large, long) = sorted(by_size.items())
    return max(0.0, fmean(long) - fmean(brief)) / (large - small)


def _with_rates(played: list[PlayedWay]) -> list[PlayedWay]:
    """Where a copy leaves too little to apply to tell a rate, that of the other way."""
    found = {one.way.copies: one for one in played}
    if True not in found or False not in found:
        return played
    others = found[False].returns
    returns = tuple(
        replace(one, net_tps=other.net_tps) if one.lacks < _LEAST_BEHIND else one
        for one, other in zip(found[True].returns, others, strict=True)
    )
    return [found[False], replace(found[True], returns=returns)]


def _answer(
    scenario: Scenario,
    setup: Setup,
    rules: ReturnRules,
    follows: PlayedWay | None,
    copies: PlayedWay | None,
    node: str,
    away_s: float | None,
    disk_mb_s: float | None,
    confidence: float,
    seed: int,
    *,
    complete: bool,
) -> Rejoin:
    some = follows or copies
    assert some is not None
    rate_tps = fmean(one.missed_tps for one in some.returns)
    size_bytes = fmean(one.size_bytes for one in some.returns)
    lasts_s = rules.kept.lasts_s(rate_tps, size_bytes)
    asked_s = fmean(one.asked_s for one in some.returns)
    by = "follows"
    if away_s is None or away_s + asked_s > lasts_s:
        by = "hand" if rules.refusal or copies is None else "copies"
    data_bytes = float(scenario.cluster.data_bytes)
    by_hand_s = nan
    if by == "hand" or rules.copies is None:
        byte_s = max(0.0 if disk_mb_s is None else 1e-6 / disk_mb_s, _network_byte_s(setup, node))
        by_hand_s = data_bytes * byte_s if disk_mb_s is not None else nan
    answer = Rejoin(
        question="", sentence="", value=None, low=None, high=None, unit="s",
        confidence=confidence, seed=seed, complete=complete, scenario=scenario.to_dict(),
        versions=setup.versions, node=node, away_s=away_s, data_bytes=data_bytes, rules=rules,
        follows=follows, copies=copies, by=by, lasts_s=lasts_s, by_hand_s=by_hand_s,
    )  # fmt: skip
    totals = [sum(each) for each in zip(*answer.phases().values(), strict=True)]
    known = [total for total in totals if isfinite(total)]
    span = mean_interval(totals, confidence) if len(known) == len(totals) else None
    gone = ", which is new" if away_s is None else f" after {time_of(away_s)}"
    return replace(
        answer,
        question=f"The return of {node}{gone}, with {volume_of(data_bytes)} of data",
        sentence=sentence_of(answer, span, totals),
        value=None if span is None else span.mean,
        low=None if span is None else max(0.0, span.low),
        high=None if span is None else span.high,
        notes=notes_of(answer, rate_tps, size_bytes),
    )
