"""Datasets: rows, hashes, and columns that set the scenario of a cell."""

import csv
import gzip
import json
import tomllib

import pytest

from simrep.data.dataset import load_dataset
from simrep.data.definition import MetricTable, SeriesTable
from simrep.errors import ScenarioError
from simrep.rig import measure as measuring
from simrep.rig.campaign import Campaign
from simrep.rig.cell import column
from simrep.rig.columns import metrics
from simrep.rig.dataset import check_folder, experiment_of, write_dataset
from simrep.rig.errors import RigError
from simrep.rig.experiment import Experiment, StoredExperiment
from simrep.rig.journal import Progress
from simrep.rig.manifest import changes
from simrep.rig.rows import counter_growth, queue_column
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
    monkeypatch.setattr(measuring, "stolen_cpu_s", lambda: 0.0)
    monkeypatch.setattr(measuring.time, "sleep", lambda _s: None)
    world.events = iter([lambda world, _cluster: setattr(world, "view", 2)])
    stored = StoredExperiment("made-up", Experiment.model_validate(CONTENT), "title = 'Made up'\n")
    folder = tmp_path / "made-up"
    check_folder(stored, folder)
    campaign = Campaign(stored, world, folder)
    campaign.run()
    write_dataset(campaign)
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
    assert rows[0]["wsrep_local_bf_aborts"] == "2"  # asked for twice more after the begin
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
    assert {"data.csv", "dataset.toml", "runs.jsonl.gz", "galera.toml"} <= manifest["files"].keys()
    assert "runs.jsonl" not in manifest["files"]
    assert manifest["measured_with"][0].keys() >= {"simrep", "python"}
    assert [manifest["repeatability"][where]["cells"] for where in ("wan", "near")] == [4, 4]
    assert {one["figure"] for one in manifest["repeatability"]["wan"]["spread"].values()} == {
        "seconds"
    }
    assert sum(name.startswith("transactions/") for name in manifest["files"]) == 17
    assert changes(folder) == {}
    (folder / "data.csv").write_text((folder / "data.csv").read_text().replace("2.5", "2.4"))
    (folder / "galera.toml").unlink()
    (folder / "notes.md").touch()
    assert changes(folder) == {
        "data.csv": "changed",
        "galera.toml": "missing",
        "notes.md": "added",
    }
    with pytest.raises(RigError, match="no manifest"):
        changes(folder / "transactions")


def test_the_description_says_what_columns_are(measured):
    _, folder = measured
    content = tomllib.loads((folder / "dataset.toml").read_text())
    assert content["complete"] is True
    assert content["marked"] == 1
    [series] = [SeriesTable.model_validate(one) for one in content["series"]]
    assert series.where == {"system": "galera", "passed": 1, "saturated": 0}
    assert content["system"][0]["version"] == "11.8.9-MariaDB"
    assert content["system"][0]["model_version"] == "mariadb-11.8"
    metrics = [MetricTable.model_validate(metric) for metric in content["metric"]]
    columns = rows_of(folder)[0].keys()
    assert "mean_s" in {metric.column for metric in metrics}
    assert all(metric.column in columns for metric in metrics)
    assert set(content["factors"]) <= set(columns)


def test_what_the_rig_writes_is_read_like_any_other_dataset(measured):
    _, folder = measured
    dataset = load_dataset(folder)  # a column without a meaning would be told
    cells = dataset.cells["galera"]
    assert len(cells) == 8
    assert {cell.repetitions for cell in cells} == {2}
    assert {metric.column for metric in dataset.definition.metrics} >= {"seconds", "mean_s"}
    assert not {"throughput_tps", "p99_s"} & {m.column for m in dataset.definition.metrics}
    assert dataset.definition.systems[0].model_version == "mariadb-11.8"
    assert all((folder / "transactions" / f"{run}.csv.gz").is_file() for run in cells[0].runs)


def row(load, **figures):
    return {"load": load, "committed": 1000, "seconds": 1.0, "throughput_tps": 9.0, **figures}


def test_metrics_are_what_a_load_leaves_open():
    content = CONTENT | {
        "load": [
            {"name": "count", "transactions": 10},
            {"name": "time", "duration_s": 5},
            {"name": "rate", "duration_s": 5, "rate_tps": 50},
        ],
        "grid": [{"system": "galera", "layout": "lan", "load": ["count", "time", "rate"]}],
    }
    experiment = Experiment.model_validate(content)
    cells = [cell for cell, _ in experiment.cells()]
    rows = [row("count", p95_s=0.1), row("count"), row("time", committed=300), row("rate")]
    found = {table["column"]: table for table in metrics(cells, experiment.factors(), rows)}
    assert found["seconds"]["where"] == {"load": ["count"]}
    assert found["throughput_tps"]["where"] == {"load": ["time"]}
    assert found["p95_s"] == {
        "column": "p95_s",
        "result": "latency_s.p95",
        "unit": "s",
        "label": "95th percentile of the latency",
        "optional": True,
        "where": {"load": ["count"]},
    }
    rows = [row("time", p95_s=0.1, committed=399), row("time", p95_s=0.1, committed=9000)]
    found = {table["column"]: table for table in metrics(cells, experiment.factors(), rows)}
    assert found.keys() == {"throughput_tps"}  # 19 are no tail
    assert "where" not in found["throughput_tps"]


def test_options_of_a_row_stand_in_columns_without_dots():
    assert column("evs.send_window") == "evs_send_window"
    assert column("large.fragment_size") == "large_fragment_size"


def test_growth_of_counters_leaves_out_what_did_not_grow_and_what_is_no_number():
    before = {"n1": {"commits": "5", "state": "Synced", "same": "3", "queue_avg": "0.5"}}
    after = {
        "n1": {"commits": "9", "state": "Donor", "same": "3", "new": "1", "queue_avg": "nan"},
        "n2": {"commits": "4"},
    }
    assert counter_growth(before, after) == {"n1": {"commits": 4.0}}


def test_the_queue_at_the_end_is_that_of_the_node_that_is_farthest_behind():
    counters = {"n1": {"wsrep_local_recv_queue": "0"}, "n2": {"wsrep_local_recv_queue": "7"}}
    assert queue_column("galera", counters) == {"queue_at_end": 7}
    assert queue_column("semisync", counters) == {"queue_at_end": ""}
    assert queue_column("group_replication", {"n1": {}}) == {"queue_at_end": ""}


def test_a_folder_with_something_else_is_refused(measured, tmp_path):
    stored, folder = measured
    check_folder(stored, folder)
    other = StoredExperiment("other", stored.experiment, stored.text)
    with pytest.raises(ScenarioError, match="dataset of experiment 'made-up'"):
        check_folder(other, folder)
    (folder / "dataset.toml").write_text("title = ")
    with pytest.raises(ScenarioError, match="is not valid TOML"):
        check_folder(stored, folder)
    (folder / "dataset.toml").unlink()
    less = CONTENT | {"load": [{"name": "inserts", "transactions": 11}]}
    edited = StoredExperiment("other", Experiment.model_validate(less), stored.text)
    for path in folder.iterdir():
        if path.is_file() and path.name != "runs.jsonl":
            path.unlink()
    with pytest.raises(ScenarioError, match="holds runs of another experiment"):
        check_folder(edited, folder)
    check_folder(stored, folder)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(ScenarioError, match="holds other files"):
        check_folder(stored, tmp_path / "full")


def test_files_are_written_anew_from_what_the_dataset_holds(measured, tmp_path):
    stored, folder = measured
    names = ("data.csv", "dataset.toml", "galera.toml", "runs.jsonl.gz", "state.json.gz")
    before = {name: (folder / name).read_bytes() for name in names}
    for name in ("runs.jsonl", "state.json", "data.csv", "galera.toml"):
        (folder / name).unlink()
    again = Progress(stored, folder)
    assert len(again.entries()) == 17
    assert not again.missing
    write_dataset(again)
    assert {name: (folder / name).read_bytes() for name in names} == before
    assert not (folder / "runs.jsonl").exists()
    again.journal.add(again.journal.entries[0])
    assert len((folder / "runs.jsonl").read_text().splitlines()) == 18


def test_nothing_is_written_of_a_campaign_that_measured_nothing(tmp_path):
    stored = StoredExperiment("made-up", Experiment.model_validate(CONTENT), "")
    check_folder(stored, tmp_path / "new")
    write_dataset(Progress(stored, tmp_path / "new"))
    assert list((tmp_path / "new").iterdir()) == []


def test_a_folder_says_what_it_is_of(measured, tmp_path):
    _, folder = measured
    (folder / "experiment.toml").unlink()
    with pytest.raises(ScenarioError, match="'made-up' is no experiment"):
        experiment_of(folder)
    assert experiment_of(folder, "smoke").name == "smoke"
    (tmp_path / "smoke").mkdir()
    assert experiment_of(tmp_path / "smoke").name == "smoke"
    with pytest.raises(ScenarioError, match="is no folder"):
        experiment_of(tmp_path / "none")


def test_a_journal_of_another_version_is_told(measured):
    stored, folder = measured
    path = folder / "runs.jsonl"
    first, second, *others = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first, '{"id": "x", "kind": 1}\n', second, *others]))
    with pytest.raises(RigError, match=r"runs\.jsonl:2 is not an entry of this version"):
        Progress(stored, folder)
    path.write_text(first)
    for text in ("{", "[]", "[" * 100_000, "9" * 5_000):
        (folder / "state.json").write_text(text)
        with pytest.raises(RigError, match=r"state\.json cannot be read"):
            Progress(stored, folder)
