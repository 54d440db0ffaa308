"""What a run leaves behind beside its figures: its trace, and its messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from math import nan
from typing import Any, NamedTuple

from simrep.kernel.clock import Clock

__all__ = ["MessageText", "Sent", "Trace", "TraceEvent", "together"]


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


class MessageText(NamedTuple):
    """What a message is.

    Parameters
    ----------
    label : str
        In a few words.
    about : tuple of hashable
        The transactions that it carries.
    position : hashable
        Of an answer, and of what it answers: the same for both; None if there is no answer.
    membership : bool
        Whether servers agree by it on who is there.
    """

    label: str
    about: tuple[Hashable, ...] = ()
    position: Hashable = None
    membership: bool = False


@dataclass(slots=True, eq=False)
class Sent:
    """A message between two nodes."""

    number: int  # its own, from 0
    # Positions of the nodes.
    source: int
    target: int
    size_bytes: int
    message: Any  # as the network was given it
    # It begins to leave its node, has arrived, and has been handled, in simulated seconds; NaN for
    # what has not happened or is not known.
    sent_s: float
    cause: Sent | None  # what its sender was handling when it sent it
    arrived_s: float = nan
    handled_s: float = nan


def together(texts: Iterable[MessageText]) -> MessageText:
    """Several messages that travel as one."""
    parts = list(texts)
    counts = Counter(text.label for text in parts)
    label = " + ".join(name if n == 1 else f"{n} {_plural(name)}" for name, n in counts.items())
    about = tuple(one for text in parts for one in text.about)
    return MessageText(label, about, membership=any(text.membership for text in parts))


def _plural(name: str) -> str:
    return name if name.endswith("s") else f"{name}s"
