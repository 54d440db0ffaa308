"""``plan rejoin``: short returns are simulated, and what is linear is extrapolated."""

from math import inf

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock
from simrep.models.group_replication.clone import Clone, clone_costs
from simrep.network.bulk import BulkStream
from simrep.network.network import Latency, Network, Path
from simrep.runs.replication import simulate
from simrep.server.host import Host
from simrep.show.views import console, tables
from tests.legible import problems

GALERA = {
    "cluster": {"model": "galera", "nodes": 3, "data_bytes": 50_000_000_000,
                "costs": {"apply_us": 9000.0}},
    "workload": {"threads": 2, "think_time_ms": 45, "nodes": ["n1", "n2"]},
    "run": {"duration_s": 10},
}  # fmt: skip
GROUP = {
    "cluster": {"model": "group_replication", "version": "mysql-9", "nodes": 3,
                "data_bytes": 50_000_000_000},
    "workload": {"threads": 2, "think_time_ms": 60, "nodes": ["n1"]},
    "run": {"duration_s": 10},
}  # fmt: skip
REPLICAS = {**GROUP, "cluster": {**GROUP["cluster"], "model": "asynchronous"}}
HOUR_S = 3600.0


def asked(scenario, **options):
    return simrep.plan(scenario, "rejoin", **{"replications": 2, "jobs": 1, **options})


def with_options(scenario, **options):
    return {**scenario, "cluster": {**scenario["cluster"], "options": options}}


def printed(answer):
    out = console(width=160)
    with out.capture() as caught:
        out.print(tables(answer))
    return caught.get()


@pytest.fixture(scope="module")
def by_gcache():
    return asked(GALERA, away_s=40.0)


def test_a_long_absence_is_predicted_from_a_short_one(by_gcache):
    """What the short one leads one to expect is what a simulation of the long one shows."""
    faults = [{"what": "leave", "node": "n3", "at_s": 2.0},
              {"what": "restart", "node": "n3", "at_s": 42.0}]  # fmt: skip
    run = {"duration_s": 90.0, "warmup_s": 0.0}
    whole = simulate(simrep.load({**GALERA, "fault": faults, "run": run}), 3)
    [back_s] = [one.at_s - 42.0 for one in whole.noted if one.node == 2 and one.what == "synced"]
    assert by_gcache.played.away_s <= 6.0
    assert by_gcache.phases()["applies"][0] > 0.5 * back_s, "most of it is extrapolated"
    assert by_gcache.value == pytest.approx(back_s, rel=0.1)


def test_an_answer_has_its_parts_its_donor_and_what_the_others_feel(by_gcache):
    assert by_gcache.by == "follows"
    assert by_gcache.low < by_gcache.value < by_gcache.high
    text = printed(by_gcache)
    for word in ("its server starts", "it catches up", "it is away", "it is SYNCED"):
        assert word in text
    assert "gcache.size = 128M (default)" in text
    assert "by IST from" in by_gcache.sentence
    assert not problems(by_gcache.plot())
    rows = by_gcache.to_dict()["steps"]
    assert [row["replication"] for row in rows] == [0, 1]
    assert all(row["applied_tps"] > row["arrives_tps"] > 0.0 for row in rows)


def test_what_a_gcache_does_not_keep_is_copied_and_the_copy_grows_with_the_data():
    small = with_options(GALERA, **{"gcache.size": "200K"})
    answer = asked(small, away_s=HOUR_S)
    assert answer.by == "copies"
    assert answer.lasts_s < HOUR_S
    assert "by SST (rsync) from" in answer.sentence
    [copies_s, other_s] = answer.phases()["copies"]
    assert copies_s == pytest.approx(50e9 * 4e-9, rel=0.01)
    assert other_s == pytest.approx(copies_s, rel=0.01)
    assert answer.after(0.5 * answer.lasts_s)[0] == "IST"
    assert any("stands still" in note for note in answer.notes)
    # Who stood still for the copy gives the state of its begin: what was ordered since is lacking.
    played = answer.played
    twice = [played.phases(HOUR_S, factor * 50e9)["applies"][0] for factor in (1.0, 2.0)]
    assert twice[1] > 1.5 * twice[0]


def test_a_backup_is_of_its_end():
    backup = with_options(GALERA, **{"gcache.size": "200K", "wsrep_sst_method": "mariabackup"})
    played = asked(backup, away_s=HOUR_S).played
    once, twice = (played.phases(HOUR_S, factor * 50e9) for factor in (1.0, 2.0))
    assert twice["applies"] == once["applies"]
    # One thread reads and works in turn; the script of the donor waits 10 s before it begins.
    assert twice["copies"][0] == pytest.approx(10.4 + 2.0 * 50e9 * (4.0 + 1.9) * 1e-9, rel=0.01)


def test_a_new_node_gets_all_data_and_disks_may_be_slow():
    answer = asked(GALERA, node="n2", disk_mb_s=100.0)
    assert answer.by == "copies"
    assert answer.away_s is None
    assert answer.phases()["copies"][0] == pytest.approx(50e9 / 100e6, rel=0.01)
    assert "n2, which is new" in answer.question
    assert not problems(answer.plot())


def test_a_member_gets_binary_logs_or_is_cloned_where_that_is_set():
    answer = asked(GROUP, away_s=HOUR_S)
    assert answer.by == "follows"
    assert answer.copies is None, "nobody clones by itself"
    assert "binlog_expire_logs_seconds = 2592000 (default)" in answer.notes[0]
    cloning = with_options(GROUP, group_replication_clone_threshold=100_000)
    answer = asked(cloning, away_s=HOUR_S)
    assert answer.by == "copies"
    assert answer.lasts_s == pytest.approx(100_000 / answer.played.returns[0].missed_tps, rel=0.05)
    assert answer.phases()["copies"][0] == pytest.approx(50e9 * 1.9e-9, rel=0.02)


def test_a_member_whose_binary_logs_are_gone_does_not_come_back_by_itself():
    answer = asked(GROUP, away_s=8 * HOUR_S, retention_s=4 * HOUR_S)
    assert answer.by == "hand"
    assert answer.sentence.startswith("Error 1236")
    assert "clone by hand" in answer.sentence
    assert answer.value > 50e9 * 1.9e-9


def test_a_replica_that_lacks_what_is_purged_needs_a_copy_that_is_not_played():
    answer = asked(REPLICAS, away_s=8 * HOUR_S, retention_s=4 * HOUR_S)
    assert answer.by == "hand"
    assert answer.value is None
    assert "give --disk" in answer.sentence
    answer = asked(REPLICAS, away_s=8 * HOUR_S, retention_s=4 * HOUR_S, disk_mb_s=200.0)
    assert answer.by_hand_s == pytest.approx(50e9 / 200e6)
    assert answer.value > answer.by_hand_s
    assert any("not simulated" in note for note in answer.notes)
    answer = asked(REPLICAS, away_s=8 * HOUR_S)
    assert answer.by == "follows"
    assert "by the binary log from n1" in answer.sentence


def test_a_replica_that_applies_less_than_arrives_never_catches_up():
    slow = {**REPLICAS, "workload": {"threads": 4, "think_time_ms": 40, "nodes": ["n1"]}}
    slow["cluster"] = {**REPLICAS["cluster"], "options": {"replica_parallel_workers": 1},
                       "costs": {"apply_us": 20_000.0}}  # fmt: skip
    answer = asked(slow, away_s=HOUR_S)
    assert answer.value is None
    assert "does not catch up" in answer.sentence
    assert "for ever" in printed(answer)
    assert inf in answer.phases()["applies"]


# A clone of a donor on another machine, MySQL 8.0 with Group Replication, 10 Gbit/s, four threads:
# Percona-Lab/results, GR-Jan-2020 (clone.gr.txt). 104,776 MiB of files in 210.2 s.
PUBLISHED_BYTES = 104_776 * 2**20
PUBLISHED_S = 210.2


@pytest.mark.parametrize(
    ("gbit_s", "byte_ns", "low_s", "high_s"),
    [
        (10.0, 1.9, 0.98 * PUBLISHED_S, 1.01 * PUBLISHED_S),  # 1.9 is from this very clone
        (10.0, 0.1, 87.0, 89.0),  # with faster disks the network would have been the limit
        (1.0, 1.9, 870.0, 890.0),
    ],
)
def test_a_clone_takes_as_long_as_the_slower_of_disks_and_network(gbit_s, byte_ns, low_s, high_s):
    """While a piece is sent the next is read: one after the other would have taken 297 s."""
    clock = Clock()
    paths = {pair: Path(Latency(50e-6), gbit_s * 1e9 / 8) for pair in ((0, 1), (1, 0))}
    stream = BulkStream(clock, Network(clock, None, ["n1", "n2"], paths), 0, 1)
    ended = []
    hosts = Host(clock, 8), Host(clock, 8)
    Clone(clock, stream, PUBLISHED_BYTES, clone_costs(byte_ns, 1.5), hosts, lambda: True,
          lambda: ended.append(clock.now), ended.clear)  # fmt: skip
    clock.run(2000.0)
    assert low_s < ended[0] < high_s


@pytest.mark.parametrize(
    ("scenario", "options", "match"),
    [
        (GALERA, {"away_s": 0.0}, "away_s: must be above 0"),
        (GALERA, {"away_s": 60.0, "retention_s": 60.0}, "set gcache.size"),
        (GALERA, {"node": "n9"}, "node: no node 'n9'"),
        (GALERA, {"away_s": 60.0, "replications": 1}, "at least 2"),
        ({**GALERA, "fault": [{"what": "kill", "node": "n3", "at_s": 1}]}, {}, "fault: the"),
        ({**GALERA, "workload": {"queries": 10}, "run": {}}, {}, "set run.duration_s"),
        ({**GALERA, "cluster": {"model": "galera", "nodes": 1}, "workload": {"threads": 1}}, {},
         "a single node has no donor"),
        (REPLICAS, {"node": "n1", "away_s": 60.0}, "is the source"),
        ({**GALERA, "cluster": {"model": "standalone"}, "workload": {"threads": 1}}, {},
         "'asynchronous' and 'galera' and 'group_replication'"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(scenario, options, match):
    with pytest.raises(ScenarioError, match=match):
        asked(scenario, **options)
