"""Runs with faults, without servers: who is hit when, what clients meet, what logs mean."""

import gc
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from threading import Event

import pytest

from simrep.data.dataset import load_dataset
from simrep.rig import fault_run, injector
from simrep.rig.attempts import WAITING, Attempt, attempts_text, read_attempts
from simrep.rig.campaign import Campaign
from simrep.rig.clients import LoadClock
from simrep.rig.dataset import write_dataset
from simrep.rig.errors import RigError
from simrep.rig.experiment import Experiment, StoredExperiment
from simrep.rig.fault_run import figures_of, rows_figures, survivor_plans
from simrep.rig.files import write_packed
from simrep.rig.injector import Done, Injector
from simrep.rig.layout import Layout
from simrep.rig.notes import LogLine, LogWatch, noted
from simrep.rig.survivors import Survivor, SurvivorPlan, run_survivors
from tests.fake_cluster import FakeCluster, FakeEngine, FakeNode, World
from tests.fake_server import FakeServer, listening

ADDRESSES = {"n1": "10.77.0.11", "n2": "10.77.0.12", "n3": "10.77.0.13"}


def load_of(*faults, **changes):
    content = {
        "title": "Made up",
        "question": "?",
        "system": [{"name": "s", "product": "galera"}],
        "layout": [{"name": "lan"}],
        "load": [
            {
                "name": "l",
                "duration_s": 0.5,
                "group": [{"name": "A", "node": "n1", "threads": 2, "on_error": "next"}],
                "fault": list(faults),
            }
            | changes
        ],
        "grid": [{"system": "s", "layout": "lan", "load": "l"}],
    }
    return Experiment.model_validate(content)


def cell_of(*faults, **changes):
    [(cell, _)] = load_of(*faults, **changes).cells()
    return cell


class Host:
    """A host whose server is told of everything."""

    def __init__(self, name, told):
        self.name, self.told, self.running = name, told, True
        self.address = ADDRESSES[name]

    def alive(self):
        return self.running

    def signal(self, number):
        if not self.running:
            raise RigError(f"{self.name} does not run")
        self.told.append((number.name, self.name))
        if number in {signal.SIGKILL, signal.SIGTERM}:
            self.running = False

    def await_end(self, timeout_s):
        assert not self.running

    def terminate(self, timeout_s):
        self.running = False


class Engine:
    """Keeps which links are cut."""

    delay_method = "relay"

    def __init__(self, told):
        self.told = told

    def set_delays(self, delays):
        self.told.append(("delays", sorted(delays.links)))

    def change_links(self, delays):
        self.told.append(("cut", sorted(p for p, link in delays.links.items() if link.loss == 1)))


class Cluster:
    def __init__(self, told, rejoin=None):
        self.nodes = [self.server(name, told) for name in ADDRESSES]
        self.members = self.nodes
        self.told, self._rejoin = told, rejoin

    def server(self, name, told):
        node = FakeNode(name, None)
        node.host = Host(name, told)
        return node

    def rejoin(self, server):
        self.told.append(("rejoin", server.name))
        if self._rejoin is not None:
            self._rejoin(server)
        server.host.running = True


def played(*faults, rejoin=None):
    told = []
    cell = cell_of(*faults)
    cluster = Cluster(told, rejoin)
    layout = cell.layout.matrix(cell.node_names)
    one = Injector(cell.load, layout, Engine(told), cluster)
    one(LoadClock())
    one.await_returns(5.0)
    return one, told


def test_a_killed_server_is_started_again():
    one, told = played(
        {"what": "kill", "node": "n3", "at_s": 0.1},
        {"what": "restart", "node": "n3", "at_s": 0.2},
    )
    assert told == [("SIGKILL", "n3"), ("rejoin", "n3")]
    assert [(d.what, d.node) for d in one.done] == [
        ("kill", "n3"),
        ("restart", "n3"),
        ("answers", "n3"),
    ]
    assert one.done[0].at_s == pytest.approx(0.1, abs=0.09)


def test_a_stopped_server_goes_on_and_links_come_back():
    _, told = played(
        {"what": "pause", "node": "n2", "at_s": 0.05, "until_s": 0.15},
        {"what": "cut", "node": "n3", "others": ["n1"], "at_s": 0.1, "until_s": 0.2},
    )
    both = [("n1", "n3"), ("n3", "n1")]
    assert told == [("SIGSTOP", "n2"), ("cut", both), ("SIGCONT", "n2"), ("cut", [])]


def test_a_loss_of_power_is_silence_until_the_node_is_started():
    _, told = played(
        {"what": "power-loss", "node": "n1", "at_s": 0.05},
        {"what": "restart", "node": "n1", "at_s": 0.2},
    )
    four = [("n1", "n2"), ("n1", "n3"), ("n2", "n1"), ("n3", "n1")]
    assert told == [
        ("cut", four),
        ("SIGSTOP", "n1"),
        ("SIGKILL", "n1"),
        ("cut", []),
        ("rejoin", "n1"),
    ]


def test_after_the_load_nobody_is_stopped_or_cut_off():
    one, told = played({"what": "power-loss", "node": "n3", "at_s": 0.05})
    del told[:]
    one.heal()
    assert told[-1] == ("cut", [])
    assert ("SIGKILL", "n3") in told


def test_a_server_that_does_not_start_is_told_of():
    def refuse(_server):
        raise RigError("its data are broken")

    one, _ = played(
        {"what": "kill", "node": "n3", "at_s": 0.05},
        {"what": "restart", "node": "n3", "at_s": 0.1},
        rejoin=refuse,
    )
    assert one.done[-1].what == "failed"
    assert "its data are broken" in one.done[-1].detail


def test_a_run_that_is_interrupted_leaves_no_server_that_starts_later(monkeypatch):
    started, ended = threading.Event(), []

    def start(server):
        started.set()
        while server.host.running:
            time.sleep(0.01)
        ended.append(server.name)
        raise RigError("it was ended")

    told = []
    cell = cell_of(
        {"what": "kill", "node": "n3", "at_s": 0.01},
        {"what": "restart", "node": "n3", "at_s": 0.02},
    )
    cluster = Cluster(told, start)
    one = Injector(cell.load, Layout(name="lan").matrix(tuple(ADDRESSES)), Engine(told), cluster)
    monkeypatch.setattr(injector, "_CLOSED_S", 5.0)
    one._do(injector.Act(0.0, "kill", "n3"), LoadClock())
    cluster.nodes[2].host.running = True
    cluster.nodes[2].host.await_end = lambda _s: None
    one._do(injector.Act(0.0, "restart", "n3"), LoadClock())
    assert started.wait(2.0)
    one.close()
    assert ended == ["n3"]


def survivor(**changes):
    content = {
        "number": 1,
        "group": "A",
        "order": ("n1", "n2"),
        "reads": False,
        "think_s": 0.002,
        "pause_s": 0.01,
        "read_timeout_s": None,
        "connect_timeout_s": 1.0,
        "again": False,
    }
    return Survivor(**(content | changes))


def survive(sockets, over, *clients):
    """The load ends once the event is set, on a busy machine, too; at the latest after 30 s."""
    plan = SurvivorPlan(clients, {name: str(path) for name, path in sockets.items()}, "")
    assert SurvivorPlan.from_json(plan.to_json()) == plan
    latest = threading.Timer(30.0, over.set)
    latest.start()
    try:
        return run_survivors(plan, LoadClock(), over)
    finally:
        latest.cancel()


def answering(over, code=0, *, last=3):
    """Every insert is answered so, and the load is over with the last one."""
    inserts = Counter()

    def answer(text):
        if "insert" not in text:
            return 0
        inserts["n"] += 1
        if inserts["n"] == last:
            over.set()
        return code

    return answer


# PyMySQL leaves a socket to the collector that it could not connect.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_clients_fail_over_and_number_their_transactions(tmp_path):
    over, second_over = Event(), Event()
    second = FakeServer(answering(over, 1290, last=1))
    sockets = {"n1": tmp_path / "one", "n2": tmp_path / "two"}
    with listening(sockets["n2"], second):
        none = survive(sockets, over, survivor(order=("n1", "n2")))
    assert {(one.node, one.connecting, one.error) for one in none} == {
        ("n1", True, 2003),
        ("n2", False, 1290),
    }
    first = FakeServer(answering(second_over))
    sockets = {"n1": tmp_path / "three", "n2": tmp_path / "four"}
    with listening(sockets["n1"], first), listening(sockets["n2"], second):
        found = survive(sockets, second_over, survivor(order=("n2", "n1")))
    assert {(one.node, one.error) for one in found} == {("n2", 1290), ("n1", 0)}
    numbers = [one.sequence for one in found]
    assert numbers == list(range(1, len(found) + 1))
    gc.collect()
    inserted = [text for _, text in first.statements if text.startswith("insert")]
    assert len(inserted) == sum(one.error == 0 for one in found)


def test_a_client_that_stays_meets_the_same_node_again(tmp_path):
    over = Event()
    sockets = {"n1": tmp_path / "one"}
    with listening(sockets["n1"], FakeServer(answering(over, 1047))):
        found = survive(sockets, over, survivor(order=("n1",), again=True))
    assert len(found) == 3
    assert {(one.node, one.error) for one in found} == {("n1", 1047)}
    assert {one.sequence for one in found} == {1}  # the same transaction, again


def test_who_has_no_answer_at_the_end_waits(tmp_path, monkeypatch):
    monkeypatch.setattr("simrep.rig.survivors._GRACE_S", 0.1)
    over, stuck = Event(), Event()

    def answer(text):
        if "insert" in text:
            over.set()
            stuck.wait(30.0)
        return 0

    with listening(tmp_path / "one", FakeServer(answer)):
        found = survive({"n1": tmp_path / "one"}, over, survivor(order=("n1",)))
        stuck.set()
        time.sleep(0.3)  # its client hears of it, and closes the connection
    assert [(one.error, one.connecting) for one in found] == [(WAITING, False)]
    assert found[0].ended_s - found[0].began_s > 0.1
    assert read_attempts(attempts_text(found))[0].error == WAITING


def test_clients_end_with_the_rig(tmp_path):
    busy = Event()
    with listening(tmp_path / "one", FakeServer(answering(busy, last=2))):
        plan = SurvivorPlan(
            (survivor(order=("n1",)),), {"n1": str(tmp_path / "one")}, str(tmp_path / "out.csv")
        )
        (tmp_path / "plan.json").write_text(plan.to_json())
        process = subprocess.Popen(
            [sys.executable, "-m", plan.program, str(tmp_path / "plan.json")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        process.stdin.write(f"go {time.monotonic_ns()}\n")
        process.stdin.flush()
        assert busy.wait(30.0)
        process.stdin.close()  # what the kernel does when the rig is killed
        assert process.wait(30) == 0
        process.stdout.close()
    assert read_attempts((tmp_path / "out.csv").read_text())


GALERA = """\
n1|WSREP: (aaaaaaaa-0001, 'tcp://0.0.0.0:4567') connection established to bbbbbbbb-0002 tcp://10.77.0.12:4567
n1|WSREP: (aaaaaaaa-0001, 'tcp://0.0.0.0:4567') connection established to cccccccc-0003 tcp://10.77.0.13:4567
n1|WSREP: (aaaaaaaa-0001, 'tcp://0.0.0.0:4567') turning message relay requesting on, nonlive peers: tcp://10.77.0.13:4567
n1|WSREP: evs::proto(aaaaaaaa-0001, OPERATIONAL, view_id(REG,x,3)) suspecting node: cccccccc-0003
n1|WSREP: declaring bbbbbbbb-0002 at tcp://10.77.0.12:4567 stable
n1|WSREP: view(view_id(PRIM,aaaaaaaa-0001,4) memb {
n1|	aaaaaaaa-0001,0
n1|	bbbbbbbb-0002,0
n1|} joined {
n1|} left {
n1|} partitioned {
n1|	cccccccc-0003,0
n1|})
n1|WSREP: New COMPONENT: primary = yes, bootstrap = no, my_idx = 0, memb_num = 2
n3|WSREP: New COMPONENT: primary = no, bootstrap = no, my_idx = 0, memb_num = 1
n2|WSREP: Shifting SYNCED -> DONOR/DESYNCED (TO: 3673)
n2|rsync SST started on donor
n3|WSREP: Receiving IST: 1969 writesets, seqnos 1599-3567
n3|WSREP: Shifting JOINER -> JOINED (TO: 4365)
n3|WSREP: Shifting JOINED -> SYNCED (TO: 4365)
"""
GROUP = """\
n1|reported: 'Member with address 10.77.0.13:3306 has become unreachable.'
n1|reported: 'Group membership changed to 10.77.0.11:3306, 10.77.0.12:3306 on view 1:4.'
n2|reported: 'A new primary with address 10.77.0.12:3306 was elected. The new primary will'
n2|reported: 'Setting super_read_only=OFF.'
n1|reported: '[GCS] Adding new node to the configuration: 10.77.0.13:33061'
n3|reported: 'This server was declared online within the replication group.'
"""
SEMISYNC = """\
n1|Stop semi-sync binlog_dump to replica (server_id: 2)
n1|Semi-sync replication switched OFF.
n1|Start semi-sync binlog_dump to replica (server_id: 2), pos(, 4)
n1|Semi-sync replication switched ON at (binlog.000002, 5740390)
"""


def read(product, text):
    lines = [line.partition("|") for line in text.splitlines()]
    given = [LogLine(float(at), node, words) for at, (node, _, words) in enumerate(lines)]
    return [(one.node, one.what, one.of, one.how) for one in noted(product, given, ADDRESSES)]


def test_galera_logs_are_read_in_the_words_of_the_model():
    assert read("galera", GALERA) == [
        (0, "link-open", (1,), ""),
        (0, "link-open", (2,), ""),
        (0, "link-closed", (), ""),
        (0, "suspect", (2,), ""),
        (0, "stable", (1,), ""),
        (0, "primary", (0, 1), ""),
        (2, "non-primary", (0,), ""),
        (1, "donor", (), ""),
        (1, "donor", (), "SST"),
        (2, "joiner", (), "IST"),
        (2, "joined", (), ""),
        (2, "synced", (), ""),
    ]


def test_logs_of_groups_and_of_sources_are_read_as_well():
    assert read("group_replication", GROUP) == [
        (0, "suspect", (2,), ""),
        (0, "primary", (0, 1), ""),
        (1, "elected", (1,), ""),
        (1, "writable", (), ""),
        (0, "stable", (2,), ""),
        (2, "synced", (), ""),
    ]
    assert read("semisync", SEMISYNC) == [
        (0, "link-closed", (1,), ""),
        (0, "async", (), ""),
        (0, "link-open", (1,), ""),
        (0, "sync", (), ""),
    ]


def test_lines_that_come_while_a_log_is_watched_are_kept_whole(tmp_path):
    log = tmp_path / "n1.log"
    log.write_text("long ago\n")
    with LogWatch({"n1": log, "n2": tmp_path / "none"}) as watch, log.open("a") as file:
        for part in ("one\ntw", "o\n", "thr"):
            file.write(part)
            file.flush()
            time.sleep(0.03)
    assert [(line.node, line.text) for line in watch.lines] == [("n1", "one"), ("n1", "two")]


def attempt(client, number, ended_s, error=0, node="n1", **changes):
    return Attempt("A", client, node, ended_s - 0.01, ended_s, number, error, **changes)


def test_rows_that_are_lost_doubled_or_unknown_are_counted():
    found = [
        attempt(1, 1, 0.1),
        attempt(1, 2, 0.2),
        attempt(1, 3, 0.3),
        attempt(1, 4, 0.4, 2013),
        attempt(1, 5, 0.5, WAITING),
        attempt(1, 6, 0.6, 1047),
    ]
    rows = {
        "n1": Counter({(1, 1): 1, (1, 2): 1, (1, 3): 1, (1, 4): 1}),
        "n2": Counter({(1, 1): 2, (1, 4): 1, (1, 5): 1}),
    }
    figures, fates = rows_figures(found, rows, {"n1"})
    assert (fates.answered, fates.lost, fates.extra) == (3, 2, 2)  # n2 alone is a survivor
    assert (fates.failed, fates.failed_present) == (2, 1)
    assert (fates.waiting, fates.unknown_present) == (1, 1)
    assert figures["acked_missing_on_n1_n"] == 0
    assert figures["acked_missing_on_n2_n"] == 2
    assert figures["not_acked_but_present_n"] == 2
    assert figures["duplicated_n"] == 1
    assert figures["tables_equal_n"] == 0


def test_figures_are_those_of_simulated_runs():
    cell = cell_of(
        {"what": "kill", "node": "n1", "at_s": 5.0},
        {"what": "restart", "node": "n1", "at_s": 15.0},
        duration_s=20.0,
    )
    before = [attempt(1, number, 0.1 * number) for number in range(1, 50)]
    during = [attempt(1, 50, 5.01, 2013), attempt(1, 51, 11.2, node="n2")]
    after = [attempt(1, n, 11.2 + 0.1 * (n - 51), node="n2") for n in range(52, 130)]
    lines = [LogLine(11.1, "n2", GALERA.splitlines()[13].partition("|")[2])]
    figures = figures_of(
        cell,
        [*before, *during, *after],
        [Done(5.0, "kill", "n1"), Done(15.0, "restart", "n1")],
        noted("galera", lines, ADDRESSES),
        None,
    )
    assert figures["inject_s"] == 5.0
    assert figures["stall_survivors_s"] == pytest.approx(6.3)
    assert figures["failover_first_commit_elsewhere_after_inject_s"] == pytest.approx(6.2)
    assert figures["view_change_after_inject_s"] == pytest.approx(6.1)
    assert figures["err_A_n1_2013_n"] == 1
    assert "rejoin_synced_after_heal_s" not in figures  # that is the name after a cut
    assert not [name for name in figures if name.startswith(("degraded", "source_clients"))]


def test_who_is_back_after_the_load_was_not_seen_to_slow_it():
    cell = cell_of(
        {"what": "kill", "node": "n3", "at_s": 5.0},
        {"what": "restart", "node": "n3", "at_s": 15.0},
        duration_s=20.0,
    )
    found = [attempt(1, number, 0.1 * number) for number in range(1, 200)]
    done = [Done(5.0, "kill", "n3"), Done(15.0, "restart", "n3")]
    for synced_s, seen in ((18.0, True), (25.0, False)):
        lines = [LogLine(synced_s, "n3", GALERA.splitlines()[-1].partition("|")[2])]
        figures = figures_of(cell, found, done, noted("galera", lines, ADDRESSES), None)
        assert figures["restart_total_s"] == pytest.approx(synced_s - 15.0)
        assert ("rejoining_tps" in figures) is seen


class BrokenWorld(World):
    """Clients commit until the fault and again a second later, on every node."""

    def form(self, engine, options, logs, **_more):
        cluster = super().form(engine, options, logs)
        for node in cluster.nodes:
            node.host = Host(node.name, [])
            node.log = logs / f"{node.name}.log"
            node.query = self.query
        cluster.speak_up = lambda: None
        return cluster

    def query(self, *statements):
        if "group by" in statements[-1]:
            return [{"client": 1, "sequence": n, "number": 1} for n in self.committed]
        return []

    def conduct(self, chosen, *, limit_s, beside, during):
        with during:
            pass
        beside.begin_s = time.monotonic()
        beside._injector.done += [Done(1.0, "kill", "n3"), Done(2.0, "restart", "n3")]
        found = [attempt(1, n, 0.1 * n + (1.0 if n > 9 else 0.0)) for n in range(1, 30)]
        self.committed = [one.sequence for one in found]
        for plan in chosen:
            Path(plan.out).write_text(attempts_text(found if plan is chosen[0] else []))
        return [{"cpu_s": 0.1} for _ in chosen]


@pytest.fixture
def world(monkeypatch):
    made = BrokenWorld()
    for name in ("busy_cpu_s", "used_cpu_s"):
        monkeypatch.setattr(fault_run, name, lambda: 0.0)
    monkeypatch.setattr(fault_run, "wait_for_quiet", lambda *_: 0.0)
    monkeypatch.setattr(fault_run, "conduct", made.conduct)
    monkeypatch.setattr(fault_run.time, "sleep", lambda _s: None)
    monkeypatch.setattr(FakeEngine, "breaks", True, raising=False)
    monkeypatch.setattr(
        FakeEngine, "change_links", lambda *_: made.seen.update(["change"]), raising=False
    )
    monkeypatch.setattr("simrep.rig.campaign.make_tables", lambda *_: None)
    return made


STORED = StoredExperiment(
    "made-up",
    load_of(
        {"what": "kill", "node": "n3", "at_s": 1.0},
        {"what": "restart", "node": "n3", "at_s": 2.0},
        duration_s=4.0,
    ),
    "title = 'Made up'\n",
)


def test_a_campaign_with_faults_is_a_dataset_of_failures(world, tmp_path):
    folder = tmp_path / "made-up"
    folder.mkdir()
    one = Campaign(STORED, world, folder)
    assert one.run(), one.problems
    write_dataset(one)
    dataset = load_dataset(folder)
    [cell] = dataset.failures
    assert (cell.series, cell.runs) == ("s-l", 3)
    assert cell.values["stall_survivors_s"] == pytest.approx((1.1,) * 3, abs=0.001)
    assert cell.values["acked_lost_n"] == (0, 0, 0)
    assert "loadavg_start" not in cell.values
    assert "loadavg_start" in (folder / "checks.csv").read_text()
    kept = sorted(path.name.split(".a1.")[1] for path in (folder / "series").iterdir())
    assert kept == sorted(["attempts.csv.gz", "log.gz", "seconds.csv.gz"] * 3)
    assert world.seen["change"] == 3  # all links were given back
    before = (folder / "data.csv").read_text()
    for path in (folder / "series").glob("*.r1.a1.attempts.csv.gz"):
        write_packed(path, attempts_text([attempt(1, 1, 0.5), attempt(1, 2, 3.5)]))
    write_dataset(one)  # figures are made anew of what was kept
    after = (folder / "data.csv").read_text()
    assert before != after
    assert "s,,lan,l,1,stall_survivors_s,3,s" in after


def test_an_engine_that_breaks_nothing_says_so(world, tmp_path, monkeypatch):
    monkeypatch.setattr(FakeEngine, "breaks", False)
    folder = tmp_path / "made-up"
    folder.mkdir()
    one = Campaign(STORED, world, folder)
    one.run()
    assert "--engine netns" in one.journal.entries[0].failed[0].detail


def test_a_fault_that_came_too_late_marks_the_run(world, tmp_path):
    def late(chosen, **options):
        results = BrokenWorld.conduct(world, chosen, **options)
        done = options["beside"]._injector.done
        done[0] = Done(1.9, "kill", "n3")
        return results

    fault_run.conduct = late
    folder = tmp_path / "made-up"
    folder.mkdir()
    one = Campaign(STORED, world, folder)
    one.run()
    assert {gate.name for entry in one.journal.entries for gate in entry.failed} == {"in time"}


def test_clients_are_spread_over_processes(tmp_path):
    cell = cell_of({"what": "kill", "node": "n3", "at_s": 0.1})
    plans = survivor_plans(cell, FakeCluster(World(), 3), tmp_path)
    assert [[c.number for c in plan.clients] for plan in plans] == [[1], [2]]
    assert plans[0].clients[0].order == ("n1", "n2", "n3")
