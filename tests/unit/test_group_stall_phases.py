"""What a stall of Group Replication consists of, in words: timers, waves and messages."""

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


def test_the_stall_after_the_death_of_a_primary_is_told_by_its_timers():
    scenario = {
        "cluster": {"model": "group_replication", "version": "mysql-9", "nodes": 3},
        "network": {"rtt_ms": 0.1},
        "workload": {
            "think_time_ms": 200,
            "clients": {"on_error": "next"},
            "group": [{"name": "writes", "node": "n1", "threads": 4}],
        },
        "fault": [{"what": "kill", "node": "n1", "at_s": 2}],
        "run": {"duration_s": 26},
    }
    told = simrep.explain_stall(scenario)
    seconds = {one.name: one.seconds for one in told.phases}
    assert list(seconds)[:4] == [
        *("silence", "to the next tick", "period of the suspicion thread", "wave for the removal")
    ]
    assert seconds["silence"] == 5.0
    assert abs(seconds["period of the suspicion thread"] - 15.0) < 1e-6
    assert list(seconds)[-1] == "first commit"
    assert abs(sum(one.seconds for one in told.phases) - told.stall.seconds) < 0.005
    (line,) = [str(line) for line in simrep.run(scenario).timeline().lines if line.what == "expel"]
    assert line == "n2 asks to expel n1"
