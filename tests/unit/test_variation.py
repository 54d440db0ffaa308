"""Load that varies: courses of a rate or of clients, their tables and files, and reports."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError, ShortRunWarning
from simrep.kernel.streams import Streams
from simrep.scenario import load, with_values
from simrep.scenario.events import events
from simrep.workload.course import Burst, Course, Wave
from simrep.workload.workload import Loop, Think, Workload
from tests.stand_in import INSERT, played, workload_of

STEPS = Course(((0.0, 50.0), (10.0, 50.0), (10.0, 200.0), (20.0, 200.0), (30.0, 0.0)))
WAVE = Course(((0.0, 100.0),), Wave(20.0, 0.8, 5.0))
BURSTS = Course(((0.0, 20.0),), None, (Burst(3.0, 1.0, 10.0, 10.0), Burst(5.0, 2.0, 0.0)))
BOTH = Course(((0.0, 0.0), (20.0, 100.0)), Wave(10.0, 1.0, 0.0), (Burst(12.0, 3.0, 4.0),))


def times(course: Course, until_s: float, replication: int = 0) -> list[float]:
    streams = Streams(5, replication)
    arrivals = course.arrivals(streams.exponential("gap", 1.0), streams.uniform("thin"))
    return list(takewhile(lambda at_s: at_s < until_s, arrivals))


# ------------------------------------------------------------------ courses --
@pytest.mark.parametrize("course", [STEPS, WAVE, BURSTS, BOTH])
def test_arrivals_have_the_rate_of_their_course(course: Course) -> None:
    edges = [0.5 * step for step in range(81)]
    counts = [0] * 80
    runs = 20
    for replication in range(runs):
        for at_s in times(course, 40.0, replication):
            counts[int(at_s / 0.5)] += 1
    for count, mean in zip(counts, course.means(edges), strict=True):
        expected = runs * 0.5 * mean
        # Six standard deviations of a Poisson count (320 of them: a false alarm in a million).
        assert abs(count - expected) <= 6.0 * expected**0.5 + (6.0 if expected else 0.0)


@pytest.mark.parametrize("course", [STEPS, WAVE, BURSTS, BOTH])
def test_means_are_integrals(course: Course) -> None:
    fine = course.means([0.01 * step for step in range(4001)])
    for begin in (0, 123, 1999, 3500):
        end = min(begin + 777, 4000)
        (coarse,) = course.means([0.01 * begin, 0.01 * end])
        assert coarse == pytest.approx(sum(fine[begin:end]) / (end - begin), rel=1e-6, abs=1e-9)
    assert max(fine) <= course.peak


def test_a_stream_that_dries_up_ends() -> None:
    assert len(times(STEPS, float("inf"))) > 1000
    endless = Course(((0.0, 50.0), (1.0, 0.0)), None, (Burst(0.0, 0.1, 3.0, 0.5),))
    assert times(endless, float("inf"))[-1] < 1.0


def test_counts_are_the_whole_numbers_next_to_the_course() -> None:
    course = Course(((0.0, 2.0), (10.0, 2.0), (14.0, 6.0), (20.0, 6.0), (20.0, 1.0)))
    assert list(course.counts()) == [
        (0.0, 2), (10.0, 2), (10.5, 3), (11.5, 4), (12.5, 5), (13.5, 6), (14.0, 6), (20.0, 1),
    ]  # fmt: skip
    wave = takewhile(lambda pair: pair[0] <= 20.0, WAVE.counts())
    assert [number for at_s, number in wave if at_s in {5.0, 15.0}] == [180, 20]


# ------------------------------------------------------------------ clients --
def test_clients_come_connect_and_leave_after_their_transaction() -> None:
    course = Course(((0.0, 1.0), (5.0, 1.0), (5.0, 3.0), (8.05, 3.0), (8.05, 1.0), (12.0, 1.0),
                     (12.0, 2.0)))  # fmt: skip
    workload = Workload(INSERT, loops=(Loop((0, 1, 0), course=course),))
    clients, server, recorder = played(workload, until=15.0)
    assert recorder.opens == [0.0, 5.0, 5.0, 12.0]
    assert server.connected == [0, 1, 0, 1]
    busy = {
        client: [start for start, who, _ in server.starts if who == client] for client in range(3)
    }
    assert len(busy[0]) == pytest.approx(140, abs=1)  # from 1 s on, each takes 0.1 s
    assert min(busy[1]) == min(busy[2]) == pytest.approx(6.0)  # connecting takes a second
    assert max(busy[2]) == pytest.approx(8.0)  # it has begun before it is to leave, and ends
    assert not [start for start in busy[1] if 8.05 < start < 13.0]
    assert len([start for start in busy[1] if start >= 12.99]) == pytest.approx(20, abs=1)
    assert clients.submitted == len(server.starts)


def test_a_client_that_pauses_leaves_at_once() -> None:
    course = Course(((0.0, 1.0), (3.0, 1.0), (3.0, 0.0)))
    workload = Workload(INSERT, loops=(Loop((0,), course=course),), think=Think("constant", 1.5))
    _, server, _ = played(workload, until=20.0)
    assert [start for start, *_ in server.starts] == pytest.approx([2.5])


def test_other_clients_draw_what_they_drew_without_a_course() -> None:
    plain, varied = Loop((0, 0)), Loop((1,), course=Course(((0.0, 1.0),)))
    alone = played(Workload(INSERT, loops=(plain,), think=Think("exponential", 0.3)), until=9.0)
    beside = played(
        Workload(INSERT, loops=(plain, varied), think=Think("exponential", 0.3)), until=9.0
    )
    assert alone[1].starts == [start for start in beside[1].starts if start[1] < 2]


# ------------------------------------------------------------------- tables --
def scenario(variation: dict[str, Any], **tables: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "cluster": {"model": "standalone", "nodes": 1},
        "workload": {"variation": variation},
        "run": {"duration_s": 0.4, "interval_s": 0.1},
    }
    return {name: {**base.get(name, {}), **table} for name, table in {**base, **tables}.items()}


DAY = {
    "phase": [
        {"name": "night", "at_s": 0.0, "rate_tps": 300.0},
        {"name": "day", "at_s": 0.2, "rate_tps": 900.0, "ramp_s": 0.1},
    ]
}


def test_tables_become_courses() -> None:
    day = {**DAY, "time_scale": 2.0, "wave": {"period_s": 8.0, "amplitude": 0.5},
           "burst": [{"at_s": 1.0, "for_s": 0.5, "factor": 3.0}]}  # fmt: skip
    (first, second, third) = workload_of({"variation": day, "nodes": ["*"]}).arrivals
    assert (first.node, second.node, third.node) == (0, 1, 2)
    assert (
        first.course
        == second.course
        == Course(
            ((0.0, 0.0), (0.0, 0.0), (0.0, 100.0), (0.1, 100.0), (0.15000000000000002, 300.0)),
            Wave(4.0, 0.5, 1.0),
            (Burst(0.5, 0.25, 3.0),),
            ((0.0, "night"), (0.1, "day")),
        )
    )
    assert first.rate_tps == first.course.peak == 1350.0

    crowd = {"phase": [{"at_s": 5.0, "threads": 7}]}
    (loop,) = workload_of({"variation": crowd, "threads": 2, "nodes": ["*"]}).loops
    assert loop.nodes == (0, 1, 2, 0, 1, 2, 0)
    assert loop.course == Course(
        ((0.0, 2.0), (5.0, 2.0), (5.0, 7.0)), None, (), ((5.0, "phase 1"),)
    )


def test_groups_vary_on_their_own() -> None:
    groups = [
        {"node": "n1", "rate_tps": 5.0},
        {"node": "n1", "variation": {"phase": [{"at_s": 0.0, "rate_tps": 9.0}]}},
    ]
    steady, varied = workload_of({"group": groups}).arrivals
    assert (steady.course, steady.rate_tps) == (None, 5.0)
    assert varied.course is not None
    assert varied.rate_tps == 9.0


@pytest.mark.parametrize(
    ("workload", "path", "words"),
    [
        ({"variation": {}, "threads": 2}, "variation", "varies nothing"),
        ({"variation": DAY, "rate_tps": 5.0}, "rate_tps", "has no effect"),
        ({"variation": DAY, "threads": 5}, "variation.phase", "gives rate_tps"),
        ({"variation": {"wave": {"period_s": 1.0, "amplitude": 0.5}}}, "variation", "at the begin"),
        ({"variation": DAY, "queries": 5}, "queries", "a load that varies"),
        ({"variation": DAY, "group": [{"node": "n1", "threads": 1}]}, "variation", "the groups"),
        ({"variation": {"phase": [{"at_s": 0.0, "rate_tps": 0.0}]}}, "variation.phase", "any load"),
        (
            {"variation": {"phase": [*DAY["phase"], {"at_s": 0.25, "rate_tps": 1.0}]}},
            "variation.phase.2.at_s",
            "order of time",
        ),
        (
            {"variation": {"phase": [{"at_s": 0.0}]}},
            "variation.phase.0",
            "rate_tps (open loop) or threads",
        ),
        ({"variation": {**DAY, "shape": "linear"}}, "variation.shape", "is for a file"),
        (
            {"threads": 2, "variation": {"burst": [{"at_s": 0, "for_s": 2, "factor": 2,
                                                    "every_s": 1}]}},
            "variation.burst.0.every_s",
            "above for_s",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(workload: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        workload_of(workload)
    assert refused.value.path == f"workload.{path}"
    assert words in str(refused.value)


# -------------------------------------------------------------------- files --
def test_a_file_is_read_beside_the_scenario_and_kept(tmp_path: Any) -> None:
    (tmp_path / "day.csv").write_text("\ufefftime, rate_tps\n06:00, 200\n06:02, 800\n06:04,100\n")
    (tmp_path / "one.toml").write_text(
        '[cluster]\nmodel = "standalone"\nnodes = 1\n[run]\nduration_s = 0.24\n'
        '[workload.variation]\nfile = "day.csv"\ntime_scale = 1000\n'
    )
    one = load(tmp_path / "one.toml")
    (stream,) = one.workload.workload(one.node_names).arrivals
    assert stream.course is not None
    assert stream.course.knots == (
        (0.0, 0.0), (0.0, 0.0), (0.0, 200.0), (0.12, 200.0), (0.12, 800.0), (0.24, 800.0),
        (0.24, 100.0),
    )  # fmt: skip
    assert 'file = "day.csv"' in one.to_toml()
    linear = with_values(one, {"workload.variation.shape": "linear"})
    (stream,) = linear.workload.workload(one.node_names).arrivals
    assert stream.course is not None
    assert stream.course.means([0.0, 0.12, 0.24]) == pytest.approx([500.0, 450.0])

    result = simrep.run(one)
    (tmp_path / "day.csv").unlink()
    assert simrep.run(result.scenario).digest() == result.digest()
    with pytest.raises(ScenarioError, match=r"'day\.csv' cannot be read"):
        load(tmp_path / "one.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time_s,rate_tps\n0,1\n0,2\n", "line 3: its time is not after 0 s"),
        ("time_s,rate_tps\n0,x\n", "line 2: rate_tps is 'x', not a number"),
        ("time_s,rate_tps\n0,nan\n", "line 2"),
        ("time_s,threads\n0,1.5\n", "not a whole number"),
        ("time_s,threads\n0\n", "line 2: 1 fields, the first line has 2"),
        ("time,rate_tps\nnoon,1\n", "a time such as 18:30"),
        ("time_s,rate\n0,1\n", "did you mean 'rate_tps'?"),
        ("time_s;rate_tps\n0;1\n", "separate columns by commas"),
        ("time_s\n0\n", "one column of times and one of loads"),
        ("", "and has none"),
        ("time_s,rate_tps\n", "has no rows"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Any, text: str, words: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ScenarioError) as refused:
        load(scenario({"file": str(tmp_path / "bad.csv")}))
    assert refused.value.path == "workload.variation.file"
    assert words in str(refused.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Any) -> None:
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="is not UTF-8 text"):
        load(scenario({"file": str(tmp_path / "bad.csv")}))
    with pytest.raises(ScenarioError, match="cannot be combined with phase"):
        load(scenario({"file": "bad.csv", **DAY}))


# ------------------------------------------------------------------ results --
def test_a_run_reports_phase_by_phase() -> None:
    bursting = {**DAY, "burst": [{"name": "sale", "at_s": 0.1, "for_s": 0.05, "factor": 2.0}]}
    result = simrep.run(scenario(bursting, run={"replications": 3}), seed=3)
    load_ = result.load
    assert load_ is not None
    assert [(one.name, one.from_s, one.to_s) for one in load_.periods] == [
        ("night", 0.0, 0.1),
        ("night + sale", 0.1, 0.15000000000000002),
        ("night", 0.15000000000000002, 0.2),
        ("day", 0.2, 0.4),
    ]
    assert [one.rate_tps for one in load_.periods] == pytest.approx([300.0, 600.0, 300.0, 750.0])
    assert sum(one.committed for one in load_.periods) == pytest.approx(result.committed)
    assert sum(one.latency.count for one in load_.periods) == result.histogram.count
    for one in load_.periods:
        low, high = one.interval_tps
        assert low <= one.throughput_tps <= high
    assert load_.rate_tps == pytest.approx([300.0, 450.0, 600.0, 900.0])
    content = result.to_dict()["load"]
    assert content["rate_tps"] == pytest.approx([300.0, 450.0, 600.0, 900.0])
    assert content["periods"][1]["name"] == "night + sale"
    assert "night + sale" in str(result)
    assert "offered/s" in str(result)
    frame = result.to_pandas("periods")
    assert len(frame) == 12
    assert set(frame.columns) >= {"replication", "name", "rate_tps", "latency_p99_s"}
    assert "rate_tps" in result.to_pandas().columns


def test_a_load_without_phases_is_reported_in_equal_parts() -> None:
    wave = {"wave": {"period_s": 0.2, "amplitude": 1.0}}
    result = simrep.run(scenario(wave, workload={"threads": 4, "variation": wave}))
    assert result.load is not None
    assert result.load.what == "clients"
    assert len(result.load.periods) == 8
    assert max(result.load.clients) <= 8.0
    assert "clients" in str(result)
    with pytest.raises(ValueError, match="does not vary"):
        simrep.run(scenario({}, workload={"variation": None, "threads": 1})).to_pandas("periods")


@pytest.mark.parametrize("kind", ["rate_tps", "threads"])
def test_the_picture_has_what_was_offered(kind: str) -> None:
    phases = [{"at_s": at_s, kind: level} for at_s, level in ((0.0, 4), (0.2, 40))]
    figure = simrep.run(scenario({"phase": phases})).plot()
    names = [text.get_text() for axes in figure.axes if axes.get_legend()
             for text in axes.get_legend().get_texts()]  # fmt: skip
    assert ("offered" in names) == (kind == "rate_tps")
    assert any("clients" in axes.get_ylabel() for axes in figure.axes) == (kind == "threads")


def test_bursts_are_among_what_a_scenario_lets_happen() -> None:
    bursting = {
        **DAY,
        "time_scale": 2.0,
        "burst": [
            {"name": "sale", "at_s": 0.1, "for_s": 0.05, "factor": 2.5},
            {"name": "cron", "at_s": 0.0, "for_s": 0.01, "factor": 3.0, "every_s": 0.3},
        ],
    }
    result = simrep.run(scenario(bursting))
    told = [(one.what, one.how, one.at_s, one.until_s) for one in events(result.scenario)]
    assert told == [
        ("cron", "load 3x", 0.0, 0.005),
        ("sale", "load 2.50x", 0.05, pytest.approx(0.075)),
        ("cron", "load 3x", 0.15, pytest.approx(0.155)),
        ("cron", "load 3x", 0.3, pytest.approx(0.305)),
    ]
    texts = {text.get_text() for axes in result.plot().axes for text in axes.texts}
    assert any("sale" in text for text in texts)
    group = {"node": "n1", "threads": 2, "variation": {"burst": bursting["burst"][:1]}}
    content = scenario({}, workload={"variation": None, "group": [group]})
    (told_of_group,) = events(load(content))
    assert told_of_group.nodes == ("n1",)
    assert told_of_group.path == "workload.group.0.variation.burst.0"


def test_a_phase_after_the_end_is_told() -> None:
    late = {"phase": [*DAY["phase"], {"name": "evening", "at_s": 9.0, "rate_tps": 1.0}]}
    with pytest.warns(ShortRunWarning, match=r"'evening' of workload\.variation begins at 9 s"):
        simrep.run(scenario(late))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (simrep.sustainable_rate, "a sustained rate"),
        (lambda one: simrep.plan(one, "rate"), "the highest rate"),
        (lambda one: simrep.plan(one, "clients", objective="tps>=5"), "the number of clients"),
        (lambda one: simrep.run({**one, "run": {"duration_s": 1.0, "warmup": "auto"}}), "warmup_s"),
        (
            lambda one: simrep.run(
                {
                    **one,
                    "run": {"settle_s": 1.0},
                    "workload": {**one["workload"], "scheduled": [{"at_s": 0.1}]},
                }
            ),
            "run.settle_s",
        ),
    ],
)
def test_questions_about_the_long_run_are_refused(ask: Any, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        ask(scenario(DAY))


def test_it_has_no_closed_form() -> None:
    opinion = simrep.analytic(scenario(DAY))
    assert not opinion.holds
    assert any("load that varies" in reason for reason in opinion.reasons)


def test_precision_looks_for_no_warm_up() -> None:
    result = simrep.run(scenario(DAY), precision=0.9, most=10)
    assert result.scenario["run"]["warmup_s"] == 0.0
