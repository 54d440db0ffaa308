"""Loads of the rig: statements, command lines of tools, their output, and large transactions."""

import random

import pytest

from simrep.rig.errors import RigError
from simrep.rig.large import LargeUpdate, rates_and_stalls
from simrep.rig.load import LargeTransaction, Load, statement
from simrep.rig.tables import fingerprints, large_tables, make_tables, table_keys, tables
from simrep.rig.tools import (
    run_load,
    slap_command,
    slap_seconds,
    sysbench_command,
    sysbench_figures,
)
from simrep.rig.transactions import Transaction

SYSBENCH = """
SQL statistics:
    queries performed:
        read:                            0
        write:                           5012
        total:                           5012
    transactions:                        5012   (250.49 per sec.)
    queries:                             5012   (250.49 per sec.)
    ignored errors:                      3      (0.15 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          20.0088s
    total number of events:              5012

Latency (ms):
         min:                                   51.11
         avg:                                  127.66
         max:                                  310.10
         95th percentile:                      200.47
         sum:                               639830.10
"""
SLAP = """Benchmark
\tAverage number of seconds to run all queries: 2.231 seconds
\tMinimum number of seconds to run all queries: 2.231 seconds
\tNumber of clients running queries: 16
\tAverage number of queries per client: 31
"""


def load(**changes):
    return Load.model_validate({"name": "load", **changes})


def test_slap_gives_every_thread_as_many_queries():
    command = slap_command(
        load(tool="slap", transactions=500, threads=64), "mysqlslap", "/data/s.sock"
    )
    assert command[0] == "mysqlslap"
    assert "--number-of-queries=448" in command
    assert "--concurrency=64" in command
    assert "--socket=/data/s.sock" in command
    assert "--ssl-mode=DISABLED" in command
    assert "--query=insert into inserts set a='fooBa'" in command
    maria = slap_command(load(tool="slap", per_client=3), "mariadb-slap", "/s")
    assert "--skip-ssl" in maria


def test_the_output_of_slap_is_read():
    assert slap_seconds(SLAP) == 2.231
    with pytest.raises(RigError, match="printed no time: mysqlslap: Error"):
        slap_seconds("mysqlslap: Error when connecting")


def test_sysbench_chooses_its_keys_itself_and_ends_by_number_or_time():
    chosen = load(tool="sysbench", script="oltp_insert", duration_s=20, threads=32)
    command = sysbench_command(chosen, "/s", "run", seed=7)
    assert command[:2] == ["sysbench", "oltp_insert"]
    assert command[-1] == "run"
    for argument in ("--auto-inc=off", "--threads=32", "--time=20", "--events=0", "--rand-seed=7"):
        assert argument in command
    assert "--threads=1" in sysbench_command(chosen, "/s", "prepare")
    counted = load(tool="sysbench", script="oltp_update_index", per_client=5, threads=4)
    assert "--events=20" in sysbench_command(counted, "/s", "run")


def test_the_output_of_sysbench_is_read():
    found = sysbench_figures(SYSBENCH)
    assert (found.committed, found.retried, found.tool_s) == (5012, 3, 20.0088)
    assert (found.mean_s, found.p95_s, found.max_s) == pytest.approx((0.12766, 0.20047, 0.3101))
    with pytest.raises(RigError, match="printed no transactions: FATAL"):
        sysbench_figures("FATAL: cannot connect")


def test_inserts_have_as_many_rows_of_as_many_bytes_and_do_not_compress():
    one = statement(load(rows=100, value_bytes=1000, per_client=1))
    assert one.rows == 100
    values = one.text.partition(" values ")[2].split(",")
    assert len(values) == len(set(values)) == 100
    assert {len(value) for value in values} == {1004}
    assert one == statement(load(rows=100, value_bytes=1000, per_client=1))


def test_updates_choose_among_the_rows_there_are():
    one = statement(load(kind="update", existing_rows=3, per_client=1))
    generator = random.Random(1)
    texts = {one.pick(generator) for _ in range(100)}
    assert texts == {f"update counters set c=c+1 where id={row}" for row in (1, 2, 3)}
    assert len(tables(load(kind="update", existing_rows=3, per_client=1)).empty) == 2


def test_the_large_table_is_filled_by_doubling_and_then_in_batches():
    made = large_tables(LargeTransaction(rows=170_000))
    have = 0
    for text in made.create[2:]:
        if "where id <= " in text:
            more = int(text.rpartition(" ")[2])
            assert more <= min(have, 50_000)
            assert f"id+{have}," in text
            have += more
        else:
            have += 1
    assert have == 170_000


def test_loads_share_tables_that_are_the_same():
    inserts, many = load(per_client=1), load(per_client=9, rows=10, threads=3)
    assert table_keys(inserts) == table_keys(many)
    small = load(tool="sysbench", script="oltp_insert", duration_s=1)
    large = load(tool="sysbench", script="oltp_insert", duration_s=1, tables=8)
    assert table_keys(small).keys() == table_keys(large).keys()
    assert table_keys(small) != table_keys(large)


class Node:
    """Answers what it is told to, and notes what it is asked."""

    slap_program = "mariadb-slap"
    socket_inside = "/data/s.sock"

    def __init__(self, name, output="", rows=()):
        self.name, self.output, self.rows = name, output, list(rows)
        self.asked, self.ran = [], []

    def query(self, *statements):
        self.asked += statements
        return self.rows

    def run(self, argv, *, timeout_s=60.0):
        self.ran.append(argv)
        return self.output


class Cluster:
    def __init__(self, *nodes):
        self.nodes = nodes


def test_tables_are_made_on_the_first_node():
    first, second = Node("n1"), Node("n2")
    large = {"rows": 10}
    make_tables(load(kind="update", large=large), Cluster(first, second))
    assert first.asked[0] == "create database if not exists rig"
    assert any("create table large" in text for text in first.asked)
    assert not second.asked
    make_tables(load(tool="sysbench", script="oltp_insert", duration_s=1), Cluster(first, second))
    assert first.ran[0][-1] == "prepare"


def test_fingerprints_are_those_of_every_node():
    cluster = Cluster(Node("n1", rows=[{"number": 7}]), Node("n2", rows=[{"number": 8}]))
    assert fingerprints(load(per_client=1), cluster) == {"n1": "7", "n2": "8"}


def test_a_tool_runs_on_the_node_of_its_clients_and_its_figures_are_taken():
    slap = Node("n3", SLAP)
    chosen = load(tool="slap", transactions=500, threads=16, nodes=["n3"])
    found = run_load(chosen, Cluster(Node("n1"), slap), seed=1, limit_s=60.0)
    assert (found.committed, found.tool_s) == (496, 2.231)
    assert found.mean_s != found.mean_s  # slap does not tell
    bench = Node("n1", SYSBENCH)
    chosen = load(tool="sysbench", script="oltp_insert", duration_s=20, threads=32)
    found = run_load(chosen, Cluster(bench), seed=1, limit_s=60.0)
    assert (found.committed, found.failed, found.retried) == (5012, 0, 3)
    assert found.p95_s == pytest.approx(0.20047)


def record(end_s, error=0):
    return Transaction(0, "n1", end_s, end_s, end_s, 1, 20, 1, error)


def test_stalls_are_windows_with_a_tenth_of_the_usual_commits():
    """100 a second, none from 11.0 to 13.0 s; the large transaction from 10 to 14 s."""
    ends = [k / 100 + 0.005 for k in range(2000) if not 11.0 <= k / 100 < 13.0]
    found = rates_and_stalls([record(end) for end in ends], 10.0, 14.0, 2.0)
    assert found["payload_tps_before"] == pytest.approx(100, rel=0.01)
    assert found["payload_tps_during"] == pytest.approx(50, rel=0.02)
    assert found["stall_s"] == found["stall_total_s"] == pytest.approx(2.0)
    assert found["gap_s"] == pytest.approx(2.01, abs=0.001)


def test_two_stalls_add_up_and_failed_transactions_are_no_commits():
    """Both begin and end with a window of 0.2 s, counted from the large transaction at 10 s."""
    ends = [k / 100 + 0.005 for k in range(2000) if not (1100 <= k < 1200 or 1500 <= k < 1540)]
    failed = [record(11 + k / 100, error=1213) for k in range(100)]
    found = rates_and_stalls([*map(record, ends), *failed], 10.0, 16.0, 2.0)
    assert found["stall_s"] == pytest.approx(1.0)
    assert found["stall_total_s"] == pytest.approx(1.4)


class Connection:
    """A connection to a node that shows the update at the third look."""

    def __init__(self, log):
        self.log, self.looks = log, 0

    def query(self, text):
        self.log.append(text)

    def cursor(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def execute(self, text):
        self.looks += 1

    def fetchall(self):
        return [(0 if self.looks < 3 else 1,)]

    def close(self):
        self.log.append("closed")


class FastClock:
    def __init__(self):
        self.s = 0.0

    def now(self):
        self.s += 0.1
        return self.s

    def wait_until(self, moment_s):
        self.s = max(self.s, moment_s)


def test_a_large_update_is_over_when_all_nodes_show_it(monkeypatch):
    monkeypatch.setattr("simrep.rig.large.time.sleep", lambda _s: None)
    log = []
    first, second = Node("n1", rows=[{"k": 0}]), Node("n2")
    for node in (first, second):
        node.connect = lambda _database, answer_s=0.0, log=log: Connection(log)
    chosen = load(
        kind="update", nodes=["n1"], large={"rows": 10, "after_s": 5, "fragment_size": 1000}
    )
    update = LargeUpdate(chosen, Cluster(second, first), 60.0)
    clock = FastClock()
    update(clock)
    assert log == [
        "set session wsrep_trx_fragment_unit='bytes'",
        "set session wsrep_trx_fragment_size=1000",
        "update large set k=k+1",
        "closed",
        "closed",
    ]
    assert 5.0 <= update.begin_s < update.executed_s < update.visible_s
    assert clock.s >= update.visible_s + 4.0
