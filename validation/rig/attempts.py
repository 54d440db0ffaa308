"""Attempts of clients that go on whatever happens: transactions, and connections that failed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["WAITING", "Attempt", "attempts_text", "read_attempts"]

WAITING = -1
"""Instead of an error: no answer until the load was over."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a transaction, or one to connect that failed.

    Attributes
    ----------
    group : str
    client : int
    node : str
        That it was made on.
    began_s, ended_s : float
        On the clock of the load.
    sequence : int
        Number of the transaction, of its client; of a reader the rows that it saw.
    error : int
        Its number; 0 for a commit or an answer, ``WAITING`` if there was none.
    connecting : bool
    reads : bool
    text : str
        What the error says.
    """

    group: str
    client: int
    node: str
    began_s: float
    ended_s: float
    sequence: int
    error: int = 0
    connecting: bool = False
    reads: bool = False
    text: str = ""


_COLUMNS = ("group", "client", "node", "began_s", "ended_s", "sequence", "error", "connecting",
            "reads", "text")  # fmt: skip


def attempts_text(attempts: Iterable[Attempt]) -> str:
    """Attempts as CSV, in the order of their ends."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in sorted(attempts, key=lambda own: (own.ended_s, own.client)):
        writer.writerow(
            [one.group, one.client, one.node, f"{one.began_s:.6f}", f"{one.ended_s:.6f}",
             one.sequence, one.error, int(one.connecting), int(one.reads), one.text]
        )  # fmt: skip
    return file.getvalue()


def read_attempts(text: str) -> list[Attempt]:
    """The same back."""
    return [
        Attempt(
            group=row["group"],
            client=int(row["client"]),
            node=row["node"],
            began_s=float(row["began_s"]),
            ended_s=float(row["ended_s"]),
            sequence=int(row["sequence"]),
            error=int(row["error"]),
            connecting=row["connecting"] == "1",
            reads=row["reads"] == "1",
            text=row["text"],
        )
        for row in csv.DictReader(io.StringIO(text))
    ]
