"""Less than a product promises: a run says so on top, counts it in its first table, and warns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.contract.model import Degradation
from tests import own_models

TIMEOUT = "cluster.options.rpl_semi_sync_source_timeout"


def cut_off(timeout_ms: int, **run: float) -> simrep.Scenario:
    """A source that its replica cannot reach from 0.4 s to 0.7 s."""
    outage = [{"node": "n1", "from_s": 0.4, "to_s": 0.7}]
    return simrep.load({
        "cluster": {"model": "semisync", "nodes": 2},
        "network": {"rtt_ms": 1, "outage": outage},
        "workload": {"threads": 2},
        "run": {"duration_s": 1.0, "seed": 1, **run},
    }).replace({TIMEOUT: timeout_ms})  # fmt: skip


def test_a_source_that_goes_on_alone_says_how_many_commits_nobody_acknowledged() -> None:
    with pytest.warns(simrep.DegradedWarning, match="unacknowledged commits: .* longer than 50 ms"):
        result = simrep.run(cut_off(50))
    alone = result.degradation["unacknowledged_commits"]
    assert alone == result.counters["n1"]["Unacknowledged_commits"] > 100
    first, *_ = str(result).splitlines()
    assert first.startswith(f"Degraded, {alone:,} unacknowledged commits: acknowledgements took")
    table = str(result).split("Where the time goes")[0]
    assert f"unacknowledged commits {alone:,}" in " ".join(table.split())


def test_explanations_and_plans_say_it_too() -> None:
    few = cut_off(50).replace({"workload.think_time_ms": 10.0})
    for explain in (simrep.explain, simrep.explain_tail, simrep.explain_stall):
        with pytest.warns(simrep.DegradedWarning, match="unacknowledged commits") as told:
            explain(few)
        assert len([one for one in told if one.category is simrep.DegradedWarning]) == 1
    how = {"objective": "p50<=100ms", "within": (1.0, 2.0), "replications": 4, "progress": False}
    planned = simrep.plan(few, "rtt", **how)
    assert any("degraded" in note and "unacknowledged" in note for note in planned.notes)


def test_a_source_that_waits_keeps_its_promise() -> None:
    result = simrep.run(cut_off(10_000))
    assert result.degradation == {"unacknowledged_commits": 0}
    assert "nacknowledged commits" not in str(result).split("Status variables")[0]
    assert "Degraded" not in str(result)


def test_nothing_is_promised_where_acknowledgements_are_switched_off() -> None:
    option = 'cluster.options."rpl_semi_sync_source_enabled"'
    result = simrep.run(cut_off(50).replace({option: False}))
    assert result.degradation == {"unacknowledged_commits": 0}
    assert result.counters["n1"]["Unacknowledged_commits"] > 0


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")
def test_only_the_measured_time_counts_and_replications_are_means() -> None:
    late = simrep.run(cut_off(50, warmup_s=0.6, duration_s=0.4), replications=2)
    alone = late.degradation["unacknowledged_commits"]
    before = late.counters["n1"]["Unacknowledged_commits"]
    assert 0 < alone < before
    each = [run.degradation[0].times for run in late.runs]
    assert alone == sum(each) / 2


def test_a_cluster_without_a_majority_says_how_many_attempts_it_refused() -> None:
    content = {
        "cluster": {"model": "galera", "nodes": 3},
        "fault": [{"at_s": 0.2, "node": node, "what": "kill"} for node in ("n2", "n3")],
        "workload": {"threads": 2},
        "run": {"duration_s": 10.0, "seed": 1},
    }
    with pytest.warns(simrep.DegradedWarning, match="attempts without quorum"):
        result = simrep.run(content)
    told = result.nodes["n1"].errors
    assert result.degradation["attempts_without_quorum"] == told["1047"] + told["1180"]
    assert told["1047"] > 0
    assert told["1180"] == 2  # they waited for their commits


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")
def test_sweeps_tell_it_of_their_points_and_objectives_may_bound_it(tmp_path: Path) -> None:
    figure = "degradation.unacknowledged_commits"
    swept = simrep.sweep(cut_off(50), {TIMEOUT: [50, 10_000]}, of=figure)
    alone, waiting = swept.points
    assert alone.mean(figure) > 0 == waiting.mean(figure)
    assert any("unacknowledged commits" in notice for notice in alone.notices)
    assert not waiting.notices
    file = tmp_path / "cut.toml"
    file.write_text(cut_off(50).to_toml(), encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(file), "--json"])
    assert json.loads(done.stdout)["degradation"]["unacknowledged_commits"] == alone.mean(figure)


def test_comparisons_tell_of_which_of_both() -> None:
    with pytest.warns(simrep.DegradedWarning, match="^hasty: degraded, .* unacknowledged") as told:
        simrep.compare(
            cut_off(10_000), cut_off(50), labels=("patient", "hasty"),
            figures=["throughput_tps"], replications=2,
        )  # fmt: skip
    assert len([one for one in told if one.category is simrep.DegradedWarning]) == 1


class Forgetful(own_models.Silent):
    """It forgets every third transaction."""

    name = "forgetful"

    def degradation(self) -> Sequence[Degradation]:
        return (Degradation("forgotten_commits", self.commits // 3, "it was tired"),)


def test_a_model_of_ones_own_tells_it_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    own_models.install(
        monkeypatch, forgetful=f"{__name__}:Forgetful", silent="tests.own_models:Silent"
    )
    content: dict[str, Any] = {"workload": {"queries": 9}}
    with pytest.warns(simrep.DegradedWarning, match="^degraded, 3 forgotten commits: it was tired"):
        simrep.run({**content, "cluster": {"model": "forgetful"}})
    assert simrep.run({**content, "cluster": {"model": "silent"}}).degradation == {}
