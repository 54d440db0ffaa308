"""Where the time of a transaction goes: laps of a stopwatch that every transaction carries.

Whoever is done with something for a transaction calls ``owner.mark(Lap.X)``: all time since the
mark before was spent in stage X. So the stages always sum to the time that has passed, and a mark
too few moves time from one stage to the next, but loses none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from simrep.kernel.clock import Clock

__all__ = ["LAPS", "Lap", "LapClock", "LapRecorder"]


class Lap:
    """Positions of the stages in the seconds of a transaction; they are the same in every model."""

    CLIENT: Final = 0
    EXECUTE: Final = 1
    LOCK_WAIT: Final = 2
    QUEUE: Final = 3
    CONSISTENCY: Final = 4
    WINDOW: Final = 5
    ORDER: Final = 6
    CERTIFICATION: Final = 7
    FLUSH: Final = 8
    ACKNOWLEDGEMENT: Final = 9
    COMMIT_ORDER: Final = 10
    COMMIT: Final = 11
    RETRIES: Final = 12


LAPS: Final = (
    "client", "execute", "lock wait", "queue", "consistency", "send window", "order",
    "certification", "flush", "acknowledgement", "commit order", "commit", "retries",
)  # fmt: skip
"""Names of the stages by position:

- client: waiting for a free connection, CPU and pauses of the client, and the network between it
  and its server;
- execute: statements on the server, and what it prepares of the commit;
- lock wait: row locks;
- queue: flow control, and the turn to send (Galera's send monitor);
- consistency: what a consistency level, or its own client, has a transaction wait for;
- send window: handed to the group communication, which may not send it yet (windows of EVS,
  proposers and event horizon of XCom);
- order: from then until it is delivered at its place in the total order;
- certification: its turn to be certified, and the verdict;
- flush: redo and binary log, until they are as durable as was asked for;
- acknowledgement: a replica has received it (semi-synchronous replication);
- commit order: earlier transactions commit first;
- commit: in the storage engine, and until the client's thread has woken;
- retries: everything before the attempt that committed.
"""

LapRecorder = Callable[[str, Sequence[float]], object]
"""``recorder(kind, seconds)``: a transaction of class ``kind`` is committed now; seconds per stage,
in the order of ``LAPS``."""


class LapClock(Clock):
    """The clock of a run that wants to know where the time of its transactions goes.

    Everything that times a transaction has the clock, so this is how a recorder reaches the
    sessions of every model without a parameter of its own.

    Attributes
    ----------
    laps : callable or None
        Who is told of every transaction that commits; set before the model is made.
    stopwatch : callable or None
        ``stopwatch(transaction)``: a list for its seconds per stage that knows what is added when;
        set before the model is made.
    snapshots : callable or None
        ``snapshots(transaction)`` is called when a server begins to execute the first statement of
        a transaction, after all that a consistency level has it wait for; set likewise. It may set
        ``transaction.awaited``.
    """

    laps: LapRecorder | None = None
    stopwatch: Callable[[Any], list[float]] | None = None
    snapshots: Callable[[Any], object] | None = None
