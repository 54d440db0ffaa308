"""A Galera node on which statements change tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .certifier import NodeState
from .member_states import Grant
from .returning_node import ReturningNode
from .schema_change import SchemaChange
from .writeset import Ordered, StateRequest

__all__ = ["AlteringNode"]


class AlteringNode(ReturningNode):
    """A node that hands on what is executed in total order isolation when it is its turn.

    All before it has left the apply monitor then. It holds the commit monitor until it is ``left``:
    whatever comes after it on this node waits to commit.
    """

    executes: Callable[[Ordered], object]
    keeps_state: Callable[[], bool]  # for itself, as its tables are not what the order says

    def _commit(self, ordered: Ordered) -> None:
        if isinstance(ordered.writeset, SchemaChange):
            self.apply_monitor.when_left(ordered.seqno - 1, self._execute, ordered)
        else:
            super()._commit(ordered)

    def _execute(self, ordered: Any) -> None:
        if self.alive:
            self.executes(ordered)

    def left(self, ordered: Ordered) -> None:
        """It is executed: the next one may commit."""
        if self.alive:
            self._leave_commit_monitor(ordered)

    def _certified(self, request: StateRequest, grant: Grant, state: NodeState) -> None:
        if grant.how != "IST" and self.keeps_state():
            self.given()
            self.peer(request.node).abort("its donor gives no whole state during an NBO")
        else:
            super()._certified(request, grant, state)
