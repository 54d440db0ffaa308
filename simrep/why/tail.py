"""What the slowest transactions of a run waited for, and for whom."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, isnan, nan
from pathlib import Path
from statistics import fmean, median
from typing import Any

from simrep.errors import ScenarioError
from simrep.kernel.watch import Key, Waited
from simrep.runs.replication import with_run_settings
from simrep.runs.story import Follow, Journey, Story
from simrep.scenario.schema import Scenario
from simrep.scenario.table import seconds
from simrep.why.critical_path import Causes
from simrep.why.messages import Messages
from simrep.why.reasons import Reasons
from simrep.why.replay import Replay
from simrep.why.tail_explanation import Blocker, TailExplanation, TailStage
from simrep.workload.clients import Think
from simrep.workload.laps import LAPS
from simrep.workload.transaction import Transaction

__all__ = ["explain_tail"]

_ALONE = 10  # transactions of a class that tell what the network alone takes
_CLIENT = "client"


def explain_tail(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    share: float = 0.05,
    seed: int | None = None,
    replication: int = 0,
) -> TailExplanation:
    """Simulate one replication and tell what its slowest transactions waited for.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    share : float
        Of all committed transactions, the slowest; above 0, at most 1.
    seed, replication : int
        Together they choose the random numbers; default: ``run.seed`` of the scenario and its
        first replication. The run is that of :func:`simrep.run`, bit for bit.

    Raises
    ------
    ScenarioError
        If the scenario or an argument is not valid.
    SimrepError
        If no transaction committed while it was measured.

    Notes
    -----
    The network floor is what the same transactions spend on messages when nobody else is there: of
    ten transactions of the same class and one lone client of the same node, without outages, the
    median time in which messages that the commit waited for were on the wire, and the round trips
    between client and server. Where servers come and go there is none. It is not known of a model
    that does not tell which message a node handles (``Network.handler``).

    The run is simulated twice: once to find the slowest, and once more to keep what they waited
    for.
    """
    if not 0.0 < share <= 1.0:
        raise ScenarioError("share", f"must be above 0 and at most 1, given {share}")
    replay = Replay.of(scenario, seed, replication)
    journeys = replay.story(Follow.stages()).journeys
    slow = _slowest(journeys, share)
    wanted = frozenset((j.transaction.client, j.transaction.started_s) for j in slow)
    story = replay.story(Follow(details=False, transactions=wanted))
    order = sorted(story.journeys, key=_latency)
    slow, rest = order[: len(slow)], order[len(slow) :]
    floor = _mean_floor(replay, slow)
    floor_s = sum(floor.values())
    if isnan(floor_s):
        floor = dict.fromkeys(LAPS, 0.0)
    return TailExplanation(
        share=share,
        transactions=len(slow),
        committed=len(order),
        from_s=slow[-1].latency_s,
        latency_s=fmean(j.latency_s for j in slow),
        rest_s=fmean(j.latency_s for j in rest) if rest else nan,
        floor_s=floor_s,
        stages=_stages(story, slow, rest, floor),
        model=replay.setup.model.name,
        seed=replay.seed,
        replication=replay.replication,
        scenario=replay.setup.scenario.to_dict(),
        versions=replay.setup.versions,
    )


def _latency(journey: Journey) -> float:
    """For sorting, the slowest first."""
    return -journey.latency_s


def _slowest(journeys: Sequence[Journey], share: float) -> list[Journey]:
    return sorted(journeys, key=_latency)[: max(1, ceil(share * len(journeys)))]


def _mean_floor(replay: Replay, slow: Sequence[Journey]) -> dict[str, float]:
    """By stage, what the network takes of such transactions; 0 where servers come and go."""
    if replay.setup.changes:
        return dict.fromkeys(LAPS, 0.0)
    kinds = Counter((j.transaction.node, j.transaction.kind) for j in slow)
    floors = {which: _floor(replay, *which) for which in sorted(kinds)}
    return {
        name: sum(floors[which][name] * number for which, number in kinds.items()) / len(slow)
        for name in LAPS
    }


def _floor(replay: Replay, node: int, kind: str) -> dict[str, float]:
    """By stage, what the network takes of a transaction that is alone, in seconds."""
    setup = replay.setup
    workload = replace(
        setup.workload,
        classes=tuple(one for one in setup.workload.classes if one.name == kind),
        nodes=(node,),
        arrivals=(),
        scheduled=(),
        think=Think(),
        per_client=_ALONE,
    )
    paths = {link: replace(path, outages=()) for link, path in setup.paths.items()}
    quiet = {"duration_s": None, "settle_s": None, "warmup": None, "warmup_s": 0.0, "log": False}
    alone = with_run_settings(replace(setup, workload=workload, paths=paths), quiet)
    story = Replay(alone, replay.seed).story(Follow())
    messages = Messages(story)
    causes = [Causes(story, messages, journey) for journey in story.journeys]
    if story.sent and any(one.untold for one in causes):
        return dict.fromkeys(LAPS, nan)
    wire = [one.wire_s() for one in causes]
    floor = {stage: median([one.get(stage, 0.0) for one in wire]) for stage in LAPS}
    client_rtt_s = seconds(setup.scenario.workload.client_rtt_ms)
    trips = [_round_trips(journey.transaction) for journey in story.journeys]
    floor[_CLIENT] = client_rtt_s * median(trips)
    return floor


def _round_trips(transaction: Transaction) -> int:
    """Between a client and its server: each statement, BEGIN and COMMIT."""
    return 1 if transaction.autocommit else len(transaction.statements) + 2


def _by_stage(journey: Journey) -> dict[str, float]:
    """How long a transaction was in every stage."""
    found = dict.fromkeys(LAPS, 0.0)
    for leg in journey.legs:
        found[LAPS[leg.lap]] += leg.seconds
    return found


def _stages(
    story: Story, slow: Sequence[Journey], rest: Sequence[Journey], floor: Mapping[str, float]
) -> tuple[TailStage, ...]:
    """The stages, those first that took longest above the floor."""
    of_slow, of_rest = [_by_stage(j) for j in slow], [_by_stage(j) for j in rest]
    means = {name: fmean(one[name] for one in of_slow) for name in LAPS}
    others = {name: fmean(one[name] for one in of_rest) if of_rest else nan for name in LAPS}
    above = _above(means, floor, _in_order(slow))
    total = sum(above.values())
    blockers = _blockers(story, slow)
    stages = [
        TailStage(
            name=name,
            slow_s=means[name],
            rest_s=others[name],
            floor_s=floor[name],
            above_s=above[name],
            share=above[name] / total if total else 0.0,
            blockers=blockers.get(name, ()),
        )
        for name in LAPS
        if means[name] > 0.0 or others[name] > 0.0
    ]
    return tuple(sorted(stages, key=lambda stage: -stage.above_s))


def _in_order(journeys: Sequence[Journey]) -> list[str]:
    """The stages in the order in which most transactions came to them."""
    places: dict[str, list[int]] = {name: [] for name in LAPS}
    for journey in journeys:
        for place, leg in enumerate(journey.legs):
            places[LAPS[leg.lap]].append(place)
    return sorted((n for n in LAPS if places[n]), key=lambda name: fmean(places[name]))


def _above(
    means: Mapping[str, float], floor: Mapping[str, float], order: Sequence[str]
) -> dict[str, float]:
    """Time above the floor; what of a floor its stage has not needed, earlier stages have."""
    above = {name: max(0.0, means[name] - floor[name]) for name in LAPS}
    for place, name in enumerate(order):
        left = max(0.0, floor[name] - means[name])
        for earlier in reversed(order[:place]):
            taken = min(left, above[earlier])
            above[earlier] -= taken
            left -= taken
    return above


def _blockers(story: Story, slow: Sequence[Journey]) -> dict[str, tuple[Blocker, ...]]:
    """By stage, for whom the slow ones waited there, and what those were doing."""
    reasons = Reasons(story, story.names)
    parts_s: dict[str, dict[tuple[str, str], float]] = defaultdict(lambda: defaultdict(float))
    for journey in slow:
        node = story.names[journey.transaction.node]
        at_s = journey.transaction.started_s
        for leg in journey.legs:
            name, began_s = LAPS[leg.lap], at_s
            at_s += leg.seconds
            for _, one in reasons.waits(node, journey.transaction, name, began_s, at_s):
                since_s, until_s = max(began_s, one.began_s), min(at_s, one.ended_s)
                for who, doing, part_s in _blamed(reasons, one, since_s, until_s):
                    parts_s[name][who, doing] += part_s / len(slow)
    return {
        name: tuple(
            Blocker(who, doing, part_s)
            for (who, doing), part_s in sorted(of.items(), key=lambda item: -item[1])
        )
        for name, of in parts_s.items()
    }


def _blamed(
    reasons: Reasons, one: Waited, since_s: float, until_s: float
) -> Iterator[tuple[str, str, float]]:
    """Who was waited for, what that was doing, and for how long."""
    for key in one.holder.keys:
        stages = reasons.stages_of(key, since_s, until_s)
        if stages:
            for stage, part_s in stages.items():
                yield _name(key), f"stage {stage}", part_s
            return
    who = _name(one.holder.keys[0]) if one.holder.keys else ""
    yield who or one.holder.text, one.doing, until_s - since_s


def _name(key: Key) -> str:
    """Who that is, without what differs between two of a kind; empty if it has no name."""
    node, who = key
    if isinstance(who, Transaction):
        return f"{who.kind} on {node}"
    return f"{who} of {node}" if isinstance(who, str) else ""
