"""Figures of single nodes: their commits, aborts, latencies and errors, class by class."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.kernel.clock import Clock
from simrep.measure.counts import Latencies
from simrep.measure.histogram import BLOCK, LatencyHistogram
from simrep.measure.meter import Meter
from simrep.testing import check_nodes
from tests import own_models

HOT = {"distribution": "hot", "rows": 1000, "hot_rows": 3, "hot_fraction": 0.7}
TRANSFER = {"name": "transfer", "statements": 2, "keys": HOT, "weight": 3}
READ = {"name": "read", "statements": 0, "reads": 1}


def scenario(model: str = "galera", **tables: Any) -> dict[str, Any]:
    """Clients on two nodes of three that write to the same rows."""
    groups = [{"node": "n1", "threads": 4}, {"node": "n2", "threads": 4}]
    base: dict[str, Any] = {
        "cluster": {"model": model},
        "network": {"rtt_ms": 10},
        "workload": {"class": [TRANSFER, READ], "group": groups},
        "run": {"duration_s": 1.0, "warmup_s": 0.1, "seed": 1},
    }
    return {**base, **tables}


# -- what is counted -------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "error"), [("galera", "1213"), ("group_replication", "3101")])
def test_conflicts_between_writers_are_counted_where_clients_were_told(
    model: str, error: str
) -> None:
    options = {"group_replication_single_primary_mode": False} if model != "galera" else {}
    result = simrep.run(scenario(model, cluster={"model": model, "options": options}))
    (record,) = result.runs
    check_nodes(record.measurement)
    first, second, idle = result.nodes.values()
    for node in (first, second):
        assert node.errors[error] > 0
        assert node.classes["transfer"].errors[error] == node.errors[error]
        assert node.classes["read"].aborted == 0
        assert node.latency_s["p50"] >= 0.0
        assert node.throughput_tps == pytest.approx(node.committed / 1.0)
    assert (idle.committed, idle.aborted, sum(idle.errors.values())) == (0, 0, 0)
    assert result.errors[error] == first.errors[error] + second.errors[error]
    assert result.errors["1205"] == 0  # declared, and nobody was told of it


def test_clients_of_a_dead_server_are_told_so_and_others_are_not() -> None:
    crash = [{"at_s": 0.3, "node": "n2", "what": "crash"}]
    cluster = {"model": "galera", "change": crash}
    result = simrep.run(scenario(cluster=cluster, run={"duration_s": 2.5, "seed": 1}))
    check_nodes(result.runs[0].measurement)
    assert result.nodes["n1"].errors["2013"] == 0
    assert result.nodes["n2"].errors["2013"] >= 4  # of each client, whose server is away


def test_several_replications_are_added_up_and_errors_of_the_whole_are_means() -> None:
    result = simrep.run(scenario(), replications=2)
    each = [run.measurement for run in result.runs]
    for name, node in result.nodes.items():
        assert node.committed == sum(m.nodes[name].committed for m in each)
        assert node.errors["1213"] == sum(m.nodes[name].errors["1213"] for m in each)
        assert node.measured_s == 2.0
    assert result.errors["1213"] == sum(m.aborted for m in each) / 2 == result.aborted


class Refusing(own_models.Silent):
    """It refuses every other transaction."""

    name = "refusing"
    says = ""

    def transact(self, transaction: Any) -> Any:
        yield from super().transact(transaction)
        if self.commits % 2:
            return True
        transaction.error = self.says
        return False


@pytest.mark.parametrize(
    ("says", "error"),
    [("", "not told"), ("1290 read only", "1290"), ("a conflict", "a conflict"), ("77", "77")],
)
def test_a_model_of_ones_own_tells_its_errors_or_they_are_not_told(
    says: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Refusing, "says", says)
    own_models.install(monkeypatch, refusing=f"{__name__}:Refusing")
    content = {"cluster": {"model": "refusing"}, "workload": {"queries": 20, "nodes": ["*"]}}
    result = simrep.run(content)
    assert result.aborted > 0
    assert result.errors == {error: result.aborted}
    check_nodes(result.runs[0].measurement)
    assert error in str(result)


def test_one_number_with_several_words_is_one_error() -> None:
    clock = Clock()
    meter = Meter(clock, errors=("1180 too large", "1213 deadlock"))
    for at, told in enumerate(("1180 rows", "1180 bytes", "1180 rows"), start=1):
        clock.at(at, lambda _, told=told: meter.aborted(0.0, "w", 0, 0, told))
    clock.run()
    measured = meter.measurement()
    assert measured.errors == {"1180": 3, "1213": 0}
    assert measured.error_texts == {"1180": "bytes; rows", "1213": "deadlock"}


@given(number=st.integers(0, 2 * BLOCK + 10), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_the_whole_is_counted_as_if_there_were_no_nodes(number: int, seed: int) -> None:
    draw = Random(seed)
    values = [(draw.expovariate(50.0), draw.randrange(3)) for _ in range(number)]
    latencies, plain = Latencies(), LatencyHistogram()
    for seconds, _ in values:
        plain.add(seconds)
    for start in range(0, number, 256):  # as a meter hands them on
        rows = values[start : start + 256]
        latencies.extend([seconds for seconds, _ in rows], [node for _, node in rows])
    latencies.sort()
    assert latencies.total.sum_s == plain.sum_s  # to the last digit
    assert latencies.total.count == plain.count
    apart = {node: one.count for node, one in latencies.by_node.items()}
    assert apart == Counter(node for _, node in values)


# -- where it is shown -----------------------------------------------------------------------------


def test_the_tables_show_nodes_only_if_several_have_clients_and_errors_only_if_there_are() -> None:
    shown = str(simrep.run(scenario()))
    assert "\nNodes\n" in shown
    assert "1213 deadlock" in shown
    alone = {"class": [READ], "threads": 2}
    shown = str(simrep.run(scenario(workload=alone, run={"duration_s": 0.05})))
    assert "\nNodes\n" not in shown
    assert "Errors that" not in shown


def test_json_and_frames_have_every_node_class_and_error(tmp_path: Path) -> None:
    asked = simrep.load(scenario())
    file = tmp_path / "two.toml"
    file.write_text(asked.to_toml(), encoding="utf-8")
    command = ["run", str(file), "--json", "--plot-nodes", str(tmp_path / "nodes.svg")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    result = simrep.run(asked)
    aborts = {name: node["errors"]["1213"] for name, node in content["nodes"].items()}
    assert aborts == {name: node.aborted for name, node in result.nodes.items()}
    assert content["nodes"]["n3"]["latency_s"]["p95"] is None
    assert content["errors"]["1213"] == result.aborted
    assert content["error_texts"]["1213"] == "deadlock"
    assert b"1213 deadlock" in (tmp_path / "nodes.svg").read_bytes()
    frame = result.to_pandas("nodes")
    assert frame["errors.1213"].sum() == result.aborted
    assert set(zip(frame["node"], frame["kind"], strict=True)) == {
        (node, kind) for node in ("n1", "n2", "n3") for kind in ("transfer", "read")
    }
    assert frame["committed"].sum() == result.nodes.to_frame()["committed"].sum()


def test_the_log_tells_node_and_error() -> None:
    result = simrep.run(scenario(run={"duration_s": 1.0, "seed": 1, "log": True}))
    log = result.to_pandas("log")
    for name, node in result.nodes.items():
        own = log[log["node"] == name]
        assert own["committed"].sum() == node.committed
        assert (own["error"] == "1213 deadlock").sum() == node.errors["1213"]


def test_a_figure_without_transactions_is_refused() -> None:
    with pytest.warns(simrep.ShortRunWarning):
        result = simrep.run(scenario(workload={"threads": 1}, run={"duration_s": 1e-6}))
    with pytest.raises(ValueError, match="nothing to draw"):
        result.nodes.plot()


def test_a_percentile_of_a_node_rests_on_the_transactions_of_that_node() -> None:
    path = "nodes.n2.classes.transfer.latency_s.p99"
    content = scenario(run={"duration_s": 0.5, "warmup_s": 0.1, "seed": 1})
    number = simrep.run(content).nodes["n2"].classes["transfer"].committed
    words = rf"{path} rests on \d of {number} transactions"
    (point,) = simrep.sweep(content, {"network.rtt_ms": [10]}, of=path).points
    assert any(re.match(words, notice) for notice in point.notices)
    with pytest.warns(simrep.ShortRunWarning, match=rf"{path} rests on"):
        simrep.compare(content, content, figures=[path], replications=2)


def test_questions_may_ask_for_figures_of_nodes() -> None:
    paths = ["nodes.n2.errors.1213", "nodes.n1.latency_s.p95", "nodes.n1.classes.read.committed"]
    content = scenario(run={"duration_s": 0.3, "seed": 1})
    swept = simrep.sweep(content, {"network.rtt_ms": [1, 20]}, of=paths, replications=2)
    assert {path for path in paths if path in swept.figures} == set(paths)
    with pytest.raises(simrep.ScenarioError, match="n1"):
        simrep.sweep(content, {"network.rtt_ms": [1]}, of=["nodes.m1.aborted"])
