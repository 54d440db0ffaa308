"""The clusters of the lessons run, and do what the lessons say of them."""

import json
import sys
from pathlib import Path

import pytest

import simrep
from simrep.contract.setup import setup_of

LESSONS = Path(__file__).parents[2] / "docs" / "lessons"
sys.path.insert(0, str(LESSONS))

import labs  # noqa: E402


def played(name, faults=None, place=None, **settings):
    given = labs.first_settings(name) | settings
    run = labs.play(name, given, labs.first_faults(name) if faults is None else faults, place)
    json.dumps(run, allow_nan=False)
    return {
        one["title"]: {text: value for text, value, _ in one["figures"]} for one in run["clusters"]
    }


def test_a_commit_takes_the_round_trip_to_the_farthest_nearest_or_second_site():
    assert played("farthest")["Galera"]["median commit"] == pytest.approx(81, abs=1.5)
    group = "Group Replication"
    for leader, expected_ms in (("", 82.5), (", single leader", 2.5)):
        found = played("farthest", product=f"group_replication{leader}")[group]["median commit"]
        assert found == pytest.approx(expected_ms, abs=1.5)
    semisync = "Semi-synchronous"
    one = played("farthest", product="semisync")[semisync]["median commit"]
    two = played("farthest", product="semisync", acknowledgements=2)[semisync]["median commit"]
    assert (one, two) == (pytest.approx(2.5, abs=0.5), pytest.approx(80.5, abs=0.5))


def test_clients_hide_the_round_trip_until_the_window_is_full():
    one, many, wide = (
        played("windows", **changes)["Galera"]["commits"]
        for changes in ({}, {"threads": 16}, {"threads": 64, "window": 512})
    )
    assert one == pytest.approx(8, abs=1)
    assert many == pytest.approx(16 * one, rel=0.25)
    assert wide > 3.5 * many


def test_rows_of_many_writers_conflict():
    def failing(**settings):
        found = played("conflicts", **settings)["Galera"]
        failed = found["attempts that failed"] / 5.0
        return failed / (failed + found["commits"])

    assert 0.03 < failing() < 0.3
    assert failing(rows=10_000) < 0.01
    assert failing(rows=3, writers=1) == 0.0


def test_a_killed_node_stops_three_products_for_different_times():
    found = played("dying")
    silent_s = {title: one[labs.SILENCE] for title, one in found.items()}
    assert 5.95 <= silent_s["Galera"] <= 6.6
    assert 20.5 <= silent_s["Group Replication"] <= 23.0
    assert silent_s["Semi-synchronous"] < 10.0
    faults = [{"what": "kill", "node": "n3", "at_s": 5.0}]
    quick = played("dying", faults, 0, suspect_s=1)["Galera"][labs.SILENCE]
    assert 1.95 <= quick <= 2.6
    given = labs.first_settings("dying"), labs.first_faults("dying"), "Galera"
    told = " ".join(labs.why("dying", *given))
    for words in ("suspect timeout", "evs.inactive_check_period", "evs.join_retrans_period"):
        assert words in told
    assert "fault.0" not in told
    assert " us " not in told


@pytest.mark.parametrize(
    "faults",
    [
        [],
        [{"what": "cut", "node": "n1", "at_s": 5.0, "until_s": 15.0}],
        [
            {"what": "kill", "node": "n3", "at_s": 5.0},
            {"what": "restart", "node": "n3", "at_s": 9.0},
        ],
    ],
)
def test_readers_may_break_clusters_in_other_ways(faults):
    for name in ("dying", "lost"):
        for one in labs.scenarios(name, {}, faults).values():
            setup_of(simrep.load(one))


def test_a_source_that_falls_back_loses_commits():
    lost = labs.LOST
    cut = [{"what": "cut", "node": "n1", "at_s": 5.0, "until_s": 7.0}]
    assert played("lost", cut)["Semi-synchronous"][lost] == 0
    fallen = played("lost")["Semi-synchronous"][lost]
    assert fallen > 100
    assert played("lost", timeout_s=10)["Semi-synchronous"][lost] == 0
    assert played("lost", product="asynchronous")["Asynchronous"][lost] > fallen


def test_fragments_end_the_silence_of_the_others():
    whole, cut = (played("bite", fragment_bytes=size)["Galera"] for size in (0, 50_000))
    silent = "others commit nothing for"
    assert whole[silent] >= 0.3
    assert cut[silent] < 0.2
    assert cut["the large update takes"] > whole["the large update takes"]


def test_the_player_is_given_the_messages_of_a_lab():
    given = labs.first_settings("farthest"), [], "Galera", (2.5, 2.6)
    content = labs.messages("farthest", *given)
    assert content["format"] == "simrep-player"
    json.dumps(content, allow_nan=False)
