"""Fitting costs: what a fit finds, what it may look at, and what it refuses."""

from math import isnan, log, sqrt
from pathlib import Path

import pytest

from simrep.calibrate.fit import evaluations_expected, fit
from simrep.calibrate.measured_figures import CalibrationError
from simrep.errors import ScenarioError
from simrep.runs.run import run
from simrep.scenario import load, with_value, with_values
from tests.small_dataset import change, write_dataset, write_rows
from tests.small_streaming import write_dataset as write_streaming_dataset


@pytest.fixture
def folder(tmp_path):
    return write_dataset(tmp_path / "small")


def with_known_cost(folder: Path, statement_us: float) -> None:
    """Replace the measured figures by simulated ones with a cost that a fit should find."""
    scenario = with_value(load(folder / "galera.toml"), "cluster.costs.statement_us", statement_us)
    rows = []
    for threads in (1, 4):
        one = with_values(scenario, {"workload.threads": threads, "network.egress": []})
        rows.append(("galera", 0.05, threads, run(one, seed=1, replications=1).makespan_s))
    write_rows(folder, [*rows, ("galera", 20, 1, 123.0)])


def test_a_fit_finds_the_cost_that_made_the_data(folder):
    with_known_cost(folder, 400.0)
    result = fit(folder, seed=1)
    [estimate] = result.estimates
    assert result.converged
    assert 0.5 < result.evaluations / evaluations_expected(1) < 2.0
    assert estimate.value == pytest.approx(400.0, rel=0.05)
    assert 0.0 < estimate.standard_error < 0.2
    assert all(abs(residual.relative_error) < 0.05 for residual in result.residuals)


def test_a_fit_sees_only_the_cells_set_aside_for_it(folder):
    with_known_cost(folder, 400.0)
    result = fit(folder, seed=1)
    assert len(result.residuals) == 2
    assert all("delay_ms 0.05" in residual.label for residual in result.residuals)


def test_a_cost_that_the_cells_do_not_show_stays_at_its_prior(folder):
    with_known_cost(folder, 400.0)
    change(folder, "dataset.toml", 'name = "statement_us"', 'name = "rollback_us"')
    [estimate] = fit(folder, seed=1).estimates
    assert estimate.value == pytest.approx(100.0, rel=0.01)
    assert estimate.standard_error == pytest.approx(1.5, rel=0.01)


def test_repetitions_tell_the_noise_where_it_is_not_stated(folder):
    """Two runs of 1.0 and 1.2 s: their mean is known to 0.1 s; the usual 5 % come on top."""
    change(folder, "dataset.toml", "\nnoise = 0.05\n", "\n")
    write_rows(folder, [("galera", 0.05, 1, 1.0), ("galera", 0.05, 1, 1.2)])
    result = fit(folder, seed=1, replications=1, max_steps=1)
    assert result.noise == pytest.approx(sqrt(0.05**2 + (0.1 / 1.1) ** 2))
    write_rows(folder, [("galera", 0.05, 1, 1.1)])
    assert fit(folder, seed=1, replications=1, max_steps=1).noise == pytest.approx(0.05)


def test_a_fit_stays_within_its_bounds(folder):
    with_known_cost(folder, 400.0)
    change(folder, "dataset.toml", "sigma = 1.5", "sigma = 1.5\nhigh = 250.0")
    [estimate] = fit(folder, seed=1).estimates
    assert estimate.value == pytest.approx(250.0, rel=0.01)


def test_a_further_column_is_fitted_beside_the_metric(folder):
    """The metric and the median latency contradict each other, and the noise says whom to trust."""
    scenario = with_values(
        load(folder / "galera.toml"), {"cluster.costs.statement_us": 400.0, "network.egress": []}
    )
    true = run(scenario, seed=1, replications=1)
    rows = [("galera", 0.05, 1, 10 * true.makespan_s, true.latency_s["p50"])]
    write_rows(folder, rows, "median_s")
    extra = '[[series.fit.extra]]\ncolumn = "median_s"\nresult = "latency_s.p50"\nnoise = 0.001\n'
    change(folder, "dataset.toml", "[[series.fit.parameter]]", extra + "\n[[series.fit.parameter]]")
    result = fit(folder, seed=1)
    assert result.estimates[0].value == pytest.approx(400.0, rel=0.05)
    metric, median = result.residuals
    assert abs(median.relative_error) < 0.02
    assert metric.relative_error == pytest.approx(-0.9, abs=0.01)


def further_column(folder: Path, where: str) -> None:
    """Cells of one and four threads have a median latency, which the fit wants of some."""
    rows = [("galera", 0.05, threads, 0.05, 0.001) for threads in (1, 4)]
    write_rows(folder, rows, "median_s")
    extra = '[[series.fit.extra]]\ncolumn = "median_s"\nresult = "latency_s.p50"\n'
    extra += f"where = {{ {where} }}\n"
    change(folder, "dataset.toml", "[[series.fit.parameter]]", extra + "\n[[series.fit.parameter]]")


def test_a_further_column_may_be_wanted_of_some_cells(folder):
    further_column(folder, "threads = [4]")
    labels = [one.label for one in fit(folder, seed=1, keep=True).residuals]
    assert sum("seconds" in one for one in labels) == 2
    assert [one for one in labels if "median_s" in one] == [labels[-1]]
    assert "threads 4" in labels[-1]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("thread = [4]", r"galera.*fit.extra.where: has no factor 'thread'.*'threads'"),
        ("threads = [5]", r"fit.extra.where: no cell has threads = 5"),
    ],
)
def test_a_further_column_of_cells_that_are_not_there_is_refused(folder, where, message):
    further_column(folder, where)
    with pytest.raises(ScenarioError, match=message):
        fit(folder)


def test_a_fit_without_cells_is_refused(folder):
    change(folder, "dataset.toml", "[fit_where]\ndelay_ms = [0.05]", "")
    with pytest.raises(CalibrationError, match="no cells"):
        fit(folder)


def test_an_unknown_series_is_refused(folder):
    with pytest.raises(ScenarioError, match="galera"):
        fit(folder, series="galerra")


def test_costs_are_fitted_by_name_with_the_usual_priors(folder):
    with_known_cost(folder, 400.0)
    result = fit(folder, parameters=["commit_us", "statement_us", "machine.wakeup_us"], seed=1)
    commit, statement, wakeup = result.estimates
    assert statement.prior == 100.0  # of the dataset, which goes before the usual one
    assert (commit.prior, commit.unit) == (20.0, "us")
    assert commit.sigma == pytest.approx(log(100 / 4) / 4)
    assert wakeup.prior == pytest.approx(sqrt(5 * 50))
    assert statement.value == pytest.approx(400.0, rel=0.2)
    with pytest.raises(ScenarioError, match="did you mean 'statement_us'"):
        fit(folder, parameters=["statment_us"])
    with pytest.raises(ScenarioError, match="'commit_us' is there twice"):
        fit(folder, parameters=["commit_us", "commit_us"])


def test_a_dataset_without_a_fit_is_fitted_by_names(folder):
    text = (folder / "dataset.toml").read_text()
    (folder / "dataset.toml").write_text(text.partition("[series.fit]")[0])
    with pytest.raises(ScenarioError, match="0 series have a fit"):
        fit(folder)
    [estimate] = fit(folder, parameters=["statement_us"], replications=1, max_steps=2).estimates
    assert estimate.prior == pytest.approx(sqrt(30 * 500))


def test_cells_are_chosen_by_a_condition(folder):
    result = fit(folder, cells="threads == 1 and delay_ms > 1", max_steps=1)
    assert [residual.label for residual in result.residuals] == [
        "seconds at system galera, threads 1, delay_ms 20"
    ]
    with pytest.raises(CalibrationError, match="no cells with 'threads > 4'"):
        fit(folder, cells="threads > 4")
    with pytest.raises(ScenarioError, match="did you mean 'threads'"):
        fit(folder, cells="thread > 4")


def test_the_series_is_found_by_its_model(folder):
    assert fit(folder, model="galera", max_steps=1).series == "galera"
    with pytest.raises(ScenarioError, match="no series to fit is one of 'semisync'"):
        fit(folder, model="semisync")


def test_what_is_kept_is_judged_and_not_changed(folder):
    with_known_cost(folder, 400.0)
    change(folder, "galera.toml", "nodes = 3", "nodes = 3\ncosts.statement_us = 300.0")
    result = fit(folder, keep=True, seed=1)
    [estimate] = result.estimates
    assert estimate.value == pytest.approx(300.0)
    assert estimate.known == "data"
    assert result.evaluations == 3  # there, above and below
    assert result.discrepancy.excess > 1.0
    assert all(residual.relative_error < -0.05 for residual in result.residuals)


def test_an_interrupted_fit_hands_over_the_best_so_far(folder):
    with_known_cost(folder, 400.0)

    def stop(evaluations: int, _cost: float) -> None:
        if evaluations == 3:
            raise KeyboardInterrupt

    with pytest.raises(CalibrationError, match="interrupted") as caught:
        fit(folder, seed=1, progress=stop)
    assert caught.value.best["statement_us"] > 0.0


def test_a_difference_is_fitted_where_a_ratio_has_no_meaning(tmp_path):
    """A stall of 0 is an observation, and an empty cell is none."""
    dataset = write_streaming_dataset(tmp_path / "streaming")
    result = fit(dataset, replications=1, max_steps=1)
    assert [residual.label for residual in result.residuals] == [
        "execution_s at fragment_bytes 0",
        "stall_s at fragment_bytes 0",
    ]
    change(dataset, "dataset.toml", "fragment_bytes = [0]", "fragment_bytes = [100000, 1000000]")
    result = fit(dataset, replications=1, max_steps=1)
    seen = {residual.label: residual for residual in result.residuals}
    assert seen.keys() == {
        "execution_s at fragment_bytes 100000",
        "stall_s at fragment_bytes 100000",
        "stall_s at fragment_bytes 1000000",
    }
    nothing = seen["stall_s at fragment_bytes 100000"]
    assert nothing.measured == 0.0
    assert isnan(nothing.relative_error)


def test_the_absolute_noise_says_how_much_a_difference_weighs(tmp_path):
    """Appliers that take longer make the stall longer, and nothing else tells what they take."""
    dataset = write_streaming_dataset(tmp_path / "streaming")
    change(
        dataset,
        "dataset.toml",
        'name = "row_us"\nprior = 20.0',
        'name = "apply_row_us"\nprior = 6.0',
    )
    change(dataset, "cluster.toml", "interval_s = 0.02", "interval_s = 0.002")
    change(dataset, "dataset.toml", "absolute = 0.02", "absolute = 0.001\nnoise = 0.001")
    trusted = fit(dataset, replications=1)
    assert trusted.residuals[1].fitted == pytest.approx(0.18, abs=0.01)
    change(dataset, "dataset.toml", "absolute = 0.001", "absolute = 100.0")
    [estimate] = fit(dataset, replications=1).estimates
    assert estimate.value == pytest.approx(6.0, rel=0.01)
    assert trusted.estimates[0].value > 7.0
