"""Random schedules of faults for a Galera cluster, and what must hold whatever they are.

Each schedule heals in the end: links are whole, whoever is away starts again, and if no node is in
a primary component, one of the most advanced is told to be one. Then the cluster has time to
converge.

The promise about answered transactions is the product's. A transaction that a client was told to
be committed is on every member of every later primary component, unless all of this holds:

* Everybody lost the quorum before anybody but servers that ended knew that the transaction was
  safe. A member that only goes on without quorum has dropped it.
* The component began again by itself, with a member that had gone on without quorum.

Then the product takes the place of that member in the order for the place of the group: servers
that were started again have no say (``gcs_state_msg.cpp``, ``state_quorum_remerge``: only members
whose last state in a primary component is known). Who has more gives up ("Reversing history",
``gcs_group.cpp``), and needs a whole state when it comes back.
"""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NoReturn

from simrep.runs.replication import Replication, simulate
from simrep.scenario import Scenario, load

__all__ = [
    "Drawing",
    "Outcome",
    "TooLongError",
    "broken_promises",
    "cpu_limit",
    "drawn",
    "fault_tables",
    "outcome",
    "taken_back",
]

_HEALED_S = 45.0  # after the last heal: redials, views with retransmissions, transfers, catching up
_ATTEMPTS = 4
_MOST_CPU_S = 60.0  # most schedules take half a second
_STUCK = {"aborted", "evicted", "non-primary"}
_STATES = {*_STUCK, "primary", "synced"}
_HAD = re.compile(r"it has ([\d,]+) writesets and the group ([\d,]+)")
_QUICK = {  # legal, and five times as fast as the defaults
    "evs.suspect_timeout": "PT1S",
    "evs.inactive_timeout": "PT3S",
    "evs.install_timeout": "PT1.5S",
    "evs.keepalive_period": "PT0.3S",
    "evs.inactive_check_period": "PT0.1S",
    "evs.join_retrans_period": "PT0.3S",
}


@dataclass
class Drawing:
    """A schedule while it is drawn."""

    draw: random.Random
    names: list[str]
    votes_only: set[str]
    now_s: float = 3.0
    pauses: tuple[float, ...] = (0.01, 0.7, 3.0, 9.0)
    lengths: tuple[float, ...] = (0.3, 2.0, 4.0, 12.0)
    faults: list[dict[str, Any]] = field(default_factory=list)
    away: set[str] = field(default_factory=set)

    def next_fault(self) -> None:
        """One more fault, some time after the one before."""
        self.now_s = round(self.now_s + self.draw.choice(self.pauses), 3)
        up = [name for name in self.names if name not in self.away]
        kinds = ["cut", "cut", "one-way", "single link", "pause", "loss", "jitter"]
        if len(up) > 1:
            kinds += ["kill", "kill", "power-loss", "leave"]
        if self.away:
            kinds += ["restart", "restart"]
        kind = self.draw.choice(kinds)
        if kind in {"kill", "power-loss", "leave"}:
            name = self.draw.choice(up)
            self.away.add(name)
            self._add(kind, node=name)
        elif kind == "restart":
            name = self.draw.choice(sorted(self.away))
            self.away.remove(name)
            self._add("restart", node=name)
        elif kind == "pause":
            # A server that is paused must not be killed meanwhile: nothing else happens until then.
            until_s = round(self.now_s + self.draw.choice([0.5, 2.0, 8.0]), 3)
            self._add("pause", node=self.draw.choice(up), until_s=until_s)
            self.now_s = until_s
        else:
            self._links(kind)

    def _links(self, kind: str) -> None:
        until_s = round(self.now_s + self.draw.choice(self.lengths), 3)
        up = [name for name in self.names if name not in self.away]
        if len(up) < 2:
            return
        names = self.draw.sample(up, len(up))
        side = self.draw.randint(1, len(names) - 1)
        what: dict[str, Any] = {"nodes": names[:side], "others": names[side:], "until_s": until_s}
        if kind == "single link":
            what |= {"nodes": names[:1], "others": names[1:2]}
        if kind == "one-way":
            what["direction"] = self.draw.choice(["in", "out"])
        if kind == "loss":
            what["loss"] = self.draw.choice([0.01, 0.2])
        if kind == "jitter":
            what["jitter"] = {"kind": "exponential", "mean_ms": self.draw.choice([1.0, 30.0])}
        self._add(kind if kind in {"loss", "jitter"} else "cut", **what)

    def _add(self, what: str, **keys: Any) -> None:
        self.faults.append({"what": what, "at_s": self.now_s, **keys})

    def heal(self) -> float:
        """All come back; returns when."""
        ends = [fault.get("until_s", fault["at_s"]) for fault in self.faults]
        self.now_s = round(max([*ends, self.now_s]) + 2.0, 3)
        for name in sorted(self.away):
            self._add("restart", node=name)
        return self.now_s


def drawn(number: int) -> Scenario:
    """A cluster of two to seven nodes with up to six faults, and all of it healed in the end."""
    draw = random.Random(number)
    size = draw.randint(2, 7)
    names = [f"n{place + 1}" for place in range(size)]
    arbitrator = size > 2 and draw.random() < 0.3
    segments = draw.random() < 0.4
    nodes = [
        {"name": name, "segment": place % 2 if segments else 0} for place, name in enumerate(names)
    ]
    if arbitrator:
        nodes[-1]["arbitrator"] = True
    votes_only = set(names[-1:] if arbitrator else ())
    schedule = Drawing(draw, names, votes_only)
    for _ in range(draw.randint(1, 6)):
        schedule.next_fault()
    healed_s = schedule.heal()
    options: dict[str, Any] = dict(_QUICK) if draw.random() < 0.7 else {}
    options |= {
        "wsrep_slave_threads": draw.choice([1, 4]),
        "gcache.size": draw.choice(["128M", "128M", 6000]),  # too small for most of what is missed
        "wsrep_sst_method": draw.choice(["rsync", "clone"]),
    }
    writers = [name for name in names if name not in votes_only]
    clients: dict[str, Any] = {
        "read_timeout_s": draw.choice([2.0, 20.0]),
        "retry_pause_s": 0.3,
        "connect_timeout_s": 2.0,
    }
    if len(writers) > 1 and draw.random() < 0.5:
        clients |= {"on_error": "next", "nodes": writers}
    return load(
        {
            "cluster": {
                "model": "galera",
                "nodes": names,
                "data_bytes": 100_000_000,
                "options": options,
            },
            "node": nodes,
            "network": {"rtt_ms": draw.choice([0.2, 2.0, 60.0])},
            "workload": {
                "think_time_ms": 250,
                "think_time": "exponential",
                "retry": draw.random() < 0.5,
                "clients": clients,
                "group": [{"node": name, "threads": 1} for name in writers],
            },
            "fault": schedule.faults,
            "run": {"duration_s": healed_s + _HEALED_S, "seed": number},
        }
    )


class TooLongError(Exception):
    """A schedule takes more processor time than any that ends."""


@contextmanager
def cpu_limit() -> Iterator[None]:
    """Give up after so much processor time."""

    def stop(*_: object) -> NoReturn:
        raise TooLongError

    former = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MOST_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, former)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a schedule.

    Attributes
    ----------
    problems : list of str
        What is not as it must be; empty if all is well.
    taken_back : int
        Places in the order that the group has given to others, as the promise has it.
    livelocks : int
        How often two members excluded each other again and again, as in the product.
    """

    problems: list[str]
    taken_back: int = 0
    livelocks: int = 0


def outcome(number: int) -> Outcome:
    """What becomes of a schedule, when somebody looks after the cluster.

    Like an operator, it starts servers again that have given up, and begins a primary component by
    hand where none can begin by itself. Nothing may be lost on the way.
    """
    scenario = drawn(number)
    for _ in range(_ATTEMPTS):
        try:
            with cpu_limit():
                replication = simulate(scenario, number, trace=True)
        except TooLongError:
            return Outcome([f"it takes more than {_MOST_CPU_S:.0f} s"])
        problems = list(broken_promises(scenario, replication))
        stuck = [] if problems else _remedies(scenario, replication)
        if not stuck:
            return Outcome(
                problems,
                sum(reversal.places for reversal in taken_back(scenario, replication)),
                sum(noted.what == "livelock" for noted in replication.noted) // 2,
            )
        scenario = scenario.replace(
            {
                "fault": [*fault_tables(scenario), *stuck],
                "run.duration_s": stuck[-1]["at_s"] + _HEALED_S,
            }
        )
    return Outcome(["the cluster has not come back"])


@dataclass(frozen=True, slots=True)
class Reversal:
    """A member had more than the group, and has given up."""

    at_s: float
    node: int
    position: int  # of the group
    places: int  # that the member had beyond it


def taken_back(scenario: Scenario, replication: Replication) -> list[Reversal]:
    """Whom the group has left behind though it had more, where the promise allows that."""
    ends: dict[int, float] = {}
    for fault in scenario.faults:
        if fault.what in {"kill", "power-loss", "leave"} and fault.node is not None:
            node = scenario.node_names.index(fault.node)
            ends[node] = min(fault.at_s, ends.get(node, fault.at_s))
    names = range(len(scenario.node_names))
    now = dict.fromkeys(names, ("primary", frozenset(names)))
    before = dict.fromkeys(names, "primary")
    reversals = []
    for noted in replication.noted:
        had = _HAD.fullmatch(noted.how)
        if had:
            own, group = (int(text.replace(",", "")) for text in had.groups())
            # Its process had ended since, and nobody else came from a primary component.
            came_from = {
                before[node] if what == "primary" and noted.node in of else what
                for node, (what, of) in now.items()
                if node != noted.node
            }
            if ends.get(noted.node, noted.at_s) < noted.at_s and "primary" not in came_from:
                reversals.append(Reversal(noted.at_s, noted.node, group, own - group))
        if noted.what in _STATES - {"synced"}:
            before[noted.node] = now[noted.node][0]
            now[noted.node] = noted.what, frozenset(noted.of)
    return reversals


def fault_tables(scenario: Scenario) -> list[dict[str, Any]]:
    """The faults of a scenario, as it was loaded from."""
    return [fault.model_dump(exclude_none=True, exclude_defaults=True) for fault in scenario.faults]


def broken_promises(scenario: Scenario, replication: Replication) -> Iterator[str]:
    """In words, whatever the cluster did that it never must."""
    reversals = taken_back(scenario, replication)
    yield from _two_primaries(replication)
    yield from _different_orders(replication, reversals)
    yield from _fates(replication, reversals)
    assert replication.traffic.in_flight <= len(scenario.node_names)


def _remedies(scenario: Scenario, replication: Replication) -> list[dict[str, Any]]:
    """What an operator does about a cluster that has not come back; empty if it has."""
    names = scenario.node_names
    at_s = round(scenario.run.warmup_s + (scenario.run.duration_s or 0.0), 3) + 1.0
    committed = {
        name: counted["wsrep_last_committed"] for name, counted in replication.counters.items()
    }
    behind = {
        name for name, last in committed.items() if last < max(committed.values()) - len(committed)
    }
    state: dict[str, str] = {}
    for noted in replication.noted:
        if noted.what in _STATES:
            state[names[noted.node]] = noted.what
    left_behind = {names[noted.node] for noted in replication.noted if _HAD.fullmatch(noted.how)}
    over = [name for name in names if name in behind or state.get(name) in _STUCK]
    attempts = replication.attempts
    assert attempts is not None
    served = len(attempts.between(at_s - 6.0).commits_s)
    # An arbitrator that has seen more than any disk holds lets all others wait for ever.
    stopped = over if served else list(names)
    remedies = [{"what": "kill", "at_s": at_s, "node": name} for name in stopped]
    if not served:
        first = max(committed, key=lambda name: (name not in left_behind, committed[name]))
        remedies.append({"what": "bootstrap", "at_s": at_s + 10.0, "node": first})
        stopped = [name for name in stopped if name != first]
    remedies += [{"what": "restart", "at_s": at_s + 15.0, "node": name} for name in stopped]
    return remedies


def _two_primaries(replication: Replication) -> Iterator[str]:
    """Two primary components at the same time of which neither knows a member of the other."""
    current: dict[int, tuple[int, ...]] = {}
    for noted in replication.noted:
        if noted.what == "primary":
            current[noted.node] = noted.of
        elif noted.what in {"non-primary", "aborted", "evicted"}:
            current.pop(noted.node, None)
        else:
            continue
        fresh = {members for node, members in current.items() if node in members}
        for some, others in combinations(fresh, 2):
            if not set(some) & set(others):
                yield f"{noted.at_s:.3f} s: primary components {some} and {others}"
                return


def _different_orders(replication: Replication, reversals: list[Reversal]) -> Iterator[str]:
    """Two nodes that have different writesets at the same place of the order.

    A place that only a member had that has given up is free again.
    """
    order: dict[int, tuple[Any, ...]] = {}
    holders: dict[int, set[int]] = {}
    given_up = list(reversals)
    assert replication.trace is not None
    for event in replication.trace:
        while given_up and given_up[0].at_s <= event.time_s:
            reversal = given_up.pop(0)
            for seqno in [*order]:
                if seqno > reversal.position and holders[seqno] == {reversal.node}:
                    del order[seqno], holders[seqno]
        if event.what == "order":
            seqno, keys = event.seqno, event.detail[2]
            holders.setdefault(seqno, set()).add(event.node)
            if order.setdefault(seqno, keys) != keys:
                yield f"{event.time_s:.3f} s: node {event.node} orders another writeset as {seqno}"
                return


def _fates(replication: Replication, reversals: list[Reversal]) -> Iterator[str]:
    fates = replication.fates
    assert fates is not None
    lost = fates.lost - sum(reversal.places for reversal in reversals)
    if lost > 0:
        yield f"{lost} answered transactions are on no node"
    if fates.failed_present:
        yield f"{fates.failed_present} failed transactions are on a node"
