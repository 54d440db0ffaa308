"""What a Galera node does when the group changes: it closes streams, and gives its state away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from simrep.models.galera.gcomm.view import View

from .certifier import NodeState
from .stream_appliers import StreamApplier
from .writeset import is_prepare

if TYPE_CHECKING:
    from .node import GaleraNode

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
        self._since: dict[int, int] = dict.fromkeys(range(node.mesh.size), 0)  # in the order
        self._lacking: set[int] = set()  # nodes without the state of the cluster
        self._donors: dict[int, int] = {}
        self.told: Callable[[View], object] | None = None
        self.donated: Callable[[NodeState, Joined], object] | None = None

    def change(self, view: View) -> None:
        """A view: streams whose origin has gone are rolled back, when all before it is applied."""
        node, certifier = self._node, self._node.certifier
        if self.told is not None:
            self.told(view)
        node.flow_control.reset(view.number, len(view.members))
        self._came |= set(view.joined)
        if not view.primary:
            return
        position = certifier.ordered
        joined = self._came & set(view.members)
        self._came.clear()
        certifier.change(view.members, joined)
        self._since = {
            member: position if member in joined else self._since.get(member, 0)
            for member in view.members
        }
        node.apply_monitor.when_left(position, self._close_orphans, position)
        self._lacking = (self._lacking | joined) & set(view.members)
        for member in joined:  # whatever it was promised before, another life had it
            self._donors.pop(member, None)
        self._assign_donor(view)

    def synced(self, member: int) -> None:
        """A node that has joined has caught up."""
        self._lacking.discard(member)

    # -- streams whose origin has gone -----------------------------------------------------------

    def _close_orphans(self, position: int) -> None:
        node = self._node
        for applier in node.streams.orphans(self._since, position):
            applier.closing = True
            seconds = node.writer.undo_s(applier.rows, applier.fragments)
            node.host.run(seconds, self._close_orphan, applier)

    def _close_orphan(self, applier: StreamApplier) -> None:
        node = self._node
        node.streams.close(applier.stream)
        node.locks.release_all(applier)
        if node.trace is not None:
            node.trace.record(node.index, "orphan", 0, applier.stream)

    # -- giving the state away, and beginning from one -------------------------------------------

    def _assign_donor(self, view: View) -> None:
        """Who lacks the state gets it from the first node that has it, anew if that one goes."""
        able = [member for member in view.members if member not in self._lacking]
        if not able:
            return
        orphaned = [m for m in sorted(self._lacking) if self._donors.get(m) not in able]
        self._donors |= dict.fromkeys(orphaned, able[0])
        if orphaned and able[0] == self._node.index:
            since, lacking = dict(self._since), frozenset(self._lacking)
            self._node.certifier.copy(
                partial(self._donate, tuple(orphaned), since, view.number, lacking)
            )

    def _donate(
        self,
        joined: Joined,
        since: dict[int, int],
        view: int,
        lacking: frozenset[int],
        state: NodeState,
    ) -> None:
        """Without orphans; and what is certified must also be applied before it is copied."""
        position = state.position
        streams = {
            stream: parts
            for stream, parts in state.streams.items()
            if parts[0].seqno > since.get(stream[0], position)
            or any(is_prepare(part.writeset) for part in parts)
        }
        state = replace(state, streams=streams, view=view, lacking=lacking)
        self._node.apply_monitor.when_left(position, self._give, (state, joined))

    def _give(self, donation: tuple[NodeState, Joined]) -> None:
        if self.donated is not None and self._node.alive:
            self.donated(*donation)

    def adopt(self, state: NodeState, started: Callable[[], object]) -> None:
        """Begin from the state of another node: apply stored fragments, then all that has come.

        ``started()`` when it has caught up with what is ordered.
        """
        node = self._node
        self._lacking = set(state.lacking)
        node.streams.barrier = state.barrier
        seconds, writer = 0.0, node.writer
        for stream, fragments in state.streams.items():
            applier = node.streams.recover(stream, fragments)
            for ordered in fragments:
                for scan in ordered.writeset.scans:
                    node.locks.take_range(applier, scan)
                for row in ordered.writeset.locks:
                    node.locks.take(applier, row)
            seconds += writer.row_s * applier.rows + writer.log_byte_s * applier.size_bytes
        node.start(state, seconds, started)
