"""What a Galera node does when the group changes: at once, and at the place in the order."""

from __future__ import annotations

from collections.abc import Callable

from simrep.models.galera.gcomm.view import View

from .certifier import Certifier, NodeState
from .flow_control import FlowControl
from .monitors import ApplyMonitor
from .row_writer import RowWriter

__all__ = ["NodeViews"]


class NodeViews:
    """Views of the group, for one node.

    References
    ----------
    codership/wsrep-lib ``src/server_state.cpp``: ``on_view``, ``close_orphaned_sr_transactions``.
    """

    def __init__(
        self,
        size: int,
        certifier: Certifier,
        apply_monitor: ApplyMonitor,
        flow_control: FlowControl,
        writer: RowWriter,
    ) -> None:
        self._certifier = certifier
        self._apply_monitor = apply_monitor
        self._flow_control = flow_control
        self._writer = writer
        self._came: set[int] = set()  # since the last primary view, in others too
        # From which place of the order on every member is there.
        self.since: dict[int, int] = dict.fromkeys(range(size), 0)
        self.told: Callable[[View], object] | None = None  # whoever is told of every view

    def see(self, view: View) -> None:
        """A view is there, whatever of the order has still to be done."""
        if self.told is not None:
            self.told(view)
        self._flow_control.reset(view.number, len(view.members))

    def order(self, view: View) -> None:
        """At its place: streams whose origin has gone are rolled back, when all is applied."""
        self._came |= set(view.joined)
        if not view.primary:
            return
        position = self._certifier.ordered
        joined = self._came & set(view.members)
        self._came.clear()
        self._certifier.change(view.members, joined)
        began = view.members if view.restored else joined
        self.since = {
            member: position if member in began else self.since.get(member, 0)
            for member in view.members
        }
        self.close_orphans_at(position)

    def close_orphans_at(self, position: int) -> None:
        """Roll back streams that began up to there and whose origin has gone."""
        self._apply_monitor.when_left(position, self._close_orphans, position)

    def _close_orphans(self, position: int) -> None:
        self._writer.close_orphans(self.since, position)

    def adopt(self, state: NodeState) -> None:
        """Begin from the state of another node."""
        self.since = dict(state.since)
        self._came.clear()
