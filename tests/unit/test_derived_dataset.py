"""Simulating derived metrics: what is simulated, how rows are scored, what is shown."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import isnan, nan
from statistics import median

import pytest
from typer.testing import CliRunner

import simrep.data.reproduce as reproduce_module
from simrep.calibrate.fit import fit
from simrep.cli import app
from simrep.data.derived import DerivedRow, DerivedSummary
from simrep.data.reproduce import reproduce
from simrep.data.validation import validate
from simrep.errors import ScenarioError
from simrep.runs.run import run
from simrep.runs.sustain import CLIENTS
from simrep.scenario import load, with_values
from tests.small_dataset import change
from tests.small_derived import write_derived


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return write_derived(tmp_path_factory.mktemp("derived") / "small")


@pytest.fixture(scope="module")
def result(shared):
    return reproduce(shared)


@pytest.fixture(scope="module")
def once(shared):
    """With one replication, and what was told meanwhile."""
    seen = []
    told = reproduce(
        shared, replications=1, progress=lambda done, total: seen.append((done, total))
    )
    return told, seen


@pytest.fixture
def folder(tmp_path):
    return write_derived(tmp_path / "small")


def row(result, quantity, members):
    [found] = [
        one
        for one in result.derived
        if (one.quantity, one.factors["members"]) == (quantity, members)
    ]
    return found


def test_a_point_is_what_the_scenario_gives_when_set_by_hand(result, shared):
    settings = {"cluster.nodes": 3, "cluster.costs.statement_us": 500.0, "workload.threads": 4}
    by_hand = run(with_values(load(shared / "replicated.toml"), settings), seed=3, replications=2)
    wanted = {"members": 3, "load": "light", "mode": "replicated", "clients": 4}
    [point] = [one for one in result.simulated if one.factors == wanted]
    measured = [record.measurement for record in by_hand.runs]
    assert point.throughput_tps == pytest.approx(median(m.throughput_tps for m in measured))
    assert point.latency_s == pytest.approx(median(m.latency.mean_s for m in measured))


def test_all_cells_are_there(result):
    assert result.complete
    assert len(result.simulated) == (2 + 4) * 3
    assert result.finished == len(result.derived) == 4


def test_a_source_that_waits_for_nobody_has_the_maximum_of_a_server(result):
    own = row(result, "highest", 2)
    assert own.predicted == pytest.approx(1.0, abs=0.05)
    assert own.distance == 0.0
    assert own.used_in_fit


def test_the_distance_of_a_ratio_is_in_points_to_the_nearer_end(result):
    several = row(result, "highest", "2-3")
    assert several.values == pytest.approx((1.0, 1.0), abs=0.05)
    assert several.distance == pytest.approx(100 * (several.predicted - 1.2))
    assert several.distance < 0


def test_a_replica_with_one_slow_applier_limits_what_is_kept_up(result):
    """One change per 2 ms and its commit, against two cores with statements of 1 ms."""
    [found] = result.sustained
    assert found.limited_by == "n2"
    assert 350 < found.rate_tps < 530
    highest = max(p.throughput_tps for p in result.simulated if p.factors["load"] == "heavy")
    assert row(result, "kept_up", 2).predicted == pytest.approx(found.rate_tps / highest, rel=0.02)


def test_intervals_need_replications(result, once):
    low, high = row(result, "kept_up", 2).interval
    assert low <= row(result, "kept_up", 2).predicted <= high
    assert {one.interval for one in once[0].derived} == {None}


def test_an_executor_changes_nothing(once, shared):
    with ThreadPoolExecutor(2) as pool:
        together = reproduce(shared, replications=1, executor=pool)
    assert together.to_dict() == once[0].to_dict()


def test_progress_counts_cells_and_rates_up_to_the_end(once):
    assert once[1] == [(number, 19) for number in range(1, 20)]


def test_interrupting_keeps_finished_systems_and_the_rows_about_them(folder, monkeypatch):
    def interrupted(_plans, *_, **__) -> Iterator[list[tuple[float, ...]]]:
        for number in range(12):  # the cells of the server, and those of two members
            yield [(100.0 + number, 0.01)] * 2
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce_module, "simulate_cells", interrupted)
    result = reproduce(folder)
    assert not result.complete
    assert len(result.simulated) == 12
    assert [(one.quantity, one.factors["members"]) for one in result.derived] == [
        ("highest", 2),
        ("added_ms", 2),
    ]
    assert row(result, "highest", 2).predicted == pytest.approx(110.0 / 104.0)
    assert "Interrupted" in str(result)


def test_json_holds_what_it_should(result):
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert {"derived", "simulated", "sustained", "seed", "complete", "versions"} <= set(content)
    for one in content["derived"]:
        assert {"quantity", "low", "high", "predicted", "distance", "distance_unit"} <= set(one)
    assert content["derived_summary"]["n"] == 3


def test_the_table_shows_every_row_and_the_summary(result):
    text = str(result)
    assert text.count(" fit") >= 1
    for words in ("kept up", "added (ms)", "90.0 .. 100.0 %", "3 predicted rows"):
        assert words in text


def test_the_figure_has_a_panel_for_each_unit_and_a_line_for_each_row(result, tmp_path):
    target = tmp_path / "figure.png"
    figure = result.plot(target)
    assert target.stat().st_size > 1000
    ratios, times = figure.axes
    assert [label.get_text() for label in times.get_yticklabels()] == [
        "added (ms), heavy+light, replicated, 2"
    ]
    assert len(ratios.get_yticklabels()) == 3
    stated = ratios.lines[0].get_xdata()
    assert list(stated) == pytest.approx([90.0, 110.0])


@pytest.mark.slow
def test_the_command_prints_the_table_and_saves_the_figure(folder, monkeypatch):
    monkeypatch.chdir(folder)
    command = ["reproduce", ".", "--replications", "1"]
    shown = CliRunner().invoke(app, [*command, "--plot", "out.svg"])
    assert shown.exit_code == 0
    assert "3 predicted rows" in shown.stdout
    assert (folder / "out.svg").stat().st_size > 1000
    content = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert len(content["derived"]) == 4


def test_what_needs_measured_cells_says_so(folder):
    with pytest.raises(ScenarioError, match="derived metrics and no measured cells"):
        fit(folder)
    with pytest.raises(ScenarioError, match="simrep reproduce"):
        validate([folder])


@pytest.mark.slow
def test_equal_seeds_agree_and_others_do_not(shared, folder):
    change(folder, "dataset.toml", '[[series.sustained]]\nmembers = 2\nload = "heavy"\n', "")
    change(folder, "data.csv", "heavy,replicated,2,kept_up,0.9,1.0,ratio\n", "")
    change(folder, "server.toml", "cores = 2", "cores = 2\nvariation = 0.5")
    change(folder, "server.toml", "duration_s = 0.4", "duration_s = 0.2")
    first, again, other = (reproduce(folder, seed=seed, replications=1) for seed in (5, 5, 6))
    assert first.simulated == again.simulated
    assert first.simulated != other.simulated


# ------------------------------------------------------------------ scoring --


def stated(distance, *, unit="ratio", fitted=False):
    return DerivedRow(
        factors={}, quantity="q", low=1.0, high=2.0, predicted=nan, values=(), distance=distance,
        interval=None, unit=unit, used_in_fit=fitted,
    )  # fmt: skip


def test_the_summary_keeps_units_apart_and_leaves_out_fitted_rows():
    rows = [stated(0.0), stated(-4.0), stated(8.0), stated(0.5, unit="ms"), stated(99, fitted=True)]
    summary = DerivedSummary.of(rows)
    assert (summary.n, summary.inside) == (4, 1)
    assert summary.median_distance == {"points": 4.0, "ms": 0.5}
    assert summary.max_distance == {"points": 8.0, "ms": 0.5}


def test_a_summary_of_nothing_is_empty():
    assert DerivedSummary.of([]) == DerivedSummary(0, 0, {}, {})


def test_what_is_no_number_is_not_inside():
    summary = DerivedSummary.of([stated(nan)])
    assert summary.inside == 0
    assert isnan(summary.max_distance["points"])
    assert CLIENTS == "clients"
