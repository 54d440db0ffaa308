"""How busy the stations of a model were while it was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from simrep.kernel.clock import Clock

__all__ = ["Station", "StationUse", "StationWatch"]


class Station(Protocol):
    """What a station counts from the start of the simulation, as ``Fifo`` does."""

    @property
    def name(self) -> str:
        """Name under which it is reported."""

    @property
    def servers(self) -> int:
        """Number of servers."""

    @property
    def visits(self) -> int:
        """Visits booked."""

    @property
    def busy_s(self) -> float:
        """Service time booked, in seconds over all servers."""

    @property
    def wait_s(self) -> float:
        """Time in the queue, in seconds over all visits."""

    @property
    def wait_max_s(self) -> float:
        """Longest time in the queue in seconds."""


@dataclass(frozen=True, slots=True)
class StationUse:
    """Use of one station over the measured time.

    Attributes
    ----------
    name : str
    servers : int
    visits : float
        Visits that arrived (a mean when replications were combined).
    utilisation : float
        Fraction of the servers' time that was used, 0 to 1.
    queue_mean : float
        Mean number waiting, without those in service (Little's law: waiting time per time).
    wait_mean_s : float
        Mean wait of a visit in seconds.
    wait_max_s : float
        Longest wait in seconds, the warm-up included.

    Notes
    -----
    A visit is booked with its whole service and wait when it arrives, so work that reaches over
    the end of measuring counts fully. The error is one backlog per run; utilisation stops at 1.
    """

    name: str
    servers: int
    visits: float
    utilisation: float
    queue_mean: float
    wait_mean_s: float
    wait_max_s: float

    @classmethod
    def mean(cls, uses: list[StationUse]) -> StationUse:
        """The same station over replications: means, and the longest wait of all."""
        count = len(uses)
        visits = sum(use.visits for use in uses)
        waited_s = sum(use.wait_mean_s * use.visits for use in uses)
        return cls(
            name=uses[0].name,
            servers=uses[0].servers,
            visits=visits / count if count > 1 else visits,
            utilisation=sum(use.utilisation for use in uses) / count,
            queue_mean=sum(use.queue_mean for use in uses) / count,
            wait_mean_s=waited_s / visits if visits else 0.0,
            wait_max_s=max(use.wait_max_s for use in uses),
        )


def _nothing() -> None:
    pass


class StationWatch:
    """Remembers the counts of stations when measuring starts, to report the difference.

    ``settle()`` is called before it looks at them.
    """

    def __init__(
        self,
        clock: Clock,
        stations: Iterable[Station],
        start_s: float = 0.0,
        settle: Callable[[], object] = _nothing,
    ) -> None:
        self._clock = clock
        self._settle = settle
        self._stations = tuple(stations)
        self._start_s = start_s
        self._before = [(0, 0.0, 0.0)] * len(self._stations)
        if start_s > clock.now:
            clock.at(start_s, self._mark)
        else:
            self._mark(None)

    def _mark(self, _: object) -> None:
        self._settle()
        self._start_s = self._clock.now
        self._before = [(s.visits, s.busy_s, s.wait_s) for s in self._stations]

    def use(self) -> tuple[StationUse, ...]:
        """Use from the start of measuring until now."""
        self._settle()
        elapsed_s = self._clock.now - self._start_s
        return tuple(
            _use(station, before, elapsed_s)
            for station, before in zip(self._stations, self._before, strict=True)
        )


def _use(station: Station, before: tuple[int, float, float], elapsed_s: float) -> StationUse:
    visits = station.visits - before[0]
    busy_s = station.busy_s - before[1]
    wait_s = station.wait_s - before[2]
    measured = elapsed_s > 0.0
    return StationUse(
        name=station.name,
        servers=station.servers,
        visits=visits,
        utilisation=min(1.0, busy_s / (station.servers * elapsed_s)) if measured else 0.0,
        queue_mean=wait_s / elapsed_s if measured else 0.0,
        wait_mean_s=wait_s / visits if visits else 0.0,
        wait_max_s=station.wait_max_s,
    )
