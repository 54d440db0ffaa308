"""Threads of a process, which do one job after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simrep.kernel.deque import deque
from simrep.server.host import Call, Host

__all__ = ["Thread", "WaitingThread"]


def _nothing(_: Any) -> None:
    pass


class Thread:
    """One job at a time, first come first served; between jobs it keeps its core.

    Parameters
    ----------
    host : Host
        Where it runs.
    """

    __slots__ = (
        "_argument", "_busy", "_call", "_extra", "_host", "_jobs", "_sleeper", "_then", "_waits",
    )  # fmt: skip

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs: deque[tuple[float, Call, Any]] = deque()
        self._busy = False
        self._sleeper: Any = None
        self._waits = False  # see ``WaitingThread``
        self._extra = 0.0
        self._call: Call = _nothing  # of the present job
        self._argument: Any = None
        self._then: Call = self._finish

    def do(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Queue a job that costs ``seconds`` of a core and ends with ``call(argument)``."""
        if self._busy:
            self._jobs.append((seconds, call, argument))
        else:
            self._busy = True
            self._call = call
            self._argument = argument
            self._host.rouse(self._sleeper, seconds, self._then)

    def do_next(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Let a job be the next one after the present job, in which this is called."""
        self._jobs.appendleft((seconds, call, argument))

    def do_all(self, seconds: float, call: Call, arguments: Sequence[Any]) -> None:
        """Queue a job for each of the arguments; each costs ``seconds``, more than 0."""
        rest = arguments
        if not self._busy:
            self.do(seconds, call, arguments[0])
            rest = arguments[1:]
        self._jobs.extend([(seconds, call, argument) for argument in rest])

    def charge(self, seconds: float) -> None:
        """Work that the present job found it had to do: it delays the next job."""
        self._extra += seconds
        if not self._busy:
            self._busy = True
            self._go_on()

    def _finish(self, _: None) -> None:
        """The present job is done."""
        self._call(self._argument)
        if self._jobs or self._extra:
            self._go_on()
        else:
            self._busy = False
            self._sleeper = self._host.doze()

    def _go_on(self) -> None:
        """Take the next job, or do what was charged."""
        jobs = self._jobs
        while True:
            seconds = self._extra
            self._extra = 0.0
            if jobs:
                cost_s, call, argument = jobs.popleft()
                seconds += cost_s
            elif seconds:
                call, argument = _nothing, None
            else:
                self._busy = False
                return
            if seconds > 0.0:
                self._call = call
                self._argument = argument
                self._host.go_on(seconds, self._then)
                return
            call(argument)
            if self._waits:
                return

    def __len__(self) -> int:
        """Jobs waiting, without the one that runs."""
        return len(self._jobs)


class WaitingThread(Thread):
    """A thread that also waits for what takes no processor: calls that block it.

    It begins to wait in a job, and goes on with the next one when it is told so.
    """

    __slots__ = ()

    @property
    def waits(self) -> bool:
        """Whether it waits now."""
        return self._waits

    def wait(self) -> None:
        """Wait from the end of the present job on."""
        self._waits = True

    def go_on(self) -> None:
        """Wait no longer."""
        if self._waits:
            self._waits = False
            self._go_on()

    def _finish(self, _: None) -> None:
        """The present job is done."""
        self._call(self._argument)
        if not self._waits:
            self._go_on()
