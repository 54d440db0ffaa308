"""Explaining one transaction: it is found in one run, and looked at in a second, equal one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil, isnan
from operator import index
from pathlib import Path
from typing import Any

from simrep.contract.setup import Setup
from simrep.errors import ScenarioError
from simrep.kernel.chronicle import Sent, Span
from simrep.measure.units import amount, duration
from simrep.runs.story import Follow, Journey, Story, belongs
from simrep.scenario.schema import Scenario
from simrep.why.critical_path import Causes
from simrep.why.explanation import Activity, CommitStage, Explanation, Transmission
from simrep.why.messages import Messages
from simrep.why.reasons import Reasons
from simrep.why.replay import Replay
from simrep.workload.laps import LAPS
from simrep.workload.transaction import Transaction

__all__ = ["Explanation", "explain"]

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_SILENCE_S, _SILENCE_HOPS = 0.1, 10  # a member that says nothing for longer is away
_AFTER_HOPS = 2  # what other nodes do with it is shown for at least so long


def explain(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    txn: str | int = "slowest",
    seed: int | None = None,
    replication: int = 0,
) -> Explanation:
    """Simulate one replication and tell why one of its transactions took as long as it did.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    txn : str or int
        Which transaction: ``"slowest"``, a percentile (``"p50"``, ``"p95"``, ``"p99.9"``: the one
        whose latency that is), or its number, from 1, in the order in which those of the measured
        time committed.
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
    The run is simulated twice: once to find the transaction, and once more, with the same random
    numbers, to keep what happened while it was under way.
    """
    pick, replay = _pick(txn), Replay.of(scenario, seed, replication)
    story = replay.story(Follow.stages())
    number, rank = pick(story.journeys)
    found = story.journeys[number]
    latency_s = found.latency_s
    began_s, ended_s = found.transaction.started_s, found.ended_s
    until_s = ended_s + max(latency_s, _AFTER_HOPS * _longest_hop_s(replay.setup))
    story = replay.story(Follow(max(0.0, began_s - latency_s), until_s))
    journey = story.journeys[number]
    assert journey.ended_s == ended_s
    return _explanation(replay, story, journey, number + 1, rank, until_s)


def _longest_hop_s(setup: Setup) -> float:
    return max((path.latency.base_s for path in setup.paths.values()), default=0.0)


def _pick(txn: str | int) -> Any:
    """Finds the position of a transaction among the journeys, and says which one it is."""
    allowed = "slowest, a percentile as p95, or a number from 1"
    if isinstance(txn, str):
        txn = int(txn) if txn.isdecimal() else txn
    elif not isinstance(txn, bool):
        try:
            txn = index(txn)
        except TypeError:
            raise ScenarioError("txn", f"{txn!r} is no transaction", allowed) from None
    if isinstance(txn, bool) or (isinstance(txn, int) and txn < 1):
        raise ScenarioError("txn", f"{txn!r} is no transaction", allowed)
    if isinstance(txn, int):
        number = txn

        def numbered(journeys: list[Journey]) -> tuple[int, str]:
            if number > len(journeys):
                raise ScenarioError(
                    "txn", f"{number:,} is too high", f"{len(journeys):,} transactions committed"
                )
            return number - 1, f"one of {amount(len(journeys))}"

        return numbered
    match = _PERCENTILE.fullmatch(txn)
    if txn != "slowest" and match is None:
        raise ScenarioError("txn", f"{txn!r} is no transaction", allowed)
    share = 1.0 if match is None else float(match[1]) / 100.0

    def ranked(journeys: list[Journey]) -> tuple[int, str]:
        order = sorted(range(len(journeys)), key=lambda n: journeys[n].latency_s)
        place = max(0, ceil(share * len(order)) - 1)
        which = "the slowest" if match is None else f"the {txn}"
        return order[place], f"{which} of {amount(len(order))}"

    return ranked


def _explanation(
    replay: Replay,
    story: Story,
    journey: Journey,
    number: int,
    rank: str,
    latest_s: float,
) -> Explanation:
    setup = replay.setup
    transaction, nodes = journey.transaction, tuple(setup.scenario.node_names)
    began_s, ended_s = transaction.started_s, journey.ended_s
    messages = Messages(story)
    causes = Causes(story, messages, journey)
    reasons = Reasons(story, nodes, max(_SILENCE_S, _SILENCE_HOPS * _longest_hop_s(setup)))
    stages = _stages(journey, causes, reasons, nodes[transaction.node])
    own_ends_s = [span.ended_s for span in story.spans_of(transaction)]
    own_ends_s += [s.arrived_s for s in story.sent if s in causes.own and not isnan(s.arrived_s)]
    until_s = min(max([ended_s, *own_ends_s]), latest_s)
    return Explanation(
        number=number,
        rank=rank,
        kind=transaction.kind,
        client=transaction.client,
        node=transaction.node,
        rows=transaction.rows,
        size_bytes=transaction.size_bytes,
        started_s=began_s,
        ended_s=ended_s,
        nodes=nodes,
        stages=stages,
        activities=_activities(story, transaction, reasons, nodes, began_s, until_s),
        messages=_messages(story, messages, causes, began_s, until_s),
        until_s=until_s,
        model=setup.model.name,
        seed=replay.seed,
        replication=replay.replication,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
    )


def _stages(
    journey: Journey, causes: Causes, reasons: Reasons, node: str
) -> tuple[CommitStage, ...]:
    """Legs as stages; neighbours of one name are one, and what is left is ``other``."""
    names: list[str] = []
    ends_s: list[float] = []
    at_s = journey.transaction.started_s
    for leg in journey.legs:
        if leg.seconds <= 0.0:
            continue
        at_s += leg.seconds
        if names and names[-1] == LAPS[leg.lap]:
            ends_s[-1] = at_s
        else:
            names.append(LAPS[leg.lap])
            ends_s.append(at_s)
    if ends_s and abs(ends_s[-1] - journey.ended_s) < 1e-9:
        ends_s[-1] = journey.ended_s  # rounding
    else:
        names.append("other")
        ends_s.append(journey.ended_s)
    stages: list[CommitStage] = []
    at_s = journey.transaction.started_s
    for name, end_s in zip(names, ends_s, strict=True):
        reason = reasons.of(node, journey.transaction, name, at_s, end_s)
        if name == "client" and not stages and journey.transaction.queued_s:
            reason = f"waited {duration(journey.transaction.queued_s)} for a free connection"
        stages.append(CommitStage(name, at_s, end_s, reason or causes.reason(name, at_s, end_s)))
        at_s = end_s
    return tuple(stages)


def _activities(
    story: Story,
    transaction: Transaction,
    reasons: Reasons,
    nodes: tuple[str, ...],
    began_s: float,
    until_s: float,
) -> tuple[Activity, ...]:
    places = {name: place for place, name in enumerate(nodes)}

    def activity(span: Span) -> Activity:
        return Activity(
            node=places[span.node],
            station=f"row {span.detail}" if span.detail else span.station or "server",
            what=span.what or reasons.of_span(span),
            of=_named(span.who),
            own=belongs(span.who, transaction),
            waits=not span.what,
            began_s=max(span.began_s, began_s),
            ended_s=min(span.ended_s, until_s),
        )

    shown = [activity(s) for s in story.spans if s.ended_s > began_s and s.began_s < until_s]
    return tuple(sorted(shown, key=lambda one: (one.began_s, one.ended_s, one.node, one.station)))


def _named(who: Any) -> str:
    return f"{who.kind} of client {who.client}" if isinstance(who, Transaction) else ""


def _messages(
    story: Story, messages: Messages, causes: Causes, began_s: float, until_s: float
) -> tuple[Transmission, ...]:
    def shown(sent: Sent) -> bool:
        return sent.sent_s < until_s and not sent.arrived_s <= began_s

    kept = [sent for sent in story.sent if shown(sent)]
    numbers = {sent.number: number for number, sent in enumerate(kept)}
    return tuple(
        Transmission(
            number=number,
            source=sent.source,
            target=sent.target,
            label=messages.text(sent).label,
            size_bytes=sent.size_bytes,
            sent_s=sent.sent_s,
            arrived_s=sent.arrived_s,
            handled_s=sent.handled_s,
            cause=_number(messages.cause(sent), numbers),
            own=sent in causes.own,
            critical=sent in causes.critical,
        )
        for number, sent in enumerate(kept)
    )


def _number(cause: Sent | None, numbers: Mapping[int, int]) -> int | None:
    return None if cause is None else numbers.get(cause.number)
