"""What streaming replication guarantees when its origin dies, on random clusters and instants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from simrep.contract.model import Change
from simrep.models.galera.options import GaleraSession
from simrep.models.galera.writeset import Part
from simrep.workload.transaction import LongTransaction, Statement, Transaction
from tests.clusters import GaleraCluster, timers

ROWS = 60
SUSPECT_S = 0.3
END_S = 7.5
COSTS = {"row_us": 200.0, "apply_row_us": 150.0, "log_row_us": 100.0, "commit_us": 50.0}

Stream = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """A cluster of three, a streaming transaction on the first node, and others that write."""

    hop_s: float
    unit: str
    size: int
    prepares: bool
    rivals: tuple[tuple[int, float, tuple[int, ...]], ...]  # node, pause, rows one after another
    what: str
    at_s: float
    back_s: float | None

    def run(self) -> GaleraCluster:
        hop = self.hop_s
        cluster = GaleraCluster(
            [[0.0 if i == j else hop for j in range(3)] for i in range(3)],
            options={
                "wsrep_slave_threads": 3,
                "innodb_flush_log_at_trx_commit": 2,
            }
            | timers(SUSPECT_S),
            costs=COSTS,
            changes=True,
        )
        cluster.client([self.large()], begin_s=0.01)
        for client, (node, pause_s, rows) in enumerate(self.rivals, start=1):
            cluster.client(_updates(client, node, rows), pause_s=pause_s)
        change = Change(self.at_s, 0, self.what)
        cluster.clock.at(change.at_s, cluster.model.change, change)
        if self.back_s is not None:
            back = Change(self.at_s + self.back_s, 0, "restart", 0.05)
            cluster.clock.at(back.at_s, cluster.model.change, back)
        cluster.clock.run(END_S)
        return cluster

    def large(self) -> LongTransaction:
        rows = range(ROWS)
        large = LongTransaction(
            0, 0, "large", (Statement(0, ROWS, scan=rows),), (), ROWS, 100 * ROWS,
            autocommit=not self.prepares,
        )  # fmt: skip
        large.ranges = (rows,)
        large.session = GaleraSession(
            wsrep_trx_fragment_unit=self.unit, wsrep_trx_fragment_size=self.size
        )
        large.xa_hold_s = 0.02 if self.prepares else None
        return large


def _updates(client: int, node: int, rows: tuple[int, ...]) -> Iterator[Transaction]:
    own = count()
    for row in rows:
        keys = (("own", client, next(own)), row)
        yield Transaction(client, node, "small", (Statement(0, 2, (row,)),), keys, 2, 100)


rivals = st.tuples(
    st.sampled_from([1, 2]),
    st.floats(0.0, 0.01),
    st.lists(st.integers(0, ROWS + 20), min_size=1, max_size=12).map(tuple),
)
cases = st.builds(
    Case,
    hop_s=st.sampled_from([0.0, 0.0005, 0.003]),
    unit=st.sampled_from(["bytes", "rows", "statements"]),
    size=st.sampled_from([1, 7, 300, 1500]),
    prepares=st.sampled_from([False, False, True]),
    rivals=st.lists(rivals, max_size=4).map(tuple),
    what=st.sampled_from(["kill", "leave"]),
    at_s=st.floats(0.0, 0.3),
    back_s=st.sampled_from([None, 0.05, 0.4]),
)


def parts(cluster: GaleraCluster) -> dict[Stream, dict[int, list[tuple[int, int]]]]:
    """By stream and node: what of it was committed there, as (sequence number, part)."""
    found: dict[Stream, dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for one in cluster.trace.events:
        if one.what == "part":
            stream, what = one.detail
            found[stream][one.node].append((one.seqno, what))  # type: ignore[index]
    return found


@settings(max_examples=150)
@given(cases)
@example(Case(0.0005, "rows", 7, False, (), "kill", 0.0225, None))
@example(Case(0.0005, "rows", 7, False, ((1, 0.0, (3, 30, 59)),), "kill", 0.05, 0.4))
def test_whenever_the_origin_goes_every_promise_is_kept(case: Case) -> None:
    cluster = case.run()
    its_stream_ends_the_same_everywhere(cluster)
    survivors_agree_and_nobody_overtakes_the_locks_of_a_stream(cluster)
    a_node_that_comes_back_has_what_the_others_have(case, cluster)


def its_stream_ends_the_same_everywhere(cluster: GaleraCluster) -> None:
    status = cluster.model.counters()
    seen = parts(cluster)
    ended = [
        {
            node: [what for _, what in of_node if what in {Part.COMMIT, Part.ROLLBACK}]
            for node, of_node in by_node.items()
            if node
        }
        for by_node in seen.values()
    ]
    prepared = any(
        what == Part.PREPARE
        for by_node in seen.values()
        for node, of_node in by_node.items()
        for _, what in of_node
        if node
    )
    event(f"streams {len(seen)}, ended {bool(ended and any(ended[0].values()))}, XA {prepared}")
    for ends in ended:
        assert ends.get(1, []) == ends.get(2, [])  # committed or rolled back on both, or on none
    committed = any(Part.COMMIT in ends.get(1, []) for ends in ended)
    for name in ("n2", "n3"):
        if prepared and not committed:  # outlives its origin, with its locks
            assert status[name]["streams_open"] == 1
        else:
            assert status[name]["streams_open"] == 0
            assert status[name]["rows_locked"] == 0
    # What a client was told is committed is so on all who are left.
    told = [attempt for attempt in cluster.attempts if attempt.transaction.kind == "large"]
    if seen and any(attempt.committed for attempt in told):
        assert committed


def survivors_agree_and_nobody_overtakes_the_locks_of_a_stream(cluster: GaleraCluster) -> None:
    _, second, third = cluster.histories()
    assert second.orders == third.orders
    assert second.commits == third.commits
    held: dict[Stream, list[tuple[int, tuple[object, ...]]]] = defaultdict(list)
    ends: dict[Stream, int] = {}
    for one in cluster.trace.events:
        if one.node == 1 and one.what == "part":
            stream, what = one.detail
            keys = next(o.keys for o in second.orders if o.seqno == one.seqno)
            held[stream].append((one.seqno, keys))  # type: ignore[index]
            if what in {Part.COMMIT, Part.ROLLBACK}:
                ends[stream] = one.seqno  # type: ignore[index]
    for stream, fragments in held.items():
        for seqno, keys in fragments:
            rows = {row for key in keys for row in (key if isinstance(key, range) else ())}
            for order in second.orders:
                between = seqno < order.seqno < ends.get(stream, 0)
                if order.origin and between and rows.intersection(order.keys):
                    assert not order.passed


def a_node_that_comes_back_has_what_the_others_have(case: Case, cluster: GaleraCluster) -> None:
    if case.back_s is None or case.at_s + case.back_s > END_S - 6.5:
        return
    status = cluster.model.counters()
    event("came back")
    for variable in ("wsrep_last_committed", "streams_open", "rows_locked"):
        assert status["n1"][variable] == status["n2"][variable] == status["n3"][variable]


# -- several servers come and go -------------------------------------------------------------------

HOT = 12
ENOUGH_S = 20.0


@dataclass(frozen=True)
class Comings:
    """A cluster of three that writes a few rows, while its servers come and go."""

    hop_s: float
    appliers: int
    changes: tuple[tuple[int, float, float, str], ...]  # node, away from, for so long, how
    clients: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]  # node; first row and fragment

    def run(self) -> GaleraCluster:
        hop = self.hop_s
        cluster = GaleraCluster(
            [[0.0 if i == j else hop for j in range(3)] for i in range(3)],
            options={
                "wsrep_slave_threads": self.appliers,
                "innodb_flush_log_at_trx_commit": 2,
            }
            | timers(1.2),
            costs=COSTS,
            changes=True,
        )
        for client, (node, work) in enumerate(self.clients):
            cluster.client(_writes(client, node, work), begin_s=0.01 * client)
        free_s = [0.0] * 3
        for node, after_s, away_s, how in self.changes:
            at_s = free_s[node] + after_s
            free_s[node] = at_s + away_s + 0.01
            for change in (
                Change(at_s, node, how),  # type: ignore[arg-type]
                Change(at_s + away_s, node, "restart", 0.02),
            ):
                cluster.clock.at(change.at_s, cluster.model.change, change)
        cluster.clock.run(ENOUGH_S)
        return cluster


def _writes(client: int, node: int, work: tuple[tuple[int, int], ...]) -> Iterator[Transaction]:
    for number, (first, fragment) in enumerate(work):
        rows = tuple(range(first, first + 4))
        keys = (("own", client, number), *rows)
        one = LongTransaction(client, node, "write", (Statement(0, 5, rows),), keys, 5, 500)
        one.session = GaleraSession(
            wsrep_trx_fragment_unit="rows", wsrep_trx_fragment_size=fragment
        )
        yield one


comings = st.builds(
    Comings,
    hop_s=st.sampled_from([0.0, 0.0005, 0.003]),
    appliers=st.sampled_from([1, 3]),
    changes=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.floats(0.0, 0.6),
            st.floats(0.001, 0.9),
            st.sampled_from(["kill", "leave"]),
        ),
        max_size=5,
    ).map(tuple),
    clients=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.lists(
                st.tuples(st.integers(0, HOT - 1), st.sampled_from([0, 1, 2])),
                min_size=1,
                max_size=10,
            ).map(tuple),
        ),
        min_size=1,
        max_size=6,
    ).map(tuple),
)


@settings(max_examples=60)
@given(comings)
def test_when_all_are_back_they_have_the_same_and_nothing_is_left_over(case: Comings) -> None:
    cluster = case.run()
    assert len(cluster.attempts) == sum(len(work) for _, work in case.clients)  # nobody hangs
    status = cluster.model.counters()
    primary = [one.what == "primary" for one in cluster.noted if "primary" in one.what]
    event(f"primary at the end: {primary[-1:]}")
    if primary and not primary[-1]:  # who left has taken the last primary view along: by hand
        return
    for variable in ("wsrep_last_committed", "streams_open", "rows_locked"):
        values = {of_node[variable] for of_node in status.values()}
        assert len(values) == 1, (variable, values)
    assert status["n1"]["streams_open"] == status["n1"]["rows_locked"] == 0
