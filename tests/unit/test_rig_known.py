"""Which figures further repetitions are for: continuous ones whose mean is not known to a tenth."""

import pytest

from simrep.rig.experiment import Experiment
from simrep.rig.journal import Entry
from simrep.rig.known import is_known, uncertainty, unknown_figures


def made_up(load, **changes):
    content = {
        "title": "Made up",
        "question": "?",
        "system": [{"name": "s", "product": "galera"}],
        "layout": [{"name": "lan"}],
        "load": [{"name": "l", **load}],
        "grid": [{"system": "s", "layout": "lan", "load": "l"}],
    }
    return Experiment.model_validate(content | changes)


def unknown(load, *runs):
    """Of runs with these figures."""
    [(cell, _)] = made_up(load).cells()
    rows = [
        Entry(f"r{number}", 1, own, (), {}, {"figures": own}) for number, own in enumerate(runs, 1)
    ]
    return unknown_figures(cell, rows)


KILLED = {"duration_s": 9.0, "fault": [{"what": "kill", "node": "n3", "at_s": 1.0}]}


@pytest.mark.parametrize(
    ("figure", "values"),
    [
        ("stall_survivors_s", (6.0, 6.1, 6.2)),
        ("stall_ends_after_inject_s", (0.001, 0.004, 0.009)),  # near zero: a moment
        ("acked_n", (100.0, 900.0)),  # a count
        ("loadavg_start", (1.0, 9.0)),  # nothing that is measured
        ("stall_survivors_while_rejoining_s", (0.5, 1.5)),  # so many periods of a timer
        ("rejoining_latency_max_ms", (500.0, 1500.0)),
    ],
)
def test_figures_that_are_known_counted_or_have_modes_need_no_further_run(figure, values):
    assert not unknown(KILLED, *({figure: value} for value in values))


@pytest.mark.parametrize(
    ("figure", "values"),
    [
        ("stall_survivors_s", (6.0, 9.0)),
        ("restart_total_s", (5.0,)),  # one alone tells nothing
        ("tput_after_tps", (900.0, 1400.0, 1000.0)),
        ("before_latency_median_ms", (0.9, 1.0)),  # a latency is no moment
    ],
)
def test_figures_that_scatter_need_further_runs(figure, values):
    assert unknown(KILLED, *({figure: value} for value in values)) == [figure]


def test_loads_without_faults_have_their_metrics():
    runs = [
        {"seconds": seconds, "p50_s": seconds / 9, "p99_s": seconds, "failed": failed,
         "committed": 99, "lasted_s": seconds}
        for seconds, failed in ((1.0, 1), (2.0, 9))
    ]  # fmt: skip
    # Of 99 transactions one lies beyond the 99th percentile: it is no metric.
    assert unknown({"transactions": 99}, *runs) == ["seconds", "p50_s"]


def test_a_mean_is_known_by_its_interval():
    assert uncertainty([1.0]) is None
    assert uncertainty([2.0, 2.0, 2.0]) == 0.0
    assert uncertainty([-1.0, 1.0]) is None  # no share of a mean of 0
    # Student's t of 2 degrees of freedom is 4.303: 4.303 * 0.1 / sqrt(3) of 1.
    assert uncertainty([0.9, 1.0, 1.1]) == pytest.approx(0.2484, abs=1e-4)
    assert not is_known([0.9, 1.0, 1.1], moment=False)
    assert is_known([0.0, 0.0], moment=False)


def test_there_are_at_least_as_many_repetitions_as_planned():
    load = {"transactions": 9}
    with pytest.raises(ValueError, match="must be at least 3"):
        made_up(load, most_repetitions=2)
    one = made_up(load, repetitions=2, most_repetitions=4)
    assert [len(one.runs()), len(one.runs(most=True))] == [2, 4]
    assert len(one.part(repetitions=1).runs(most=True)) == 1
