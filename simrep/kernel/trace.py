"""A record of what happened, for digests, tests and explanations. Off unless asked for."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from simrep.kernel.clock import Clock

__all__ = ["Trace", "TraceEvent"]


class TraceEvent(NamedTuple):
    """One thing that happened.

    Parameters
    ----------
    time_s : float
    node : int
        Position of the node.
    what : str
        Kind of event, e.g. ``order``, ``certify``, ``commit``.
    seqno : int
        The transaction or message it happened to.
    detail : tuple
        Further facts, of built-in types.
    """

    time_s: float
    node: int
    what: str
    seqno: int
    detail: tuple[object, ...] = ()


class Trace:
    """Collects events. Code that may trace holds ``Trace | None`` and asks ``is not None``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.events: list[TraceEvent] = []

    def record(self, node: int, what: str, seqno: int, *detail: object) -> None:
        """Record an event at the current time."""
        self.events.append(TraceEvent(self._clock.now, node, what, seqno, detail))

    def digest(self) -> str:
        """A hash of all events, equal only if the runs were equal bit for bit."""
        digest = sha256()
        for event in self.events:
            digest.update(
                f"{event.time_s.hex()}|{event.node}|{event.what}|{event.seqno}|{event.detail!r}\n".encode()
            )
        return digest.hexdigest()
