"""Servers of Galera that crash, leave and come back: clients, open streams, state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any

import pytest

from simrep.contract.model import Change
from simrep.workload.transaction import Statement, Transaction
from tests.clusters import GaleraCluster, timers, updates
from tests.streams import HOP_S, large, parts, quiet_cluster

SUSPECT_S = 2.0
TIMERS = timers(SUSPECT_S)
TICK_S = TIMERS["evs.inactive_check_period"]
KEEPALIVE_S = TIMERS["evs.keepalive_period"]
JOIN_AGAIN_S = TIMERS["evs.join_retrans_period"]
COMMIT_S = 3 * HOP_S
# To a tick, join messages that are repeated, install and two gaps, the states, the view, one of
# which may be lost until the next keepalive (see the tests of membership), then the states of the
# servers, at most.
CHANGE_S = TICK_S + 2 * JOIN_AGAIN_S + KEEPALIVE_S + 26 * HOP_S
END_S = 20.0
EXACT = 1e-9


def cluster(
    *changes: Change, size: int = 3, costs: dict[str, float] | None = None, **options: Any
) -> GaleraCluster:
    chosen = TIMERS | {"wsrep_slave_threads": 4} | options
    built = quiet_cluster(size, options=chosen, costs=costs, changes=True)
    for change in changes:
        built.clock.at(change.at_s, built.model.change, change)
    return built


def all_the_time(client: int, node: int) -> Iterator[Transaction]:
    for number in count():
        yield updates(client, node, number)


def commits_s(built: GaleraCluster, client: int) -> list[float]:
    return [
        one.ended_s for one in built.attempts if one.transaction.client == client and one.committed
    ]


def longest_gap(built: GaleraCluster, client: int) -> tuple[float, float]:
    """Between two commits of a client: its length, and when it began."""
    times = [0.0, *commits_s(built, client)]
    return max((later - at, at) for at, later in pairwise(times))


def event_s(built: GaleraCluster, node: int, what: str) -> list[float]:
    return [one.time_s for one in built.trace.events if (one.node, one.what) == (node, what)]


# -- who goes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("gone", [0, 2])
def test_after_a_crash_the_others_stall_until_they_suspect_it(gone: int) -> None:
    built = cluster(Change(5.0, gone, "kill"))
    built.client(all_the_time(0, 1), pause_s=0.001)
    built.clock.run(END_S)
    length_s, began_s = longest_gap(built, 0)
    assert began_s == pytest.approx(5.0, abs=2 * COMMIT_S)
    assert SUSPECT_S - KEEPALIVE_S < length_s <= SUSPECT_S + CHANGE_S + 2 * COMMIT_S
    assert all(one.committed for one in built.attempts)


def test_who_leaves_in_order_is_not_waited_for() -> None:
    built = cluster(Change(5.0, 2, "leave"))
    built.client(all_the_time(0, 1), pause_s=0.001)
    built.clock.run(END_S)
    length_s, _ = longest_gap(built, 0)
    assert length_s <= CHANGE_S + 2 * COMMIT_S
    assert all(one.committed for one in built.attempts)


@pytest.mark.parametrize("what", ["kill", "leave"])
def test_clients_of_a_dead_server_are_told_at_once(what: str) -> None:
    built = cluster(Change(5.0005, 0, what))
    built.client(all_the_time(0, 0), pause_s=0.001)
    built.clock.run(10.5)
    failed = [one for one in built.attempts if not one.committed]
    assert all(one.began_s >= 5.0005 - COMMIT_S for one in failed)
    cut, *refused = failed
    assert cut.ended_s == pytest.approx(5.0005, abs=EXACT)
    assert [one.ended_s - one.began_s for one in refused] == [0.0] * len(refused)
    assert len(refused) == 5
    assert all(one.transaction.unserved for one in failed)
    assert built.status(0, "errors.2013") == 1


def test_who_waits_for_a_lock_is_told_of_the_crash_too() -> None:
    built = cluster(Change(0.5, 0, "kill"), costs={"row_read_us": 1e6})
    holds = (Statement(locks=("row",)), Statement(1, 0))
    built.client([Transaction(0, 0, "long", holds, ("row",), 1, 100, autocommit=False)])
    built.client([updates(1, 0, 0, ["row"])], begin_s=0.1)
    built.clock.run(END_S)
    assert built.outcomes == [False, False]
    ends = {one.transaction.client: one.ended_s for one in built.attempts}
    assert ends[1] == pytest.approx(0.5, abs=EXACT)
    assert built.status(0, "errors.2013") == 2
    assert [built.status(node, "wsrep_received") for node in (1, 2)] == [0, 0]


def test_two_of_three_that_crash_leave_no_majority() -> None:
    built = cluster(Change(5.0, 0, "kill"), Change(5.0, 1, "kill"))
    built.client(all_the_time(0, 2), pause_s=0.001)
    # More than fit into the window, so that they wait for the next view.
    for client in range(1, 9):
        built.client([updates(client, 2, 0)], begin_s=5.5)
    built.clock.run(12.0)
    view_s = 5.0 + SUSPECT_S
    failed = [one for one in built.attempts if not one.committed]
    waited = [one for one in failed if one.began_s < view_s]
    assert len(waited) >= 5
    assert [one.ended_s for one in waited] == pytest.approx([view_s] * len(waited), abs=CHANGE_S)
    assert built.status(2, "errors.1180") == len(waited)
    # What comes later is turned away.
    refused = [one for one in failed if one.began_s >= view_s]
    assert [one.ended_s - one.began_s for one in refused] == [0.0] * len(refused)
    assert all(one.ended_s < view_s + CHANGE_S for one in built.committed)


@pytest.mark.parametrize(("what", "goes_on"), [("kill", False), ("leave", True)])
def test_of_two_nodes_the_other_goes_on_only_after_an_orderly_leave(
    what: str, goes_on: bool
) -> None:
    built = cluster(Change(5.0, 1, what), size=2)
    built.client(all_the_time(0, 0), pause_s=0.001)
    built.clock.run(15.0)
    assert (max(commits_s(built, 0)) > 14.0) == goes_on
    refused = [one for one in built.attempts if not one.committed]
    assert len(refused) == (0 if goes_on else 8)


# -- open streams ----------------------------------------------------------------------------------

ROW_S = 0.05


def streaming(
    *changes: Change,
    costs: dict[str, float] | None = None,
    hold_s: float | None = None,
    **options: Any,
) -> GaleraCluster:
    """Rows 0 to 9 are updated on the first node, three at a time; each takes a while."""
    built = cluster(*changes, costs={"row_us": ROW_S * 1e6} | (costs or {}), **options)
    built.client([large(unit="rows", size=3, hold_s=hold_s)])
    return built


TWO_FRAGMENTS_S = 6 * ROW_S + 2 * COMMIT_S + 0.01  # all nodes have them


@pytest.mark.parametrize("what", ["kill", "leave"])
def test_a_stream_is_rolled_back_when_its_origin_goes(what: str) -> None:
    apply_row_us, log_row_us = 20_000.0, 70_000.0
    # The rows take longer than the others may wait for a report, but not longer than the change.
    at_s = TWO_FRAGMENTS_S + 1.0
    built = cluster(
        Change(at_s, 0, what),
        costs={"row_us": 400e3, "apply_row_us": apply_row_us, "log_removal_us": log_row_us},
    )
    built.client([large(unit="rows", size=1)])
    built.clock.run(at_s)
    fragments = [int(built.status(node, "streams_open")) for node in (1, 2)]
    assert fragments == [1, 1]
    done = len(parts(built, 1))
    assert done >= 2
    built.clock.run(END_S)
    assert built.outcomes == [False]
    for node in (1, 2):
        assert built.status(node, "streams_open") == built.status(node, "rows_locked") == 0
        assert set(parts(built, node)) == {"f"}
        rolled_back = len(parts(built, node))
        (undone_s,) = event_s(built, node, "orphan")
        cost_s = rolled_back * (apply_row_us + log_row_us) * 1e-6
        earliest = at_s + cost_s + (SUSPECT_S - KEEPALIVE_S if what == "kill" else 0.0)
        assert earliest < undone_s <= earliest + CHANGE_S


def test_the_rows_of_an_orphan_are_free_afterwards() -> None:
    built = streaming(Change(TWO_FRAGMENTS_S, 0, "kill"))
    built.client([large(1, first=0, node=1, client=1, size=0)], begin_s=TWO_FRAGMENTS_S)
    built.client([large(1, first=5, node=2, client=2, size=0)], begin_s=TWO_FRAGMENTS_S)
    built.clock.run(END_S)
    assert built.outcomes == [False, True, True]
    ended_s = [one.ended_s for one in built.attempts if one.committed]
    earliest = TWO_FRAGMENTS_S + SUSPECT_S - KEEPALIVE_S + ROW_S
    assert all(earliest < at <= earliest + CHANGE_S + COMMIT_S for at in ended_s)


@pytest.mark.parametrize("gone", [1, 2])
def test_a_stream_goes_on_when_another_node_goes(gone: int) -> None:
    built = streaming(Change(TWO_FRAGMENTS_S, gone, "kill"))
    built.clock.run(END_S)
    assert built.outcomes == [True]
    assert parts(built, 0) == parts(built, 3 - gone) == "fffC"
    assert built.status(3 - gone, "streams_open") == 0


def test_what_is_prepared_outlives_its_origin() -> None:
    prepared_s = 10 * ROW_S + 4 * COMMIT_S
    built = streaming(Change(prepared_s + 0.5, 0, "kill"), hold_s=1.0)
    built.client([large(1, first=9, node=1, client=1, size=0)], begin_s=prepared_s + 0.3)
    built.clock.run(END_S)
    assert [built.status(node, "streams_open") for node in (1, 2)] == [1, 1]
    assert [built.status(node, "rows_locked") for node in (1, 2)] == [10, 10]
    assert [parts(built, node) for node in (1, 2)] == ["fffP", "fffP"]
    assert [one.transaction.client for one in built.committed] == []


# -- who comes back --------------------------------------------------------------------------------


def test_who_comes_back_has_the_state_before_it_serves_anybody() -> None:
    transfer_s = 3.0
    built = cluster(Change(1.0, 0, "leave"), Change(5.0, 0, "restart", transfer_s))
    for node in range(3):
        built.client(all_the_time(node, node), pause_s=0.05)
    built.clock.run(END_S)
    first = min(at for at in commits_s(built, 0) if at > 1.5)
    ready_s = 5.0 + transfer_s
    assert ready_s < first <= ready_s + CHANGE_S + 1.0 + 2 * COMMIT_S + 0.1
    turned_away = [
        one for one in built.attempts if one.transaction.node == 0 and 1.1 < one.began_s < ready_s
    ]
    assert not any(one.committed for one in turned_away)
    assert [one.ended_s - one.began_s for one in turned_away] == [0.0] * len(turned_away)
    last = [built.status(node, "wsrep_last_committed") for node in range(3)]
    assert max(last) - min(last) <= 5  # some are under way
    assert last[0] > 300
    # It has nothing of before by itself, and all that came later.
    own = built.histories()[0].commits
    assert built.histories()[1].commits[-50:-10] == own[-50:-10]


def test_who_joins_holds_up_the_others_no_longer_than_a_change_of_view() -> None:
    built = cluster(Change(1.0, 2, "leave"), Change(5.0, 2, "restart", 4.0))
    built.client(all_the_time(0, 0), pause_s=0.001)
    built.clock.run(12.0)
    assert longest_gap(built, 0)[0] <= CHANGE_S + 2 * COMMIT_S


@pytest.mark.parametrize("transfer_s", [0.0, 1.5])
def test_open_streams_are_recovered_by_who_joins(transfer_s: float) -> None:
    apply_row_us, row_s = 10_000.0, 0.8
    built = cluster(
        Change(0.5, 2, "leave"),
        Change(4.0, 2, "restart", transfer_s),
        costs={"row_us": row_s * 1e6, "apply_row_us": apply_row_us},
    )
    built.client([large(unit="rows", size=1)])
    built.client(all_the_time(1, 2), pause_s=0.01)
    built.clock.run(4.0 - 0.01)
    before = len(parts(built, 1))
    assert before >= 3
    built.clock.run(4.0 + transfer_s + CHANGE_S + 0.5)
    # It holds the rows of what it was given and of what came later.
    assert built.status(2, "streams_open") == 1
    assert built.status(2, "rows_locked") == built.status(1, "rows_locked") > 0
    built.clock.run(END_S)
    assert parts(built, 0) == "f" * 10 + "C"
    assert parts(built, 2) == parts(built, 0)[: before - 1].replace("f", "", before - 1) + parts(
        built, 2
    )
    assert parts(built, 2).endswith("fC")
    assert len(parts(built, 2)) < 11
    for node in range(3):
        assert built.status(node, "streams_open") == 0
        assert built.status(node, "rows_locked") <= 1


def test_recovery_costs_the_rows_and_bytes_that_are_applied_again() -> None:
    def goes_on_s(apply_row_us: float, log_byte_ns: float) -> tuple[float, int]:
        """When the node that joins takes what came meanwhile, and the fragments it was given."""
        built = cluster(
            Change(0.2, 2, "leave"),
            Change(3.0, 2, "restart", 1.0),
            costs={"row_us": 800e3, "apply_row_us": apply_row_us, "log_byte_ns": log_byte_ns},
        )
        built.client([large(6, unit="rows", size=1, row_bytes=1000)])
        built.client([updates(1, 1, 0)], begin_s=3.7)
        built.clock.run(3.6)  # it is in the group
        fragments = len(parts(built, 1))
        built.clock.run(END_S)
        return min(at for at in event_s(built, 2, "order") if at > 3.0), fragments

    free_s, fragments = goes_on_s(0.0, 0.0)
    assert fragments == 4
    assert free_s == pytest.approx(3.5 + 1.0, abs=CHANGE_S + COMMIT_S)
    by_rows_s, _ = goes_on_s(100e3, 0.0)
    assert by_rows_s - free_s == pytest.approx(fragments * 0.1, abs=EXACT)
    by_bytes_s, _ = goes_on_s(0.0, 50e3)
    fragment_bytes = 1000 + 150 + 16 + 8
    assert by_bytes_s - free_s == pytest.approx(fragments * fragment_bytes * 50e-6, abs=EXACT)


def test_who_crashes_while_it_gets_its_state_does_no_harm() -> None:
    built = cluster(Change(1.0, 2, "kill"), Change(5.0, 2, "restart", 3.0), Change(6.0, 2, "kill"))
    built.client(all_the_time(0, 0), pause_s=0.01)
    built.client(all_the_time(1, 2), pause_s=0.01)
    built.clock.run(END_S)
    assert max(commits_s(built, 0)) > END_S - 0.1
    assert event_s(built, 2, "commit")[-1] < 1.1
    # Its clients are turned away to the end.
    ends = [one.ended_s for one in built.attempts if one.transaction.client == 1]
    assert max(commits_s(built, 1)) < 1.1
    assert max(ends) > END_S - 2.0


@pytest.mark.parametrize("gone", [1, 2])
def test_a_stop_of_a_node_that_goes_ends_with_it(gone: int) -> None:
    built = cluster(
        Change(2.0, gone, "kill"),
        costs={"apply_us": 30_000.0},
        **{"gcs.fc_limit": 1, "wsrep_slave_threads": 1},
    )
    for client in range(6):
        built.client(all_the_time(client, 0))
    built.clock.run(2.0)
    stops = built.status(0, "wsrep_flow_control_recv")
    assert stops > 3
    built.clock.run(END_S)
    assert built.status(0, "wsrep_flow_control_recv") > stops + 3
    assert max(commits_s(built, 0)) > END_S - 1.0


# -- several at once -------------------------------------------------------------------------------


def left_over(built: GaleraCluster, variable: str) -> list[float]:
    return [status[variable] for status in built.model.counters().values()]


def test_two_that_join_behind_a_large_writeset_both_get_the_state() -> None:
    built = cluster(
        Change(1.0, 2, "leave"),
        Change(1.0, 3, "leave"),
        Change(3.0, 2, "restart"),
        Change(4.0, 3, "restart"),  # the only applier of the donor is busy with rows
        size=4,
        costs={"apply_row_us": 2000.0},
        wsrep_slave_threads=1,
    )
    built.client([large(2000, node=1)], begin_s=2.0)
    built.client(all_the_time(1, 1), begin_s=0.0, pause_s=0.2)
    built.clock.run(END_S)
    assert len(set(left_over(built, "wsrep_last_committed"))) == 1
    assert min(left_over(built, "wsrep_last_committed")) > 20


def test_who_has_no_state_yet_is_no_donor() -> None:
    built = cluster(
        Change(1.0, 0, "leave"),
        Change(2.0, 0, "restart", 15.0),
        Change(3.0, 2, "leave"),
        Change(4.0, 2, "restart", 0.5),
        wsrep_sst_donor="n2",
    )
    built.client(all_the_time(0, 1), pause_s=0.1)
    built.clock.run(6.0)
    # The only one that has the state is giving it: the other has to ask again.
    first, second, third = left_over(built, "wsrep_last_committed")
    assert first == pytest.approx(8, abs=1)
    assert third < second - 15
    built.clock.run(22.0)
    assert len(set(left_over(built, "wsrep_last_committed"))) == 1


def test_nothing_is_repeated_on_a_server_that_has_gone() -> None:
    built = cluster(Change(1.0, 0, "kill"), wsrep_retry_autocommit=10000)
    rows = ("hot",)
    built.client((updates(0, 0, n, rows) for n in range(2000)), begin_s=0.0)
    built.client((updates(1, 1, n, rows) for n in range(2000)), begin_s=0.0)
    built.clock.run(END_S)
    after = [one for one in built.attempts if one.transaction.client == 0 and one.ended_s >= 1.0]
    assert len(after) > 10  # turned away at once, and not hanging
    assert not any(one.committed for one in after)
