"""What a crash of the source loses, at any instant: nothing that was acknowledged in time."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.models.semisync import loss_at
from simrep.testing.strategies import networks, workloads
from tests.server_runs import Quiet, until_quiet


@st.composite
def outages(draw: st.DrawFn, names: list[str]) -> list[dict[str, Any]]:
    """Up to two nodes that are cut off for a while."""
    found = []
    for _ in range(draw(st.integers(0, 2))):
        begin = draw(st.integers(0, 400)) / 1000
        found.append(
            {
                "node": draw(st.sampled_from(names)),
                "direction": draw(st.sampled_from(["both", "in", "out"])),
                "from_s": begin,
                "to_s": begin + draw(st.sampled_from([0.01, 0.3, 2.0])),
            }
        )
    return found


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """A source with one to three replicas, of any generation."""
    names = [f"n{position + 1}" for position in range(draw(st.integers(2, 4)))]
    version = draw(st.sampled_from(["mysql-5.5", "mysql-5.6", "mysql-9", "mariadb-11.8"]))
    options: dict[str, Any] = {
        "sync_binlog": draw(st.sampled_from([0, 1, 3])),
        "sync_relay_log": draw(st.sampled_from([0, 1, 10_000])),
        "rpl_semi_sync_source_timeout": draw(st.sampled_from([0, 100, 500, 10_000])),
    }
    if version in {"mysql-9", "mariadb-11.8"}:
        options["rpl_semi_sync_source_wait_point"] = draw(
            st.sampled_from(["AFTER_SYNC", "AFTER_COMMIT"])
        )
    if version == "mysql-9":
        options["rpl_semi_sync_source_wait_for_replica_count"] = draw(
            st.integers(1, len(names) - 1)
        )
        options["binlog_order_commits"] = draw(st.booleans())
    cluster = {
        "model": "semisync",
        "version": version,
        "nodes": names,
        "shared_host": draw(st.booleans()),
        "machine": {"cores": draw(st.integers(1, 8)), "variation": draw(st.sampled_from([0, 0.5]))},
        "options": options,
    }
    return {
        "cluster": cluster,
        "network": draw(networks(names)) | {"outage": draw(outages(names))},
        # No retries: victims of deadlocks may meet again and again, which is not the matter here.
        "workload": draw(workloads(names[:1]))
        | {"threads": draw(st.integers(1, 12)), "retry": False},
    }


def instants(quiet: Quiet, share: float) -> list[float]:
    """A time between two events, and that of an event."""
    position = min(int(share * len(quiet.events)), len(quiet.events) - 1)
    at = quiet.events[position].time_s
    before = quiet.events[position - 1].time_s if position else 0.0
    return [at, (before + at) / 2]


@settings(max_examples=140)
@given(clusters(), st.integers(0, 1000), st.floats(0.0, 1.0))
def test_whatever_the_cluster_and_the_load_every_promise_is_kept(content, seed, share):
    quiet = until_quiet(content, seed)
    an_acknowledged_transaction_survives_whatever_the_instant_of_the_crash(content, quiet, share)
    as_many_replicas_as_were_asked_for_have_what_clients_were_told(content, quiet)


def an_acknowledged_transaction_survives_whatever_the_instant_of_the_crash(content, quiet, share):
    options = content["cluster"]["options"]
    source = quiet.counters["n1"]
    off_s = min((one.time_s for one in quiet.of(0, "switched_off")), default=float("inf"))
    event(f"timeout: {off_s < float('inf')}")
    assert (source["Rpl_semi_sync_source_no_times"] > 0) == (off_s < float("inf"))
    assert quiet.submitted == quiet.committed + quiet.aborted
    for at in instants(quiet, share):
        loss = loss_at(quiet.events, at)
        event(f"something in the binary log alone: {bool(loss.written)}")
        assert set(loss.answered) <= set(loss.visible) <= set(loss.written)
        # With the timeout reached the counters say how many.
        assert len(loss.answered) <= source["Unacknowledged_commits"]
        if at < off_s:
            assert loss.answered == ()
            if options.get("rpl_semi_sync_source_wait_point") == "AFTER_SYNC":
                assert loss.visible == ()


def as_many_replicas_as_were_asked_for_have_what_clients_were_told(content, quiet):
    count = content["cluster"]["options"].get("rpl_semi_sync_source_wait_for_replica_count", 1)
    replicas = range(1, len(content["cluster"]["nodes"]))
    received: dict[int, int] = dict.fromkeys(replicas, 0)
    decided, unacknowledged, always_on = 0, 0, True
    for one in quiet.events:
        if one.what == "receive":
            assert one.seqno == received[one.node] + 1
            received[one.node] = one.seqno
        elif one.what == "acknowledged":
            assert decided < one.seqno
            decided = one.seqno
            assert sum(position >= decided for position in received.values()) >= count
        elif one.what == "switched_off":
            always_on = False
        elif one.what == "answer":
            unacknowledged += one.seqno > decided
            assert one.seqno <= decided or not always_on
    counters = quiet.counters["n1"]
    assert counters["Unacknowledged_commits"] == unacknowledged
    assert counters["Rpl_semi_sync_source_wait_sessions"] == 0
    assert all(position == quiet.committed for position in received.values())
    waits = counters["Rpl_semi_sync_source_yes_tx"] + counters["Rpl_semi_sync_source_no_tx"]
    by_group = content["cluster"]["version"] == "mysql-9" and (
        content["cluster"]["options"]["rpl_semi_sync_source_wait_point"] == "AFTER_SYNC"
    )
    assert waits <= quiet.committed if by_group else waits == quiet.committed


@settings(max_examples=15)
@given(clusters(), st.integers(0, 1000))
def test_the_same_seed_gives_the_same_history(content, seed):
    assert until_quiet(content, seed) == until_quiet(content, seed)
