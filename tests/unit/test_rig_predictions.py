"""Predictions of experiments with faults: what is kept of them, and how they are judged later."""

from statistics import median

import pytest
from typer.testing import CliRunner

from simrep.cli.app import app
from simrep.data.dataset import dataset_folder, load_dataset
from simrep.errors import ScenarioError
from simrep.rig.experiment import Experiment, load_experiment
from simrep.rig.fault_dataset import KNOWN
from simrep.rig.predictions import (
    Prediction,
    blind,
    factors_text,
    predict,
    prediction_file,
    predictions_text,
    read_predictions,
)

FOLDER = dataset_folder("galera-crash")


def as_measured():
    """Predictions that are what was measured later."""
    return [
        Prediction(cell.series, factors_text(cell.factors), metric, median(values), min(values),
                   max(values), 1.0, 10)
        for cell in load_dataset(FOLDER).failures
        for metric, values in cell.values.items()
    ]  # fmt: skip


def test_predictions_are_kept_as_they_are():
    found = as_measured()
    kept = read_predictions(predictions_text(found))
    assert [(one.series, one.metric, one.runs) for one in kept] == [
        (one.series, one.metric, one.runs) for one in found
    ]
    for one, other in zip(kept, found, strict=True):
        assert one.median == pytest.approx(other.median, rel=1e-5)


def test_what_was_measured_as_predicted_is_right_and_the_rest_is_listed():
    exact = as_measured()
    assert not blind(FOLDER, exact).missed
    scores = blind(FOLDER, exact).scores
    assert scores.timers[0] == scores.timers[1] > 40
    assert scores.codes == (2, 2)
    place = next(n for n, one in enumerate(exact) if one.metric == "stall_survivors_s")
    wrong = exact.copy()
    wrong[place] = Prediction("galera-kill-other", "layout=lan", "stall_survivors_s", 7.0, 6.9, 7.1,
                              1.0, 10)  # fmt: skip
    [missed] = blind(FOLDER, wrong).missed
    assert (missed.metric, missed.predicted) == ("stall_survivors_s", 7.0)


def test_a_figure_that_few_simulated_runs_have_is_not_predicted():
    rare = [
        Prediction(one.series, one.factors, one.metric, one.median, one.low, one.high, 0.4, 10)
        for one in as_measured()
    ]
    assert blind(FOLDER, rare).scores.timers[0] == 0


def test_a_cell_without_a_prediction_is_told_of():
    only = [one for one in as_measured() if one.series == "galera-kill-other"]
    with pytest.raises(ScenarioError, match="nothing was predicted of it"):
        blind(FOLDER, only)


def test_every_cell_of_an_experiment_is_simulated_with_its_fault():
    experiment = Experiment.model_validate(
        {
            "title": "Made up",
            "question": "?",
            "system": [{"name": "s", "product": "galera"}],
            "layout": [{"name": "lan"}],
            "load": [
                {
                    "name": "l",
                    "duration_s": 3.0,
                    "threads": 1,
                    "fault": [{"what": "pause", "node": "n3", "at_s": 0.5, "until_s": 1.2}],
                }
            ],
            "grid": [{"system": "s", "layout": "lan", "load": "l"}],
        }
    )
    [(label, found)] = predict(experiment, 2)
    assert label == "s.lan.l.t1"
    stall = next(one for one in found if one.metric == "stall_survivors_s")
    assert (stall.series, stall.factors, stall.runs, stall.share) == ("s-l", "layout=lan", 2, 1.0)
    assert stall.median == pytest.approx(0.7, abs=0.05)


def test_an_experiment_without_faults_is_refused():
    with pytest.raises(ScenarioError, match="breaks nothing"):
        next(predict(load_experiment("smoke").experiment, 2))


def test_predictions_are_not_written_anew(tmp_path):
    file = tmp_path / "kept.csv"
    file.write_text("mine", encoding="utf-8")
    found = CliRunner().invoke(app, ["rig", "predict", "galera-crash", "--out", str(file)])
    assert found.exit_code
    assert "not written anew" in str(found.exception) + found.output
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["galera-suspect", "galera-links", "group-expel"])
def test_predictions_that_ship_are_of_what_was_measured(name):
    kept = read_predictions(prediction_file(name).read_text(encoding="utf-8"))
    folder = dataset_folder(name)
    found = blind(folder, kept)
    right, all_of_them = found.scores.timers
    assert 0.5 * all_of_them < right <= all_of_them
    assert (folder / KNOWN).exists()
