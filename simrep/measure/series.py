"""Commits and aborts per interval of simulated time, and the longest silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan

from simrep.kernel.arrays import NDArray, np

__all__ = ["CommitSeries", "Series", "Stall"]


@dataclass(frozen=True, slots=True)
class Stall:
    """The longest time without a commit although work was in flight.

    Where some transactions write, those that only read neither end it nor are such work.

    Attributes
    ----------
    seconds : float
        How long it lasted; 0 when nothing was measured.
    began_s : float
        When it began, in simulated seconds; NaN when nothing was measured.
    """

    seconds: float = 0.0
    began_s: float = nan


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """What was finished in each interval of a run.

    Attributes
    ----------
    start_s : float
        Simulated time at which the first interval begins.
    interval_s : float
        Length of an interval in seconds.
    end_s : float
        When measuring ended: the last interval is cut there.
    commits, aborts : numpy.ndarray
        Number per interval, shape (intervals,); means when replications were combined.
    """

    start_s: float
    interval_s: float
    end_s: float
    commits: NDArray[np.float64]
    aborts: NDArray[np.float64]

    @property
    def edges_s(self) -> NDArray[np.float64]:
        """Bounds of the intervals in simulated seconds, shape (intervals + 1,)."""
        return self.start_s + self.interval_s * np.arange(len(self.commits) + 1, dtype=np.float64)

    def rates(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Bounds in seconds, commits per second and aborts per second, ready to draw.

        The last interval is divided by the part of it that was measured. It is left out when
        that is less than half of it, since a rate over a sliver of time is mostly noise.
        """
        edges = self.edges_s
        if len(self.commits) == 0:
            return edges, self.commits, self.aborts
        edges[-1] = min(edges[-1], self.end_s)
        lengths = np.diff(edges)
        keep = len(lengths)
        if keep > 1 and lengths[-1] < 0.5 * self.interval_s:
            keep -= 1
        elif lengths[-1] <= 0.0:  # everything happened at one instant: there is no rate
            keep = 0
        lengths = lengths[:keep]
        return edges[: keep + 1], self.commits[:keep] / lengths, self.aborts[:keep] / lengths

    def spread_tps(self) -> dict[str, float]:
        """``sd``, ``min`` and ``p5`` of the commits per second of whole intervals.

        They tell a saw-tooth from a steady rate. Empty if there are fewer than two intervals.
        """
        whole = int((self.end_s - self.start_s) / self.interval_s + 1e-9)
        rates = self.commits[:whole] / self.interval_s
        if len(rates) < 2:
            return {}
        return {
            "sd": float(np.std(rates, ddof=1)),
            "min": float(rates.min()),
            "p5": float(np.quantile(rates, 0.05)),
        }

    @classmethod
    def mean(cls, series: list[Series]) -> Series:
        """Interval by interval mean over replications; one that ended early counts as zero."""
        first = series[0]
        if any((s.start_s, s.interval_s) != (first.start_s, first.interval_s) for s in series):
            raise ValueError("only series with equal start and interval can be averaged")
        size = max(len(s.commits) for s in series)

        def average(columns: list[NDArray[np.float64]]) -> NDArray[np.float64]:
            padded = [np.pad(column, (0, size - len(column))) for column in columns]
            return np.asarray(np.mean(padded, axis=0), np.float64)

        return cls(
            start_s=first.start_s,
            interval_s=first.interval_s,
            end_s=max(s.end_s for s in series),
            commits=average([s.commits for s in series]),
            aborts=average([s.aborts for s in series]),
        )


class CommitSeries:
    """Counts per interval and finds the longest stall while the run goes on.

    A stall lasts from a commit (or the start of measuring) to the next one, less any part in
    which no transaction is known to have been in flight. What is known are the starts of
    transactions that have ended: one that was in flight while others failed and paused shows that
    when it ends itself. So the figure is exact for clients without think time, whose aborted
    attempts are repeated at once, and a lower bound otherwise. Measuring starts at ``start_s``.
    Of a mix in which some transactions write, those that only read are counted and no more.
    """

    __slots__ = (
        "_aborts", "_commits", "_committed_s", "_edge_s", "_known_to_s", "_silent_from_s",
        "_stall_from_s", "_stall_s", "interval_s", "start_s",
    )  # fmt: skip

    def __init__(self, start_s: float = 0.0, interval_s: float = 1.0) -> None:
        if not 0.0 < interval_s < inf:
            raise ValueError(f"the interval must be above 0 s, given {interval_s}")
        self.start_s = start_s
        self.interval_s = interval_s
        self._commits: list[int] = []
        self._aborts: list[int] = []
        self._edge_s = start_s  # end of the last interval that has been opened
        # Since the last commit, work is known to have been in flight from _silent_from_s to
        # _known_to_s; right after a commit both are its time.
        self._committed_s = start_s
        self._silent_from_s = start_s
        self._known_to_s = start_s
        self._stall_s = 0.0
        self._stall_from_s = nan

    def ended(self, ended_s: Sequence[float]) -> None:
        """Transactions commit at these times, which never go back."""
        if ended_s[-1] < self._edge_s:
            self._commits[-1] += len(ended_s)
            return
        for now in ended_s:
            if now >= self._edge_s:
                self._open_intervals(now)
            self._commits[-1] += 1

    def wrote(self, ended_s: Sequence[float], started_s: Sequence[float]) -> None:
        """Those that write, or any if none does, started at these times and commit at those."""
        started, now = started_s[0], ended_s[0]
        if started > self._known_to_s:
            self._idle_until(started)
        elif self._silent_from_s > self._committed_s:
            self._silent_from_s = self._silent_since(started)
        self._silent(self._silent_from_s, now)
        if len(ended_s) > 1:  # from each commit on until the next, or from its start on
            ends = np.array(ended_s)
            begins = np.maximum(ends[:-1], started_s[1:])
            longest = int(np.argmax(ends[1:] - begins))
            self._silent(float(begins[longest]), ended_s[longest + 1])
        self._silent_from_s = self._known_to_s = self._committed_s = ended_s[-1]

    def _silent(self, from_s: float, to_s: float) -> None:
        if to_s - from_s > self._stall_s:
            self._stall_s = to_s - from_s
            self._stall_from_s = from_s

    def aborted(self, now: float, started_s: float) -> None:
        """A transaction that started at ``started_s`` gives up now: work, but no commit."""
        self.read_aborted(now)
        self.waited(now, started_s)

    def read_aborted(self, now: float) -> None:
        """One that only reads gives up now, in a mix in which others write."""
        if now >= self._edge_s:
            self._open_intervals(now)
        self._aborts[-1] += 1

    def waited(self, now: float, started_s: float) -> None:
        """Somebody with work has waited from ``started_s`` until now."""
        if started_s > self._known_to_s:
            self._idle_until(started_s)
        elif self._silent_from_s > self._committed_s:
            self._silent_from_s = self._silent_since(started_s)
        self._known_to_s = now

    def _idle_until(self, started_s: float) -> None:
        """Nothing was in flight before ``started_s``: a silence ends without a commit."""
        self._silent(self._silent_from_s, self._known_to_s)
        self._silent_from_s = started_s

    def _silent_since(self, started_s: float) -> float:
        """Begin of the silence, now that one which started at ``started_s`` is known of.

        It may have been in flight when nothing else was known to be.
        """
        return max(self._committed_s, min(self._silent_from_s, started_s))

    def _open_intervals(self, now: float) -> None:
        while now >= self._edge_s:
            self._commits.append(0)
            self._aborts.append(0)
            # A product instead of a running sum: the bounds do not drift.
            self._edge_s = self.start_s + len(self._commits) * self.interval_s

    def stall(self, end_s: float = -inf, in_flight_since_s: float | None = None) -> Stall:
        """The longest stall until measuring ended.

        ``in_flight_since_s`` is the start of the oldest transaction that has not ended by then.
        """
        candidates = [
            Stall(self._stall_s, self._stall_from_s),
            Stall(self._known_to_s - self._silent_from_s, self._silent_from_s),
        ]
        if in_flight_since_s is not None:
            joined = in_flight_since_s <= self._known_to_s
            began_s = self._silent_since(in_flight_since_s) if joined else in_flight_since_s
            candidates.append(Stall(end_s - began_s, began_s))
        longest = max(candidates, key=lambda stall: stall.seconds)
        return longest if longest.seconds > 0.0 else Stall()

    def series(self, end_s: float) -> Series:
        """What was counted, up to ``end_s``; intervals without an event are there with zeros."""
        if end_s > self._edge_s:
            self._open_intervals(np.nextafter(end_s, -inf))
        return Series(
            start_s=self.start_s,
            interval_s=self.interval_s,
            end_s=end_s,
            commits=np.array(self._commits, np.float64),
            aborts=np.array(self._aborts, np.float64),
        )
