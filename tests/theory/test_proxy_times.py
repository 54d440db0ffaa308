"""When proxies notice a server that fails, and when its clients go on: by their check rules alone.

Hard bounds: a check begins at any time of its period, so there is no false alarm.
"""

from __future__ import annotations

import pytest

import simrep
from simrep.contract.setup import setup_of
from simrep.runs.replication import simulate

RUN_S = 60.0
VIEW_S = 6.0, 7.1  # survivors of Galera begin to commit again, after their view change


def seconds_after(fault, proxy, model="galera", replications=2, **clients):
    """When the proxy takes n1 out, sends writes elsewhere, and the longest time without commit."""
    scenario = {
        "cluster": {"model": model},
        "workload": {
            "threads": 2,
            "think_time_ms": 500,
            "clients": {"read_timeout_s": RUN_S, **clients},
        },
        "proxy": proxy,
        "fault": [{"node": "n1", "at_s": 5, **fault}],
        "run": {"duration_s": RUN_S},
    }
    setup = setup_of(simrep.load(scenario))
    for replication in range(replications):
        run = simulate(setup, 7, replication)
        lines = [(line.what, line.of, line.at_s - 5) for line in run.noted if line.actor]
        out = next((at_s for what, of, at_s in lines if (what, of) == ("proxy-down", (0,))), None)
        moved = next((at_s for what, of, at_s in lines if what == "proxy-writer" and of), None)
        yield out, moved, run.attempts.longest_gap(5.0).seconds, run


@pytest.mark.parametrize(
    ("proxy", "killed", "silent"),
    [
        ({"like": "proxysql"}, (0.0, 5.0), (10.8, 15.8)),
        ({"like": "maxscale"}, (0.0, 2.0), (3.0, 5.0)),
        ({"like": "haproxy"}, (4.0, 6.0), (10.0, 12.0)),
        ({"like": "haproxy", "check_s": 12.0}, (24.0, 36.0), None),
        ({"like": "haproxy-operator"}, (10.0, 20.0), (30.0, 40.0)),
    ],
)
def test_a_dead_or_silent_server_is_taken_out_by_the_rules_of_the_checks(proxy, killed, silent):
    for what, bounds in (("kill", killed), ("power-loss", silent)):
        for out, moved, _, _ in seconds_after({"what": what}, proxy) if bounds else ():
            assert bounds[0] <= out < bounds[1] + 0.01
            assert moved == out


def test_writes_are_back_after_the_later_of_view_change_and_detection():
    for like in ("proxysql", "maxscale"):
        for _, moved, stall_s, _ in seconds_after({"what": "kill"}, {"like": like}):
            assert moved < VIEW_S[0] < stall_s < VIEW_S[1]
    for _, moved, stall_s, _ in seconds_after({"what": "kill"}, {"like": "haproxy-operator"}):
        # Ten retries with the same server, then a pause between attempts, and to think.
        assert moved < stall_s < moved + 10.0 + 2.0


def test_sessions_hang_on_a_silent_server_unless_they_are_closed():
    for keeps in ("keep", "close"):
        proxy = {"like": "haproxy", "on_marked_down": keeps}
        for out, _, stall_s, _ in seconds_after({"what": "power-loss"}, proxy):
            if keeps == "keep":
                assert stall_s > RUN_S - 7.0
            else:
                assert out < stall_s < out + 2.0


def test_an_isolated_node_looks_healthy_until_its_view():
    cut = {"what": "cut", "until_s": 40}
    for out, _, stall_s, _ in seconds_after(cut, {"like": "maxscale", "check_s": 0.2}):
        assert VIEW_S[0] - 0.8 < out < VIEW_S[1]
        assert stall_s > out


def test_a_primary_that_stands_still_is_replaced_when_the_group_has_elected_another():
    """Measured with Percona's operator: 21.7 to 24.0 s."""
    proxy = {"like": "haproxy", "rise": 1, "on_marked_down": "close"}
    pause = {"what": "pause", "until_s": 55}
    runs = seconds_after(pause, proxy, "group_replication", 4, retry_pause_s=0.1)
    for out, moved, stall_s, _ in runs:
        assert out < 12.1
        assert 21.0 < moved < 24.0
        assert 21.7 < stall_s < 24.6


def test_a_router_that_holds_clients_for_less_than_an_election_gives_them_errors():
    for patience_s, error in ((8.0, "2013"), (12.0, "2003")):  # the router gives up after 10 s
        runs = seconds_after(
            {"what": "kill"},
            {"like": "mysql-router"},
            "group_replication",
            connect_timeout_s=patience_s,
        )
        for _, moved, _, run in runs:
            assert 20.5 < moved < 22.5
            errors = run.attempts.errors()
            assert {one.error for one in errors if one.connecting} == {error}
