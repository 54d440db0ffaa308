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
    """

    connect_s: float
    statement_s: float
    row_s: float
    row_read_s: float
    client_s: float
    rollback_s: float
