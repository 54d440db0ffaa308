"""Experiments as files: what they may say, and that those that ship make sense to a simulation."""

import pytest

from simrep.errors import ScenarioError
from simrep.rig.delays import Link
from simrep.rig.experiment import Experiment, experiments, load_experiment
from simrep.rig.layout import Layout
from simrep.rig.load import Load
from simrep.rig.scenarios import cell_scenario, model_version
from simrep.scenario import load

VERSIONS = {"mariadb": "11.8.9-MariaDB-4", "mysql": "9.7.4", "percona": "8.4.3-3"}

SMALL = """
title = "Small"
question = "?"

[[system]]
name = "galera"
product = "galera"
options = {{ wsrep_slave_threads = 4 }}

[[variant]]
name = "wide"
options = {{ "evs.send_window" = 512, "evs.user_send_window" = 512 }}

[[layout]]
name = "lan"

[[layout]]
name = "slow"
egress_ms = {{ n3 = 50 }}

[[load]]
name = "inserts"
transactions = 100

[[grid]]
system = "galera"
layout = ["lan", "slow"]
load = "inserts"
{grid}
"""


def small(tmp_path, grid=""):
    path = tmp_path / "small.toml"
    path.write_text(SMALL.format(grid=grid))
    return load_experiment(path).experiment


def test_a_grid_is_every_combination_of_what_it_lists(tmp_path):
    grid = """
variant = ["", "wide"]
threads = [1, 4, 16]
options = { wsrep_slave_threads = [1, 8] }
vary = { rows = [1, 10] }
"""
    cells = [cell for cell, _ in small(tmp_path, grid).cells()]
    assert len(cells) == len({cell.key for cell in cells}) == 2 * 2 * 3 * 2 * 2
    assert {cell.load.threads for cell in cells} == {1, 4, 16}
    assert {cell.load.rows for cell in cells} == {1, 10}
    wide = [cell for cell in cells if cell.variant == "wide"]
    assert all(cell.options["evs.send_window"] == 512 for cell in wide)
    assert {cell.options["wsrep_slave_threads"] for cell in cells} == {1, 8}


def test_a_cell_that_two_grids_name_is_one_with_the_larger_number_of_repetitions(tmp_path):
    more = """
repetitions = 5

[[grid]]
system = "galera"
layout = "lan"
load = "inserts"
repetitions = 2
"""
    found = [(cell.layout.name, count) for cell, count in small(tmp_path, more).cells()]
    assert found == [("lan", 5), ("slow", 5)]


def test_names_of_runs_do_not_depend_on_what_else_there_is(tmp_path):
    one = {run.id for run in small(tmp_path).runs()}
    more = {run.id for run in small(tmp_path, "threads = [1, 2]").runs()}
    assert one < more
    assert len(one) == 6


def test_runs_of_a_cluster_and_of_a_layout_stand_together(tmp_path):
    runs = small(tmp_path, 'variant = ["", "wide"]\nthreads = [1, 2]').runs()
    order = [(run.cell.variant, run.cell.layout.name) for run in runs]
    assert list(dict.fromkeys(order)) == [
        ("", "lan"),
        ("", "slow"),
        ("wide", "lan"),
        ("wide", "slow"),
    ]
    assert order == sorted(order, key=lambda pair: (pair[0] != "", pair[1] != "lan"))


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ('variant = ["wid"]', "no variant 'wid'"),
        ("thread = [1]", "unknown key"),
        ("vary = { row = [1] }", "row"),
        ("vary = { rows = [0] }", "at least 1"),
        ("threads = [200]", "at least one for each of 200 threads"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, grid, message):
    with pytest.raises(ScenarioError, match=message):
        small(tmp_path, grid)


def test_nodes_that_a_cluster_does_not_have_are_told(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL.format(grid="").replace("n3 = 50", "n4 = 50"))
    with pytest.raises(ScenarioError, match="no node 'n4'"):
        load_experiment(path)
    with pytest.raises(ScenarioError, match="neither an experiment nor a file"):
        load_experiment("wan-concurency")


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"transactions": 10, "per_client": 1},
        {"transactions": 10, "rate_tps": 5},
        {"tool": "sysbench", "duration_s": 5},
        {"tool": "slap", "kind": "update", "transactions": 10},
        {"tool": "slap", "rows": 2000, "value_bytes": 100, "transactions": 10},
        {"tool": "slap", "transactions": 10, "nodes": ["n1", "n2"]},
        {"tool": "slap", "large": {}},
        {"transactions": 4, "threads": 8},
    ],
)
def test_loads_that_contradict_themselves_are_refused(content):
    with pytest.raises(ValueError, match="validation error"):
        Load.model_validate({"name": "odd"} | content)


def test_a_layout_is_a_matrix_of_delays():
    names = ("n1", "n2", "n3")
    slow = Layout(name="slow", egress_ms={"n3": 50}).matrix(names)
    assert {pair: link.delay_ms for pair, link in slow.links.items()} == {
        ("n3", "n1"): 50,
        ("n3", "n2"): 50,
    }
    content = {
        "name": "mixed",
        "all_ms": 5,
        "path": [
            {"from": "n1", "to": "n3", "one_way_ms": 40},
            {"from": "n2", "to": "n3", "rtt_ms": 30, "jitter_ms": 2, "loss": 0.01},
        ],
    }
    mixed = Layout.model_validate(content).matrix(names)
    assert mixed.link("n1", "n3") == Link(40)
    assert mixed.link("n3", "n1") == Link(5)
    assert mixed.link("n2", "n3") == mixed.link("n3", "n2") == Link(15, 2, 0.01)
    assert Layout(name="lan").matrix(names).links == {}


@pytest.mark.parametrize("name", experiments())
def test_every_cell_that_ships_is_a_scenario(name):
    experiment = load_experiment(name).experiment
    for cell, _ in experiment.cells():
        content = cell_scenario(experiment, cell, version=VERSIONS[cell.server])
        scenario = load(content)
        assert scenario.cluster.version in {"mariadb-11.8", "mysql-9"}
        assert scenario.node_names == cell.node_names
        assert scenario.workload.clients == (0 if cell.load.rate_tps else cell.load.threads)


def test_the_experiments_cover_what_separates_mechanisms():
    assert {
        "smoke",
        "wan-concurrency",
        "semisync-wan",
        "streaming-large-transaction",
        "symmetric-sites",
        "writer-on-slow-node",
        "galera-windows",
        "concurrency",
        "cluster-size",
        "conflicts",
        "writeset-size",
        "applier-threads",
        "flow-control",
        "durability",
    } <= set(experiments())


def test_server_versions_are_those_of_the_models():
    assert model_version("galera", "mariadb", "11.8.9-MariaDB-4") == "mariadb-11.8"
    assert model_version("galera", "percona", "8.0.36-28.1") == "pxc-8.0"
    assert model_version("group_replication", "mysql", "9.7.4") == "mysql-9"
    assert model_version("group_replication", "mysql", "8.4.3") == "mysql-8.4"
    assert model_version("galera", "mariadb", "13.1.0") is None
    assert model_version("galera", "mariadb", "unknown") is None


def test_servers_and_products_have_to_fit():
    system = {"name": "odd", "product": "group_replication", "server": "mariadb"}
    with pytest.raises(ValueError, match="group_replication runs on mysql"):
        Experiment.model_validate({"title": "", "question": "", "system": [system]})
