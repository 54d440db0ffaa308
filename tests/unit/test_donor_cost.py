"""What a copy of all data costs the node that gives it: its disk is shared, if that is told."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.runs.replication import simulate

MB = 1_000_000


def rate_of_donor(
    model: str, machine: dict[str, Any], options: dict[str, Any], **costs: float
) -> float:
    """Commits per second while it gives 200 MB, 100 MB/s, to a node that comes back without."""
    byte = "sst_byte_ns" if model == "galera" else "clone_byte_ns"
    scripts = {"sst_bypass_ms": 0.0} if model == "galera" else {}
    told = {
        "cluster": {
            "model": model,
            "nodes": 2,
            "machine": machine,
            "data_bytes": 200 * MB,
            "costs": {byte: 10.0, "start_ms": 500.0} | scripts | costs,
            "options": options,
        },
        "network": {"rtt_ms": 0.5},
        "workload": {"threads": 1, "nodes": ["n1"], "think_time_ms": 5.0},
        "fault": [
            {"what": "leave", "node": "n2", "at_s": 0.5},
            {"what": "restart", "node": "n2", "at_s": 1.2},
        ],
        "run": {"duration_s": 11.0, "warmup_s": 0.0},
    }
    run = simulate(simrep.load(told), 1)
    gives_s = next(one.at_s for one in run.noted if one.what == "donor")
    assert run.attempts is not None
    return len(run.attempts.between(gives_s + 0.3, gives_s + 1.9).commits_s) / 1.6


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("galera", {"wsrep_sst_method": "clone", "gcache.size": 1}),
        ("group_replication", {"group_replication_clone_threshold": 20}),
    ],
)
def test_a_copy_shares_the_disk_of_its_donor(model: str, options: dict[str, Any]) -> None:
    """Its fsyncs wait for the piece of 1 MB, 10 ms, that is being read."""
    apart = rate_of_donor(model, {}, options)
    shared = rate_of_donor(model, {"parallel_syncs": 1}, options)
    assert shared < 0.7 * apart


def test_a_donor_that_stands_still_commits_nothing() -> None:
    options = {"wsrep_sst_method": "rsync", "gcache.size": 1}
    assert rate_of_donor("galera", {}, options) < 1.0


def test_a_clone_takes_cores_from_its_donor() -> None:
    """On one core 9 ns of work for a byte leave less for commits of 2 ms than the usual 1.5 ns."""
    options = {"group_replication_clone_threshold": 20}
    machine = {"cores": 1}
    usual = rate_of_donor("group_replication", machine, options, statement_us=2000.0)
    slow = rate_of_donor(
        "group_replication", machine, options, statement_us=2000.0, clone_thread_byte_ns=9.0
    )
    assert slow < 0.75 * usual
