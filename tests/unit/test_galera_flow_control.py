"""Flow control: when a node stops the cluster, and for how long."""

from __future__ import annotations

import pytest

from simrep.kernel.clock import Clock
from simrep.kernel.queues import PausableMutex
from simrep.models.galera.flow_control import FlowControl
from simrep.models.galera.options import GaleraOptions
from simrep.models.galera.writeset import Control, Kind
from tests.clusters import GaleraCluster, updates

HOP_S = 0.01


class Node:
    """Flow control of one node, and what it sends."""

    def __init__(self, size: int = 3, **options: float) -> None:
        self.send_monitor = PausableMutex(Clock())
        self.messages: list[int] = []
        self.flow_control = FlowControl(
            GaleraOptions(**{f"gcs.{name}": value for name, value in options.items()}),
            size,
            self.send_monitor,
            self._send,
        )

    def _send(self, control: Control) -> None:
        self.messages.append(control.kind)


@pytest.mark.parametrize(
    ("size", "limit", "upper"), [(3, 16, 28), (3, 100, 173), (1, 16, 16), (4, 16, 32), (9, 16, 48)]
)
def test_the_limit_grows_with_the_root_of_the_number_of_nodes(
    size: int, limit: int, upper: int
) -> None:
    assert Node(size, fc_limit=limit).flow_control.upper == upper


def test_with_a_single_primary_the_limit_is_what_was_set() -> None:
    assert Node(9, fc_limit=16, fc_master_slave=True).flow_control.upper == 16


@pytest.mark.parametrize(("factor", "lower"), [(1.0, 28), (0.5, 14), (0.8, 22), (0.0, 0)])
def test_the_factor_sets_where_the_cluster_continues(factor: float, lower: int) -> None:
    assert Node(fc_limit=16, fc_factor=factor).flow_control.lower == lower


def test_stop_above_the_upper_limit_and_continue_at_the_lower() -> None:
    node = Node(fc_limit=16, fc_factor=0.5)
    control = node.flow_control
    control.grown(28)
    assert node.messages == []
    control.grown(29)
    control.grown(30)  # it has stopped the cluster already
    assert node.messages == [Kind.STOP]
    control.shrunk(15)
    assert node.messages == [Kind.STOP]
    control.shrunk(14)
    control.shrunk(13)
    assert node.messages == [Kind.STOP, Kind.CONTINUE]
    assert control.sent == 1


def paused_after(node: Node, kinds: list[int]) -> list[bool]:
    """Whether the node's send monitor is paused after each of the messages."""
    states = []
    for kind in kinds:
        node.flow_control.deliver(Control(kind))
        states.append(node.send_monitor.paused)
    return states


def test_a_stop_takes_effect_when_it_is_delivered() -> None:
    node = Node(fc_limit=0)
    node.flow_control.grown(1)
    assert not node.send_monitor.paused
    assert paused_after(node, [Kind.STOP, Kind.CONTINUE]) == [True, False]
    assert node.flow_control.received == 1


def test_the_cluster_continues_when_the_last_node_does() -> None:
    messages = [Kind.STOP, Kind.STOP, Kind.CONTINUE, Kind.CONTINUE]
    assert paused_after(Node(), messages) == [True, True, True, False]


def test_nobody_stops_a_cluster_that_is_stopped() -> None:
    node = Node(fc_limit=0)
    node.flow_control.deliver(Control(Kind.STOP))  # of another node
    node.flow_control.grown(5)
    assert node.messages == []
    node.flow_control.deliver(Control(Kind.CONTINUE))
    node.flow_control.grown(6)
    assert node.messages == [Kind.STOP]


def test_a_stop_of_an_earlier_view_counts_no_more() -> None:
    node = Node(fc_limit=0)
    assert paused_after(node, [Kind.STOP]) == [True]
    node.flow_control.reset(7, 2)
    assert not node.send_monitor.paused
    assert paused_after(node, [Kind.STOP, Kind.CONTINUE, Kind.CONTINUE]) == [False] * 3
    node.flow_control.deliver(Control(Kind.STOP, seqno=7))
    assert node.send_monitor.paused


def test_who_joins_may_have_in_its_queue_what_it_had_until_it_has_caught_up() -> None:
    node, caught_up = Node(fc_limit=10, fc_master_slave=True), []
    control = node.flow_control
    control.catch_up(50, lambda: caught_up.append(True))
    control.grown(50)
    control.grown(60)
    assert node.messages == []
    control.grown(61)
    assert node.messages == [Kind.STOP]
    control.shrunk(49)  # it gains
    assert node.messages == [Kind.STOP, Kind.CONTINUE]
    assert not caught_up
    control.shrunk(10)
    control.shrunk(9)
    assert caught_up == [True]


# -- on a cluster ----------------------------------------------------------------------------


APPLY_S = 0.004


def slow_replica(writers: int, limit: int, each: int = 1) -> GaleraCluster:
    """Two nodes; all writers commit at once, and the other node takes its time to apply."""
    cluster = GaleraCluster(
        [[0.0, HOP_S], [HOP_S, 0.0]],
        options={"gcs.fc_limit": limit, "gcs.fc_master_slave": True, "gcs.fc_factor": 0.0},
        costs={"apply_us": APPLY_S * 1e6},
    )
    for client in range(writers):
        cluster.client([updates(client, 0, number) for number in range(each)])
    return cluster.run()


def test_a_queue_within_the_limit_stops_nobody() -> None:
    cluster = slow_replica(writers=11, limit=10)  # one is being applied
    assert cluster.total("wsrep_flow_control_sent") == 0
    assert cluster.total("wsrep_flow_control_paused") == 0


def test_a_slow_replica_stops_the_writer_until_it_has_caught_up() -> None:
    cluster = slow_replica(writers=20, limit=10, each=2)
    assert cluster.status(1, "wsrep_flow_control_sent") == 1
    assert cluster.status(0, "wsrep_flow_control_sent") == 0
    assert cluster.status(0, "wsrep_flow_control_recv") == 1
    assert cluster.status(1, "wsrep_flow_control_recv") == 1
    # What was on its way when the stop was sent arrives all the same.
    assert cluster.status(1, "wsrep_local_recv_queue_max") > 11
    assert len(cluster.committed) == 40


def test_the_paused_fraction_is_the_time_between_stop_and_continue() -> None:
    cluster = slow_replica(writers=20, limit=10)
    at = {
        (event.what, event.seqno): event.time_s for event in cluster.trace.events if event.node == 1
    }
    # The twelfth is one too many, as one is being applied; the last is fetched when the one before
    # it has been committed. Both messages take a round trip to come back to the node.
    stopped_s, continued_s = at["order", 12], at["commit", 19]
    paused_s = cluster.status(1, "wsrep_flow_control_paused") * cluster.clock.now
    assert paused_s == pytest.approx(continued_s - stopped_s)
    assert paused_s > 10 * APPLY_S
