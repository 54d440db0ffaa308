"""Rows, classes of transactions and clients, against a server that is a stand-in."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from simrep.errors import ScenarioError
from simrep.kernel.streams import Streams
from simrep.scenario import load
from simrep.workload.classes import TransactionClass
from simrep.workload.keys import Keys
from simrep.workload.mix import Mix
from simrep.workload.transaction import Statement
from simrep.workload.workload import Arrivals, Loop, Think, Workload
from tests.stand_in import INSERT, played, transactions, workload_of


# --------------------------------------------------------------------- rows --
def rows(keys: Keys, number: int = 20_000) -> Counter[int]:
    return Counter(int(t.keys[0]) for t in transactions(TransactionClass(keys=keys), number))  # type: ignore[call-overload]


def near(expected: float, number: int = 20_000) -> Any:
    # Five standard deviations of a binomial count: a false alarm in 2 million.
    return pytest.approx(number * expected, abs=5 * (number * expected * (1 - expected)) ** 0.5)


def test_uniform_rows_are_all_alike() -> None:
    found = rows(Keys("uniform", rows=10))
    assert set(found) == set(range(10))
    assert all(count == near(0.1) for count in found.values())


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_zipf_rows_follow_the_power_of_their_rank(exponent: float) -> None:
    found = rows(Keys("zipf", rows=5, exponent=exponent))
    total = sum(rank**-exponent for rank in range(1, 6))
    assert set(found) == set(range(5))
    assert all(found[row] == near((row + 1) ** -exponent / total) for row in found)


def test_hot_rows_get_their_share() -> None:
    found = rows(Keys("hot", rows=100, hot_rows=5, hot_fraction=0.75))
    assert sum(found[row] for row in range(5)) == near(0.75)
    assert set(found) == set(range(100))
    assert max(found[row] for row in range(5, 100)) < min(found[row] for row in range(5))
    assert set(rows(Keys("hot", rows=3, hot_rows=3))) == {0, 1, 2}


def test_fresh_rows_are_never_the_same() -> None:
    mix = Mix([TransactionClass(rows=3)], Streams(1))
    makers = [mix.client(str(client), client, 0) for client in range(4)]
    keys = [key for _ in range(50) for make in makers for key in make(0.0).keys]
    assert len(set(keys)) == 4 * 50 * 3


def test_a_client_draws_the_same_rows_whoever_else_is_there() -> None:
    one = TransactionClass(keys=Keys("uniform"))
    alone = Mix([one], Streams(1)).client("7", 7, 0)
    crowd = Mix([one, TransactionClass(name="other", weight=1e-9)], Streams(1))
    others = [crowd.client(str(client), client, 0) for client in range(7)]
    among = crowd.client("7", 7, 0)
    for make in others:
        make(0.0)
    assert [alone(0.0).keys for _ in range(100)] == [among(0.0).keys for _ in range(100)]


# ------------------------------------------------------------------ classes --
def test_inserts_lock_nothing_and_have_a_key_per_row() -> None:
    (found,) = transactions(TransactionClass(rows=4, row_bytes=50, statements=2))
    assert found.statements == (Statement(0, 4), Statement(0, 4))
    assert (found.rows, found.size_bytes, len(found.keys)) == (8, 400, 8)


def test_updates_lock_the_rows_that_they_certify() -> None:
    one = TransactionClass(statements=3, rows=2, reads=1, range_reads=1, keys=Keys("uniform"))
    for found in transactions(one, 100):
        assert [s.rows_read for s in found.statements] == [1, 100, 0, 0, 0]
        locked = [row for s in found.statements for row in s.locks]
        assert set(found.keys) == set(locked)
        assert len(found.keys) == len(set(found.keys))
        assert found.rows == len(locked) == 6


def test_a_statement_writes_neighbours_in_the_order_of_the_index() -> None:
    one = TransactionClass(rows=4, keys=Keys("uniform", rows=5))
    seen = {found.statements[0].locks for found in transactions(one, 200)}
    assert seen == {(0, 1, 2, 3), (1, 2, 3, 4), (0, 2, 3, 4), (0, 1, 3, 4), (0, 1, 2, 4)}


def test_identical_rows_without_a_primary_key_share_their_certification_key() -> None:
    mix = Mix([TransactionClass(rows=2, primary_key=False)], Streams(1))
    found = [mix.client(str(client), client, 0)(0.0) for client in range(3)]
    assert len({t.keys for t in found}) == 1
    assert len(found[0].keys) == 1
    assert found[0].statements[0].locks == ()


def test_classes_meet_in_a_table_only_if_it_is_the_same() -> None:
    hot = Keys("uniform", rows=1)
    classes = [
        TransactionClass(name="a", table="x", keys=hot),
        TransactionClass(name="b", table="x", keys=hot),
        TransactionClass(name="c", table="y", keys=hot),
    ]
    make = Mix(classes, Streams(1)).client("0", 0, 0)
    keys: dict[str, Any] = {}
    for _ in range(100):
        transaction = make(0.0)
        keys[transaction.kind] = transaction.keys
    assert keys["a"] == keys["b"] != keys["c"]


def test_a_mix_keeps_its_weights() -> None:
    classes = [TransactionClass(name=name, weight=w) for name, w in (("a", 1), ("b", 3), ("c", 4))]
    make = Mix(classes, Streams(3)).client("0", 0, 0)
    found = Counter(make(0.0).kind for _ in range(8000))
    assert (found["a"], found["b"], found["c"]) == (
        near(1 / 8, 8000),
        near(3 / 8, 8000),
        near(1 / 2, 8000),
    )


def test_a_transaction_that_only_reads_has_nothing_to_certify() -> None:
    (found,) = transactions(TransactionClass(statements=0, reads=2, keys=Keys("uniform")))
    assert (found.keys, found.rows, found.size_bytes) == ((), 0, 0)
    assert found.statements == (Statement(1, 0), Statement(1, 0))


@pytest.mark.parametrize(
    ("preset", "statements", "rows", "autocommit"),
    [
        ("mysqlslap-insert", 1, 1, True),
        ("sysbench-oltp-insert", 1, 1, True),
        ("sysbench-oltp-update-index", 1, 1, True),
        ("sysbench-oltp-read-write", 18, 4, False),
    ],
)
def test_presets_submit_what_the_tools_do(
    preset: str, statements: int, rows: int, autocommit: bool
) -> None:
    content: dict[str, Any] = {"cluster": {"model": "galera"}, "workload": {"preset": preset}}
    if preset != "mysqlslap-insert":
        content["run"] = {"duration_s": 1.0}
    scenario = load(content)
    (one,) = scenario.workload.workload(scenario.node_names).classes
    (found,) = transactions(one)
    assert (len(found.statements), found.rows) == (statements, rows)
    assert found.autocommit is autocommit
    assert sum(s.rows_read for s in found.statements) == (410 if statements == 18 else 0)


# ------------------------------------------------------------------ clients --
def test_each_client_connects_and_submits_its_number_one_after_the_other() -> None:
    clients, server, recorder = played(Workload(INSERT, loops=(Loop((0, 2)),), per_client=3))
    assert recorder.opens == [0.0, 0.0]
    assert server.connected == [0, 2]
    assert sorted(server.starts) == [
        (pytest.approx(1.0 + 0.1 * k), client, node)
        for k in range(3)
        for client, node in ((0, 0), (1, 2))
    ]
    assert [client for *_, client in recorder.commits] == [0, 1] * 3
    assert (clients.submitted, clients.committed, clients.in_flight) == (6, 6, 0)
    assert clients.in_flight_since_s is None


def test_a_closed_loop_goes_on_until_the_run_ends() -> None:
    clients, _, recorder = played(Workload(INSERT, loops=(Loop((0,)),)), until=2.05)
    assert len(recorder.commits) == 10
    assert (clients.submitted, clients.committed, clients.in_flight) == (11, 10, 1)
    assert clients.in_flight_since_s == pytest.approx(2.0)


def test_clients_think_before_every_transaction() -> None:
    constant = Workload(INSERT, loops=(Loop((0,)),), per_client=3, think=Think("constant", 0.5))
    _, server, _ = played(constant)
    assert [start for start, *_ in server.starts] == pytest.approx([1.5, 2.1, 2.7])

    random = Workload(INSERT, loops=(Loop((0,)),), per_client=2000, think=Think("exponential", 0.5))
    _, server, _ = played(random, service_s=0.0)
    mean = (server.starts[-1][0] - 1.0) / 2000
    assert mean == pytest.approx(0.5, abs=5 * 0.5 / 2000**0.5)  # five standard deviations


def test_aborted_transactions_are_counted_and_not_repeated() -> None:
    odd = Workload(INSERT, loops=(Loop((0,)),), per_client=4)
    clients, server, recorder = played(odd, verdict=lambda attempt: attempt % 2 == 1)
    assert len(server.starts) == 4
    assert (clients.committed, clients.aborted) == (2, 2)
    assert (len(recorder.commits), len(recorder.aborts)) == (2, 2)


def test_retried_transactions_count_from_their_first_attempt() -> None:
    workload = Workload(INSERT, loops=(Loop((0,)),), per_client=2, retry=True)
    clients, _, recorder = played(workload, verdict=lambda attempt: attempt % 3 == 0)
    assert (clients.submitted, clients.committed, clients.aborted) == (6, 2, 4)
    latencies = [end - start for start, end, *_ in recorder.commits]
    assert latencies == pytest.approx([0.3, 0.3])


def test_an_open_loop_is_not_slowed_by_its_server() -> None:
    arrivals = (Arrivals(0, 30.0), Arrivals(1, 10.0))
    clients, server, _ = played(Workload(INSERT, arrivals=arrivals), until=100.0, service_s=50.0)
    found = Counter(node for *_, node in server.starts)
    assert found[0] == pytest.approx(3000, abs=5 * 3000**0.5)  # five deviations of a Poisson count
    assert found[1] == pytest.approx(1000, abs=5 * 1000**0.5)
    assert len({client for _, client, _ in server.starts}) == clients.submitted
    assert clients.submitted == clients.committed + clients.in_flight
    assert clients.in_flight > clients.committed * 0.9
    assert server.connected == []


# ------------------------------------------------------- from the scenario --
def test_queries_are_divided_as_mysqlslap_does() -> None:
    assert workload_of({"queries": 500, "threads": 64}).per_client == 7
    assert workload_of({"queries": 500, "threads": 8}).per_client == 62
    assert workload_of({"transactions_per_client": 9, "threads": 8}).per_client == 9
    assert workload_of({"threads": 8}).per_client is None


def test_threads_are_spread_over_the_nodes() -> None:
    assert workload_of({"threads": 3}).nodes == (0, 0, 0)
    assert workload_of({"threads": 5, "nodes": ["n2", "n1"]}).nodes == (1, 0, 1, 0, 1)
    assert workload_of({"threads": 4, "nodes": ["*"]}).nodes == (0, 1, 2, 0)
    groups = [{"node": "n3", "threads": 2}, {"node": "n1", "threads": 1}]
    assert workload_of({"group": groups, "queries": 30}).nodes == (2, 2, 0)
    assert workload_of({"group": groups, "queries": 30}).per_client == 10


def test_a_rate_is_divided_among_the_nodes() -> None:
    assert workload_of({"rate_tps": 9.0, "nodes": ["*"]}).arrivals == (
        Arrivals(0, 3.0),
        Arrivals(1, 3.0),
        Arrivals(2, 3.0),
    )
    groups = [{"node": "n2", "rate_tps": 5.0}]
    assert workload_of({"group": groups}).arrivals == (Arrivals(1, 5.0, group="clients of n2"),)


TWO = [{"name": "order", "weight": 3}, {"name": "report", "statements": 0, "reads": 1}]


def test_groups_submit_their_own_classes() -> None:
    groups = [
        {"node": "n1", "threads": 2, "class": ["report"]},
        {"node": "n1", "threads": 1},
        {"node": "n2", "threads": 1, "class": ["report", "order"]},
    ]
    workload = workload_of({"class": TWO, "group": groups, "transactions_per_client": 200})
    assert [(loop.nodes, loop.classes) for loop in workload.loops] == [
        ((0, 0), ("report",)),
        ((0,), None),
        ((1,), ("report", "order")),
    ]
    assert {(one.name, node) for one, node in workload.submitted()} == {
        (name, node) for name in ("order", "report") for node in (0, 1)
    }
    _, _, recorder = played(workload, service_s=1e-3)
    kinds: dict[int, Counter[str]] = {client: Counter() for client in range(4)}
    for _, _, kind, client in recorder.commits:
        kinds[client][kind] += 1
    assert kinds[0] == kinds[1] == {"report": 200}
    for client in (2, 3):  # both classes with their weights, whatever their order in the group
        assert kinds[client]["order"] == near(3 / 4, 200)


def test_a_stream_has_a_mix_of_its_own() -> None:
    groups = [
        {"node": "n1", "rate_tps": rate, "class": [name]}
        for name, rate in (("report", 50.0), ("order", 5.0))
    ]
    workload = workload_of({"class": TWO, "group": groups})
    _, _, recorder = played(workload, until=20.0)
    count = Counter(kind for _, _, kind, _ in recorder.commits)
    assert count["report"] > 5 * count["order"] > 0


def test_groups_of_all_classes_draw_as_without_a_mix_of_their_own() -> None:
    def drawn(**own: object) -> list[tuple[float, float, str, int]]:
        groups = [{"node": "n1", "threads": 2, **own}]
        table = {"class": TWO, "group": groups, "transactions_per_client": 20}
        return played(workload_of(table))[2].commits

    assert drawn() == drawn(**{"class": ["order", "report"]})


@pytest.mark.parametrize(
    ("names", "path", "words"),
    [
        (["ordr"], "workload.group.0.class.0", "no class 'ordr' (did you mean 'order'?)"),
        (["order", "order"], "workload.group.0.class.1", "there twice"),
        ([], "workload.group.0.class", "must not be empty"),
        (["order"], "workload.class.1.name", "no group submits class 'report'"),
    ],
)
def test_a_mix_that_cannot_be_submitted_is_refused(names: list[str], path: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        workload_of({"class": TWO, "group": [{"node": "n1", "threads": 1, "class": names}]})
    assert refused.value.path == path
    assert words in str(refused.value)


def test_times_reach_the_clients_in_seconds() -> None:
    think = workload_of({"think_time_ms": 20, "think_time": "exponential"}).think
    assert think == Think("exponential", 0.02)
