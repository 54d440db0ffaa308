"""Open loops over so many connections, scheduled transactions, and what makes them long."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

import simrep
from simrep.kernel.clock import Clock, Event
from simrep.kernel.streams import Streams
from simrep.models.mysql.options import ServerCosts
from simrep.testing import free
from simrep.workload.classes import TransactionClass
from simrep.workload.clients import Clients
from simrep.workload.keys import Keys
from simrep.workload.mix import Mix
from simrep.workload.transaction import Transaction
from simrep.workload.workload import Arrivals, Loop, Scheduled, Workload
from tests.stand_in import INSERT, Recorder, Server, played, transactions, workload_of


# ------------------------------------------- an open loop over so many connections --
class Lines(Server):
    """Notes how many transactions it has at a time, and which."""

    def __init__(self, clock: Clock, **how: Any) -> None:
        super().__init__(clock, **how)
        self.inside = self.most = 0
        self.order: list[Transaction] = []

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.order.append(transaction)
        committed = yield from super().transact(transaction)
        self.inside -= 1
        return committed


def lined_up(
    connections: int, rate_tps: float, until: float, service_s: float = 0.1
) -> tuple[Clients, Lines, Recorder]:
    clock = Clock()
    server, recorder = Lines(clock, service_s=service_s), Recorder(clock)
    arrivals = (Arrivals(1, rate_tps, connections),)
    clients = Clients(clock, Streams(1), Workload(INSERT, arrivals=arrivals), server, recorder)
    clients.start()
    clock.run(until)
    return clients, server, recorder


@pytest.mark.parametrize("connections", [1, 3, 20])
def test_so_many_transactions_at_a_time_are_submitted(connections: int) -> None:
    _, server, recorder = lined_up(connections, 1000.0, until=20.0)
    assert server.most == connections
    assert server.connected == [1] * connections
    assert recorder.opens == [0.0] * connections
    # All are busy from the time they are open: what arrives is more than they can do.
    assert len(recorder.commits) == pytest.approx(connections * 190, abs=connections)


def test_they_are_submitted_in_the_order_in_which_they_have_arrived() -> None:
    _, server, _ = lined_up(3, 100.0, until=30.0)
    arrived_s = [one.started_s for one in server.order]
    assert arrived_s == sorted(arrived_s)
    assert len(set(arrived_s)) == len(arrived_s) > 500
    assert {one.client for one in server.order} == {0, 1, 2}


def test_latency_counts_from_the_arrival_and_waiting_is_told() -> None:
    _, server, recorder = lined_up(2, 100.0, until=30.0, service_s=0.25)
    began_s = {one: start for one, (start, *_) in zip(server.order, server.starts, strict=True)}
    for one in server.order:
        assert one.queued_s == pytest.approx(began_s[one] - one.started_s, abs=1e-12)
    latencies = [end - started for started, end, *_ in recorder.commits]
    expected = [one.queued_s + 0.25 for one in server.order[: len(latencies)]]
    assert latencies == pytest.approx(expected, abs=1e-9)
    assert latencies[-1] > 10.0  # the line grows for ever: 100 come and 8 go in a second


def test_nobody_waits_while_a_connection_is_free() -> None:
    _, server, _ = lined_up(50, 20.0, until=200.0)
    after_opening = [one for one in server.order if one.started_s > 1.0]
    assert len(after_opening) > 3000
    # 2 of 50 are busy on average: to find all busy is one in 10^40.
    assert all(one.queued_s == 0.0 for one in after_opening)


@pytest.mark.parametrize("connections", [1, 4])
def test_the_same_transactions_arrive_however_many_connections_there_are(connections: int) -> None:
    _, server, _ = lined_up(connections, 5.0, until=100.0)
    clock = Clock()
    free = Lines(clock)
    workload = Workload(INSERT, arrivals=(Arrivals(1, 5.0),))
    Clients(clock, Streams(1), workload, free, Recorder(clock)).start()
    clock.run(100.0)
    number = min(len(server.order), len(free.order))
    assert number > 300
    assert [one.started_s for one in server.order[:number]] == [
        one.started_s for one in free.order[:number]
    ]


def test_the_time_in_line_is_the_clients() -> None:
    # One connection, a service of 10 ms, and 50 arrivals per second: half of its time it is busy.
    result = simrep.run(
        {
            "cluster": {
                "model": "standalone",
                "nodes": 1,
                "machine": {"cores": 64},
                "costs": free(ServerCosts) | {"statement_us": 10_000.0},
            },
            "workload": {"rate_tps": 50.0, "connections": 1},
            "run": {"duration_s": 400.0, "seed": 1},
        }
    )
    stages = result.breakdown().stages
    # Waiting in an M/D/1 queue: rho s / (2 (1 - rho)), 5 ms; of 20,000 the mean is within 10 %
    # but once in a million.
    assert result.latency_s["mean"] == pytest.approx(0.015, rel=0.1)
    assert set(stages) == {"client", "execute"}
    assert stages["execute"] == pytest.approx(0.01, abs=1e-9)
    assert stages["client"] == pytest.approx(result.latency_s["mean"] - 0.01, abs=1e-6)


# ------------------------------------------------------------- scheduled ones --
def scheduled(one: TransactionClass, at_s: float = 2.5, **how: Any) -> tuple[Clients, Any, Any]:
    workload = Workload(INSERT, loops=(Loop((0,)),), scheduled=(Scheduled(one, 1, at_s),))
    return played(workload, until=10.0, **how)


def test_a_scheduled_transaction_is_submitted_once_and_in_time() -> None:
    clients, server, recorder = scheduled(TransactionClass(name="large", rows=5), service_s=0.5)
    assert [start for start in server.starts if start[2] == 1] == [(2.5, 1, 1)]
    (journal,) = clients.journals
    assert (journal.name, journal.node, journal.rows) == ("large", 1, 5)
    assert (journal.begin_s, journal.commit_s, journal.error) == (2.5, 3.0, "")
    # It is not counted with the others, and opens no connection of theirs.
    assert all(kind == "insert" for *_, kind, _ in recorder.commits)
    assert clients.submitted == len(server.starts) - 1
    assert server.connected == [0]


@pytest.mark.parametrize(("said", "told"), [("1213 deadlock", "1213 deadlock"), ("", "not told")])
def test_the_recorder_is_told_on_which_node_and_why_a_transaction_failed(
    said: str, told: str
) -> None:
    workload = Workload(INSERT, loops=(Loop((1, 0)),), per_client=1)
    _, _, recorder = played(workload, verdict=lambda _: False, error=said)
    assert recorder.errors == [(1, told), (0, told)]


def test_a_scheduled_transaction_that_fails_is_not_repeated() -> None:
    clients, server, _ = scheduled(TransactionClass(name="large"), verdict=lambda _: False)
    assert len([start for start in server.starts if start[2] == 1]) == 1
    (journal,) = clients.journals
    assert journal.error == "not told"
    assert journal.closed.triggered


# ------------------------------------------------------------ long transactions --
def test_the_rows_of_a_large_statement_are_a_range() -> None:
    keys = Keys("scan", rows=50_000)
    (one,) = transactions(TransactionClass(rows=1001, statements=2, keys=keys))
    assert one.keys == ()
    assert one.ranges == (range(1001),)  # both statements write the same rows
    assert [statement.scan for statement in one.statements] == [range(1001)] * 2
    assert (one.rows, one.key_count) == (2002, 1001)
    (few,) = transactions(TransactionClass(rows=1000, keys=keys))
    assert few.keys == few.statements[0].locks == tuple(range(1000))
    assert few.ranges == ()


def test_fresh_rows_of_ranges_are_never_the_same() -> None:
    mix = Mix([TransactionClass(rows=5000, statements=2)], Streams(1))
    makers = [mix.client(str(client), client, 0) for client in range(3)]
    ranges = [rows for _ in range(4) for make in makers for rows in make(0.0).ranges]
    assert len({row for rows in ranges for row in rows}) == 3 * 4 * 2 * 5000
    assert all(one.scan is None for one in makers[0](0.0).statements)


def test_a_scan_ends_in_its_table() -> None:
    keys = Keys("uniform", rows=2000)
    for one in transactions(TransactionClass(rows=1500, keys=keys), 100):
        (rows,) = one.ranges
        assert rows.start >= 0
        assert rows.stop <= 2000
        assert len(rows) == 1500


def test_long_fields_reach_the_transaction() -> None:
    table = {
        "name": "large",
        "rows": 3000,
        "load_data": True,
        "pause_ms": 20,
        "statements": 1,
        "session": {"wsrep_trx_fragment_size": 7},
    }
    xa = {"name": "xa", "xa_hold_ms": 1500, "statements": 2, "reads": 1}
    loaded = workload_of({"class": [table, xa], "scheduled": [{"at_s": 3, "node": "n2"} | xa | {
        "name": "later"}]})  # fmt: skip
    large, prepared = (transactions(one)[0] for one in loaded.classes)
    assert (large.load_data, large.pause_s) == (True, 0.02)
    assert large.session == {"wsrep_trx_fragment_size": 7}
    assert (large.xa_hold_s, large.autocommit) == (None, True)
    assert (prepared.xa_hold_s, prepared.autocommit) == (1.5, False)
    assert (prepared.load_data, prepared.session) == (False, None)
    (one,) = loaded.scheduled
    assert (one.transaction_class.name, one.node, one.at_s) == ("later", 1, 3.0)
    alone = workload_of({"class": [{"xa_hold_ms": 0}]}).classes[0]
    assert alone.long
    assert not alone.autocommit  # XA COMMIT is a statement of its own


def test_connections_are_those_of_each_node() -> None:
    loaded = workload_of({"rate_tps": 9.0, "connections": 5, "nodes": ["*"]})
    assert loaded.arrivals == tuple(Arrivals(node, 3.0, 5) for node in range(3))
    groups = [{"node": "n2", "rate_tps": 5.0, "connections": 2}, {"node": "n1", "rate_tps": 1.0}]
    assert workload_of({"group": groups}).arrivals == (
        Arrivals(1, 5.0, 2, group="clients of n2"),
        Arrivals(0, 1.0, group="clients of n1"),
    )


@pytest.mark.parametrize(
    "special",
    [{}, {"pause_ms": 1}, {"session": {"a": 1}}, {"xa_hold_ms": 1}, {"load_data": True},
     {"rows": 3000}, {"statements": 3, "rows": 3000}],
)  # fmt: skip
def test_rows_without_a_primary_key_share_one_key(special: dict[str, Any]) -> None:
    table = {"name": "logs", "rows": 2, "primary_key": False} | special
    loaded = workload_of({"class": [table], "scheduled": [table | {"name": "later"}]})
    mixed = transactions(loaded.classes[0], 2)
    single = Mix([], Streams(1)).single(loaded.scheduled[0].transaction_class, 0, 0)(0.0)
    for one in (*mixed, single):
        assert one.keys == (("content", "t1", one.kind),)
        assert one.ranges == ()
        assert one.key_count == 1
        assert one.rows == table["rows"] * table.get("statements", 1)


def test_rows_that_exist_are_certified_one_by_one_whatever_their_table_has() -> None:
    keys = {"distribution": "scan", "rows": 3}
    table = {"rows": 3, "primary_key": False, "pause_ms": 1, "keys": keys}
    (one,) = transactions(workload_of({"class": [table]}).classes[0])
    assert one.keys == (0, 1, 2)


def test_a_scheduled_transaction_that_only_reads_ends_a_run() -> None:
    reading = {"name": "report", "at_s": 0.1, "statements": 0, "reads": 3}
    result = simrep.run(
        {
            "cluster": {"model": "galera", "nodes": 2},
            "workload": {"threads": 1, "think_time_ms": 10, "scheduled": [reading]},
            "run": {"settle_s": 0.1, "limit_s": 5},
        }
    )
    report = result.scheduled["report"]
    assert 0.1 < report.commit_s == report.end_s < 0.2
