"""Validating: which cells are judged, how they are scored, what is left of an interrupted one."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from math import isnan, nan

import numpy as np
import pytest

import simrep.data.validation as validation_module
from simrep.data.cells import Cell
from simrep.data.dataset import load_dataset
from simrep.data.latencies import compared, recorded
from simrep.data.reproduce import reproduce
from simrep.data.scores import Agreement, Scores
from simrep.data.validation import validate
from simrep.errors import ScenarioError
from simrep.measure.histogram import LatencyHistogram
from simrep.runs.run import run
from simrep.scenario import load, with_values
from tests.small_dataset import ROWS, change, write_dataset, write_rows

PACK = """
[pack]
name = "slow"
model = "{model}"

[costs]
statement_us = 5000.0
"""


@pytest.fixture
def folder(tmp_path):
    return write_dataset(tmp_path / "small")


def judged(validation):
    """Factors of the cells that count."""
    cells = [cell for part in validation.parts for cell in part.result.cells]
    return {(c.factors["delay_ms"], c.factors["threads"]) for c in cells if not c.used_in_fit}


# ---------------------------------------------------------------- predicting --


def test_predictions_are_those_of_reproducing(folder):
    [part] = validate([folder]).parts
    assert part.result.cells == reproduce(folder).cells
    assert part.name == "small"


def test_threads_change_nothing_and_progress_is_told(folder):
    told = []
    with ThreadPoolExecutor(2) as pool:
        several = validate([folder, folder], executor=pool, progress=lambda *t: told.append(t))
    assert told == [(done, 8) for done in range(1, 9)]
    assert several.parts[1].to_dict() == validate([folder]).parts[0].to_dict()


def test_cells_of_the_fit_are_not_judged(folder):
    validation = validate([folder], replications=1)
    assert judged(validation) == {(20, 1), (20, 4)}
    assert (validation.scores.n, validation.scores.fitted) == (2, 2)


def test_a_holdout_says_what_is_judged(folder):
    validation = validate([folder], holdout="threads == 4 and delay_ms in (20, 50)", replications=1)
    assert judged(validation) == {(20, 4)}
    assert validation.scores.fitted == 3


def test_without_a_pack_of_ones_own_the_cells_of_the_fit_stay_seen(folder):
    assert judged(validate([folder], holdout="threads == 4", replications=1)) == {(20, 4)}
    pack = folder / "slow.toml"
    pack.write_text(PACK.format(model="galera"))
    validation = validate([folder], holdout="threads == 4", pack=pack, replications=1)
    assert judged(validation) == {(20, 4), (0.05, 4)}


@pytest.mark.parametrize(
    ("holdout", "message"),
    [
        ("thread == 4", "small.*no factor 'thread'.*threads"),
        ("threads ==", "not a condition"),
        ("__import__('os')", "not understood"),
    ],
)
def test_a_holdout_that_is_not_understood_is_refused(folder, holdout, message):
    with pytest.raises(ScenarioError, match=message):
        validate([folder], holdout=holdout)


def test_a_pack_takes_the_place_of_that_of_the_scenario(folder, monkeypatch):
    (folder / "slow.toml").write_text(PACK.format(model="galera"))
    monkeypatch.chdir(folder)
    usual = validate([folder], replications=1).parts[0].result.cells
    slow = validate([folder], pack="slow.toml", replications=1).parts[0].result
    pairs = zip(usual, slow.cells, strict=True)
    assert all(other.predicted > cell.predicted for cell, other in pairs)
    assert slow.versions["galera pack"]


def test_systems_of_other_models_are_left_out(folder):
    (folder / "other.toml").write_text(PACK.format(model="semisync"))
    with pytest.raises(ScenarioError, match="no measured system has the model"):
        validate([folder], pack=folder / "other.toml")


def test_derived_metrics_have_no_cells_to_validate():
    with pytest.raises(ScenarioError, match="derived metrics and no measured cells"):
        validate(["group-replication-overview"])


def test_an_interrupted_validation_keeps_what_is_finished(folder, monkeypatch):
    simulate = validation_module.simulate_groups

    def interrupted(*arguments):
        simulated = simulate(*arguments)
        yield next(simulated)
        raise KeyboardInterrupt

    monkeypatch.setattr(validation_module, "simulate_groups", interrupted)
    validation = validate([folder, folder], replications=1)
    assert not validation.complete
    assert [len(part.result.cells) for part in validation.parts] == [1]
    assert "Interrupted" in str(validation)


# ------------------------------------------------------------------- scoring --


def cell(error, **changes):
    given = {
        "factors": {"threads": 1},
        "measured": 2.0,
        "repetitions": 1,
        "predicted": 2.0 * (1.0 + error),
        "unit": "s",
        "relative_error": error,
        "interval": None,
        "used_in_fit": False,
        "series": "a",
        "metric": "seconds",
    }
    return Cell(**{**given, **changes})


def test_scores_are_those_of_the_cells_that_no_fit_has_seen():
    errors = [0.02, -0.10, 0.15, -0.40]
    spans = [(1.9, 2.1), (1.0, 1.9), None, (1.0, 3.0)]
    cells = [cell(e, interval=span) for e, span in zip(errors, spans, strict=True)]
    cells += [cell(5.0, used_in_fit=True), cell(nan, within=True), cell(nan, within=False)]
    scores = Scores.of(cells, Agreement(8, 6))
    assert (scores.n, scores.fitted) == (4, 1)
    assert scores.median_abs_error == pytest.approx(np.median(np.abs(errors)))
    assert scores.max_abs_error == 0.40
    assert scores.bias == pytest.approx(np.mean(errors))
    assert scores.near == 0.75
    assert scores.inside_interval == pytest.approx(2 / 3)
    assert (scores.pairs, scores.ordered) == (8, 0.75)
    assert (scores.tolerated, scores.with_tolerance) == (1, 2)


def test_what_commits_nothing_is_infinitely_far_off():
    scores = Scores.of([cell(0.1), cell(0.2), cell(nan, predicted=nan)], Agreement(0, 0))
    assert scores.median_abs_error == 0.2
    assert scores.max_abs_error == float("inf")
    assert scores.near == pytest.approx(1 / 3)


def test_without_cells_there_are_no_scores():
    scores = Scores.of([], Agreement(0, 0))
    assert scores.n == 0
    assert isnan(scores.median_abs_error)
    assert isnan(scores.near)


# ---------------------------------------------------------------- latencies --


def write_transactions(folder, name, latencies, *, failed=0):
    place = folder / "transactions"
    place.mkdir(exist_ok=True)
    lines = ["client,node,intended_s,start_s,end_s,rows,bytes,attempts,error"]
    lines += [f"0,n1,1.0,1.5,{1.0 + latency:.9f},1,40,1,0" for latency in latencies]
    lines += ["0,n1,1.0,1.5,99.0,1,40,1,1213"] * failed
    with gzip.open(place / f"{name}.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")


def with_runs(folder, names):
    """The cell of four threads and 20 ms, with runs that have a name."""
    rows = [("galera", 20, 4, 0.2, name, 1) for name in names]
    rows.append(("galera", 0.05, 1, 0.05, "other", 1))
    write_rows(folder, rows, "run", "attempt")
    change(folder, "dataset.toml", "seed = 3\n", 'seed = 3\nignore = ["run", "attempt"]\n')


def test_recorded_latencies_are_compared_with_simulated_ones(folder):
    settings = {"workload.threads": 4, "network.egress.0.delay_ms": 20, "run.log": True}
    simulated = run(with_values(load(folder / "galera.toml"), settings), seed=3, replications=2)
    own = [record.measurement.log.latency_s for record in simulated.runs]
    for name, latencies in zip("ab", own, strict=True):
        write_transactions(folder, f"{name}.a1", latencies, failed=2)
    with_runs(folder, "ab")
    [one] = validate([folder]).parts[0].latencies
    assert one.factors["threads"] == 4
    assert one.transactions == sum(map(len, own)) == 48
    assert one.distance < 0.002
    assert one.measured_s["mean"] == pytest.approx(one.simulated_s["mean"], rel=1e-6)
    assert one.measured_s["p95"] == pytest.approx(one.simulated_s["p95"], rel=0.004)
    assert "Recorded latencies" in str(validate([folder]))


def test_the_distance_is_that_of_sorted_samples(folder):
    """Of samples of one size the mean distance of values of equal rank."""
    random = np.random.default_rng(3)
    measured, simulated = random.gamma(2.0, 0.01, 400), random.gamma(2.0, 0.02, 400)
    found = load_dataset(folder).cells["galera"][0]
    both = compared("galera", found, measured, [LatencyHistogram(simulated)])
    expected = np.mean(np.abs(np.sort(measured) - np.sort(simulated))) / np.mean(measured)
    assert both.distance == pytest.approx(expected, rel=0.005)


def test_only_what_was_recorded_is_compared(folder):
    with_runs(folder, "ab")
    assert validate([folder], replications=1).parts[0].latencies == ()
    write_transactions(folder, "b.a1", [0.1, 0.2])
    (measured,) = [c for c in load_dataset(folder).cells["galera"] if c.factors["threads"] == 4]
    assert recorded(folder, measured).tolist() == pytest.approx([0.1, 0.2])
    assert compared("galera", measured, np.zeros(0), [LatencyHistogram([0.1])]) is None
    assert compared("galera", measured, np.array([0.1]), [LatencyHistogram()]) is None


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"a,b\n1,2\n", mtime=0)])
def test_a_record_that_cannot_be_read_is_refused(folder, content):
    with_runs(folder, "ab")
    write_transactions(folder, "b.a1", [0.1])
    (folder / "transactions" / "b.a1.csv.gz").write_bytes(content)
    with pytest.raises(ScenarioError, match=r"small/transactions/b.a1.csv.gz.*no recorded"):
        validate([folder], replications=1)


# -------------------------------------------------------------------- output --


def test_what_json_holds_is_plain(folder):
    validation = validate([folder], replications=1)
    content = json.loads(json.dumps(validation.to_dict(), allow_nan=False))
    [part] = content["datasets"]
    assert part["dataset"] == "small"
    assert part["scores"]["n"] == content["scores"]["n"] == 2
    assert part["metrics"]["seconds"]["unit"] == "s"
    assert {"factors", "measured", "predicted", "interval"} <= part["cells"][0].keys()


def test_scores_are_shown_for_each_and_for_all(folder, tmp_path):
    other = write_dataset(tmp_path / "other")
    write_rows(other, ROWS[3:6])
    text = str(validate([folder, other], replications=1))
    assert all(name in text for name in ("small", "other", "all", "within 15%", "order right"))
    assert "run time" in str(validate([folder], replications=1))


def test_errors_are_drawn_in_a_row_for_each_dataset(folder, tmp_path):
    other = write_dataset(tmp_path / "other")
    figure = validate([folder, other], replications=1).plot(tmp_path / "errors.png")
    assert (tmp_path / "errors.png").stat().st_size > 5_000
    [axes] = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["small", "other"]
    points = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) for line in points) == 8


def test_errors_of_one_dataset_are_drawn_by_system(folder):
    [axes] = validate([folder], replications=1).plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Galera: run time"]


def test_a_series_may_have_more_replications_than_its_dataset(folder):
    few, more = validate([folder]), validate([folder], replications=3)
    change(folder, "dataset.toml", 'title = "Galera"', 'title = "Galera"\nreplications = 3')
    own = validate([folder])
    assert own.parts[0].result.cells == more.parts[0].result.cells != few.parts[0].result.cells
    assert reproduce(folder).cells == more.parts[0].result.cells
    assert validate([folder], replications=2).parts[0].result.cells == few.parts[0].result.cells
