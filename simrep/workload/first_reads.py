"""BEGIN and the reads with which a transaction begins, as the parts of one visit to a core."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import repeat, takewhile
from operator import add, sub

from simrep.server.host import Routine
from simrep.workload.laps import Lap
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.transaction import Statement, Transaction

__all__ = ["FirstReads"]

# Of a class of which nothing is known: the reads with which it begins, and the parts of their work.
_NONE: tuple[tuple[Statement, ...], list[float]] = ((), [])


class FirstReads:
    """The work of BEGIN and of the first reads of transactions, known by their class.

    Parameters
    ----------
    client, statement : Routine
        The work of a client and of its server for each statement.
    row_read_s : float
        What each row that is read takes, in seconds.
    slice_s : float
        Longest use of a core while others wait, in seconds.
    """

    __slots__ = ("_client_s", "_known", "_row_read_s", "_slice_s", "_statement")

    def __init__(
        self, client: Routine, statement: Routine, row_read_s: float, slice_s: float
    ) -> None:
        self._client_s = client.seconds
        self._statement = statement
        self._row_read_s = row_read_s
        self._slice_s = slice_s
        self._known: dict[str, tuple[tuple[Statement, ...], list[float]]] = {}

    def parts_of(self, transaction: Transaction) -> list[float]:
        """Processor work in seconds of BEGIN and of the reads with which a transaction begins.

        Empty if they cannot be taken as the parts of one visit: somebody may end the transaction
        in between, or a part takes no time, or more than a slice.
        """
        statements = transaction.statements
        reads, parts = self._known.get(transaction.kind, _NONE)
        size = len(reads)
        if (
            statements[:size] != reads
            or (size < len(statements) and _only_reads(statements[size]))
            or not size
        ):
            reads, parts = self._known[transaction.kind] = self._of_statements(statements)
        return parts.copy() if transaction.__class__ is Transaction else []

    def _of_statements(
        self, statements: tuple[Statement, ...]
    ) -> tuple[tuple[Statement, ...], list[float]]:
        """The reads with which these statements begin, and the parts of their work."""
        client_s = self._client_s
        reads = tuple(takewhile(_only_reads, statements))
        parts = [client_s] if client_s else []
        parts += [
            client_s + self._statement.cost(self._row_read_s * one.rows_read) for one in reads
        ]
        if len(parts) < 2 or min(parts) <= 0.0 or max(parts) > self._slice_s:
            parts.clear()
        return reads, parts

    def mark(self, owner: OpenTransaction, ends_s: Sequence[float]) -> int:
        """Mark what was done until these times; returns how many statements it was."""
        client_s, seconds = self._client_s, owner.seconds
        marked_s = owner.marked_s
        reads = ends_s
        if client_s:
            seconds[Lap.CLIENT] += ends_s[0] - marked_s
            marked_s = ends_s[0]
            reads = ends_s[1:]
        if seconds.__class__ is list:  # nobody wants to know of each of them
            starts_s = [marked_s, *reads[:-1]]
            if client_s:
                seconds[Lap.CLIENT] = reduce(add, repeat(client_s, len(reads)), seconds[Lap.CLIENT])
                starts_s = [start_s + client_s for start_s in starts_s]
            seconds[Lap.EXECUTE] = reduce(add, map(sub, reads, starts_s), seconds[Lap.EXECUTE])
            owner.marked_s = reads[-1]
            return len(reads)
        for ended_s in reads:
            if client_s:
                seconds[Lap.CLIENT] += client_s
                marked_s += client_s
            seconds[Lap.EXECUTE] += ended_s - marked_s
            marked_s = ended_s
        owner.marked_s = marked_s
        return len(reads)


def _only_reads(statement: Statement) -> bool:
    return statement.__class__ is Statement and not (statement.rows_written or statement.locks)
