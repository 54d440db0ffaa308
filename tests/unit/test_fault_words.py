"""Faults of servers and links: the words, names, order and places of ``[[fault]]``."""

from __future__ import annotations

from math import inf

import pytest

import simrep
from simrep.contract.setup import setup_of
from simrep.models.asynchronous import Asynchronous
from simrep.network.trouble import Trouble
from simrep.scenario import load
from simrep.scenario.events import events
from tests import own_models

KILL = {"what": "kill", "node": "n1", "at_s": 1.0}
RESTART = {"what": "restart", "node": "n1", "at_s": 2.0}
CUT = {"what": "cut", "node": "n1", "at_s": 1.0, "until_s": 2.0}
PAUSE = {"what": "pause", "node": "n1", "at_s": 1.0, "until_s": 2.0}


def scenario(*faults, model="galera", **tables):
    base = {
        "cluster": {"model": model, "nodes": 3},
        "workload": {"threads": 2, "nodes": ["n1"]},
        "run": {"duration_s": 5.0},
    }
    return {**base, **tables, "fault": list(faults)}


def refused(content, *words, ask=load):
    with pytest.raises(simrep.ScenarioError) as caught:
        ask(content)
    for word in words:
        assert word in str(caught.value)


SHARED = {"cluster": {"model": "galera", "nodes": 3, "shared_host": True}}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (KILL | {"until_s": 2.0}, ("fault.0.until_s", "in an instant", "what = 'restart'")),
        (KILL | {"node": "n7"}, ("fault.0.node", "no node 'n7'", "n1")),
        (KILL | {"at_s": 5.0}, ("fault.0.at_s", "end of the run at 5 s")),
        (KILL | {"transfer_s": 1.0}, ("fault.0.transfer_s", "not for 'kill'", "'restart'")),
        (KILL | {"transactions_timeout_s": 1.0}, ("fault.0.transactions_timeout_s", "'promote'")),
        (KILL | {"name": "3"}, ("fault.0.name", "would be a position", "'3'")),
        (KILL | {"nodes": ["n2"]}, ("fault.0.nodes", "not for 'kill'", "say node or host")),
        (CUT | {"nodes": ["n2"]}, ("fault.0.node", "of a host or of nodes", "given both")),
        (CUT | {"others": ["n9"]}, ("fault.0.others", "no node 'n9'")),
        (CUT | {"others": ["n2", "n1"]}, ("fault.0.others", "'n1' is on both sides")),
        (CUT | {"others": []}, ("fault.0.others", "empty")),
        (CUT | {"loss": 0.1}, ("fault.0.loss", "not for 'cut'", "say 'loss'")),
        (CUT | {"direction": "up"}, ("fault.0.direction", "up")),
        (CUT | {"what": "loss"}, ("fault.0.loss", "changes nothing", "give loss")),
        (CUT | {"what": "loss", "loss": 0.7}, ("fault.0.loss", "at most 0.5", "cut")),
        (CUT | {"what": "jitter"}, ("fault.0.jitter", "changes nothing")),
        (
            CUT | {"what": "crash"},
            ("fault.0.what", "'jitter', given 'crash' (did you mean 'kill'?)"),
        ),
        (CUT | {"what": "stop"}, ("did you mean 'leave' or 'pause'?",)),
        (CUT | {"what": "partition"}, ("did you mean 'cut'?",)),
        (CUT | {"what": "los"}, ("did you mean 'loss'?",)),
        (PAUSE | {"direction": "in"}, ("fault.0.direction", "not for 'pause'", "'cut'")),
    ],
)
def test_a_fault_that_cannot_be_is_an_error(fault, words):
    refused(scenario(fault), *words)


def test_all_nodes_on_one_side_leave_no_link():
    everywhere = {"what": "cut", "nodes": ["n1", "n2", "n3"], "at_s": 1.0}
    refused(scenario(everywhere), "fault.0.nodes", "all nodes are on one side")
    twice = {"what": "cut", "nodes": ["n1", "n1"], "at_s": 1.0}
    refused(scenario(twice), "fault.0.nodes", "'n1' is there twice")


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ([RESTART], ("fault.0.what", "'n1' is there already at 2 s")),
        ([KILL, RESTART | {"what": "promote"}], ("fault.1.what", "'n1' is away already at 2 s")),
        ([KILL, RESTART | {"what": "leave"}], ("fault.1.what", "'n1' is away already at 2 s")),
        ([RESTART | {"at_s": 3.0}, KILL, RESTART], ("fault.0.what", "there already at 3 s")),
        ([KILL, PAUSE | {"at_s": 1.5}], ("fault.1.at_s", "'n1' is away at 1.5 s")),
        ([KILL, CUT | {"at_s": 1.5}, RESTART], ("fault.1.at_s", "'n1' is away at 1.5 s")),
        ([KILL, PAUSE | {"at_s": 0.5, "until_s": 3.0}, RESTART], ("fault.2.at_s", "stands still")),
        ([RESTART | {"what": "leave"}, PAUSE | {"until_s": 3.0}], ("fault.0.at_s", "'leave'")),
        ([KILL | {"name": "x"}, RESTART | {"name": "x"}], ("fault.1.name", "'x' is there twice")),
        ([KILL | {"name": "first"}, KILL | {"at_s": 2.0}], ("fault.1.what", "away already")),
    ],
)
def test_the_order_of_faults_is_checked(faults, words):
    refused(scenario(*faults, model="group_replication"), *words, ask=simrep.run)


def test_a_word_that_a_model_does_not_play_is_refused_before_its_order():
    words = ("fault.0.what", "'standalone' does not play 'bootstrap'", "models that do: ")
    begins = RESTART | {"what": "bootstrap"}
    refused(scenario(begins, model="standalone"), *words, ask=simrep.run)


def test_a_network_may_be_cut_when_a_server_comes_back_to_it():
    load(scenario(KILL, CUT | {"at_s": 1.5, "until_s": 3.0}, RESTART))


def test_power_fails_at_machines():
    loss = {"what": "power-loss", "node": "n1", "at_s": 1.0}
    refused(scenario(loss, **SHARED), "fault.0.node", "shares its machine", "host = 'host'")


def test_what_happens_to_a_machine_happens_to_its_nodes():
    hosts = {"host": [{"name": "big"}], "node": [{"name": n, "host": "big"} for n in ("n1", "n2")]}
    tables = {**hosts, "cluster": {"model": "galera", "nodes": 3}}
    gone = [KILL | {"at_s": 0.5}, {"what": "kill", "host": "big", "at_s": 1.0}]
    back = {"what": "restart", "host": "big", "at_s": 2.0, "transfer_s": 0.5}
    changes = setup_of(load(scenario(*gone, back, **tables))).changes
    assert [(one.at_s, one.node, one.what, one.transfer_s) for one in changes] == [
        (0.5, 0, "kill", None),
        (1.0, 1, "kill", None),
        (2.0, 0, "restart", 0.5),
        (2.0, 1, "restart", 0.5),
    ]


@pytest.mark.parametrize(
    ("fault", "links"),
    [
        (CUT, {(0, 1), (0, 2), (1, 0), (2, 0)}),
        (CUT | {"direction": "out"}, {(0, 1), (0, 2)}),
        (CUT | {"direction": "in"}, {(1, 0), (2, 0)}),
        (CUT | {"others": ["n3"]}, {(0, 2), (2, 0)}),
        ({**CUT, "node": None, "nodes": ["n1", "n2"]}, {(0, 2), (2, 0), (1, 2), (2, 1)}),
        ({**CUT, "node": None, "host": "n1", "direction": "in"}, {(1, 0), (2, 0)}),
    ],
)
def test_a_cut_is_of_links_between_sides(fault, links):
    given = {key: value for key, value in fault.items() if value is not None}
    paths = setup_of(load(scenario(given, model="asynchronous"))).paths
    assert {pair for pair, path in paths.items() if path.troubles} == links
    assert all(paths[pair].troubles == (Trouble(1.0, 2.0, cut=True),) for pair in links)


def test_faults_of_one_link_add_up():
    loss = {"what": "loss", "node": "n2", "others": ["n1"], "at_s": 1.5, "loss": 0.1}
    jitter = {"kind": "normal", "sd_ms": 2.0}
    varied = {"what": "jitter", "nodes": ["n2"], "direction": "in", "at_s": 0.5, "jitter": jitter}
    setup = setup_of(load(scenario(CUT, CUT | {"at_s": 1.2}, loss, varied, model="semisync")))
    told = [(one.from_s, one.to_s, one.cut, one.loss) for one in setup.paths[0, 1].troubles]
    assert told == [
        (0.5, inf, False, 0.0),
        (1.0, 2.0, True, 0.0),
        (1.2, 2.0, True, 0.0),
        (1.5, inf, False, 0.1),
    ]
    assert setup.paths[0, 1].troubles[0].jitter[0].sd_s == pytest.approx(0.002)


# -- names ---------------------------------------------------------------------------------------


NAMED = scenario(
    KILL | {"name": "crash"}, RESTART | {"name": "back", "at_s": 3.0}, CUT | {"node": "n2"}
)


def test_a_path_finds_a_fault_by_its_name_or_its_position():
    changed = load(NAMED).replace(
        {"fault.crash.at_s": 0.5, "fault.back.transfer_s": 0.1, "fault.2.until_s": 1.5}
    )
    crash, back, cut = changed.faults
    assert (crash.at_s, back.transfer_s, cut.until_s) == (0.5, 0.1, 1.5)
    assert [fault.path for fault in changed.faults] == ["fault.crash", "fault.back", "fault.2"]


def test_a_name_that_no_fault_has_is_an_error_with_the_nearest():
    refused(NAMED, "fault.crush", "no entry is named 'crush'", "'crash'", ask=_set("fault.crush"))
    bare = scenario(KILL)
    refused(bare, "fault.crash", "a position in a list, counted from 0", ask=_set("fault.crash"))


def _set(path):
    return lambda content: load(content).replace({f"{path}.at_s": 0.5})


def test_entries_of_all_lists_are_found_by_name():
    classes = [{"name": "small"}, {"name": "big", "rows": 10}]
    tables = {
        "workload": {"threads": 2, "class": classes},
        "node": [{"name": "n2", "cpu_factor": 2.0}],
    }
    changed = load(scenario(**tables)).replace(
        {"workload.class.big.rows": 20, "node.n2.cpu_factor": 3.0}
    )
    assert [one.rows for one in changed.workload.classes] == [1, 20]
    assert changed.nodes[0].cpu_factor == 3.0


def test_a_name_that_two_entries_have_leads_nowhere():
    content = {**scenario(), "fault": [KILL | {"name": "x"}, RESTART | {"name": "x"}]}
    with pytest.raises(simrep.ScenarioError, match="2 entries are named 'x'"):
        _put(content, "fault.x.at_s")


def _put(content, path):
    from simrep.scenario.changes import put

    put(content, content, path, 0.5)


def test_sweeps_vary_a_fault_by_its_name():
    pause = PAUSE | {"name": "freeze", "at_s": 0.1, "until_s": 0.2}
    load = {"threads": 1, "nodes": ["n1"], "think_time_ms": 5.0}
    given = scenario(pause, run={"duration_s": 0.35}, workload=load)
    found = simrep.sweep(given, {"fault.freeze.until_s": [0.15, 0.3]}, of="stall_max_s")
    stalls = [point.values["stall_max_s"][0] for point in found.points]
    assert stalls == pytest.approx([0.05, 0.2], abs=0.01)


# -- tables of earlier releases ------------------------------------------------------------------


def test_tables_of_earlier_releases_become_faults_and_say_so():
    changes = [{"at_s": 1.0, "node": "n1", "what": "crash"}]
    changes.append({"at_s": 2.0, "node": "n1", "what": "join"})
    outage = {"node": "n2", "from_s": 0.5, "to_s": 0.7, "direction": "out"}
    cluster = {"model": "galera", "nodes": 3, "change": changes}
    with pytest.warns(FutureWarning) as caught:
        loaded = load(scenario(cluster=cluster, network={"outage": [outage]}))
    told = " ".join(str(one.message) for one in caught)
    assert '"kill" (crash)' in told
    assert 'what = "cut"' in told
    said = [(fault.path, fault.what, fault.node, fault.at_s) for fault in loaded.faults]
    assert said == [
        ("cluster.change.0", "kill", "n1", 1.0),
        ("cluster.change.1", "restart", "n1", 2.0),
        ("network.outage.0", "cut", "n2", 0.5),
    ]
    assert loaded.faults[1].transfer_s == 0.0
    later = loaded.replace({"cluster.change.0.what": "leave", "network.outage.0.to_s": 0.9})
    assert (later.faults[0].what, later.faults[2].end_s) == ("leave", 0.9)
    assert load(later.to_dict() | {"name": "again"}).faults == later.faults


# -- what models play ----------------------------------------------------------------------------


def test_a_cut_that_servers_would_notice_is_refused_where_they_notice_none(monkeypatch):
    monkeypatch.setattr(Asynchronous, "faults", Asynchronous.faults - {"cut"})
    model, fits_s = "asynchronous", 25.0
    long = {"run": {"duration_s": 100.0}}
    cut = CUT | {"until_s": 1.0 + fits_s}
    setup_of(load(scenario(cut, model=model, **long)))
    longer = scenario(CUT | {"until_s": 1.1 + 1.1 * fits_s}, model=model, **long)
    refused(longer, "fault.0.what", "a cut of", "silence of 30 s", ask=simrep.run)
    endless = {key: value for key, value in cut.items() if key != "until_s"}
    refused(scenario(endless, model=model), "fault.0.what", "without an end", ask=simrep.run)
    both = scenario(cut, cut | {"at_s": 0.9 + fits_s, "until_s": 30.0}, model=model, **long)
    refused(both, "fault.0.what", f"model {model!r}", ask=simrep.run)


@pytest.mark.parametrize(
    ("model", "whats"),
    [
        ("asynchronous", ("bootstrap",)),
        ("semisync", ("bootstrap",)),
        ("standalone", ("bootstrap", "promote")),
    ],
)
def test_what_servers_of_a_product_cannot_do_is_refused(model, whats):
    for what in whats:
        fault = {"what": what, "node": "n1", "at_s": 1.0}
        told = f"does not play {what!r}"
        refused(scenario(fault, model=model), "fault.0.what", told, ask=simrep.run)


@pytest.mark.parametrize("model", ["galera", "group_replication", "semisync"])
def test_jitter_and_loss_for_a_while_make_commits_slower(model):
    jitter = {"what": "jitter", "node": "n2", "at_s": 0.4, "until_s": 0.6}
    jitter |= {"jitter": {"kind": "uniform", "mean_ms": 20.0, "sd_ms": 1.0}}
    loss = {"what": "loss", "node": "n2", "at_s": 0.4, "until_s": 0.6, "loss": 0.3}
    load = {"threads": 2, "nodes": ["n1"], "think_time_ms": 5.0}
    cluster = {"model": model, "nodes": 2}
    tables = {"cluster": cluster, "workload": load, "run": {"duration_s": 0.7}}
    for fault in (jitter, loss):
        result = simrep.run(scenario(fault, **tables))
        assert result.stall_max_s > 0.018
        assert result.stall_began_s > 0.39


def test_a_model_that_tells_nothing_plays_no_word(monkeypatch):
    own_models.install(monkeypatch, silent="tests.own_models:Silent")
    loss = CUT | {"what": "loss", "loss": 0.1}
    for fault in (KILL, CUT, loss, KILL | {"what": "power-loss"}):
        content = scenario(fault, model="silent")
        refused(content, "fault.0.what", "'silent' does not play", ask=simrep.run)


def test_a_run_with_faults_has_no_steady_state():
    for fault in (KILL, CUT):
        warm = scenario(fault, run={"duration_s": 5.0, "warmup": "auto"})
        refused(warm, "run.warmup", "times in fault")
        refused(scenario(fault), "fault: a rate that is sustained", ask=simrep.sustainable_rate)


# -- words and pictures --------------------------------------------------------------------------


def test_every_fault_is_an_event_in_words():
    faults = [
        KILL | {"name": "crash"},
        RESTART,
        {"what": "power-loss", "node": "n2", "at_s": 2.5},
        {"what": "restart", "host": "n2", "at_s": 3.0},
        {"what": "leave", "node": "n3", "at_s": 3.5},
        {"what": "bootstrap", "node": "n1", "at_s": 4.0},
        {"what": "promote", "node": "n1", "at_s": 4.05, "transactions_timeout_s": 2.0},
        {"what": "cut", "nodes": ["n1", "n2"], "direction": "out", "at_s": 4.1, "others": ["n3"]},
        {"what": "loss", "node": "n1", "at_s": 4.2, "loss": 0.05},
        CUT | {"what": "jitter", "jitter": {"kind": "normal", "sd_ms": 1.0}, "at_s": 4.3}
        | {"until_s": 4.5},
    ]  # fmt: skip
    listed = {one.path: one for one in events(load(scenario(*faults)))}
    assert [f"{one.what} {one.how}".strip() for one in listed.values()] == [
        "n1 killed",
        "n1 restarts",
        "n2 loses power",
        "n2 restarts",
        "n3 leaves",
        "n1 bootstraps",
        "n1 promoted by hand",
        "n1, n2 not heard by n3",
        "links of n1 lose segments 5 %",
        "links of n1 jitter",
    ]
    assert not listed["fault.crash"].lasts
    assert listed["fault.7"].until_s == inf
    assert listed["fault.3"].nodes == ("n2",)


def test_a_list_that_is_too_short_is_told_how_long_it_must_be():
    clients = {"threads": 2, "clients": {"on_error": "next", "nodes": ["n2"]}}
    refused(scenario(KILL, workload=clients), "workload.clients.nodes", "at least 2", "['n2']")
