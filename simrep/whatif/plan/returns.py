"""One node that leaves and comes back, simulated: what it takes, and what the others feel.

A long absence is not simulated, a short one is. While the node is away the others commit, which
tells how fast it falls behind. When it is back it lacks so many transactions, and catches up with
its own appliers while the others go on, which tells how fast that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simrep.contract.cluster import Cluster
from simrep.contract.model import Model
from simrep.contract.setup import setup_of
from simrep.errors import SimrepError
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import Attempts
from simrep.runs.replication import Replication, simulate
from simrep.scenario import Scenario, with_values

__all__ = ["ReturnWay", "Returned", "SimulatedReturn", "Window", "simulated_return"]

SETTLED_S = 2.0
"""Of load before the node leaves."""
_GONE_S = 1.5  # a node that leaves in order: the others have dealt with that
_LOOK_S = 0.02  # how often it is looked at how far behind the node is
_AFTER_S = 1.0  # of the run, after the node is back
_UP_TO_DATE = 0.02  # of what it lacked: it has caught up
_GAINS = 0.9  # of what it lacked it still lacks after that: there is no more to see
_FEW = 2.0  # transactions that any node may be behind

Values = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnWay:
    """How a node gets what it lacks.

    Attributes
    ----------
    name : str
        In the product's words: ``IST``.
    copies : bool
        Whether it gets all data.
    word, how : str
        What the node notes when it begins to get it (``Noted.what`` and ``Noted.how``; the latter
        may be empty).
    values : callable
        ``values(rate_tps, away_s)``: values of the scenario, by path, with which a simulated return
        is by this way, when so many transactions were committed each second.
    byte_s : float
        Of a copy: how long a byte takes at least, but for the network, in seconds.
    at_begin : bool
        Of a copy: whether it is the state of its begin, as its donor stands still meanwhile, and
        not that of its end.
    absence_s : float
        Of a copy: for how long the node has to be away in a simulation.
    ratio : float
        Of a copy: how many times fewer bytes are sent.
    cores_byte_s : (float, float), optional
        Of a copy: work of cores of donor and node for a byte of the data, in seconds.
    prepares_s : callable, optional
        Of a copy: ``prepares_s(transactions, size_bytes, data_bytes)``: how long it takes to make
        a state of so many bytes of data, when so many transactions were committed meanwhile, of
        so many bytes together, in seconds; but for what it takes in any case.
    """

    name: str
    copies: bool = False
    word: str = "joiner"
    how: str = ""
    values: Callable[[float, float], Values]
    byte_s: float = 0.0
    at_begin: bool = False
    absence_s: float = 3.0
    ratio: float = 1.0
    cores_byte_s: tuple[float, float] | None = None
    prepares_s: Callable[[float, float, float], float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedReturn:
    """What is simulated: lengths in seconds, and data in bytes."""

    scenario: Scenario
    node: str
    way: ReturnWay
    values: Values
    away_s: float
    patience_s: float  # so long after its start it is seen whether it gains anything
    most_s: float  # after its start
    data_bytes: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Window:
    """What the clients of some nodes saw in a part of a run: writes.

    Attributes
    ----------
    part : str
    on : str
        ``donor`` or ``others``.
    seconds : float
        How long it was.
    latency_s : numpy.ndarray of float
        Of every transaction that was committed.
    """

    part: str
    on: str
    seconds: float
    latency_s: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Returned:
    """One return; times in seconds after the start of the server, NaN if they were not reached.

    Attributes
    ----------
    donor : str
    started_s, asked_s, copied_s, ready_s, caught_up_s, synced_s : float
        The others heard of it, it began to get what it lacks, a copy was complete, it began to
        apply the rest, it had almost caught up, and it served its clients.
    lacks : float
        Transactions that it lacked when it began to apply them.
    net_tps : float
        By how many fewer it lacked from then on, per second; 0 or less if it did not catch up.
    missed_tps : float
        Transactions per second that the others committed while it was away.
    copy_tps : float
        And while data were copied.
    arrive_tps : float
        And while it caught up.
    size_bytes : float
        The mean size of a transaction as it is replicated; NaN if nobody tells.
    windows : tuple of Window
    stall_s : float
        The longest time without a commit from its start to its begin to get what it lacks.
    later_stall_s : float
        And from there on; of a donor that stands still, but for that.
    curve : tuple of (float, float)
        When it was looked at, and by how many transactions it was behind.
    """

    donor: str
    started_s: float
    asked_s: float
    copied_s: float
    ready_s: float
    caught_up_s: float
    synced_s: float
    lacks: float
    net_tps: float
    missed_tps: float
    copy_tps: float
    arrive_tps: float
    size_bytes: float
    windows: tuple[Window, ...]
    stall_s: float
    later_stall_s: float
    curve: tuple[tuple[float, float], ...]


def simulated_return(
    asked: SimulatedReturn,
    size_of: Callable[[Mapping[str, Mapping[str, float]]], float],
    seed: int,
    replication: int,
) -> Returned:
    """Simulate it; ``size_of`` tells from counters how large a replicated transaction is.

    Raises
    ------
    SimrepError
        If the node does not come back by that way at all.
    """
    # Timers of servers know nothing of it, so it differs from run to run.
    leave_s = SETTLED_S + (replication * 0.618034) % 1.0
    back_s = leave_s + asked.away_s
    faults: list[dict[str, Any]] = [
        {"what": "leave", "node": asked.node, "at_s": leave_s},
        {"what": "restart", "node": asked.node, "at_s": back_s},
    ]
    changed = with_values(
        asked.scenario,
        {
            **asked.values,
            "fault": faults,
            "run.warmup_s": 0.0,
            "run.duration_s": back_s + asked.most_s,
        },
    )
    times: list[float] = []
    behind: list[float] = []

    def attend(cluster: Cluster, model: Model) -> None:
        def look(_: None = None) -> None:
            told = model.backlog()
            times.append(cluster.clock.now)
            behind.append(0.0 if told is None else told[asked.node])
            cluster.clock.at(cluster.clock.now + _LOOK_S, look)

        look()

    node = asked.scenario.node_names.index(asked.node)
    over = _Over(node, back_s, asked.patience_s, behind)
    run = simulate(setup_of(changed), seed, replication, over=over, attend=attend)
    curve = np.array(times), np.array(behind)
    reading = _Reading(asked, run, node, leave_s, back_s, curve)
    return reading.returned(size_of(run.counters))


class _Over:
    """Whether a run may end: the node is back for a while, has given up, or gains nothing."""

    def __init__(self, node: int, back_s: float, patience_s: float, behind: list[float]) -> None:
        self._node = node
        self._back_s = back_s
        self._patience_s = patience_s
        self._behind = behind
        self._read = 0
        self._over_s = inf

    def __call__(self, cluster: Cluster) -> bool:
        assert cluster.timeline is not None
        noted = cluster.timeline.noted
        for one in noted[self._read :]:
            own = one.node == self._node and one.at_s > self._back_s
            if own and one.what in {"synced", "aborted"}:
                self._over_s = min(self._over_s, one.at_s + _AFTER_S)
        self._read = len(noted)
        now = cluster.clock.now
        if now >= self._back_s + self._patience_s and self._behind[-1] >= _FEW:
            since = int((self._patience_s - _AFTER_S) / _LOOK_S)
            if self._behind[-1] >= _GAINS * self._behind[-since]:
                return True
        return now >= self._over_s


class _Reading:
    """What is read from a run."""

    def __init__(
        self,
        asked: SimulatedReturn,
        run: Replication,
        node: int,
        leave_s: float,
        back_s: float,
        curve: tuple[NDArray[np.float64], NDArray[np.float64]],
    ) -> None:
        self._asked = asked
        self._run = run
        self._node = node
        self._leave_s = leave_s
        self._back_s = back_s
        self._times, self._behind = curve
        self._noted = [one for one in run.noted if one.at_s > back_s]

    def returned(self, size_bytes: float) -> Returned:
        """All of it."""
        asked_at = self._asked_at()
        donor = asked_at.of[0] if asked_at.of else self._node
        asked_s = asked_at.at_s
        copied_s = self._copied_s(asked_s, donor) if self._asked.way.copies else nan
        from_s = self._has_copy_s(copied_s) if self._asked.way.copies else asked_s
        synced_s = self._first(("synced",), from_s)
        ready_s, lacks, caught_up_s, net_tps = self._catches_up(from_s, synced_s)
        ends_s = float(self._times[-1]) if isnan(synced_s) else synced_s
        names = self._asked.scenario.node_names
        attempts = self._run.attempts
        assert attempts is not None, "there is a fault"
        writes = attempts.of(writes=True)
        gone_s = self._leave_s + min(_GONE_S, self._asked.away_s / 2.0)
        stands = self._asked.way.at_begin
        parts = [
            ("before", 0.5, self._leave_s),
            ("away", gone_s, self._back_s),
            ("joins", self._back_s, asked_s),
            (
                "copies",
                self._first(("paused",), asked_s, (donor,)) if stands else asked_s,
                copied_s,
            ),
            ("prepares", asked_s if isnan(copied_s) else copied_s, ready_s),
            ("applies", ready_s, ends_s),
        ]
        started_s = min(
            one.at_s for one in self._noted if one.node == self._node or self._node in one.of
        )
        return Returned(
            donor=names[donor],
            started_s=started_s - self._back_s,
            asked_s=asked_s - self._back_s,
            copied_s=copied_s - self._back_s,
            ready_s=ready_s - self._back_s,
            caught_up_s=caught_up_s - self._back_s,
            synced_s=synced_s - self._back_s,
            lacks=lacks,
            net_tps=net_tps,
            missed_tps=self._growth(gone_s, self._back_s),
            copy_tps=self._growth(asked_s, copied_s),
            arrive_tps=_rate(writes, ready_s, ends_s),
            size_bytes=size_bytes,
            windows=tuple(_windows(writes, parts, names[donor], self._asked.node)),
            stall_s=_stall_s(writes, self._back_s, asked_s),
            later_stall_s=_stall_s(
                writes, copied_s if self._asked.way.at_begin else asked_s, ends_s
            ),
            curve=tuple(
                zip((self._times - self._back_s).tolist(), self._behind.tolist(), strict=True)
            ),
        )

    def _first(self, what: Iterable[str], after_s: float, nodes: Sequence[int] = ()) -> float:
        """When one of the nodes, or the one that comes back, notes something; else NaN."""
        nodes = nodes or (self._node,)
        times = (
            one.at_s
            for one in self._noted
            if one.what in what and one.node in nodes and one.at_s >= after_s
        )
        return next(times, nan)

    def _asked_at(self) -> Noted:
        way = self._asked.way
        for one in self._noted:
            if one.node != self._node:
                continue
            if one.what == "aborted":
                break
            if one.what == way.word and way.how in {"", one.how}:
                return one
        why = next((f": {one.how}" for one in self._noted if one.what == "aborted"), "")
        raise SimrepError(f"{self._asked.node!r} does not come back by {way.name}{why}")

    def _copied_s(self, asked_s: float, donor: int) -> float:
        copied_s = self._first(("joined",), asked_s, (donor, self._node))
        if isnan(copied_s):
            raise SimrepError(f"the copy for {self._asked.node!r} does not end")
        return copied_s

    def _has_copy_s(self, copied_s: float) -> float:
        """When it has the state of the copy, or begins to get what comes after that."""
        way = self._asked.way
        own = [one for one in self._noted if one.node == self._node and one.at_s > copied_s]
        more = [one.at_s for one in own if one.what == way.word and one.how != way.how]
        ready_s = more[-1] if more else self._first(("joined",), copied_s)
        if isnan(ready_s):
            raise SimrepError(f"{self._asked.node!r} does not start from its copy")
        return ready_s

    def _catches_up(self, from_s: float, synced_s: float) -> tuple[float, float, float, float]:
        """When it begins to, what it lacks then, when it almost has, and how fast that is."""
        first = int(np.searchsorted(self._times, from_s))
        behind = self._behind[first:]
        last_s = inf if isnan(synced_s) else synced_s
        known = behind[self._times[first:] <= last_s]
        top = int(known.argmax()) if len(known) else 0
        ready_s, lacks = float(self._times[first + top]), float(behind[top])
        enough = np.flatnonzero(behind[top:] <= max(_FEW, _UP_TO_DATE * lacks))
        bottom = top + int(enough[0]) if len(enough) else len(behind) - 1
        caught_up_s = float(self._times[first + bottom])
        seconds = max(caught_up_s - ready_s, _LOOK_S)
        return ready_s, lacks, caught_up_s, (lacks - float(behind[bottom])) / seconds

    def _growth(self, from_s: float, to_s: float) -> float:
        """By how many transactions per second it falls behind."""
        if not to_s > from_s:
            return nan
        low, high = np.interp((from_s, to_s), self._times, self._behind)
        return max(0.0, float(high - low)) / (to_s - from_s)


def _rate(writes: Attempts, from_s: float, to_s: float) -> float:
    seconds = to_s - from_s
    return len(writes.between(from_s, to_s).commits_s) / seconds if seconds > 0.0 else nan


def _stall_s(writes: Attempts, from_s: float, to_s: float) -> float:
    """The longest time between both without a commit."""
    if not to_s > from_s:
        return 0.0
    edges = [from_s, *writes.between(from_s, to_s).commits_s, to_s]
    return float(np.diff(edges).max())


def _windows(
    writes: Attempts, parts: Iterable[tuple[str, float, float]], donor: str, node: str
) -> Iterable[Window]:
    for on, nodes in (
        ("donor", [donor]),
        ("others", [name for name in writes.nodes if name not in {donor, node}]),
    ):
        own = writes.of(nodes=[name for name in nodes if name in writes.nodes and name != node])
        own_commits = (own.error == 0) & ~own.connecting
        for part, from_s, to_s in parts:
            if not to_s > from_s:
                continue
            chosen = own_commits & (own.ended_s >= from_s) & (own.ended_s < to_s)
            latency_s = (own.ended_s - own.began_s)[chosen]
            yield Window(part=part, on=on, seconds=to_s - from_s, latency_s=latency_s)
