"""What becomes of commits when the view of a Galera group changes: of the old view and of the new.

Nothing takes time but the network and the timers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from simrep.contract.model import Change
from simrep.workload.transaction import Transaction
from tests.clusters import GaleraCluster, updates
from tests.streams import HOP_S, quiet_cluster

SUSPECT_S, KEEPALIVE_S = 3.0, 1.0
NOTICED_S = SUSPECT_S + 1.8  # a tick, a repeated join message, and the messages of a change
KILL_S = 5.0
SAFE_S = 2 * HOP_S  # until a message is delivered in a view of two, at least


def cluster(size: int = 3, gone: tuple[int, ...] = (2,)) -> GaleraCluster:
    options = {"evs.suspect_timeout": SUSPECT_S, "evs.keepalive_period": KEEPALIVE_S}
    built = quiet_cluster(size, options=options, changes=True)
    for node in gone:
        change = Change(KILL_S, node, "kill")
        built.clock.at(change.at_s, built.model.change, change)
    return built


def busy(client: int, node: int) -> Iterator[Transaction]:
    for number in count():
        yield updates(client, node, number)


def orders_of(built: GaleraCluster, node: int) -> list[int]:
    return [order.seqno for order in built.histories()[node].orders]


def test_commits_of_the_old_view_end_before_those_of_the_new() -> None:
    built = cluster()
    built.client(busy(0, 0), pause_s=0.001)
    built.clock.run(15.0)
    waited = next(one.ended_s for one in built.attempts if one.ended_s - one.began_s > SUSPECT_S)
    after = next(one.ended_s for one in built.attempts if one.began_s >= waited)
    (stable,) = [one.at_s for one in built.noted if (one.node, one.what) == (0, "stable")]
    (primary,) = [one.at_s for one in built.noted if (one.node, one.what) == (0, "primary")]
    assert waited == pytest.approx(stable)
    # The states of the members, the view, a number and the states of the servers, one by one.
    assert primary == pytest.approx(stable + 4 * SAFE_S)
    assert primary < after - SAFE_S < primary + 0.01 + 2 * HOP_S  # who waits asks every 10 ms
    assert all(one.committed for one in built.attempts)
    assert orders_of(built, 0) == orders_of(built, 1)


def test_without_quorum_nothing_of_the_old_view_commits() -> None:
    built = cluster(size=2, gone=(1,))
    built.client(busy(0, 0), pause_s=0.001)
    built.clock.run(KILL_S)
    before = len(built.committed)
    built.clock.run(KILL_S + NOTICED_S + 0.5)
    told = [one for one in built.attempts if not one.committed]
    assert len(built.committed) - before <= 1  # what was safe
    assert told[0].transaction.error.startswith("1180")
    assert {one.transaction.error.split()[0] for one in told[1:]} <= {"1047"}
    status = built.model.counters()["n1"]
    assert status["wsrep_last_committed"] == len(built.committed)


@pytest.mark.parametrize(("large_bytes", "torn"), [(400_000, False), (2_000_000, True)])
def test_a_writeset_that_a_view_has_torn_is_sent_again(large_bytes: int, torn: bool) -> None:
    built = cluster()
    built.client([updates(0, 0, 0, size_bytes=large_bytes)], begin_s=KILL_S + 0.001)
    built.client([updates(1, 1, 0)], begin_s=KILL_S + NOTICED_S + 1.0)
    built.clock.run(15.0)
    assert [one.committed for one in built.attempts] == [True, True]
    assert orders_of(built, 0) == orders_of(built, 1) == [1, 2]
    assert built.status(0, "wsrep_replicated") == 1 + torn


def test_servers_note_what_they_are_part_of() -> None:
    built = cluster(size=4, gone=(2, 3))
    built.client([updates(0, 0, 0)], begin_s=1.0)
    built.clock.run(15.0)
    noted = [(one.node, one.what, one.of) for one in built.noted if "primary" in one.what]
    assert noted[:2] == [(0, "non-primary", (0, 1)), (1, "non-primary", (0, 1))]
