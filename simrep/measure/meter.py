"""What the clients of one replication see: one call per transaction that ends."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from math import inf
from operator import add

import numpy as np
from numpy.typing import NDArray

from simrep.kernel.clock import Clock
from simrep.measure.histogram import LatencyHistogram
from simrep.measure.series import CommitSeries, Series, Stall

__all__ = ["ClassCount", "Measurement", "Meter", "TransactionLog"]


@dataclass(frozen=True, slots=True)
class ClassCount:
    """One class of transactions, for example the reads of a mix.

    Attributes
    ----------
    latency : LatencyHistogram
        Latencies of its committed transactions; its length is their number.
    aborted : int
    """

    latency: LatencyHistogram
    aborted: int


@dataclass(frozen=True, slots=True, eq=False)
class TransactionLog:
    """Every transaction that ended while measuring, in the order of its end.

    Attributes
    ----------
    started_s, latency_s : numpy.ndarray of float
        Shape (transactions,).
    client : numpy.ndarray of int
    kind : numpy.ndarray of str
        Class of transaction.
    committed : numpy.ndarray of bool
        False for the aborted.
    """

    started_s: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    client: NDArray[np.int64]
    kind: NDArray[np.str_]
    committed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.started_s)


class _LogColumns:
    """A log while it grows: 25 bytes per transaction."""

    def __init__(self) -> None:
        self.started_s = array("d")
        self.ended_s = array("d")
        self.client = array("q")
        self.kind = array("i")
        self.committed = array("b")
        self._codes: dict[str, int] = {}

    def append(
        self, started_s: float, ended_s: float, client: int, kind: str, committed: bool
    ) -> None:
        self.started_s.append(started_s)
        self.ended_s.append(ended_s)
        self.client.append(client)
        self.kind.append(self._codes.setdefault(kind, len(self._codes)))
        self.committed.append(committed)

    def log(self) -> TransactionLog:
        started_s = np.array(self.started_s, np.float64)
        names = np.array(list(self._codes), np.str_)
        return TransactionLog(
            started_s=started_s,
            latency_s=np.array(self.ended_s, np.float64) - started_s,
            client=np.array(self.client, np.int64),
            kind=names[np.array(self.kind, np.intp)],
            committed=np.array(self.committed, np.bool_),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """What one replication measured; times in simulated seconds.

    Attributes
    ----------
    began_s, ended_s : float
        The measured time: the window when one was given, else first start to last end.
    committed, aborted : int
    latency : LatencyHistogram
        Latencies of the committed transactions.
    classes : mapping of str to ClassCount
        By class of transaction, sorted by name; also when there is only one.
    series : Series
    stall : Stall
    log : TransactionLog or None
        Only when it was asked for.
    laps : mapping of str to tuple of float
        Time in every stage, summed over the committed transactions of a class, in seconds.
    """

    began_s: float
    ended_s: float
    committed: int
    aborted: int
    latency: LatencyHistogram
    classes: Mapping[str, ClassCount]
    series: Series
    stall: Stall
    log: TransactionLog | None = None
    laps: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def makespan_s(self) -> float:
        """Length of the measured time in seconds."""
        return self.ended_s - self.began_s

    @property
    def throughput_tps(self) -> float:
        """Committed transactions per second of the measured time."""
        return self.committed / self.makespan_s if self.makespan_s > 0.0 else 0.0


# Since Python 3.12 ``sum`` compensates rounding: its last digit is another one.
_sum = sum if sys.version_info < (3, 12) else partial(reduce, add)

_ROWS = 256
"""So many transactions are summed at a time: cheaper than one by one, and still few to keep."""


def _columns(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Sums of the columns."""
    return tuple([_sum(column) for column in zip(*rows, strict=True)])


class Meter:
    """Counts the transactions that end after the warm-up, whenever they started.

    The warm-up counts from now, in seconds; ``interval_s`` is that of the time series. With ``log``
    every transaction is kept, so that memory grows with their number.
    """

    __slots__ = ("_aborted", "_adds", "_clock", "_first_s", "_histograms", "_laps", "_last_s",
                 "_log", "_series", "start_s")  # fmt: skip

    def __init__(
        self, clock: Clock, warmup_s: float = 0.0, interval_s: float = 1.0, log: bool = False
    ) -> None:
        if not 0.0 <= warmup_s < inf:
            raise ValueError(f"warmup_s must be at least 0, given {warmup_s}")
        self._clock = clock
        self.start_s = clock.now + warmup_s
        self._series = CommitSeries(self.start_s, interval_s)
        self._histograms: dict[str, LatencyHistogram] = {}
        self._adds: dict[str, Callable[[float], None]] = {}
        self._aborted: dict[str, int] = {}
        self._laps: dict[str, list[Sequence[float]]] = {}
        self._first_s = inf
        self._last_s = -inf
        self._log = _LogColumns() if log else None

    def opened(self) -> None:
        """A client begins to connect now: without a warm-up, the makespan starts here."""
        if self._clock.now < self._first_s:
            self._first_s = self._clock.now

    def committed(self, started_s: float, kind: str = "", client: int = 0, node: int = 0) -> None:
        """A transaction that its client started at ``started_s`` is committed now."""
        now = self._clock._now
        if now < self.start_s:
            return
        if started_s < self._first_s:
            self._first_s = started_s
        self._last_s = now
        self._series.committed(now, started_s)
        try:
            count = self._adds[kind]
        except KeyError:
            count = self._new_class(kind)
        count(now - started_s)
        if self._log is not None:
            self._log.append(started_s, now, client, kind, True)

    def aborted(
        self, started_s: float, kind: str = "", client: int = 0, node: int = 0, error: str = ""
    ) -> None:
        """A transaction that its client started at ``started_s`` fails now."""
        now = self._clock._now
        if now < self.start_s:
            return
        if started_s < self._first_s:
            self._first_s = started_s
        self._last_s = now
        self._series.aborted(now, started_s)
        self._aborted[kind] = self._aborted.get(kind, 0) + 1
        if self._log is not None:
            self._log.append(started_s, now, client, kind, False)

    def laps(self, kind: str, seconds: Sequence[float]) -> None:
        """A transaction of this class is committed now: how long it was in every stage."""
        if self._clock._now < self.start_s:
            return
        try:
            rows = self._laps[kind]
        except KeyError:
            rows = self._laps[kind] = []
        rows.append(seconds)
        if len(rows) == _ROWS:
            rows[:] = [_columns(rows)]

    def _new_class(self, kind: str) -> Callable[[float], None]:
        histogram = self._histograms[kind] = LatencyHistogram()
        count = self._adds[kind] = histogram.add  # bound once, called per transaction
        return count

    def measurement(
        self, until_s: float | None = None, in_flight_since_s: float | None = None
    ) -> Measurement:
        """What was measured so far.

        The window ends at ``until_s``, for a run of given length. Without it, for a given number of
        transactions, it lasts from the first start (or the end of the warm-up) to the last end.
        ``in_flight_since_s`` is the start of the oldest transaction that is still in flight, so
        that a cluster that hangs to the end shows as a stall. Both are in simulated seconds.
        """
        measured = self._last_s > -inf
        if until_s is None:
            began_s = max(self.start_s, self._first_s) if measured else self.start_s
            ended_s = self._last_s if measured else self.start_s
        else:
            began_s, ended_s = self.start_s, until_s
            if until_s < max(self.start_s, self._last_s):
                raise ValueError(f"until_s = {until_s} lies before what has been measured")
        latency = LatencyHistogram.merged(self._histograms.values())
        kinds = sorted(self._histograms.keys() | self._aborted.keys())
        return Measurement(
            began_s=began_s,
            ended_s=ended_s,
            committed=latency.count,
            aborted=sum(self._aborted.values()),
            latency=latency,
            classes={
                kind: ClassCount(
                    LatencyHistogram.merged(
                        [self._histograms[kind]] if kind in self._histograms else []
                    ),
                    self._aborted.get(kind, 0),
                )
                for kind in kinds
            },
            series=self._series.series(ended_s),
            stall=self._series.stall(ended_s, in_flight_since_s),
            log=self._log.log() if self._log is not None else None,
            laps={kind: _columns(self._laps[kind]) for kind in sorted(self._laps)},
        )
