"""A Galera node that can be made to stand still: it waits in its local monitor.

Nothing that is ordered is certified then, hence nothing is applied or committed, and clients wait
in their commits. What is ordered meanwhile is kept, and done when nobody wants it to stand still.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .node import GaleraNode
from .writeset import Ordered

__all__ = ["StandingNode"]


class StandingNode(GaleraNode):
    """See the module."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._stands = self._stands_after = 0  # how many have it stand still, and from where on
        self._waiting: list[tuple[Callable[[Ordered], None], Ordered]] | None = None

    def stand_still(self, after: int) -> None:
        """Certify nothing that comes after that position in the order."""
        self._stands += 1
        if self._waiting is None:
            self._waiting = []
            self._stands_after = after

    def go_on(self) -> None:
        """Go on with what has waited, if nobody else wants it to stand still."""
        self._stands -= 1
        if not self._stands:
            waiting, self._waiting = self._waiting or [], None
            for call, ordered in waiting:
                call(ordered)

    def _certify_local(self, ordered: Ordered) -> None:
        if self._waiting is None or ordered.seqno <= self._stands_after:
            super()._certify_local(ordered)
        else:
            self._waiting.append((super()._certify_local, ordered))

    def _certify_remote(self, ordered: Ordered) -> None:
        if self._waiting is None or ordered.seqno <= self._stands_after:
            self._certify_ordered(ordered)
        else:
            self._waiting.append((self._certify_remote, ordered))

    def _certify_ordered(self, ordered: Ordered) -> None:
        super()._certify_remote(ordered)
