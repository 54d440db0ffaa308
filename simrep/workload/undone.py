"""What the server of some clients has rolled back."""

from __future__ import annotations

__all__ = ["Undone"]


class Undone:
    """Counted once for a server, wherever its clients are.

    Attributes
    ----------
    attempts, victims : int
        Attempts that were rolled back, and those of them that brute force has aborted.
    rows : int
        Rows that they had written.
    seconds : float
        From the begin of each to the end of its rollback.
    """

    __slots__ = ("attempts", "rows", "seconds", "victims")

    def __init__(self) -> None:
        self.attempts = 0
        self.victims = 0
        self.rows = 0
        self.seconds = 0.0
