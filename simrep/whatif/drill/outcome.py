"""The outcome of one fault in one replication: what servers noticed, and what clients lost.

All times are seconds after the begin of the fault unless they say otherwise. A time is infinite
if it did not come before the end of the run, and NaN if there is nothing that it could be about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf, isinf, isnan, nan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simrep.errors import SimrepError
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import Attempts
from simrep.measure.staleness import StaleReads
from simrep.workload.fate import FateCount

__all__ = ["LEAST_OUTAGE_S", "Outcome", "RunEnd", "outage", "outcome_of"]

_SETTLED_S = 2.0  # clients have connected
LEAST_OUTAGE_S, _GAPS = 1.0, 10.0
"""A time without an answer is an outage if it is longer than a second, and than ten times the usual
time between two answers: of answers at random, one gap in 22,000 is."""
_WINDOW_S, _COUNTED = 1.0, 60.0
"""The rate after the fault is counted in windows of a second; in longer ones where fewer than 60
answers are usual: half of them come by chance in one of 100,000 windows."""
_DETECTED = frozenset({"suspect", "link-closed", "manager-suspects", "proxy-down"})
_NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a fault in one replication.

    Attributes
    ----------
    fault_s : float
        When it began, in simulated seconds.
    detected_s : float
        Somebody else noticed it: a server to which it did not happen suspected one or lost a
        connection to it, a failover manager suspected one, or a proxy took one out. NaN if nobody
        noticed.
    writes_back_s : float
        The longest outage of writes was over: the first answer to a transaction that writes, of any
        client, after the last one before that outage. 0 if there was no outage: no time without
        such an answer longer than a second and than ten times the usual one.
    reads_back_s : float
        The same of transactions that only read; NaN if there are none.
    rto_s : float
        The length of that outage, or the longest time without such an answer if there was none,
        from the last answer before the fault to the end of the run: the return of servers is part
        of it. Not a time after the fault.
    lost : float
        Transactions that were answered to their clients as committed, and are on no node of the
        service at the end of the run. NaN if the model does not tell.
    lost_span_s : float
        Time from the answer of the first of them to that of the last.
    duplicated : float
        Transactions that are there more than once, as clients submitted them again; NaN if the
        model does not tell.
    stale : float
        Share of the reads from the fault on that missed what a client had been told before
        (``run.staleness``). NaN if there are no reads, or the model does not tell.
    stale_s : float
        For how long that had been answered, at most; 0 if no read was stale.
    slow_s : float
        How long clients had less than half of their usual rate of answered writes, outages
        included.
    whole_s : float
        From then on all nodes with data had all that had been answered a second ago, and servers
        that had ended were back. 0 if that was never otherwise; infinite also if writes did not
        come back; NaN if the model does not tell, or no other server has the data.
    errors : mapping of str to int
        Errors that clients met from the fault on, by number (or words): how often.
    usual_tps : float
        Answered writes per second before the fault.
    end_s : float
        When the run ended.
    """

    fault_s: float
    detected_s: float
    writes_back_s: float
    reads_back_s: float
    rto_s: float
    lost: float
    lost_span_s: float
    duplicated: float
    stale: float
    stale_s: float
    slow_s: float
    whole_s: float
    errors: Mapping[str, int]
    usual_tps: float
    end_s: float

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What ``to_dict`` made, bit for bit."""
        read = {None: nan, _NEVER: inf}
        own = {one.name: content[one.name] for one in fields(cls)}
        errors = own.pop("errors")
        return cls(
            errors={str(error): int(times) for error, times in errors.items()},
            **{name: float(read.get(value, value)) for name, value in own.items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it: NaN is None, and infinite ``"never"``."""
        content: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Mapping):
                content[one.name] = dict(value)
            else:
                content[one.name] = None if isnan(value) else _NEVER if isinf(value) else value
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """What is known of the nodes when a run ends.

    Attributes
    ----------
    complete : bool
        All nodes with data are up, and have all that was answered a second ago and is not lost.
    late_s : float
        When a transaction last came to the last of the nodes more than a second after its answer,
        in simulated seconds; minus infinity if none did.
    """

    complete: bool
    late_s: float


def outcome_of(
    attempts: Attempts,
    noted: Sequence[Noted],
    fates: FateCount | None,
    reads: StaleReads | None,
    end: RunEnd,
    *,
    fault_s: float,
    struck: Sequence[int],
    back_s: float,
    copies: bool,
) -> Outcome:
    """The outcome of a fault, from what a run has recorded.

    Parameters
    ----------
    attempts : Attempts
    noted : sequence of Noted
        In the order of time.
    fates : FateCount or None
    reads : StaleReads or None
        Those from the fault on.
    end : RunEnd
    fault_s : float
        When the fault began, in simulated seconds.
    struck : sequence of int
        Positions of the nodes that it happened to.
    back_s : float
        When the last of the servers that had ended was started again; infinite if none had.
    copies : bool
        Whether other servers have the data.

    Raises
    ------
    SimrepError
        If too little is written before the fault.
    """
    commits_s, answers_s = (attempts.of(writes=kind).commits_s for kind in (True, False))
    end_s = attempts.end_s
    usual_tps = _rate(commits_s, fault_s)
    before_s = fault_s - _SETTLED_S
    if usual_tps * before_s < _GAPS:
        raise SimrepError(
            f"{usual_tps * before_s:.0f} writes were answered in the {before_s:.0f} s before the "
            f"fault; at least {_GAPS:g} are needed to tell an outage from a pause: take more "
            "clients, or less think time"
        )
    back, rto_s = outage(commits_s, fault_s, end_s, usual_tps)
    counted = fates is not None and copies
    whole_s = _whole_s(noted, end, fault_s, struck, back_s) if counted else nan
    if counted and isinf(rto_s):
        whole_s = inf
    errors: Counter[str] = Counter()
    for error in attempts.between(fault_s).errors():
        errors[error.error] += error.times
    return Outcome(
        fault_s=fault_s,
        detected_s=_detected_s(noted, fault_s, struck),
        writes_back_s=back,
        reads_back_s=outage(answers_s, fault_s, end_s, _rate(answers_s, fault_s))[0],
        rto_s=rto_s,
        lost=nan if fates is None else float(fates.lost),
        lost_span_s=nan if fates is None else fates.lost_span_s,
        duplicated=nan if fates is None else float(fates.duplicated),
        stale=nan if reads is None else reads.share,
        stale_s=nan if reads is None or not reads.of_reads else _oldest_s(reads),
        slow_s=_slow_s(commits_s, fault_s, end_s, usual_tps),
        whole_s=whole_s,
        errors=dict(errors.most_common()),
        usual_tps=usual_tps,
        end_s=end_s,
    )


def outage(
    answers_s: NDArray[np.float64], fault_s: float, end_s: float, usual_tps: float
) -> tuple[float, float]:
    """When the longest outage was over, and how long it was.

    Parameters
    ----------
    answers_s : numpy.ndarray of float
        In simulated seconds and in order.
    fault_s, end_s : float
        From when on, and the end of the run.
    usual_tps : float
        Answers per second before that.

    Examples
    --------
    >>> answers = np.array([9.9, 10.1, 16.0, 16.1])
    >>> back, longest = outage(answers, 10.0, 16.2, 10.0)
    >>> round(back, 3), round(longest, 3)
    (6.0, 5.9)
    """
    if not usual_tps:
        return nan, nan
    least_s = max(LEAST_OUTAGE_S, _GAPS / usual_tps)
    first = max(0, int(np.searchsorted(answers_s, fault_s)) - 1)
    points = answers_s[first:]
    if end_s - float(points[-1]) > least_s:
        return inf, inf
    gaps = np.diff(points)
    if not len(gaps):
        return 0.0, 0.0
    longest = int(gaps.argmax())
    gap_s = float(gaps[longest])
    return (float(points[longest + 1]) - fault_s if gap_s > least_s else 0.0), gap_s


def _oldest_s(reads: StaleReads) -> float:
    return reads.age_s["max"] if reads.reads else 0.0


def _rate(answers_s: NDArray[np.float64], fault_s: float) -> float:
    """Answers per second before the fault."""
    before = np.searchsorted(answers_s, [_SETTLED_S, fault_s])
    return float(before[1] - before[0]) / (fault_s - _SETTLED_S)


def _slow_s(
    commits_s: NDArray[np.float64], fault_s: float, end_s: float, usual_tps: float
) -> float:
    """In how long clients had less than half of their usual rate."""
    window_s = max(_WINDOW_S, _COUNTED / usual_tps)
    windows = int((end_s - fault_s) / window_s)
    edges = fault_s + window_s * np.arange(windows + 1)
    counts = np.diff(np.searchsorted(commits_s, edges))
    return float((counts < 0.5 * usual_tps * window_s).sum()) * window_s


def _detected_s(noted: Sequence[Noted], fault_s: float, struck: Sequence[int]) -> float:
    for line in noted:
        if line.at_s >= fault_s and line.what in _DETECTED and line.node not in struck:
            return line.at_s - fault_s
    return nan


def _whole_s(
    noted: Sequence[Noted], end: RunEnd, fault_s: float, struck: Sequence[int], back_s: float
) -> float:
    if not end.complete:
        return inf
    synced_s = [
        line.at_s
        for line in noted
        if line.what == "synced" and line.node in struck and line.at_s >= back_s
    ]
    return max(0.0, *(at_s - fault_s for at_s in [end.late_s, *synced_s[:1]]))
