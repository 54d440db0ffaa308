"""Reproducing a dataset: what is simulated for a cell, and how it is scored."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from math import exp, isnan, log, sqrt
from statistics import mean, median, stdev

import pytest

import simrep.data.reproduce as reproduce_module
from simrep.contract.model import Degradation
from simrep.contract.setup import setup_of
from simrep.data.reproduce import Cell, Summary, reproduce, simulate_cells
from simrep.errors import DegradedWarning, ScenarioError
from simrep.runs.degradation import DegradationWatch
from simrep.runs.run import run
from simrep.scenario import load, with_values
from tests.small_dataset import write_dataset


@pytest.fixture
def folder(tmp_path):
    return write_dataset(tmp_path / "small")


def test_the_prediction_of_a_cell_is_what_the_scenario_gives_when_set_by_hand(folder):
    result = reproduce(folder)
    settings = {"workload.threads": 4, "network.egress.0.delay_ms": 20}
    scenario = with_values(load(folder / "galera.toml"), settings)
    by_hand = run(scenario, seed=3, replications=2)
    times = [record.measurement.makespan_s for record in by_hand.runs]
    [cell] = [c for c in result.cells if (c.factors["delay_ms"], c.factors["threads"]) == (20, 4)]
    assert cell.predicted == pytest.approx(median(times), rel=1e-12)
    assert cell.relative_error == pytest.approx(median(times) / 0.2 - 1.0)


def test_the_delay_reaches_the_simulation(folder):
    cells = {
        (c.factors["delay_ms"], c.factors["threads"]): c.predicted for c in reproduce(folder).cells
    }
    assert cells[20, 1] > 24 * 0.020  # each of 24 inserts waits for the slow node at least once
    assert cells[0.05, 1] < 0.1


def test_what_ifs_are_simulated_with_their_options_and_not_scored(folder):
    result = reproduce(folder)
    assert {cell.variant for cell in result.what_if} == {"wide windows"}
    assert len(result.cells) == len(result.what_if) == 4
    base = {(c.factors["delay_ms"], c.factors["threads"]): c.predicted for c in result.cells}
    wide = {(c.factors["delay_ms"], c.factors["threads"]): c.predicted for c in result.what_if}
    assert wide[20, 4] < base[20, 4]
    assert result.summary == Summary.of(result.cells)
    assert result.summary.n == 2


def test_equal_seeds_agree_and_others_do_not(folder):
    first, again, other = (reproduce(folder, seed=seed) for seed in (5, 5, 6))
    assert [c.predicted for c in first.cells] == [c.predicted for c in again.cells]
    assert [c.predicted for c in first.cells] != [c.predicted for c in other.cells]


def test_an_executor_changes_nothing(folder):
    alone = reproduce(folder)
    with ThreadPoolExecutor(2) as pool:
        together = reproduce(folder, executor=pool)
    assert alone.to_dict() == together.to_dict()


def test_it_says_in_how_many_runs_clients_got_less_than_is_promised(folder, monkeypatch):
    lost = (Degradation("forgotten_commits", 3, "it was tired"),)
    monkeypatch.setattr(DegradationWatch, "measured", lambda _: lost)
    with pytest.warns(DegradedWarning, match="^16 of 16 runs were degraded.*it was tired"):
        reproduce(folder)


def test_one_replication_has_no_interval(folder):
    assert {cell.interval for cell in reproduce(folder, replications=1).cells} == {None}


def test_the_interval_is_that_of_one_further_run(folder, monkeypatch):
    values = [1.0, 1.1, 1.3]
    monkeypatch.setattr(
        reproduce_module,
        "simulate_cells",
        lambda plans, *_, **__: ([(v,) for v in values] for _ in plans),
    )
    cell = reproduce(folder, replications=3).cells[0]
    logs = [log(value) for value in values]
    half = 4.302652729911275 * stdev(logs) * sqrt(1 + 1 / 3)  # Student, 2 degrees, 97.5 %
    assert cell.predicted == 1.1
    assert cell.interval == pytest.approx((exp(mean(logs) - half), exp(mean(logs) + half)))


def test_interrupting_keeps_finished_cells(folder, monkeypatch):
    def interrupted(_plans, *_, **__) -> Iterator[list[tuple[float, ...]]]:
        yield [(0.1,), (0.2,)]
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce_module, "simulate_cells", interrupted)
    result = reproduce(folder)
    assert not result.complete
    assert [cell.predicted for cell in result.cells] == [pytest.approx(0.15)]
    assert "Interrupted" in str(result)


def test_progress_counts_cells_up_to_the_end(folder):
    seen = []
    reproduce(folder, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 8) for number in range(1, 9)]


def test_an_unknown_figure_is_answered_with_the_nearest(folder):
    scenario = load(folder / "galera.toml")
    with (
        pytest.raises(ScenarioError, match="makespan_s"),
        closing(simulate_cells([setup_of(scenario)], ["makespan"], 1, 1)) as cells,
    ):
        next(cells)


def test_figures_inside_a_result_are_found_by_their_path(folder):
    scenario = load(folder / "galera.toml")
    [[(p95, highest)]] = simulate_cells(
        [setup_of(scenario)], ["latency_s.p95", "latency_s.max"], 1, 1
    )
    assert 0.05 < p95 <= highest


def test_json_holds_what_it_should(folder):
    content = json.loads(json.dumps(reproduce(folder).to_dict(), allow_nan=False))
    assert {"cells", "summary", "what_if", "seed", "replications", "versions"} <= content.keys()
    wanted = {
        *("factors", "measured", "predicted", "unit", "relative_error", "interval", "used_in_fit"),
    }
    for cell in content["cells"]:
        assert wanted <= cell.keys()
        low, high = cell["interval"]
        assert low <= cell["predicted"] <= high
    assert content["summary"].keys() == {
        *("n", "median_abs_error", "max_abs_error", "bias", "inside_interval"),
    }


def test_the_table_shows_every_cell_and_the_summary(folder):
    text = str(reproduce(folder))
    assert text.count(" fit") >= 2
    assert "what if: wide windows" in text
    assert "2 predicted cells" in text
    for block in ("delay (ms): 0.05", "delay (ms): 20"):
        assert block in text


def test_the_figure_has_a_point_for_every_cell(folder, tmp_path):
    target = tmp_path / "figure.png"
    figure = reproduce(folder).plot(target)
    assert target.stat().st_size > 1000
    dots = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "o"]
    assert sum(len(line.get_xdata()) for line in dots) == 4


# ------------------------------------------------------------------ scoring --


def cell(measured: float, predicted: float, *, fitted: bool = False, interval=None) -> Cell:
    return Cell(
        factors={}, measured=measured, repetitions=1, predicted=predicted, unit="s",
        relative_error=predicted / measured - 1, interval=interval, used_in_fit=fitted, series="a",
    )  # fmt: skip


def test_the_summary_leaves_out_fitted_cells():
    cells = [
        cell(1.0, 1.1, interval=(0.9, 1.3)),
        cell(1.0, 0.7, interval=(0.6, 0.8)),
        cell(1.0, 1.0, interval=(0.9, 1.1)),
        cell(1.0, 9.0, fitted=True),
    ]
    summary = Summary.of(cells)
    assert summary.n == 3
    assert summary.median_abs_error == pytest.approx(0.1)
    assert summary.max_abs_error == pytest.approx(0.3)
    assert summary.bias == pytest.approx((0.1 - 0.3 + 0.0) / 3)
    assert summary.inside_interval == pytest.approx(2 / 3)


def test_a_summary_of_nothing_has_no_errors():
    summary = Summary.of([cell(1.0, 1.0, fitted=True)])
    assert summary.n == 0
    assert isnan(summary.median_abs_error)


def test_a_cell_without_a_prediction_leaves_no_flattering_summary():
    summary = Summary.of([cell(1.0, 1.0), cell(1.0, float("nan"))])
    assert summary.n == 2
    assert isnan(summary.median_abs_error)
