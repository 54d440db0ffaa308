"""Prediction intervals: what they cover, and how often."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import stdtrit

from simrep.contract.setup import setup_of
from simrep.errors import ExtrapolationWarning, ScenarioError
from simrep.runs.batch import simulate_cells
from simrep.runs.prediction import (
    prediction_interval,
    uncertainty_of,
    with_drawn_costs,
)
from simrep.runs.run import run
from simrep.scenario import load

PACK = """
[pack]
name = "mine"
model = "galera"

[machine]
cores = 2
cold_factor = 1.05

[costs]
statement_us = 400.0
commit_us = 20.0

[range]
nodes = [3, 3]
clients = [1, 4]

[[fit]]
dataset = "small"
series = "galera"
data = "0"
simrep = "0.1.0"
seed = 1
replications = 3
noise = 0.05
discrepancy = 0.1
freedom = 6.0
costs = [
    {name = "statement_us", prior = 90.0, sigma = 0.7, standard_error = 0.3, known = "data"},
    {name = "commit_us", prior = 20.0, sigma = 0.7, standard_error = 0.2, known = "data", \
correlation = [-0.5]},
    {name = "machine.cold_factor", prior = 2.0, sigma = 0.7, standard_error = 0.5, \
known = "prior", correlation = [0.0, 0.0]},
]
cells = [{label = "seconds at threads 1", measured = 0.1, fitted = 0.11}]
"""


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "mine.toml").write_text(PACK)
    return {
        "cluster": {"model": "galera", "pack": str(tmp_path / "mine.toml")},
        "workload": {"preset": "mysqlslap-insert", "queries": 24, "threads": 2, "nodes": ["n1"]},
    }


def test_costs_are_drawn_with_their_errors_and_correlation(scenario):
    """1,000 draws: a standard error is off by 2.2 %, a correlation of -0.5 by 0.024.

    10 % and 0.12 are more than four standard deviations: false alarm below 1e-4 per figure.
    """
    uncertainty = uncertainty_of(setup_of(load(scenario)))
    assert uncertainty.names == ("statement_us", "commit_us", "machine.cold_factor")
    assert (uncertainty.discrepancy, uncertainty.freedom) == (0.1, 6.0)
    draws = [uncertainty.factors(1, number) for number in range(1000)]
    logs = np.log([[one["statement_us"], one["commit_us"]] for one in draws])
    assert logs.std(axis=0) == pytest.approx([0.3, 0.2], rel=0.1)
    assert np.corrcoef(logs.T)[0, 1] == pytest.approx(-0.5, abs=0.12)
    assert uncertainty.factors(1, 0) == draws[0]
    assert uncertainty.factors(2, 0) != draws[0]


def test_a_draw_changes_what_the_run_takes_from_the_pack_and_nothing_else(scenario):
    setup = setup_of(load(scenario))
    uncertainty = uncertainty_of(setup)
    factors = uncertainty.factors(1, 0)
    drawn = with_drawn_costs(setup, uncertainty, 1, 0)
    assert drawn.costs.statement_us == 400.0 * factors["statement_us"]
    assert drawn.costs.apply_us == setup.costs.apply_us
    assert {machine.cores for machine in drawn.machines.values()} == {2}
    colds = {
        with_drawn_costs(setup, uncertainty, 1, number).machines["n1"].cold_factor
        for number in range(20)
    }
    assert min(colds) == 1.0  # less has no meaning
    assert len(colds) > 2


def test_what_the_scenario_sets_itself_is_known(scenario):
    scenario["cluster"]["costs"] = {"statement_us": 300.0}
    scenario["cluster"]["machine"] = {"cold_factor": 1.0}
    assert uncertainty_of(setup_of(load(scenario))).names == ("commit_us",)
    scenario["cluster"]["costs"]["commit_us"] = 10.0
    setup = setup_of(load(scenario))
    nothing = uncertainty_of(setup)
    assert nothing.names == ()
    assert with_drawn_costs(setup, nothing, 1, 0).costs == setup.costs


def test_of_two_fits_of_a_cost_the_last_counts(scenario, tmp_path):
    again = PACK[PACK.index("[[fit]]") :].replace("standard_error = 0.3", "standard_error = 0.01")
    again = again.replace("discrepancy = 0.1", "discrepancy = 0.2")
    (tmp_path / "mine.toml").write_text(PACK + again)
    uncertainty = uncertainty_of(setup_of(load(scenario)))
    assert sorted(uncertainty.names) == ["commit_us", "machine.cold_factor", "statement_us"]
    error = uncertainty.covariance[uncertainty.names.index("statement_us")].max() ** 0.5
    assert error == pytest.approx(0.01)
    assert uncertainty.discrepancy == pytest.approx(math.sqrt((0.01 + 0.04) / 2))


def test_a_run_with_replications_has_both_intervals(scenario):
    result = run(scenario, seed=1, replications=4)
    prediction = result.prediction
    assert (prediction.draws, prediction.confidence) == (4, 0.9)
    assert set(prediction.intervals) == set(result.intervals)
    for name, (low, high) in prediction.intervals.items():
        inner_low, inner_high = result.intervals[name]
        assert high / low > inner_high / inner_low, name
    assert set(result.to_dict()["prediction"]["errors"]) == set(prediction.intervals)
    assert prediction.errors["latency_s.p99"] > prediction.errors["latency_s.mean"]
    text = str(result)
    for words in ("90 % prediction", "95 % interval", "4 draws", "error of the model of "):
        assert words in text


def test_a_single_run_says_that_only_the_error_of_the_model_is_covered(scenario):
    result = run(scenario, seed=1)
    assert result.prediction.draws == 0
    low, high = result.prediction.intervals["makespan_s"]
    error = uncertainty_of(setup_of(load(scenario))).error("makespan_s", result.latency_s["mean"])
    student = float(stdtrit(error.freedom, 0.95))
    half = math.exp(error.relative * student)
    assert high / result.makespan_s == pytest.approx(half, rel=1e-3)
    assert low * high == pytest.approx(result.makespan_s**2)
    assert "nothing else" in str(result)


def test_draws_are_asked_for_and_change_nothing_else(scenario):
    alone, drawn = run(scenario, seed=1), run(scenario, seed=1, draws=3)
    assert drawn.prediction.draws == 3
    assert drawn.prediction.costs[0] == "statement_us"
    assert drawn.prediction.intervals != alone.prediction.intervals
    assert drawn.digest() == alone.digest()
    assert run(scenario, seed=1, replications=3, draws=0).prediction.draws == 0
    with pytest.raises(ScenarioError, match="0 or at least 2"):
        run(scenario, draws=1)


def test_an_executor_gives_the_same_draws(scenario):
    here = run(scenario, seed=1, replications=2)
    with ThreadPoolExecutor(2) as pool:
        there = run(scenario, seed=1, replications=2, executor=pool)
    assert there.prediction == here.prediction


def test_draws_of_cells_are_those_of_a_run(scenario):
    setup = setup_of(load(scenario))
    [samples] = simulate_cells([setup], ["makespan_s"], 3, 1, drawn=True)
    result = run(scenario, seed=1, draws=3)
    error = uncertainty_of(setup).error("makespan_s", result.latency_s["mean"])
    makespans = [makespan_s for (makespan_s,) in samples]
    span = prediction_interval(makespans, error.relative, error.freedom)
    assert span == result.prediction.intervals["makespan_s"]
    [same] = simulate_cells([setup], ["makespan_s"], 3, 1)
    assert same != samples


def test_what_the_load_prescribes_is_not_predicted(scenario):
    scenario["run"] = {"duration_s": 0.2}
    del scenario["workload"]["queries"]
    closed = run(scenario, seed=1)
    assert "makespan_s" not in closed.prediction.intervals
    assert "throughput_tps" in closed.prediction.intervals
    del scenario["workload"]["threads"]
    scenario["workload"]["rate_tps"] = 100.0
    assert "throughput_tps" not in run(scenario, seed=1).prediction.intervals


def test_without_a_pack_that_tells_there_is_none(scenario, tmp_path):
    (tmp_path / "mine.toml").write_text(PACK[: PACK.index("[[fit]]")])
    result = run(scenario, seed=1, replications=2)
    assert result.prediction is None
    assert "prediction" not in result.to_dict()
    assert "prediction" not in str(result)


def test_beyond_its_range_a_pack_warns(scenario):
    scenario["workload"]["threads"] = 8
    scenario["cluster"]["nodes"] = 5
    with pytest.warns(ExtrapolationWarning) as caught:
        run(scenario, seed=1)
    [warning] = caught
    text = str(warning.message)
    assert "pack 'mine'" in text
    assert "clients is 8, checked: 1 to 4" in text
    assert "nodes is 5, checked: 3" in text


def test_an_interval_of_one_value_is_the_error_of_the_model():
    low, high = prediction_interval([2.0], 0.1, 1e9)
    assert math.log(high / 2.0) == pytest.approx(0.1645, abs=1e-4)
    assert low * high == pytest.approx(4.0)
    assert prediction_interval([2.0], 0.0, 5.0) == (2.0, 2.0)


def test_without_an_error_of_the_model_it_is_students():
    from simrep.data.cells import single_run_interval

    values = [1.0, 1.3, 0.8, 1.1]
    assert prediction_interval(values, 0.0, 5.0, 0.95) == pytest.approx(single_run_interval(values))


@pytest.mark.parametrize("values", [[], [0.0, 1.0], [math.nan, 1.0], [math.inf]])
def test_what_is_not_positive_has_no_interval(values):
    assert prediction_interval(values, 0.1, 5.0) is None


def test_intervals_cover_as_often_as_they_say():
    """2,000 trials of an interval of 90 %: a standard deviation is 0.7 %.

    The degrees of freedom are approximate, which costs a per cent; 4 % are beyond that by four
    standard deviations: false alarm below 1e-4.
    """
    generator = np.random.default_rng(1)
    spread, model, draws, freedom = 0.1, 0.15, 5, 6
    inside = 0
    for _ in range(2000):
        values = np.exp(generator.normal(0.0, spread, draws)).tolist()
        known = model * math.sqrt(generator.chisquare(freedom) / freedom)
        low, high = prediction_interval(values, known, freedom)
        inside += low <= math.exp(generator.normal(0.0, math.hypot(spread, model))) <= high
    assert inside / 2000 == pytest.approx(0.9, abs=0.04)
