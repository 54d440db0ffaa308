"""What a result tells of scheduled transactions: figures, tables and marks."""

import json
from dataclasses import replace
from itertools import combinations
from math import isnan, nan

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from simrep.contract.setup import setup_of
from simrep.data.reproduce import simulate_cells
from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock
from simrep.measure.series import Series
from simrep.runs.record import ScheduledRecord
from simrep.runs.run import run
from simrep.scenario import load, with_values
from simrep.show.plot.axes import draw_marks
from simrep.show.plot.style import Sheet, styled
from simrep.workload.transaction import Journal
from tests.small_streaming import SCENARIO


def journal(**times_s: float) -> Journal:
    """What happened to a transaction on two nodes."""
    told = Journal(Clock(), "large", 0, 2)
    for name, at in times_s.items():
        setattr(told, name, at)
    return told


def series(*rates_tps: float) -> Series:
    """Commits in intervals of half a second."""
    commits = 0.5 * np.array(rates_tps)
    return Series(0.0, 0.5, 0.5 * len(commits), commits, np.zeros(len(commits)))


COMMITS = series(100, 100, 80, 80, 9, 0, 30, 9, 9, 9, 120, 100)
TIMES = {"begin_s": 1.0, "executed_s": 2.0, "replicate_s": 2.0, "commit_s": 3.0, "end_s": 5.0}


def test_rates_are_those_before_while_it_executes_and_until_it_is_everywhere():
    record = ScheduledRecord.of(journal(**TIMES), COMMITS)
    assert record.before_tps == 100
    assert record.executing_tps == 80
    assert record.during_tps == (80 + 80 + 9 + 0 + 30 + 9 + 9 + 9) / 8
    assert (record.execution_s, record.duration_s, record.visible_s) == (1.0, 2.0, 4.0)


def test_the_longest_stall_is_told_with_its_begin():
    record = ScheduledRecord.of(journal(**TIMES), COMMITS)
    assert (record.stall_s, record.stall_began_s) == (1.5, 3.5)
    quiet = ScheduledRecord.of(journal(**TIMES), series(*[100.0] * 12))
    assert quiet.stall_s == 0
    assert isnan(quiet.stall_began_s)


def test_a_stall_that_began_before_the_end_counts_to_its_own_end_and_a_later_one_does_not():
    soon = ScheduledRecord.of(journal(**TIMES | {"end_s": 3.75}), COMMITS)
    assert (soon.stall_s, soon.stall_began_s) == (1.5, 3.5)
    sooner = ScheduledRecord.of(journal(**TIMES | {"end_s": 3.25}), COMMITS)
    assert (sooner.stall_s, sooner.stall_began_s) == (1.0, 2.0)
    failed = ScheduledRecord.of(journal(begin_s=1.0), COMMITS)
    assert failed.stall_s == 1.5


def test_what_never_happened_has_no_figure():
    record = ScheduledRecord.of(journal(begin_s=1.0), COMMITS)
    assert isnan(record.execution_s)
    assert isnan(record.executing_tps)
    assert record.during_tps == pytest.approx((80 + 80 + 9 + 0 + 30 + 9 + 9 + 9 + 120 + 100) / 10)


def test_means_are_over_the_replications_in_which_it_happened():
    one = ScheduledRecord.of(journal(**TIMES), COMMITS)
    late = replace(one, commit_s=3.5, fragments=4)
    failed = replace(one, commit_s=nan, end_s=nan, error="1180 too large")
    other = replace(failed, error="1213 deadlock")
    mean = ScheduledRecord.mean([one, late, failed, other, failed])
    assert mean.duration_s == 2.25
    assert mean.visible_s == 4.0
    assert mean.fragments == 0.8
    assert mean.error == "1180 too large; 1213 deadlock"
    assert isnan(ScheduledRecord.mean([failed, other]).commit_s)


# ------------------------------------------------------------------- results --


@pytest.fixture(scope="module")
def streamed():
    """Two replications with fragments."""
    session = {"wsrep_trx_fragment_size": 100000}
    chosen = with_values(load(SCENARIO), {"workload.scheduled.0.session": session})
    return run(chosen, seed=1, replications=2)


def test_a_result_has_the_mean_of_its_replications_by_name(streamed):
    own = [record.scheduled[0] for record in streamed.runs]
    large = streamed.scheduled["large"]
    assert own[0].execution_s != own[1].execution_s
    assert large.execution_s == pytest.approx((own[0].execution_s + own[1].execution_s) / 2)
    assert large.fragments == 20


def test_the_dict_holds_what_follows_too(streamed):
    content = json.loads(json.dumps(streamed.to_dict(), allow_nan=False))["scheduled"]["large"]
    large = streamed.scheduled["large"]
    assert content["execution_s"] == large.execution_s
    assert content["visible_s"] == large.visible_s
    assert content["stall_began_s"] is None


def test_a_result_without_scheduled_transactions_does_not_speak_of_them():
    plain = run({"cluster": {"model": "galera"}, "workload": {"queries": 10}})
    assert "scheduled" not in plain.to_dict()
    assert "cheduled" not in str(plain)


def test_datasets_reach_its_figures_by_path(streamed):
    setup = setup_of(load(streamed.scenario))
    paths = ["scheduled.large.execution_s", "scheduled.large.fragments"]
    [[figures, _]] = simulate_cells([setup], paths, 2, 1)
    own = streamed.runs[0].scheduled[0]
    assert figures == (own.execution_s, 20.0)
    with pytest.raises(ScenarioError, match="execution_s"):
        next(simulate_cells([setup], ["scheduled.large.exection_s"], 1, 1))


def test_the_tables_show_how_it_went(streamed):
    text = str(streamed)
    assert "Scheduled transactions" in text
    [row] = [line.split() for line in text.splitlines() if line.split()[:2] == ["large", "n1"]]
    assert row[2:4] == ["20,000", "2"]
    assert row[-1] == "20"
    assert "Commits of all others meanwhile" in text


def test_the_tables_show_why_it_failed():
    chosen = with_values(load(SCENARIO), {"cluster.options.wsrep_max_ws_size": 2000})
    result = run(chosen)
    assert isnan(result.scheduled["large"].duration_s)
    error = result.scheduled["large"].error
    assert error.startswith("1180")
    assert f"large   {error}" in str(result)
    assert "Why they failed" not in str(run(SCENARIO))


def test_the_digest_sees_it(streamed):
    large = replace(streamed.scheduled["large"], fragments=21)
    assert replace(streamed, scheduled={"large": large}).digest() != streamed.digest()


# --------------------------------------------------------------------- marks --


def test_throughput_is_drawn_with_its_marks(streamed):
    _, right = streamed.plot().axes
    large = streamed.scheduled["large"]
    labels = ", ".join(text.get_text() for text in right.texts).split(", ")
    assert sorted(labels) == ["begin", "commit", "end", "replicate"]
    places = {line.get_xdata()[0] for line in right.lines if len(set(line.get_xdata())) == 1}
    assert {large.begin_s, large.commit_s} <= places


@pytest.mark.parametrize("end", [0.011, 0.05, 0.3, 0.97, 1.0])
def test_names_of_marks_do_not_overlap(end):
    marks = [("begin", 0.0), ("replicate", 0.01), ("commit", 0.93 * end), ("end", end)]
    with styled():
        figure = Sheet(5.0, 3.0)
        axes = figure.subplots()
        axes.set_xlim(-0.1, 1.0)
        draw_marks(axes, marks, width_in=4.2, top=0.97)
        FigureCanvasAgg(figure).draw()
        boxes = [text.get_window_extent() for text in axes.texts]
        inside = axes.get_window_extent()
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 + 1.0 for box in boxes)
    words = ", ".join(text.get_text() for text in axes.texts).split(", ")
    assert sorted(words) == ["begin", "commit", "end", "replicate"]
