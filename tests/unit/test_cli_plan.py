"""``simrep plan``, as a shell sees it."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from simrep.models.galera.questions import QUESTIONS as OF_GALERA
from simrep.whatif.plan.catalogue import QUESTIONS
from tests.small_streaming import SCENARIO as STREAMING
from tests.whatif_scenarios import TOML


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(TOML)
    return path


def called(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def test_the_help_names_every_question(file):
    done = called("--help")
    assert done.exit_code == 0
    for question in (*QUESTIONS, *OF_GALERA):
        assert question.name in done.stdout
        asked = called(file, question.name, "--help")
        assert asked.exit_code == 0
        assert question.help.partition("\n")[0] in asked.stdout
        assert called(question.name, "--help").stdout == asked.stdout.replace(
            str(file), "SCENARIO.toml"
        )


def test_the_reference_names_every_option(file):
    page = Path(__file__).parents[2] / "docs" / "reference" / "options.md"
    text = page.read_text(encoding="utf-8")
    for question in (*QUESTIONS, *OF_GALERA):
        section = text.partition(f"## simrep plan {question.name}\n")[2].partition("\n## ")[0]
        done = CliRunner().invoke(app, ["plan", question.name, "--help"], env={"COLUMNS": "200"})
        for option in set(re.findall(r"--[a-z]+(?:-[a-z]+)*", done.output)) - {"--help"}:
            assert option in section, f"{question.name} {option}"


def test_a_search_prints_its_answer(file, tmp_path):
    done = called(file, "rtt", "--objective", "mean<=60ms", "--within", "10..100", "--precision",
                  "30%", "--replications", 4, "--plot", tmp_path / "rtt.png")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "The largest round trip with mean <= 60 ms" in done.stdout
    assert (tmp_path / "rtt.png").exists()


def test_json_is_one_object(file):
    done = called(file, "gcache", "--outage", "2h", "--replications", 2, "--json",
                  "--set", "workload.threads=2")  # fmt: skip
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert content["unit"] == "bytes"
    assert content["scenario"]["workload"]["threads"] == 2
    assert content["low"] <= content["high"] <= content["value"]


@pytest.mark.slow
def test_fragments_have_the_criteria_of_their_own_command(tmp_path):
    path = tmp_path / "large.toml"
    path.write_text(STREAMING)
    done = called(path, "fragment", "--sizes", "100K,1M", "--longest-stall", "100ms",
                  "--least-payload", "20%", "--largest-slowdown", 3)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "meet everything" in done.stdout or "No size meets" in done.stdout


@pytest.mark.parametrize(
    "wrong",
    [
        ("rtt", "--objective", "p98<=5ms"),
        ("rtt", "--objective", "p99<=5ms", "--within", "5"),
        ("clients", "--objective", "tps>=5", "--within", "1.5..3"),
        ("gcache", "--outage", "soon"),
        ("gcache", "--outage", "2h", "--set", "network.rtt=5"),
        ("product", "--regions", "us-east-1,us-wst-2", "--writes", "us-east-1", "--objective",
         "tps>=5"),
        ("clint", "--objective", "tps>=5"),
    ],
)  # fmt: skip
def test_wrong_usage_ends_with_two(file, wrong):
    done = called(file, *wrong)
    assert done.exit_code == 2, done.output
    assert "Error" in done.stderr or "No such command" in done.stderr


def test_what_is_finished_is_printed_when_it_is_interrupted(file, monkeypatch):
    import simrep.whatif.plan.search as module

    judged, calls = module.judged, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return judged(*arguments)

    monkeypatch.setattr(module, "judged", interrupted)
    done = called(file, "rtt", "--objective", "mean<=60ms", "--within", "10..100",
                  "--replications", 8)  # fmt: skip
    assert done.exit_code == 130
    assert "Interrupted" in done.stdout
