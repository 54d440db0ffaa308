"""``simrep validate`` as a shell sees it."""

import json

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from tests.small_dataset import write_dataset


@pytest.fixture
def simrep(tmp_path, monkeypatch):
    write_dataset(tmp_path / "small")
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, ["validate", *words])


def test_cells_of_named_datasets_are_printed(simrep):
    done = simrep("small", "--replications", "1")
    assert done.exit_code == 0
    assert "A small dataset" in done.stdout
    assert done.stdout.count(" fit") >= 2
    assert "order right" in done.stdout


def test_one_json_object_is_printed(simrep):
    content = json.loads(simrep("small", "--json", "--replications", "2").stdout)
    assert content["complete"] is True
    assert content["datasets"][0]["replications"] == 2
    assert content["scores"]["n"] == 2


def test_a_figure_is_saved(simrep, tmp_path):
    done = simrep("small", "--replications", "1", "--plot", "errors.png")
    assert done.exit_code == 0
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["smal"], "neither a dataset nor a folder"),
        (["small", "--holdout", "thread > 1"], "no factor 'thread'"),
        (["small", "--pack", "nobody"], "no pack 'nobody'"),
        (["small", "--pack", "nobody.toml"], "cannot be read"),
        (["small", "--plot", "errors.txt"], "cannot draw"),
    ],
)
def test_bad_input_is_told_with_exit_code_2(simrep, words, message):
    done = simrep(*words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_an_interruption_prints_what_is_finished(simrep, monkeypatch):
    def interrupted(*_arguments):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("simrep.data.validation.simulate_groups", interrupted)
    done = simrep("small", "--json")
    assert done.exit_code == 130
    assert json.loads(done.stdout) == {
        "datasets": [],
        "scores": json.loads(done.stdout)["scores"],
        "complete": False,
    }


@pytest.mark.filterwarnings("always::simrep.errors.DatasetWarning")
def test_notices_about_a_dataset_go_to_standard_error(simrep, tmp_path):
    data = tmp_path / "small" / "data.csv"
    lines = data.read_text().splitlines()
    data.write_text("\n".join([lines[0] + ",cpu_s", *(line + ",1" for line in lines[1:])]) + "\n")
    done = simrep("small", "--json", "--replications", "1")
    assert done.exit_code == 0
    assert "Warning: small/data.csv: nothing uses cpu_s" in done.stderr
    json.loads(done.stdout)
