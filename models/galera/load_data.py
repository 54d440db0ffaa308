"""``LOAD DATA`` that commits on the way (``wsrep_load_data_splitting``)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from simpy.events import Event

from simrep.modelling import LongTransaction, Sessions, Statement, Transaction

__all__ = ["split_load_data"]

_ROWS = 10_000


def split_load_data(
    sessions: Sessions[Any], transaction: Transaction
) -> Generator[Event, Any, bool]:
    """Run a ``LOAD DATA`` as one transaction for every 10,000 rows.

    If one of them fails, those before it stay committed: the statement is not atomic any more.

    References
    ----------
    MariaDB ``sql/sql_load.cc``, ``wsrep_load_data_split``.
    """
    parts = list(_parts(transaction))
    if transaction.journal is not None:
        transaction.journal.split(len(parts))
    for part in parts:
        if part is not parts[0]:  # its time begins where that of the part before ended
            part.started_s = sessions.now_s
        if not (yield from sessions.transact(part)):
            return False
    return True


def _parts(whole: Transaction) -> Generator[Transaction, None, None]:
    row_bytes = whole.size_bytes / whole.rows
    text_bytes = whole.text_bytes / whole.rows
    done = 0
    while done < whole.rows:
        number = min(_ROWS, whole.rows - done)
        keys = whole.keys if whole.same_content else whole.keys[done : done + number]
        part = LongTransaction(
            whole.client, whole.node, whole.kind, (Statement(0, number),),
            keys, number, int(number * row_bytes),
            text_bytes=int(number * text_bytes), started_s=whole.started_s,
        )  # fmt: skip
        if whole.ranges:
            part.ranges = (whole.ranges[0][done : done + number],)
        part.same_content = whole.same_content
        part.session = whole.session
        part.journal = whole.journal
        part.whole = whole
        part.queued_s = whole.queued_s if done == 0 else 0.0
        done += number
        part.last_part = done >= whole.rows
        yield part
