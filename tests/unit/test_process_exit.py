"""A killed process: its kernel closes its connections when it has freed its memory."""

import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.server.host import Host
from simrep.server.process_exit import ProcessExit

pytestmark = pytest.mark.filterwarnings("ignore::simrep.DegradedWarning")


def closed_s(host, wait_s, work_s):
    """When the sockets are closed of a process that is killed at 1 s."""
    ends = []

    def kill(_):
        end = ProcessExit(host.clock, host, wait_s, work_s)
        assert end.done == (wait_s == work_s == 0.0)
        end.when_done(lambda: ends.append(host.clock.now))

    host.clock.at(1.0, kill)
    host.clock.run(3.0)
    (end_s,) = ends
    return end_s


@pytest.mark.parametrize(("wait_s", "work_s"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.2), (0.1, 0.2)])
def test_it_waits_first_and_works_then(wait_s, work_s):
    assert closed_s(Host(Clock(), 1), wait_s, work_s) == pytest.approx(1.0 + wait_s + work_s)


def test_its_work_shares_the_processor_with_everything_else():
    host = Host(Clock(), 1)
    for _ in range(3):
        host.run(5.0, lambda _: None)
    assert closed_s(host, 0.0, 0.2) == pytest.approx(1.0 + 4 * 0.2, abs=0.01)


@pytest.mark.parametrize(
    ("model", "wait_s"),
    [
        ("galera", 0.0),
        ("group_replication", 0.4),
        ("semisync", 0.4),
        ("asynchronous", 0.4),
        ("standalone", 0.4),
    ],
)
def test_clients_and_peers_learn_of_a_kill_when_the_connections_are_closed(model, wait_s):
    """Who comes meanwhile is taken by the kernel, and cut off with all others."""
    costs = {"exit_ms": 300.0} | ({"exit_wait_ms": 400.0} if wait_s else {})
    nodes = ["n1", "n2", "n3"] if model != "standalone" else ["n1"]
    late = {"node": nodes[-1], "name": "B", "threads": 1, "clients": {"on_error": "next"}}
    groups = [{"node": "n1", "name": "A", "threads": 3}, *([late] if len(nodes) > 1 else [])]
    faults = [{"what": "kill", "node": "n1", "at_s": 2.0}]
    if len(nodes) > 1:  # its clients come to n1 just before that is closed
        faults.append({"what": "kill", "node": "n3", "at_s": 1.98})
    scenario = {
        "cluster": {"model": model, "nodes": nodes, "costs": costs},
        "network": {"rtt_ms": 0.2},
        "workload": {
            "group": groups, "think_time_ms": 20, "clients": {"retry_pause_s": 0.002},
            "class": [{"name": "read", "statements": 0, "reads": 1}],
        },
        "fault": faults,
        "run": {"duration_s": 4.0},
    }  # fmt: skip
    run = simrep.run(scenario).runs[0]
    told = run.attempts.errors()
    errors = {(one.group, one.node, one.error, one.connecting): one for one in told}
    close_s = 2.0 + wait_s + 0.3
    lost = errors["A", "n1", "2013", False]
    assert (lost.times, lost.first_s) == (3, pytest.approx(close_s, abs=0.01))
    assert errors["A", "n1", "2003", True].first_s > close_s
    if len(nodes) > 1:
        cut_off = errors["B", "n1", "2013", True]
        assert (cut_off.times, cut_off.first_s) == (1, pytest.approx(close_s, abs=0.01))


def test_an_orderly_end_closes_connections_at_once():
    scenario = {
        "cluster": {"model": "standalone", "nodes": 1, "costs": {"exit_ms": 500.0}},
        "workload": {"threads": 2, "think_time_ms": 20},
        "fault": [{"what": "leave", "node": "n1", "at_s": 2.0}],
        "run": {"duration_s": 4.0},
    }
    errors = {one.error: one for one in simrep.run(scenario).runs[0].attempts.errors()}
    assert errors["2013"].last_s < 2.05
