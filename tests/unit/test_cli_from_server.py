"""``simrep from-server`` as a shell sees it."""

import json
import tomllib

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from tests.server_files import GALERA_AFTER, GALERA_BEFORE, GALERA_CNF, as_box, write


@pytest.fixture
def simrep(tmp_path, monkeypatch):
    write(tmp_path, "my.cnf", GALERA_CNF)
    write(tmp_path, "before.txt", as_box(GALERA_BEFORE))
    write(tmp_path, "after.txt", as_box(GALERA_AFTER))
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, ["from-server", *words])


READ = ("--mycnf", "my.cnf", "--status", "before.txt", "--status", "after.txt")


def test_two_files_and_a_table(simrep, tmp_path):
    done = simrep(*READ, "--out", "mine")
    assert done.exit_code == 0, done.output
    scenario = tomllib.loads((tmp_path / "mine.toml").read_text())
    pack = tomllib.loads((tmp_path / "mine.pack.toml").read_text())
    assert scenario["cluster"]["pack"] == "mine.pack.toml"
    assert pack["pack"]["name"] == "mine"
    for words in ("Read", "Not found: defaults", "Not simulated", "gcs.fc_limit", "my.cnf:22"):
        assert words in done.stdout
    shown = CliRunner().invoke(app, ["run", "mine.toml", "--set", "run.duration_s=0.5"])
    assert shown.exit_code == 0, shown.output


def test_includes_of_a_distribution_are_no_errors(simrep, tmp_path):
    with (tmp_path / "my.cnf").open("a") as file:
        file.write("!includedir /etc/nowhere/conf.d/\n!includedir /etc/nowhere/mariadb.conf.d/\n")
    done = simrep(*READ, "--out", "mine", "--json")
    assert done.exit_code == 0, done.output
    notes = [one for one in json.loads(done.stdout)["not_simulated"] if "!" in one["setting"]]
    assert [one["value"] for one in notes] == [
        "/etc/nowhere/conf.d/", "/etc/nowhere/mariadb.conf.d/",
    ]  # fmt: skip
    assert all(one["note"].startswith("not read: it is not on this machine") for one in notes)
    shown = simrep(*READ, "--out", "other").stdout
    assert "!includedir" in shown
    assert "not read" in shown


def test_json(simrep):
    done = simrep(*READ, "--out", "mine", "--json", "--cores", "8", "--rtt-ms", "3")
    content = json.loads(done.stdout)
    assert content["files"] == ["mine.toml", "mine.pack.toml"]
    assert content["pack"]["machine"] == {"cores": 8}
    assert content["scenario"]["network"] == {"rtt_ms": 3.0}
    assert content["fit"] is None
    origins = {one["setting"]: one["origin"] for one in content["read"]}
    assert origins["cluster.options.gcs.fc_limit"] == "my.cnf:22"
    assert {"setting", "value", "note"} <= content["defaults"][0].keys()


def test_times_may_have_a_unit(simrep):
    done = simrep(*READ, "--out", "mine", "--json", "--rtt-ms", "0.003s", "--fsync-us", "0.7ms")
    content = json.loads(done.stdout)
    assert content["scenario"]["network"] == {"rtt_ms": 3.0}
    assert content["pack"]["costs"]["fsync_us"] == 700.0
    wrong = simrep(*READ, "--out", "other", "--rtt-ms", "near")
    assert wrong.exit_code == 2
    assert "--rtt-ms: 'near' is not a time" in wrong.stderr


@pytest.mark.parametrize("there", ["mine.toml", "mine.pack.toml"])
def test_what_is_there_is_not_overwritten(simrep, tmp_path, there):
    write(tmp_path, there, "kept")
    done = simrep(*READ, "--out", "mine")
    assert done.exit_code == 2
    assert "exists already" in done.stderr
    assert (tmp_path / there).read_text() == "kept"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to read"),
        (("--sysbench", "no.txt"), "nothing to read"),
        (("--status", "after.txt", "--keep"), "No such option: --keep"),
        (("galera-rig", "--status", "after.txt"), "unexpected extra"),
        (("--mycnf", "no.cnf"), "'no.cnf': cannot be read"),
        (("--status", "my.cnf"), "holds no variables"),
        (("--status", "after.txt", "--status", "before.txt"), "earlier one first"),
        (("--mycnf", "my.cnf", "--model", "galerra"), "did you mean 'galera'"),
    ],
)
def test_bad_input_writes_nothing(simrep, tmp_path, words, message):
    before = {path.name for path in tmp_path.iterdir()}
    done = simrep(*words, "--out", "mine")
    assert done.exit_code == 2
    assert message in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == before


def test_the_command_of_before_says_what_it_is_now(simrep, tmp_path):
    new = simrep(*READ, "--out", "new", "--json")
    old = CliRunner().invoke(
        app,
        ["--debug", "calibrate", "--from-mycnf=my.cnf", *READ[2:], "--out", "mine", "--json"],
    )
    assert old.exit_code == 0, old.output
    assert old.stderr.startswith(
        "Note: 'simrep calibrate --from-mycnf FILE' is 'simrep from-server"
    )
    assert "Note:" not in new.stderr
    assert (tmp_path / "mine.pack.toml").read_text() == (
        (tmp_path / "new.pack.toml").read_text().replace('"new"', '"mine"')
    )


@pytest.mark.parametrize("time", ["inf", "2d", "1e300", "nan"])
def test_no_pack_is_written_that_could_not_be_read(simrep, tmp_path, time):
    done = simrep(*READ, "--out", "mine", "--fsync-us", time)
    assert done.exit_code == 2
    assert "fsync" in done.stderr
    assert not list(tmp_path.glob("mine*"))
