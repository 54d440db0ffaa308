"""Datasets that measure several figures of a cell, and show commits over time."""

import json
from concurrent.futures import ThreadPoolExecutor
from math import isnan

import numpy as np
import pytest

from simrep.data.dataset import load_dataset
from simrep.data.definition import MetricTable
from simrep.data.reproduce import reproduce
from simrep.errors import ScenarioError
from tests.small_dataset import change
from tests.small_dataset import write_dataset as write_plain_dataset
from tests.small_streaming import ROWS, write_dataset, write_rows


@pytest.fixture
def folder(tmp_path):
    return write_dataset(tmp_path / "small")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return reproduce(write_dataset(tmp_path_factory.mktemp("streaming") / "small"))


def figures(result, metric):
    """Cells of a metric by the size of the fragments."""
    return {c.factors["fragment_bytes"]: c for c in result.cells if c.metric == metric}


def test_every_metric_has_a_cell_where_it_was_measured(result):
    assert list(figures(result, "execution_s")) == [0, 100000]  # one is empty in the data
    assert list(figures(result, "stall_s")) == [0, 100000, 1000000]
    assert list(figures(result, "fragments")) == [100000, 1000000]  # one says that there are none
    assert figures(result, "fragments")[100000].predicted == 20
    assert figures(result, "execution_s")[0].unit == "s"


def test_a_measured_zero_is_judged_by_the_tolerance(result):
    stalls = figures(result, "stall_s")
    assert stalls[100000].measured == 0
    assert isnan(stalls[100000].relative_error)
    assert [stalls[size].within for size in (0, 100000, 1000000)] == [False, True, False]
    assert all(cell.within is None for cell in figures(result, "execution_s").values())


@pytest.mark.parametrize(
    ("relative", "measured", "predicted", "within"),
    [
        (None, 0.0, 0.3, True),
        (None, 0.0, 0.31, False),
        (None, 4.0, 3.6, False),
        (0.25, 4.0, 3.0, True),
        (0.25, 4.0, 2.9, False),
        (0.25, 0.0, 0.3, True),
        (0.25, 0.0, float("nan"), False),
    ],
)
def test_a_difference_is_within_either_tolerance(relative, measured, predicted, within):
    metric = MetricTable(
        column="s", result="x", unit="s", label="s", absolute=0.3, relative=relative
    )
    assert metric.tolerates(measured, predicted) is within


def test_summaries_are_by_metric_and_leave_out_what_a_fit_knows(result):
    assert result.summaries.keys() == {"execution_s", "tps", "fragments"}
    assert {name: summary.n for name, summary in result.summaries.items()} == {
        "execution_s": 1,
        "tps": 0,  # the fit has seen it in every cell
        "fragments": 2,
    }
    assert result.tolerated == {"stall_s": (1, 2)}
    assert result.summary.n == 3


def test_the_tables_have_a_block_for_every_metric(result):
    text = str(result)
    for heading in ("execution (s)", "longest stall (s)", "others before (1/s)", "fragments"):
        assert f"\n{heading}\n" in text
    assert "longest stall: 1 of 2 predicted cells within 0.03 s." in text
    assert "others before: " not in text
    [stall] = [line for line in text.splitlines() if line.split()[:2] == ["100000", "0"]]
    assert "+0 s" in stall


def test_json_says_which_metric_a_cell_belongs_to(result):
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert {cell["metric"] for cell in content["cells"]} == set(content["metrics"])
    assert content["metrics"]["stall_s"]["absolute"] == 0.03
    assert content["tolerated"] == {"stall_s": {"within": 1, "n": 2}}
    assert content["summaries"].keys() == {"execution_s", "tps", "fragments"}
    [first, *_] = content["timelines"]
    assert len(first["edges_s"]) == len(first["rate_tps"]) + 1
    assert first["scheduled"]["begin_s"] == 0.2


def test_a_dataset_of_one_metric_stays_as_it_was(tmp_path):
    content = reproduce(write_plain_dataset(tmp_path / "plain"), replications=1).to_dict()
    assert not {"metrics", "summaries", "tolerated", "timelines"} & content.keys()
    assert not {"metric", "within"} & content["cells"][0].keys()


def test_a_table_alone_is_one_metric(tmp_path):
    definition = load_dataset(write_plain_dataset(tmp_path / "plain")).definition
    assert [metric.column for metric in definition.metrics] == ["seconds"]
    assert definition.metric is definition.metrics[0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((0, 0, 0.1, 3000, 0), "execution_s must be a positive number"),
        ((0, 0.1, -1, 3000, 1), "stall_s must be a number of at least 0"),
        ((0, "n/a", 0, 3000, 1), "execution_s must be a positive number"),
        ((0, "", "", "", -1), "nothing was measured"),
    ],
)
def test_figures_that_cannot_be_compared_are_refused(folder, row, message):
    write_rows(folder, [*ROWS[1:], row])
    with pytest.raises(ScenarioError, match=message):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('before = "tps"', 'before = "tsp"', "did you mean 'tps'"),
        ('x = "fragment_bytes"', 'x = "fragment_byte"', "fragment_bytes"),
        ('result = "scheduled.large.', 'result = "', "scheduled transaction"),
    ],
)
def test_a_dataset_that_contradicts_itself_is_refused(folder, old, new, message):
    change(folder, "dataset.toml", old, new)
    with pytest.raises(ScenarioError, match=message):
        load_dataset(folder)


# ------------------------------------------------------------------ timeline --


def test_a_panel_for_every_cell_begins_with_the_transaction(result, tmp_path):
    figure = result.plot(tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").stat().st_size > 10_000
    panels = figure.axes[:3]
    titles = [axes.get_title(loc="left") for axes in panels]
    assert titles == [f"fragment {size} bytes" for size in ("0", "100,000", "1,000,000")]
    for axes, line in zip(panels, result.timelines, strict=True):
        marks = [mark.get_xdata()[0] for mark in axes.lines]
        record = line.course.record
        assert marks[0] == 0.0
        assert record.commit_s - record.begin_s in marks
    assert not figure.axes[3].axison  # three cells leave a place empty


def test_a_panel_marks_what_else_happens(folder):
    fault = '[[fault]]\nwhat = "slow"\nnode = "n2"\nat_s = 0.25\ncpu_factor = 3\n'
    change(folder, "cluster.toml", "[run]", f"{fault}\n[run]")
    result = reproduce(folder, replications=1)
    panel, *_ = result.plot(folder / "events.png").axes
    assert "n2 slow" in ", ".join(text.get_text() for text in panel.texts)
    [event] = result.to_dict()["timelines"][0]["events"]
    assert (event["path"], event["at_s"], event["until_s"]) == ("fault.0", 0.25, None)


def test_a_panel_shows_the_commits_of_the_run(result):
    [curve] = [
        patch for patch in result.plot().axes[1].patches if type(patch).__name__ == "StepPatch"
    ]
    data, course = curve.get_data(), result.timelines[1].course
    assert data.values == pytest.approx(course.rate_tps)
    assert data.edges == pytest.approx(course.edges_s - course.record.begin_s)
    assert np.mean(data.values[:10]) == pytest.approx(course.record.before_tps)


def test_long_courses_are_drawn_in_steps_that_keep_their_mean(result, monkeypatch):
    monkeypatch.setattr("simrep.show.plot.timeline._STEPS", 10)
    panels = result.plot().axes[:3]
    curves = [
        next(patch.get_data() for patch in axes.patches if type(patch).__name__ == "StepPatch")
        for axes in panels
    ]
    assert 5 < max(len(curve.values) for curve in curves) <= 10
    widths = {round(float(np.diff(curve.edges)[0]), 9) for curve in curves}
    assert len(widths) == 1  # the same in all panels
    for curve, line in zip(curves, result.timelines, strict=True):
        drawn = np.sum(curve.values * np.diff(curve.edges))
        course = line.course
        assert drawn == pytest.approx(np.sum(course.rate_tps * np.diff(course.edges_s)))


def test_measured_figures_are_drawn_where_they_were_measured(result):
    words = [{text.get_text().strip() for text in axes.texts} for axes in result.plot().axes[:3]]
    assert "measured 0.200 s" in words[0]
    assert "measured stall 0.180 s" in words[0]
    assert not any("measured stall" in word for word in words[1])  # there was none
    assert "measured stall 0.500 s" in words[2]
    assert not any(word.startswith("measured 0.2") for word in words[2])
    legend = [text.get_text() for text in result.plot().legends[0].get_texts()]
    assert "measured before, ±10 %" in legend
    assert "measured during it, ±10 %" not in legend  # the dataset names no such metric


def test_processes_and_threads_change_nothing(folder, result):
    with ThreadPoolExecutor(2) as pool:
        assert reproduce(folder, executor=pool).to_dict() == result.to_dict()


def test_without_a_timeline_the_first_metric_is_drawn(folder):
    change(folder, "dataset.toml", "timeline = true", "timeline = false")
    plain = reproduce(folder, replications=1)
    assert plain.timelines == ()
    figure = plain.plot()
    figures = figure.axes[1]  # two cells are rows
    assert figures.get_xlabel() == "execution (s)"
    assert sum(line.get_marker() == "o" for line in figures.lines) == 2
