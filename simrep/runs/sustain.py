"""The highest rate of arrivals at which no member of a cluster falls behind in the long run.

Throughput that clients see is not what a cluster can keep up: members that apply what others have
committed may fall behind for as long as nobody slows the writers down. The rate that all of them
keep up is found by trying: an open stream of arrivals, and a look at what it leaves behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, sqrt
from pathlib import Path
from typing import Any

from simrep.contract.model import Model
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, SimrepError
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.measure.meter import Meter
from simrep.runs.build import build_cluster
from simrep.runs.progress import told
from simrep.runs.run import run
from simrep.runs.sampler import seed_of
from simrep.scenario import Scenario, load, with_values
from simrep.workload.clients import Clients

__all__ = [
    "CLIENTS",
    "Backlog",
    "Counters",
    "Probe",
    "SustainedRate",
    "lone_latency_s",
    "probe",
    "sustainable_rate",
    "with_arrivals",
]

Counters = Mapping[str, Mapping[str, float]]
Backlog = Callable[[Counters], Mapping[str, float]]
"""From the counters of a model to the transactions that each node is behind."""

CLIENTS = "clients"
"""What limits the rate when transactions queue up before they commit, and not after it."""

_LONE = 20  # transactions of one client that tell where to start
_LATENCIES = 20  # a probe lasts at least so many times as long as a lone transaction
_FEWEST = 500  # arrivals of a probe
_MOST = 200_000  # and the most: what lasts that long with so many under way has no limit
_STRICT = 4.0  # standard deviations beyond doubt: a probe ends early
_STEPS = 30  # doublings or halvings before the search is given up
_NOBODY = {
    **{
        f"workload.{name}": None
        for name in ("threads", "rate_tps", "queries", "transactions_per_client")
    },
    "workload.think_time_ms": 0.0,
}
_AT_ONCE = {"run.duration_s": 1.0, "run.warmup_s": 0.0, "run.warmup": None}


@dataclass(frozen=True, slots=True)
class Probe:
    """One rate that was tried.

    Attributes
    ----------
    rate_tps : float
        Arrivals per second.
    arrivals : int
        Transactions that arrived.
    behind : float
        Transactions that at the end were not committed, or not yet by the slowest member.
    drift : float
        By how much ``behind`` grew in the second half, relative to the arrivals of that half.
    allowed : float
        The drift up to which the rate counted as sustained: the finer the search, the less.
    slowest : str
        The member that was furthest behind, or ``CLIENTS``.
    """

    rate_tps: float
    arrivals: int
    behind: float
    drift: float
    allowed: float
    slowest: str

    @property
    def sustained(self) -> bool:
        """Whether what was left behind did not grow."""
        return self.drift <= self.allowed


@dataclass(frozen=True, slots=True)
class SustainedRate:
    """The result of a search.

    Attributes
    ----------
    rate_tps : float
        Between the highest rate that was sustained and the lowest that was not.
    low_tps, high_tps : float
        Those two.
    limited_by : str
        Who fell behind at ``high_tps``: a member, or ``CLIENTS`` if transactions queued up before
        they committed.
    probes : tuple of Probe
        In the order in which they were tried.
    """

    rate_tps: float
    low_tps: float
    high_tps: float
    limited_by: str
    probes: tuple[Probe, ...]


@told
def sustainable_rate(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    seed: int | None = None,
    replication: int = 0,
    precision: float = 0.05,
    start_tps: float | None = None,
    backlog: Backlog | None = None,
) -> SustainedRate:
    """Find the highest rate of arrivals that a cluster keeps up in the long run.

    A rate is sustained when, in a run that starts empty, the transactions which have arrived and
    are not yet committed by every member do not grow in number any more, but for a negligible
    fraction of the arrivals. The rate is doubled until it is not sustained, then bisected; runs
    are short at first and get longer as the bracket gets narrower.

    Flow control that begins at a long queue does not show in such short runs: what is found is
    the rate up to which it would never begin.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes. Its clients are replaced by Poisson arrivals at the same
        nodes; of groups, in the proportions of their threads or rates. Its ``[run]`` table
        matters only for the seed.
    seed, replication : int
        Together they choose the random numbers; default: ``run.seed`` of the scenario.
    precision : float
        Width of the final bracket, relative to the rate; 0.01 to 0.5. Halving it makes the search
        four times as long.
    start_tps : float, optional
        Rate to try first; default: what one client alone gets.
    backlog : callable, optional
        From the counters of a model to the transactions that each node is behind, instead of what
        the model tells (``Model.backlog``). It must hold for a moment while transactions are
        under way, so counters of both ends of a comparison have to be there.

    Returns
    -------
    SustainedRate

    Raises
    ------
    ScenarioError
        If the scenario or an argument is not valid, or the model does not tell its backlog.
    SimrepError
        If every rate is sustained, or none.

    Examples
    --------
    >>> one = {"cluster": {"model": "standalone", "nodes": 1, "machine": {"cores": 1}}}
    >>> one["cluster"]["costs"] = {"fsync_us": 0, "statement_us": 1000}
    >>> found = sustainable_rate({**one, "workload": {"threads": 1}, "run": {"duration_s": 1}})
    >>> 800 < found.rate_tps < 1000  # a statement of 1 ms, and its commit
    True
    """
    if not 0.01 <= precision <= 0.5:
        raise ScenarioError("precision", f"must be from 0.01 to 0.5, given {precision}")
    if start_tps is not None and not 0.0 < start_tps < inf:
        raise ScenarioError("start_tps", f"must be above 0 and finite, given {start_tps}")
    if replication < 0:
        raise ScenarioError("replication", f"must not be negative, given {replication}")
    loaded = load(scenario).steady("a sustained rate")
    _check_steady(loaded)
    seed = seed_of(seed, loaded.run.seed)
    lone_s = lone_latency_s(loaded, seed)
    search = _Search(loaded, seed, replication, precision, lone_s, backlog)
    return search.run(1.0 / lone_s if start_tps is None else start_tps)


def probe(
    scenario: Scenario,
    rate_tps: float,
    *,
    seed: int,
    replication: int,
    precision: float = 0.05,
    backlog: Backlog | None = None,
) -> Probe:
    """Try one rate, as finely as the end of a search does; see :func:`sustainable_rate`."""
    _check_steady(scenario)
    lone_s = lone_latency_s(scenario, seed)
    search = _Search(scenario, seed, replication, precision, lone_s, backlog)
    return search.probe(rate_tps, precision / 2.0)


class _Search:
    """Doubling and bisection, and the probes that were made."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        replication: int,
        precision: float,
        lone_s: float,
        backlog: Backlog | None,
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._replication = replication
        self._precision = precision
        self._lone_s = lone_s
        self._backlog = backlog
        self._probes: list[Probe] = []
        self._low: float | None = None
        self._high: float | None = None
        self._limited_by = CLIENTS
        self._sure = False  # whether the low end was tried as finely as the last step asks

    def run(self, rate: float) -> SustainedRate:
        """Search from ``rate`` on."""
        low, high = self._bracket(rate)
        while True:
            if high > low * (1.0 + self._precision):
                self._try(sqrt(low * high), high / low - 1.0)
            elif not self._sure:  # it was judged by a short run, while the bracket was wide
                self._try(low, 0.0)
                if self._low is None:
                    self._try(low / (1.0 + 4.0 * self._precision), self._precision)
            else:
                return SustainedRate(
                    sqrt(low * high), low, high, self._limited_by, tuple(self._probes)
                )
            low, high = self._bracket(rate)

    def _bracket(self, rate: float) -> tuple[float, float]:
        """A rate that is sustained and one that is not, whatever it takes to find them."""
        for _ in range(_STEPS):
            if self._low is not None and self._high is not None:
                return self._low, self._high
            if self._low is not None:
                self._try(2.0 * self._low, 1.0)
            else:
                self._try(rate if self._high is None else self._high / 2.0, 1.0)
        if self._low is not None and self._high is not None:
            return self._low, self._high
        raise SimrepError(
            f"no rate up to {self._low:g} transactions/s is too much"
            if self._low is not None
            else f"not even {self._high:g} transactions/s can be kept up"
        )

    def _try(self, rate: float, width: float) -> None:
        """A probe that is fine enough for a bracket of that relative width."""
        finest = self._precision / 2.0
        allowed = max(finest, width / 8.0)
        probe = self.probe(rate, allowed)
        self._probes.append(probe)
        if probe.sustained:
            self._low = rate
            self._sure = allowed == finest
        else:
            self._high = rate
            self._limited_by = probe.slowest
            if self._low is not None and self._low >= rate:
                self._low = None

    def probe(self, rate: float, allowed: float) -> Probe:
        """Let transactions arrive at a rate until it is clear whether they are kept up."""
        # The number of arrivals in the second half has a standard deviation of its root.
        wanted = max(_FEWEST, 2.0 * (1.5 / allowed) ** 2, _LATENCIES * self._lone_s * rate)
        if wanted > _MOST:
            raise SimrepError(
                f"no rate up to {self._low or 0.0:g} transactions/s is too much: at {rate:g}, "
                f"more than {_MOST:,} arrivals would have to be simulated"
            )
        stream = _stream(
            setup_of(with_arrivals(self._scenario, rate, _AT_ONCE)), self._seed, self._replication
        )
        looks = [(0, {CLIENTS: 0.0})]
        for part in (0.125, 0.25, 0.5, 1.0):
            arrivals, in_flight, model = stream(part * wanted / rate)
            looks.append((arrivals, {CLIENTS: in_flight, **self._behind(model)}))
            if part > 0.125:
                probe = _judged(rate, allowed, looks[-2], looks[-1])
                doubt = _STRICT / sqrt(max(1, looks[-1][0] - looks[-2][0]))
                if probe.drift > allowed + doubt and self._long_enough(part * wanted / rate):
                    break
        return probe

    def _behind(self, model: Model) -> Mapping[str, float]:
        """By how many transactions each node is behind now."""
        if self._backlog is not None:
            return self._backlog(model.counters())
        told = model.backlog()
        if told is None:
            raise ScenarioError(
                "cluster.model",
                f"model {model.name!r} does not tell how far its nodes are behind",
                "it needs a method backlog(); sustainable_rate() also takes backlog=",
            )
        away = self._scenario.arbitrators
        names = [name for name in self._scenario.node_names if name not in away]
        if set(told) != set(names):
            raise ScenarioError(
                "cluster.model",
                f"backlog() of model {model.name!r} must tell every node, told {told!r}",
                f"a mapping with {', '.join(names)}",
            )
        return {node: float(late) for node, late in told.items()}

    def _long_enough(self, elapsed_s: float) -> bool:
        return elapsed_s >= _LATENCIES * self._lone_s


Look = tuple[int, Mapping[str, float]]


def _judged(rate: float, allowed: float, before: Look, after: Look) -> Probe:
    arrivals = max(1, after[0] - before[0])
    grown = {name: count - before[1].get(name, 0.0) for name, count in after[1].items()}
    clients = grown.pop(CLIENTS)
    slowest = max(grown, key=grown.__getitem__, default=CLIENTS)
    member = grown.get(slowest, 0.0)
    total = after[1][CLIENTS] + max((after[1][name] for name in grown), default=0.0)
    return Probe(
        rate_tps=rate,
        arrivals=after[0],
        behind=total,
        drift=(clients + member) / arrivals,
        allowed=allowed,
        slowest=slowest if member > clients else CLIENTS,
    )


def _stream(setup: Setup, seed: int, replication: int) -> Callable[[float], tuple[int, int, Model]]:
    """An open stream of arrivals; called with a time, it goes on until then and says how it is."""
    clock = Clock()
    streams = Streams(seed, replication)
    cluster = build_cluster(setup, clock, streams, ahead=True)
    model = setup.model(cluster, setup.options, setup.costs)
    clients = Clients(clock, streams, setup.workload, model, Meter(clock))
    clients.start()

    def until(when: float) -> tuple[int, int, Model]:
        clock.run(when)
        in_flight = clients.in_flight
        return clients.committed + clients.aborted + in_flight, in_flight, model

    return until


def lone_latency_s(scenario: Scenario, seed: int) -> float:
    """What a transaction takes when there is no other, in seconds."""
    changes: dict[str, Any] = {
        **_NOBODY,
        **_AT_ONCE,
        "workload.threads": 1,
        "workload.transactions_per_client": _LONE,
        "run.duration_s": None,
    }
    groups = scenario.workload.groups
    if any(group.classes for group in groups):  # one of each: their classes are not the same
        mixes = [{"class": list(group.classes)} if group.classes else {} for group in groups]
        changes["workload.threads"] = None
        changes["workload.group"] = [
            {"node": group.node, "threads": 1, **mix}
            for group, mix in zip(groups, mixes, strict=True)
        ]
    elif groups:
        changes |= {"workload.nodes": [groups[0].node], "workload.group": []}
    lone = run(with_values(scenario, changes), seed=seed, replications=1)
    mean_s = lone.latency_s["mean"]
    if not mean_s > 0.0:
        problem = "takes no time, so no rate is too much" if lone.committed else "does not commit"
        raise SimrepError(f"a lone transaction {problem}")
    return mean_s


def with_arrivals(scenario: Scenario, rate: float, run: Mapping[str, Any]) -> Scenario:
    """The scenario with arrivals instead of its clients, and other values of its run, by path."""
    changes: dict[str, Any] = {**_NOBODY, **run}
    groups = scenario.workload.groups
    if groups:
        shares = [float(group.threads or group.rate_tps or 0.0) for group in groups]
        changes["workload.group"] = [
            {
                "node": group.node,
                "rate_tps": rate * share / sum(shares),
                **({} if group.classes is None else {"class": list(group.classes)}),
            }
            for group, share in zip(groups, shares, strict=True)
        ]
    else:
        changes["workload.rate_tps"] = rate
    return with_values(scenario, changes)


def _check_steady(scenario: Scenario) -> None:
    """Refuse what happens at a given time: it would be answered for nothing that lasts."""
    for name in scenario.timed:
        if name != "workload.scheduled":  # it is left out, with all of the load
            raise ScenarioError(
                name,
                "a rate that is sustained is one of a cluster in which nothing changes",
                "remove it; for a node that is always slow give its traits in [[node]] or [[host]]",
            )
