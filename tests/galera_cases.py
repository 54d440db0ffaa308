"""Random Galera clusters under random conflicting load."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar
from unittest.mock import patch

from hypothesis import strategies as st

from simrep.testing.strategies import scenarios
from tests.clusters import GaleraCluster, updates

__all__ = [
    "HOT_ROWS",
    "SMALL_BYTES",
    "Case",
    "Delays",
    "Load",
    "Look",
    "cases",
    "delays",
    "galera_options",
    "galera_scenarios",
    "loads",
]

HOT_ROWS = ("hot", 0), ("hot", 1), ("hot", 2)
SMALL_BYTES, LARGE_BYTES = 100, 150_000  # the larger one travels in five messages

Cluster = TypeVar("Cluster")
Look = tuple[float, Callable[[Cluster], object]]
Delays = tuple[tuple[float, ...], ...]
Work = tuple[tuple[Hashable, ...], int, bool]  # hot rows, bytes, autocommit


@dataclass(frozen=True)
class Load:
    """A client: its node, when it begins, and its transactions."""

    node: int
    begin_s: float
    pause_s: float
    work: tuple[Work, ...]


@dataclass(frozen=True)
class Case:
    """A cluster and its load."""

    delays_s: Delays
    jitter_s: float
    segments: tuple[int, ...]
    machines: tuple[int, ...]
    cores: int
    options: dict[str, Any]
    costs: dict[str, float]
    loads: tuple[Load, ...]
    report_every: int = 128
    names: tuple[str, ...] | None = None
    slice_s: float = 1e-3

    def run(self, seed: int = 0, look: Look[GaleraCluster] | None = None) -> GaleraCluster:
        """Run it to its end; on the way, at a time in seconds, ``look`` may have a look at it."""
        # The provider reports every 128 writesets what it has committed; a few are enough here
        # to have certification forget what all have committed.
        with patch("simrep.models.galera.monitors._WRITESETS", self.report_every):
            return self._run(seed, look)

    def _run(self, seed: int, look: Look[GaleraCluster] | None) -> GaleraCluster:
        cluster = GaleraCluster(
            self.delays_s,
            options=self.options,
            costs=self.costs,
            jitter_s=self.jitter_s,
            segments=self.segments,
            machines=self.machines,
            cores=self.cores,
            slice_s=self.slice_s,
            names=self.names,
            seed=seed,
        )
        for client, load in enumerate(self.loads):
            transactions = [
                updates(client, load.node, i, hot, size_bytes=size_bytes, autocommit=autocommit)
                for i, (hot, size_bytes, autocommit) in enumerate(load.work)
            ]
            cluster.client(transactions, begin_s=load.begin_s, pause_s=load.pause_s)
        if look is not None:
            time_s, call = look
            cluster.clock.run(time_s)
            call(cluster)
        return cluster.run()


# -- random clusters -------------------------------------------------------------------------------

hop = st.floats(0.0, 0.02)  # three of them pass between two keepalives


@st.composite
def delays(draw: st.DrawFn, size: int) -> Delays:
    """One delay for all, or one for each direction; some of them zero."""
    same = draw(hop) if draw(st.booleans()) else None
    return tuple(
        tuple(0.0 if i == j else draw(hop) if same is None else same for j in range(size))
        for i in range(size)
    )


windows = st.one_of(
    st.fixed_dictionaries(
        {
            "evs.send_window": st.sampled_from([1, 4, 10, 512]),
            "evs.user_send_window": st.sampled_from([1, 2, 4, 512]),
        }
    ),
    # Without that acknowledgement a window of 1 lets nodes wait for each other for ever.
    st.fixed_dictionaries(
        {
            "evs.send_window": st.sampled_from([4, 512]),
            "evs.user_send_window": st.sampled_from([2, 4]),
            "gap_when_blocked": st.just(value=False),
        }
    ),
)
others = st.fixed_dictionaries(
    {
        "evs.use_aggregate": st.booleans(),
        "evs.keepalive_period": st.sampled_from([0.1, 1.0]),
        "gcs.fc_limit": st.sampled_from([0, 1, 16]),
        "gcs.fc_factor": st.sampled_from([0.5, 1.0]),
        "wsrep_slave_threads": st.sampled_from([1, 2, 8]),
        "wsrep_retry_autocommit": st.integers(0, 2),
        "innodb_flush_log_at_trx_commit": st.integers(0, 2),
        "commit_monitor_through_flush": st.booleans(),
        "output_queue_messages": st.sampled_from([0, 3]),
    }
)

costs: st.SearchStrategy[dict[str, float]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {
            "statement_us": st.sampled_from([0.0, 90.0]),
            "replicate_us": st.sampled_from([0.0, 10.0]),
            "send_us": st.sampled_from([0.0, 8.0]),
            "receive_us": st.sampled_from([0.0, 15.0]),
            "action_us": st.sampled_from([0.0, 8.0]),
            "certify_us": st.sampled_from([0.0, 5.0]),
            "certify_key_us": st.sampled_from([0.0, 1.0, 60.0]),
            "apply_us": st.sampled_from([0.0, 40.0, 3000.0]),
            "commit_us": st.sampled_from([0.0, 20.0]),
            "rollback_us": st.sampled_from([0.0, 20.0]),
            "fsync_us": st.sampled_from([0.0, 150.0, 5000.0]),
            "switch_us": st.sampled_from([0.0, 3.0]),
            "byte_ns": st.sampled_from([0.0, 2.0]),
            "keepalive_spread_ms": st.just(1.0),
        }
    ),
)

# Rows in order, so that clients of one node do not deadlock: an abort has to have another reason.
hot_rows = st.lists(st.sampled_from(HOT_ROWS), max_size=2, unique=True).map(sorted).map(tuple)
work: st.SearchStrategy[Work] = st.tuples(
    hot_rows, st.sampled_from([SMALL_BYTES] * 4 + [LARGE_BYTES]), st.booleans()
)


def loads(writers: int) -> st.SearchStrategy[tuple[Load, ...]]:
    """Clients on the first nodes."""
    load = st.builds(
        Load,
        node=st.integers(0, writers - 1),
        begin_s=st.just(0.0) | st.floats(1e-6, 0.05),
        pause_s=st.sampled_from([0.0, 0.001]),
        work=st.lists(work, min_size=1, max_size=6).map(tuple),
    )
    return st.lists(load, min_size=1, max_size=8).map(tuple)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size = draw(st.integers(2, 5))
    return Case(
        delays_s=draw(delays(size)),
        jitter_s=draw(st.sampled_from([0.0, 0.0, 0.003])),
        segments=tuple(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))),
        machines=tuple(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))),
        cores=draw(st.integers(1, 3)),
        options=draw(windows) | draw(others),
        costs=draw(costs),
        loads=draw(loads(size)),
        report_every=draw(st.sampled_from([2, 5, 128])),
    )


# -- scenarios as a file would hold them -----------------------------------------------------------


@st.composite
def galera_options(draw: st.DrawFn) -> dict[str, Any]:
    """Windows, flow control and appliers, tight ones too."""
    window = draw(st.sampled_from([1, 2, 4, 10, 512]))
    return {
        "evs.send_window": window,
        "evs.user_send_window": min(window, draw(st.sampled_from([1, 2, 4, 512]))),
        "evs.use_aggregate": draw(st.booleans()),
        "gcs.fc_limit": draw(st.sampled_from([1, 4, 16, 100])),
        "gcs.fc_factor": draw(st.sampled_from([0.5, 1.0])),
        "wsrep_slave_threads": draw(st.integers(1, 8)),
        "wsrep_retry_autocommit": draw(st.integers(0, 2)),
        "innodb_flush_log_at_trx_commit": draw(st.integers(0, 2)),
        "commit_monitor_through_flush": draw(st.booleans()),
    }


@st.composite
def galera_scenarios(draw: st.DrawFn, most_nodes: int = 5) -> dict[str, Any]:
    """A cluster whose nodes are in segments, with a fixed number of transactions."""
    content = draw(scenarios("galera", options=galera_options(), nodes=(2, most_nodes)))
    names = content["cluster"]["nodes"]
    return {
        **content,
        "node": [{"name": name, "segment": draw(st.integers(0, 1))} for name in names],
    }
