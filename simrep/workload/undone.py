"""What the server of some clients has rolled back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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

    def counters(self, errors: Sequence[str], told: Mapping[str, int]) -> dict[str, Any]:
        """The same by name, and how often clients were told of errors, by their numbers."""
        counters: dict[str, Any] = {
            "rolled_back_rows": self.rows,
            "rolled_back_s": self.seconds,
            **{f"errors.{error}": 0 for error in errors},
        }
        for said, times in told.items():
            name = f"errors.{said.split(maxsplit=1)[0]}"
            counters[name] = counters.get(name, 0) + times
        return counters
