"""Threads that know what they do next."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["Ahead"]


class Ahead(ABC):
    """A thread whose next jobs are known when it gets a core: many of them are one event.

    It is exact where what a job does at its end may be done earlier, for that time: something is
    sent, or written down for others who look at the clock when they read it. Only the order of
    events at exactly the same instant may differ, and a machine's ``busy_s`` counts all of the
    jobs at the start of the first. It keeps its core from job to job, for a slice at most.
    """

    __slots__ = ()

    @abstractmethod
    def plan(self, more_s: float, used_s: float, busy_s: float) -> tuple[float, float, float]:
        """Do jobs from now on, the first of which takes ``more_s`` more.

        For each, its seconds are added to the end of those before it, to ``used_s`` and to
        ``busy_s``, as if it were a visit; the last is that with which ``used_s`` comes to a slice.
        Gives the three sums. A job that is longer than a slice is left to be the first of a plan,
        and then done alone: the end is -1, and the second figure its seconds.
        """

    @abstractmethod
    def planned(self, _: None) -> None:
        """It has come to the end of what it has planned."""

    @abstractmethod
    def done(self, _: None) -> None:
        """It has done the job that is longer than a slice."""
