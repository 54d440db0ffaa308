"""What a Galera cluster keeps when servers are away: nothing is ordered without quorum.

Servers crash, leave and come back at random times, and arbitrators with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import count

from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.contract.model import Change
from simrep.models.galera.member_states import MemberState
from simrep.workload.transaction import Transaction
from tests.clusters import GaleraCluster, updates

LAST_S, END_S = 8.0, 22.0
HOT = ("x", "y", "z")
COSTS = {"row_us": 200.0, "apply_row_us": 150.0, "commit_us": 50.0}


@dataclass(frozen=True)
class Case:
    """A cluster, who is away from when to when, and who writes."""

    size: int
    arbitrator: bool
    hop_s: float
    writers: tuple[int, ...]
    away: tuple[tuple[int, float, float, str], ...]  # node, from when, for how long, how

    def run(self) -> GaleraCluster:
        size = self.size + self.arbitrator
        cluster = GaleraCluster(
            [[0.0 if i == j else self.hop_s for j in range(size)] for i in range(size)],
            options={"evs.suspect_timeout": 3.0, "innodb_flush_log_at_trx_commit": 1},
            costs=COSTS,
            changes=True,
            arbitrators=[self.size] if self.arbitrator else [],
        )
        for client, node in enumerate(self.writers):
            cluster.client(_work(cluster, client, node), pause_s=0.1)
        free_s = [0.5] * size
        for node, after_s, for_s, how in self.away:
            at_s = free_s[node % size] + after_s
            if at_s + for_s > LAST_S:
                continue
            free_s[node % size] = at_s + for_s + 0.01
            for change in (
                Change(at_s, node % size, how),  # type: ignore[arg-type]
                Change(at_s + for_s, node % size, "restart", 0.05),
            ):
                cluster.clock.at(change.at_s, cluster.model.change, change)
        cluster.clock.run(END_S)
        return cluster


def _work(cluster: GaleraCluster, client: int, node: int) -> Iterator[Transaction]:
    for number in count():
        if cluster.clock.now > LAST_S + 8.0:
            return
        yield updates(client, node, number, [HOT[number % 3]])


cases = st.builds(
    Case,
    size=st.integers(2, 4),
    arbitrator=st.booleans(),
    hop_s=st.sampled_from([0.0001, 0.01]),
    writers=st.lists(st.integers(0, 1), min_size=1, max_size=3).map(tuple),
    away=st.lists(
        st.tuples(
            st.integers(0, 4),
            st.floats(0.0, 3.0),
            st.floats(0.1, 5.0),
            st.sampled_from(["kill", "kill", "leave"]),
        ),
        min_size=1,
        max_size=5,
    ).map(tuple),
)


@settings(max_examples=25)
@given(cases)
def test_whoever_is_away_every_promise_is_kept(case: Case) -> None:
    cluster = case.run()
    nothing_is_ordered_without_quorum(cluster)
    committed = all_nodes_commit_the_same(cluster)
    what_is_answered_is_there_once(cluster, committed)
    at_the_end_all_are_equal(case, cluster)


def nothing_is_ordered_without_quorum(cluster: GaleraCluster) -> None:
    told: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for one in cluster.noted:
        if one.what in {"primary", "non-primary"}:
            told[one.node].append((one.at_s, one.what == "primary"))
    event(f"without quorum: {any(not yes for of_node in told.values() for _, yes in of_node)}")
    for one in cluster.trace.events:
        if one.what == "order":
            before = [yes for at_s, yes in told[one.node] if at_s < one.time_s]
            now = [yes for at_s, yes in told[one.node] if at_s == one.time_s]
            assert not before or before[-1] or now


def all_nodes_commit_the_same(cluster: GaleraCluster) -> dict[int, tuple[Hashable, ...]]:
    """What each sequence number is on every node that has committed it."""
    committed: dict[int, tuple[Hashable, ...]] = {}
    for node in range(len(cluster.names)):
        orders: dict[int, tuple[Hashable, ...]] = {}
        for one in cluster.trace.events:
            if one.node == node and one.what == "order":
                orders[one.seqno] = one.detail[2]  # type: ignore[assignment]
            elif one.node == node and one.what == "commit":
                assert committed.setdefault(one.seqno, orders[one.seqno]) == orders[one.seqno]
    return committed


def what_is_answered_is_there_once(
    cluster: GaleraCluster, committed: dict[int, tuple[Hashable, ...]]
) -> None:
    times: dict[Hashable, int] = defaultdict(int)
    for keys in committed.values():
        times[keys[0]] += 1  # a row of its own
    assert set(times.values()) <= {1}
    unknown = 0
    for attempt in cluster.attempts:
        own = attempt.transaction.keys[0]
        assert times[own] or not attempt.committed
        if times[own] and not attempt.committed:
            assert attempt.transaction.outcome_unknown
            unknown += 1
    event(f"failed and there: {unknown > 0}")


def at_the_end_all_are_equal(case: Case, cluster: GaleraCluster) -> None:
    last = [one for one in cluster.noted if one.what in {"primary", "non-primary"}]
    primary = not last or last[-1].what == "primary"
    event(f"primary at the end: {primary}")
    synced = all(node.states.own == MemberState.SYNCED for node in cluster.model.nodes)
    event(f"all synced at the end: {synced}")
    if primary and synced:
        status = cluster.model.counters()
        assert len({of_node["wsrep_last_committed"] for of_node in status.values()}) == 1
        assert all(of_node["rows_locked"] == 0 for of_node in status.values())
    nodes = cluster.model.nodes
    assert all(node.flow_control.upper >= 16 for node in nodes)
    assert len(nodes) == case.size
