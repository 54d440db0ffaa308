"""What a user gets who asks what blocked whom: the object, its figure and the command."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.why.stall import StallExplanation, explain_stall
from tests.blocked_clusters import SMALL, scenario


@pytest.fixture(scope="module")
def explanation() -> StallExplanation:
    return explain_stall(scenario("galera", costs={"apply_row_us": 5.0}))


def test_the_longest_come_first_and_are_all_long_enough(explanation: StallExplanation) -> None:
    lengths = [one.seconds for one in explanation.blockages]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] >= explanation.longer_than_s == 0.1


def test_causes_and_gaps_sum_to_the_stall(explanation: StallExplanation) -> None:
    least = max(cause.seconds for cause in explanation.causes) + explanation.unexplained_s
    total = sum(cause.seconds for cause in explanation.causes) + explanation.unexplained_s
    assert least <= explanation.stall.seconds * (1 + 1e-9)
    assert total >= explanation.stall.seconds * (1 - 1e-9)


def test_it_is_told_in_words(explanation: StallExplanation) -> None:
    text = str(explanation)
    assert text.startswith("Longest time without a commit: ")
    assert "Cause, for " in text
    assert "  so " in text
    assert "Blockages of 100 ms or longer" in text
    assert "causes" in repr(explanation)


def test_it_is_repeatable_and_json_can_hold_it(explanation: StallExplanation) -> None:
    again = explain_stall(scenario("galera", costs={"apply_row_us": 5.0}))
    assert json.dumps(again.to_dict(), allow_nan=False) == json.dumps(explanation.to_dict())


def test_the_run_is_that_of_run(explanation: StallExplanation) -> None:
    result = simrep.run(scenario("galera", costs={"apply_row_us": 5.0}))
    assert explanation.stall.seconds == result.stall_max_s


def test_a_quiet_cluster_has_nothing_to_tell() -> None:
    found = explain_stall(scenario("galera", classes=[SMALL]))
    assert found.blockages == found.causes == ()
    assert found.unexplained_s == pytest.approx(found.stall.seconds)
    assert "nothing was blocked" in str(found)
    with pytest.raises(ValueError, match="nothing was blocked"):
        found.plot()


def test_the_figure_has_a_row_per_station(explanation: StallExplanation) -> None:
    (axes,) = explanation.plot().axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == sorted({f"{one.node}  {one.station}" for one in explanation.blockages})
    assert len(axes.patches) == 1 + len(explanation.blockages)


@pytest.mark.parametrize(
    "wrong", [{"longer_than_s": 0.0}, {"longer_than_s": -1.0}, {"seed": -1}, {"replication": -1}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(simrep.ScenarioError):
        explain_stall(scenario("galera"), **wrong)


FILE = """
[cluster]
model = "galera"
nodes = 2
costs = { apply_row_us = 5.0 }

[[workload.class]]
name = "big"
rows = 100_000

[[workload.class]]
name = "small"
weight = 500

[workload]
threads = 4

[run]
duration_s = 1
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    (tmp_path / "cluster.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, ["explain", "cluster.toml", *words])


def test_the_command_prints_sentences_and_a_table(command) -> None:
    done = command("--stall")
    assert done.exit_code == 0
    assert done.stdout.startswith("Longest time without a commit: ")
    assert "(100,000 rows, 10.0 MB)" in " ".join(done.stdout.split())
    assert "in stall" in done.stdout


def test_the_command_prints_json_and_draws(command, tmp_path) -> None:
    done = command("--stall", "--json", "--seed", "4", "--longer-than", "20ms", "--plot", "a.svg")
    content = json.loads(done.stdout)
    assert content["seed"] == 4
    assert content["longer_than_s"] == 0.02
    assert {"stall", "causes", "blockages", "scenario", "versions"} <= content.keys()
    assert {"node", "station", "seconds", "because", "text"} <= content["blockages"][0].keys()
    assert (tmp_path / "a.svg").stat().st_size > 0


def test_the_command_takes_changes(command) -> None:
    few = json.loads(command("--stall", "--json", "--set", "workload.class.0.rows=1").stdout)
    assert few["blockages"] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--stall", "--longer-than", "soon"), "'soon' is not a time"),
        (("--stall", "--longer-than", "0s"), "above 0, given '0s'"),
        (("--stall", "--set", "cluster.modle=x"), "modle"),
        (("--stall", "--plot", "a.txt"), "cannot draw"),
    ],
)
def test_bad_input_ends_with_2(command, words: tuple[str, ...], told: str) -> None:
    done = command(*words)
    assert done.exit_code == 2
    assert told in done.stderr
