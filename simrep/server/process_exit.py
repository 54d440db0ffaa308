"""The end of a killed process: what the kernel of its machine does before it closes its files."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from simrep.kernel.clock import Clock, Event
from simrep.server.host import Host

__all__ = ["Killable", "ProcessExit"]


class ProcessExit:
    """A process that was killed, and whose sockets are still open.

    Its threads do nothing any more, but its kernel still takes what comes for it. First the kernel
    waits until asynchronous I/O is torn down, then it frees the memory, page by page, on a
    processor that it shares with everything else on the machine; only then it closes the sockets.

    Parameters
    ----------
    clock : Clock
        Of the run.
    host : Host
        The machine, or a process on it.
    wait_s : float
        What takes no processor, in seconds.
    work_s : float
        Work of one processor, in seconds.

    Attributes
    ----------
    done : bool
        Whether its sockets are closed.

    References
    ----------
    Linux, do_exit (exit_mm before exit_files) and mmput (exit_aio before exit_mmap).
    """

    __slots__ = ("_calls", "_host", "_work_s", "done")

    def __init__(self, clock: Clock, host: Host, wait_s: float, work_s: float) -> None:
        self.done = False
        self._calls: list[Callable[[], object]] = []
        self._host = host.machine
        self._work_s = work_s
        if wait_s:
            clock.at(clock.now + wait_s, self._free)
        else:
            self._free(None)

    def when_done(self, call: Callable[[], object]) -> None:
        """``call()`` when its sockets are closed; at once, if they are."""
        if self.done:
            call()
        else:
            self._calls.append(call)

    def _free(self, _: None) -> None:
        if self._work_s:
            self._host.run(self._work_s, self._close)
        else:
            self._close(None)

    def _close(self, _: None) -> None:
        self.done = True
        calls, self._calls = self._calls, []
        for call in calls:
            call()


class Killable:
    """The process of a server that may be killed: its kernel closes its connections later."""

    _exit: ProcessExit | None = None

    @property
    def closing(self) -> bool:
        """Whether it was killed, and its connections are still open."""
        return self._exit is not None and not self._exit.done

    def when_closed(self, call: Callable[[], object]) -> None:
        """``call()`` when they are closed; at once, unless it was killed a moment ago."""
        if self._exit is None:
            call()
        else:
            self._exit.when_done(call)

    def _closed(self, clock: Clock) -> Event:
        """Fires when they are closed."""
        closed = Event(clock)
        self.when_closed(partial(clock.fire, closed))
        return closed

    def _cut_off(self, clock: Clock, error: str) -> Generator[Event, Any, str]:
        """The kernel takes a connection for the killed process, and closes it with the others."""
        yield self._closed(clock)
        return error
