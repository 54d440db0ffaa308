"""What the slowest transactions of a run waited for, and for whom."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import ceil, isnan, nan
from pathlib import Path
from statistics import fmean, median
from typing import Any, cast

from simrep.errors import ScenarioError
from simrep.kernel.watch import Key, Waited
from simrep.measure.units import amount, duration, plain
from simrep.runs.progress import told, work_expected
from simrep.runs.replication import with_run_settings
from simrep.runs.report import Report
from simrep.runs.story import Follow, Journey, Story
from simrep.scenario.schema import Scenario
from simrep.scenario.table import seconds
from simrep.why.reasons import Causes, Messages, Reasons
from simrep.why.replay import Replay
from simrep.workload.laps import LAPS
from simrep.workload.transaction import Transaction
from simrep.workload.workload import Loop, Think

__all__ = ["Blocker", "TailExplanation", "TailStage", "explain_tail"]


_BEYOND = " beyond the way of the messages"
_WAITING = {
    "client": "with the client: waiting for a connection, pausing, on the way",
    "execute": "executing statements",
    "lock wait": "waiting for row locks",
    "queue": "waiting for the turn to send, or for flow control",
    "consistency": "waiting for what the consistency level asks for",
    "send window": "waiting for the send window",
    "order": "waiting for the total order beyond the way of the messages",
    "certification": "waiting to be certified",
    "flush": "writing and syncing logs, and waiting to do so",
    "acknowledgement": "waiting for an acknowledgement beyond the way of the messages",
    "commit order": "waiting for earlier transactions to commit",
    "commit": "committing in the engine",
    "retries": "in attempts that failed",
}
_WORTH = 0.05
"""Share of a stage that deserves a sentence, and of its blockers."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """For whom the slowest waited in one stage.

    Attributes
    ----------
    who : str
        Transactions of a class, or a queue of a node.
    doing : str
        What those were doing, ``stage order`` for example; empty if it is not known.
    seconds : float
        Mean time per slow transaction.
    """

    who: str
    doing: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TailStage:
    """One stage of the slowest transactions; means in seconds.

    Attributes
    ----------
    name : str
        One of ``simrep.workload.laps.LAPS``.
    slow_s, rest_s : float
        Of the slowest, and of all others.
    floor_s : float
        What the network alone takes in this stage.
    above_s : float
        Of the slowest, above the floor. Where a stage is shorter than its floor, the messages have
        travelled during the stages before it, and the rest of the floor is taken off those.
    share : float
        Of all time above the network floor.
    blockers : tuple of Blocker
        For whom they waited, the longest first; empty where that is not known.
    """

    name: str
    slow_s: float
    rest_s: float
    floor_s: float
    above_s: float
    share: float
    blockers: tuple[Blocker, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class TailExplanation(Report):
    """Where the time of the slowest transactions of a run went.

    ``plot()`` draws the time above the network floor, by stages.

    Attributes
    ----------
    share : float
        Of all transactions, that counted as the slowest.
    transactions, committed : int
        How many those are, and all.
    from_s : float
        Latency of the fastest of them in seconds.
    latency_s, rest_s : float
        Their mean latency, and that of all others (NaN if there are none), in seconds.
    floor_s : float
        The network floor: what messages alone take of them, in seconds; 0 where there are none,
        and where servers come and go; NaN if the model does not tell which message ends a wait.
    stages : tuple of TailStage
        Those first that took longest above the network floor.
    model : str
    seed, replication : int
    scenario : mapping
        The scenario that was run, with its defaults filled in.
    versions : mapping of str to str
        What computed it.
    """

    share: float
    transactions: int
    committed: int
    from_s: float
    latency_s: float
    rest_s: float
    floor_s: float
    stages: tuple[TailStage, ...]
    model: str
    seed: int
    replication: int
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def above_s(self) -> float:
        """Mean time of the slowest above the network floor, in seconds."""
        return sum(stage.above_s for stage in self.stages)

    def sentences(self) -> list[str]:
        """The answer in words; what explains a sentence is indented below it."""
        first = (
            f"The slowest {100 * self.share:.3g} % ({amount(self.transactions)} of "
            f"{amount(self.committed)}, from {duration(self.from_s)} on) took "
            f"{duration(self.latency_s)} on average"
        )
        if not isnan(self.rest_s):
            first += f", the others {duration(self.rest_s)}"
        if self.floor_s > 0.0:
            first += f"; the network alone needs {duration(self.floor_s)}"
        said = [f"{first}."]
        if isnan(self.floor_s):
            said.append(
                f"The network floor is not known: model {self.model!r} does not tell which message "
                "a node handles (Network.handler)."
            )
        over = "the time above the network floor" if self.floor_s > 0.0 else "that time"
        for stage in self.stages:
            if stage.share < _WORTH:
                break
            said.append(f"{100 * stage.share:.0f} % of {over} was {self._waiting(stage.name)}.")
            for one in stage.blockers[:3]:
                part = one.seconds / stage.slow_s
                if part >= _WORTH:
                    doing = f", then {_doing(one.doing)}" if one.doing else ""
                    said.append(f"  {100 * part:.0f} % of that stage for {one.who}{doing}.")
        return said

    def _waiting(self, stage: str) -> str:
        words = _WAITING.get(stage, stage)
        return words.removesuffix(_BEYOND) if isnan(self.floor_s) else words

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        content = {f.name: getattr(self, f.name) for f in fields(self)}
        more = {"above_s": self.above_s, "sentences": self.sentences()}
        return cast(dict[str, Any], plain(content | more))

    def _rows(self) -> list[dict[str, Any]]:
        """A row per stage."""
        return [
            {name: value for name, value in asdict(stage).items() if name != "blockers"}
            for stage in self.stages
        ]

    def __repr__(self) -> str:
        return (
            f"<TailExplanation of {self.transactions:,} of {self.committed:,} transactions, "
            f"{duration(self.above_s)} above the network floor>"
        )


def _doing(text: str) -> str:
    return f"in its {text}" if text.startswith("stage ") else text


_ALONE = 10  # transactions of a class that tell what the network alone takes
_CLIENT = "client"


@told
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
    work_expected(1, pieces=2)
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
    if replay.setup.moves:
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
        loops=(Loop((node,)),),
        arrivals=(),
        scheduled=(),
        think=Think(),
        per_client=_ALONE,
    )
    paths = {link: replace(path, troubles=()) for link, path in setup.paths.items()}
    quiet = {"duration_s": None, "settle_s": None, "warmup": None, "warmup_s": 0.0, "log": False}
    scenario = setup.scenario.without_faults()
    alone = with_run_settings(
        replace(setup, scenario=scenario, workload=workload, paths=paths, noticed=False), quiet
    )
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
