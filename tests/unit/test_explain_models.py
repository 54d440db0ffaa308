"""What blocked whom, in every model, against what was made to block."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.kernel.watch import Watch
from simrep.runs.run import simulate
from simrep.scenario import load
from simrep.why.stall import StallExplanation, explain_stall
from tests.blocked_clusters import SMALL, scenario

MODELS = ["standalone", "asynchronous", "semisync", "galera", "group_replication"]
HOT = {"distribution": "hot", "rows": 10, "hot_rows": 1, "hot_fraction": 0.9}


def texts(explanation: StallExplanation) -> list[str]:
    return [str(one) for one in explanation.blockages]


def stations(explanation: StallExplanation, node: str) -> set[str]:
    return {one.station for one in explanation.blockages if one.node == node}


# -- a watch changes nothing -----------------------------------------------------------------------

VARIANTS: list[tuple[str, str | None, dict[str, Any]]] = [
    ("standalone", "mysql-5.1", {"log_bin": True}),
    ("standalone", "mysql-8.4", {"binlog_group_commit_sync_delay": 3000}),
    ("asynchronous", "mysql-8.4", {"replica_parallel_workers": 4}),
    ("asynchronous", "mysql-8.4", {"replica_parallel_workers": 0}),
    ("asynchronous", "mariadb-11.8", {"slave_parallel_threads": 4}),
    ("semisync", "mysql-8.4", {}),
    ("semisync", "mysql-5.6", {}),
    ("semisync", "mariadb-11.8", {}),
    ("galera", "mariadb-11.8", {"wsrep_slave_threads": 4, "gcs.fc_limit": 4}),
    ("galera", "pxc-5.7.16", {"wsrep_slave_threads": 2}),
    (
        "group_replication",
        None,
        {"group_replication_flow_control_applier_threshold": 10, "replica_parallel_workers": 4},
    ),
    (
        "group_replication",
        None,
        {
            "group_replication_single_primary_mode": False,
            "group_replication_consistency": "BEFORE_AND_AFTER",
        },
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "version", "options"), VARIANTS)
def test_a_run_is_the_same_with_and_without_a_watch(
    model: str, version: str | None, options: dict[str, Any]
) -> None:
    everywhere = model == "galera" or "group_replication_consistency" in options
    cluster: dict[str, Any] = {"model": model, "nodes": 3, "options": options}
    if version is not None:
        cluster["version"] = version
    content = {
        "cluster": cluster,
        "network": {"rtt_ms": 2.0, "outage": [{"node": "n3", "from_s": 0.2, "to_s": 0.4}]},
        "workload": {
            "threads": 8,
            "nodes": ["n1", "n2"] if everywhere else ["n1"],
            "class": [
                {"name": "big", "rows": 20_000, "weight": 0.01, "table": "big"},
                {"name": "hot", "statements": 2, "keys": HOT},
            ],
        },
        "run": {"duration_s": 0.45},
    }
    plain = simulate(load(content), 1, trace=True)
    watched = simulate(load(content), 1, trace=True, watch_s=1e-9)
    assert watched.trace_digest == plain.trace_digest
    assert watched.traffic == plain.traffic
    assert watched.counters == plain.counters
    assert watched.stations == plain.stations
    assert watched.measurement.latency.sum_s == plain.measurement.latency.sum_s
    assert watched.waited
    assert plain.waited is None


@pytest.mark.parametrize(("model", "version", "options"), [VARIANTS[8], VARIANTS[11]])
def test_nothing_is_kept_of_what_has_ended(
    model: str, version: str | None, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    watches: list[Watch] = []

    class Kept(Watch):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            watches.append(self)

    monkeypatch.setattr("simrep.runs.replication.Watch", Kept)
    hot = {"name": "hot", "statements": 2, "keys": HOT}
    content = scenario(model, version=version, options=options, classes=[hot], threads=8)
    run = simulate(load(content), 1, watch_s=0.1)
    (watch,) = watches
    assert run.traffic.committed > 200
    assert len(watch._doing) <= 2 * 8


# -- Galera ----------------------------------------------------------------------------------------


def test_the_commit_order_waits_for_the_apply_of_a_big_writeset() -> None:
    apply_s = 200_000 * 5e-6
    found = explain_stall(
        scenario(
            "galera",
            costs={"apply_row_us": 5.0},
            options={"wsrep_slave_threads": 4},
            duration_s=3.0,
        )
    )
    orders = [one for one in found.blockages if one.station == "commit order" and one.ended]
    assert orders
    assert all(one.node == "n2" for one in orders)
    longest = orders[0]
    assert longest.seconds == pytest.approx(apply_s, rel=0.05)
    assert longest.waited_for.startswith("writeset ")
    assert "of big (200,000 rows, 20.0 MB)" in longest.waited_for
    assert longest.doing == "being applied"
    assert longest.waiting == 3


def test_flow_control_is_explained_by_the_commit_order_of_the_node_that_stopped() -> None:
    found = explain_stall(
        scenario(
            "galera", costs={"apply_row_us": 10.0}, options={"wsrep_slave_threads": 4}, threads=8
        )
    )
    cause = found.causes[0]
    root = found.blockages[cause.blockage]
    assert (root.node, root.station, root.doing) == ("n2", "commit order", "being applied")
    chain = [(found.blockages[n].node, found.blockages[n].station) for n, _ in cause.follows]
    assert chain[:2] == [("n2", "receive queue"), ("n1", "send monitor")]
    assert any(
        "send monitor on n1 was paused" in text
        and "by flow control of n2 (receive queue 24 > 23)" in text
        for text in texts(found)
    )
    assert cause.seconds >= 0.8 * found.stall.seconds


def test_one_applier_is_what_the_receive_queue_waits_for() -> None:
    found = explain_stall(scenario("galera", costs={"apply_row_us": 5.0}))
    queue = next(one for one in found.blockages if one.station == "receive queue")
    assert "of big (200,000 rows, 20.0 MB)" in queue.waited_for
    assert queue.doing == "being applied"


def test_certification_of_many_keys_holds_the_local_monitor() -> None:
    found = explain_stall(
        scenario("galera", costs={"certify_key_us": 2.0}, options={"wsrep_slave_threads": 4})
    )
    local = [one for one in found.blockages if one.station == "local monitor (certification)"]
    assert {one.node for one in local} == {"n1", "n2"}
    assert local[0].seconds == pytest.approx(0.4, rel=0.05)
    assert local[0].doing == "certifying 200,000 keys"


def test_the_messages_of_a_big_writeset_hold_the_send_monitor() -> None:
    network = {"rtt_ms": 0.2, "bandwidth_mbit": 200}
    found = explain_stall(scenario("galera", network=network, duration_s=3.0))
    held = next(one for one in found.blockages if one.station == "send monitor")
    assert held.node == "n1"
    assert "big of client" in held.waited_for
    assert held.doing.startswith("handing over ")
    # The rows, the text of the statement, and a hash of every key.
    assert held.seconds == pytest.approx((2 * 20e6 + 8 * 200_000) * 8 / 200e6, rel=0.05)


def test_a_node_that_is_cut_off_stops_the_total_order() -> None:
    network = {"rtt_ms": 1.0, "outage": [{"node": "n3", "from_s": 0.3, "to_s": 1.3}]}
    found = explain_stall(scenario("galera", size=3, network=network, classes=[SMALL]))
    order = found.blockages[found.causes[0].blockage]
    assert (order.node, order.station) == ("n1", "total order")
    assert order.waited_for.startswith("n3, from which nothing came for 1.")
    assert order.seconds >= 1.0
    assert found.causes[0].seconds == pytest.approx(found.stall.seconds, rel=0.01)
    assert found.unexplained_s == pytest.approx(0.0, abs=0.01 * found.stall.seconds)


# -- row locks, in every model ---------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_who_holds_a_row_for_long_is_told(model: str) -> None:
    """Two statements and a COMMIT with 200 ms on the way: the row is held for 400 ms."""
    one_row = {"distribution": "uniform", "rows": 1}
    slow = {"name": "slow", "statements": 2, "keys": one_row}
    found = explain_stall(
        scenario(
            model, classes=[slow], threads=3, client="own", client_rtt_ms=200.0, duration_s=6.0
        )
    )
    rows = [one for one in found.blockages if one.station == "row 0" and one.ended]
    assert len(rows) > 5
    assert rows[-1].seconds == pytest.approx(0.4, rel=0.05)
    assert "slow of client " in rows[0].waited_for or "writeset " in rows[0].waited_for
    assert "(2 rows, 200 bytes)" in rows[0].waited_for
    assert rows[0].doing == "being executed"
    assert {one.waiting for one in rows} <= {1, 2}


# -- binary logs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "station"),
    [
        ("mysql-5.1", "prepare_commit_mutex"),
        ("mysql-5.5", "prepare_commit_mutex"),
        ("mysql-5.6", "binlog sync"),
        ("mysql-8.4", "binlog sync"),
        ("mariadb-11.8", "LOCK_log"),
    ],
)
def test_a_slow_fsync_blocks_the_stage_that_holds_its_lock(version: str, station: str) -> None:
    options = {"log_bin": True, "sync_binlog": 1, "innodb_flush_log_at_trx_commit": 2}
    found = explain_stall(
        scenario(
            "standalone", version=version, options=options, size=1,
            costs={"fsync_us": 200_000.0}, classes=[SMALL],
        )
    )  # fmt: skip
    one = next(one for one in found.blockages if one.station == station)
    assert "small of client" in one.waited_for
    assert one.seconds <= 0.61
    assert "binary log" in one.doing


def test_a_big_transaction_holds_the_log_while_it_is_written() -> None:
    found = explain_stall(
        scenario(
            "standalone",
            version="mariadb-11.8",
            size=1,
            options={"log_bin": True},
            costs={"binlog_byte_ns": 20.0},
        )
    )
    one = next(one for one in found.blockages if one.station == "LOCK_log")
    assert "big of client" in one.waited_for
    assert one.seconds == pytest.approx(0.4, rel=0.05)


def test_a_delayed_sync_waits_for_others() -> None:
    options = {"binlog_group_commit_sync_delay": 300_000}
    found = explain_stall(
        scenario("standalone", version="mysql-8.4", size=1, options=options, classes=[SMALL])
    )
    one = next(one for one in found.blockages if one.station == "binlog sync")
    assert one.waited_for == "its next group to gather"
    assert one.seconds == pytest.approx(0.3, rel=0.01)


def test_a_replica_that_applies_a_big_transaction_holds_up_its_relay_log() -> None:
    for version, options in [
        ("mysql-8.4", {"replica_parallel_workers": 4}),
        ("mysql-8.4", {"replica_parallel_workers": 0}),
        ("mariadb-11.8", {"slave_parallel_threads": 4}),
    ]:
        found = explain_stall(
            scenario(
                "asynchronous",
                version=version,
                options=options,
                costs={"apply_row_us": 5.0},
                duration_s=1.2,
            )
        )
        relay = next(one for one in found.blockages if one.station == "relay log")
        assert relay.node == "n2"
        root = relay
        while root.because:
            root = found.blockages[root.because[0]]
        assert "of big (200,000 rows, 20.0 MB)" in root.waited_for, version
        assert root.doing == "being applied"
        assert found.stall.seconds < 0.1  # the clients of the source do not notice


@pytest.mark.parametrize("version", ["mysql-5.6", "mysql-8.4", "mariadb-11.8"])
def test_commits_wait_for_an_acknowledgement(version: str) -> None:
    found = explain_stall(
        scenario("semisync", version=version, network={"rtt_ms": 400.0}, classes=[SMALL])
    )
    one = next(one for one in found.blockages if one.station == "acknowledgement")
    assert one.seconds == pytest.approx(0.4, rel=0.02)
    assert one.waited_for.startswith("a reply of n2 to transaction ")
    cause = found.blockages[found.causes[0].blockage]
    assert cause.station == "acknowledgement"


# -- Group Replication -----------------------------------------------------------------------------


def test_the_quota_is_explained_by_the_member_that_is_behind() -> None:
    found = explain_stall(
        scenario(
            "group_replication",
            size=3,
            costs={"apply_row_us": 10.0},
            options={
                "group_replication_flow_control_applier_threshold": 20,
                "group_replication_flow_control_certifier_threshold": 20,
                "replica_parallel_workers": 4,
            },
            duration_s=2.5,
        )
    )
    quota = [one for one in found.blockages if one.station == "flow control quota"]
    assert quota
    assert all(one.seconds <= 1.001 for one in quota)
    late = [one for one in quota if "because of n2" in one.waited_for]
    assert late
    assert any(found.blockages[n].station == "relay log" for one in late for n in one.because)


def test_certification_and_commit_order_of_a_group() -> None:
    found = explain_stall(
        scenario(
            "group_replication",
            size=3,
            costs={"apply_row_us": 5.0, "certify_row_us": 2.0},
            options={"replica_parallel_workers": 4},
        )
    )
    assert "applier module (certification)" in stations(found, "n1")
    assert {"commit order", "relay log"} <= stations(found, "n2") & stations(found, "n3")
    certification = next(
        one for one in found.blockages if one.station == "applier module (certification)"
    )
    assert "big of client" in certification.waited_for
    assert certification.seconds == pytest.approx(0.4, rel=0.1)


def test_consistency_waits_are_explained_by_the_slowest_member() -> None:
    found = explain_stall(
        scenario(
            "group_replication",
            size=3,
            costs={"apply_row_us": 5.0},
            options={"group_replication_consistency": "AFTER", "replica_parallel_workers": 4},
        )
    )
    one = next(one for one in found.blockages if one.station == "consistency AFTER")
    assert one.node == "n1"
    assert " to prepare big of client" in one.waited_for


def test_a_member_far_away_is_what_the_order_waits_for() -> None:
    found = explain_stall(
        scenario("group_replication", size=3, network={"rtt_ms": 300.0}, threads=1, classes=[SMALL])
    )
    assert "total order (XCom)" in stations(found, "n1")
