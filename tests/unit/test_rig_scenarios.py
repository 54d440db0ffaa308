"""Measured cells as scenarios: what is read from a dataset is what was measured."""

import csv
import json
import subprocess
import sys
import tomllib
from dataclasses import asdict

import pytest

from simrep.contract.setup import setup_of
from simrep.data.dataset import load_dataset
from simrep.rig.cell import Run
from simrep.rig.columns import METRICS
from simrep.rig.dataset import write_dataset
from simrep.rig.experiment import Experiment, StoredExperiment, experiments, load_experiment
from simrep.rig.journal import Entry, Progress
from simrep.rig.load import Load, statement, statement_bytes
from simrep.rig.rows import as_csv, factor_columns
from simrep.rig.scenarios import (
    Figures,
    cell_scenario,
    client_costs,
    differences,
    model_version,
    run_of,
    simulated,
    workload_of,
)
from simrep.scenario import load, with_values

VERSIONS = {"mariadb": "11.8.9-MariaDB-4", "mysql": "9.7.4", "percona": "8.0.36-28.1"}
PARTS = ("cluster", "network", "workload", "run")


def stored(content):
    return StoredExperiment("made-up", Experiment.model_validate(content), "")


def made_up(experiment, folder, **columns):
    """A dataset each cell of which was measured once; its mean is the number of the cell."""
    cells = [cell for cell, _ in experiment.experiment.cells()]
    factors = experiment.experiment.factors()
    lines, clusters = [], {}
    for number, cell in enumerate(cells, 1):
        run = Run(cell, 1)
        row = {
            **factor_columns(run, factors),
            **dict.fromkeys(("attempt", "passed", "lasted_s"), 1),
            "failed_gates": "",
            "began": "2026-11-20T20:00:00Z",
            "committed": 10,
            "mean_s": number,
            "cpu_client": 0.01,
            **columns,
        }
        lines.append(json.dumps(asdict(Entry(run.id, 1, row))) + "\n")
        version = VERSIONS[cell.server]
        clusters[cell.cluster_key] = {"system": cell.system, "version": version, "layouts": {}}
    folder.mkdir()
    (folder / "runs.jsonl").write_text("".join(lines))
    (folder / "state.json").write_text(json.dumps({"clusters": clusters}))
    return Progress(experiment, folder), cells


def check(experiment, folder):
    """Every cell is one of the dataset, and simulated as what it was."""
    progress, cells = made_up(experiment, folder)
    write_dataset(progress)
    dataset = load_dataset(folder)
    drives = any(cell.load.tool == "driver" for cell in cells)
    measured = Figures(
        {cell.system: VERSIONS[cell.server] for cell in cells},
        client_us=1000.0 if drives else None,
    )
    seen = []
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        for one in dataset.cells[series.name]:
            number = int(one.values["mean_s"])
            cell = cells[number - 1]
            found = setup_of(with_values(base, one.settings)).scenario
            wanted = setup_of(load(cell_scenario(experiment.experiment, cell, measured))).scenario
            for part in PARTS:
                assert getattr(found, part) == getattr(wanted, part), (
                    cell.label,
                    part,
                    one.settings,
                )
            seen.append(number)
    assert sorted(seen) == list(range(1, len(cells) + 1))


CALM = [name for name in experiments() if not load_experiment(name).experiment.breaks]


@pytest.mark.parametrize("name", CALM)
def test_a_dataset_of_every_experiment_that_ships_simulates_what_was_measured(name, tmp_path):
    check(load_experiment(name), tmp_path / name)


AWKWARD = {
    "title": "Everything at once",
    "question": "?",
    "system": [
        {
            "name": "galera",
            "product": "galera",
            "options": {"wsrep_slave_threads": 4, "innodb_log_file_size": "512M"},
            "scenario": {
                "run": {"interval_s": 0.5},
                "workload": {"think_time_ms": 2.0},
                "network": {"rtt_ms": 0.3},
                "cluster": {"machine": {"cores": 2}, "costs": {"connect_us": 5.0}},
            },
        },
        {
            "name": "semisync",
            "product": "semisync",
            "server": "mysql",
            "nodes": 2,
            "options": {"sync_binlog": 0},
        },
    ],
    "variant": [{"name": "4/2", "options": {"evs.send_window": 4, "evs.user_send_window": 2}}],
    "layout": [
        {"name": "lan"},
        {"name": "far", "all_ms": 5, "path": [{"from": "n1", "to": "n2", "one_way_ms": 9}]},
    ],
    "load": [
        {"name": "timed", "duration_s": 3, "threads": 2},
        {"name": "fixed", "transactions": 10},
        {"name": "updates", "kind": "update", "per_client": 10},
        {"name": "bench", "tool": "sysbench", "script": "oltp_insert", "duration_s": 5},
        {"name": "slap", "tool": "slap", "transactions": 10},
    ],
    "grid": [
        {"system": ["galera", "semisync"], "layout": ["lan", "far"], "load": ["timed", "bench"]},
        {
            "system": "galera",
            "layout": "lan",
            "load": ["fixed", "slap"],
            "variant": ["", "4/2"],
            "threads": [1, 2],
            "vary": {"rows": [1, 3], "value_bytes": [5, 50]},
        },
        {
            "system": ["galera", "semisync"],
            "layout": "far",
            "load": "updates",
            "vary": {"existing_rows": [3, 30]},
        },
        {
            "system": ["galera", "semisync"],
            "layout": "lan",
            "load": "updates",
            "options": {"sync_binlog": [1000]},
        },
        {
            "system": "semisync",
            "layout": "lan",
            "load": "fixed",
            "options": {"binlog_group_commit_sync_delay": [1000], "log_replica_updates": [False]},
        },
    ],
}


def test_empty_columns_unknown_options_and_tables_of_a_system_are_no_obstacle(tmp_path):
    check(stored(AWKWARD), tmp_path / "awkward")
    content = tomllib.loads((tmp_path / "awkward" / "dataset.toml").read_text())
    unknown = {one["name"]: one["not_simulated"] for one in content["system"]}
    assert unknown == {"galera": ["innodb_log_file_size", "sync_binlog"], "semisync": []}
    text = (tmp_path / "awkward" / "data.csv").read_text()
    assert "sync_binlog=1000" in text
    assert content["factors"]["rows"] == {"path": "workload.class.0.rows", "optional": True}
    assert "value_bytes" not in content["factors"]


def test_rows_that_did_not_pass_and_saturated_loads_are_no_cells(tmp_path):
    content = AWKWARD | {
        "load": [
            {"name": "calm", "duration_s": 20, "rate_tps": 5, "threads": 4},
            {"name": "fixed", "transactions": 10},
        ],
        "grid": [{"system": "galera", "layout": "lan", "load": ["calm", "fixed"]}],
    }
    progress, _ = made_up(stored(content), tmp_path / "calm", lasted_s=20.4)
    write_dataset(progress)
    assert len(load_dataset(tmp_path / "calm").cells["galera"]) == 2
    progress, _ = made_up(stored(content), tmp_path / "full", lasted_s=22.0)
    write_dataset(progress)
    [cell] = load_dataset(tmp_path / "full").cells["galera"]
    assert cell.factors["load"] == "fixed"
    with (tmp_path / "calm" / "data.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    first["passed"] = 0
    (tmp_path / "calm" / "data.csv").write_text(as_csv([first, second]))
    dataset = tmp_path / "calm" / "dataset.toml"
    dataset.write_text(dataset.read_text().replace("passed = 1\n", ""))
    assert len(load_dataset(tmp_path / "calm").cells["galera"]) == 1


def test_the_tool_decides_whether_connecting_and_clients_count():
    slap = Load.model_validate({"name": "l", "tool": "slap", "transactions": 10})
    driver = Load.model_validate({"name": "l", "transactions": 10})
    bench = Load.model_validate(
        {"name": "l", "tool": "sysbench", "script": "oltp_insert", "duration_s": 5}
    )
    assert client_costs(slap, 150.0) == {}
    assert client_costs(driver, 150.0) == {"connect_us": 0.0, "client_us": 150.0}
    assert client_costs(bench, 150.0) == {"connect_us": 0.0}


@pytest.mark.parametrize(("rows", "value_bytes"), [(1, 5), (1, 6), (10, 5), (1000, 100)])
def test_the_length_of_an_insert_is_that_of_its_text(rows, value_bytes):
    chosen = Load.model_validate(
        {"name": "l", "per_client": 1, "rows": rows, "value_bytes": value_bytes}
    )
    assert statement_bytes(chosen) == len(statement(chosen).text)


def test_a_large_transaction_is_scheduled_on_its_node_and_told_in_the_same_words():
    chosen = Load.model_validate(
        {"name": "l", "kind": "update", "nodes": ["n2"], "large": {"fragment_size": 1000}}
    )
    [scheduled] = workload_of(chosen)["scheduled"]
    assert scheduled["node"] == "n2"
    assert scheduled["row_bytes"] == 140  # of 2 x 70, as measured
    assert scheduled["session"]["wsrep_trx_fragment_size"] == 1000
    assert run_of(chosen) == {"settle_s": 4.0, "interval_s": 0.2}
    arrivals = chosen.model_copy(update={"rate_tps": 1000.0})
    assert run_of(arrivals) == {"settle_s": 4.0, "interval_s": 0.2, "drain": True}
    plain = Load.model_validate({"name": "l", "kind": "update", "large": {}})
    assert "session" not in workload_of(plain)["scheduled"][0]
    results = {metric.column: metric.result for metric in METRICS}
    assert results["update_s"] == "scheduled.large.duration_s"
    assert results["payload_tps_during"] == "scheduled.large.during_tps"


def test_the_data_beside_a_large_transaction_are_its_table_which_fits_into_memory():
    experiment = load_experiment("streaming-large-transaction").experiment
    cell, _ = next(iter(experiment.cells()))
    cluster = cell_scenario(experiment, cell, Figures({}))["cluster"]
    # 2 million rows of two integers, 60 characters and 18 bytes of InnoDB, on pages 15/16 full.
    assert cluster["data_bytes"] == pytest.approx(2e6 * (8 + 60 + 18) * 16 / 15, abs=1)
    assert cluster["data_bytes"] < 512 * 2**20


@pytest.mark.parametrize(
    ("model", "server", "version", "chosen"),
    [
        ("galera", "mariadb", "11.8.9-MariaDB-4", "mariadb-11.8"),
        ("galera", "mariadb", "11.4.2-MariaDB", "mariadb-10.11"),
        ("galera", "mariadb", "13.1.0", "mariadb-11.8"),
        ("galera", "percona", "8.0.36-28.1", "pxc-8.0"),
        ("galera", "percona", "8.4.3-3.1", "pxc-8.0"),
        ("galera", "percona", "5.7.17-27.20", "pxc-5.7.16"),
        ("galera", "percona", "5.7.17-29.20", "pxc-5.7.17-29.20"),
        ("semisync", "mariadb", "11.4.2-MariaDB-log", "mariadb-10.11"),
        ("semisync", "mariadb", "10.6.18-MariaDB", "mariadb-10.11"),
        ("semisync", "mariadb", "", "mariadb-11.8"),
        ("semisync", "percona", "8.0.36", None),
        ("group_replication", "mysql", "9.7.4", "mysql-9"),
        ("group_replication", "mysql", "8.4.3", "mysql-8.4"),
    ],
)
def test_a_server_is_simulated_as_the_newest_known_version_of_its_kind(
    model, server, version, chosen
):
    assert model_version(model, server, version) == chosen


def test_options_are_simulated_if_the_model_has_them():
    options = {"log_slave_updates": "ON", "max_binlog_cache_size": 4096, "max_connections": 9}
    assert simulated("semisync", options) == {
        "log_slave_updates": "ON",
        "max_binlog_cache_size": 4096,
    }


def test_settings_that_are_simulated_otherwise_are_told():
    variables = {
        "wsrep_slave_threads": "4",
        "innodb_flush_log_at_trx_commit": "1",
        "wsrep_provider_options": "evs.send_window = 8; evs.keepalive_period = PT1S; gcs.fc_limit"
        " = 16; gcs.fc_factor = 1.0; gcs.fc_master_slave = no; ",
    }
    options = {"wsrep_slave_threads": 4, "innodb_buffer_pool_size": "1G"}
    assert differences("galera", "mariadb-11.8", options, variables) == {
        "evs.send_window": "8, simulated with 4"
    }


def test_datasets_are_written_without_a_driver_of_databases():
    code = "import sys; sys.modules['pymysql'] = None; import simrep.rig.dataset"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
