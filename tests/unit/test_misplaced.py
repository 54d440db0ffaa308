"""Words of a command line that belong elsewhere: the message says where, on every command."""

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from simrep.contract import card
from simrep.contract.registry import find_model
from simrep.scenario.changes import short_names
from tests.whatif_scenarios import TOML

WITH_SET = ("run", "sweep", "compare", "explain", "sensitivity")
WITHOUT = ("reproduce", "validate", "models", "calibrate", "schema")


@pytest.fixture
def file(tmp_path, monkeypatch):
    (tmp_path / "cluster.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return "cluster.toml"


def called(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.mark.parametrize("command", WITH_SET)
def test_a_key_of_the_scenario_is_no_option(file, command):
    for words in (("--threads", "64"), ("--threads=64",)):
        done = called(command, file, *words)
        assert done.exit_code == 2
        assert f"--threads: simrep {command} has no such option" in done.stderr
        assert "--set workload.threads=64" in done.stderr


@pytest.mark.parametrize(
    ("option", "path"),
    [
        ("--clients", "workload.threads"),
        ("--rtt-ms", "network.rtt_ms"),
        ("--duration-s", "run.duration_s"),
        ("--fsync-us", "cluster.costs.fsync_us"),
        ("--wsrep-slave-threads", "cluster.options.wsrep_slave_threads"),
        ("--evs-send-window", "cluster.options.evs.send_window"),
    ],
)
def test_every_key_is_known(file, option, path):
    assert f"--set {path}=5 or" in called("run", file, option, 5).stderr.replace("=5)", "=5 or")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "FILE", "--jobs", "0"], "from 1 to 1024, given '0'"),
        (["sweep", "FILE", "--over", "network.rtt_ms=1,2", "--jobs=x"], "1024, given 'x'"),
        (["plan", "FILE", "appliers", "--tps", "many"], "--tps: must be a number, given 'many'"),
        (["plan", "FILE", "rtt", "--objective", "p99<=5ms", "--jobs", "-1"], "given '-1'"),
        (["compare", "FILE", "FILE", "--rpo", "x"], "must be a number of at least 0, given 'x'"),
        (["run", "FILE", "--precision", "0"], "--precision: must lie between 0 and 1, given 0"),
        (["run", "FILE", "--of", "latency_s.p95"], "--of: is the figure of --precision"),
        (["drill", "FILE", "--fault", "kill"], "--fault: no fault 'kill' in the catalogue"),
        (["drill", "FILE", "--limit=3s"], "--limit: must be from 10 to 3600 s, given 3"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_told_with_those_it_takes(file, words, said):
    done = called(*(file if word == "FILE" else word for word in words))
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: --")
    assert said in done.stderr


@pytest.mark.parametrize("command", ["run", "compare", "sweep", "drill"])
def test_a_wrong_number_of_processes_is_told_before_the_work(file, command, monkeypatch):
    monkeypatch.setenv("SIMREP_JOBS", "abc")
    more = {"compare": (file,), "sweep": ("--over", "network.rtt_ms=1,2", "--no-cache")}
    done = called(command, file, *more.get(command, ()))
    said = "Error: SIMREP_JOBS: must be a whole number from 1 to 1024, given 'abc'"
    assert (done.exit_code, done.stdout, done.stderr.strip()) == (2, "", said)


def test_the_questions_of_plan_say_so_too(file):
    done = called("plan", file, "rtt", "--objective", "p99<=5ms", "--threads", 64)
    assert done.exit_code == 2
    assert "simrep plan rtt has no such option" in done.stderr
    assert "--set workload.threads=64" in done.stderr


@pytest.mark.parametrize("command", WITHOUT)
def test_commands_without_changes_name_the_place_in_the_file(command):
    done = called(command, "--threads", 64)
    assert done.exit_code == 2
    assert "in the scenario file it is workload.threads" in done.stderr


def test_other_unknown_options_are_as_unknown_as_before(file):
    done = called("run", file, "--nonsense")
    assert done.exit_code == 2
    assert "No such option: --nonsense" in done.stderr


@pytest.mark.parametrize("question", ["rtt", "clients", "rate", "gcache"])
def test_a_question_before_its_scenario_is_told(file, question):
    done = called("plan", question, file, "--seed", 1)
    assert done.exit_code == 2
    assert "the scenario comes before the question" in done.stderr
    assert f"simrep plan {file} {question} --seed 1" in done.stderr


def test_short_names_are_unique():
    two = ["network.path.0.rtt_ms", "network.rtt_ms", 'cluster.options."evs.send_window"', "a: b'"]
    names = short_names(two)
    assert len(set(names.values())) == len(two)
    assert names["network.rtt_ms"] == "network.rtt_ms"
    assert names['cluster.options."evs.send_window"'] == "evs.send_window"
    assert names["a: b'"] == "a: b'"


def test_a_sweep_shows_every_figure_that_was_asked_for(file):
    figures = ("latency_s.p99", "committed", "latency_s.mean")
    asked = [word for figure in figures for word in ("--of", figure)]
    done = called("sweep", file, "--over", "network.rtt_ms=10,20", "--no-cache", "--jobs", 1,
                  "--set", "run.duration_s=1", *asked)  # fmt: skip
    assert done.exit_code == 0, done.output
    heads = next(line for line in done.stdout.splitlines() if "rtt_ms" in line)
    assert heads.split() == ["rtt_ms", *figures, "throughput_tps", "latency_s.p95"]


def test_a_model_without_options_has_no_empty_table(monkeypatch):
    described = card.model_card(find_model("standalone")) | {"options": {}}
    monkeypatch.setattr(card, "model_card", lambda _: described)
    done = called("models", "standalone")
    assert "\nOptions: none\n" in done.stdout
    assert "in versions" not in done.stdout
