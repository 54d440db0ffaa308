"""``plan reads``: what a consistency of reads costs, over distance and load."""

from __future__ import annotations

import json

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.show.views import console, tables
from tests.legible import problems

CLUSTER = {
    "cluster": {"model": "galera"},
    "network": {"rtt_ms": 10},
    "workload": {"threads": 16, "think_time_ms": 10},
    "run": {"duration_s": 5},
}
ONE = {"rtts": [10], "loads": [1], "replications": 2, "jobs": 1}


def text(answer):
    out = console(width=160)
    with out.capture() as caught:
        out.print(tables(answer))
    return caught.get()


@pytest.fixture(scope="module")
def galera():
    return simrep.plan(CLUSTER, "reads", rtts=[10, 40], loads=[1, 0.25], replications=2, jobs=1)


def test_the_cheapest_level_of_which_no_read_is_stale_is_that_of_the_readers(galera):
    none, readers, everybody = galera.at(10, 1)
    assert galera.best == readers.level.name == "wsrep_sync_wait = 1 (readers)"
    assert none.stale.share > 0.01
    assert readers.stale.reads == everybody.stale.reads == 0
    # A read waits for what is under way: three one-way delays at most.
    assert 0.001 < readers.reads.mean_s < 0.015
    assert none.reads.mean_s < 0.001
    assert galera.value == readers.reads.percentile(95.0)
    # Who only writes does not wait for it.
    assert readers.writes.mean_s == pytest.approx(none.writes.mean_s, rel=0.1)
    assert everybody.writes.mean_s > 1.02 * none.writes.mean_s


def test_every_level_is_there_at_every_distance_and_load(galera):
    assert galera.points == [(10, 0.25), (10, 1), (40, 0.25), (40, 1)]
    assert all(len(galera.at(*point)) == 3 for point in galera.points)
    near, far = (galera.at(rtt, 1)[1] for rtt in (10, 40))
    assert far.reads.mean_s > 2.0 * near.reads.mean_s, "a wait takes as long as the way"
    assert {cell.writers for cell in galera.cells} == {"4 writers", "16 writers"}
    rows = galera.to_dict()["steps"]
    assert len(rows) == 12
    assert rows[0]["read_p50_s_low"] <= rows[0]["read_p50_s"] <= rows[0]["read_p50_s_high"]


def test_it_is_shown_and_drawn(galera, tmp_path):
    shown = text(galera)
    assert "wsrep_sync_wait = 1 (readers) is the cheapest level" in shown
    assert "Added: 4 clients that read a row" in shown
    assert "over distance and load" in shown
    assert not problems(galera.plot())
    galera.save(tmp_path / "levels.csv")
    assert len((tmp_path / "levels.csv").read_text().splitlines()) == 13
    json.dumps(galera.to_dict())


def test_it_is_the_same_again(galera):
    again = simrep.plan(CLUSTER, "reads", **ONE)
    assert [cell.reads.mean_s for cell in again.cells] == [
        cell.reads.mean_s for cell in galera.at(10, 1)
    ]


def test_each_level_of_a_group_makes_those_wait_that_it_is_about():
    group = {**CLUSTER, "cluster": {"model": "group_replication"}}
    found = simrep.plan(group, "reads", **ONE)
    eventual, before, after, both = found.cells
    assert found.best == before.level.name == "BEFORE (readers)"
    assert 0.01 < before.reads.mean_s < 0.03, "at least a round trip"
    assert after.writes.mean_s > 1.3 * eventual.writes.mean_s
    assert both.writes.mean_s > after.writes.mean_s
    assert not any(one.stale.reads for one in (before, after, both))


def test_where_no_level_shows_everything_the_answer_says_so():
    split = {
        **CLUSTER,
        "cluster": {"model": "asynchronous"},
        "proxy": {"like": "proxysql", "split": True, "readers": "others"},
        "workload": {
            "threads": 8, "think_time_ms": 2,
            "class": [
                {"name": "write"},
                {"name": "read", "weight": 4, "statements": 0, "reads": 1},
            ],
        },
    }  # fmt: skip
    found = simrep.plan(split, "reads", **ONE)
    none, waits = found.cells
    assert (found.best, found.value) == ("", None)
    assert none.stale.own_share > 0.05
    assert waits.stale.own_writes == 0
    assert waits.reads.mean_s > none.reads.mean_s
    assert found.sentence.startswith("With no level every read sees all")
    assert "8 clients" in found.question
    assert "own missing" in text(found)


def test_a_wait_for_own_writes_has_no_meaning_for_clients_that_write_elsewhere():
    found = simrep.plan({**CLUSTER, "cluster": {"model": "semisync"}}, "reads", **ONE)
    assert any("split = true" in note for note in found.notes)


def test_readers_of_the_scenario_are_those_that_count():
    own = {
        **CLUSTER,
        "workload": {
            "class": [{"name": "write"}, {"name": "look", "statements": 0, "reads": 1}],
            "group": [
                {"node": "n1", "class": ["write"], "rate_tps": 300},
                {"node": "n3", "class": ["look"], "rate_tps": 150},
            ],
        },
    }
    found = simrep.plan(own, "reads", rtts=[10], loads=[1, 2], replications=2, jobs=1)
    assert not any("Added" in note for note in found.notes)
    assert any(note.startswith("Reads on n1") for note in found.notes)
    single, double = (found.at(10, load)[0] for load in (1, 2))
    assert (single.writers, double.writers) == ("300 writes/s", "600 writes/s")
    assert double.writes_tps == pytest.approx(600, rel=0.15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cluster": {"model": "standalone", "nodes": 1}}, "has no read consistency"),
        ({"fault": [{"what": "kill", "node": "n2", "at_s": 1}]}, "a lasting load"),
        ({"workload": {"queries": 100}, "run": {}}, "its transactions would end"),
        (
            {"workload": {"class": [{"name": "look", "statements": 0, "reads": 1}]}},
            "nobody writes",
        ),
        ({"proxy": {"like": "proxysql"}}, "no class only reads, and the proxy"),
        ({"network": {"egress": [{"node": "n3", "delay_ms": 5}]}}, "not the only delay"),
    ],
)
def test_what_it_cannot_answer_is_an_error(change, message):
    with pytest.raises(ScenarioError, match=message):
        simrep.plan({**CLUSTER, **change}, "reads", **ONE)


@pytest.mark.parametrize("given", [{"rtts": []}, {"rtts": ["far"]}, {"loads": [0]}])
def test_lists_are_of_numbers(given):
    with pytest.raises(ScenarioError, match=r"numbers|needs a value"):
        simrep.plan(CLUSTER, "reads", **{**ONE, **given})
