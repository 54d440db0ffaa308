"""Locks that tell a watch who waits for whom."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from simrep.kernel.watch import Holder, Line, Watch
from simrep.server.locks import Call, LockTable, Owner, _Wait

__all__ = ["ROW_LOCKS", "WatchedLocks"]

Describe = Callable[[Any], Holder]
"""Who somebody is: owner or change to a ``Holder``."""
Who = Callable[[Any], tuple[Hashable, ...]]

ROW_LOCKS = "row locks"


class WatchedLocks(LockTable):
    """A lock table with a line for every row that somebody waits for.

    Parameters
    ----------
    watch : Watch
    node : str
    describe : callable
        Who the holder of a row is.
    who : callable
        ``who(owner)``: those for whom it stands.
    """

    def __init__(
        self,
        watch: Watch,
        node: str,
        describe: Describe,
        who: Who,
    ) -> None:
        super().__init__(watch.clock)
        self._watch = watch
        self._node = node
        self._describe = describe
        self._who = who
        self._lines: dict[Hashable, Line] = {}

    def _wait(self, owner: Owner, row: Hashable, call: Call, argument: Any) -> deque[_Wait]:
        queue = super()._wait(owner, row, call, argument)
        line = self._lines.get(row)
        if line is None:
            line = self._lines[row] = Line(
                self._watch,
                self._node,
                ROW_LOCKS,
                lambda: self._describe(self.holder(row)),
                who=self._who,
                detail=str(row),
            )
        line.wait(owner)
        return queue

    def _leave_queue(self, wait: _Wait) -> None:
        self._lines[wait.row].go(wait.owner)
        super()._leave_queue(wait)
        if wait.row not in self._queues:
            del self._lines[wait.row]

    def force(self, owner: Owner, row: Hashable, call: Call, argument: Any = None) -> Owner | None:
        """See ``LockTable.force``; who loses the row is no longer waited for."""
        line = self._lines.get(row)
        holder = self.holder(row)
        if line is not None and holder is not None and not holder.protected:
            line.cut()
        return super().force(owner, row, call, argument)

    def release_all(self, owner: Owner) -> None:
        """See ``LockTable.release_all``."""
        if self._lines:
            for row, line in self._lines.items():
                if self.holder(row) is owner:
                    line.cut()
        super().release_all(owner)
        for one in self._who(owner):
            self._watch.forget(self._node, one)
