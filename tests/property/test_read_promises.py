"""Products that promise that no read misses what was answered keep it, whatever breaks."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simrep

NODES = ("n1", "n2", "n3")
LEVEL, MULTI = "group_replication_consistency", "group_replication_single_primary_mode"


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """Reads and writes on all nodes; one of them stops, is cut off, or dies and comes back."""
    node = draw(st.sampled_from(NODES))
    what = draw(st.sampled_from(["pause", "cut", "kill", "slow"]))
    ends_s = 2.0 + draw(st.sampled_from([0.5, 3.0, 7.0]))
    fault: dict[str, Any] = {"what": what, "node": node, "at_s": 2.0}
    faults = [fault]
    if what == "kill":
        faults.append({"what": "restart", "node": node, "at_s": ends_s})
    else:
        fault["until_s"] = ends_s
    if what == "slow":
        fault["cpu_factor"] = 20
    keys = {"distribution": "uniform", "rows": 1000}
    return {
        "network": {"rtt_ms": draw(st.sampled_from([0.5, 10, 60]))},
        "workload": {
            "class": [
                {"name": "write", "keys": keys},
                {"name": "read", "statements": 0, "reads": 1},
                {"name": "both", "reads": 1, "autocommit": False, "keys": keys},
            ],
            "group": [{"node": name, "rate_tps": 25} for name in NODES],
        },
        "fault": faults,
        "run": {"duration_s": 14, "staleness": True, "seed": draw(st.integers(1, 10**6))},
    }


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("galera", {"wsrep_sync_wait": 7}),
        ("group_replication", {LEVEL: "BEFORE", MULTI: "OFF"}),
        ("group_replication", {LEVEL: "BEFORE_AND_AFTER", MULTI: "OFF"}),
        ("group_replication", {LEVEL: "AFTER", MULTI: "OFF"}),
    ],
)
@settings(max_examples=2)
@given(scenario=scenarios())
def test_no_read_is_stale_whatever_breaks(
    model: str, options: dict[str, Any], scenario: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simrep.run(scenario | {"cluster": {"model": model, "options": options}})
    assert result.stale is not None
    assert (result.stale.reads, result.stale.own_writes) == (0, 0)
    assert result.stale.of_reads > 0
