"""What a Galera node does when the group changes: it closes streams, and gives its state away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from simrep.groupcomm.view import View

from .galera_certifier import NodeState
from .galera_stream_appliers import StreamApplier
from .galera_writeset import is_prepare

if TYPE_CHECKING:
    from .galera_node import GaleraNode

__all__ = ["NodeViews"]

Joined = tuple[int, ...]


class NodeViews:
    """Views of the group at their places in the order, for one node.

    Parameters
    ----------
    node : GaleraNode

    Attributes
    ----------
    told : callable or None
        ``told(view)``: whoever is told of every view.
    donated : callable or None
        ``donated(state, joined)``: the state for nodes that join, as this node has to give it.

    References
    ----------
    codership/wsrep-lib ``src/server_state.cpp``: ``on_view``, ``close_orphaned_sr_transactions``,
    ``recover_streaming_appliers``.
    """

    def __init__(self, node: GaleraNode) -> None:
        self._node = node
        self._came: set[int] = set()  # since the last primary view, in others too
        self.told: Callable[[View], object] | None = None
        self.donated: Callable[[NodeState, Joined], object] | None = None

    def change(self, view: View) -> None:
        """A view: streams whose origin has gone are rolled back, when all before it is applied."""
        node = self._node
        if self.told is not None:
            self.told(view)
        node.flow_control.reset(len(view.members))
        self._came |= set(view.joined)
        if not view.primary:
            return
        joined = tuple(member for member in view.members if member in self._came)
        self._came.clear()
        node.certifier.change(view.members, joined)
        stayed = frozenset(view.members) - frozenset(joined)
        node.apply_monitor.when_left(node.certifier.ordered, self._close_orphans, stayed)
        if joined and stayed and min(stayed) == node.index:
            node.certifier.copy(partial(self._donate, joined, stayed))

    def _close_orphans(self, stayed: frozenset[int]) -> None:
        node = self._node
        for applier in node.streams.orphans(stayed):
            seconds = node.writer.undo_s(applier.rows, applier.fragments)
            node.host.run(seconds, self._close_orphan, applier)

    def _close_orphan(self, applier: StreamApplier) -> None:
        node = self._node
        node.streams.close(applier.stream)
        node.locks.release_all(applier)
        if node.trace is not None:
            node.trace.record(node.index, "orphan", 0, applier.stream)

    def _donate(self, joined: Joined, stayed: frozenset[int], state: NodeState) -> None:
        """Without orphans; and what is certified must also be applied before it is copied."""
        streams = {
            stream: parts
            for stream, parts in state.streams.items()
            if stream[0] in stayed or any(is_prepare(writeset) for writeset in parts)
        }
        state = replace(state, streams=streams)
        self._node.apply_monitor.when_left(state.position, self._give, (state, joined))

    def _give(self, donation: tuple[NodeState, Joined]) -> None:
        if self.donated is not None:
            self.donated(*donation)

    def adopt(self, state: NodeState, started: Callable[[], object]) -> None:
        """Begin from the state of another node: apply stored fragments, then all that has come.

        ``started()`` when it goes on with what is ordered.
        """
        node = self._node
        node.streams.barrier = state.barrier
        seconds, writer = 0.0, node.writer
        for stream, fragments in state.streams.items():
            applier = node.streams.recover(stream, state.position, fragments)
            for writeset in fragments:
                for scan in writeset.scans:
                    node.locks.take_range(applier, scan)
                for row in writeset.locks:
                    node.locks.take(applier, row)
            seconds += writer.row_s * applier.rows + writer.log_byte_s * applier.size_bytes
        node.start(state, seconds, started)
