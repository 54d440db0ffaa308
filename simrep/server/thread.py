"""A single thread of a server process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from simrep.server.host import Host

__all__ = ["Thread"]

Call = Callable[[Any], object]


Job = tuple[float, Call, Any]


def _nothing(_: Any) -> None:
    pass


_REST: Job = (0.0, _nothing, None)


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
        self._jobs: deque[Job] = deque()
        self._busy = False
        self._extra = 0.0

    def do(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Queue a job that costs ``seconds`` of a core and ends with ``call(argument)``."""
        job = (seconds, call, argument)
        if self._busy:
            self._jobs.append(job)
        else:
            self._busy = True
            self._host.run(seconds, self._finish, job)

    def charge(self, seconds: float) -> None:
        """Work that the present job found it had to do: it delays the next job."""
        self._extra += seconds
        if not self._busy:
            self._busy = True
            self._finish(_REST)

    def _finish(self, job: Job) -> None:
        job[1](job[2])
        jobs = self._jobs
        while jobs or self._extra:
            job = jobs.popleft() if jobs else _REST
            seconds = job[0]
            if self._extra:
                seconds += self._extra
                self._extra = 0.0
            if seconds > 0.0:
                self._host.go_on(seconds, self._finish, job)
                return
            job[1](job[2])
        self._busy = False

    def __len__(self) -> int:
        """Jobs waiting, without the one that runs."""
        return len(self._jobs)
