"""What the clients of one replication see: one call per transaction that ends."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from math import inf
from operator import add, sub
from typing import Final

from simrep.kernel.arrays import NDArray, np
from simrep.kernel.clock import Clock
from simrep.measure.counts import ClassCount, Latencies, NodeCount, error_of, error_texts
from simrep.measure.histogram import LatencyHistogram
from simrep.measure.series import CommitSeries, Series, Stall

__all__ = ["Measurement", "Meter", "TransactionLog"]


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
    node : numpy.ndarray of str
        Name of the node to which it was submitted.
    error : numpy.ndarray of str
        What the client was told of the aborted.
    """

    started_s: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    client: NDArray[np.int64]
    kind: NDArray[np.str_]
    committed: NDArray[np.bool_]
    node: NDArray[np.str_]
    error: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.started_s)


_Row = tuple[float, float, str, int, int]
"""Of a transaction: end and start in seconds, class, node and client."""


class _LogColumns:
    """A log while it grows: 33 bytes per transaction."""

    def __init__(self) -> None:
        self.started_s = array("d")
        self.ended_s = array("d")
        self.client = array("q")
        self.kind = array("i")
        self.node = array("i")
        self.error = array("i")
        self._codes: dict[str, int] = {}
        self._errors = {"": 0}

    def extend(self, rows: Sequence[_Row], error: str = "") -> None:
        """Transactions that ended with this error, or committed."""
        ended_s, started_s, kinds, nodes, clients = zip(*rows, strict=True)
        self.started_s.extend(started_s)
        self.ended_s.extend(ended_s)
        self.client.extend(clients)
        self.kind.extend([self._codes.setdefault(kind, len(self._codes)) for kind in kinds])
        self.node.extend(nodes)
        code = self._errors.setdefault(error, len(self._errors))
        self.error.extend([code] * len(rows))

    def log(self, names: Sequence[str]) -> TransactionLog:
        started_s = np.array(self.started_s, np.float64)
        kinds = np.array(list(self._codes), np.str_)
        error = np.array(self.error, np.intp)
        return TransactionLog(
            started_s=started_s,
            latency_s=np.array(self.ended_s, np.float64) - started_s,
            client=np.array(self.client, np.int64),
            kind=kinds[np.array(self.kind, np.intp)],
            committed=error == 0,
            node=np.array(names, np.str_)[np.array(self.node, np.intp)],
            error=np.array(list(self._errors), np.str_)[error],
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
    nodes : mapping of str to NodeCount
        By name of the node, in their order; also those that have no clients.
    error_texts : mapping of str to str
        What the errors say, by their number or words.
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
    nodes: Mapping[str, NodeCount]
    error_texts: Mapping[str, str]
    series: Series
    stall: Stall
    log: TransactionLog | None = None
    laps: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def errors(self) -> dict[str, int]:
        """Aborts by what clients were told: the number of the error, or its words."""
        return {
            error: sum(count.errors[error] for count in self.classes.values())
            for error in self.error_texts
        }

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

_ROWS: Final = 256
"""So many transactions are summed at a time: cheaper than one by one, and still few to keep."""


def _columns(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Sums of the columns."""
    return tuple([_sum(column) for column in zip(*rows, strict=True)])


class Meter:
    """Counts the transactions that end after the warm-up, whenever they started.

    The warm-up counts from now, in seconds; ``interval_s`` is that of the time series. With ``log``
    every transaction is kept, so that memory grows with their number. ``names`` are those of the
    nodes by position; ``errors`` are shown also if no client is told of them. ``readers`` are the
    classes that only read, if others write: they do not end a stall.
    """

    __slots__ = ("_aborted", "_clock", "_counted", "_ended", "_errors", "_first_s", "_laps",
                 "_last_s", "_latencies", "_log", "_names", "_readers", "_series",
                 "start_s")  # fmt: skip

    def __init__(
        self,
        clock: Clock,
        warmup_s: float = 0.0,
        interval_s: float = 1.0,
        log: bool = False,
        names: Sequence[str] = ("n1",),
        errors: Sequence[str] = (),
        readers: Container[str] = (),
    ) -> None:
        if not 0.0 <= warmup_s < inf:
            raise ValueError(f"warmup_s must be at least 0, given {warmup_s}")
        self._clock = clock
        self.start_s = clock.now + warmup_s
        self._series = CommitSeries(self.start_s, interval_s)
        self._names = names
        self._errors = errors
        self._readers = readers
        self._latencies: dict[str, Latencies] = {}
        self._ended: list[_Row] = []  # committed, and not counted yet
        self._counted = 0
        self._aborted: Counter[tuple[str, int, str]] = Counter()  # by class, node and error
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
        if now >= self.start_s:
            rows = self._ended
            rows.append((now, started_s, kind, node, client))
            if len(rows) == _ROWS:
                self._count_ended()
                self._sum_laps()

    @property
    def count(self) -> int:
        """Transactions that have committed in the measured time so far."""
        return self._counted + len(self._ended)

    def _count_ended(self) -> None:
        """Count those that have committed since the last time."""
        rows = self._ended
        if not rows:
            return
        self._counted += len(rows)
        ended_s, started_s, of_kinds, _, _ = zip(*rows, strict=True)
        self._first_s = min(self._first_s, *started_s)
        self._last_s = ended_s[-1]
        self._series.ended(ended_s)
        kinds = dict.fromkeys(of_kinds)
        if not any(kind in self._readers for kind in kinds):
            self._series.wrote(ended_s, started_s)
        elif wrote := [row for row in rows if row[2] not in self._readers]:
            self._series.wrote([row[0] for row in wrote], [row[1] for row in wrote])
        for kind in kinds:
            of_kind = rows if len(kinds) == 1 else [row for row in rows if row[2] == kind]
            ends_s, starts_s, _, nodes, _ = zip(*of_kind, strict=True)
            latencies = self._latencies.setdefault(kind, Latencies())
            latencies.extend(list(map(sub, ends_s, starts_s)), nodes)
        if self._log is not None:
            self._log.extend(rows)
        rows.clear()

    def aborted(
        self,
        started_s: float,
        kind: str = "",
        client: int = 0,
        node: int = 0,
        error: str = "not told",
    ) -> None:
        """A transaction that its client started at ``started_s`` fails now, with this error."""
        now = self._clock._now
        if now < self.start_s:
            return
        self._count_ended()
        if started_s < self._first_s:
            self._first_s = started_s
        self._last_s = now
        if kind in self._readers:
            self._series.read_aborted(now)
        else:
            self._series.aborted(now, started_s)
        self._aborted[kind, node, error] += 1
        if self._log is not None:
            self._log.extend([(now, started_s, kind, node, client)], error)

    def waited(self, since_s: float) -> None:
        """A client with something to do has paused since then, or tried to connect."""
        if self._clock._now >= self.start_s:
            self._count_ended()
            self._series.waited(self._clock._now, since_s)

    def laps(self, kind: str, seconds: Sequence[float]) -> None:
        """A transaction of this class is committed now: how long it was in every stage."""
        if self._clock._now < self.start_s:
            return
        try:
            self._laps[kind].append(seconds)
        except KeyError:
            self._laps[kind] = [seconds]

    def _sum_laps(self) -> None:
        """Keep the sums of what was told since the last time; one after the other, as always."""
        for rows in self._laps.values():
            rows[:] = [_columns(rows)]

    def measurement(
        self, until_s: float | None = None, in_flight_since_s: float | None = None
    ) -> Measurement:
        """What was measured so far.

        The window ends at ``until_s``, for a run of given length. Without it, for a given number of
        transactions, it lasts from the first start (or the end of the warm-up) to the last end.
        ``in_flight_since_s`` is the start of the oldest transaction that is still in flight, so
        that a cluster that hangs to the end shows as a stall. Both are in simulated seconds.
        """
        self._count_ended()
        measured = self._last_s > -inf
        if until_s is None:
            began_s = max(self.start_s, self._first_s) if measured else self.start_s
            ended_s = self._last_s if measured else self.start_s
        else:
            began_s, ended_s = self.start_s, until_s
            if until_s < max(self.start_s, self._last_s):
                raise ValueError(f"until_s = {until_s} lies before what has been measured")
        for latencies in self._latencies.values():
            latencies.sort()
        latency = LatencyHistogram.merged(one.total for one in self._latencies.values())
        kinds = sorted(self._latencies.keys() | {kind for kind, _, _ in self._aborted})
        texts = error_texts(self._errors, {error for _, _, error in self._aborted})
        return Measurement(
            began_s=began_s,
            ended_s=ended_s,
            committed=latency.count,
            aborted=self._aborted.total(),
            latency=latency,
            classes={kind: self._count(kind, texts) for kind in kinds},
            nodes={
                name: NodeCount.of(
                    {kind: self._count(kind, texts, node) for kind in kinds}, ended_s - began_s
                )
                for node, name in enumerate(self._names)
            },
            error_texts=texts,
            series=self._series.series(ended_s),
            stall=self._series.stall(ended_s, in_flight_since_s),
            log=self._log.log(self._names) if self._log is not None else None,
            laps={kind: _columns(self._laps[kind]) for kind in sorted(self._laps)},
        )

    def _count(self, kind: str, texts: Iterable[str], node: int | None = None) -> ClassCount:
        """What was counted of a class, everywhere or on one node."""
        errors = dict.fromkeys(texts, 0)
        for (of, where, told), times in self._aborted.items():
            if of == kind and node in {None, where}:
                errors[error_of(told)] += times
        latencies = self._latencies.get(kind) or Latencies()
        latency = latencies.total if node is None else latencies.by_node.get(node)
        return ClassCount(
            LatencyHistogram.merged([] if latency is None else [latency]),
            sum(errors.values()),
            errors,
        )
