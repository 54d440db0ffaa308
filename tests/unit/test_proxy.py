"""Proxies and clients beside a node: who is sent where, over which way, and what they are told."""

from __future__ import annotations

from collections.abc import Generator
from statistics import median
from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock, Event
from simrep.kernel.streams import Streams
from simrep.measure.attempts import AttemptLog
from simrep.measure.meter import Meter
from simrep.scenario.proxy import ProxyTable
from simrep.workload.classes import TransactionClass
from simrep.workload.fate import Fates
from simrep.workload.policy import Policy
from simrep.workload.proxy import Proxy
from simrep.workload.routing import RoutedClients
from simrep.workload.status import ServerStatus
from simrep.workload.transaction import Transaction
from simrep.workload.workload import Loop, Think, Workload
from tests import own_models

GROUPS = [
    {"name": "web", "node": "n3", "threads": 2, "class": ["write"]},
    {"name": "reports", "node": "n3", "threads": 3, "class": ["read"]},
]
MIX = [{"name": "write"}, {"name": "read", "statements": 0, "reads": 1}]


def scenario(
    model="galera", proxy=None, faults=(), groups=None, mix=MIX, seconds=10.0, changes=None
):
    content: dict[str, Any] = {
        "cluster": {"model": model},
        "workload": {"think_time_ms": 100, "class": mix, "group": groups or GROUPS},
        "fault": list(faults),
        "run": {"duration_s": seconds},
    }
    if proxy is not None:
        content["proxy"] = proxy
    return simrep.with_values(simrep.load(content), changes or {})


def nodes_of(run, group):
    attempts = run.attempts.of(group=group)
    return {attempts.nodes[node] for node in attempts.node[~attempts.connecting]}


def latencies(one):
    (run,) = simrep.run(simrep.with_value(one, "run.log", True)).runs
    return list(run.measurement.log.latency_s)


# -- who is sent where -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "proxy", "writers", "readers"),
    [
        ("galera", {"like": "proxysql"}, {"n1"}, {"n1"}),
        ("galera", {"like": "proxysql", "split": True}, {"n1"}, {"n2", "n3"}),
        ("galera", {"like": "haproxy", "split": True}, {"n1"}, {"n1", "n2", "n3"}),
        ("galera", {"nodes": ["n2", "n3"], "writers": "all"}, {"n2", "n3"}, {"n2", "n3"}),
        ("group_replication", {"like": "mysql-router", "split": True}, {"n1"}, {"n2", "n3"}),
        ("group_replication", {"like": "maxscale", "readers": "writer"}, {"n1"}, {"n1"}),
        ("standalone", {"like": "proxysql", "nodes": ["n2"]}, {"n2"}, {"n2"}),
    ],
)
def test_clients_are_sent_where_the_rules_say(model, proxy, writers, readers):
    (run,) = simrep.run(scenario(model, proxy, seconds=3.0)).runs
    assert nodes_of(run, "web") == writers
    assert nodes_of(run, "reports") == readers
    assert not run.attempts.errors()


def test_a_pool_splits_transactions_and_pinned_clients_stay_together():
    mixed = [{"name": "web", "node": "n1", "threads": 4}]
    for connections, nodes in (("pooled", {"n1", "n2", "n3"}), ("pinned", {"n1"})):
        proxy = {"like": "maxscale", "connections": connections}
        (run,) = simrep.run(scenario(proxy=proxy, groups=mixed, seconds=3.0)).runs
        assert nodes_of(run, "web") == nodes


def test_direct_clients_go_to_their_node_all_the_same():
    groups = [GROUPS[0], GROUPS[1] | {"clients": {"via": "direct"}}]
    (run,) = simrep.run(scenario(proxy={"like": "maxscale"}, groups=groups, seconds=2.0)).runs
    assert nodes_of(run, "web") == {"n1"}
    assert nodes_of(run, "reports") == {"n3"}


def test_a_donor_and_a_joiner_get_no_clients_and_the_writer_comes_back():
    faults = [
        {"name": "dies", "what": "kill", "node": "n1", "at_s": 5},
        {"name": "back", "what": "restart", "node": "n1", "at_s": 15},
    ]
    proxy = {"like": "maxscale", "check_s": 0.1, "prefer": "order"}
    result = simrep.run(scenario(proxy=proxy, faults=faults, seconds=40.0))
    lines = [(line.what, line.of) for line in result.timeline().lines if line.node == "proxy"]
    gone = [("proxy-down", ("n1",)), ("proxy-writer", ("n2",))]
    gives = [("proxy-down", ("n3",)), ("proxy-up", ("n3",))]
    assert lines == [*gone, *gives, ("proxy-up", ("n1",)), ("proxy-writer", ("n1",))]
    dies, back = result.faults["dies"], result.faults["back"]
    assert dies.left_out_s.median == dies.rerouted_s.median < 0.2
    assert (dies.rerouted, back.rerouted) == (("n2",), ("n1",))
    synced = back.absences["n1"].synced_s.median
    assert synced < back.rerouted_s.median < synced + 0.2
    stays = scenario(proxy=proxy | {"fail_back": False}, faults=faults, seconds=40.0)
    assert not simrep.run(stays).faults["back"].rerouted


def test_a_killed_server_is_hidden_by_a_pool_and_not_from_pinned_clients():
    faults = [{"what": "kill", "node": "n1", "at_s": 5}]
    for like, hidden in (("proxysql", True), ("haproxy", False)):
        (run,) = simrep.run(scenario(proxy={"like": like}, faults=faults, seconds=20.0)).runs
        assert (not run.attempts.errors()) == hidden
        assert "n2" in nodes_of(run, "web")


def test_clients_of_haproxy_stay_with_a_dead_server_for_its_retries():
    """Three retries, each after a second; 3.1 s were measured, and always number 2013."""
    options = {"evs.suspect_timeout": 1, "evs.keepalive_period": 0.3,
               "evs.inactive_check_period": 0.1, "evs.join_retrans_period": 0.2}  # fmt: skip
    one = scenario(
        proxy={"like": "haproxy", "check_s": 0.5},
        faults=[{"what": "kill", "node": "n1", "at_s": 2}],
        groups=GROUPS[:1],
        mix=MIX[:1],
        seconds=8.0,
        changes={"cluster.options": options, "workload.clients.connect_timeout_s": 60.0},
    )
    result = simrep.run(one)
    told = {error.error: error for error in result.runs[0].attempts.errors() if error.connecting}
    assert set(told) == {"2013"}
    assert told["2013"].longest_s == pytest.approx(3.0, abs=0.01)
    down = [line for line in result.timeline().lines if line.what == "proxy-down"]
    assert down[0].at_s < 4.0 < told["2013"].first_s  # it was out long before
    patient = simrep.with_value(one, "workload.clients.connect_timeout_s", 0.5)
    errors = simrep.run(patient).runs[0].attempts.errors()
    assert {error.error for error in errors} == {"2013"}  # the proxy has taken the connection


def test_a_proxy_that_servers_tell_of_their_roles_need_not_wait_for_its_next_check():
    kills = [{"name": "dies", "what": "kill", "node": "n1", "at_s": 5}]
    moved_s = []
    for notified in (True, False):
        proxy = {"like": "mysql-router", "check_s": 60.0, "notified": notified}
        dies = simrep.run(scenario("group_replication", proxy, kills, seconds=80.0)).faults["dies"]
        moved_s.append(dies.rerouted_s.median - dies.writable_s.median)
    assert moved_s[0] < 0.01
    assert moved_s[1] > 1.0


def test_a_demoted_primary_loses_its_clients_where_connections_are_closed():
    moved = [{"what": "promote", "node": "n3", "at_s": 5}]
    for closes in (True, False):
        proxy = {"like": "mysql-router", "on_marked_down": "close" if closes else "keep"}
        (run,) = simrep.run(scenario("group_replication", proxy, moved, seconds=15.0)).runs
        errors = {error.error: error.times for error in run.attempts.of(group="web").errors()}
        assert ("2013" in errors) == closes
        assert (errors["1290"] > 8) != closes


def test_reports_and_stalls_tell_what_the_proxy_took():
    faults = [{"name": "dies", "what": "kill", "node": "n1", "at_s": 5}]
    groups = [GROUPS[0]]
    proxy = {"like": "haproxy", "check_s": 8.0}
    one = scenario(proxy=proxy, faults=faults, groups=groups, mix=MIX[:1], seconds=40.0)
    result = simrep.run(one)
    assert simrep.load(result.scenario).proxy.hold_s == 3.0  # all of it, to run it again
    told = simrep.explain_stall(one)
    *_, waits, rest = told.phases
    assert waits.name == "proxy"
    assert "fall = 3" in waits.why
    assert sum(phase.seconds for phase in told.phases) == pytest.approx(told.stall.seconds)
    moved_s = 5.0 + result.faults["dies"].rerouted_s.median
    assert rest.seconds == pytest.approx(told.stall.began_s + told.stall.seconds - moved_s)
    assert "writes to" in str(result.faults)


def test_a_source_that_is_back_beside_a_new_one_gets_writes_too():
    """As in ProxySQL, whose writers are all that are not read-only: split brain."""
    faults = [
        {"what": "kill", "node": "n1", "at_s": 3},
        {"what": "promote", "node": "n2", "at_s": 4},
        {"what": "restart", "node": "n1", "at_s": 8},
    ]
    (run,) = simrep.run(scenario("asynchronous", {"like": "proxysql"}, faults, seconds=30.0)).runs
    late = run.attempts.of(group="web").between(25.0)
    assert {late.nodes[node] for node in late.node} == {"n1", "n2"}
    assert run.fates.diverged > 0


# -- ways ------------------------------------------------------------------------------------------


def test_a_proxy_beside_a_node_pays_the_way_as_clients_far_away_do():
    """Statement by statement, and the same with a machine of their own at that distance."""
    long = [{"name": "web", "statements": 3, "reads": 2, "autocommit": False}]
    both = {"mix": long, "changes": {"network.rtt_ms": 20.0}}
    groups = [{"name": "web", "node": "n1", "threads": 1}]
    beside = scenario(proxy={"like": "maxscale", "beside": "n2"}, groups=groups, **both)
    far = scenario(groups=groups, **both)
    far = simrep.with_values(far, {"workload.client": "own", "workload.client_rtt_ms": 20.0})
    assert median(latencies(beside)) == pytest.approx(median(latencies(far)), rel=1e-4)
    home = scenario(proxy={"like": "maxscale", "beside": "n1"}, groups=groups, **both)
    near = scenario(groups=groups, **both)
    assert median(latencies(home)) == pytest.approx(median(latencies(near)))


def test_clients_beside_their_node_are_cut_off_with_it():
    """What they send is repeated by TCP after the cut; whoever gives up before tries again."""
    groups = [{"name": "web", "node": "n3", "threads": 1}]
    cut = [{"what": "cut", "node": "n3", "others": ["n1"], "at_s": 5, "until_s": 8}]
    moves = {"on_error": "next", "nodes": ["n1", "n2"], "read_timeout_s": 1.0}
    placed = scenario("group_replication", None, cut, groups, MIX[:1], 12.0)
    placed = simrep.with_value(placed, "workload.clients", {**moves, "place": "node"})
    (run,) = simrep.run(placed).runs
    assert {"n1", "n2"} <= nodes_of(run, "web")
    told = [error for error in run.attempts.errors() if error.node == "n1"]
    assert [error.error for error in told] == ["2013"]
    assert 6.0 < told[0].first_s < 6.2
    patient = simrep.with_values(placed, {"workload.clients.read_timeout_s": 60.0})
    (run,) = simrep.run(patient).runs
    assert 3.0 < run.attempts.longest_gap(4.0).seconds < 3.0 * 2.2  # timeouts that double
    assert "n2" not in nodes_of(run, "web")


# -- a server that lies about its commits ----------------------------------------------------------


class Server:
    """Two nodes that take writes; the first one commits, and loses the connection, until 0.55 s."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.served: list[tuple[float, int]] = []
        self.lag_s: float | None = 0.0
        self.refuses = False

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        yield self.clock.timeout(0.01)
        return "2003 refused" if self.refuses and node == 0 else None

    def status(self, node: int) -> ServerStatus:
        return ServerStatus(state="x", serves=True, writes=node == 0, lag_s=self.lag_s * node)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        self.served.append((round(self.clock.now, 3), transaction.node))
        yield self.clock.timeout(0.1)
        assert transaction.journal is not None or not transaction.rows
        if transaction.journal is not None:
            for node in range(2):
                transaction.journal.committed(node)
        transaction.error = "2013 gone" if self.clock.now < 0.55 else ""
        return not transaction.error


def played(rules, classes, *, lag_s=0.0, refuses=False, policy=None, until_s=3.0):
    clock = Clock()
    server, fates = Server(clock), Fates(clock, 2)
    server.lag_s, server.refuses = lag_s, refuses
    table = ProxyTable.model_validate({"like": "proxysql", **rules}).complete("other")
    names = ("n1", "n2")
    proxy = Proxy(
        clock, Streams(1, 0), server, table.rules({"n1": 0, "n2": 1}, names), names
    )  # fmt: skip
    source = Loop((0,), group="web", policy=policy)
    workload = Workload(classes, (source,), think=Think("constant", 0.4), retry=True)
    meter = Meter(clock, 0.0, 1.0, True, names, (), frozenset())
    log = AttemptLog(clock, ("web",), names)
    clients = RoutedClients(
        clock, Streams(1, 0), workload, server, meter, 2,
        log=log, fates=fates, proxy=proxy, ways=None,
    )  # fmt: skip
    clients.start()
    clock.run(until_s)
    return server, clients.attempts(), fates.count()


WRITE = (TransactionClass(name="write"),)
READ = (TransactionClass(name="read", statements=0, reads=1),)


def test_what_a_proxy_repeats_by_itself_may_be_there_twice():
    server, attempts, fates = played({"repeat": "all"}, WRITE)
    assert [error.times for error in attempts.errors()] == []
    assert fates.duplicated == 1
    _, attempts, fates = played({"repeat": "reads"}, WRITE)
    assert [error.error for error in attempts.errors()] == ["2013"]
    long = (TransactionClass(name="long", statements=2, autocommit=False),)
    _, attempts, fates = played({"repeat": "all"}, long)
    assert [error.error for error in attempts.errors()] == ["2013"]
    assert server.served[1][0] == pytest.approx(server.served[0][0] + 0.11)


def test_a_server_that_is_behind_gets_no_reads():
    for most_s, nodes in ((5.0, {1}), (1.0, {0})):
        rules = {"split": True, "max_lag_s": most_s}
        server, _, _ = played(rules, READ, lag_s=2.0)
        assert {node for _, node in server.served} == nodes


def test_a_client_is_held_while_nobody_takes_it_and_then_told():
    for hold_s in (0.0, 0.7):
        rules = {"hold_s": hold_s, "connections": "pinned", "refusal": "9001 nobody"}
        _, attempts, _ = played(rules, WRITE, refuses=True)
        first = attempts.errors()[0]
        assert first.error == "9001"
        assert first.first_s == pytest.approx(hold_s + 0.01)


def test_pauses_grow_until_something_is_done():
    policy = Policy(retry_pause_s=0.1, retry_backoff=2.0, longest_pause_s=0.5)
    assert [policy.pause_s(times) for times in (1, 2, 3, 4, 99)] == [0.1, 0.2, 0.4, 0.5, 0.5]
    faults = [{"what": "kill", "node": "n3", "at_s": 2}]
    clients = {"retry_pause_s": 0.1, "retry_backoff": 2.0, "longest_pause_s": 1.0}
    dead = simrep.with_value(scenario(faults=faults), "workload.clients", clients)
    (run,) = simrep.run(dead).runs
    refused = run.attempts.of(group="web").ended_s[run.attempts.of(group="web").connecting]
    assert 10 < len(refused) < 2 * 14


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "path", "problem"),
    [
        ({"proxy.like": "hapoxy"}, "proxy.like", "did you mean 'haproxy'?"),
        ({"proxy.like": "mysql-router"}, "proxy.like", "does not know model 'galera'"),
        ({"proxy.beside": "n9"}, "proxy.beside", "no node 'n9'"),
        ({"proxy.nodes": ["n1", "n1"]}, "proxy.nodes.1", "there twice"),
        ({"proxy.refusal": "gone"}, "proxy.refusal", "must begin with its number"),
        ({"proxy.refusal": " "}, "proxy.refusal", "must begin with its number"),
        (
            {"workload.clients.longest_pause_s": 0.5},
            "longest_pause_s",
            "at least retry_pause_s (1)",
        ),
        ({"proxy.max_lag_s": 5}, "proxy.max_lag_s", "by how many seconds"),
        (
            {"proxy.beside": "n1", "workload.client": "own", "workload.client_rtt_ms": 5.0},
            "proxy.beside",
            "workload.client_rtt_ms = 5 says otherwise",
        ),
        ({"workload.clients": {"via": "proxy", "place": "node"}}, "place", "where it is"),
        ({"proxy": None, "workload.clients": {"via": "proxy"}}, "via", "there is no proxy"),
    ],
)
def test_what_cannot_be_played_is_refused(changes, path, problem):
    model = "group_replication" if path == "proxy.max_lag_s" else "galera"
    with pytest.raises(ScenarioError) as caught:
        simrep.run(scenario(model, {"like": "proxysql"}, seconds=1.0, changes=changes))
    assert path in str(caught.value)
    assert problem in str(caught.value)


class Told(own_models.Silent):
    """A model of one's own that tells how its servers are, and whose sessions are its own."""

    name = "told"

    def status(self, node: int) -> ServerStatus:
        return ServerStatus(state="up", serves=True, writes=node > 0, rank=node)


def test_a_model_of_ones_own_has_a_proxy_if_it_tells_how_its_servers_are(monkeypatch):
    own_models.install(monkeypatch, told=f"{__name__}:Told", silent="tests.own_models:Silent")
    (run,) = simrep.run(scenario("told", {"like": "haproxy"}, seconds=1.0)).runs
    assert nodes_of(run, "web") == {"n2"}
    with pytest.raises(ScenarioError, match=r"does not tell a proxy .* method status"):
        simrep.run(scenario("silent", {"like": "haproxy"}, seconds=1.0))
    with pytest.raises(ScenarioError, match=r"beside: .* from elsewhere .* parts\.sessions"):
        simrep.run(scenario("told", {"beside": "n1"}, seconds=1.0))
