"""Machines that may be told which thread of a program sleeps, and which one wakes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

__all__ = ["Call", "ToldHost"]

Call = Callable[[Any], object]


class ToldHost:
    """What work says of its threads; it matters only where each core has a queue (``CoreProgram``).

    Elsewhere any thread is as good as another.
    """

    __slots__ = ()
    tells_threads = False
    """Whether it is told which of its threads sleeps and wakes, because that matters."""

    follows_wakers = False
    """Whether its threads may go to the core of the one that wakes them."""

    def follow_wakers(self) -> None:
        """Let its threads go to the core of the one that wakes them, if that matters."""

    def tell_threads(self) -> None:
        """Say which of its threads sleeps and wakes, from now on, if that matters."""

    def doze(self) -> Any:
        """The thread whose work has just ended sleeps from now on; what ``rouse`` needs."""
        return None

    def rouse(self, sleeper: Any, seconds: float, call: Call, argument: Any = None) -> None:
        """``run``, by the thread that ``doze`` was called for, where that matters."""
        del sleeper
        self.run(seconds, call, argument)

    def interrupt(self, sleeper: Any, seconds: float, call: Call, argument: Any = None) -> None:
        """``rouse``, by an interrupt of the disk and not by another thread."""
        self.rouse(sleeper, seconds, call, argument)

    def go_on_as(self, sleeper: Any, seconds: float, call: Call, argument: Any = None) -> None:
        """``go_on``, or ``rouse`` where the work that has just ended was another program's."""
        del sleeper
        self.go_on(seconds, call, argument)

    def proceed(self, seconds: float, call: Call, argument: Any = None) -> None:
        """``go_on`` where it matters which thread does what, else ``run``."""
        self.run(seconds, call, argument)

    @abstractmethod
    def run(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.run``."""

    @abstractmethod
    def go_on(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.go_on``."""
