"""Consistency levels against closed forms: nothing takes time but the network."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.testing import reads, updates
from simrep.workload.transaction import Transaction
from tests.group_clusters import QUIET_S, GroupReplicationCluster, calm_group
from tests.groups import symmetric

HOP_S = 0.01
APPLY_S = 0.5


def group(size: int = 3, apply_s: float = 0.0, **how: Any) -> GroupReplicationCluster:
    return calm_group(symmetric(size, HOP_S), costs={"apply_us": apply_s * 1e6}, **how)


def hops(cluster: GroupReplicationCluster, *sent: tuple[float, Transaction]) -> list[float]:
    """Latency of transactions that are sent so many hops after the start, in hops."""
    for after, transaction in sent:
        cluster.client([transaction], begin_s=QUIET_S + after * HOP_S)
    cluster.run(120.0)
    latencies = {
        attempt.transaction: (attempt.ended_s - attempt.began_s) / HOP_S
        for attempt in cluster.committed
    }
    return [latencies[transaction] for _, transaction in sent]


LEADER = {"single_primary_mode": True, "paxos_single_leader": True}


def write(node: int = 0) -> Transaction:
    return updates(node, node, 0)


# -- alone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 5, 7])
@pytest.mark.parametrize(
    ("level", "reading", "writing"),
    [
        ("EVENTUAL", 0, 4),
        ("BEFORE_ON_PRIMARY_FAILOVER", 0, 4),
        # A place in the order, then the commit.
        ("BEFORE", 4, 8),
        # Members tell that they have prepared in the slots after the transaction's, all at once:
        # accept, acknowledgement, learn, and no skip.
        ("AFTER", 0, 7),
        ("BEFORE_AND_AFTER", 4, 11),
    ],
)
def test_levels_cost_rounds(size: int, level: str, reading: float, writing: float) -> None:
    assert hops(group(size, last=1, consistency=level), (0, reads(9, 1))) == pytest.approx(
        [reading]
    )
    assert hops(group(size, consistency=level), (0, write())) == pytest.approx([writing])


@pytest.mark.parametrize(
    ("level", "reading", "writing"),
    [
        ("EVENTUAL", 0, 2),
        # A secondary asks for a slot.
        ("BEFORE", 2 + 2, 4),
        # So do those that have prepared, one hop after the leader.
        ("AFTER", 0, 3 + 2 + 3),
    ],
)
def test_with_a_single_leader_the_others_ask_it_for_slots(
    level: str, reading: float, writing: float
) -> None:
    assert hops(group(consistency=level, **LEADER), (0, reads(9, 1))) == pytest.approx([reading])
    assert hops(group(consistency=level, **LEADER), (0, write())) == pytest.approx([writing])


def test_two_members_have_the_same_majority() -> None:
    assert hops(group(2, consistency="BEFORE"), (0, write())) == pytest.approx([8])
    # The second prepares after three hops.
    assert hops(group(2, consistency="AFTER"), (0, write())) == pytest.approx([6])


def test_failover_plays_no_role() -> None:
    digests = set()
    for level in ("EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER"):
        cluster = group(consistency=level)
        hops(cluster, (0, write()), (1, write(1)))
        digests.add(cluster.trace.digest())
    assert len(digests) == 1


# -- with what others do ---------------------------------------------------------------------------


def test_after_waits_for_the_slowest_member_to_prepare() -> None:
    latency = hops(group(apply_s=APPLY_S, consistency="AFTER"), (0, write()))
    assert latency == pytest.approx([7 + APPLY_S / HOP_S])
    for level in ("EVENTUAL", "BEFORE"):  # these do not
        latency = hops(group(apply_s=APPLY_S, consistency=level), (0, write()))
        assert latency == pytest.approx([8 if level == "BEFORE" else 4])


def test_before_waits_for_what_was_ordered_before_it_to_be_applied() -> None:
    # The write is delivered after four hops and applied then; the read was sent after three.
    cluster = group(apply_s=APPLY_S, consistency="BEFORE")
    _, latency = hops(cluster, (0, write()), (7, reads(9, 1)))
    assert latency == pytest.approx(8 + APPLY_S / HOP_S - 7)
    cluster = group(apply_s=APPLY_S, consistency="EVENTUAL")
    assert hops(cluster, (0, write()), (5, reads(9, 1)))[1] == 0


@pytest.mark.parametrize(
    ("after", "node", "latency"),
    [
        (3.9, 1, 0.0),  # nothing of the write is there
        (4.1, 1, 2.9),  # it is prepared: wait until all have told that they are
        (6.9, 1, 0.1),
        (7.1, 1, 0.0),
        (4.1, 0, 0.0),  # where it was written the commit itself waits
    ],
)
def test_after_holds_up_what_begins_while_a_transaction_is_prepared(
    after: float, node: int, latency: float
) -> None:
    cluster = group(consistency="AFTER")
    _, seen = hops(cluster, (0, write()), (after, reads(9, node)))
    assert seen == pytest.approx(latency, abs=1e-6)


@pytest.mark.parametrize("level", ["BEFORE", "AFTER"])
def test_a_transaction_of_several_statements_waits_at_its_begin_only(level: str) -> None:
    cluster = group(consistency=level)
    several = updates(0, 0, 0, [("hot", 0), ("hot", 1)], autocommit=False)
    one = hops(group(consistency=level), (0, write()))
    assert hops(cluster, (0, several)) == pytest.approx(one)
