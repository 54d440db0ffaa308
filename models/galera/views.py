"""What a Galera node does when the group changes: it closes streams, and gives its state away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from simrep.models.galera.gcomm.view import View

from .certifier import Certifier, NodeState
from .flow_control import FlowControl
from .monitors import ApplyMonitor
from .row_writer import RowWriter
from .writeset import is_prepare

__all__ = ["NodeViews"]

Joined = tuple[int, ...]


class NodeViews:
    """Views of the group at their places in the order, for one node.

    References
    ----------
    codership/wsrep-lib ``src/server_state.cpp``: ``on_view``, ``close_orphaned_sr_transactions``,
    ``recover_streaming_appliers``.
    """

    def __init__(
        self,
        index: int,
        size: int,
        certifier: Certifier,
        apply_monitor: ApplyMonitor,
        flow_control: FlowControl,
        writer: RowWriter,
    ) -> None:
        self._index = index
        self._certifier = certifier
        self._apply_monitor = apply_monitor
        self._flow_control = flow_control
        self._writer = writer
        self._came: set[int] = set()  # since the last primary view, in others too
        self._since: dict[int, int] = dict.fromkeys(range(size), 0)  # in the order
        self._lacking: set[int] = set()  # nodes without the state of the cluster
        self._donors: dict[int, int] = {}
        self.told: Callable[[View], object] | None = None  # whoever is told of every view
        # ``donated(state, joined)``: the state for nodes that join, as this node has to give it.
        self.donated: Callable[[NodeState, Joined], object] | None = None

    def change(self, view: View) -> None:
        """A view: streams whose origin has gone are rolled back, when all before it is applied."""
        certifier = self._certifier
        if self.told is not None:
            self.told(view)
        self._flow_control.reset(view.number, len(view.members))
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
        self._apply_monitor.when_left(position, self._close_orphans, position)
        self._lacking = (self._lacking | joined) & set(view.members)
        for member in joined:  # whatever it was promised before, another life had it
            self._donors.pop(member, None)
        self._assign_donor(view)

    def _close_orphans(self, position: int) -> None:
        self._writer.close_orphans(self._since, position)

    def synced(self, member: int) -> None:
        """A node that has joined has caught up."""
        self._lacking.discard(member)

    # -- giving the state away, and beginning from one -------------------------------------------

    def _assign_donor(self, view: View) -> None:
        """Who lacks the state gets it from the first node that has it, anew if that one goes."""
        able = [member for member in view.members if member not in self._lacking]
        if not able:
            return
        orphaned = [m for m in sorted(self._lacking) if self._donors.get(m) not in able]
        self._donors |= dict.fromkeys(orphaned, able[0])
        if orphaned and able[0] == self._index:
            since, lacking = dict(self._since), frozenset(self._lacking)
            self._certifier.copy(
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
        self._apply_monitor.when_left(position, self._give, (state, joined))

    def _give(self, donation: tuple[NodeState, Joined]) -> None:
        if self.donated is not None:
            self.donated(*donation)

    def adopt(self, state: NodeState) -> None:
        """Begin from the state of another node."""
        self._lacking = set(state.lacking)
