"""Datasets of failures: figures of a run whose course is known, and what is right."""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from simrep import ScenarioError, load_dataset, reproduce, validate
from simrep.data.definition import FailuresTable
from simrep.data.failure_metrics import failure_figures
from simrep.data.failure_run import Experiment, Group
from simrep.data.failures import FailureCell, attainable, judged
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import Attempts
from simrep.runs.replication import simulate
from simrep.scenario import load
from simrep.show.plot.failures import plot_failures
from simrep.show.views import console, tables
from tests.legible import problems

WRITERS = Group("A", 0, reads=False, moves=False)
MOVING = Group("B", 2, reads=False, moves=True)
READER = Group("R3", 2, reads=True, moves=False)
EXPERIMENT = Experiment(
    names=("n1", "n2", "n3"),
    victim=2,
    inject_s=10.0,
    back_s=20.0,
    end_s=30.0,
    groups=(WRITERS, MOVING, READER),
    watched=frozenset({0, 1}),
)
NAMES, TEXTS = ("A", "B", "R3"), ("", "1180 not connected", "1047 not prepared")
# Group, node, end and latency in seconds, error.
COURSE = [
    *((0, 0, at_s, 0.1, 0) for at_s in (5.0, 6.0, 7.0, 8.0, 9.0, 10.2)),
    (2, 2, 15.0, 0.01, 0),
    (1, 2, 16.1, 6.0, 1),
    (1, 2, 16.3, 0.02, 2),
    (2, 2, 16.4, 0.01, 2),
    (0, 0, 16.5, 6.4, 0),
    (1, 0, 17.0, 0.1, 0),
    (0, 0, 19.0, 0.1, 0),
    (0, 0, 22.0, 0.1, 0),
    (0, 0, 22.5, 0.1, 0),
    (2, 2, 24.0, 0.01, 0),
]
NOTED = [
    Noted(13.1, 0, "link-closed", (2,)),
    Noted(15.2, 1, "suspect", (2,)),
    Noted(15.7, 0, "suspect", (2,)),
    Noted(16.2, 2, "stable", (2,)),
    Noted(16.2, 2, "non-primary", (2,)),
    Noted(16.4, 1, "stable", (0, 1)),
    Noted(16.5, 1, "primary", (0, 1)),
    Noted(21.5, 2, "link-open", (0,)),
    Noted(22.0, 2, "stable", (0, 1, 2)),
    Noted(22.2, 2, "primary", (0, 1, 2)),
    Noted(22.3, 1, "donor", (2,), "IST"),
    Noted(22.4, 2, "joiner", (1,), "IST"),
    Noted(23.0, 2, "joined"),
    Noted(23.5, 2, "synced"),
]
EXPECTED = {
    "stall_survivors_s": 6.3,
    "stall_begins_after_inject_s": 0.2,
    "stall_ends_after_inject_s": 6.5,
    "max_latency_survivors_s": 6.4,
    "tput_before_tps": 1.0,
    "tput_while_silent_tps": 2 / 3,
    "acked_n": 11.0,
    "failover_first_commit_elsewhere_after_inject_s": 7.0,
    "stall_survivors_after_heal_s": 7.5,
    "first_suspect_log_after_inject_s": 5.2,
    "first_suspect_on_n1_s": 5.7,
    "link_closed_on_n1_s": 3.1,
    "first_declaring_stable_on_n2_s": 6.4,
    "first_declaring_stable_on_n3_s": 12.0,  # alone in a view, it declares nobody stable
    "view_change_after_inject_s": 6.5,
    "victim_non_primary_after_inject_s": 6.2,
    "err_B_n3_1180_max_wait_s": 6.0,
    "err_B_n3_1180_first_after_inject_s": 6.1,
    "err_B_n3_1047_n": 1.0,
    "reads_on_n3_ok_until_s": 5.0,
    "reads_on_n3_failed_n": 1.0,
    "reads_on_n3_ok_again_s": 14.0,
    "reads_on_n3_ok_after_heal_before_first_error_s": 0.0,
    "link_open_after_back_s": 1.5,
    "rejoin_primary_view_after_s": 2.2,
    "primary_view_after_connect_s": 0.7,
    "rejoin_joined_after_s": 3.0,
    "rejoin_synced_after_heal_s": 3.5,
    "rejoin_ist_n": 1.0,
    "full_sst_n": 0.0,
    "donor_n": 2.0,
    "ist_writesets_n": 5.0,
    "rejoining_longest_gap_s": 2.0,
}


@pytest.fixture(scope="module")
def run():
    """A run with the course of this test."""
    empty = simulate(load({"cluster": {"model": "standalone"}, "workload": {"queries": 1}}), seed=1)
    group, node, ended_s, latency_s, error = map(np.array, zip(*COURSE, strict=True))
    attempts = Attempts(
        groups=NAMES,
        nodes=EXPERIMENT.names,
        texts=TEXTS,
        began_s=ended_s - latency_s,
        ended_s=ended_s,
        group=group,
        node=node,
        error=error,
        writes=group != 2,
        connecting=np.zeros(len(COURSE), bool),
        end_s=EXPERIMENT.end_s,
    )
    return replace(empty, noted=tuple(NOTED), attempts=attempts)


def test_figures_of_a_run(run):
    figures, codes = failure_figures(run, EXPERIMENT)
    assert {name: figures[name] for name in EXPECTED} == pytest.approx(EXPECTED)
    assert codes == {"B n3 1180", "B n3 1047", "R3 n3 1047"}


def test_what_did_not_happen_has_no_figure(run):
    figures, _ = failure_figures(replace(run, noted=()), EXPERIMENT)
    assert not {"view_change_after_inject_s", "donor_n", "rejoining_tps"} & figures.keys()


REMOVAL = Experiment(
    names=("n1", "n2", "n3"),
    victim=0,
    inject_s=10.0,
    back_s=20.0,
    end_s=30.0,
    groups=(Group("A", 0, reads=False, moves=False), Group("B", 1, reads=False, moves=False)),
    watched=frozenset({1}),
)
REMOVED = [
    Noted(0.0, 1, "primary", (0, 1, 2)),
    Noted(15.2, 2, "suspect", (0,)),
    Noted(15.4, 1, "suspect", (0,)),
    Noted(15.5, 0, "suspect", (1, 2)),
    Noted(17.0, 1, "expel", (0,)),
    Noted(17.3, 1, "stable", (1, 2)),
    Noted(18.0, 2, "primary", (1, 2)),
    Noted(18.0, 2, "elected", (1,)),
    Noted(18.1, 1, "primary", (1, 2)),
    Noted(18.1, 1, "elected", (1,)),
    Noted(18.2, 1, "writable"),
    Noted(21.0, 0, "primary", (0, 1, 2)),  # it has heard of them, and knows nothing yet
    Noted(22.0, 0, "evicted"),
    Noted(22.0, 0, "rejoin", (), "1 of 3"),
    Noted(22.5, 1, "stable", (1, 2, 0)),
    Noted(24.0, 1, "primary", (1, 2, 0)),
    Noted(24.1, 0, "primary", (1, 2, 0)),
    Noted(26.0, 0, "synced"),
]
REMOVAL_COURSE = [
    *((0, 0, at_s, 0.1, 0) for at_s in (9.0, 10.05, 10.2)),
    (1, 1, 11.0, 0.01, 1),
    (1, 1, 18.3, 0.1, 0),
    (1, 1, 18.7, 0.1, 0),
    (1, 1, 19.5, 0.3, 0),
    (0, 0, 22.1, 11.0, 1),
    (1, 1, 22.7, 0.2, 0),
    (1, 1, 23.2, 0.4, 0),
]
REMOVAL_EXPECTED = {
    "unreachable_logged_after_inject_s": 5.2,
    "victim_unreachable_after_inject_s": 5.4,
    "victim_sees_others_unreachable_after_inject_s": 5.6,  # sampled every 0.2 s
    "expel_pushed_after_inject_s": 7.0,
    "expel_after_unreachable_s": 1.6,
    "removed_logged_after_inject_s": 8.0,
    "victim_removed_after_inject_s": 8.2,
    "removed_after_unreachable_s": 2.7,
    "new_primary_n": 2.0,
    "new_primary_elected_after_inject_s": 8.2,
    "new_primary_super_read_only_off_after_inject_s": 8.2,
    "first_commit_on_new_primary_after_inject_s": 8.3,
    "first_commit_after_removed_s": 0.3,
    "victim_learns_it_was_expelled_after_heal_s": 2.0,
    "victim_state_error_after_inject_s": 12.0,
    "first_autorejoin_after_heal_s": 2.0,
    "autorejoin_attempts_n": 1.0,
    "add_node_after_back_s": 2.5,
    "joined_after_back_s": 4.0,
    "joining_seconds_s": 1.5,
    "victim_recovering_after_heal_s": 4.0,
    "victim_recovering_after_inject_s": 14.2,
    "rejoin_online_after_heal_s": 6.0,
    "degraded_tps": 0.0,
    "joining_tps": 2 / 1.5,
    "joining_longest_gap_s": 0.8,
    "joining_latency_max_ms": 400.0,
    "after_removal_tps": 2 / 1.5,
    "victim_commits_in_silence_n": 1.0,
    "victim_writers_last_commit_before_heal_after_inject_s": 0.2,
    "err_A_n1_3100_max_wait_s": 11.0,
}


def test_figures_of_a_member_that_is_removed_while_the_others_go_on(run):
    group, node, ended_s, latency_s, error = map(np.array, zip(*REMOVAL_COURSE, strict=True))
    attempts = Attempts(
        groups=("A", "B"),
        nodes=REMOVAL.names,
        texts=("", "3100 no"),
        began_s=ended_s - latency_s,
        ended_s=ended_s,
        group=group,
        node=node,
        error=error,
        writes=np.ones(len(error), bool),
        connecting=np.array([place == 3 for place in range(len(error))]),
        end_s=REMOVAL.end_s,
    )
    course = replace(run, noted=tuple(REMOVED), attempts=attempts)
    figures, codes = failure_figures(course, REMOVAL)
    assert {name: figures[name] for name in REMOVAL_EXPECTED} == pytest.approx(REMOVAL_EXPECTED)
    assert codes == {"A n1 3100", "B n2 3100 connect"}


def test_who_is_not_removed_is_back_with_the_majority(run):
    course = replace(run, noted=(Noted(24.0, 0, "primary", (0, 1, 2)),))
    figures, _ = failure_figures(course, REMOVAL)
    assert figures["rejoin_online_after_heal_s"] == pytest.approx(4.0)
    assert not {"removed_logged_after_inject_s", "joined_after_back_s"} & figures.keys()


TABLE = FailuresTable(
    processors=("*/tput_*",),
    slow_phases=("*/slow_*",),
    distributions=("G1/freeze_s", "G2 */freeze_s"),
)


@pytest.mark.parametrize(
    ("metric", "measured", "simulated", "right"),
    [
        ("stall_s", (6.0, 6.2, 6.4), [6.4, 6.45, 6.5], True),  # 5 % of 6.2 s
        ("stall_s", (6.0, 6.2, 6.4), [6.5, 6.55, 6.6], False),
        ("link_s", (0.02,), [0.16], True),  # 0.15 s
        ("link_s", (0.02,), [0.18], False),
        ("wait_ms", (20.0,), [160.0], True),
        ("donor_n", (2.0,), [2.0], True),
        ("donor_n", (2.0,), [3.0], False),
        ("tput_a_tps", (100.0,), [124.0], True),
        ("tput_a_tps", (100.0,), [126.0], False),
        ("slow_ms", (1.0,), [1.24], True),
        ("slow_ms", (1.0,), [1.26], False),
        ("freeze_s", (0.5, 1.0, 2.0), [0.4, 1.0, 2.1], True),
        ("freeze_s", (0.5, 1.0, 2.2), [0.4, 1.0, 2.1], False),  # one beyond the range
    ],
)
def test_what_is_right(metric, measured, simulated, right):
    unit = {"s": "s", "ms": "ms"}.get(metric.rpartition("_")[2], "")
    cell = FailureCell("G1", {}, {}, 3, {metric: measured}, {metric: unit})
    [figure], _ = judged(TABLE, cell, [({metric: value}, frozenset()) for value in simulated])
    assert figure.right is right
    kinds = {"tput": "processors", "slow": "slow phases"}
    assert figure.decided_by == kinds.get(metric.partition("_")[0], "timers")


def test_a_dataset_may_tolerate_more_of_timers():
    cell = FailureCell("R1", {}, {}, 1, {"a_s": (1.0,)}, {"a_s": "s"})
    samples = [({"a_s": 1.2}, frozenset())]
    [strict], _ = judged(TABLE, cell, samples)
    [lenient], _ = judged(FailuresTable(tolerance_s=0.25), cell, samples)
    assert (strict.right, lenient.right) == (False, True)


def test_an_exact_simulation_misses_medians_of_a_few_runs():
    cell = FailureCell("G1", {}, {}, 1, {"a_s": (1.0,), "b_s": (1.0,)}, {"a_s": "s", "b_s": "s"})
    # Every third run takes a step more; all take as long for the rest.
    samples = [({"a_s": 1.0 + (i % 3 == 0), "b_s": 1.0}, frozenset()) for i in range(9)]
    assert attainable(TABLE, cell, samples) == pytest.approx(2 - 1 / 3)
    assert isnan(attainable(TABLE, cell, samples[:1])), "nothing is left to compare with"


def test_a_figure_that_most_runs_lack_is_missed():
    cell = FailureCell("G1", {}, {}, 1, {"a_s": (1.0,)}, {"a_s": "s"})
    samples = [({"a_s": 1.0}, frozenset()), ({}, frozenset()), ({}, frozenset())]
    [figure], _ = judged(TABLE, cell, samples)
    assert isnan(figure.predicted)
    assert not figure.right


@pytest.mark.parametrize(
    ("met", "right"),
    [(["A n1 1180"], True), (["A n1 1047"], False), (["A n1 1180", "A n1 1047"], False)],
)
def test_errors_are_right_if_they_are_the_same(met, right):
    cell = FailureCell("G1", {}, {}, 1, {"err_A_n1_1180_n": (4.0,)}, {"err_A_n1_1180_n": ""})
    _, codes = judged(TABLE, cell, [({}, frozenset(met))])
    assert codes.right is right


DATASET = """
title = "A node is stopped"
source = "made up"
replications = 2

[failures]
phase_s = 0.1
processors = ["*/tput_*"]

[factors.settings]
at.long = { "fault.0.until_s" = 0.7 }

[[series]]
name = "pause"
title = "SIGSTOP"
scenario = "pause.toml"
where = { experiment = "pause" }
"""
SCENARIO = """
[cluster]
model = "galera"
nodes = 2

[workload]
think_time_ms = 5

[[workload.group]]
name = "A"
node = "n1"
threads = 1

[[fault]]
what = "pause"
node = "n2"
at_s = 0.3
until_s = 0.5

[run]
duration_s = 1.0
"""
DATA = """experiment,settings,run,metric,value,unit
pause,short,1,stall_survivors_s,0.2,s
pause,long,1,stall_survivors_s,0.41,s
pause,long,2,stall_survivors_s,0.39,s
pause,long,1,tput_before_tps,1.0,1/s
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "pause.toml").write_text(SCENARIO)
    (tmp_path / "data.csv").write_text(DATA)
    return tmp_path


def test_a_dataset_of_failures_is_simulated(folder):
    result = reproduce(folder)
    assert result.failure_scores.timers == (2, 2)
    assert result.failure_scores.processors == (0, 1)
    assert result.to_dict()["failures"][0]["measured"] == [0.2]
    out = console(width=160)
    with out.capture() as caught:
        out.print(tables(result))
    printed = caught.get()
    assert "2 of 2 (100 %) figures that timers decide" in printed
    assert "tput_before_tps" in printed.partition("pause, short")[0], "missed ones come first"
    assert not problems(plot_failures(result.failures, title="a"))
    with pytest.raises(ScenarioError, match="states failures and no measured cells"):
        validate([folder])


def test_what_a_dataset_of_failures_may_not_say(folder):
    (folder / "data.csv").write_text(DATA.replace("0.41", "soon"))
    with pytest.raises(ScenarioError, match="value must be a number, given 'soon'"):
        load_dataset(folder)
    (folder / "data.csv").write_text(DATA)
    other = DATASET.replace('experiment = "pause"', 'experiment = "kill"')
    (folder / "dataset.toml").write_text(other)
    with pytest.raises(ScenarioError, match="has no rows for series 'pause'"):
        load_dataset(folder)
