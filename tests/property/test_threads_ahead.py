"""Threads that work ahead give the same results as those that take every job by itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simrep
from simrep.models import asynchronous


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    model = draw(st.sampled_from(["asynchronous", "semisync"]))
    nodes = draw(st.integers(2, 4))
    mariadb = draw(st.booleans())
    odd = Random(draw(st.integers(0, 10**6)))
    options: dict[str, Any] = {
        "commit_pipeline": "mariadb" if mariadb else "mysql-5.7",
        "sync_relay_log": draw(st.sampled_from([0, 7, 10000])),
        "sync_binlog": draw(st.sampled_from([0, 1])),
        "log_replica_updates": draw(st.sampled_from([True, True, False])),
        "innodb_flush_log_at_trx_commit": draw(st.sampled_from([1, 1, 2, 0])),
        "replica_parallel_workers": draw(st.sampled_from([1, 2, 4])),
    }
    names = ["send_us", "receive_us", "byte_ns", "switch_us", "schedule_us", "apply_us"]
    if model == "semisync":
        names += ["reply_us", "acknowledge_us"]
        options["rpl_semi_sync_source_timeout"] = draw(st.sampled_from([1, 10000]))
        options["rpl_semi_sync_source_wait_point"] = draw(
            st.sampled_from(["AFTER_SYNC", "AFTER_COMMIT"])
        )
        if not mariadb:
            options["rpl_semi_sync_source_wait_for_replica_count"] = draw(st.integers(1, nodes - 1))
    return {
        "cluster": {
            "model": model,
            "nodes": nodes,
            "options": options,
            # Odd times, so that nothing happens at the same instant: then the order may differ.
            "costs": {name: odd.uniform(1.0, 30.0) for name in names},
            "machine": {
                "cores": draw(st.integers(1, 4)),
                "slice_ms": draw(st.sampled_from([0.02, 0.05, 1.0])),
                "wakeup_us": draw(st.sampled_from([0.0, 0.0, 4.1713])),
            },
        },
        "network": {
            "rtt_ms": draw(st.sampled_from([0.0511, 0.5017, 5.0093])),
            "loss": draw(st.sampled_from([0.0, 0.05])),
        },
        "workload": {
            "class": [
                {
                    "name": "write",
                    "rows": draw(st.integers(1, 3)),
                    "row_bytes": draw(st.integers(50, 9000)),
                }
            ],
            "threads": draw(st.integers(1, 24)),
            "transactions_per_client": 12,
        },
        "run": {"seed": draw(st.integers(1, 99))},
    }


def figures(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from figures(inner, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from figures(inner, f"{path}.{number}")
    else:
        yield path, value


def found(scenario: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simrep.run(scenario, replications=1)
    return {**dict(figures(result.to_dict())), "buckets": str(result.histogram.buckets())}


@settings(max_examples=15)
@given(scenario=scenarios())
def test_work_ahead_is_the_same_as_job_by_job(scenario: dict[str, Any]) -> None:
    ahead = found(scenario)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asynchronous, "works_ahead", lambda *_: False)
        by_job = found(scenario)
    for path, value in by_job.items():
        if path.endswith(".utilisation"):  # counts jobs when the first begins, or when each does
            assert ahead[path] == pytest.approx(value, rel=0.01, abs=0.01)
        else:
            assert ahead[path] == value or value != value, path  # noqa: PLR0124


def test_whoever_looks_on_sees_every_job() -> None:
    scenario = {
        "cluster": {"model": "semisync", "nodes": 3},
        "network": {"rtt_ms": 1.0},
        "workload": {"preset": "sysbench-oltp-insert", "threads": 8},
        "run": {"duration_s": 0.05, "seed": 1},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = simrep.run(scenario, replications=1, trace=True)
        plain = simrep.run(scenario, replications=1)
    assert traced.runs[0].trace_digest is not None
    assert traced.latency_s == plain.latency_s
    assert traced.counters == plain.counters
