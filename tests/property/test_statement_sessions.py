"""Short autocommit statements take the long way of all transactions, in fewer steps."""

from __future__ import annotations

from collections.abc import Generator
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.kernel.clock import Clock, Event
from simrep.kernel.queues import Fifo
from simrep.server.buffer_pool import BufferPool
from simrep.server.host import Host
from simrep.server.locks import Decided, LockTable
from simrep.workload.laps import LapClock
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.served import Served
from simrep.workload.session import Sessions
from simrep.workload.session_costs import SessionCosts
from simrep.workload.statement_sessions import StatementSessions
from simrep.workload.transaction import Statement, Transaction

_US = 1e-6


class _Applier(Decided):
    """Takes a row by brute force."""


class _Server:
    """Clients of one server whose commits take a while, and may fail."""

    def __init__(
        self,
        kind: type[Sessions[Any]],
        cores: int,
        client_us: int,
        latch_us: int,
        pages_us: int,
        retries: int,
        timeout_us: int,
    ) -> None:
        self.clock = clock = LapClock()
        self.told: list[Any] = []
        clock.laps = lambda kind, seconds: self.told.append((clock.now, kind, list(seconds)))
        self.host = Host(clock, cores)
        self.locks = LockTable(clock)
        costs = SessionCosts(
            0.0, 20 * _US, 5 * _US, 3 * _US, client_us * _US, 7 * _US, latch_us * _US
        )
        self.sessions: Sessions[Any] = kind(
            clock, self.host, self.host, 0.0, self.locks, costs,
            begin=OpenTransaction, commit=self.commit, begin_commit=self.begin_commit,
            prepare=lambda transaction: transaction.size_bytes * 1e-8,
            lock_wait_timeout_s=timeout_us * _US, retries=retries, pool=self.pool(pages_us),
        )  # fmt: skip

    def pool(self, pages_us: int) -> BufferPool | None:
        if not pages_us:
            return None
        gap = cycle([1.0, 3.0, 2.0]).__next__
        return BufferPool(self.clock, Fifo(self.clock, 2), pages_us * _US, gap)

    def commit(
        self, transaction: Transaction, owner: OpenTransaction
    ) -> Generator[Event, Any, bool]:
        if not self.begin_commit(transaction, owner):
            return False
        committed: bool = yield owner.done
        if committed:
            self.locks.release_all(owner)
        return committed

    def begin_commit(self, transaction: Transaction, owner: OpenTransaction) -> bool:
        if transaction.size_bytes == 13:
            owner.error = "1 refused"
            return False
        fails = transaction.size_bytes % 5 == 0
        owner.retry = owner.retry or fails
        owner.protected = True
        if transaction.size_bytes == 11:  # it ends at once
            self.clock.fire(owner.done, True)
        else:
            self.clock.at(self.clock.now + 30 * _US, self._end, (owner, not fails))
        return True

    def _end(self, end: tuple[OpenTransaction, bool]) -> None:
        self.clock.fire(end[0].done, end[1])

    def submit(self, transaction: Transaction) -> None:
        def ended(committed: bool) -> None:
            self.told.append((self.clock.now, transaction.client, committed, transaction.error))

        served = self.sessions.transact(transaction)
        assert isinstance(served, Served)
        committed = served.start(ended)
        if committed is not None:
            ended(committed)

    def take(self, row: int) -> None:
        applier = _Applier()
        self.locks.force(applier, row, lambda _: self.locks.release_all(applier))


_TRANSACTIONS = st.lists(
    st.tuples(
        st.integers(0, 200),  # when, in microseconds
        st.integers(0, 30),  # how long it has waited in line
        st.lists(st.integers(0, 3), max_size=2, unique=True),  # rows that it locks
        st.integers(0, 3),  # rows that it reads, and writes none if it locks none
        st.integers(8, 16),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("cores", [1, 3])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    transactions=_TRANSACTIONS,
    forced=st.lists(st.tuples(st.integers(0, 250), st.integers(0, 3)), max_size=3),
    client_us=st.sampled_from([0, 4]),
    latch_us=st.sampled_from([0, 2]),
    pages_us=st.sampled_from([0, 9]),
    retries=st.integers(0, 2),
    timeout_us=st.sampled_from([25, 10_000]),
)
def test_the_short_way_of_a_statement_equals_the_long_one(
    cores: int,
    transactions: list[tuple[int, int, list[int], int, int]],
    forced: list[tuple[int, int]],
    client_us: int,
    latch_us: int,
    pages_us: int,
    retries: int,
    timeout_us: int,
) -> None:
    results = []
    for kind in (Sessions, StatementSessions):
        server = _Server(kind, cores, client_us, latch_us, pages_us, retries, timeout_us)
        clock: Clock = server.clock
        for client, (at_us, queued_us, rows, read, size) in enumerate(transactions):
            written = len(rows) or (read != 3)
            one = Transaction(
                client, 0, "a", (Statement(read, written, tuple(rows)),), tuple(rows), written,
                size, started_s=(at_us - queued_us) * _US,
            )  # fmt: skip
            one.queued_s = queued_us * _US
            clock.at(at_us * _US, server.submit, one)
        for at_us, row in forced:
            clock.at(at_us * _US, server.take, row)
        clock.run()
        told = server.sessions
        results.append(
            (
                server.told, clock.now, clock.events, server.host.busy_s, server.host.visits,
                told.rollback_counters(), told.victims, told.rollbacks, server.locks.wait_s,
            )
        )  # fmt: skip
        assert len(server.told) >= len(transactions)
    assert results[0] == results[1]
