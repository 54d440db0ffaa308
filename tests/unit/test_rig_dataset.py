"""Datasets: rows, hashes, and columns that set the scenario of a cell."""

import csv
import gzip
import json
import tomllib

import pytest

from simrep.errors import ScenarioError
from simrep.experiment.dataset import Factor, Metric
from simrep.rig import measure as measuring
from simrep.rig.campaign import Campaign
from simrep.rig.dataset import changed_files, check_folder, write_dataset
from simrep.rig.experiment import Experiment, StoredExperiment, experiments, load_experiment
from simrep.rig.gates import Gate
from simrep.rig.journal import Entry
from simrep.rig.repeatability import measuring_s, repeatability
from simrep.rig.rows import column, counter_growth, factor_columns
from simrep.rig.scenarios import cell_scenario, factor_paths
from simrep.scenario import load, with_values
from tests.fake_cluster import World

CONTENT = {
    "title": "Made up",
    "question": "Does it run?",
    "repetitions": 2,
    "system": [{"name": "galera", "product": "galera"}],
    "layout": [{"name": "lan"}, {"name": "slow", "egress_ms": {"n3": 50}}],
    "load": [{"name": "inserts", "transactions": 10}],
    "grid": [
        {
            "system": "galera",
            "layout": ["lan", "slow"],
            "load": "inserts",
            "threads": [1, 2],
            "options": {"evs.send_window": [4, 512]},
        }
    ],
}


@pytest.fixture
def measured(monkeypatch, tmp_path):
    world = World()
    monkeypatch.setattr(measuring, "run_load", world.run_load)
    monkeypatch.setattr(measuring, "wait_for_quiet", lambda *_: 0.0)
    monkeypatch.setattr(measuring, "busy_cpu_s", lambda: 0.0)
    monkeypatch.setattr(measuring.time, "sleep", lambda _s: None)
    world.events = iter([lambda world, _cluster: setattr(world, "view", 2)])
    stored = StoredExperiment("made-up", Experiment.model_validate(CONTENT), "title = 'Made up'\n")
    folder = tmp_path / "made-up"
    check_folder(stored, folder)
    campaign = Campaign(stored, world, folder)
    campaign.run()
    write_dataset(stored, campaign)
    return stored, folder


def rows_of(folder):
    with (folder / "data.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_data_have_a_row_per_attempt_and_marks(measured):
    _, folder = measured
    rows = rows_of(folder)
    assert len(rows) == 17
    marked = [row for row in rows if row["passed"] == "0"]
    assert [row["failed_gates"] for row in marked] == ["same members"]
    assert {(row["evs_send_window"], row["layout"], row["threads"]) for row in rows} == {
        (window, layout, threads)
        for window in ("4", "512")
        for layout in ("lan", "slow")
        for threads in ("1", "2")
    }
    assert rows[0]["wsrep_local_bf_aborts"] == "1"
    with gzip.open(folder / "transactions" / f"{rows[0]['run']}.a1.csv.gz", "rt") as file:
        assert len(list(csv.DictReader(file))) == 10


def test_the_manifest_tells_what_was_changed_afterwards(measured):
    _, folder = measured
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["gates"]["passed"] == 16
    assert [one["gates"] for one in manifest["gates"]["marked"]] == [
        {"same members": "changed: view"}
    ]
    assert manifest["machine"]["cpu"] == "made up"
    assert {"data.csv", "dataset.toml", "runs.jsonl", "galera.toml"} <= manifest["files"].keys()
    assert sum(name.startswith("transactions/") for name in manifest["files"]) == 17
    assert changed_files(folder) == []
    (folder / "data.csv").write_text((folder / "data.csv").read_text().replace("2.5", "2.4"))
    (folder / "galera.toml").unlink()
    assert sorted(changed_files(folder)) == ["data.csv", "galera.toml"]


def test_the_description_is_in_the_words_of_a_dataset(measured):
    _, folder = measured
    content = tomllib.loads((folder / "dataset.toml").read_text())
    assert content["complete"] is True
    assert content["marked"] == 1
    assert content["series"][0]["where"] == {"system": "galera", "passed": 1}
    assert content["series"][0]["version"] == "11.8.9-MariaDB"
    metrics = [Metric.model_validate(metric) for metric in content["metric"]]
    columns = rows_of(folder)[0].keys()
    assert "mean_s" in {metric.column for metric in metrics}
    assert all(metric.column in columns for metric in metrics)
    assert set(content["factors"]) <= set(columns)


def applied(base, factors, row):
    """The scenario of a row: what a dataset makes of its columns."""
    settings = {}
    for name, factor in factors.items():
        if row[name] != "":
            table = {"path": factor} if isinstance(factor, str) else factor
            settings |= Factor.model_validate(table).settings(row[name])
    return with_values(base, settings)


def test_the_columns_of_every_row_set_the_scenario_of_its_cell(measured):
    stored, folder = measured
    content = tomllib.loads((folder / "dataset.toml").read_text())
    base = load(folder / "galera.toml")
    cells = {cell.key: cell for cell, _ in stored.experiment.cells()}
    for text in rows_of(folder):
        row = {name: int(v) if v.isdigit() else v for name, v in text.items()}
        cell = cells[text["run"].rpartition(".")[0]]
        wanted = load(cell_scenario(stored.experiment, cell, version="11.8.9", base_rtt_ms=0.1))
        found = applied(base, content["factors"], row)
        for part in ("cluster", "network", "workload", "run"):
            assert getattr(found, part) == getattr(wanted, part), (text["run"], part)


@pytest.mark.parametrize("name", experiments())
def test_so_do_those_of_all_experiments_that_ship(name):
    experiment = load_experiment(name).experiment
    factors = factor_paths(experiment, [cell for cell, _ in experiment.cells()], 0.1)
    bases = {}
    for run in experiment.runs():
        cell = run.cell
        base = bases.setdefault(cell.system, load(cell_scenario(experiment, cell)))
        row = factor_columns(run, experiment.factors())
        found = applied(base, factors, row)
        wanted = load(cell_scenario(experiment, cell))
        assert found.workload == wanted.workload, run.id
        assert found.network == wanted.network, run.id


def entry(cell, repetition, seconds, *, failed=()):
    return Entry(f"{cell}.r{repetition}", 1, {"seconds": seconds}, failed, {}, {"wall_s": 2.0})


def test_cells_are_repeatable_if_all_that_passed_lie_near_their_median():
    odd = (Gate("alone", passed=False),)
    entries = [
        *(entry("a", number, seconds) for number, seconds in enumerate((1.0, 1.04, 0.97))),
        *(entry("b", number, seconds) for number, seconds in enumerate((1.0, 1.2))),
        entry("c", 1, 1.0),
        entry("c", 2, 9.0, failed=odd),
        entry("d", 1, ""),
    ]
    found = repeatability(entries)
    assert (found.cells, found.near) == (2, 1)
    assert found.spread == {"a": pytest.approx(0.04), "b": pytest.approx(0.1 / 1.1, abs=1e-4)}
    assert measuring_s(entries) == 16.0


def test_options_of_a_row_stand_in_columns_without_dots():
    assert column("evs.send_window") == "evs_send_window"
    assert column("large.fragment_size") == "large_fragment_size"


def test_growth_of_counters_leaves_out_what_did_not_grow_and_what_is_no_number():
    before = {"n1": {"commits": "5", "state": "Synced", "same": "3"}}
    after = {
        "n1": {"commits": "9", "state": "Donor", "same": "3", "new": "1"},
        "n2": {"commits": "4"},
    }
    assert counter_growth(before, after) == {"n1": {"commits": 4.0}}


def test_a_folder_with_something_else_is_refused(measured, tmp_path):
    stored, folder = measured
    check_folder(stored, folder)
    other = StoredExperiment("other", stored.experiment, stored.text)
    with pytest.raises(ScenarioError, match="dataset of experiment 'made-up'"):
        check_folder(other, folder)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(ScenarioError, match="holds other files"):
        check_folder(stored, tmp_path / "full")
