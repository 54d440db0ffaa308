"""The stages of the latency sum to it, whatever the model, the load and its conflicts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.runs.run import run
from simrep.scenario.options import versions
from simrep.testing.strategies import scenarios
from simrep.workload.laps import LAPS
from tests.galera_cases import galera_options

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
    version = draw(st.sampled_from(sorted(versions("simrep.models", model))))
    chosen = options[model]
    if model == "group_replication" and version.startswith("mysql-5.7"):
        chosen = chosen.map(lambda all_of_them: _without(all_of_them, SINCE_8_0))
    content = draw(
        scenarios(
            model,
            options=chosen,
            costs=st.fixed_dictionaries({"client_us": st.sampled_from([0.0, 50.0])}),
            nodes=(3, 3),
            writers=1 if model in ONE_WRITER else None,
            duration_s=0.3,
        )
    )
    content["cluster"]["version"] = version
    workload = content["workload"]
    workload["class"] += [{"name": "read", "statements": 0, "reads": 2, "autocommit": False}]
    if draw(st.booleans()):
        workload |= {"client": "own", "client_rtt_ms": draw(st.sampled_from([0.0, 3.0]))}
    content["run"]["warmup_s"] = draw(st.sampled_from([0.0, 0.1]))
    return content


def _without(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no transaction committed")
@pytest.mark.parametrize("model", options)
@settings(max_examples=20)
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
