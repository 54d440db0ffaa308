"""Experiments as files: what they may say, and that those that ship make sense to a simulation."""

import pytest

from simrep.errors import ScenarioError
from simrep.rig.delays import Link
from simrep.rig.experiment import Experiment, experiments, load_experiment
from simrep.rig.layout import Layout
from simrep.rig.load import Load

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
        ("threads = [501]", "at most 500"),
        ('vary = { "rows.x" = [1] }', "rows.x: is no key of a load"),
        ('vary = { "large.rows" = [1] }', "has no large to vary 'large.rows' in"),
        ("vary = { existing_rows = [1] }", "is a key of loads of update"),
        ('vary = { nodes = [["n1"]] }', "is a column of its own"),
        ('vary = { name = ["a"] }', "cannot be varied"),
        ("options = { wsrep-slave-threads = [1] }", "did you mean 'wsrep_slave_threads'"),
        ("options = { loose_wsrep_on = [1] }", "did you mean 'wsrep_on'"),
        ('options = { wsrep_provider_options = ["x=1"] }', "by their own names"),
        ("options = { tool = [1] }", "is a column of its own"),
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
    ("content", "message"),
    [
        ({}, "given none"),
        ({"transactions": 10, "per_client": 1}, "given transactions, per_client"),
        ({"transactions": 10, "rate_tps": 5}, "an open loop has a duration_s"),
        ({"tool": "sysbench", "duration_s": 5}, "belongs to sysbench, which needs one"),
        (
            {"tool": "sysbench", "script": "oltp_insert", "duration_s": 2.5},
            "sysbench takes whole numbers",
        ),
        ({"tool": "slap", "kind": "update", "transactions": 10}, "slap submits a number"),
        (
            {"tool": "slap", "rows": 2000, "value_bytes": 100, "transactions": 10},
            "takes its statement as an argument",
        ),
        ({"rows": 100_000, "value_bytes": 2000, "transactions": 10}, "at most 16 MB"),
        ({"tool": "slap", "transactions": 10, "nodes": ["n1", "n2"]}, "slap connects to one"),
        ({"tool": "slap", "large": {}}, "large: is a key of loads of driver"),
        ({"tool": "slap", "transactions": 10, "retry": True}, "is a key of loads of driver"),
        ({"transactions": 10, "existing_rows": 5}, "is a key of loads of update"),
        ({"kind": "update", "transactions": 10, "rows": 5}, "is a key of loads of insert"),
        ({"transactions": 10, "tables": 5}, "is a key of loads of sysbench"),
        ({"transactions": 4, "threads": 8}, "at least one for each of 8 threads"),
        (
            {"duration_s": 4, "rate_tps": 9, "threads": 3, "nodes": ["n1", "n2"]},
            "as many for each of 2 nodes",
        ),
    ],
)
def test_loads_that_contradict_themselves_are_refused(content, message):
    with pytest.raises(ValueError, match=message):
        Load.model_validate({"name": "odd"} | content)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../up", "should match pattern"),
        ("4/2", "should match pattern"),
        ("dataset", "is a file of every dataset"),
        ("10", "is a number to those who read the data"),
        ("nan", "is a number to those who read the data"),
    ],
)
def test_names_have_to_be_fit_for_files_and_columns(tmp_path, name, message):
    path = tmp_path / "small.toml"
    text = SMALL.format(grid="")
    for key in ("name", "system"):
        text = text.replace(f'{key} = "galera"', f'{key} = "{name}"')
    path.write_text(text)
    with pytest.raises(ScenarioError, match=message):
        load_experiment(path)


@pytest.mark.parametrize(
    ("system", "load", "message"),
    [
        ({"product": "semisync", "server": "mysql"}, {"nodes": ["n2"]}, "only n1 of s takes"),
        ({"product": "group_replication"}, {"nodes": ["n1", "n2"]}, "only n1 of s takes writes"),
        (
            {
                "product": "group_replication",
                "options": {"group_replication_single_primary_mode": "OFF"},
            },
            {"nodes": ["n1", "n2"]},
            None,
        ),
        ({"product": "galera"}, {"nodes": ["n3"]}, None),
        (
            {"product": "group_replication"},
            {"per_client": None, "kind": "update", "large": {"fragment_size": 9}},
            "only galera replicates fragments",
        ),
        (
            {"product": "galera"},
            {"per_client": None, "duration_s": 900.0},
            "would be cut off after 900 s",
        ),
    ],
)
def test_what_servers_would_refuse_is_refused_before(system, load, message):
    content = {
        "title": "",
        "question": "",
        "system": [{"name": "s"} | system],
        "layout": [{"name": "lan"}],
        "load": [{"name": "l", "threads": 2, "per_client": 1} | load],
        "grid": [{"system": "s", "layout": "lan", "load": "l"}],
    }
    if message is None:
        assert len(Experiment.model_validate(content).runs()) == 3
    else:
        with pytest.raises(ValueError, match=message):
            Experiment.model_validate(content)


def test_a_path_does_not_forget_what_an_earlier_one_gives():
    first = {"from": "*", "to": "n3", "rtt_ms": 85, "jitter_ms": 5, "loss": 0.01}
    for other, message in (
        ({"from": "n1", "to": "n3", "rtt_ms": 50}, "path.1.jitter_ms: is required"),
        ({"from": "n3", "to": "n1", "one_way_ms": 5, "jitter_ms": 1}, "path.1.loss"),
    ):
        with pytest.raises(ValueError, match=message):
            Layout.model_validate({"name": "odd", "path": [first, other]})
    for other in (
        {"from": "n1", "to": "n2", "rtt_ms": 50},
        {"from": "n1", "to": "n3", "rtt_ms": 50, "jitter_ms": 1, "loss": 0.5},
    ):
        Layout.model_validate({"name": "even", "path": [first, other]})


def test_a_part_is_of_systems_layouts_and_loads(tmp_path):
    whole = small(tmp_path)
    assert {run.cell.layout.name for run in whole.part(layouts=["slow"]).runs()} == {"slow"}
    assert len(whole.part(loads=["inserts"], repetitions=1).runs()) == 2
    with pytest.raises(ScenarioError, match="no layout 'slo'"):
        whole.part(layouts=["slo"])
    unused = whole.model_copy(
        update={"loads": (*whole.loads, Load(name="other", transactions=100))}
    )
    with pytest.raises(ScenarioError, match="--load: no cell is of all of them"):
        unused.part(loads=["other"])


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


def test_servers_and_products_have_to_fit():
    system = {"name": "odd", "product": "group_replication", "server": "mariadb"}
    with pytest.raises(ValueError, match="group_replication runs on mysql"):
        Experiment.model_validate({"title": "", "question": "", "system": [system]})
