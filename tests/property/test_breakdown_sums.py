"""The stages of the latency sum to it, whatever the model, the load and its conflicts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.runs.run import run
from simrep.scenario.options import versions
from simrep.workload.laps import LAPS
from tests.strategies import galera_options, networks, workloads

servers = st.fixed_dictionaries(
    {
        "sync_binlog": st.sampled_from([0, 1, 3]),
        "innodb_flush_log_at_trx_commit": st.integers(0, 2),
    }
)
groups = st.fixed_dictionaries(
    {
        "group_replication_single_primary_mode": st.just(False),
        "group_replication_consistency": st.sampled_from(
            ["EVENTUAL", "BEFORE", "AFTER", "BEFORE_AND_AFTER"]
        ),
        "group_replication_flow_control_max_quota": st.sampled_from([0, 3]),
        "sync_binlog": st.sampled_from([0, 1]),
    }
)
options: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "standalone": st.tuples(servers, st.booleans()).map(
        lambda both: both[0] | {"log_bin": both[1]}
    ),
    "asynchronous": servers,
    "semisync": servers,
    "galera": galera_options(),
    "group_replication": groups,
}
SINCE_8_0 = {"group_replication_consistency", "group_replication_flow_control_max_quota"}
ONE_WRITER = {"asynchronous", "semisync"}


@st.composite
def cases(draw: st.DrawFn, model: str) -> dict[str, Any]:
    """Several nodes, clients near or far, a warm-up or none."""
    names = ["n1", "n2", "n3"]
    workload = draw(workloads(names[:1] if model in ONE_WRITER else names))
    workload["class"] += [{"name": "read", "statements": 0, "reads": 2, "autocommit": False}]
    if draw(st.booleans()):
        workload |= {"client": "own", "client_rtt_ms": draw(st.sampled_from([0.0, 3.0]))}
    version = draw(st.sampled_from(sorted(versions("simrep.models", model))))
    chosen = draw(options[model])
    if model == "group_replication" and version.startswith("mysql-5.7"):
        chosen = {name: value for name, value in chosen.items() if name not in SINCE_8_0}
    # Retries of two deadlocked clients may meet again for ever: only time ends such a run.
    del workload["transactions_per_client"]
    times = {"duration_s": 0.5, "warmup_s": draw(st.sampled_from([0.0, 0.1]))}
    return {
        "cluster": {
            "model": model,
            "nodes": names,
            "machine": {"cores": draw(st.integers(1, 4))},
            "version": version,
            "options": chosen,
            "costs": {"client_us": draw(st.sampled_from([0.0, 50.0]))},
        },
        "network": draw(networks(names)),
        "workload": workload,
        "run": {"seed": draw(st.integers(0, 1000)), **times},
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no transaction committed")
@pytest.mark.parametrize("model", options)
@settings(max_examples=40)
@given(data=st.data())
def test_the_stages_sum_to_the_latency(model: str, data: st.DataObject) -> None:
    result = run(data.draw(cases(model)))
    for kind in (None, *result.classes):
        breakdown = result.breakdown(kind)
        latency = result.histogram if kind is None else result.classes[kind].latency
        assert breakdown.transactions == latency.count
        if latency.count:
            assert breakdown.latency_s == latency.mean_s
            assert sum(breakdown.stages.values()) == pytest.approx(latency.mean_s, rel=1e-9)
            assert breakdown.stages.keys() <= set(LAPS)  # nothing remains for "other"
            assert min(breakdown.stages.values(), default=1.0) > 0.0
