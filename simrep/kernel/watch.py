"""A record of what was blocked, by whom and for how long. Off unless asked for.

A station is blocked while somebody waits in front of it and what they wait for stays the same. It
has a ``Line`` that is told who waits, and when what they wait for ends. A queue that is long
although it moves is load, and no blockage.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any, NamedTuple

from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock
from simrep.kernel.trace import Sent

__all__ = ["NO_LAP", "Holder", "Key", "Line", "NoLine", "Span", "Waited", "Watch"]

Key = tuple[str, Hashable]
"""A node, and somebody or something on it."""

Who = Callable[[Any], tuple[Hashable, ...]]

NO_LAP = -1
"""Of a station whose waits are no stage of a latency of their own."""


@dataclass(frozen=True, slots=True)
class Holder:
    """What a station waits for.

    Parameters
    ----------
    text : str
    keys : tuple of Key
        Who that is; a blockage in which one of them waits explains this one.
    verb : str
        How the station waits; ``{}`` stands for the duration.
    doing : str
        What it does until it has told something else.
    """

    text: str
    keys: tuple[Key, ...] = ()
    verb: str = "waited {} for"
    doing: str = ""


@dataclass(frozen=True, slots=True)
class Waited:
    """A blockage, as it was recorded."""

    # Where; the detail tells stations of one name apart.
    node: str
    station: str
    detail: str
    # In simulated seconds; a blockage that has not ended is recorded up to the end of the run.
    began_s: float
    ended_s: float
    holder: Holder  # what was waited for
    doing: str  # what the holder was doing most of the time; empty if nobody has said
    waiters: frozenset[Key]  # who waited when it ended, and whom that holds up in turn
    waiting: int  # how many they are
    ended: bool
    lap: int = NO_LAP  # which stage of a latency it is to wait there


class Span(NamedTuple):
    """Somebody waited at a station of a node, or was served there."""

    # See ``Waited``; ``detail`` tells stations of one name apart.
    node: str
    station: str
    detail: str
    who: Hashable
    what: str  # what was done; empty if it waited
    # In simulated seconds.
    began_s: float
    ended_s: float
    cause: Sent | None  # the message that ended it: which the node was handling then


@dataclass(slots=True)
class _Task:
    station: str
    what: str
    began_s: float


class Watch:
    """What was blocked, and on request all that happened; watched parts tell it.

    Parameters
    ----------
    clock : Clock
    longer_than_s : float
        Shorter blockages are forgotten at once, in seconds.
    names : sequence of str
        Of the nodes.
    since_s, until_s : float
        What lies outside is not kept, in simulated seconds.
    details : bool
        Whether messages and spans are kept, besides what stations waited for.
    of_interest : callable, optional
        ``of_interest(who)``: of ``waited`` only that is kept in which such a one waited.
    most : int, optional
        When so many messages, spans and others that are told (``keeps``) are kept, no further ones
        are.

    Attributes
    ----------
    until_s : float
        What happened later is not kept, in simulated seconds.
    counted : mapping of int to int
        How many messages left their nodes that are not kept, by tenths of a second.
    waited : list of Waited
    spans : list of Span
        In the order in which they ended.
    sent : list of Sent
    names : tuple of str
    details : bool
    """

    def __init__(
        self,
        clock: Clock,
        longer_than_s: float = 5e-324,  # whatever is longer than nothing
        names: Sequence[str] = (),
        since_s: float = 0.0,
        until_s: float = inf,
        *,
        details: bool = False,
        of_interest: Callable[[Hashable], bool] | None = None,
        most: int | None = None,
    ) -> None:
        self.clock = clock
        self.longer_than_s = longer_than_s if since_s <= 0.0 else inf
        self.waited: list[Waited] = []
        self.spans: list[Span] = []
        self.sent: list[Sent] = []
        self.names = tuple(names)
        self.details = details
        self.until_s = until_s
        self.counted: dict[int, int] = {}
        self._since_s = since_s
        self._most = most
        self._others = 0
        self._of_interest = of_interest
        self._blocked: dict[Line, None] = {}
        self._doing: dict[Key, list[tuple[float, str]]] = {}
        self._waits: dict[tuple[Line, Hashable], float] = {}
        self._tasks: dict[Key, _Task] = {}
        self._handling: dict[str, Sent | None] = {}
        self._parts: dict[tuple[str, int], Sent] = {}  # by receiver and identity of a part
        self._values: dict[tuple[str, Hashable], Sent] = {}  # by receiver and value
        if since_s > 0.0:
            clock.at(since_s, self._keep_longer_than, longer_than_s)
        if since_s < until_s < inf:
            clock.at(until_s, self._keep_longer_than, inf)

    def _keep_longer_than(self, seconds: float) -> None:
        self.longer_than_s = seconds

    def record(self, waited: Waited) -> None:
        """A blockage has ended."""
        wanted = self._of_interest
        if wanted is None or any(wanted(who) for _, who in waited.waiters):
            self.waited.append(waited)

    def finish(self) -> None:
        """The run has ended: what is still blocked is recorded as such."""
        for line in list(self._blocked):
            line.cut(ended=False)
        for line, one in list(self._waits):
            self.goes_on(line, one)
        for node, who in list(self._tasks):
            self._end_task(node, who)

    # -- who waits, and what is done -----------------------------------------------------------

    def waits(self, line: Line, one: Hashable) -> None:
        """Somebody begins to wait."""
        if self.details:
            self._waits[line, one] = self.clock._now

    def goes_on(self, line: Line, one: Hashable) -> None:
        """Somebody no longer waits."""
        if self.details:
            began_s = self._waits.pop((line, one), nan)
            self._keep(line.node, line.station, line.detail, one, "", began_s)

    def doing(self, node: str, who: Hashable, what: str, station: str = "") -> None:
        """From now on somebody does this, at a station if one is given."""
        self._doing.setdefault((node, who), []).append((self.clock._now, what))
        if self.details:
            self._end_task(node, who)
            self._tasks[node, who] = _Task(station, what, self.clock._now)

    def served(self, line: Line, one: Hashable) -> None:
        """Somebody leaves a station that serves groups: nobody knows what it does next."""
        doings = self._doing.get((line.node, one))
        if doings and doings[-1][1] == line.doing:
            doings.append((self.clock._now, ""))
        task = self._tasks.get((line.node, one))
        if task is not None and task.station == line.station:
            self._end_task(line.node, one)

    def forget(self, node: str, who: Hashable) -> None:
        """Somebody has ended."""
        self._doing.pop((node, who), None)
        self._end_task(node, who)

    def _end_task(self, node: str, who: Hashable) -> None:
        task = self._tasks.pop((node, who), None)
        if task is not None:
            self._keep(node, task.station, "", who, task.what, task.began_s)

    def _keep(
        self, node: str, station: str, detail: str, who: Hashable, what: str, began_s: float
    ) -> None:
        now = self.clock._now
        if now > began_s and now >= self._since_s and began_s <= self.until_s:
            cause = self.handled_by(node)
            self.spans.append(Span(node, station, detail, who, what, began_s, now, cause))
            self._stop_if_full()

    def keeps(self) -> bool:
        """Whether something else that happens now is to be kept; it counts as kept then."""
        if not self._since_s <= self.clock._now <= self.until_s:
            return False
        self._others += 1
        self._stop_if_full()
        return True

    def _stop_if_full(self) -> None:
        if self._most is not None and len(self.spans) + len(self.sent) + self._others >= self._most:
            self._most = None
            self.until_s = self.clock._now
            self._keep_longer_than(inf)

    def _longest(self, key: Key, since_s: float, at_first: str) -> str:
        """What somebody has done longest since then; ``at_first`` until it has told anything."""
        doings = [(since_s, at_first), *self._doing.get(key, ())]
        ends_s = [max(began_s, since_s) for began_s, _ in doings[1:]] + [self.clock._now]
        longest: tuple[float, str] = max(
            (end_s - max(began_s, since_s), what)
            for (began_s, what), end_s in zip(doings, ends_s, strict=True)
        )
        return longest[1]

    # -- messages ------------------------------------------------------------------------------

    def sends(
        self, source: int, target: int, size_bytes: int, message: Any, at: float
    ) -> Sent | None:
        """A message leaves its node; None if it is not kept."""
        if not self._since_s <= self.clock._now <= self.until_s:
            tenth = int(10.0 * self.clock._now)
            self.counted[tenth] = self.counted.get(tenth, 0) + 1
            return None
        node = self.names[source]
        cause = self._handling.get(node) or self._received(node, message)
        sent = Sent(len(self.sent), source, target, size_bytes, message, at, cause)
        self.sent.append(sent)
        self._stop_if_full()
        return sent

    def arrives(self, sent: Sent) -> None:
        """It has arrived."""
        sent.arrived_s = self.clock._now
        message, target = sent.message, self.names[sent.target]
        parts = message if isinstance(message, tuple) else (message,)
        for part in parts:
            if not isinstance(part, int):  # small numbers are the same object everywhere
                self._parts[target, id(part)] = sent
        if len(parts) > 1 and all(isinstance(part, int) for part in parts):
            self._values[target, message] = sent

    def handles(self, node: str, message: object) -> None:
        """A node has got round to a message of another; None: it is done with it."""
        done = self._handling.get(node)
        if done is not None:
            done.handled_s = self.clock._now
        self._handling[node] = None if message is None else self._received(node, message)

    def owes(self, node: str, cause: Sent | None) -> None:
        """A node goes on with what a message brought that it has handled before; None: no more."""
        self._handling[node] = cause

    def handled_by(self, node: str) -> Sent | None:
        """The message that a node is handling now."""
        return self._handling.get(node)

    def _received(self, node: str, message: Any) -> Sent | None:
        """A message that a node has received, by one of its parts."""
        parts = message if isinstance(message, tuple) else (message,)
        if len(parts) > 1 and all(isinstance(part, int) for part in parts):
            return self._values.get((node, message))
        for part in parts:
            sent = self._parts.get((node, id(part)))
            if sent is not None:
                return sent
        return None


def _itself(item: Hashable) -> tuple[Hashable, ...]:
    return (item,)


class Line:
    """Who waits in front of one station.

    Parameters
    ----------
    watch : Watch
    node, station : str
    holder : callable
        ``holder()`` tells what is waited for; asked only when a blockage is recorded, just before
        that ends.
    who : callable, optional
        ``who(item)``: those for whom an item of the station stands; itself if not given.
    behind : callable, optional
        How many wait, if the line is not told of all.
    holds_up : hashable, optional
        Something on the node that comes to a stop whenever somebody waits here.
    detail : str
    doing : str
        What whoever is in service here does.
    lap : int
        Which stage of a latency it is to wait here (``simrep.workload.laps.Lap``).

    Attributes
    ----------
    since_s : float
        When what is waited for now began to be, in simulated seconds; of use while somebody waits.
    serving : tuple
        The group in service.
    """

    __slots__ = (
        "_behind", "_holder", "_holds_up", "_waiting", "_watch", "_who", "detail",
        "doing", "lap", "node", "serving", "since_s", "station",
    )  # fmt: skip

    def __init__(
        self,
        watch: Watch,
        node: str,
        station: str,
        holder: Callable[[], Holder],
        *,
        who: Who = _itself,
        behind: Callable[[], int] | None = None,
        holds_up: Hashable = None,
        detail: str = "",
        doing: str = "",
        lap: int = NO_LAP,
    ) -> None:
        self._watch = watch
        self._holder = holder
        self._who = who
        self._behind = behind
        self._holds_up = holds_up
        self.since_s = 0.0
        self._waiting: dict[Hashable, None] = {}
        self.node = node
        self.station = station
        self.detail = detail
        self.doing = doing
        self.lap = lap
        self.serving: tuple[Hashable, ...] = ()

    def wait(self, item: Any) -> None:
        """Somebody begins to wait."""
        if not self._waiting:
            self.since_s = self._watch.clock._now
            self._watch._blocked[self] = None
        for one in self._who(item):
            self._waiting[one] = None
            self._watch.waits(self, one)

    def go(self, item: Any) -> None:
        """Somebody no longer waits; it is not an error if it did not."""
        waiting = self._waiting
        gone = [one for one in self._who(item) if one in waiting]
        if not gone:
            return
        if len(gone) == len(waiting):
            self.cut()
            del self._watch._blocked[self]
        for one in gone:
            del waiting[one]
            self._watch.goes_on(self, one)

    def cut(self, *, ended: bool = True) -> None:
        """What is waited for ends now; whoever waits on does so for something else."""
        if self._waiting:
            watch = self._watch
            now = watch.clock._now
            if now - self.since_s >= watch.longer_than_s:
                self._record(now, ended=ended)
            self.since_s = now

    def release(self, item: Any) -> None:
        """What is waited for ends now, and with it the wait of one of them."""
        self.cut()
        self.go(item)

    def serve(self, items: list[Any]) -> None:
        """A station that serves groups begins with one."""
        for item in items:
            self.go(item)
        self.serving = tuple(one for item in items for one in self._who(item))
        if self.doing:
            for item in items:
                for one in self._who(item):
                    if one is not item:  # a thing of the station stands for nobody else
                        self._watch.doing(self.node, one, self.doing, self.station)

    def leave(self) -> None:
        """The group in service leaves."""
        self.cut()
        for one in self.serving:
            self._watch.served(self, one)
        self.serving = ()

    def _held_by(self) -> Holder:
        """What is waited for, as the model tells it; an error if it tells something else."""
        holder = self._holder()
        text: Any = getattr(holder, "text", None)
        keys: Any = getattr(holder, "keys", None)
        if (
            isinstance(text, str)
            and isinstance(keys, tuple)
            and all(isinstance(key, tuple) and len(key) == 2 for key in keys)
        ):
            return holder
        raise ScenarioError(
            "cluster.model",
            f"the holder of {self.station!r} on node {self.node!r} must be told as a Holder of a "
            f"text and of keys, each a node and a transaction on it; told {holder!r}",
        )

    def _record(self, now: float, *, ended: bool) -> None:
        watch, node = self._watch, self.node
        holder = self._held_by()
        doing = self.doing
        if not doing and len(holder.keys) == 1:
            doing = watch._longest(holder.keys[0], self.since_s, holder.doing)
        waiters = {(node, one) for one in self._waiting}
        if self._holds_up is not None:
            waiters.add((node, self._holds_up))
        watch.record(
            Waited(
                node,
                self.station,
                self.detail,
                self.since_s,
                now,
                holder,
                doing,
                frozenset(waiters),
                len(self._waiting) if self._behind is None else self._behind(),
                ended,
                self.lap,
            )
        )


class NoLine(Line):
    """The line of a station that nobody watches."""

    __slots__ = ()

    def __init__(self) -> None:
        self.since_s = 0.0

    def wait(self, item: Any) -> None:
        """See ``Line.wait``."""

    def go(self, item: Any) -> None:
        """See ``Line.go``."""

    def cut(self, *, ended: bool = True) -> None:
        """See ``Line.cut``."""

    def release(self, item: Any) -> None:
        """See ``Line.release``."""
