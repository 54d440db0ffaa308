"""Stale reads of an asynchronous replica at a low load, against what its lag alone says."""

from __future__ import annotations

from math import exp, sqrt
from typing import Any

import pytest

import simrep
from simrep.workload.freshness import FollowedClients
from simrep.workload.workload import Arrivals, Loop

RTT_MS = 40
Z = 5.0  # a false alarm in 1.7 million runs
KINDS = [{"name": "write"}, {"name": "read", "statements": 0, "reads": 1}]


def scenario(workload: dict[str, Any], **run: Any) -> dict[str, Any]:
    return {
        "cluster": {"model": "asynchronous"},
        "network": {"rtt_ms": RTT_MS},
        "workload": {"class": KINDS, **workload},
        "run": {"staleness": True, **run},
    }


def lag_s() -> float:
    """From the answer of a transaction until the last replica has committed it, measured alone."""
    single = {"name": "single", "at_s": 1.0, "statements": 1, "rows": 1}
    quiet = {"class": KINDS[1:], "think_time_ms": 100, "threads": 1, "scheduled": [single]}
    content = scenario({}, settle_s=1.0)
    found = simrep.run(content | {"workload": quiet}).scheduled["single"]
    return found.visible_s - found.duration_s


def test_the_share_is_that_of_times_at_which_a_write_is_on_its_way() -> None:
    """Writes on their way are the customers of a queue with any number of servers (M/G/oo)."""
    writes_tps, reads_tps, seconds = 20.0, 40.0, 120.0
    groups = [
        {"node": "n1", "class": ["write"], "rate_tps": writes_tps},
        {"node": "n3", "class": ["read"], "rate_tps": reads_tps},
    ]
    result = simrep.run(scenario({"group": groups}, duration_s=seconds))
    assert result.stale is not None
    expected = 1.0 - exp(-writes_tps * lag_s())
    # Neighbouring reads may miss the same write, so that they count as fewer.
    alike = 1.0 + 2.0 * reads_tps * lag_s()
    error = sqrt(expected * (1.0 - expected) * alike / (reads_tps * seconds))
    assert result.stale.share == pytest.approx(expected, abs=Z * error)
    assert result.stale.age_s["max"] < lag_s() + 0.001


def test_a_client_misses_its_own_write_until_the_replica_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_of = FollowedClients._make

    def split(
        self: FollowedClients, source: Loop | Arrivals, name: str, client: int, node: int
    ) -> Any:
        make = make_of(self, source, name, client, node)

        def to_replica(now: float) -> Any:
            transaction = make(now)
            if not transaction.rows:
                transaction.node = 2
            return transaction

        return to_replica

    monkeypatch.setattr(FollowedClients, "_make", split)
    one = {"threads": 1, "think_time_ms": 7}  # nothing comes near the lag of 20 ms
    result = simrep.run(scenario(one, duration_s=4, log=True))
    assert result.stale is not None
    log = result.runs[0].measurement.log
    assert log is not None
    missing, wrote_s, until_s = 0, None, lag_s()
    for kind, began_s, latency_s in zip(log.kind, log.started_s, log.latency_s, strict=True):
        if kind == "write":
            wrote_s = began_s + latency_s
        elif wrote_s is not None:
            missing += began_s - wrote_s < until_s
    assert missing > 0
    assert result.stale.own_writes == missing
