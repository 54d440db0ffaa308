"""Sources and replicas that crash, leave and come back, and connections that break."""

from __future__ import annotations

import pytest

import simrep

pytestmark = pytest.mark.filterwarnings("ignore::simrep.DegradedWarning")


def fault(what, node, at_s, until_s=None):
    content = {"what": what, "node": node, "at_s": at_s}
    return content if until_s is None else {**content, "until_s": until_s}


def run(*faults, model="semisync", duration_s=20.0, clients=4, rtt_ms=1.0, **options):
    return simrep.run(
        {
            "cluster": {"model": model, "nodes": 3, "version": "mysql-9", "options": options},
            "network": {"rtt_ms": rtt_ms},
            "workload": {"threads": clients, "think_time_ms": 40.0, "nodes": ["n1"]},
            "run": {"duration_s": duration_s, "warmup_s": 1.0, "seed": 3},
            "fault": list(faults),
        }
    )


def noted(result, what, node=None):
    lines = result.timeline().lines
    return [line.at_s for line in lines if line.what == what and node in {None, line.node}]


def fates(result):
    return {
        name: getattr(result.faults.fates, name).median
        for name in ("answered", "lost", "unknown", "unknown_present", "duplicated")
    }


def test_all_replicas_killed_stop_a_source_once_for_its_timeout():
    result = run(fault("kill", "n2", 5.0), fault("kill", "n3", 5.0))
    assert result.histogram.max_s == pytest.approx(10.0, abs=0.01)
    (off_s,) = noted(result, "async")
    assert off_s == pytest.approx(15.0, abs=0.06)
    source = result.counters["n1"]
    assert source["Rpl_semi_sync_source_no_times"] == 1
    assert source["Rpl_semi_sync_source_clients"] == 0
    # Then it goes on at the speed of an asynchronous source: most answers come without a round
    # trip.
    assert result.latency_s["p50"] < 0.001
    stall = simrep.explain_stall(result.scenario, longer_than_s=1.0)
    phase = next(one for one in stall.phases if one.name == "rpl_semi_sync_source_timeout")
    assert phase.seconds == 10.0


@pytest.mark.parametrize("what", ["kill", "power-loss"])
def test_one_of_two_replicas_is_not_missed_and_gets_what_it_lacks_when_it_is_back(what):
    result = run(fault(what, "n2", 4.0), fault("restart", "n2", 8.0), duration_s=11.0)
    assert result.histogram.max_s < 0.01
    assert not noted(result, "async")
    # Start, the handshake of the connection, and the backlog.
    (synced_s,) = noted(result, "synced", "n2")
    assert 9.8 < synced_s < 10.3
    executed = {result.counters[node]["Executed_Gtid_Set"] for node in ("n2", "n3")}
    assert executed == {result.counters["n1"]["Binlog_commits"]}
    assert result.counters["n1"]["Rpl_semi_sync_source_clients"] == 2
    # The first write after the end brings the reset, and the next one fails; a replica that is
    # silent is noticed when its kernel is back.
    (closed_s,) = noted(result, "link-closed", "n1")
    assert 4.0 < closed_s < 4.1 if what == "kill" else closed_s > 8.0


@pytest.mark.parametrize(
    ("options", "killed", "stops"),
    [
        # The dump threads learn that nobody is there when they next send something. All clients
        # wait for what was sent while the kernels still took it: nothing is sent.
        ({"rpl_semi_sync_source_wait_no_replica": False}, ("n2", "n3"), True),
        ({"rpl_semi_sync_source_wait_no_replica": False}, ("n2",), False),
        ({"rpl_semi_sync_source_wait_for_replica_count": 2}, ("n2",), True),
        ({"rpl_semi_sync_source_timeout": 2000}, ("n2", "n3"), True),
    ],
)
def test_options_decide_whether_a_source_waits_for_replicas_that_are_gone(options, killed, stops):
    options = {"rpl_semi_sync_source_timeout": 3000, **options}
    result = run(*(fault("kill", node, 3.0) for node in killed), duration_s=7.0, **options)
    longest_s = options["rpl_semi_sync_source_timeout"] / 1000.0 if stops else 0.0
    assert result.histogram.max_s == pytest.approx(longest_s, abs=0.01)
    assert len(noted(result, "async")) == stops


@pytest.mark.parametrize("model", ["asynchronous", "semisync"])
def test_a_source_that_was_killed_comes_back_with_all_that_is_in_its_binary_log(model):
    ends = fault("kill", "n1", 3.0), fault("restart", "n1", 4.0)
    options = {"rpl_semi_sync_source_timeout": 2000} if model == "semisync" else {}
    result = run(
        *ends, model=model, duration_s=14.0, clients=6, rtt_ms=8.0, source_connect_retry=7,
        **options,
    )  # fmt: skip
    # Its replicas learn of it when its kernel has ended it (exit_wait_ms, exit_ms), try once in
    # vain, and again after source_connect_retry.
    assert noted(result, "link-closed", "n2") == [pytest.approx(3.004 + 0.051, abs=0.002)]
    opened = noted(result, "link-open", "n2")
    assert opened == [pytest.approx(10.1, abs=0.1)]
    told = fates(result)
    assert told["lost"] == told["duplicated"] == 0.0
    executed = {result.counters[node]["Executed_Gtid_Set"] for node in ("n2", "n3")}
    assert len(executed) == 1
    if model == "semisync":
        # What waited for an acknowledgement is committed by crash recovery; its clients do not
        # know. A source without replicas waits once, and is itself again with the first of them.
        assert told["unknown_present"] > 0.0
        assert noted(result, "async") == [pytest.approx(8.0, abs=0.4)]
        assert noted(result, "sync") == [pytest.approx(opened[0], abs=0.5)]


def test_a_silent_source_is_noticed_after_replica_net_timeout():
    result = run(
        fault("cut", "n1", 3.0, 23.0), model="asynchronous", duration_s=30.0,
        replica_net_timeout=8,
    )  # fmt: skip
    closed = noted(result, "link-closed", "n2")
    assert closed == [pytest.approx(11.0, abs=0.05), *closed[1:]]
    # Its SYN gets through when it is repeated after the end of the cut, or in a later attempt.
    assert noted(result, "link-open", "n2") or len(closed) == 1


def test_what_an_isolated_source_answers_is_lost_with_it():
    """Asynchronous: all of it; semi-synchronous: nothing, as it waits."""
    ends = fault("cut", "n1", 3.0, 14.0), fault("power-loss", "n1", 5.0)
    result = run(*ends, model="asynchronous", duration_s=14.0)
    told = fates(result)
    rate_tps = 4.0 / (0.040 + 0.00043)
    assert told["lost"] == pytest.approx(2.0 * rate_tps, abs=8.0)
    assert fates(run(*ends, duration_s=14.0))["lost"] == 0.0


def test_a_long_pause_of_the_source_costs_its_connections():
    pause = fault("pause", "n1", 3.0, 15.0)
    result = run(pause, duration_s=18.0, replica_net_timeout=10)
    assert noted(result, "link-closed", "n2") == [pytest.approx(13.0, abs=0.05)]
    assert noted(result, "link-open", "n1") == pytest.approx([15.0, 15.0], abs=0.1)
    assert result.counters["n1"]["Rpl_semi_sync_source_clients"] == 2
    assert not noted(result, "async")


@pytest.mark.parametrize(
    ("faults", "options", "words"),
    [
        ([fault("bootstrap", "n1", 3.0)], {}, ("fault.0.what", "does not play 'bootstrap'")),
        (
            [fault("kill", "n2", 2.0), {**fault("restart", "n2", 3.0), "transfer_s": 2.0}],
            {},
            ("transfer_s", "start_ms"),
        ),
    ],
)
def test_what_is_not_played_is_refused(faults, options, words):
    with pytest.raises(simrep.ScenarioError) as caught:
        run(*faults, duration_s=4.0, **options)
    for word in words:
        assert word in str(caught.value)
