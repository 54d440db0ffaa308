"""What Group Replication guarantees, on random groups under random conflicting load."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import chain, pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.testing import Attempt, updates
from tests.galera_cases import HOT_ROWS
from tests.group_cases import GroupCase, group_cases
from tests.group_clusters import Certified, GroupHistory, GroupReplicationCluster, multi_primary


@settings(max_examples=110)
@given(group_cases(), st.floats(0.001, 0.3))
def test_whatever_the_group_and_the_load_every_promise_is_kept(
    case: GroupCase, look_s: float
) -> None:
    cluster = case.run(look=(look_s, lambda running: everything_is_somewhere(case, running)))
    event(f"conflicts: {bool(conflicts(cluster))}")
    every_member_certifies_the_same_and_commits_what_has_passed(case, cluster)
    what_clients_were_told_is_what_every_member_has(cluster)
    updates_of_a_row_become_visible_in_their_order(cluster)
    a_transaction_aborts_only_for_another_that_committed(case, cluster)
    nothing_is_lost_or_counted_twice(case, cluster)
    if not case.options["single_primary_mode"]:
        of_concurrent_transactions_the_first_ordered_wins(cluster)
        no_update_is_lost(cluster)
    if case.options["consistency"] != "EVENTUAL":
        what_was_committed_before_is_there_when_a_transaction_runs(cluster)


def conflicts(cluster: GroupReplicationCluster) -> float:
    victims = sum(member.server.sessions.victims for member in cluster.model.members)
    return cluster.total("COUNT_TRANSACTIONS_LOCAL_ROLLBACK") + victims


def own_row(attempt: Attempt) -> object:
    return attempt.transaction.keys[0]


# -- one order -------------------------------------------------------------------------------------


def every_member_certifies_the_same_and_commits_what_has_passed(
    case: GroupCase, cluster: GroupReplicationCluster
) -> None:
    first, *others = cluster.histories()
    assert [one.number for one in first.certified] == list(range(1, len(first.certified) + 1))
    everything = list(range(1, len(first.passed) + 1))
    for member, history in enumerate([first, *others]):
        assert history.certified == first.certified
        assert sorted(history.visible) == everything
        applied = [one.order for one in first.passed if one.origin != member]
        assert sorted(history.applied) == applied
        # Members of one group commit in the engine in any order without binlog_order_commits.
        if case.options["replica_preserve_commit_order"] and case.options["binlog_order_commits"]:
            assert [order for order in history.visible if order in history.applied] == applied


def what_clients_were_told_is_what_every_member_has(cluster: GroupReplicationCluster) -> None:
    told = sorted(own_row(attempt) for attempt in cluster.committed if attempt.transaction.rows)
    for history in cluster.histories():
        assert sorted(one.items[0] for one in history.passed) == told


def updates_of_a_row_become_visible_in_their_order(cluster: GroupReplicationCluster) -> None:
    histories = cluster.histories()
    for earlier, later in chain.from_iterable(successions(histories[0], row) for row in HOT_ROWS):
        for history in histories:
            assert history.visible[earlier.order] < history.visible[later.order]
            if {earlier.order, later.order} <= set(history.applied):
                assert history.visible[earlier.order] < history.applied[later.order]


def successions(history: GroupHistory, row: Hashable) -> Iterator[tuple[Certified, Certified]]:
    """Pairs of transactions that updated the row one after the other."""
    return pairwise(one for one in history.passed if row in one.items)


# -- first ordered wins ----------------------------------------------------------------------------


def of_concurrent_transactions_the_first_ordered_wins(cluster: GroupReplicationCluster) -> None:
    certified = cluster.histories()[0].certified
    for place, one in enumerate(certified):
        rivals = [
            other
            for other in certified[:place]
            if other.passed
            and not one.snapshot.has(other.order)
            and set(other.items) & set(one.items)
        ]
        assert one.passed != bool(rivals)
        assert all(rival.origin != one.origin for rival in rivals)


def no_update_is_lost(cluster: GroupReplicationCluster) -> None:
    # Whatever commits an update of a row, its origin's storage had all earlier ones of that row
    # when its statement ran: whatever the snapshot says, by the trace.
    histories = cluster.histories()
    ran = {
        (own_row(attempt), row): cluster.ran[attempt.transaction][place]
        for attempt in cluster.committed
        for place, statement in enumerate(attempt.transaction.statements)
        for row in statement.locks
    }
    lost_nothing = 0
    for row in HOT_ROWS:
        for earlier, later in successions(histories[0], row):
            lost_nothing += 1
            assert histories[later.origin].visible[earlier.order] < ran[later.items[0], row]
    event(f"updates of one row: {min(lost_nothing, 3)}")


def a_transaction_aborts_only_for_another_that_committed(
    case: GroupCase, cluster: GroupReplicationCluster
) -> None:
    limit = case.options["transaction_size_limit"]
    for attempt in cluster.attempts:
        loser = attempt.transaction
        if not attempt.committed and not 0 < limit < loser.size_bytes:
            assert any(
                set(winner.transaction.keys) & set(loser.keys) & set(HOT_ROWS)
                and winner.transaction.node != loser.node
                for winner in cluster.committed
            )


@settings(max_examples=40)
@given(group_cases())
def test_without_common_rows_only_what_is_too_large_aborts(case: GroupCase) -> None:
    loads = tuple(
        replace(load, work=tuple(((), size, auto) for _, size, auto in load.work))
        for load in case.loads
    )
    cluster = replace(case, loads=loads).run()
    assert conflicts(cluster) == 0
    limit = case.options["transaction_size_limit"]
    for attempt in cluster.attempts:
        assert attempt.committed != (0 < limit < attempt.transaction.size_bytes)


# -- consistency levels ----------------------------------------------------------------------------


def began_after(cluster: GroupReplicationCluster) -> Iterator[tuple[Certified, Attempt, int]]:
    """For each transaction and each that ended before it began: place at which it first ran."""
    passed = {one.items[0]: one for one in cluster.histories()[0].passed}
    for write in cluster.committed:
        if write.transaction.rows:
            for attempt in cluster.attempts:
                ran = cluster.ran[attempt.transaction]
                if ran and attempt.began_s >= write.ended_s and attempt.began_at >= write.ended_at:
                    yield passed[own_row(write)], attempt, min(ran.values())


def what_was_committed_before_is_there_when_a_transaction_runs(
    cluster: GroupReplicationCluster,
) -> None:
    # AFTER: the writer saw to it. BEFORE: the reader did. On every member alike.
    histories = cluster.histories()
    pairs = 0
    for write, attempt, ran_at in began_after(cluster):
        pairs += attempt.transaction.node != write.origin
        assert histories[attempt.transaction.node].visible[write.order] < ran_at
    event(f"of another member: {bool(pairs)}")


def test_without_a_level_old_data_are_read() -> None:
    # The check above can fail: a reader of the other member runs before the write has come.
    cluster = GroupReplicationCluster(
        [[0.0, 0.01], [0.01, 0.0]], options=multi_primary(), costs={"apply_us": 3000.0}
    )
    cluster.client([updates(0, 0, 0)])
    cluster.client([updates(1, 1, 0)], begin_s=0.0201)
    cluster.run()
    histories = cluster.histories()
    ((write, attempt, ran_at),) = began_after(cluster)
    assert attempt.transaction.node == 1
    assert histories[1].visible[write.order] > ran_at


# -- conservation ----------------------------------------------------------------------------------


def nothing_is_lost_or_counted_twice(case: GroupCase, cluster: GroupReplicationCluster) -> None:
    writes = [attempt for attempt in cluster.attempts if attempt.transaction.rows]
    assert len(writes) == sum(len(load.work) for load in case.loads)
    assert cluster.submitted == len(cluster.attempts) == 2 * len(writes)
    total = cluster.total
    committed = sum(attempt.committed for attempt in writes)
    assert total("COUNT_TRANSACTIONS_LOCAL_PROPOSED") == committed + total(
        "COUNT_TRANSACTIONS_LOCAL_ROLLBACK"
    )
    proposed = total("COUNT_TRANSACTIONS_LOCAL_PROPOSED")
    for node in range(case.size):
        status = cluster.model.counters()[cluster.names[node]]
        own = (
            status["COUNT_TRANSACTIONS_LOCAL_PROPOSED"]
            - status["COUNT_TRANSACTIONS_LOCAL_ROLLBACK"]
        )
        assert status["COUNT_TRANSACTIONS_CHECKED"] == proposed
        assert status["COUNT_CONFLICTS_DETECTED"] == total("COUNT_TRANSACTIONS_LOCAL_ROLLBACK")
        assert status["COUNT_TRANSACTIONS_REMOTE_APPLIED"] == committed - own
        assert status["Handler_commit"] == status["Binlog_commits"] == committed
        assert status["COUNT_TRANSACTIONS_IN_QUEUE"] == 0
    failed = total("COUNT_TRANSACTIONS_LOCAL_ROLLBACK") + total("transactions_too_large")
    victims = conflicts(cluster) - total("COUNT_TRANSACTIONS_LOCAL_ROLLBACK")
    assert failed + victims == len(writes) - committed


def everything_is_somewhere(case: GroupCase, cluster: GroupReplicationCluster) -> None:
    # At any instant of the run.
    in_flight = cluster.submitted - len(cluster.attempts)
    assert 0 <= in_flight <= len(case.loads)
    proposed = cluster.total("COUNT_TRANSACTIONS_LOCAL_PROPOSED")
    written = sum(bool(attempt.transaction.rows) for attempt in cluster.committed)
    ended = written + cluster.total("COUNT_TRANSACTIONS_LOCAL_ROLLBACK")
    assert ended - in_flight <= proposed <= ended + in_flight
    histories = cluster.histories()
    longest = max((history.certified for history in histories), key=len)
    assert len(longest) <= proposed
    for history in histories:
        assert history.certified == longest[: len(history.certified)]
        assert set(history.visible) <= set(range(1, len(history.passed) + 1))


# -- two writers, one row --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("rows", [1, 3])
def test_exactly_one_of_two_concurrent_updates_commits(size: int, rows: int) -> None:
    hop_s = 0.01
    cluster = GroupReplicationCluster(
        [[0.0 if i == j else hop_s for j in range(size)] for i in range(size)],
        options=multi_primary(),
    )
    for node in (0, 1):
        cluster.client([updates(node, node, 0, HOT_ROWS[:rows])])
    cluster.run()
    first = cluster.histories()[0].certified[0]
    assert [attempt.transaction.keys for attempt in cluster.committed] == [first.items]
    assert len(cluster.attempts) == 2


# -- determinism -----------------------------------------------------------------------------------


@settings(max_examples=20)
@given(group_cases(), st.integers(0, 1000))
def test_a_seed_determines_everything(case: GroupCase, seed: int) -> None:
    assert case.run(seed).trace.digest() == case.run(seed).trace.digest()


@settings(max_examples=20)
@given(group_cases(), st.permutations(["alpha", "beta", "gamma", "delta", "epsilon"]))
def test_names_do_not_matter(case: GroupCase, names: list[str]) -> None:
    case = replace(case, jitter_s=0.0)  # jitter is drawn from streams that are named after nodes
    renamed = replace(case, names=tuple(names[: case.size]))
    assert renamed.run().trace.digest() == case.run().trace.digest()
