"""Faults in experiment files: what they may say, do to links, and how they are simulated."""

import pytest

from simrep.contract.setup import setup_of
from simrep.rig.delays import Link
from simrep.rig.experiment import Experiment, load_experiment
from simrep.rig.fault_scenarios import fault_scenario
from simrep.rig.faults import Act, acts, hit, links_at, relayed
from simrep.rig.layout import Layout
from simrep.rig.proxy import configuration
from simrep.rig.scenarios import Figures
from simrep.scenario import Scenario
from simrep.scenario.proxy import ProxyTable

KILL = [
    {"what": "kill", "node": "n3", "at_s": 5.0},
    {"what": "restart", "node": "n3", "at_s": 15.0},
]
NAMES = ("n1", "n2", "n3")


def content(faults=(), load=None, **changes):
    return {
        "title": "Made up",
        "question": "?",
        "system": [{"name": "s", "product": "galera"}],
        "layout": [{"name": "lan"}],
        "load": [{"name": "l", "duration_s": 20.0, "fault": list(faults)} | (load or {})],
        "grid": [{"system": "s", "layout": "lan", "load": "l"}],
    } | changes


def only_load(given):
    [(cell, _)] = Experiment.model_validate(given).cells()
    return cell.load


def faults_of(*faults, **load):
    return only_load(content(faults, load)).fault


def test_faults_of_the_experiment_happen_in_every_load():
    given = content([KILL[1]], fault=[KILL[0]])
    assert [fault.what for fault in only_load(given).fault] == ["kill", "restart"]


def test_what_is_done_when():
    faults = faults_of(
        {"what": "pause", "node": "n2", "at_s": 2.0, "until_s": 4.0},
        {"what": "cut", "node": "n3", "at_s": 3.0, "until_s": 6.0},
        {"what": "kill", "node": "n1", "at_s": 1.0},
    )
    assert acts(faults, NAMES) == (
        Act(1.0, "kill", "n1"),
        Act(2.0, "stop", "n2"),
        Act(3.0, "links"),
        Act(4.0, "continue", "n2"),
        Act(6.0, "links"),
    )
    assert hit(faults, NAMES) == {"n1", "n2", "n3"}


@pytest.mark.parametrize(
    ("fault", "cut"),
    [
        ({"node": "n3"}, {("n1", "n3"), ("n3", "n1"), ("n2", "n3"), ("n3", "n2")}),
        ({"node": "n3", "others": ["n1"]}, {("n1", "n3"), ("n3", "n1")}),
        ({"node": "n3", "others": ["n1"], "direction": "out"}, {("n3", "n1")}),
        ({"node": "n3", "direction": "in"}, {("n1", "n3"), ("n2", "n3")}),
        ({"nodes": ["n1", "n2"]}, {("n1", "n3"), ("n3", "n1"), ("n2", "n3"), ("n3", "n2")}),
    ],
)
def test_links_that_a_fault_cuts_pass_by_the_relay_all_the_time(fault, cut):
    faults = faults_of({"what": "cut", "at_s": 3.0, "until_s": 6.0} | fault)
    layout = Layout(name="slow", egress_ms={"n3": 50}).matrix(NAMES)
    assert relayed(faults, NAMES) == cut
    for at_s, loss in ((-1.0, 0.0), (3.0, 1.0), (5.9, 1.0), (6.0, 0.0)):
        matrix = links_at(layout, faults, at_s)
        for pair in cut:
            late_ms = 50 if pair[0] == "n3" else 0
            assert matrix.link(*pair) == Link(late_ms, loss=loss, relayed=True)
        for pair in {("n1", "n2"), ("n2", "n1")} - cut:
            assert matrix.link(*pair).plain


def test_loss_and_jitter_come_on_top():
    faults = faults_of(
        {"what": "loss", "node": "n3", "others": ["n1"], "loss": 0.5, "at_s": 1.0},
        {"what": "jitter", "node": "n3", "others": ["n1"], "direction": "out", "at_s": 1.0,
         "jitter": {"kind": "uniform", "mean_ms": 2, "sd_ms": 2}},
    )  # fmt: skip
    layout = Layout(name="lossy", path=[{"from": "n3", "to": "n1", "one_way_ms": 1, "loss": 0.5}])
    matrix = links_at(layout.matrix(NAMES), faults, 2.0)
    assert matrix.link("n3", "n1") == Link(3, 2, 0.75, relayed=True)
    assert matrix.link("n1", "n3") == Link(loss=0.5, relayed=True)


def test_a_node_without_power_is_cut_off_until_it_is_started():
    faults = faults_of({"what": "power-loss", "node": "n2", "at_s": 5.0})
    layout = Layout(name="lan").matrix(NAMES)
    silent = links_at(layout, faults, 9.0, {"n2"})
    assert all(silent.link("n2", other).loss == 1.0 for other in ("n1", "n3"))
    assert links_at(layout, faults, 9.0).link("n2", "n1") == Link(relayed=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            content([{"what": "slow", "node": "n1", "at_s": 1, "cpu_factor": 2}]),
            "no server's code is slow alone",
        ),
        (content([{"what": "promote", "node": "n2", "at_s": 1}]), "operator's decisions"),
        (content([{"what": "kill", "node": "n9", "at_s": 1}]), "there is no node 'n9'"),
        (content([{"what": "kill", "host": "n1", "at_s": 1}]), "host of the rig has one server"),
        (content([{"what": "kill", "node": "n1", "at_s": 20}]), "not before the end of the load"),
        (content([{"what": "cut", "node": "n1", "at_s": 1, "until_s": 30}]), "after the end of"),
        (content([KILL[1]]), "restart: n3 runs"),
        (content([KILL[0], {"what": "leave", "node": "n3", "at_s": 7}]), "leave: n3 is down"),
        (
            content(
                [
                    {"what": "pause", "node": "n3", "at_s": 1, "until_s": 9},
                    {"what": "kill", "node": "n3", "at_s": 5},
                ]
            ),
            "stopped until 9 s",
        ),
        (
            content(
                [
                    {
                        "what": "jitter",
                        "node": "n3",
                        "at_s": 1,
                        "jitter": {"kind": "uniform", "sd_ms": 5},
                    }
                ]
            ),
            "would make packets early",
        ),
        (
            content(
                [
                    {
                        "what": "jitter",
                        "node": "n3",
                        "at_s": 1,
                        "jitter": {"kind": "normal", "sd_ms": 5},
                    }
                ]
            ),
            "draws delays evenly",
        ),
        (
            content([{**KILL[1], "at_s": 9, "transfer_s": 3}, {**KILL[0], "at_s": 1}]),
            "servers make",
        ),
        (
            content(KILL, {"tool": "slap", "duration_s": None, "per_client": 9}),
            "insert single rows",
        ),
        (content(KILL, {"duration_s": None, "per_client": 9}), "closed loop with a duration_s"),
        (content(KILL, {"group": [{"name": "A", "node": "n7"}]}), "there is no node 'n7'"),
        (content(KILL, {"group": [{"name": "A", "node": "n1", "reads": True}]}), "nobody writes"),
        (
            content(KILL, {"group": [{"name": "A", "node": "n1"}, {"name": "A", "node": "n2"}]}),
            "two groups 'A'",
        ),
        (
            content(
                KILL,
                {"group": [{"name": "A", "node": "n1", "on_error": "next"}]},
                system=[{"name": "s", "product": "semisync", "server": "mysql"}],
            ),
            "nobody promotes it",
        ),
        (content((), {"group": [{"name": "A", "node": "n1"}]}), "are for loads with faults"),
        (
            {
                **content(),
                "load": [
                    {"name": "l", "duration_s": 20.0, "fault": KILL},
                    {"name": "calm", "duration_s": 20.0},
                ],
                "grid": [{"system": "s", "layout": "lan", "load": ["l", "calm"]}],
            },
            "give each kind a file",
        ),
    ],
)
def test_what_the_rig_cannot_play_is_refused_with_its_place(given, message):
    with pytest.raises(ValueError, match=message):
        Experiment.model_validate(given)


def test_clients_without_groups_are_spread_over_the_nodes():
    load = only_load(content(KILL, {"nodes": ["n1", "n2"], "threads": 5}))
    assert [(group.name, group.node, group.threads) for group in load.groups] == [
        ("A", "n1", 3),
        ("B", "n2", 2),
    ]
    assert load.clients == 5


@pytest.mark.parametrize("name", ["galera-crash", "galera-silence", "smoke-faults"])
def test_what_ships_is_a_scenario_with_the_same_faults(name):
    experiment = load_experiment(name).experiment
    for cell, _ in experiment.cells():
        table = fault_scenario(experiment, cell, Figures({cell.system: "11.8.9-MariaDB"}))
        scenario = setup_of(Scenario.model_validate(table)).scenario
        assert [(f.what, f.at_s) for f in scenario.faults] == [
            (f.what, f.at_s) for f in cell.load.fault
        ]
        assert scenario.cluster.shared_host is (cell.load.name != "power-loss")
        assert scenario.workload.group_names == tuple(g.name for g in cell.load.groups)
        assert scenario.run.duration_s == cell.load.duration_s


def test_readers_are_a_class_of_their_own():
    groups = [
        {"name": "A", "node": "n1", "on_error": "next", "nodes": ["n1", "n3"], "threads": 2},
        {"name": "R3", "node": "n3", "reads": True, "threads": 1, "read_timeout_s": 5.0},
    ]
    experiment = Experiment.model_validate(content(KILL, {"group": groups}))
    [(cell, _)] = experiment.cells()
    scenario = Scenario.model_validate(fault_scenario(experiment, cell, Figures({})))
    assert [group.classes for group in scenario.workload.groups] == [("insert",), ("read",)]
    assert scenario.workload.groups[0].clients.nodes == ("n1", "n3")
    assert scenario.workload.groups[1].clients.read_timeout_s == 5.0
    assert not scenario.workload.classes[1].writes


LOCK = {"what": "flush-tables-with-read-lock", "node": "n3", "at_s": 4.0, "until_s": 9.0}
ALTER = {"node": "n1", "at_s": 2.0, "kind": "inplace", "rows": 1000, "class": []}


def test_operations_are_done_and_taken_back_beside_faults():
    load = only_load(content(KILL, {"maintenance": [LOCK], "ddl": [ALTER]}))
    assert [(act.at_s, act.what, act.node) for act in acts(load.fault, NAMES, load.operations)] == [
        (2.0, "operate", "n1"),
        (4.0, "operate", "n3"),
        (5.0, "kill", "n3"),
        (9.0, "take-back", "n3"),
        (15.0, "restart", "n3"),
    ]
    assert load.first_s == 2.0


def test_operations_alone_are_a_load_that_breaks_and_its_scenario_has_them():
    experiment = Experiment.model_validate(content((), {"maintenance": [LOCK], "ddl": [ALTER]}))
    assert experiment.breaks
    [(cell, _)] = experiment.cells()
    scenario = Scenario.model_validate(fault_scenario(experiment, cell, Figures({})))
    [lock] = scenario.maintenance
    [ddl] = scenario.workload.ddl
    assert (lock.what, lock.node, lock.end_s) == ("flush-tables-with-read-lock", "n3", 9.0)
    assert (ddl.kind, ddl.rows, ddl.classes) == ("inplace", 1000, ())


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({"maintenance": [{**LOCK, "node": "n9"}]}, "there is no node 'n9'"),
        ({"maintenance": [{**LOCK, "until_s": 30.0}]}, "after the end of the load"),
        ({"ddl": [{**ALTER, "method": "NBO"}]}, "NBO is of Percona"),
        ({"ddl": [{name: ALTER[name] for name in ALTER if name != "class"}]}, "no client uses"),
        ({"ddl": [ALTER, {**ALTER, "rows": 7}]}, "one table that is changed"),
        ({"proxy": {"like": "proxysql"}, "maintenance": [LOCK]}, "Debian has no package"),
        ({"proxy": {"fall": 2}, "maintenance": [LOCK]}, "counts failures of both kinds alike"),
        ({"proxy": {"rise": 1, "split": True}, "maintenance": [LOCK]}, "split: is not played"),
    ],
)
def test_operations_and_proxies_that_the_rig_cannot_play_are_refused(load, message):
    with pytest.raises(ValueError, match=message):
        Experiment.model_validate(content((), load))


def test_nodes_have_options_of_their_own_and_arbitrators_no_data():
    nodes = [
        {"name": "n2", "options": {"gmcast.segment": 1, "wsrep_slave_threads": 2}},
        {"name": "n3", "arbitrator": True},
    ]
    system = [{"name": "s", "product": "galera", "node": nodes}]
    kill = {"what": "kill", "node": "n3", "at_s": 5.0}
    experiment = Experiment.model_validate(content([kill], system=system))
    [(cell, _)] = experiment.cells()
    plain = only_cell(content([kill]))
    assert cell.cluster_key != plain.cluster_key
    assert plain.cluster_key == '["s", "galera", "mariadb", 3, {}]'  # names of former runs hold
    scenario = Scenario.model_validate(fault_scenario(experiment, cell, Figures({})))
    segments = [(one.name, one.segment, one.arbitrator) for one in scenario.nodes]
    assert segments == [("n1", 0, False), ("n2", 1, False), ("n3", 0, True)]
    with pytest.raises(ValueError, match="an arbitrator is not started again"):
        Experiment.model_validate(content(KILL, system=system))
    group = [{"name": "A", "node": "n1"}, {"name": "B", "node": "n3"}]
    with pytest.raises(ValueError, match="n3 is an arbitrator: it has no data"):
        Experiment.model_validate(content([kill], {"group": group}, system=system))


def only_cell(given):
    [(cell, _)] = Experiment.model_validate(given).cells()
    return cell


def test_haproxy_checks_the_servers_as_the_table_says():
    table = ProxyTable(check_s=1.5, rise=1, on_marked_down="close", on_fail_back="close")
    lines = configuration(table, {"n1": "10.0.0.1", "n2": "10.0.0.2"}, "/data/p").splitlines()
    checks = "check port 9200 inter 1500ms fall 3 rise 1 on-marked-down shutdown-sessions"
    assert f"  default-server {checks}" in lines
    assert lines[-2:] == [
        "  server n1 10.0.0.1:3306 on-marked-up shutdown-backup-sessions",
        "  server n2 10.0.0.2:3306 backup",
    ]
