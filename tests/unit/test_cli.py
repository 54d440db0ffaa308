"""The command line, as a shell sees it: what it prints, where, and how it ends."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from simrep.cli.arguments import assignments
from simrep.errors import ScenarioError

SCENARIO = """
[cluster]
model = "galera"
nodes = 3

[network]
rtt_ms = 1.0

[workload]
preset = "mysqlslap-insert"
queries = 40
threads = 2
nodes = ["n1"]
"""

DATASET = """
title = "A small dataset"
source = "made up"
replications = 2

[metric]
column = "seconds"
result = "makespan_s"
unit = "s"
label = "run time"

[factors]
threads = "workload.threads"
rtt_ms = "network.rtt_ms"

[fit_where]
rtt_ms = [1]

[show]
x = "threads"
by = "rtt_ms"

[[series]]
name = "galera"
title = "Galera"
scenario = "cluster.toml"

[[series.fit.parameter]]
name = "statement_us"
prior = 100.0
"""

PACK = """# A card that must survive.
[pack]
name = "mine"
model = "galera"
description = "kept as it is"

[costs]
statement_us = 100.0  # fitted
apply_us = 41.5
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cluster.toml").write_text(SCENARIO)
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "data.csv").write_text("threads,rtt_ms,seconds\n1,1,0.1\n2,1,0.05\n1,20,0.9\n")
    return tmp_path


@pytest.fixture
def simrep(folder, monkeypatch):
    """Run the command in the folder."""
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(app, words)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ---------------------------------------------------------------------- run --


def test_run_prints_figures_for_people(simrep):
    done = simrep("run", "cluster.toml")
    assert done.exit_code == 0
    assert "throughput" in done.stdout
    assert "40" in done.stdout


def test_run_prints_one_json_object_with_the_promised_keys(simrep):
    done = simrep("run", "cluster.toml", "--json", "--seed", "9", "--replications", "2")
    content = json.loads(done.stdout)
    promised = {
        *("throughput_tps", "makespan_s", "committed", "aborted", "latency_s", "stall_max_s"),
        *("counters", "seed", "scenario", "versions"),
    }
    assert promised <= content.keys()
    assert {"mean", "p50", "p95", "p99", "max"} <= content["latency_s"].keys()
    assert content["seed"] == 9
    assert content["replications"] == 2
    assert content["committed"] == 40


def test_set_changes_what_is_simulated(simrep):
    done = simrep(
        "run", "cluster.toml", "--json",
        "--set", "network.rtt_ms=30", "--set", "cluster.options.evs.send_window=10",
    )  # fmt: skip
    content = json.loads(done.stdout)
    assert content["latency_s"]["p50"] > 0.029
    assert content["scenario"]["network"]["rtt_ms"] == 30


def test_set_reads_values_as_toml_and_the_rest_as_text():
    given = ["a=5", "b=2.5", "c=true", 'd=["n1", "n2"]', "e=galera", 'f="5"', "g=x=y"]
    assert assignments(given) == {
        "a": 5, "b": 2.5, "c": True, "d": ["n1", "n2"], "e": "galera", "f": "5", "g": "x=y",
    }  # fmt: skip
    assert type(assignments(["a=5"])["a"]) is int


def test_the_log_has_a_row_for_every_transaction(simrep, folder):
    done = simrep("run", "cluster.toml", "--log", "log.csv", "--replications", "2")
    assert done.exit_code == 0
    header, *rows = (folder / "log.csv").read_text().splitlines()
    assert header == "replication,started_s,latency_s,client,kind,committed,node,error"
    assert len(rows) == 2 * 40
    assert {row.split(",")[0] for row in rows} == {"0", "1"}


def test_figures_are_drawn_in_the_format_of_their_ending(simrep, folder):
    assert simrep("run", "cluster.toml", "--plot", "out.png").exit_code == 0
    assert (folder / "out.png").read_bytes().startswith(b"\x89PNG")
    assert simrep("reproduce", ".", "--plot", "out.svg").exit_code == 0
    assert b"<svg" in (folder / "out.svg").read_bytes()


@pytest.mark.filterwarnings("ignore:no transaction committed")
@pytest.mark.parametrize(
    "words", ["run none.toml --plot-nodes", "explain none.toml --stall --plot"]
)
def test_what_cannot_be_drawn_is_told_after_the_result(simrep, folder, words):
    none = '[cluster]\nmodel = "galera"\n[network]\nrtt_ms = 5000\n[run]\nduration_s = 0.1\n'
    (folder / "none.toml").write_text(none, encoding="utf-8")
    before = names(folder)
    result = simrep(*words.split(), "figure.png")
    assert result.exit_code == 1
    assert result.stdout
    assert "Traceback" not in result.output
    assert "there is nothing to draw" in result.stderr
    assert names(folder) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "nowhere.toml"], "nowhere.toml"),
        (["run", "cluster.toml", "--set", "network.rtt_sm=5"], "did you mean 'rtt_ms'"),
        (["run", "cluster.toml", "--set", "network.rtt_ms=-5"], "network.rtt_ms"),
        (["run", "cluster.toml", "--set", "cluster.model=galeria"], "did you mean 'galera'"),
        (["run", "cluster.toml", "--set", "cluster.options.evs.send_windw=5"], "evs.send_window"),
        (["run", "cluster.toml", "--set", "network.rtt_ms"], "path=value"),
        (["run", "cluster.toml", "--plot", "nowhere/out.png"], "nowhere"),
        (["run", "cluster.toml", "--plot", "out.doc"], ".png"),
        (["run", "cluster.toml", "--replications", "0"], "replications"),
        (["reproduce", "wan-concurency"], "did you mean 'wan-concurrency'"),
        (["models", "galeria"], "did you mean 'galera'"),
        (["calibrate", "wan-concurency"], "did you mean 'wan-concurrency'"),
        (["rum"], "rum"),
    ],
)
def test_bad_input_ends_with_2_and_a_message_and_leaves_nothing(simrep, folder, words, message):
    before = names(folder)
    done = simrep(*words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""
    assert names(folder) == before


def test_debug_shows_where_an_error_came_from(simrep):
    done = simrep("--debug", "run", "nowhere.toml")
    assert isinstance(done.exception, ScenarioError)


# ---------------------------------------------------------------- reproduce --


def test_reproduce_prints_a_table_with_every_cell(simrep):
    done = simrep("reproduce", ".")
    assert done.exit_code == 0
    assert "A small dataset" in done.stdout
    assert "1 predicted cells" in done.stdout
    assert done.stdout.count(" fit") >= 2


def test_reproduce_prints_one_json_object(simrep):
    content = json.loads(simrep("reproduce", ".", "--json", "--replications", "3").stdout)
    assert content["replications"] == 3
    assert [cell["used_in_fit"] for cell in content["cells"]].count(True) == 2
    assert content["summary"]["n"] == 1


def test_reproduce_lists_the_datasets(simrep):
    done = simrep("reproduce", "--list")
    assert "wan-concurrency:" in done.stdout
    assert "galera-rig:" in done.stdout


def test_a_processor_more_changes_nothing(simrep):
    alone = simrep("reproduce", ".", "--json").stdout
    assert simrep("reproduce", ".", "--json", "--jobs", "2").stdout == alone


# ------------------------------------------------------------ models, schema --


def test_models_lists_what_is_installed(simrep):
    listed = {model["name"] for model in json.loads(simrep("models", "--json").stdout)["models"]}
    assert {"galera", "standalone", "asynchronous"} <= listed
    assert "galera" in simrep("models").stdout


def test_a_model_is_described_in_the_spelling_of_its_product(simrep):
    galera = json.loads(simrep("models", "galera", "--json").stdout)
    window = galera["options"]["evs.send_window"]
    assert window["default"] == 4
    assert window["by_version"]["pxc-8.0"] == 10
    assert "wsrep_applier_threads" in galera["options"]["wsrep_slave_threads"]["also_spelled"]
    assert galera["costs"]["fsync_us"]["unit"] == "us"
    assert all(option["description"] for option in galera["options"].values())
    text = simrep("models", "galera").stdout
    assert "evs.send_window" in text
    assert "pxc-8.0: 10" in text


def test_the_schema_knows_the_tables_of_a_scenario(simrep):
    schema = json.loads(simrep("schema").stdout)
    assert {"cluster", "network", "workload", "run"} <= schema["properties"].keys()


# ---------------------------------------------------------------- calibrate --


def test_calibrate_writes_costs_into_the_pack_and_keeps_its_card(simrep, folder):
    (folder / "mine.toml").write_text(PACK)
    scenario = SCENARIO.replace('model = "galera"', 'model = "galera"\npack = "mine.toml"')
    (folder / "cluster.toml").write_text(scenario)
    found = json.loads(simrep("calibrate", ".", "--json").stdout)
    assert (folder / "mine.toml").read_text() == PACK  # not asked to write
    assert simrep("calibrate", ".", "--write").exit_code == 0
    [estimate] = found["estimates"]
    text = (folder / "mine.toml").read_text()
    value = estimate["value"]
    assert value != 100.0
    assert f"statement_us = {float(f'{value:.4g}')}" in text
    for kept in ("# A card that must survive.", "kept as it is", "# fitted", "apply_us = 41.5"):
        assert kept in text
    assert "[[fit]]" in text
    assert "clients = [1.0, 2.0]" in text


def test_calibrate_tells_who_knows_each_cost(simrep):
    done = simrep("calibrate", ".", "--fit", "statement_us", "--fit", "rollback_us")
    text = " ".join(done.stdout.split())
    assert "prior only" in text
    assert "rollback_us: the cells say nothing about it" in text
    assert "The cells tell 1 of 2 combinations of costs." in text
    content = json.loads(simrep("calibrate", ".", "--keep", "--json").stdout)
    assert content["estimates"][0]["value"] == 90.0
    assert content["discrepancy"]["freedom"] > 2.0


@pytest.mark.parametrize(
    "words", [(), ("--keep",), ("--fit", "statement_us", "--fit", "commit_us")]
)
def test_calibrate_tells_how_far_it_is(words, simrep, monkeypatch):
    told = []

    @contextmanager
    def bar(_label, *, quiet):
        yield lambda done, total: told.append((done, total))

    monkeypatch.setattr("simrep.cli.calibrate.progress_bar", bar)
    assert simrep("calibrate", ".", *words).exit_code == 0
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert all(done < total for done, total in told)
    assert told[0][1] < 3 * len(told)


def test_calibrate_takes_cells_by_a_condition(simrep):
    content = json.loads(
        simrep("calibrate", ".", "--cells", "rtt_ms == 20", "--model", "galera", "--json").stdout
    )
    assert [one["label"] for one in content["residuals"]] == ["seconds at threads 1, rtt_ms 20"]
    done = simrep("calibrate", ".", "--cells", "rtt == 20")
    assert done.exit_code == 2
    assert "did you mean 'rtt_ms'?" in " ".join(done.stderr.split())


def test_calibrate_writes_a_pack_that_runs_take(simrep, folder):
    assert simrep("calibrate", ".", "--out", "new.toml").exit_code == 0
    packed = json.loads(
        simrep("run", "cluster.toml", "--set", "cluster.pack=new.toml", "--json").stdout
    )
    assert packed["prediction"]["draws"] == 0
    several = ("--set", "cluster.pack=new.toml", "--replications", "2", "--draws", "3", "--json")
    packed = json.loads(simrep("run", "cluster.toml", *several).stdout)
    assert packed["prediction"]["draws"] == 3
    done = simrep("calibrate", ".", "--out", "new.txt")
    assert done.exit_code == 2
    assert "name it *.toml" in " ".join(done.stderr.split())


def test_calibrate_without_a_pack_cannot_be_written(simrep):
    done = simrep("calibrate", ".", "--write")
    assert done.exit_code == 2
    assert "names no pack" in done.stderr


def test_a_calibration_is_not_written_into_the_pack_of_another_model(simrep, folder):
    (folder / "mine.toml").write_text(PACK.replace('model = "galera"', 'model = "asynchronous"'))
    before = (folder / "mine.toml").read_text()
    scenario = SCENARIO.replace('model = "galera"', 'model = "galera"\npack = "mine.toml"')
    (folder / "cluster.toml").write_text(scenario)
    done = simrep("calibrate", ".", "--write")
    assert done.exit_code == 2
    assert "holds costs of model 'asynchronous'" in " ".join(done.stderr.split())
    assert (folder / "mine.toml").read_text() == before


# ------------------------------------------------------------------- output --


INTERRUPTED_WITHIN_THE_SECOND_CELL = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also if the tests run in the background
from simrep.cli import main
from simrep.runs import batch
original, calls = batch.simulate, []

def simulate(*arguments):
    calls.append(arguments)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.SIGINT)
    return original(*arguments)

batch.simulate = simulate
main()
"""


def test_interrupting_ends_with_130_and_prints_what_is_finished(folder):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WITHIN_THE_SECOND_CELL, "reproduce", ".", "--json"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    content = json.loads(done.stdout)
    assert not content["complete"]
    assert len(content["cells"]) == 1
    assert "Traceback" not in done.stderr


def test_help_is_instant_because_it_imports_nothing_heavy():
    code = (
        "import sys; from typer.testing import CliRunner; from simrep.cli import app;"
        "done = CliRunner().invoke(app, ['run', '--help']); assert done.exit_code == 0;"
        "heavy = {'simpy', 'numpy', 'scipy', 'matplotlib', 'pandas'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version_is_that_of_the_package(simrep):
    said = simrep("--version").stdout.strip()
    assert re.fullmatch(r"simrep 0\.1\.0 \((compiled|interpreted), Python 3\.\d+\.\d+\)", said)


@pytest.mark.parametrize(
    "command", ["run", "reproduce", "models", "from-server", "calibrate", "schema"]
)
def test_every_command_shows_an_example(simrep, command):
    assert f"simrep {command}" in simrep(command, "--help").stdout.split("Usage:")[1][40:]
