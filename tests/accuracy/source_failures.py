"""Random schedules of faults for a source and its replicas, and what must hold.

An operator promotes servers meanwhile: in switch-overs, for a source that has died, or for one that
is only cut off, which goes on by itself. Each schedule heals in the end: links are whole, whoever
is away starts again, and a last switch-over makes all follow one source.

All servers have the same transactions in the same order then. Nothing that was answered is lost
where every replica had to acknowledge it and the source never gave up waiting: whoever is promoted
had received it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from simrep.errors import SimrepError
from simrep.runs.replication import Replication, simulate
from simrep.scenario import Scenario, load
from tests.accuracy.failures import Drawing, Outcome, TooLongError, cpu_limit

__all__ = ["broken_promises", "drawn", "outcome"]

_START_S = 2.5  # of a server, until it can be promoted
_HEALED_S = 70.0  # late retransmissions, attempts to connect, catching up
_LAST_S = 15.0
_APART = 10  # executed transactions that servers may differ by while clients go on
_PATIENT_MS = 10_000_000
_SEMISYNC = "rpl_semi_sync_source_"


@dataclass
class _Drawing(Drawing):
    service: str = "n1"
    there_s: dict[str, float] = field(default_factory=dict)  # who has been started again, and when

    def next_fault(self) -> None:
        """One more fault, or a promotion."""
        if self.draw.random() < 0.3:
            self.now_s = round(self.now_s + self.draw.choice(self.pauses), 3)
            self.promote()
        else:
            before = set(self.away)
            super().next_fault()
            for name in before - self.away:
                self.there_s[name] = self.now_s + _START_S

    def promote(self) -> None:
        """Somebody is promoted who is there, and is not what clients are to write on now."""
        names = [name for name in self.names
                 if name not in self.away and name != self.service
                 and self.there_s.get(name, 0.0) <= self.now_s]  # fmt: skip
        if names:
            self.service = self.draw.choice(names)
            self._add("promote", node=self.service)


def drawn(number: int) -> Scenario:
    """Two to five servers with up to eight faults, all of it healed in the end."""
    draw = random.Random(number)
    names = [f"n{place + 1}" for place in range(draw.choice([2, 3, 3, 3, 4, 5]))]
    schedule = _Drawing(
        draw, names, set(), pauses=(0.01, 0.7, 4.0, 12.0), lengths=(0.3, 3.0, 9.0, 26.0)
    )
    for _ in range(draw.randint(2, 8)):
        schedule.next_fault()
    schedule.heal()
    schedule.away.clear()
    schedule.now_s += _HEALED_S
    schedule.promote()
    version = draw.choice(["mysql-9", "mysql-9", "mysql-5.7", "mysql-5.6", "mariadb-11.8"])
    options: dict[str, Any] = {
        "replica_net_timeout": draw.choice([4, 60]),
        "source_connect_retry": draw.choice([1, 5]),
        "source_retry_count": 1000,
        "sync_relay_log": 1,
        "sync_binlog": 1,
        "innodb_flush_log_at_trx_commit": 1,
        "log_replica_updates": True,
    }
    model = draw.choice(["asynchronous", "semisync", "semisync", "semisync"])
    if model == "semisync":
        options[f"{_SEMISYNC}timeout"] = draw.choice([500, 2000, 10_000, _PATIENT_MS])
        if version in {"mysql-9", "mysql-5.7"}:
            options[f"{_SEMISYNC}wait_for_replica_count"] = draw.choice([1, len(names) - 1])
        if version != "mysql-5.6":
            points = ["AFTER_SYNC", "AFTER_SYNC", "AFTER_COMMIT"]
            options[f"{_SEMISYNC}wait_point"] = draw.choice(points)
    return load(
        {
            "cluster": {"model": model, "nodes": names, "version": version, "options": options},
            "network": {"rtt_ms": draw.choice([0.2, 2.0, 60.0])},
            "workload": {
                "think_time_ms": 300,
                "think_time": "exponential",
                "clients": {
                    "on_error": draw.choice(["next", "next", "stay"]),
                    "read_timeout_s": draw.choice([5.0, 30.0]),
                    "retry_pause_s": 0.5,
                    "connect_timeout_s": 2.0,
                },
                "group": [{"node": name, "threads": 1} for name in names],
            },
            "fault": schedule.faults,
            "run": {"duration_s": schedule.now_s + _LAST_S, "seed": number},
        }
    )


def outcome(number: int) -> Outcome:
    """What becomes of a schedule."""
    scenario = drawn(number)
    try:
        with cpu_limit():
            replication = simulate(scenario, number, trace=True)
    except TooLongError:
        return Outcome(["it takes too long"])
    except SimrepError as error:
        return Outcome([f"it is refused: {error}"])
    return Outcome(list(broken_promises(scenario, replication)))


def broken_promises(scenario: Scenario, replication: Replication) -> Iterator[str]:
    """In words, whatever the servers did that they never must."""
    yield from _different_histories(scenario, replication)
    yield from _fates(scenario, replication)


def _followers(scenario: Scenario, replication: Replication) -> set[int]:
    """Who follows the source in the end, and the source.

    A replica of MariaDB that has what the source lacks is refused: it follows nobody.
    """
    source = scenario.node_names.index(scenario.faults[-1].node or "")
    targets = dict.fromkeys(range(1, len(scenario.node_names)), 0)
    for noted in replication.noted:
        if noted.what == "repointed":
            (targets[noted.node],) = noted.of
        elif noted.what == "promoted" or "diverged" in noted.how:
            targets.pop(noted.node, None)
    return {source} | {node for node, target in targets.items() if target == source}


def _different_histories(scenario: Scenario, replication: Replication) -> Iterator[str]:
    """Servers that have not the same in the end, by position.

    A source that waits for acknowledgements nearly for ever does so before it is made read-only.
    """
    patient = scenario.cluster.options.get(f"{_SEMISYNC}timeout") == _PATIENT_MS
    followers = _followers(scenario, replication)
    refused = {noted.node for noted in replication.noted if "diverged" in noted.how}
    if len(followers | refused) < len(scenario.node_names) and not patient:
        yield f"only {followers} follow"
    histories: list[dict[int, Any]] = [{} for _ in scenario.node_names]
    last = dict.fromkeys(followers, 0)
    assert replication.trace is not None
    for event in replication.trace:
        if event.what == "commit" and event.node in followers:
            # What the server had of another line is behind its last commit, or written over.
            histories[event.node][event.seqno] = event.detail
            last[event.node] = event.seqno
    if max(last.values()) - min(last.values()) > _APART:
        yield f"servers are at positions {last}"
    first = histories[min(followers)]
    for node in followers:
        history = histories[node]
        for position in sorted(first.keys() & history.keys()):
            if position <= min(last.values()) and first[position] != history[position]:
                yield f"node {node} differs at position {position}"
                return


def _fates(scenario: Scenario, replication: Replication) -> Iterator[str]:
    fates = replication.fates
    assert fates is not None
    if fates.failed_present:
        yield f"{fates.failed_present} failed transactions are on a server"
    if fates.lost > fates.phantom:
        yield f"{fates.lost} lost, of which only {fates.phantom} were seen"
    if fates.diverged > min(fates.lost, fates.extra):
        yield f"{fates.diverged} diverged of {fates.lost} lost, {fates.extra} extra"
    options = scenario.cluster.options
    others = len(scenario.node_names) - 1
    if options.get(f"{_SEMISYNC}wait_for_replica_count", 1) != others or "semisync" not in (
        scenario.cluster.model
    ):
        return
    if any(noted.what == "async" for noted in replication.noted):
        return
    if fates.lost:
        yield f"{fates.lost} answered transactions are on no server"
