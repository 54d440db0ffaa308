"""What a session costs a client and its server."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SessionCosts"]


@dataclass(frozen=True, slots=True)
class SessionCosts:
    """CPU in seconds.

    Parameters
    ----------
    connect_s : float
        To open a connection.
    statement_s, row_s, row_read_s : float
        Per statement, per row written and per row read, on the server.
    client_s : float
        Per statement, on the client.
    rollback_s : float
        To roll back; every row costs ``row_s`` once more.
    latch_s, latch_waiter_s : float
        Time, not CPU, under a latch of the storage engine for each row written, and how much
        longer for each thread that waits there: see ``Latch``.
    page_read_s : float
        Time, not CPU, to read a page of data from the disk: see ``BufferPool``.
    page_reads_at_a_time : int
        How many pages its disk reads or writes at a time.
    """

    connect_s: float
    statement_s: float
    row_s: float
    row_read_s: float
    client_s: float
    rollback_s: float
    latch_s: float = 0.0
    latch_waiter_s: float = 0.0
    page_read_s: float = 0.0
    page_reads_at_a_time: int = 32
