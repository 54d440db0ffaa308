"""Random schedules of faults for a group of MySQL Group Replication, and what must hold.

Each schedule heals in the end: links are whole and whoever is away starts again. If a majority is
gone for good, somebody tells one of the most advanced members to begin the group again. Then the
group has time to converge.

A member that has what the group has begun anew without is not let in, as the product has it:
somebody would have to give it a copy of all data. Such members are counted and left out.

Nothing that was answered is lost while a majority survives: while more than half of the members
have not been killed in the whole run, and nobody began the group again by hand. Otherwise what only
some members had can be gone, as the product has it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from simrep.kernel.timeline import Noted
from simrep.runs.replication import Replication, simulate
from simrep.scenario import Scenario, load
from tests.accuracy.failures import Drawing, Outcome, TooLongError, cpu_limit, fault_tables

__all__ = ["broken_promises", "drawn", "outcome"]

_HEALED_S = 75.0  # expulsions, late retransmissions, joins, recovery
_ATTEMPTS = 4
_ENDS = {"kill", "power-loss", "leave"}
_STUCK = {"aborted", "evicted", "non-primary", "joiner", "rejoin", "refused", "alone"}
_STATES = {*_STUCK, "primary", "synced"}
_APART = 20  # executed transactions that members may differ by while clients go on
_PREFIX = "group_replication_"
_AGAIN = "it reaches them again"  # so a member says that its detector has a majority
_TICK_S = 1.0  # of the detector
_SETTLED_S = 30.0  # so long after it came into a view, a member has caught up
_SERVED_S = 8.0  # the group is looked at so long before the end
_ERRANT = "it has transactions that the group does not have"
_WRITERS = 3  # each on a member of its own


def drawn(number: int) -> Scenario:
    """A group of three to seven members with up to six faults, all of it healed in the end."""
    draw = random.Random(number)
    size = draw.choice([3, 3, 3, 4, 5, 5, 7])
    names = [f"n{place + 1}" for place in range(size)]
    schedule = Drawing(
        draw, names, set(), pauses=(0.01, 0.7, 6.0, 20.0), lengths=(0.3, 3.0, 9.0, 26.0)
    )
    for _ in range(draw.randint(1, 6)):
        schedule.next_fault()
    healed_s = schedule.heal()
    single = draw.random() < 0.7
    options = {
        "single_primary_mode": single,
        "paxos_single_leader": single and draw.random() < 0.3,
        "member_expel_timeout": draw.choice([0, 0, 5]),
        "unreachable_majority_timeout": draw.choice([0, 0, 4]),
        "consistency": draw.choice(
            ["EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "BEFORE_ON_PRIMARY_FAILOVER", "BEFORE",
             "AFTER"]
        ),
    }  # fmt: skip
    clients: dict[str, Any] = {
        "read_timeout_s": draw.choice([5.0, 60.0]),
        "retry_pause_s": 0.5,
        "connect_timeout_s": 2.0,
    }
    if draw.random() < 0.5:
        clients |= {"on_error": "next", "nodes": names}
    return load(
        {
            "cluster": {
                "model": "group_replication",
                "nodes": names,
                "options": {f"{_PREFIX}{name}": value for name, value in options.items()},
            },
            "network": {"rtt_ms": draw.choice([0.2, 2.0, 60.0])},
            "workload": {
                "think_time_ms": 500,
                "think_time": "exponential",
                "clients": clients,
                "group": [{"node": name, "threads": 1} for name in names[:_WRITERS]],
            },
            "fault": schedule.faults,
            "run": {"duration_s": healed_s + _HEALED_S, "seed": number},
        }
    )


def outcome(number: int) -> Outcome:
    """What becomes of a schedule, when somebody looks after the group."""
    scenario = drawn(number)
    for _ in range(_ATTEMPTS):
        try:
            with cpu_limit():
                replication = simulate(scenario, number, trace=True)
        except TooLongError:
            return Outcome(["it takes too long"])
        problems = list(broken_promises(scenario, replication))
        stuck = [] if problems else _remedies(scenario, replication)
        if not stuck:
            return Outcome(problems, len(_errant(scenario, replication)))
        scenario = scenario.replace(
            {
                "fault": [*fault_tables(scenario), *stuck],
                "run.duration_s": stuck[-1]["at_s"] + _HEALED_S,
            }
        )
    return Outcome(["the group has not come back"])


def broken_promises(scenario: Scenario, replication: Replication) -> Iterator[str]:
    """In words, whatever the group did that it never must."""
    yield from _answers_of_a_minority(scenario, replication)
    yield from _two_primaries(scenario, replication)
    yield from _different_orders(replication)
    yield from _fates(scenario, replication)
    yield from _left_behind(scenario, replication)
    assert replication.traffic.in_flight <= len(scenario.node_names)


def _answers_of_a_minority(scenario: Scenario, replication: Replication) -> Iterator[str]:
    """A write that began on a member without a majority, and was answered before it had one.

    A member notes who is alive when its detector looks, once a second. A member that was silent and
    is heard again wakes the detector; a configuration that becomes valid does not, so that the
    majority of a smaller one orders and answers up to a second before its members note it
    (``xcom_detector.cc``, ``detector_task``: ``TIMED_TASK_WAIT(&detector_wait, 1.0)``, and
    ``xcom_base.cc``, ``dispatch_op``).
    """
    attempts = replication.attempts
    assert attempts is not None
    for node, name in enumerate(scenario.node_names):
        own = (attempts.node == attempts.nodes.index(name)) & (attempts.error == 0)
        own &= ~attempts.connecting
        for begin_s, end_s in _spans(replication, node):
            wrong = own & (attempts.began_s > begin_s) & (attempts.ended_s < end_s)
            for at_s in attempts.ended_s[wrong].tolist():
                yield f"{at_s:.3f} s: {name} answers a write without a majority"
                return


def _spans(replication: Replication, node: int) -> Iterator[tuple[float, float]]:
    """When a member had no majority, or was out."""
    since: float | None = None
    for noted in replication.noted:
        if noted.node != node:
            continue
        if noted.what in {"non-primary", "evicted", "aborted"} and since is None:
            since = noted.at_s
        elif noted.what == "primary" and since is not None:
            yield since, noted.at_s - (_TICK_S if noted.how == _AGAIN else 0.0)
            since = None
    if since is not None:
        yield since, float("inf")


def _two_primaries(scenario: Scenario, replication: Replication) -> Iterator[str]:
    """In single-primary mode: a write that began after another member was elected, answered."""
    options = scenario.cluster.options
    if not options[f"{_PREFIX}single_primary_mode"]:
        return
    attempts = replication.attempts
    assert attempts is not None
    elections = [
        (noted.at_s, noted.of[0]) for noted in replication.noted if noted.what == "elected"
    ]
    current = 0
    changes = []
    for at_s, primary in elections:
        if primary != current:
            changes.append((at_s, current, primary))
            current = primary
    for place, (at_s, former, _) in enumerate(changes):
        again = (later for later, _, primary in changes[place + 1 :] if primary == former)
        until_s = next(again, float("inf"))
        name = scenario.node_names[former]
        own = (attempts.node == attempts.nodes.index(name)) & (attempts.error == 0)
        own &= ~attempts.connecting & (attempts.began_s > at_s) & (attempts.ended_s < until_s)
        for answered_s in attempts.ended_s[own].tolist():
            yield f"{answered_s:.3f} s: {name} answers, and is no primary since {at_s:.3f} s"
            return


def _different_orders(replication: Replication) -> Iterator[str]:
    """A member whose order, or whose verdicts, are not those of members that came before it."""
    order: dict[Any, tuple[int, bool]] = {}
    last: dict[int, int] = {}
    assert replication.trace is not None
    for event in replication.trace:
        if event.what == "certify":
            origin, _, items, passed = event.detail
            place, verdict = order.setdefault((origin, items), (len(order), passed))
            if passed != verdict:
                yield f"{event.time_s:.3f} s: node {event.node} has another verdict on {items}"
                return
            if place <= last.get(event.node, -1):
                yield f"{event.time_s:.3f} s: node {event.node} certifies {items} in another order"
                return
            last[event.node] = place


def _fates(scenario: Scenario, replication: Replication) -> Iterator[str]:
    fates = replication.fates
    assert fates is not None
    ended = {fault.node for fault in scenario.faults if fault.what in _ENDS}
    survives = 2 * len(ended) < len(scenario.node_names)
    if fates.lost and survives and not _by_hand(scenario):
        yield f"{fates.lost} answered transactions are on no member"
    if fates.failed_present:
        yield f"{fates.failed_present} failed transactions are on a member"


def _left_behind(scenario: Scenario, replication: Replication) -> Iterator[str]:
    """A member that the others have let in, and that does not catch up while they go on."""
    names = scenario.node_names
    if _errant(scenario, replication) and not _by_hand(scenario):
        yield "a member has transactions that the group does not have"
    end_s = scenario.run.warmup_s + (scenario.run.duration_s or 0.0)
    if not _served(replication, end_s):
        return
    executed = _executed(replication, tuple(names))
    for name, noted in _states(scenario, replication).items():
        there = noted.what in {"primary", "joiner", "synced"} and noted.at_s < end_s - _SETTLED_S
        behind = max(executed.values()) - executed[name]
        if there and behind > _APART:
            yield f"{name} is in the group since {noted.at_s:.3f} s and lacks {behind} transactions"


def _by_hand(scenario: Scenario) -> bool:
    """Whether somebody began the group anew."""
    return any(fault.what == "bootstrap" for fault in scenario.faults)


def _served(replication: Replication, end_s: float) -> int:
    """What clients got of late."""
    attempts = replication.attempts
    assert attempts is not None
    return len(attempts.between(end_s - _SERVED_S).commits_s)


def _states(scenario: Scenario, replication: Replication) -> dict[str, Noted]:
    """What each member has noted of itself last."""
    names = scenario.node_names
    return {names[noted.node]: noted for noted in replication.noted if noted.what in _STATES}


def _errant(scenario: Scenario, replication: Replication) -> set[str]:
    """Members that are not let in as they have too much."""
    states = _states(scenario, replication)
    return {name for name, noted in states.items() if noted.how == _ERRANT}


def _remedies(scenario: Scenario, replication: Replication) -> list[dict[str, Any]]:
    """What an operator does about a group that has not come back; empty if it has."""
    names = scenario.node_names
    end_s = scenario.run.warmup_s + (scenario.run.duration_s or 0.0)
    at_s = round(end_s, 3) + 1.0
    executed = _executed(replication, tuple(names))
    stuck = {name for name, noted in _states(scenario, replication).items() if noted.what in _STUCK}
    served = _served(replication, end_s)
    most = max(executed.values())
    over = [name for name in names if name in stuck or executed[name] < most - _APART]
    if served:
        errant = _errant(scenario, replication)
        over = [name for name in over if name not in errant]
    stopped = over if served else list(names)
    remedies = [{"what": "kill", "at_s": at_s, "node": name} for name in stopped]
    if not served:
        first = max(names, key=lambda name: executed[name])
        remedies.append({"what": "bootstrap", "at_s": at_s + 10.0, "node": first})
        stopped = [name for name in stopped if name != first]
    remedies += [{"what": "restart", "at_s": at_s + 30.0, "node": name} for name in stopped]
    return remedies


def _executed(replication: Replication, names: tuple[str, ...]) -> dict[str, int]:
    """The number of the last transaction that each member has committed."""
    last = dict.fromkeys(names, 0)
    assert replication.trace is not None
    for event in replication.trace:
        if event.what == "visible":
            last[names[event.node]] = event.seqno
    return last
