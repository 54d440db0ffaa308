"""What a crash of the source would lose, at any instant of a run that was traced.

The source is taken to be gone for good, and the replica that has received most to take its place.
A drill tells what crashes lose with the network alive, and what is on its way arrives; this tells
the most that a crash could lose, at any instant of a single run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simrep.modelling import TraceEvent
from simrep.models.asynchronous.source import SOURCE

__all__ = ["Loss", "loss_at"]


@dataclass(frozen=True, slots=True)
class Loss:
    """Transactions that are on no replica at the instant of a crash; numbers in the binary log.

    Attributes
    ----------
    time_s : float
        The instant.
    received : int
        Transactions in the relay log of the replica that has most of them: from the first on.
    answered : tuple of int
        Their clients were told that they are committed: lost writes.
    visible : tuple of int
        Committed in the storage engine of the source, so that anybody may have read them: phantom
        reads. Those of ``answered`` are among them.
    written : tuple of int
        In the binary log of the source: what has to be cut off if it comes back. Those of
        ``visible`` are among them.
    """

    time_s: float
    received: int
    answered: tuple[int, ...]
    visible: tuple[int, ...]
    written: tuple[int, ...]


def loss_at(trace: Iterable[TraceEvent], time_s: float) -> Loss:
    """What a crash of the source at an instant loses.

    Parameters
    ----------
    trace : iterable of TraceEvent
        Of a run of the model ``semisync``: ``simrep.run(..., trace=True).runs[0].trace``.
    time_s : float
        The instant of the crash, in seconds; what happens at that very time has happened.

    Notes
    -----
    Pessimistic: what is on its way to a replica when the source crashes does not arrive. That the
    binary log of the source need not be durable (``sync_binlog`` other than 1) makes no difference:
    the source does not come back.
    """
    received: dict[int, int] = {}
    of_source: dict[str, list[int]] = {"answer": [], "commit": [], "binlog": []}
    for event in trace:
        if event.time_s > time_s:
            break
        if event.node != SOURCE:
            if event.what == "receive":
                received[event.node] = event.seqno
        elif event.what in of_source:
            of_source[event.what].append(event.seqno)
    most = max(received.values(), default=0)
    answered, visible, written = (
        tuple(sorted(seqno for seqno in seqnos if seqno > most)) for seqnos in of_source.values()
    )
    return Loss(time_s, most, answered, visible, written)
