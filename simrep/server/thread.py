"""A single thread of a server process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from simrep.server.host import Host

__all__ = ["Thread"]

Call = Callable[[Any], object]


def _nothing(_: Any) -> None:
    pass


_REST: tuple[float, Call, Any] = (0.0, _nothing, None)


class Thread:
    """One job at a time, first come first served; between jobs it keeps its core.

    Parameters
    ----------
    host : Host
        Where it runs.
    """

    __slots__ = ("_busy", "_extra", "_host", "_jobs")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs: deque[tuple[float, Call, Any]] = deque()
        self._busy = False
        self._extra = 0.0

    def do(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Queue a job that costs ``seconds`` of a core and ends with ``call(argument)``."""
        if self._busy:
            self._jobs.append((seconds, call, argument))
        else:
            self._busy = True
            self._host.run(seconds, self._finish, (call, argument))

    def charge(self, seconds: float) -> None:
        """Work that the present job found it had to do: it delays the next job."""
        self._extra += seconds
        if not self._busy:
            self._busy = True
            self._finish((_nothing, None))

    def _finish(self, job: tuple[Call, Any]) -> None:
        job[0](job[1])
        jobs = self._jobs
        while jobs or self._extra:
            seconds, call, argument = jobs.popleft() if jobs else _REST
            if self._extra:
                seconds += self._extra
                self._extra = 0.0
            if seconds > 0.0:
                self._host.go_on(seconds, self._finish, (call, argument))
                return
            call(argument)
        self._busy = False

    def __len__(self) -> int:
        """Jobs waiting, without the one that runs."""
        return len(self._jobs)
