"""Attempts at transactions that fail: when, with which error, and how far each had come."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from simrep.kernel.clock import Clock, Event
from simrep.measure.attempts import WAITING
from simrep.runs.stopwatch import Leg, Stopwatch
from simrep.workload.clients import Recorder, Server
from simrep.workload.fate import Fate
from simrep.workload.transaction import Journal, Transaction

__all__ = ["Failure", "FailureLog"]

_WAITING_S = 1.0
"""An attempt without an answer at the end of a run counts when it has waited so long."""


class Failure(NamedTuple):
    """An attempt at a transaction that has failed, or has no answer at the end of the run."""

    transaction: Transaction
    node: int
    error: str  # as the client was told; ``WAITING`` if it has no answer
    unknown: bool  # it may be committed all the same
    # Of the attempt, in simulated seconds.
    began_s: float
    ended_s: float
    legs: list[Leg]  # from the start of the transaction, as far as it came


class FailureLog:
    """Stands between clients, server and recorder, and keeps the attempts that fail.

    Parameters
    ----------
    clock : Clock
    keeps : callable
        ``keeps()``: whether a failure that happens now is kept.

    Attributes
    ----------
    failures : list of Failure
        In the order of their ends.
    failed_s : list of float
        When attempts failed, in simulated seconds: all of them, also those that are not kept.
    """

    def __init__(self, clock: Clock, keeps: Callable[[], bool]) -> None:
        self.failures: list[Failure] = []
        self.failed_s: list[float] = []
        self._clock = clock
        self._keeps = keeps
        self._under_way: dict[int, tuple[Transaction, float]] = {}  # since when, by client
        self._stopwatches: dict[int, Stopwatch] = {}  # of their last attempt, by client

    def timed(self, stopwatch: Stopwatch) -> None:
        """A server begins an attempt."""
        self._stopwatches[stopwatch.transaction.client] = stopwatch

    def begun(self, transaction: Transaction) -> None:
        """A client hands a transaction to its server; a proxy may do so again for it."""
        if isinstance(transaction.journal, Journal):
            return  # it is scheduled: no figure counts it
        _, since_s = self._under_way.get(transaction.client, (None, self._clock._now))
        self._under_way[transaction.client] = transaction, since_s

    def ended(self, client: int) -> tuple[Transaction, float] | None:
        """The attempt of a client is over: what it was, and since when."""
        return self._under_way.pop(client, None)

    def failed(self, client: int, node: int, error: str) -> None:
        """The attempt of a client fails now; nothing is kept of one that found no connection."""
        self.failed_s.append(self._clock._now)
        found = self.ended(client)
        if found is not None and self._keeps():
            self._keep(*found, node, error)

    def end(self) -> None:
        """The run has ended: what has waited for an answer for a while is kept, too."""
        since_s = self._clock._now - _WAITING_S
        for transaction, began_s in self._under_way.values():
            if began_s <= since_s and self._keeps():
                self._keep(transaction, began_s, transaction.node, WAITING)

    def _keep(self, transaction: Transaction, began_s: float, node: int, error: str) -> None:
        stopwatch = self._stopwatches.pop(transaction.client, None)
        of_it = stopwatch is not None and stopwatch.transaction is transaction
        journal = transaction.journal
        unknown = isinstance(journal, Fate) and journal.ending == "unknown"
        self.failures.append(
            Failure(
                transaction=transaction,
                node=node,
                error=error,
                unknown=unknown or transaction.outcome_unknown or error == WAITING,
                began_s=began_s,
                ended_s=self._clock._now,
                # A server that was given up goes on, and so do its stages.
                legs=stopwatch.legs.copy() if of_it and stopwatch is not None else [],
            )
        )


class WatchedServer:
    """A server that a log is told of: what it does stays the same."""

    def __init__(self, server: Server, log: FailureLog) -> None:
        self._server = server
        self._log = log

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """See ``Server.connect``."""
        return self._server.connect(node)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """See ``Server.transact``."""
        self._log.begun(transaction)
        return self._server.transact(transaction)


class WatchedRecorder:
    """A recorder that shares with a log what it is told."""

    def __init__(self, recorder: Recorder, log: FailureLog) -> None:
        self._recorder = recorder
        self._log = log
        self.opened = recorder.opened
        self.waited = recorder.waited

    def committed(self, started_s: float, kind: str, client: int, node: int) -> None:
        """See ``Recorder.committed``."""
        self._log.ended(client)
        self._recorder.committed(started_s, kind, client, node)

    def aborted(self, started_s: float, kind: str, client: int, node: int, error: str) -> None:
        """See ``Recorder.aborted``."""
        self._log.failed(client, node, error)
        self._recorder.aborted(started_s, kind, client, node, error)
