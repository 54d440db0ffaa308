"""Slow nodes, pauses and stalled disks: the tables of a scenario, and what comes of them."""

from itertools import combinations
from math import isfinite

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import simrep
from simrep.contract.registry import find_model
from simrep.runs.replication import simulate
from simrep.scenario import load
from simrep.scenario.events import events
from simrep.show.plot.style import Sheet, styled
from simrep.show.plot.why.animation import Scene
from tests import own_models

MODELS = ["asynchronous", "galera", "group_replication", "semisync", "standalone"]
PAUSE = {"what": "pause", "node": "n1", "at_s": 0.1, "until_s": 0.25}
STALL = {"what": "disk-stall", "node": "n1", "at_s": 0.1, "until_s": 0.25}
SLOW = {"what": "slow", "node": "n1", "at_s": 0.1, "cpu_factor": 20.0}


def scenario(model="galera", *faults, **tables):
    base = {
        "cluster": {"model": model, "nodes": 3},
        "network": {"rtt_ms": 1.0},
        "workload": {"threads": 4, "nodes": ["n1"]},
        "run": {"duration_s": 0.4, "seed": 5},
    }
    return {**base, **({"fault": list(faults)} if faults else {}), **tables}


def refused(content, *words):
    with pytest.raises(simrep.ScenarioError) as caught:
        simrep.run(content)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (PAUSE | {"node": "n4"}, ("fault.0.node", "no node 'n4'", "n1")),
        (PAUSE | {"node": None, "host": "m1"}, ("fault.0.host", "no host 'm1'", "n1")),
        (PAUSE | {"host": "n1"}, ("fault.0.node", "given both")),
        (PAUSE | {"node": None}, ("fault.0.node", "given neither")),
        (PAUSE | {"until_s": None}, ("fault.0.until_s", "required")),
        (PAUSE | {"until_s": 0.1}, ("fault.0.until_s", "after at_s = 0.1", "given 0.1")),
        (PAUSE | {"until_s": 0.5}, ("fault.0.until_s", "end of the run at 0.4 s", "given 0.5")),
        (SLOW | {"at_s": 0.4}, ("fault.0.at_s", "end of the run at 0.4 s", "given 0.4")),
        (SLOW | {"at_s": -1.0}, ("fault.0.at_s", "at least 0")),
        (SLOW | {"cpu_factor": 0.5}, ("fault.0.cpu_factor", "at least 1")),
        (SLOW | {"cpu_factor": 1e9}, ("fault.0.cpu_factor", "at most 1000")),
        (SLOW | {"cpu_factor": None}, ("fault.0.cpu_factor", "changes nothing")),
        (SLOW | {"cpu_factor": 1.0}, ("fault.0.cpu_factor", "changes nothing")),
        (STALL | {"fsync_factor": 2.0}, ("fault.0.fsync_factor", "not for 'disk-stall'")),
        (PAUSE | {"what": "pauze"}, ("fault.0.what", "pauze", "mean 'pause'")),
        (PAUSE | {"whom": "n1"}, ("fault.0.whom", "unknown key")),
    ],
)
def test_a_fault_that_cannot_be_is_an_error(fault, words):
    refused(scenario("galera", {key: x for key, x in fault.items() if x is not None}), *words)


@pytest.mark.parametrize(
    ("others", "fine"),
    [
        (PAUSE | {"at_s": 0.2, "until_s": 0.3}, False),
        (PAUSE | {"at_s": 0.25, "until_s": 0.3}, True),
        (PAUSE | {"node": "n2"}, True),
        ({"what": "pause", "host": "n1", "at_s": 0.2, "until_s": 0.3}, False),
        (STALL, True),
        (SLOW, True),
    ],
)
def test_one_thing_happens_to_a_node_once_at_a_time(others, fine):
    content = scenario("galera", PAUSE, others)
    if fine:
        load(content)
    else:
        refused(content, "fault.1", "pause of 'n1'", "during that of fault.0")


def test_nothing_happens_to_a_node_that_is_away():
    gone = [{"at_s": 0.05, "node": "n1", "what": "leave"}]
    cluster = {"model": "galera", "nodes": 3, "change": gone}
    refused(scenario("galera", PAUSE, cluster=cluster), "fault.0.at_s", "'n1' is away at 0.1 s")
    cluster["change"] = [*gone, {"at_s": 0.08, "node": "n1", "what": "join"}]
    load(scenario("galera", PAUSE, cluster=cluster))


def test_a_disk_that_never_answers_stops_its_server_for_good():
    forever = {"what": "disk-stall", "host": "host", "at_s": 0.1}
    cluster = {"model": "standalone", "nodes": 2, "shared_host": True}
    for machine in ({}, {"parallel_syncs": 1}):
        result = simrep.run(
            scenario("standalone", forever, cluster={**cluster, "machine": machine})
        )
        assert result.stall_max_s == pytest.approx(0.3, abs=0.01)
        assert all(isfinite(one.utilisation) for one in result.stations)


def test_a_second_opinion_says_what_it_leaves_out():
    given = scenario("standalone", SLOW, node=[{"name": "n2", "cpu_factor": 2.0}])
    given["node"][0]["costs"] = {"commit_us": 1.0}
    said = str(simrep.analytic(given).to_dict())
    for word in ("faults", "costs of single nodes", "cpu_factor"):
        assert word in said


def test_processes_of_a_sweep_play_the_same_faults():
    given = scenario("galera", PAUSE, node=[{"name": "n3", "costs": {"apply_us": 300.0}}])
    over = {"fault.0.until_s": [0.15, 0.2]}
    one, two = (simrep.sweep(given, over, of="latency_s.max", jobs=jobs) for jobs in (1, 2))
    assert [point.values for point in one.points] == [point.values for point in two.points]


def test_a_slow_processor_and_a_slow_disk_may_overlap():
    load(scenario("galera", SLOW, {"what": "slow", "node": "n1", "at_s": 0.2, "fsync_factor": 2.0}))
    refused(scenario("galera", SLOW, SLOW | {"at_s": 0.3}), "during that of fault.0")


@pytest.mark.parametrize("place", [{"node": "n1"}, {"node": None, "host": "n1"}])
@pytest.mark.parametrize("fault", [PAUSE, STALL])
@pytest.mark.parametrize("model", MODELS)
def test_every_product_stops_for_as_long_as_its_only_writer(model, fault, place):
    given = {key: value for key, value in (fault | place).items() if value is not None}
    result = simrep.run(scenario(model, given))
    assert result.stall_max_s == pytest.approx(0.15, abs=0.01)
    assert result.stall_began_s == pytest.approx(0.1, abs=0.01)
    assert result.latency_s["max"] == pytest.approx(0.15, abs=0.02)


@pytest.mark.parametrize("model", MODELS)
def test_until_it_begins_a_fault_changes_nothing(model):
    without = simulate(load(scenario(model)), 1, trace=True).trace
    times = []
    for fault in (PAUSE, STALL, SLOW):
        trace = simulate(load(scenario(model, fault)), 1, trace=True).trace
        same = [one for one, other in zip(trace, without, strict=False) if one == other]
        times.append(next(a.time_s for a, b in zip(trace, without, strict=False) if a != b))
        assert len(same) > 20
    assert min(times) >= 0.1


@pytest.mark.parametrize("model", ["galera", "group_replication"])
def test_a_stopped_member_stops_the_group_and_a_replica_does_not(model):
    other = PAUSE | {"node": "n3"}
    assert simrep.run(scenario(model, other)).stall_max_s == pytest.approx(0.15, abs=0.01)
    assert simrep.run(scenario("semisync", other)).stall_max_s < 0.01
    assert simrep.run(scenario("asynchronous", other)).stall_max_s < 0.01


def test_a_disk_that_stalls_elsewhere_lets_flow_control_stop_all():
    stall = {"what": "disk-stall", "node": "n3", "at_s": 0.1}
    result = simrep.run(scenario("galera", stall))
    assert result.stall_max_s == pytest.approx(0.3, abs=0.05)
    assert result.counters["n3"]["wsrep_flow_control_sent"] > 0


def test_a_slow_processor_makes_statements_slower():
    costs = {"statement_us": 1000.0}
    tables = {"cluster": {"model": "standalone", "costs": costs, "nodes": 1}}
    plain = simrep.run(scenario(**tables)).latency_s["p50"]
    timed = simrep.run(scenario("standalone", SLOW | {"at_s": 0.0}, **tables)).latency_s["p50"]
    assert timed > plain + 0.018
    node = {"name": "n1", "cpu_factor": 20.0}
    assert simrep.run(scenario(**tables, node=[node])).latency_s["p50"] == pytest.approx(timed)
    machine = tables["cluster"] | {"machine": {"cpu_factor": 20.0}}
    assert simrep.run(scenario(cluster=machine)).latency_s["p50"] == pytest.approx(timed)


def test_on_a_shared_machine_a_pause_is_of_one_process():
    cluster = {"model": "standalone", "shared_host": True, "nodes": 2}
    tables = {"cluster": cluster, "workload": {"threads": 4, "nodes": ["n1", "n2"]}}
    one = simrep.run(scenario("standalone", PAUSE, **tables))
    both = simrep.run(scenario("standalone", {**PAUSE, "host": "host", "node": None}, **tables))
    assert one.stall_max_s < 0.01
    assert one.latency_s["max"] == pytest.approx(0.15, abs=0.01)
    assert both.stall_max_s == pytest.approx(0.15, abs=0.01)


def test_traits_of_a_machine_are_those_of_its_own_only():
    slow = {"name": "n2", "cores": 2, "fsync_factor": 5.0}
    result = simrep.run(scenario("standalone", node=[slow]))
    cores = {one.name: one.servers for one in result.stations if one.name.endswith("/cpu")}
    assert cores == {"n1/cpu": 4, "n2/cpu": 2, "n3/cpu": 4}
    host = {"host": [{"name": "big"}], "node": [slow | {"host": "big"}]}
    refused(scenario("standalone", **host), "node.0.cores", "give it in its [[host]]")
    shared = {"cluster": {"model": "standalone", "nodes": 3, "shared_host": True}, "node": [slow]}
    refused(scenario(**shared), "node.0.cores", "give it in [cluster.machine]")


def test_the_disk_of_a_machine_with_one_journal_is_that_of_all_nodes_on_it():
    cluster = {"model": "standalone", "shared_host": True, "machine": {"parallel_syncs": 1}}
    refused(scenario("standalone", STALL, cluster=cluster), "fault.0.node", "say host = 'host'")
    whole = {**STALL, "host": "host"}
    del whole["node"]
    result = simrep.run(scenario("standalone", whole, cluster=cluster))
    assert result.stall_max_s == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize("model", MODELS)
def test_costs_of_a_node_are_those_of_its_server_alone(model):
    own = {"statement_us": 20_000.0}
    plain = simrep.run(scenario(model))
    first = simrep.run(scenario(model, node=[{"name": "n1", "costs": own}]))
    third = simrep.run(scenario(model, node=[{"name": "n3", "costs": own}]))
    assert third.latency_s == plain.latency_s
    assert first.latency_s["p50"] > plain.latency_s["p50"] + 0.019


def test_costs_of_a_node_stand_above_those_of_the_cluster():
    cluster = {"model": "standalone", "nodes": 3, "costs": {"fsync_us": 900.0}}
    both = scenario(cluster=cluster, node=[{"name": "n1", "costs": {"commit_us": 500.0}}])
    same = {**cluster, "costs": {"fsync_us": 900.0, "commit_us": 500.0}}
    assert simrep.run(both).latency_s == simrep.run(scenario(cluster=same)).latency_s
    wrong = scenario("standalone", node=[{"name": "n1", "costs": {"fsyc_us": 1.0}}])
    refused(wrong, "node.0.costs", "fsyc_us", "fsync_us")


def test_a_pause_to_which_others_would_react_is_refused(monkeypatch):
    run = {"run": {"duration_s": 5.0}, "workload": {"threads": 1, "nodes": ["n1"]}}
    long = scenario("semisync", PAUSE | {"until_s": 4.1}, **run)
    assert simrep.run(long).stall_max_s == pytest.approx(4.0, abs=0.05)
    monkeypatch.setattr(find_model("semisync"), "pause_limit_s", staticmethod(lambda _: 0.2))
    refused(long, "fault.0.until_s", "longer than model 'semisync'", "0.2")


def test_a_model_that_tells_nothing_plays_no_fault(monkeypatch):
    own_models.install(monkeypatch, silent="tests.own_models:Silent")
    for fault in (PAUSE, STALL, SLOW):
        refused(scenario("silent", fault), "fault.0.what", "'silent' does not play", "galera")
    slow_disk = [{"name": "n1", "fsync_factor": 2.0}]
    refused(scenario("silent", node=slow_disk), "node.0.fsync_factor", "does not play 'slow'")
    own_costs = [{"name": "n1", "costs": {"commit_us": 1.0}}]
    refused(scenario("silent", node=own_costs), "node.0.costs", "the same costs", "galera")
    faster = scenario("silent", node=[{"name": "n1", "cpu_factor": 0.5}])
    assert simrep.run(faster).latency_s["p50"] < simrep.run(scenario("silent")).latency_s["p50"]


def test_faults_have_paths_and_a_place_in_the_schema():
    loaded = load(scenario("galera", PAUSE)).replace({"fault.0.at_s": 0.2, "fault.0.node": "n2"})
    assert (loaded.faults[0].at_s, loaded.faults[0].node) == (0.2, "n2")
    swept = simrep.sweep(
        scenario("galera", PAUSE), {"fault.0.until_s": [0.15, 0.2]}, of="stall_max_s"
    )
    assert [point.values["stall_max_s"][0] for point in swept.points] == pytest.approx(
        [0.05, 0.1], abs=0.01
    )
    assert "fault" in simrep.scenario.schema.json_schema()["properties"]


def test_questions_about_the_long_run_refuse_faults():
    warm = scenario("galera", PAUSE, run={"duration_s": 0.4, "warmup": "auto"})
    refused(warm, "run.warmup", "times in fault")
    with pytest.raises(simrep.ScenarioError, match=r"fault: a rate that is sustained"):
        simrep.sustainable_rate(scenario("galera", PAUSE))


def test_all_that_happens_is_one_list_in_the_order_of_time():
    listed = events(
        load(
            scenario(
                "galera",
                {"what": "slow", "host": "n2", "at_s": 0.3, "cpu_factor": 2.0, "fsync_factor": 9.0},
                STALL,
                network={"outage": [{"node": "n2", "from_s": 0.05, "to_s": 0.2}]},
                cluster={
                    "model": "galera",
                    "change": [{"at_s": 0.2, "node": "n3", "what": "leave"}],
                },
            )
        )
    )
    said = [(one.path, f"{one.what} {one.how}".rstrip(), one.nodes) for one in listed]
    times = [(one.at_s, one.lasts) for one in listed]
    assert times == [(0.05, True), (0.1, True), (0.2, False), (0.3, True)]
    assert said == [
        ("network.outage.0", "n2 cut off", ("n2",)),
        ("fault.1", "disk of n1 stalls", ("n1",)),
        ("cluster.change.0", "n3 leaves", ("n3",)),
        ("fault.0", "n2 slow CPU 2x, fsync 9x", ("n2",)),
    ]


@pytest.fixture(scope="module")
def eventful():
    """An outage, two faults and a scheduled transaction."""
    single = {"name": "batch", "at_s": 0.02, "rows": 2}
    return scenario(
        "galera",
        PAUSE | {"node": "n3"},
        {"what": "slow", "node": "n2", "at_s": 0.2, "cpu_factor": 2.0},
        network={"rtt_ms": 1.0, "outage": [{"node": "n2", "from_s": 0.36, "to_s": 0.37}]},
        workload={"threads": 2, "nodes": ["n1"], "scheduled": [single]},
        run={"duration_s": 0.4, "interval_s": 0.05},
    )


def texts_of(figure):
    return ", ".join(text.get_text() for axes in figure.axes for text in axes.texts)


def test_pictures_of_a_run_and_of_a_stall_name_all_that_happens(eventful):
    whole = simrep.run(eventful).plot()
    assert "begin" in texts_of(whole)
    for figure in (whole, simrep.explain_stall(eventful, longer_than_s=0.01).plot()):
        said = texts_of(figure)
        assert all(name in said for name in ("n2 cut off", "n3 paused", "n2 slow"))


def test_pictures_of_a_transaction_name_what_happens_meanwhile(eventful):
    found = simrep.explain(eventful)
    said = texts_of(found.plot())
    assert "n3 paused" in said
    assert "n2 cut off" not in said
    with styled():
        figure = Sheet(9.0, 5.0)
        scene = Scene(found, figure)
        scene.show(0.2)
        assert "n3 paused" in texts_of(figure)
        scene.show(found.until_s)
        assert "n3 paused" not in texts_of(figure)


def test_names_of_events_do_not_overlap(eventful):
    figure = simrep.run(eventful).plot()
    with styled():
        FigureCanvasAgg(figure).draw()
        axes = figure.axes[0]
        boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
