"""What a stall of Group Replication consists of, in words: timers, waves and messages."""

import re

import simrep
from simrep.kernel.timeline import Noted
from simrep.models.group_replication.options import GroupReplicationOptions
from simrep.models.group_replication.stall_phases import stall_phases

NAMES = ("n1", "n2", "n3")
LEFT = ("n2", "n3")


def phases(rows, from_s, until_s):
    noted = [Noted(at_s, NAMES.index(node), what, tuple(map(NAMES.index, of)), *how)
             for at_s, node, what, of, *how in rows]  # fmt: skip
    return stall_phases(noted, NAMES, GroupReplicationOptions(), from_s, until_s)


def figures(found):
    return [(one.name, round(one.seconds, 3)) for one in found]


def test_a_wave_is_two_waits_and_three_phases():
    found = phases([(10.3, "n1", "wave", ("n3",), "after 2 waits of 0.2414 s")], 10.05, 10.32)
    assert figures(found) == [
        *(("until the slot", 0.009), ("first wait", 0.1), ("second wait", 0.141)),
        ("no-ops", 0.02),
    ]


def test_an_attempt_to_connect_holds_up_a_wave():
    found = phases(
        [
            (27.2, "n1", "no-answer", ("n3",)),
            (27.44, "n1", "wave", ("n3",), "after 2 waits of 0.24 s"),
        ],
        26.15,
        27.45,
    )
    assert figures(found)[:2] == [("waves", 0.05), ("attempt to connect", 1.0)]


def test_without_a_majority_writes_wait():
    lines = [(15.4, "n3", "suspect", ("n1", "n2")), (15.4, "n3", "non-primary", ("n3",))]
    assert figures(phases(lines, 10.0, 40.0)) == [
        *(("silence", 5.0), ("to the next tick", 0.4), ("no majority", 24.6))
    ]
    assert phases([], 10.0, 40.0) == []


def test_the_suspicion_thread_is_not_blamed_for_the_time_without_a_majority():
    lines = [
        *((15.5, "n1", "suspect", LEFT), (15.5, "n1", "non-primary", ("n1",))),
        *((50.0, "n1", "primary", NAMES), (67.0, "n1", "expel", ("n1",))),
    ]
    assert figures(phases(lines, 10.0, 70.0)) == [
        *(("silence", 5.0), ("to the next tick", 0.5), ("no majority", 34.5)),
        *(("until the suspicion", 2.0), ("period of the suspicion thread", 15.0), ("wave", 3.0)),
    ]


def test_who_is_heard_again_is_waited_for_at_growing_intervals():
    lines = [
        *((15.4, "n3", "suspect", ("n1", "n2")), (15.4, "n3", "non-primary", ("n3",))),
        *((40.0, "n3", "primary", NAMES), (45.0, "n1", "wave", ("n2",), "after 3 waits of 31 s")),
    ]
    found = phases(lines, 10.0, 45.01)
    assert figures(found)[2:] == [("no majority", 24.6), ("wave", 5.0), ("first commit", 0.01)]
    assert found[3].why.startswith("n1 looks at older slots of n2")


def test_with_several_primaries_nobody_is_the_primary():
    scenario = killed("n3")
    scenario["cluster"]["options"] = {"group_replication_single_primary_mode": False}
    back = {"what": "restart", "node": "n3", "at_s": 3}
    leave = {"what": "leave", "node": "n3", "at_s": 1}
    scenario |= {"fault": [leave, back], "run": {"duration_s": 14}}
    lines = map(str, simrep.run(scenario).timeline().lines)
    assert "n3 takes writes" in lines


def killed(node):
    return {
        "cluster": {"model": "group_replication", "version": "mysql-9", "nodes": 3},
        "network": {"rtt_ms": 0.1},
        "workload": {
            "think_time_ms": 200,
            "clients": {"on_error": "next"},
            "group": [{"name": "writes", "node": "n1", "threads": 4}],
        },
        "fault": [{"name": "crash", "what": "kill", "node": node, "at_s": 2}],
        "run": {"duration_s": 26},
    }


def test_the_stall_after_the_death_of_a_primary_is_told_by_its_timers():
    scenario = killed("n1")
    told = simrep.explain_stall(scenario)
    seconds = {one.name: one.seconds for one in told.phases}
    assert list(seconds)[:4] == [
        *("silence", "to the next tick", "period of the suspicion thread", "wave for the removal")
    ]
    assert seconds["silence"] == 5.0
    assert abs(seconds["period of the suspicion thread"] - 15.0) < 1e-6
    assert list(seconds)[-1] == "first commit"
    assert abs(sum(one.seconds for one in told.phases) - told.stall.seconds) < 0.005
    result = simrep.run(scenario)
    (line,) = [str(line) for line in result.timeline().lines if line.what == "suspect"][:1]
    assert line.endswith("finds n1 unreachable")
    crash = result.faults["crash"]
    assert (crash.evicted, crash.elected) == (("n1",), ("n2",))
    assert crash.evicted_s.median < crash.view_s.median < crash.writable_s.median
    assert crash.writable_s.median < told.stall.seconds
    explained = result.explain_fault("crash")
    legend = {text.get_text() for text in explained.plot().legends[0].get_texts()}
    assert {"configuration", "view"} <= legend
    window = str(explained)
    for what in ("accept: empty", "accept: remove a member", "accept: state exchange"):
        assert what in window  # among hundreds of messages of waves


def test_a_run_tells_how_slow_writers_are_until_a_dead_secondary_is_removed():
    result = simrep.run(killed("n3"))
    phase = result.faults.phases["crash"]
    during, later = phase.reaction["writes"], phase.then["writes"]
    assert phase.reaction_to_s.median == 2 + result.faults["crash"].primary_s.median
    assert during.latency.percentile(50) > 100 * later.latency.percentile(50)
    assert during.throughput_tps.median < 0.75 * later.throughput_tps.median
    assert [row["phase"] for row in result.faults._rows()][-2:] == [
        *("crash: until the view", "crash: from there on")
    ]
    told = str(result.faults)
    legend = {text.get_text() for text in result.plot().legends[0].get_texts()}
    assert re.search(r"configuration +view +takes writes|configuration +view\n", told)
    assert "new view" not in told
    assert "configuration" in legend
    lines = [line for line in result.timeline().lines if line.what == "wave"]
    assert len(lines) > 30  # 4 waves a second at most, of which some serve nobody
    assert str(result.timeline()).count("the slots of n3 stay empty") < 10


def test_the_stall_after_an_orderly_shutdown_of_a_primary_is_told_by_its_steps():
    scenario = killed("n1")
    scenario["fault"][0]["what"] = "leave"
    scenario["run"]["duration_s"] = 9
    seconds = {one.name: one.seconds for one in simrep.explain_stall(scenario).phases}
    assert 2.0 < seconds["n1 leaves"] < 3.01  # 3 s, of which a tick of the detector is told apart
    assert abs(seconds["n1 has clients go"] - 2.0) < 1e-3
