"""Everything that happened in a part of a run: who waited where, who was served, what was sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import inf, nan
from typing import Any, NamedTuple

from simrep.kernel.clock import Clock
from simrep.kernel.watch import Line, Waited, Watch

__all__ = ["Chronicle", "MessageText", "Sent", "Span", "Trace", "TraceEvent", "together"]

_ANY = 5e-324  # seconds: whatever is longer than nothing


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
    """

    label: str
    about: tuple[Hashable, ...] = ()
    position: Hashable = None


class Sent:
    """A message between two nodes.

    Attributes
    ----------
    number : int
        Its own, from 0.
    source, target : int
        Positions of the nodes.
    size_bytes : int
    message : object
        As the network was given it.
    sent_s, arrived_s, handled_s : float
        It begins to leave its node, has arrived, and has been handled, in simulated seconds; NaN
        for what has not happened or is not known.
    cause : Sent or None
        What its sender was handling when it sent it.
    """

    __slots__ = (
        "arrived_s", "cause", "handled_s", "message", "number", "sent_s", "size_bytes", "source",
        "target",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        source: int,
        target: int,
        size_bytes: int,
        message: Any,
        sent_s: float,
        cause: Sent | None,
    ) -> None:
        self.number = number
        self.source = source
        self.target = target
        self.size_bytes = size_bytes
        self.message = message
        self.sent_s = sent_s
        self.arrived_s = self.handled_s = nan
        self.cause = cause


class Span(NamedTuple):
    """Somebody waited at a station of a node, or was served there.

    Parameters
    ----------
    node, station, detail : str
        See ``Waited``; ``detail`` tells stations of one name apart.
    who : hashable
    what : str
        What was done; empty if it waited.
    began_s, ended_s : float
        In simulated seconds.
    cause : Sent or None
        The message that ended it: which the node was handling then.
    """

    node: str
    station: str
    detail: str
    who: Hashable
    what: str
    began_s: float
    ended_s: float
    cause: Sent | None


@dataclass(slots=True)
class _Doing:
    station: str
    what: str
    began_s: float


class Chronicle(Watch):
    """A watch that keeps all it is told, from one time to another.

    Parameters
    ----------
    clock : Clock
    names : sequence of str
        Of the nodes.
    since_s, until_s : float
        What lies outside is not kept, in simulated seconds.
    details : bool
        Whether messages and spans are kept, besides what stations waited for (``waited``).
    of_interest : callable, optional
        ``of_interest(who)``: of ``waited`` only that is kept in which such a one waited.

    Attributes
    ----------
    sent : list of Sent
    spans : list of Span
        In the order in which they ended.
    names : tuple of str
    """

    def __init__(
        self,
        clock: Clock,
        names: Sequence[str],
        since_s: float = 0.0,
        until_s: float = inf,
        *,
        details: bool = True,
        of_interest: Callable[[Hashable], bool] | None = None,
    ) -> None:
        super().__init__(clock, _ANY if since_s <= 0.0 else inf)
        self.sent: list[Sent] = []
        self.spans: list[Span] = []
        self._since_s = since_s
        self._until_s = until_s
        self._details = details
        self._of_interest = of_interest
        self.names = tuple(names)
        self._places = {name: place for place, name in enumerate(names)}
        self._handling: list[Sent | None] = [None] * len(names)
        self._parts: dict[tuple[int, int], Sent] = {}  # by receiver and identity of a part
        self._values: dict[tuple[int, Hashable], Sent] = {}  # by receiver and value
        self._waits: dict[tuple[Line, Hashable], float] = {}
        self._tasks: dict[tuple[str, Hashable], _Doing] = {}
        if since_s > 0.0:
            clock.at(since_s, self._open)
        if since_s < until_s < inf:
            clock.at(until_s, self._close)

    def _open(self, _: None) -> None:
        self.longer_than_s = _ANY

    def _close(self, _: None) -> None:
        self.longer_than_s = inf

    def record(self, waited: Waited) -> None:
        """See ``Watch.record``."""
        wanted = self._of_interest
        if wanted is None or any(wanted(who) for _, who in waited.waiters):
            super().record(waited)

    # -- who waits, and what is done -----------------------------------------------------------

    def waits(self, line: Line, one: Hashable) -> None:
        """See ``Watch.waits``."""
        self._waits[line, one] = self.clock._now

    def goes_on(self, line: Line, one: Hashable) -> None:
        """See ``Watch.goes_on``."""
        began_s = self._waits.pop((line, one), nan)
        self._keep(line.node, line.station, line.detail, one, "", began_s)

    def doing(self, node: str, who: Hashable, what: str, station: str = "") -> None:
        """See ``Watch.doing``."""
        super().doing(node, who, what, station)
        self._end_task(node, who)
        self._tasks[node, who] = _Doing(station, what, self.clock._now)

    def served(self, line: Line, one: Hashable) -> None:
        """See ``Watch.served``."""
        task = self._tasks.get((line.node, one))
        if task is not None and task.station == line.station:
            self._end_task(line.node, one)

    def forget(self, node: str, who: Hashable) -> None:
        """See ``Watch.forget``."""
        super().forget(node, who)
        self._end_task(node, who)

    def finish(self) -> None:
        """See ``Watch.finish``."""
        super().finish()
        for line, one in list(self._waits):
            self.goes_on(line, one)
        for node, who in list(self._tasks):
            self._end_task(node, who)

    def _end_task(self, node: str, who: Hashable) -> None:
        task = self._tasks.pop((node, who), None)
        if task is not None:
            self._keep(node, task.station, "", who, task.what, task.began_s)

    def _keep(
        self, node: str, station: str, detail: str, who: Hashable, what: str, began_s: float
    ) -> None:
        now = self.clock._now
        if not self._details:
            return
        if now > began_s and now >= self._since_s and began_s <= self._until_s:
            cause = self.handled_by(node)
            self.spans.append(Span(node, station, detail, who, what, began_s, now, cause))

    # -- messages ------------------------------------------------------------------------------

    def sends(
        self, source: int, target: int, size_bytes: int, message: Any, at: float
    ) -> Sent | None:
        """A message leaves its node; None if it is not kept."""
        if not self._details or not self._since_s <= self.clock._now <= self._until_s:
            return None
        cause = self._handling[source] or self._received(source, message)
        sent = Sent(len(self.sent), source, target, size_bytes, message, at, cause)
        self.sent.append(sent)
        return sent

    def arrives(self, sent: Sent) -> None:
        """It has arrived."""
        sent.arrived_s = self.clock._now
        message, target = sent.message, sent.target
        parts = message if isinstance(message, tuple) else (message,)
        for part in parts:
            if not isinstance(part, int):  # small numbers are the same object everywhere
                self._parts[target, id(part)] = sent
        if len(parts) > 1 and all(isinstance(part, int) for part in parts):
            self._values[target, message] = sent

    def handles(self, node: str, message: object) -> None:
        """See ``Watch.handles``."""
        place = self._places[node]
        done = self._handling[place]
        if done is not None:
            done.handled_s = self.clock._now
        self._handling[place] = None if message is None else self._received(place, message)

    def owes(self, node: str, cause: Sent | None) -> None:
        """See ``Watch.owes``."""
        self._handling[self._places[node]] = cause

    def handled_by(self, node: str) -> Sent | None:
        """The message that a node is handling now."""
        return self._handling[self._places[node]]

    def _received(self, place: int, message: Any) -> Sent | None:
        """A message that a node has received, by one of its parts."""
        parts = message if isinstance(message, tuple) else (message,)
        if len(parts) > 1 and all(isinstance(part, int) for part in parts):
            return self._values.get((place, message))
        for part in parts:
            sent = self._parts.get((place, id(part)))
            if sent is not None:
                return sent
        return None


def together(texts: Iterable[MessageText]) -> MessageText:
    """Several messages that travel as one."""
    parts = list(texts)
    counts = Counter(text.label for text in parts)
    label = " + ".join(name if n == 1 else f"{n} {_plural(name)}" for name, n in counts.items())
    return MessageText(label, tuple(one for text in parts for one in text.about))


def _plural(name: str) -> str:
    return name if name.endswith("s") else f"{name}s"


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
