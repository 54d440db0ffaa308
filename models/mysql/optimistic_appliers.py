"""MariaDB's optimistic appliers: they begin with everything, and undo what came too early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .appliers import Appliers
from .stoppable_appliers import StoppableAppliers

__all__ = ["OptimisticAppliers", "StoppableOptimisticAppliers"]


class OptimisticAppliers(Appliers):
    """Workers apply changes of one row at the same time; the order of the source decides.

    Where a change meets a row of an earlier one that is not committed, there are three cases:

    - the earlier one has the row: the later waits for its commit, as for any row lock;
    - the later one was faster and has the row: as soon as the earlier one asks for it, the later
      is rolled back, waits until everything before it is committed, and is applied again;
    - the client of the later one had to wait for a row lock at the source (``waited``): it is
      likely to conflict, and waits for everything before it from the beginning, unless
      ``heeds_waits`` is false (``aggressive``).

    Parameters
    ----------
    rollback : callable
        ``rollback(change)``: what it takes to undo a change, in seconds of a core.
    heeds_waits : bool

    Attributes
    ----------
    retried : int
        Changes that were rolled back and applied again (``Slave_retried_transactions``).

    Notes
    -----
    Simplified: a change has all its rows when its work is done, and none before. Optimistic: of
    the earlier changes with its rows the last decides; who waits for a row whose owner is rolled
    back goes on waiting for that one.

    References
    ----------
    MariaDB 11, sql/rpl_parallel.cc: rpl_parallel::do_event (speculation, FL_WAITED),
    retry_event_group; sql/sql_class.cc: thd_rpl_deadlock_check.
    """

    def __init__(
        self,
        *args: Any,
        rollback: Callable[[Any], float],
        heeds_waits: bool = True,
        **how: Any,
    ) -> None:
        super().__init__(*args, **how)
        self._rollback = rollback
        self._heeds_waits = heeds_waits
        self._owners: set[int] = set()  # have their rows, and are not committed
        self._meeting: set[int] = set()  # are done but for a row that an earlier one has
        self._too_early: dict[int, list[Any]] = {}  # by the change whose rows they have
        self.retried = 0

    def _start(self, change: Any) -> None:
        if change.parent <= self.low_water:
            self._engine.apply(change, self._applied)
        elif change.waited and self._heeds_waits:
            self._start_after(change, change.seqno - 1)
        elif change.barrier > self.low_water:  # FL_DDL, and what follows: nothing comes too early
            self._start_after(change, change.barrier)
        else:
            self._engine.apply(change, self._applied)

    def _start_after(self, change: Any, position: int) -> None:
        """Begin, or go on, when everything up to a position is committed."""
        if position <= self.low_water:
            self._work_on(change)
        else:
            self._dependent.setdefault(position, []).append(change)

    def _work_on(self, change: Any) -> None:
        if change.seqno in self._meeting:
            self._meeting.discard(change.seqno)
            self._has_rows(change)
        else:
            self._engine.apply(change, self._applied)

    def _applied(self, change: Any) -> None:
        parent = change.parent
        if parent <= self.low_water:
            self._has_rows(change)
        elif parent in self._owners:
            self._meeting.add(change.seqno)
            self._start_after(change, parent)
        else:
            self._owners.add(change.seqno)
            self._too_early.setdefault(parent, []).append(change)

    def _has_rows(self, change: Any) -> None:
        """Those that had them too early give them up; it commits when it is its turn."""
        self._owners.add(change.seqno)
        for later in self._too_early.pop(change.seqno, ()):
            self._owners.discard(later.seqno)
            self.retried += 1
            self._host.run(self._switch_s + self._rollback(later), self._rolled_back, later)
        super()._applied(change)

    def _rolled_back(self, change: Any) -> None:
        self._start_after(change, change.seqno - 1)

    def _committed(self, change: Any) -> None:
        self._owners.discard(change.seqno)
        super()._committed(change)


class StoppableOptimisticAppliers(OptimisticAppliers, StoppableAppliers):
    """The same, where they are stopped while their server goes on."""
