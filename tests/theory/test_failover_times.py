"""How long a failover manager takes: the sums of its own timers."""

import pytest

import simrep
from simrep.models.asynchronous.failover import PRESETS

AT_S = 20.0
REPLICATIONS = 4
SILENT = {"what": "power-loss"}
KILLED = {"what": "kill"}


def promoted(tool, fault, until_s=60.0, **options):
    """When another server takes writes, in seconds after the fault, in each replication."""
    result = simrep.run({
        "cluster": {"model": "asynchronous", "nodes": 3,
                    "options": {"failover_manager": tool, **options}},
        "workload": {"threads": 1, "nodes": ["n1"], "think_time_ms": 500,
                     "clients": {"on_error": "next", "read_timeout_s": 5}},
        "fault": [{"name": "gone", "node": "n1", "at_s": AT_S, **fault}],
        "run": {"duration_s": AT_S + until_s, "replications": REPLICATIONS, "warmup_s": 0},
    })  # fmt: skip
    gone = result.faults["gone"]
    assert set(gone.suspected_by) == {tool}
    assert all(len(run.noted) for run in result.runs)
    return gone.writable_s.values


def between(times_s, low_s, high_s):
    return all(low_s <= time_s <= high_s for time_s in times_s)


# From the begin of a fault to the first poll afterwards it is anything up to a poll.
# Orchestrator: a poll that is a second late, up to a second to its next analysis, which reads the
# replicas, and a second to the one that knows what they say.
# MHA, mariadbmon, replication-manager: the polls that follow, each ``poll_s`` after the one before;
# replication-manager then watches two replicas for 3 s each.
KILL_S = {
    "orchestrator": (1.0, 5.0 + 1.0 + 1.0 + 1.0),
    "mha": (9.0, 3.0 + 9.0),
    "mariadbmon": (8.0, 2.0 + 8.0),
    "replication-manager": (8.0 + 6.0, 2.0 + 8.0 + 6.0),
}
MESSAGES_S = 0.1


@pytest.mark.parametrize("tool", PRESETS)
def test_a_killed_source_is_replaced_after_the_polls_that_have_to_fail(tool):
    low_s, high_s = KILL_S[tool]
    times_s = promoted(tool, KILLED, 20.0)
    assert between(times_s, low_s, high_s + MESSAGES_S)
    assert len(set(times_s)) == REPLICATIONS  # the polls know nothing of the fault
    hooked_s = promoted(tool, KILLED, 25.0, manager_hooks_s=2.0)
    assert hooked_s == pytest.approx([time_s + 2.0 for time_s in times_s])


# Nobody answers: connections of mariadbmon and of replication-manager time out. mariadbmon tries
# twice at its first poll; the ticker of replication-manager comes on top of every timeout.
SILENT_S = {
    "mha": (3.0 + 9.0, 3.0 + 3.0 + 9.0),
    "mariadbmon": (6.0 + 4 * 3.0, 2.0 + 6.0 + 4 * 3.0),
    "replication-manager": (5 * 5.0 + 4 * 2.0 + 6.0, 2.0 + 5 * 5.0 + 4 * 2.0 + 6.0),
}


@pytest.mark.parametrize("tool", SILENT_S)
def test_a_silent_source_is_replaced_after_the_timeouts_of_the_polls(tool):
    low_s, high_s = SILENT_S[tool]
    assert between(promoted(tool, SILENT, 45.0), low_s, high_s + MESSAGES_S)


@pytest.mark.parametrize("net_timeout_s", [60, 4])
def test_orchestrator_waits_until_the_replicas_have_noticed_that_the_source_is_silent(
    net_timeout_s,
):
    # The last event is at most a second old. When the replicas have noticed, there are two looks,
    # each of which waits up to 2 s for an answer of the source.
    options = {"replica_net_timeout": net_timeout_s}
    times_s = promoted("orchestrator", SILENT, net_timeout_s + 15.0, **options)
    low_s = max(1.0, net_timeout_s - 1.0)
    assert between(times_s, low_s, max(net_timeout_s, 5.0 + 1.0 + 1.0) + 2.0 * (2.0 + 1.0))
