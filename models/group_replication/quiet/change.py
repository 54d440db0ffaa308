"""A transaction of others while a quiet member applies and commits it."""

from __future__ import annotations

from .machine import Job

__all__ = ["Change"]


class Change(Job):
    """A transaction in the relay log."""

    __slots__ = (
        "joined_s", "ordered_s", "parent", "received_s", "rows", "seqno", "size_bytes", "started_s",
    )  # fmt: skip
    joined_s: float  # when it came to the stage of the commit in front of which it is
    received_s: float  # when it was in the relay log
    started_s: float  # when it was handed to a worker

    def __init__(
        self, seqno: int, parent: int, size_bytes: int, rows: int, ordered_s: float
    ) -> None:
        self.used = 0.0
        self.seqno = seqno
        self.parent = parent
        self.size_bytes = size_bytes
        self.rows = rows
        self.ordered_s = ordered_s
