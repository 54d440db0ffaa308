"""A batch server: how those who wait for an expensive step share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from simrep.kernel.clock import Clock
from simrep.kernel.deque import deque
from simrep.kernel.watch import Line

__all__ = ["Stage", "WatchedStage"]

Call = Callable[[Any], object]
_SLACK_S = 50e-6  # a thread that sleeps for a time wakes so much later (Linux: timer slack)
Item = TypeVar("Item")


class Stage(Generic[Item]):
    """A batch server: when it becomes free, everything that waits is served together.

    This is how databases share an expensive step: the first to arrive leads, and those who arrive
    while it works form the next group. With ``largest=1`` it is a first-come-first-served mutex.

    Parameters
    ----------
    clock : Clock
    serve : callable
        ``serve(group)`` starts the service of a list of items, in the order of their arrival;
        the server must call ``leave()`` when it is over, now or later.
    name : str
        Name under which the stage is reported.
    largest : int, optional
        Largest group; all who wait if not given.
    gather_s : callable, optional
        How long (seconds) the leader waits for others before its group is closed; asked once per
        group. The stage is taken meanwhile.
    gather_count : int
        The leader stops waiting when so many are in the queue; 0: never early.
    wake : callable, optional
        ``wake(call, argument)`` calls when a sleeping thread has been woken: a leader that has
        waited for the stage to become free must be. Its group is closed when it runs.
    sleeps : callable, optional
        ``sleeps(item)``: it has to wait, or the first of its group; so it is when ``wake`` is
        called, with the first item for an argument.
    approach : callable, optional
        ``approach(call, argument)`` calls when the thread of a leader that finds the stage free has
        a core again: until then others may join its group.
    naps : int
        The leader sleeps so often for a part of the time in which it waits for others. It looks
        only in between whether enough have come. Each time it sleeps longer by the kernel's slack.

    Attributes
    ----------
    groups, visits : int
        Groups served and items in them.
    busy_s : float
        Time in service in seconds, without the gathering.
    wait_s, wait_max_s : float
        Total and longest time in seconds from arrival to the start of service.
    """

    servers = 1

    def __init__(
        self,
        clock: Clock,
        serve: Callable[[list[Item]], object],
        name: str = "",
        *,
        largest: int | None = None,
        gather_s: Callable[[], float] | None = None,
        gather_count: int = 0,
        wake: Callable[[Call, Any], object] | None = None,
        sleeps: Callable[[Any], object] | None = None,
        approach: Callable[[Call, Any], object] | None = None,
        naps: int = 1,
    ) -> None:
        if largest is not None and largest < 1:
            raise ValueError(f"largest must be at least 1, given {largest}")
        self._clock = clock
        self._serve = serve
        self._queue: deque[tuple[float, Item]] = deque()
        self._largest = largest
        self._gather_s = gather_s
        self._gather_count = gather_count
        self._wake = wake
        self._sleeps = sleeps
        self._approach = approach
        self._naps = naps
        self._left = (0.0, 0)  # how long its leader sleeps next, and how often
        self._gathering = 0  # number of the group that gathers now, 0: none
        self._begin: Call = self._start if gather_s is None else self._open
        self._taken = False
        self._since = 0.0
        self.name = name
        self.groups = 0
        self.visits = 0
        self.busy_s = 0.0
        self.wait_s = 0.0
        self.wait_max_s = 0.0

    def join(self, item: Item) -> None:
        """Queue the item; it is served at once if the stage is free."""
        now = self._clock._now
        if self._taken:
            if self._sleeps is not None:
                self._sleeps(item)
            self._queue.append((now, item))
            if self._gathering and self._naps == 1 and self._full():
                self._close(self._gathering)
        elif self._approach is not None:
            self._queue.append((now, item))
            self._taken = True
            self._approach(self._begin, None)
        elif self._gather_s is None:  # the queue is empty
            self._taken = True
            self._since = now
            self.groups += 1
            self.visits += 1
            self._serve([item])
        else:
            self._queue.append((now, item))
            self._open()

    def join_all(self, items: Sequence[Item]) -> None:
        """Queue the items together; they are served at once if the stage is free."""
        if len(items) == 1:
            self.join(items[0])
            return
        now = self._clock._now
        self._queue.extend([(now, item) for item in items])
        if not self._taken:
            if items and self._approach is not None:
                self._taken = True
                self._approach(self._begin, None)
            elif items:
                self._begin(None)
            return
        if self._sleeps is not None and items:
            self._sleeps(items[0])
        if self._gathering and self._naps == 1 and self._full():
            self._close(self._gathering)

    def leave(self) -> None:
        """The group in service leaves; the next one starts."""
        self.busy_s += self._clock._now - self._since
        if not self._queue:
            self._taken = False
        elif self._wake is None:
            self._begin(None)
        else:
            self._wake(self._begin, self._queue[0][1])

    @property
    def mean_group(self) -> float:
        """Mean number of items per group, 0 before the first one."""
        return self.visits / self.groups if self.groups else 0.0

    def __len__(self) -> int:
        """How many are waiting."""
        return len(self._queue)

    def _open(self, _: Any = None) -> None:
        self._taken = True
        assert self._gather_s is not None
        gather = self._gather_s()
        if gather <= 0.0 or self._full():
            self._start()
        else:
            self._gathering = self.groups + 1
            if self._naps > 1 and self._wake is not None:
                self._nap((gather / self._naps + _SLACK_S, self._naps))
            else:
                self._clock.at(self._clock.now + gather, self._close, self._gathering)

    def _nap(self, rest: tuple[float, int]) -> None:
        """The leader sleeps for a part of the time."""
        if self._sleeps is not None:
            self._sleeps(self._queue[0][1])
        self._clock.at(self._clock.now + rest[0], self._nap_over, rest)

    def _nap_over(self, rest: tuple[float, int]) -> None:
        seconds, left = rest
        self._left = (seconds, left - 1)
        assert self._wake is not None
        self._wake(self._look, self._queue[0][1])

    def _look(self, _: Any) -> None:
        """The leader has woken: it looks whether enough have come."""
        if self._left[1] and not self._full():
            self._nap(self._left)
        else:
            self._close(self._gathering)

    def _full(self) -> bool:
        return 0 < self._gather_count <= len(self._queue)

    def _close(self, group: int) -> None:
        if self._gathering == group:  # else: it was full before its time
            self._gathering = 0
            self._start()

    def _start(self, _: Any = None) -> None:
        self._taken = True
        now = self._since = self._clock._now
        queue = self._queue
        self.groups += 1
        size = len(queue)
        if size == 1 or self._largest == 1:
            arrived, item = queue.popleft()
            wait = now - arrived
            if wait > self.wait_max_s:
                self.wait_max_s = wait
            self.wait_s += wait
            self.visits += 1
            self._serve([item])
            return
        longest = now - queue[0][0]
        if longest > self.wait_max_s:
            self.wait_max_s = longest
        if self._largest is None or size <= self._largest:
            entries = list(queue)
            queue.clear()
        else:
            size = self._largest
            entries = [queue.popleft() for _ in range(size)]
        wait_s = self.wait_s
        for arrived, _item in entries:
            wait_s += now - arrived
        self.wait_s = wait_s
        self.visits += size
        self._serve([item for _, item in entries])


class WatchedStage(Stage[Item]):
    """A stage that tells a line who waits, and which group is in service."""

    def __init__(
        self,
        line: Line,
        clock: Clock,
        serve: Callable[[list[Item]], object],
        name: str = "",
        **how: Any,
    ) -> None:
        super().__init__(clock, self._begin_service, name, **how)
        self._line = line
        self._serve_group = serve

    def _begin_service(self, group: list[Item]) -> None:
        self._line.serve(group)
        self._serve_group(group)

    def join(self, item: Item) -> None:
        """See ``Stage.join``."""
        if self._taken or self._gather_s is not None or self._approach is not None:
            self._line.wait(item)
        super().join(item)

    def join_all(self, items: Sequence[Item]) -> None:
        """See ``Stage.join_all``."""
        if len(items) > 1:
            for item in items:
                self._line.wait(item)
        super().join_all(items)

    def leave(self) -> None:
        """See ``Stage.leave``."""
        self._line.leave()
        super().leave()

    def _open(self, _: Any = None) -> None:
        super()._open()
        if self._gathering:
            self._line.leave()
