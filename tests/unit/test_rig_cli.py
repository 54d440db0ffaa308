"""``simrep rig`` as a shell sees it."""

import json

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from simrep.errors import ScenarioError, SimrepError
from simrep.rig import campaign as campaigns
from simrep.rig import equipment
from simrep.rig import measure as measuring
from simrep.rig.equipment import bases
from tests.fake_cluster import World


def simrep(*arguments):
    return CliRunner().invoke(app, ["rig", *arguments], env={"COLUMNS": "200"})


@pytest.fixture
def world(monkeypatch, tmp_path):
    made = World()
    monkeypatch.setattr(equipment, "ThisMachine", lambda *_arguments, **_options: made)
    monkeypatch.setattr(measuring, "run_load", made.run_load)
    monkeypatch.setattr(measuring, "wait_for_quiet", lambda *_: 0.0)
    monkeypatch.setattr(measuring, "busy_cpu_s", lambda: 0.0)
    monkeypatch.setattr(measuring, "stolen_cpu_s", lambda: 0.0)
    monkeypatch.setattr(measuring.time, "sleep", lambda _s: None)
    monkeypatch.setattr(campaigns, "_SETTLE_S", 0.0)
    monkeypatch.chdir(tmp_path)
    return made


def test_experiments_are_listed():
    assert "wan-concurrency" in simrep("list").output
    listed = json.loads(simrep("list", "--json").output)["experiments"]
    assert {one["name"]: one["runs"] for one in listed}["smoke"] == 3


def test_a_dry_run_names_cells_and_starts_nothing(monkeypatch):
    def refuse():
        raise SimrepError("the rig needs PyMySQL")

    monkeypatch.setattr("simrep.cli.rig._need_drivers", refuse)
    assert "needs PyMySQL" in simrep("measure", "smoke").stderr
    result = simrep("measure", "wan-concurrency", "--dry-run", "--system", "galera")
    assert result.exit_code == 0
    assert "galera.slow-third-100.slap.t64" in result.output
    assert "group-replication" not in result.output
    assert result.output.endswith("on 1 clusters\n")


def test_a_dry_run_tells_how_often_cells_may_be_repeated():
    planned, runs = simrep("measure", "galera-ist", "--dry-run").output.splitlines()
    assert "  2 to 10 x  " in planned
    assert runs == "2 to 10 runs on 1 clusters"
    assert "  1 x  " in simrep("measure", "galera-ist", "--dry-run", "--repetitions", "1").output


def test_an_experiment_is_measured_into_a_folder_of_its_name(world, tmp_path):
    result = simrep("measure", "smoke")
    assert result.exit_code == 0, result.output
    assert {"data.csv", "dataset.toml", "manifest.json", "galera.toml", "experiment.toml"} <= {
        path.name for path in (tmp_path / "smoke").iterdir()
    }
    assert "3 attempts, 0 of them marked; 0 runs missing, 0 that never passed" in result.stderr


def test_a_folder_is_told_of_written_anew_and_verified(world, tmp_path):
    assert simrep("measure", "smoke").exit_code == 0
    folder = tmp_path / "smoke"
    told = json.loads(simrep("status", "smoke", "--json").output)
    assert (told["passed"], told["marked"], told["missing"]) == (3, [], [])
    before = (folder / "data.csv").read_text()
    assert simrep("verify", "smoke").output == ""
    (folder / "data.csv").unlink()
    (folder / "notes.md").touch()
    found = simrep("verify", "smoke")
    assert found.exit_code == 1
    assert found.output == "missing: data.csv\nadded: notes.md\n"
    assert simrep("write", "smoke").exit_code == 0
    assert (folder / "data.csv").read_text() == before
    assert simrep("verify", "smoke").exit_code == 0
    assert "holds no run of experiment 'engines'" in (
        simrep("write", "smoke", "--experiment", "engines").stderr
    )


def test_status_names_what_is_marked_and_what_is_missing(world):
    world.late_ms = 9.0
    simrep("measure", "smoke", "--layout", "slow-third", "--load", "slap")
    told = simrep("status", "smoke").output
    assert "marked: galera.slow-third.slap.t4" in told
    assert "delays kept (late by 9.000 ms on average)" in told
    assert told.count("missing: ") == 2


def test_a_run_that_never_passes_is_told_by_the_exit_code(world):
    world.late_ms = 9.0
    result = simrep("measure", "smoke", "--out", "there")
    assert result.exit_code == 1
    assert "MARKED: delays kept (late by 9.000 ms on average)" in result.stderr


def test_an_interruption_leaves_a_dataset_of_what_was_measured(world, tmp_path):
    def interrupt(_world, _cluster):
        raise KeyboardInterrupt

    world.events = iter([None, interrupt])
    result = simrep("measure", "smoke")
    assert result.exit_code == 130
    manifest = json.loads((tmp_path / "smoke" / "manifest.json").read_text())
    assert manifest["gates"]["attempts"] == 1
    assert len(manifest["gates"]["missing"]) == 2
    assert simrep("measure", "smoke").exit_code == 0
    assert world.seen["loads"] == 4


def test_what_is_wrong_is_a_message(world, tmp_path):
    result = simrep("measure", "smok")
    assert result.exit_code == 2
    assert "did you mean 'smoke'?" in result.stderr
    result = simrep("measure", "smoke", "--system", "galer")
    assert "did you mean 'galera'?" in result.stderr
    (tmp_path / "smoke").mkdir()
    (tmp_path / "smoke" / "diary.txt").touch()
    assert "holds other files" in simrep("measure", "smoke").stderr


def test_bases_are_given_for_all_servers_or_for_one():
    assert bases(["mine:1"]) == {"": "mine:1"}
    assert bases(["/srv/a=b"]) == {"": "/srv/a=b"}
    with pytest.raises(ScenarioError, match="did you mean 'mariadb'"):
        bases(["marriadb=a:1"])
    with pytest.raises(ScenarioError, match="there is a:1 already"):
        bases(["mysql=a:1", "mysql=b:1"])
    assert bases(["mariadb=a:1", "mysql=/srv/root"]) == {"mariadb": "a:1", "mysql": "/srv/root"}


def test_what_the_machine_can_do_is_told():
    found = json.loads(simrep("check", "--json").output)
    assert "netem" in found
    assert all(set(one) == {"present", "note"} for one in found.values())
