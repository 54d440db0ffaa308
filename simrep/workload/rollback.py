"""How a server rolls back what its clients have begun."""

from __future__ import annotations

from collections.abc import Generator

from simrep.kernel.clock import Clock, Event
from simrep.server.host import Host
from simrep.server.locks import LockTable
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.served import Resume, waited
from simrep.workload.session_costs import SessionCosts
from simrep.workload.undone import Undone

__all__ = ["Rollback"]


class Rollback:
    """Rolls back transactions of one server, and counts them.

    Parameters
    ----------
    clock : Clock
    host : Host
    locks : LockTable
    costs : SessionCosts

    Attributes
    ----------
    undone : Undone

    Notes
    -----
    Simplified: a short statement, and a step of a long one, that brute force has aborted is
    executed to its end before it is rolled back. One that only reads is not waited for.

    References
    ----------
    wsrep-lib ``src/transaction.cpp``, ``bf_abort`` (what a victim does, and who rolls back one
    whose client is idle), ``after_statement`` (the commit order is released after the rollback);
    galera ``replicator_smm.cpp``, ``abort_trx``, ``cert_for_aborted``; ``gcs.cpp``, ``gcs_replv``
    (which cannot be interrupted between sending and delivery); MariaDB ``lock0lock.cc``,
    ``lock_wait_wsrep``.
    """

    def __init__(self, clock: Clock, host: Host, locks: LockTable, costs: SessionCosts) -> None:
        self._clock = clock
        self._host = host
        self._locks = locks
        self._row_s = costs.row_s
        self._work = host.routine(costs.rollback_s)
        self.undone = Undone()

    def of(
        self, owner: OpenTransaction, began_s: float, rows: int, resume: Resume
    ) -> Generator[None, None, None]:
        """An attempt that has begun then has failed, after it had written so many rows.

        Its thread does it, and goes on when the attempt has passed its place in the order of
        commits, if it has one.
        """
        undone = self.undone
        if owner.aborted:
            undone.victims += 1
        undone.attempts += 1
        if owner.undone is not None:  # by another thread, which is waited for
            if not owner.undone.triggered:
                yield from waited(owner.undone, resume)
        else:
            owner.undo = None
            yield from waited(self._host.work(self._seconds(owner)), resume)
            self._locks.release_all(owner)
        undone.rows += rows
        undone.seconds += self._clock._now - began_s
        if owner.passed is not None:
            yield from waited(owner.passed, resume)

    def at_once(self, owner: OpenTransaction) -> None:
        """Roll it back while its own thread waits for something else, its client for example."""
        owner.undo = None
        owner.undone = Event(self._clock)
        self._host.run(self._seconds(owner), self._undone, owner)

    def _undone(self, owner: OpenTransaction) -> None:
        self._locks.release_all(owner)
        assert owner.undone is not None
        self._clock.fire(owner.undone)

    def _seconds(self, owner: OpenTransaction) -> float:
        rows = owner.transaction.rows if owner.written is None else owner.written
        return self._work.cost(self._row_s * rows)
