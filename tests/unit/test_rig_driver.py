"""The rig's own load driver, against a server that is made up."""

import gzip
import subprocess
import threading
import time
from contextlib import contextmanager
from itertools import pairwise

import pytest

from simrep.rig.clients import Client, ClientPlan, LoadClock, run_clients
from simrep.rig.driver import drive, plans
from simrep.rig.errors import RigError
from simrep.rig.load import Load
from simrep.rig.transactions import (
    Statement,
    Transaction,
    keep_records,
    percentile,
    read_transactions,
    summarise,
    thin_out,
    write_transactions,
)
from tests.fake_server import FakeServer, listening


class Session:
    """A connection to a server that takes one statement at a time."""

    def __init__(self, server):
        self.server = server

    def query(self, sql):
        with self.server.turn:
            time.sleep(self.server.next_s())
        self.server.seen.append(sql)
        return 1

    def close(self):
        pass


class OneAtATime:
    """Each statement takes ``usual_s``, the ``at``-th one ``stall_s``."""

    def __init__(self, usual_s=0.001, at=-1, stall_s=0.0):
        self.turn = threading.Lock()
        self.usual_s, self.at, self.stall_s = usual_s, at, stall_s
        self.count, self.seen = 0, []

    def next_s(self):
        self.count += 1
        return self.stall_s if self.count == self.at else self.usual_s


def plan(clients=1, **changes):
    content = {
        "clients": tuple(Client(number, "n1", "") for number in range(clients)),
        "statement": Statement("update counters set c=c+1 where id={row}", 1, 10),
        "each": None,
        "rates_tps": {},
        "until_s": 0.6,
        "retry": False,
        "seed": 1,
        "out": "",
    }
    return ClientPlan(**(content | changes))


def run(chosen, server):
    return run_clients(chosen, [Session(server) for _ in chosen.clients], LoadClock())


def test_a_closed_loop_submits_what_each_client_should_and_intends_it_at_the_last_end():
    records = run(plan(2, each=5), OneAtATime())
    assert len(records) == 10
    for client in (0, 1):
        own = [record for record in records if record.client == client]
        assert own[0].intended_s == 0.0
        for before, after in pairwise(own):
            assert after.intended_s == before.end_s <= after.start_s


def test_an_open_loop_does_not_omit_what_waited_behind_a_stall():
    """200 arrivals a second for 0.6 s, one client, and a stall of 0.3 s at the tenth of them.

    Who measures from the submission sees one slow transaction. About 60 arrivals wait meanwhile,
    half of all: the median of the latency from the intended begin is far above the service time.
    """
    server = OneAtATime(at=10, stall_s=0.3)
    found = summarise(run(plan(rates_tps={"n1": 200.0}), server))
    assert found.committed == pytest.approx(120, abs=50)
    assert found.max_s >= 0.3
    assert found.p95_s > 0.2
    assert found.p50_s > 0.02
    assert found.service_p95_s < 0.02


def test_a_closed_loop_sees_the_same_stall_once():
    found = summarise(run(plan(each=100, until_s=9.0), OneAtATime(at=10, stall_s=0.3)))
    assert found.max_s >= 0.3
    assert found.p95_s < 0.1


def test_arrivals_do_not_wait_for_answers_and_are_the_same_for_the_same_seed():
    first, second = (
        run(plan(4, rates_tps={"n1": 100.0}), OneAtATime(usual_s=usual)) for usual in (0.001, 0.008)
    )
    times = [sorted(record.intended_s for record in records) for records in (first, second)]
    assert times[0] == times[1]
    other = run(plan(4, rates_tps={"n1": 100.0}, seed=2), OneAtATime())
    assert sorted(record.intended_s for record in other) != times[0]


def test_what_arrived_before_the_load_is_stopped_is_still_submitted():
    server = OneAtATime(usual_s=0.02)
    chosen = plan(rates_tps={"n1": 200.0}, until_s=9.0)
    clock = LoadClock()
    stopped = []

    def stop_soon(stop):
        clock.wait_until(0.2)
        stopped.append(clock.now())
        stop(stopped[0])

    records = run_clients(chosen, [Session(server)], clock, on_start=stop_soon)
    assert max(record.intended_s for record in records) <= stopped[0]
    assert max(record.end_s for record in records) > stopped[0] + 0.1


def load(**changes):
    content = {"name": "updates", "kind": "update", "threads": 4, "per_client": 25}
    return Load.model_validate(content | changes)


def test_processes_submit_to_a_server_and_write_down_everything(tmp_path):
    with listening(tmp_path / "s.sock", FakeServer()) as server:
        driven = drive(load(), {"n1": tmp_path / "s.sock"}, seed=1, limit_s=20.0)
    assert len(server.statements) == len(driven.records) == 100
    assert {record.client for record in driven.records} == {0, 1, 2, 3}
    assert all(record.node == "n1" and record.rows == 1 for record in driven.records)
    assert all(0 <= r.intended_s <= r.start_s < r.end_s for r in driven.records)
    assert driven.cpu_s > 0


def test_errors_are_recorded_by_their_number_and_retried_if_wished(tmp_path):
    answers = iter([1213, 1213, 0, 1062] + [0] * 50)
    turn = threading.Lock()

    def answer(_text):
        with turn:
            return next(answers)

    one = {"threads": 1, "per_client": 2, "retry": True}
    with listening(tmp_path / "s.sock", FakeServer(answer)):
        first, second = drive(
            load(**one), {"n1": tmp_path / "s.sock"}, seed=1, limit_s=20.0
        ).records
    assert (first.attempts, first.error, first.rows) == (3, 0, 1)
    assert (second.attempts, second.error, second.rows) == (1, 1062, 0)


def test_a_load_beside_something_ends_with_it(tmp_path):
    told = []

    def beside(clock):
        clock.wait_until(0.4)
        told.append(clock.now())

    large = {"per_client": None, "large": {"rows": 10}, "rate_tps": 100}
    with listening(tmp_path / "s.sock", FakeServer()):
        driven = drive(
            load(**large), {"n1": tmp_path / "s.sock"}, seed=1, limit_s=20.0, beside=beside
        )
    ends = [record.end_s for record in driven.records]
    assert 0.3 < max(ends) < 1.0
    assert len(ends) == pytest.approx(40, abs=30)


def test_what_is_counted_while_the_load_runs_begins_when_all_are_connected(tmp_path):
    seen = []

    @contextmanager
    def during():
        seen.append(len(server.statements))
        yield
        seen.append(len(server.statements))

    with listening(tmp_path / "s.sock", FakeServer()) as server:
        drive(load(), {"n1": tmp_path / "s.sock"}, seed=1, limit_s=20.0, during=during())
    assert seen == [0, 100]


def test_clients_that_cannot_connect_say_so(tmp_path):
    with pytest.raises(RigError, match="cannot connect"):
        drive(load(), {"n1": tmp_path / "none.sock"}, seed=1, limit_s=5.0)


def test_clients_are_spread_over_nodes_and_processes(tmp_path):
    chosen = load(nodes=["n1", "n2"], threads=5)
    sockets = {"n1": tmp_path / "1", "n2": tmp_path / "2"}
    made = plans(chosen, sockets, tmp_path, seed=1, limit_s=60.0)
    assert [len(one.clients) for one in made] == [3, 2]
    nodes = [client.node for one in made for client in one.clients]
    assert {node: nodes.count(node) for node in nodes} == {"n1": 3, "n2": 2}
    assert all(one.rates_tps == {} and one.until_s == 60.0 for one in made)


def test_an_open_loop_has_one_line_for_all_connections_of_a_node(tmp_path):
    chosen = load(nodes=["n1", "n2"], threads=6, per_client=None, duration_s=3, rate_tps=50)
    sockets = {"n1": tmp_path / "1", "n2": tmp_path / "2"}
    [made] = plans(chosen, sockets, tmp_path, seed=1, limit_s=60.0)
    assert made.rates_tps == {"n1": 25.0, "n2": 25.0}
    assert len(made.clients) == 6
    assert made.until_s == 3.0
    assert ClientPlan.from_json(made.to_json()) == made


def test_clients_that_say_much_before_they_fail_are_not_held_up(tmp_path, monkeypatch):
    said = "import sys; print('ready', flush=True); sys.stdin.readline()"
    said += "; sys.stderr.write('x' * 200_000 + '\\nno more\\n'); sys.exit(1)"
    started = subprocess.Popen

    def start(argv, **options):
        return started([argv[0], "-c", said, argv[-1]], **options)

    monkeypatch.setattr("simrep.rig.driver.subprocess.Popen", start)
    with pytest.raises(RigError, match="clients failed: no more"):
        drive(load(), {"n1": tmp_path / "s.sock"}, seed=1, limit_s=5.0)


def test_what_is_kept_of_a_long_run_is_commits_over_time(tmp_path, monkeypatch):
    monkeypatch.setattr("simrep.rig.transactions.MOST_RECORDS", 3)
    monkeypatch.setattr("simrep.rig.transactions._LEAST_BYTES", 0)
    few = [record(n, 0.0, 0.0, 0.1) for n in range(3)]
    many = [*few, record(3, 0.0, 0.0, 0.12, error=1213), record(4, 0.0, 0.0, 7.01)]
    keep_records(tmp_path, "few", few)
    write_transactions(tmp_path / "many.csv.gz", many)
    thin_out(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"few.csv.gz", "many.commits.csv.gz"}
    text = gzip.decompress((tmp_path / "many.commits.csv.gz").read_bytes()).decode()
    assert text.splitlines() == ["t_s,commits,failed", "0.10,3,1", "7.00,1,0"]
    before = (tmp_path / "many.commits.csv.gz").read_bytes()
    keep_records(tmp_path, "many", many[::-1])
    assert (tmp_path / "many.commits.csv.gz").read_bytes() == before


def record(number, intended_s, start_s, end_s, *, node="n1", error=0):
    return Transaction(number, node, intended_s, start_s, end_s, 1, 20, 1, error)


def test_latency_counts_from_when_a_transaction_should_have_begun():
    found = summarise(
        [
            record(0, 0.0, 0.0, 0.1),
            record(0, 0.0, 0.1, 0.2, node="n2"),
            record(1, 0.0, 0.2, 0.5, error=1213),
        ]
    )
    assert (found.committed, found.failed, found.errors) == (2, 1, ((1213, 1),))
    assert found.mean_s == pytest.approx(0.15)
    assert found.max_s == pytest.approx(0.2)
    assert found.service_p95_s == pytest.approx(0.1)
    assert found.tool_s == pytest.approx(0.5)
    assert found.by_node == {"n1": pytest.approx(0.1), "n2": pytest.approx(0.2)}


def test_percentiles_interpolate():
    assert percentile([1.0, 2.0, 3.0, 4.0, 5.0], 0.5) == 3.0
    assert percentile([0.0, 1.0], 0.95) == pytest.approx(0.95)
    assert percentile([7.0], 0.99) == 7.0
    assert percentile([], 0.5) != percentile([], 0.5)


def test_records_survive_their_file_and_equal_ones_make_equal_files(tmp_path):
    records = [record(1, 0.0, 0.25, 0.5), record(0, 0.0, 0.125, 0.25, node="n2", error=1213)]
    write_transactions(tmp_path / "a.csv.gz", records)
    write_transactions(tmp_path / "b.csv.gz", records[::-1])
    assert read_transactions(tmp_path / "a.csv.gz") == records[::-1]
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
