"""Comparisons by common random numbers: pairs, intervals, words, and the command."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ExtrapolationWarning, ScenarioError, ShortRunWarning
from simrep.whatif.compare import FIGURES
from simrep.whatif.comparison import Comparison
from tests.legible import problems
from tests.whatif_scenarios import TOML, wan

THROUGHPUT = ("throughput_tps", "latency_s.mean")


def made_up(pairs, figures=THROUGHPUT, **about):
    """A comparison of given pairs of figures."""
    return Comparison.of(
        pairs,
        figures,
        confidence=0.95,
        labels=("A", "B"),
        seed=1,
        complete=True,
        scenarios=({}, {}),
        versions=({}, {}),
        **about,
    )


def spread(a, b, by=0.01, count=10):
    """Pairs around two values that vary together, and a little apart."""
    found = []
    for number in range(count):
        common = 1.0 + 10.0 * by * (number % 5 - 2)
        own = 1.0 + by * (number % 3 - 1)
        found.append(
            (tuple(value * common for value in a), tuple(value * common * own for value in b))
        )
    return found


# -- pairs ---------------------------------------------------------------------------------------


def test_a_pair_is_the_same_replication_of_both():
    a, b = wan(), wan({"network.rtt_ms": 25.0})
    found = simrep.compare(a, b, figures=THROUGHPUT, replications=3, seed=5)
    for side, scenario in enumerate((a, b)):
        alone = simrep.run(scenario, seed=5, replications=3)
        values = [pair[side] for pair in found["throughput_tps"].values]
        assert values == [one.measurement.throughput_tps for one in alone.runs]


def test_a_scenario_beside_itself_does_exactly_the_same():
    found = simrep.compare(wan(), wan(), figures=THROUGHPUT, replications=3)
    assert found["throughput_tps"].difference.mean == 0.0
    assert not found["throughput_tps"].different
    assert found.verdict == "A and B do exactly the same."


def test_farther_nodes_commit_less():
    found = simrep.compare(wan(), wan({"network.rtt_ms": 40.0}), figures=THROUGHPUT, replications=4)
    ratio = found["throughput_tps"].ratio
    assert 0.4 < ratio.mean < 0.6  # two round trips of 20 ms are one of 40
    assert ratio.low < ratio.mean < ratio.high < 0.8
    assert "B commits" in found.verdict
    assert "fewer transactions" in found.verdict
    assert "higher" in found.verdict  # its latency


def test_processes_and_threads_give_the_same_result():
    a, b = wan(), wan({"network.rtt_ms": 25.0})
    alone = simrep.compare(a, b, figures=THROUGHPUT, replications=4)
    with ThreadPoolExecutor(2) as pool:
        together = simrep.compare(a, b, figures=THROUGHPUT, replications=4, executor=pool)
    assert together.to_dict() == alone.to_dict()


@pytest.fixture
def soon_enough(monkeypatch):
    """Few transactions are enough."""
    monkeypatch.setattr("simrep.runs.pilot._ENOUGH", 50)
    monkeypatch.setattr("simrep.runs.pilot._BEYOND", 1)


def test_runs_are_as_long_as_the_answer_needs_and_the_note_says_so(soon_enough):
    long = {"run.duration_s": 10.0, "workload.threads": 2}
    a, b = (wan({"network.rtt_ms": rtt, **long}) for rtt in (10.0, 40.0))
    found = simrep.compare(a, b, figures=THROUGHPUT)
    assert found.clear
    assert found.pairs < found.most
    assert [one["run"]["duration_s"] for one in found.scenarios] == [2.5, 2.5]
    assert "measured 2.5 s of the 10 s asked for" in found.note
    quick = simrep.compare(a, b, figures=THROUGHPUT, quick=True)
    assert (quick.pairs, quick.most) == (4, 4)
    assert [one["run"]["duration_s"] for one in quick.scenarios] == [2.0, 2.0]
    assert quick["throughput_tps"].different
    whole = simrep.compare(a, b, figures=("stall_max_s",), replications=2)
    assert whole.scenarios[0]["run"]["duration_s"] == 10.0
    assert whole.asked_s is None


def test_a_first_look_at_a_run_or_sweep_is_short_and_has_an_interval(soon_enough):
    long = wan({"network.rtt_ms": 10.0, "run.duration_s": 40.0, "workload.threads": 2})
    found = simrep.run(long, quick=True)
    assert found.replications == 4
    assert found.scenario["run"]["duration_s"] < 10.0
    [point] = simrep.sweep(long, {"workload.threads": [2]}, quick=True).points
    assert point.replications == 4
    [point] = simrep.sweep(long, {"workload.threads": [2]}, quick=True, replications=2).points
    assert (point.replications, point.notices) == (2, ("a first look: 2 runs of 2 s",))
    assert point.interval("throughput_tps") is not None
    assert any("first look" in notice for notice in point.notices)
    with pytest.raises(ScenarioError, match="quick"):
        simrep.run(long, quick=True, precision=0.1)


def test_what_is_finished_stays_when_it_is_interrupted():
    def progress(done, wanted):
        if done == 3:
            raise KeyboardInterrupt

    found = simrep.compare(
        wan(), wan({"network.rtt_ms": 25.0}), figures=THROUGHPUT, replications=8, progress=progress
    )
    assert found.pairs == 3
    assert not found.complete
    assert "Interrupted" in str(found)


def test_a_precision_asks_for_as_many_pairs_as_it_takes():
    a, b = wan(), wan({"network.rtt_ms": 25.0})
    found = simrep.compare(a, b, figures=THROUGHPUT, precision=0.1)
    assert found["throughput_tps"].ratio.relative <= 0.1
    with pytest.warns(ShortRunWarning, match="is not known to"):
        few = simrep.compare(a, b, figures=THROUGHPUT, precision=1e-6, most=12)
    assert few.pairs == 12


def test_percentiles_of_short_runs_are_told():
    with pytest.warns(ShortRunWarning, match=r"latency_s\.p99 rests on"):
        simrep.compare(wan(), wan(), figures=("throughput_tps", "latency_s.p99"), replications=2)


def test_packs_beyond_their_range_are_told(tmp_path):
    pack = tmp_path / "small.toml"
    card = '[pack]\nname = "small"\nmodel = "galera"\ndescription = "of few clients"\n'
    pack.write_text(card + "[range]\nclients = [1, 2]\n")
    far = wan(cluster={"pack": str(pack)})
    with pytest.warns(ExtrapolationWarning, match="^B: pack"):
        simrep.compare(wan(), far, figures=THROUGHPUT, replications=2)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"replications": 1}, "replications"),
        ({"precision": 2.0}, "precision"),
        ({"confidence": 1.0}, "confidence"),
        ({"figures": ()}, "figures"),
        ({"seed": -1}, "seed"),
        ({"figures": ("latency_s.p95x",)}, "latency_s.p95x"),
    ],
)
def test_wrong_arguments_are_named(how, path):
    with pytest.raises(ScenarioError) as caught:
        simrep.compare(wan(), wan(), **{"replications": 2, **how})
    assert caught.value.path == path


# -- words ---------------------------------------------------------------------------------------


def test_a_factor_is_told_as_a_factor():
    said = made_up(spread((100.0, 0.030), (180.0, 0.016))).verdict
    assert said.startswith("B commits 1.80 times as many transactions (1.7")
    assert "and its mean latency is 14.0 ms lower (" in said


def test_a_few_per_cent_are_told_as_such():
    more = made_up(spread((100.0, 0.030), (110.0, 0.027), by=0.002)).verdict
    assert more.startswith("B commits 10 % more transactions (")
    fewer = made_up(spread((100.0, 0.030), (60.0, 0.05), by=0.002)).verdict
    assert fewer.startswith("B commits 40 % fewer transactions (")


def test_no_difference_is_said_to_be_none():
    pairs = [((100.0, 0.03), (101.0, 0.031)), ((101.0, 0.031), (100.0, 0.03))] * 3
    said = made_up(pairs).verdict
    assert "no difference between A and B is seen in throughput (ratio 0.989-1.01)" in said
    assert "no difference is seen in mean latency (-" in said


def test_whose_latency_differs_is_named_where_nothing_else_does():
    pairs = [((100.0, 0.03), (101.0, 0.02)), ((101.0, 0.031), (100.0, 0.02))] * 3
    assert "and B's mean latency is 10.5 ms lower (" in made_up(pairs).verdict


def test_aborts_are_told_when_they_differ():
    pairs = [((100.0, 5.0 + n), (100.0, 25.0 + 1.1 * n)) for n in range(5)]
    found = made_up(pairs, ("throughput_tps", "aborted"))
    assert "B has 20.2 more aborted transactions per run (" in found.verdict


def test_what_committed_nothing_is_told():
    nothing = float("nan")
    found = made_up([((0.0, nothing), (10.0, 0.1)), ((0.0, nothing), (11.0, 0.1))])
    assert list(found.figures) == ["throughput_tps"]
    assert found.verdict == "A committed nothing."
    assert found["throughput_tps"].ratio is None


def test_the_gain_is_how_many_independent_replications_it_saves():
    found = made_up(spread((100.0, 0.03), (110.0, 0.03)))
    values = found["throughput_tps"].values
    apart = [b - a for a, b in values]
    mean = sum(apart) / len(apart)
    assert found["throughput_tps"].gain > 5.0
    same = made_up([((1.0, 1.0), (2.0, 2.0)), ((1.0, 1.0), (2.0, 2.0))])
    assert same["throughput_tps"].gain is None
    assert found["throughput_tps"].difference.mean == pytest.approx(mean)


def test_an_unknown_figure_names_the_nearest():
    with pytest.raises(ScenarioError, match=r"latency_s\.mean"):
        made_up(spread((1.0, 1.0), (2.0, 2.0)))["latency_s.maen"]


def test_tables_frames_and_figures(tmp_path):
    found = made_up(spread((100.0, 0.030), (180.0, 0.016)))
    assert "independent replications of each" in str(found)
    assert "none seen" not in str(found)
    frame = found.to_frame()
    assert list(frame.figure) == list(THROUGHPUT)
    assert frame.ratio[0] == pytest.approx(1.8, rel=0.02)
    assert found._repr_html_().startswith("<pre")
    found.plot(tmp_path / "ratios.png")
    assert (tmp_path / "ratios.png").stat().st_size > 1000
    with pytest.raises(ValueError, match="no ratio"):
        made_up([((0.0, 0.0), (1.0, 1.0))] * 2).plot()


# -- the command ---------------------------------------------------------------------------------


BROKEN = """
[cluster]
model = "galera"
[network]
rtt_ms = 1
[workload]
think_time_ms = 100
[[workload.group]]
node = "n3"
threads = 1
[[workload.group]]
node = "n1"
threads = 2
[[fault]]
name = "crash"
what = "kill"
node = "n3"
at_s = 1
[run]
duration_s = 6
"""
SOONER = {"evs.suspect_timeout": 2, "evs.keepalive_period": 0.5}


def test_runs_with_faults_are_compared_by_phase():
    sooner = simrep.load(BROKEN).replace({"cluster.options": SOONER})
    compared = simrep.compare(BROKEN, sooner, replications=3, progress=False)
    first, *_ = compared.figures.values()
    assert first.figure == "faults.crash.stalls.clients of n1.stall_s"  # n3 is the one that dies
    assert first.different
    assert {f"faults.crash.{phase}.clients.throughput_tps" for phase in ("before", "during")} <= {
        *compared.figures
    }
    assert "throughput_tps" not in compared.figures
    assert compared.verdict.startswith("B's stall of clients of n1 (crash) is ")
    assert compared.note == ""
    assert problems(compared.plot()) == []


def test_two_runs_are_not_called_the_same_where_only_some_of_their_faults_are_compared():
    crash, *_ = simrep.load(BROKEN).source["fault"]
    more = [crash, {"name": "second", "what": "kill", "node": "n1", "at_s": crash["at_s"] + 1.0}]
    worse = simrep.load(BROKEN).replace({"fault": more})
    compared = simrep.compare(BROKEN, worse, replications=3, progress=False)
    assert not compared.verdict.endswith("do exactly the same.")
    assert "only one of the two has are not compared" in compared.note
    assert "B: second" in compared.note


def test_a_stall_that_the_end_of_the_run_cuts_off_is_said_to_be_one():
    lost = simrep.load(BROKEN).replace(
        {"cluster.nodes": 2, "workload.group": [], "fault.0.node": "n2"}
    )
    text = " ".join(str(simrep.run(lost.replace({"workload.threads": 2}))).split())
    assert "s, to the end of the run" in text
    assert "to the end of the run: the longest stall is at least so long" in text


def test_figures_of_whole_runs_are_said_to_mix_phases():
    calm = simrep.load(BROKEN).replace({"fault": []})
    about = {"figures": ["throughput_tps"], "replications": 2, "progress": False}
    compared = simrep.compare(BROKEN, calm, **about)
    assert "throughput_tps" in compared.figures
    assert compared.note in str(compared).replace("\n", " ").replace("No steady", "no steady")
    assert "no steady state (fault)" in compared.note
    assert "faults.crash.during.clients.throughput_tps" in compared.note
    assert compared.to_dict()["note"] == compared.note
    assert simrep.compare(calm, calm, **about).note == ""
    found = simrep.sweep(BROKEN, {"workload.think_time_ms": [200]}, progress=False)
    assert "no steady state (fault)" in found.points[0].notices[0]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(TOML)
    return path


def called(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def test_the_command_compares_a_file_with_a_variant_of_it(file):
    one = called(file, "--set-b", "network.rtt_ms=40", "--replications", 3, "--of", FIGURES[0],
                 "--of", "latency_s.mean", "--json")  # fmt: skip
    assert one.exit_code == 0, one.output
    content = json.loads(one.stdout)
    assert content["labels"] == ["A", "B"]
    assert content["figures"]["throughput_tps"]["ratio"]["high"] < 0.8
    assert content["scenarios"][1]["network"]["rtt_ms"] == 40


def test_the_command_compares_two_files(file, tmp_path):
    other = tmp_path / "far.toml"
    other.write_text(TOML.replace("20.0", "40.0"))
    done = called(file, other, "--of", "throughput_tps", "--replications", 3,
                  "--plot", tmp_path / "out.png")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "far commits" in done.stdout
    assert (tmp_path / "out.png").exists()


@pytest.mark.parametrize(
    "wrong", [(), ("--set-b", "network.rtt=5"), ("--set-b", "x"), ("--precision", "2 cats")]
)
def test_wrong_usage_ends_with_two(file, wrong):
    done = called(file, *wrong)
    assert done.exit_code == 2
    assert "Error" in done.stderr
