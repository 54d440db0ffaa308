"""Validating packs that tell how sure they are, and what they were fitted to."""

from statistics import median

import pytest

from simrep.contract.setup import setup_of
from simrep.data.validation import validate
from simrep.runs.batch import simulate_cells
from simrep.runs.prediction import prediction_interval, uncertainty_of
from simrep.scenario import load, with_values
from tests.small_dataset import write_dataset

PACK = """
[pack]
name = "known"
model = "galera"

[costs]
statement_us = 400.0

[[fit]]
dataset = "small"
series = "galera"
data = "0"
simrep = "0.1.0"
seed = 1
replications = 1
noise = 0.05
discrepancy = 0.1
freedom = 5.0
costs = [
  { name = "statement_us", prior = 100.0, sigma = 0.7, standard_error = 0.3, known = "data" },
]
cells = [
  { label = "seconds at system galera, threads 4, delay_ms 0.05", measured = 1.0, fitted = 1.0 },
]
"""


@pytest.fixture
def folder(tmp_path):
    place = write_dataset(tmp_path / "small")
    (place / "known.toml").write_text(PACK)
    return place


def by_place(validation):
    cells = validation.parts[0].result.cells
    return {(cell.factors["delay_ms"], cell.factors["threads"]): cell for cell in cells}


def test_the_cells_that_a_pack_was_fitted_to_are_not_judged(folder):
    cells = by_place(validate([folder], pack=folder / "known.toml", replications=1))
    assert [place for place, cell in cells.items() if cell.used_in_fit] == [(0.05, 4)]


def test_a_holdout_does_not_judge_by_what_the_pack_has_seen(folder):
    validation = validate(
        [folder], pack=folder / "known.toml", holdout="threads == 4", replications=1
    )
    judged = [place for place, cell in by_place(validation).items() if not cell.used_in_fit]
    assert judged == [(20, 4)]


def test_the_pack_of_a_scenario_adds_to_what_the_dataset_sets_aside(folder):
    text = (folder / "galera.toml").read_text()
    (folder / "galera.toml").write_text(text.replace("nodes = 3", 'nodes = 3\npack = "known.toml"'))
    cells = by_place(validate([folder], replications=1))
    seen = {place for place, cell in cells.items() if cell.used_in_fit}
    assert seen == {(0.05, 1), (0.05, 4)}


def test_intervals_hold_the_costs_and_the_error_of_the_model(folder):
    cells = by_place(validate([folder], pack=folder / "known.toml", replications=4))
    settings = {
        "cluster.pack": "known.toml",
        "workload.threads": 4,
        "network.egress.0.delay_ms": 20,
    }
    setup = setup_of(with_values(load(folder / "galera.toml"), settings))
    [drawn] = simulate_cells([setup], ["makespan_s"], 4, 3, drawn=True)
    [own] = simulate_cells([setup], ["latency_s.mean"], 4, 3)
    error = uncertainty_of(setup).error("makespan_s", median(value for (value,) in own))
    values = [value for (value,) in drawn]
    expected = prediction_interval(values, error.relative, error.freedom)
    assert cells[20, 4].interval == pytest.approx(expected)


def test_one_replication_has_the_error_of_the_model(folder):
    [cell] = [
        cell
        for place, cell in by_place(
            validate([folder], pack=folder / "known.toml", replications=1)
        ).items()
        if place == (20, 4)
    ]
    low, high = cell.interval
    assert low * high == pytest.approx(cell.predicted**2)
    assert high / low > 1.1
