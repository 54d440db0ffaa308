"""Clients that meet errors: what they do, what is kept of it, and what becomes of transactions."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from math import inf
from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock, Event
from simrep.kernel.streams import Streams
from simrep.measure.attempts import AttemptLog, Attempts, ErrorCount
from simrep.measure.meter import Meter
from simrep.testing import check, check_conservation, check_stages
from simrep.workload.classes import TransactionClass
from simrep.workload.failover import FailoverClients, groups_of
from simrep.workload.fate import FateCount, Fates
from simrep.workload.mix import Mix
from simrep.workload.policy import Policy
from simrep.workload.transaction import Transaction
from simrep.workload.workload import Arrivals, Loop, Think, Workload

INSERT = (TransactionClass(name="insert"),)
READ = (TransactionClass(name="read", statements=0, reads=1),)
NEXT = Policy(on_error="next", retry_pause_s=0.5)


class Server:
    """Three nodes that answer after a while, unless one is down: gone, silent or without quorum."""

    def __init__(self, clock: Clock, fates: Fates, how: str, until_s: float = inf) -> None:
        self.clock = clock
        self.fates = fates
        self.how = how
        self.until_s = until_s
        self.connects: list[tuple[float, int]] = []
        self.takes_s = 0.1

    def down(self, node: int) -> bool:
        return self.how != "none" and node == 0 and 1.0 <= self.clock.now < self.until_s

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        self.connects.append((round(self.clock.now, 9), node))
        if self.down(node) and self.how == "silent":
            yield Event(self.clock)
        yield self.clock.timeout(0.01)
        return "2003 refused" if self.down(node) and self.how == "gone" else None

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        node = transaction.node
        yield self.clock.timeout(0.0 if self.down(node) else self.takes_s)
        if self.down(node):
            if self.how == "silent":
                yield Event(self.clock)
            transaction.unserved = True
            transaction.error = "2013 gone" if self.how == "gone" else "1047 not prepared"
            return False
        if transaction.journal is not None:
            for member in range(3):
                transaction.journal.committed(member)
        return True


class Played:
    """A run of such clients."""

    def __init__(
        self,
        policy: Policy | None,
        *,
        how: str = "gone",
        until_s: float = inf,
        end_s: float = 10.0,
        takes_s: float = 0.1,
        **workload: Any,
    ) -> None:
        clock = Clock()
        self.fates = Fates(clock, 3)
        self.server = Server(clock, self.fates, how, until_s)
        self.server.takes_s = takes_s
        filled = {"loops": (Loop((0,), policy=policy),), "classes": INSERT} | workload
        load = Workload(**filled)
        meter = Meter(clock, readers=load.readers)
        log = AttemptLog(clock, groups_of(load), ["n1", "n2", "n3"])
        clients = FailoverClients(
            clock, Streams(1), load, self.server, meter, 3, log=log, fates=self.fates
        )
        clients.start()
        clock.run(end_s)
        self.clients = clients
        self.attempts: Attempts = clients.attempts()
        self.stall = meter.measurement(end_s, clients.in_flight_since_s).stall
        ended = clients.committed + clients.aborted
        assert clients.submitted == ended + clients.in_flight

    @property
    def errors(self) -> list[tuple[str, str, int]]:
        return [(one.node, one.error, one.times) for one in self.attempts.errors()]

    @property
    def count(self) -> FateCount:
        count = self.fates.count()
        assert count is not None
        return count


def test_a_pinned_client_waits_for_its_node():
    done = Played(Policy(retry_pause_s=0.5), until_s=5.0)
    assert done.errors == [("n1", "2013", 1), ("n1", "2003", 7)]
    lost, refused = done.attempts.errors()
    assert (lost.connecting, refused.connecting) == (False, True)
    assert lost.first_s == lost.last_s == pytest.approx(1.01)
    assert refused.first_s == pytest.approx(1.52)
    assert refused.longest_s == pytest.approx(0.01)
    gap = done.attempts.longest_gap(1.0, 5.0)
    assert gap.seconds == done.stall.seconds == pytest.approx(4.27, abs=0.2)
    assert gap.began_s == done.stall.began_s
    assert {node for _, node in done.server.connects} == {0}


def test_one_that_fails_over_goes_on_with_the_next_node():
    done = Played(NEXT)
    assert done.errors == [("n1", "2013", 1)]
    assert [node for _, node in done.server.connects] == [0, 1]
    assert done.attempts.longest_gap().seconds == pytest.approx(0.61 + 0.1, abs=0.02)
    assert len(done.attempts.of(nodes=["n2"]).commits_s) == done.clients.committed - 9
    listed = Played(replace(NEXT, nodes=(2, 0)))
    assert [node for _, node in listed.server.connects] == [0, 2]


STOP = Policy(on_error="stop")


def test_one_that_stops_ends_at_the_first_error_it_is_told_of():
    for how, error in (("gone", "2013"), ("without quorum", "1047")):
        for retry in (False, True):  # which repeats what is aborted, and finds no server here
            done = Played(STOP, how=how, until_s=2.0, retry=retry)
            assert done.errors == [("n1", error, 1)]
            assert (len(done.server.connects), done.clients.aborted) == (1, 1)
            assert done.clients.stops_s == pytest.approx([1.01], abs=0.11)
            assert done.clients.in_flight == 0
            assert done.stall.seconds < 0.2  # nobody waits for anything


def conflicts(**load):
    nodes = ["n1", "n2"]
    return {
        "cluster": {"model": "galera", "nodes": nodes},
        "network": {"rtt_ms": 5.0},
        "workload": {
            "class": [{"statements": 2, "keys": {"distribution": "uniform", "rows": 40}}],
            "threads": 8,
            "nodes": nodes,
            "clients": {"on_error": "stop"},
            **load,
        },
        "run": {"duration_s": 2.0},
    }


def test_clients_that_stop_at_an_abort_grow_fewer_and_the_result_tells_how_many_there_were():
    result = simrep.run(conflicts(), seed=1)
    left = result.mean_active_clients
    assert 0.0 < result.aborted <= 8.0
    assert left is not None
    assert 8.0 - result.aborted <= left < 8.0  # nobody has more than one error
    assert result.to_dict()["mean_active_clients"] == left
    whole = simrep.run(conflicts(retry=True), seed=1)
    assert whole.mean_active_clients == 8.0  # what is aborted is repeated
    assert whole.aborted > 8.0
    plain = conflicts(clients={"on_error": "stay"})
    assert "mean_active_clients" not in simrep.run(plain, seed=1).to_dict()


@pytest.mark.parametrize(
    "load",
    [
        {"rate_tps": 10.0, "threads": None},
        {"variation": {"phase": [{"name": "a", "at_s": 0.0, "threads": 4}]}, "threads": None},
    ],
)
def test_only_clients_whose_number_is_steady_can_stop(load):
    content = conflicts(**load)
    content["workload"] = {k: v for k, v in content["workload"].items() if v is not None}
    with pytest.raises(ScenarioError, match=r'clients\.on_error: "stop" is for a closed loop'):
        simrep.load(content)


def test_a_node_without_quorum_keeps_its_connections():
    done = Played(Policy(retry_pause_s=0.5), how="without quorum", until_s=5.0)
    assert len(done.server.connects) == 1
    ((node, error, times),) = done.errors
    assert (node, error) == ("n1", "1047")
    assert times == pytest.approx(8, abs=1)
    assert done.count.unknown == 0
    assert done.stall.seconds > 3.9  # its pauses are time in which it waits


def test_instead_of_thinking_a_client_pauses():
    done = Played(Policy(retry_pause_s=0.5), how="without quorum", think=Think("constant", 3.0))
    ends = done.attempts.ended_s
    assert ends[1:5] - ends[:4] == pytest.approx([0.5] * 4)


def test_without_a_read_timeout_a_client_hangs():
    done = Played(None, how="silent")
    assert done.clients.in_flight == 1
    assert done.errors == [("n1", "waiting", 1)]
    assert done.attempts.longest_wait_s() == pytest.approx(9.0, abs=0.1)
    assert done.stall.seconds == pytest.approx(9.0, abs=0.1)
    assert done.count.waiting == 1


def test_who_gives_up_connects_again_and_gives_that_up_too():
    policy = Policy(read_timeout_s=2.0, connect_timeout_s=3.0, retry_pause_s=0.5)
    done = Played(policy, how="silent", end_s=12.0)
    assert done.errors == [("n1", "2013", 1), ("n1", "2003", 2), ("n1", "waiting", 1)]
    lost, refused, waiting = done.attempts.errors()
    assert lost.longest_s == pytest.approx(2.0)
    assert refused.longest_s == pytest.approx(3.0)
    assert waiting.connecting
    over = Played(replace(policy, on_error="next"), how="silent")
    assert over.errors == [("n1", "2013", 1)]
    assert over.attempts.longest_gap().seconds == pytest.approx(2.61, abs=0.02)


def test_a_server_ends_what_its_client_has_given_up():
    """The answer comes to nobody: it counts once, and its outcome is unknown to the client."""
    policy = Policy(read_timeout_s=0.3, retry_pause_s=0.5)
    done = Played(policy, takes_s=0.4, how="none", end_s=4.0)
    assert done.clients.committed == 0
    assert done.clients.aborted == 5
    assert done.count == FateCount(
        answered=0, lost=0, lost_span_s=0.0, failed=0, failed_present=0, unknown=5,
        unknown_present=5, duplicated=0, waiting=0,
    )  # fmt: skip


def test_who_submits_again_what_it_has_given_up_makes_a_duplicate():
    policy = Policy(read_timeout_s=0.3, retry_pause_s=0.5)
    done = Played(policy, takes_s=0.4, how="none", end_s=4.0, retry=True, per_client=1)
    assert done.count.unknown_present == 5
    assert done.count.duplicated == 1


def test_readers_have_no_fate():
    done = Played(NEXT, classes=READ)
    assert done.fates.count() is None
    assert done.errors == [("n1", "2013", 1)]
    assert not done.attempts.writes.any()


def test_arrivals_turn_to_another_node_and_lose_nothing():
    for connections in (None, 2):
        arrivals = (Arrivals(0, 20.0, connections, policy=NEXT, group="web"),)
        done = Played(NEXT, loops=(), arrivals=arrivals, retry=True)
        assert {(error.group, error.error) for error in done.attempts.errors()} <= {
            ("web", "2013"),
            ("web", "waiting"),
        }
        assert done.count.lost == 0
        assert len(done.attempts.of(nodes=["n2"]).commits_s) > 100


def test_arrivals_that_find_no_connection_fail():
    arrivals = (Arrivals(0, 20.0, policy=Policy(retry_pause_s=0.5)),)
    done = Played(None, loops=(), arrivals=arrivals, until_s=5.0)
    lost, refused = done.attempts.errors()
    assert (lost.error, refused.error, refused.connecting) == ("2013", "2003", True)
    # 20 a second for 4 s; six standard deviations: a false alarm in 500 million.
    assert lost.times + refused.times == done.clients.aborted == pytest.approx(80, abs=54)
    assert len(done.attempts.between(5.1).commits_s) > 50


def test_what_only_a_dead_node_has_is_lost_until_it_is_back():
    fates = Fates(Clock(), 2)
    make = Mix(INSERT, Streams(1), tracked=True).client("0", 0, 0)
    only_here, everywhere = make(0.0), make(0.0)
    for transaction, nodes in ((only_here, (0,)), (everywhere, (0, 1))):
        fate = fates.begin(transaction)
        for node in nodes:
            fate.committed(node)
        fate.ended("answered")
    assert fates.count().lost == 0
    fates.node_changes((0, False))
    assert (fates.count().answered, fates.count().lost) == (2, 1)
    fates.node_changes((0, True))
    assert fates.count().lost == 0
    fates.adopted(0, 1)  # it throws away what it has for the state of another
    assert fates.count().lost == 1


def test_attempts_are_counted_by_group_node_and_error():
    clock = Clock()
    log = AttemptLog(clock, ["A", "B"], ["n1", "n2"])
    for at_s, group, node, error in (
        (1.0, 0, 0, ""), (2.0, 1, 1, ""), (3.0, 0, 0, "1047 no"), (4.0, 0, 0, "1047 no"),
        (6.0, 1, 1, ""),
    ):  # fmt: skip
        clock.run(at_s)
        log.ended(at_s - 0.5, group, node, writes=True, error=error)
    clock.run(10.0)
    attempts = log.attempts()
    assert attempts.errors() == (
        ErrorCount(group="A", node="n1", error="1047", text="1047 no", connecting=False, times=2,
                   first_s=3.0, last_s=4.0, longest_s=0.5),
    )  # fmt: skip
    assert attempts.of(group="B").longest_gap().seconds == 4.0
    assert attempts.longest_gap(1.0, 1.9).seconds == 1.0
    assert len(attempts.between(2.0, 4.0)) == 2
    assert attempts.of(nodes=["n1"]).longest_gap().seconds == 9.0  # to the end of the run


@pytest.mark.parametrize(
    ("workload", "path", "said"),
    [
        (
            {"clients": {"on_error": "stay", "nodes": ["n1", "n2"]}},
            "workload.clients.nodes",
            "next",
        ),
        ({"clients": {"on_error": "next", "nodes": ["n1", "n1"]}}, "nodes.1", "twice"),
        ({"clients": {"on_error": "next", "nodes": ["n1", "n9"]}}, "clients.nodes.1", "n9"),
        ({"clients": {"on_error": "wait"}}, "workload.clients.on_error", "stay"),
        ({"clients": {"retry_pause_s": 0}}, "workload.clients.retry_pause_s", "microsecond"),
        ({"clients": {"read_timeout": 1}}, "read_timeout", "read_timeout_s"),
        ({"group": [{"node": "n1", "rate_tps": 5, "think_time_ms": 1}]}, "think_time_ms", "open"),
        (
            {"group": [{"node": "n1", "threads": 1, "name": "A"}] * 2},
            "workload.group.0.name",
            "two groups",
        ),
    ],
)
def test_nonsense_is_an_error(workload: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=path) as caught:
        simrep.load(
            {"cluster": {"model": "galera"}, "workload": workload, "run": {"duration_s": 1}}
        )
    assert said in str(caught.value)


def test_one_node_has_no_next():
    cluster = {"model": "standalone", "nodes": 1}
    with pytest.raises(ScenarioError, match="there is no next node"):
        simrep.load({"cluster": cluster, "workload": {"clients": {"on_error": "next"}}})


def test_who_writes_does_not_turn_to_a_replica():
    classes = [{"name": "w"}, {"name": "r", "statements": 0, "reads": 1}]
    groups = [
        {"node": "n1", "threads": 1, "class": ["w"]},
        {"node": "n2", "threads": 1, "class": ["r"], "clients": {"on_error": "next"}},
    ]
    content = {
        "cluster": {"model": "asynchronous", "nodes": 3},
        "workload": {"class": classes, "group": groups},
        "run": {"duration_s": 0.01},
    }
    simrep.run(content)
    groups[0]["clients"] = {"on_error": "next"}
    with pytest.raises(ScenarioError, match=r"group.0.clients.on_error: class 'w' cannot go on"):
        simrep.run(content)
    content["workload"] = {"clients": {"on_error": "next", "nodes": ["n1", "n3"]}}
    with pytest.raises(ScenarioError, match=r"workload.clients.on_error: class 'write' .* 'n3'"):
        simrep.run(content)


def test_clients_of_a_node_that_stands_still_give_up_and_it_ends_what_it_has():
    group = {"node": "n1", "threads": 3, "think_time_ms": 10}
    scenario = {
        "cluster": {"model": "standalone", "nodes": 1},
        "workload": {"group": [group], "clients": {"read_timeout_s": 0.5, "retry_pause_s": 0.1}},
        "fault": [{"what": "pause", "node": "n1", "at_s": 1.0, "until_s": 3.0}],
        "run": {"duration_s": 4.0},
    }
    run = simrep.run(scenario).runs[0]
    check_conservation(run.traffic)
    (lost,) = run.attempts.errors()
    assert (lost.error, lost.times) == ("2013", 3)
    assert lost.longest_s == pytest.approx(0.5)
    # New connections are accepted when it goes on, long before their timeout of 10 s.
    assert run.attempts.longest_gap(1.0, 3.0).seconds == pytest.approx(2.0, abs=0.05)
    assert len(run.attempts.between(3.0).commits_s) > 100
    check_stages(run.measurement)


def test_a_machine_without_power_is_silent_until_it_starts_again():
    """Those who give up and submit again what the others have committed commit it twice."""
    give_up = {"read_timeout_s": 2.0, "connect_timeout_s": 1.0, "retry_pause_s": 0.2}
    groups = [
        {"node": "n1", "threads": 2, "name": "A", "clients": {"on_error": "next"}},
        {"node": "n2", "threads": 2, "name": "B"},
        {"node": "n1", "threads": 1, "name": "P"},
    ]
    scenario = {
        "cluster": {"model": "galera", "nodes": 3},
        "workload": {"group": groups, "think_time_ms": 50, "clients": give_up, "retry": True},
        "fault": [
            {"what": "power-loss", "node": "n1", "at_s": 1.0},
            {"what": "restart", "node": "n1", "at_s": 8.0},
        ],
        "run": {"duration_s": 12.0},
    }
    run = simrep.run(scenario).runs[0]
    check_conservation(run.traffic)
    errors = {(one.group, one.node, one.error): one for one in run.attempts.errors()}
    assert errors["A", "n1", "2013"].first_s == pytest.approx(3.03, abs=0.05)
    assert errors["B", "n2", "2013"].longest_s == pytest.approx(2.0)
    silent = run.attempts.of(group="P").between(3.2, 8.0)
    assert silent.longest_wait_s() == pytest.approx(1.0)
    refused = run.attempts.of(group="P").between(9.0, 10.0)
    assert 0 < len(refused) <= 5
    assert refused.longest_wait_s() < 0.01
    assert run.fates.lost == run.fates.failed_present == 0
    assert run.fates.duplicated > 0


@pytest.mark.parametrize("model", ["galera", "group_replication", "semisync"])
@pytest.mark.parametrize("autocommit", [True, False])
def test_what_clients_give_up_is_done_once_or_not_at_all(model: str, autocommit: bool) -> None:
    write = {"name": "w", "statements": 1 if autocommit else 2, "autocommit": autocommit}
    read = {"name": "r", "statements": 0, "reads": 3, "autocommit": False}
    clients = {"read_timeout_s": 0.004, "retry_pause_s": 0.01}
    keys = {"distribution": "uniform", "rows": 20}
    scenario = {
        "cluster": {"model": model, "nodes": 3},
        "network": {"rtt_ms": 2},
        "workload": {
            "threads": 8,
            "clients": clients,
            "retry": not autocommit,
            "class": [write | {"keys": keys}, read],
        },
        "run": {"duration_s": 0.2},
    }
    check(scenario)
    fates = simrep.run(scenario).runs[0].fates
    assert fates is not None
    assert fates.unknown > 10
    assert (fates.lost, fates.failed_present) == (0, 0)
    assert fates.unknown_present >= fates.unknown - 2  # those under way at the end
    assert (fates.duplicated > 0) <= (not autocommit)


def test_a_deadlock_is_an_error_after_which_a_client_may_turn_to_another_node():
    hot = {"statements": 2, "autocommit": False, "keys": {"distribution": "uniform", "rows": 5}}
    workload = {"threads": 6, "nodes": ["*"], "class": [hot], "clients": {"on_error": "next"}}
    traffic = check(
        {"cluster": {"model": "galera"}, "workload": workload, "run": {"duration_s": 0.1}}
    )
    assert traffic.aborted > 10


def test_groups_have_policies_and_pauses_of_their_own():
    groups = [
        {"node": "n1", "threads": 1, "name": "web", "clients": {"on_error": "next"}},
        {"node": "n2", "threads": 1, "think_time_ms": 5},
        {"node": "n2", "threads": 1},
    ]
    table = {"group": groups, "think_time_ms": 2, "clients": {"retry_pause_s": 0.02}}
    content = {"cluster": {"model": "galera"}, "workload": table, "run": {"duration_s": 1}}
    scenario = simrep.load(content)
    web, other, third = scenario.workload.workload(scenario.node_names).loops
    assert (web.group, other.group) == ("web", "clients of n2")
    assert third.group == "clients of n2 (2)"
    assert web.policy == Policy(on_error="next", retry_pause_s=0.02)
    assert other.policy == Policy(retry_pause_s=0.02)
    assert (web.think, other.think) == (Think("constant", 0.002), Think("constant", 0.005))


def test_a_killed_node_of_a_cluster_is_met_as_measured():
    """Each client is told 2013 once, at once; who fails over commits again with the others."""
    groups = [
        {"node": "n1", "threads": 4, "name": "A", "clients": {"on_error": "next"}},
        {"node": "n2", "threads": 4, "name": "B"},
        {"node": "n1", "threads": 1, "name": "P"},
    ]
    scenario = {
        "cluster": {"model": "galera", "nodes": 3},
        "workload": {"group": groups, "think_time_ms": 50, "clients": {"retry_pause_s": 0.2}},
        "fault": [{"what": "kill", "node": "n1", "at_s": 1.0}],
        "run": {"duration_s": 8.0},
    }
    run = simrep.run(scenario).runs[0]
    assert run.attempts is not None
    errors = {(one.group, one.error): one for one in run.attempts.errors()}
    assert errors["A", "2013"].times == 4
    assert errors["A", "2013"].last_s == pytest.approx(1.03, abs=0.03)
    assert errors["P", "2003"].times == pytest.approx(7.0 / 0.2, abs=1)
    assert not [key for key in errors if key[0] == "B"]
    assert run.fates is not None
    assert (run.fates.lost, run.fates.failed_present, run.fates.duplicated) == (0, 0, 0)
    gap = run.attempts.of(group="A").longest_gap()
    assert gap.seconds == pytest.approx(run.attempts.of(group="B").longest_gap().seconds, abs=0.3)


def test_status_variables_count_what_servers_did_for_clients_that_had_gone() -> None:
    """A client that stops waiting leaves its transaction behind, which ends in its server."""
    workload = {
        "threads": 12,
        "nodes": ["*"],
        "class": [{"keys": {"rows": 20, "distribution": "uniform"}}],
        "clients": {"read_timeout_s": 0.04},
    }
    done = simrep.run(
        {
            "cluster": {"model": "galera"},
            "network": {"rtt_ms": 20},
            "workload": workload,
            "run": {"duration_s": 3},
        }
    )
    fates = done.runs[0].fates
    counted = dict.fromkeys(
        ("wsrep_local_commits", "wsrep_local_cert_failures", "wsrep_replicated"), 0.0
    )
    for node in done.counters.values():
        for name in counted:
            counted[name] += node[name]
    assert fates.unknown > fates.unknown_present > 0
    assert counted["wsrep_local_commits"] == fates.answered + fates.unknown_present
    ended = counted["wsrep_local_commits"] + counted["wsrep_local_cert_failures"]
    assert 0 <= counted["wsrep_replicated"] - ended <= 12  # on their way when the run ended
