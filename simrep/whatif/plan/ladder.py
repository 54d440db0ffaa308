"""Loads that grow until something gives out, and on with that widened: one rung after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import isnan
from statistics import fmean
from typing import Any, Final, Literal

from simrep.contract.setup import Setup, setup_of
from simrep.measure.confidence import Interval, mean_interval
from simrep.measure.units import number
from simrep.runs.executor import in_order
from simrep.runs.strain import Length, Strain, strain
from simrep.runs.sustain import lone_latency_s, with_arrivals
from simrep.scenario import Scenario, with_values
from simrep.whatif.objective import Objective
from simrep.whatif.plan.relief import Relieve, Resource, resources

__all__ = ["By", "Helped", "Ladder", "Level", "Rung"]

By = Literal["rate", "clients"]

_FIRST = 2  # of them, at loads on the way up
_MOST_FACTOR = 64.0
_MOST_CLIENTS = 2048
_GROWS = 1.1  # with twice the clients the throughput is so many times as high, or it has ended
_CARRIED = 0.93  # of a rate: 1,000 arrivals of two or four runs vary by 2 to 3 %
_PRECISION = 1.1  # ratio of a rate that is carried and one that is not
_BISECTIONS = 4
_BEYOND = 1.5  # times a rate that is not carried: where it shows what helps
_NOTHING = 0.05  # of what is offered: a cluster that is choked by arrivals gets nothing done
_HELPS = 1.05  # times the throughput: less is not told from chance
_CANDIDATES = 2  # that are simulated again
_AGAIN = 2  # replications of them
_AS_MUCH = 0.8  # of the best gain: who brings that is to blame as well
_WARM, _WANTED = 150, 650  # transactions
_TODAY = 3  # times as long a look at today's load: all factors are relative to it
_WARM_EACH, _WANTED_EACH = 1.5, 2.5  # of every client
_LATENCIES = 4.0  # of a lone transaction, at least
_FIRST_GUESS = 18  # runs of a rung, for the estimate of the time that is left
_CLOSED: Final = {
    "workload.queries": None,
    "workload.transactions_per_client": None,
    "run.duration_s": 1.0,
    "run.warmup_s": 0.0,
    "run.warmup": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One load that was simulated.

    Attributes
    ----------
    factor : float
        Of today's clients, or of today's rate of arrivals.
    offered : float
        So many clients, or arrivals per second.
    strains : tuple of Strain
        A replication each.
    """

    factor: float
    offered: float
    strains: tuple[Strain, ...]

    @property
    def kept_up_tps(self) -> float:
        """Transactions per second that all nodes keep up, on average."""
        return fmean(one.kept_up_tps for one in self.strains)

    @property
    def latency_p95_s(self) -> float:
        """95th percentile of the latency in seconds, on average."""
        return fmean(one.latency_p95_s for one in self.strains)

    @property
    def slowest(self) -> str:
        """The node that falls behind in most replications; empty if none does."""
        names = [one.slowest for one in self.strains]
        return max(sorted(set(names)), key=names.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Helped:
    """What came of a resource that was widened where the load gave out.

    Attributes
    ----------
    resource : Resource
    gain : float
        Times the throughput that all nodes keep up; with an objective that is not met, how much
        nearer to its limit the worst figure came, plus one.
    replications : int
    """

    resource: Resource
    gain: float
    replications: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One step of the ladder: what gives out, with all that gave out before it widened.

    Attributes
    ----------
    factor : Interval
        Of today's throughput (of arrivals: of today's rate) that is kept up at most.
    levels : tuple of Level
        Loads that were tried, the smallest first.
    end : Level
        The one at which it had given out.
    by : Resource or None
        What gave out; None if nothing did up to the largest load, or nothing that was widened
        helps.
    helped : tuple of Helped
        What was widened to see, the best first.
    why : str
        In words: why the load counts as too large.
    reached : bool
        False if nothing gave out up to the largest load that was tried.
    """

    factor: Interval
    levels: tuple[Level, ...]
    end: Level
    by: Resource | None
    helped: tuple[Helped, ...]
    why: str
    reached: bool

    @property
    def likewise(self) -> tuple[str, ...]:
        """What brings about as much, widened instead: what gives out lies between them."""
        if self.by is None:
            return ()
        least = 1.0 + _AS_MUCH * (self.helped[0].gain - 1.0)
        others = (one for one in self.helped[1:] if one.resource.last == self.by.last)
        return tuple(one.resource.name for one in others if one.gain >= max(_HELPS, least))

    @property
    def name(self) -> str:
        """What gives out."""
        if not self.reached:
            return "nothing"
        return "nothing that was widened" if self.by is None else self.by.name


class Ladder:
    """Loads that grow, on one rung of the ladder after the other."""

    def __init__(
        self,
        scenario: Scenario,
        by: By,
        objective: Objective | None,
        replications: int,
        confidence: float,
        seed: int,
        executor: Executor,
        progress: Callable[[int, int | None], object] | None,
        steps: int,
    ) -> None:
        self._scenario = scenario
        self._by = by
        self._objective = objective
        self._replications = replications
        self._confidence = confidence
        self._seed = seed
        self._executor = executor
        self._progress = progress
        self._steps = steps
        self._done = 0
        self._rungs_done = 0
        self._lone_s = lone_latency_s(scenario, seed) + scenario.workload.think_time_ms / 1e3
        self._reliefs: list[Relieve] = []
        self._known: dict[float, Level] = {}
        self._today: tuple[float, ...] = ()
        self._base_tps = 0.0  # of arrivals that stand for today's clients
        today = self._level(1.0, replications)
        self._today = tuple(one.throughput_tps for one in today.strains)
        if by == "rate" and not scenario.workload.open_loop:
            self._base_tps = self.today_tps
            self._known.clear()
            self._level(1.0, replications)

    @property
    def today_tps(self) -> float:
        """Commits per second that clients see today."""
        return fmean(self._today)

    @property
    def replaced(self) -> bool:
        """Whether arrivals stand for clients."""
        return self._base_tps > 0.0

    @property
    def open_loop(self) -> bool:
        """Whether transactions arrive, whatever became of those before."""
        return self._scenario.workload.open_loop or self.replaced

    def offered(self, factor: float) -> float:
        """Clients, or arrivals per second, at a factor."""
        workload = self._scenario.workload
        if self._base_tps:
            return factor * self._base_tps
        if workload.open_loop:
            if workload.groups:
                return factor * sum(group.rate_tps or 0.0 for group in workload.groups)
            return factor * (workload.rate_tps or 0.0)
        if workload.groups:
            return float(sum(_times(group.threads or 0, factor) for group in workload.groups))
        return float(_times(workload.clients, factor))

    def climb(self) -> tuple[list[Rung], bool]:
        """What gives out, one behind the other; and whether nobody interrupted it."""
        rungs: list[Rung] = []
        start = 1.0
        try:
            for _ in range(self._steps):
                rung = self._rung(start)
                rungs.append(rung)
                self._rungs_done += 1
                if rung.by is None:
                    break
                self._reliefs.append(rung.by.relieve)
                self._known.clear()
                # What was too much is where the next one is looked for.
                start = rung.end.factor
        except KeyboardInterrupt:
            if not rungs:
                raise
            return rungs, False
        return rungs, True

    # -- simulating ----------------------------------------------------------------------------

    def _setup(self, factor: float, reliefs: Sequence[Relieve] = ()) -> Setup:
        """The cluster with that load, and what gave out before wider."""
        setup = setup_of(self._loaded(factor))
        for relieve in (*self._reliefs, *reliefs):
            setup = relieve(setup)
        return setup

    def _loaded(self, factor: float) -> Scenario:
        workload = self._scenario.workload
        if self._base_tps:
            return with_arrivals(self._scenario, self.offered(factor), _CLOSED)
        changes: dict[str, Any] = dict(_CLOSED)
        if workload.groups:
            groups = self._scenario.to_dict()["workload"]["group"]
            for group in groups:
                for name, scale in (("threads", _times), ("rate_tps", float.__mul__)):
                    if group.get(name) is not None:
                        group[name] = scale(group[name], factor)
            changes["workload.group"] = groups
        elif workload.open_loop:
            changes["workload.rate_tps"] = self.offered(factor)
        else:
            changes["workload.threads"] = int(self.offered(factor))
        return with_values(self._scenario, changes)

    def _level(self, factor: float, replications: int) -> Level:
        """A load with at least so many replications; what is known is not simulated again."""
        known = self._known.get(factor)
        strains = () if known is None else known.strains
        if len(strains) < replications:
            setup = self._setup(factor)
            numbers = range(len(strains), replications)
            strains = (*strains, *self._strained([(setup, number) for number in numbers], factor))
        level = Level(factor=factor, offered=self.offered(factor), strains=strains)
        self._known[factor] = level
        return level

    def _strained(self, runs: Sequence[tuple[Setup, int]], factor: float) -> list[Strain]:
        paths = () if self._objective is None else self._objective.figures
        length = self._length(factor)
        tasks = [(setup, self._seed, number, length, paths) for setup, number in runs]
        found = []
        for one in in_order(strain, tasks, self._executor):
            found.append(one)
            self._done += 1
            if self._progress is not None and self._today:  # what comes before takes longer
                left = (self._steps - self._rungs_done - 1) * _FIRST_GUESS
                used = self._done / (self._rungs_done + 1)
                rest = max(1.0, _FIRST_GUESS - used % _FIRST_GUESS)
                self._progress(self._done, int(self._done + rest + left))
        return found

    def _length(self, factor: float) -> Length:
        """How long to look: every client several times, and long enough for delays to pass."""
        clients = 0.0
        expected = self._known[1.0].kept_up_tps if 1.0 in self._known else 0.0
        if self.open_loop:
            expected = self.offered(factor)
        else:
            clients = self.offered(factor)
            nearest = min(self._known, key=lambda one: abs(one - factor), default=None)
            expected = (
                clients / self._lone_s if nearest is None else self._known[nearest].kept_up_tps
            )
        times = 1 if self._today else _TODAY
        return Length(
            int(max(_WARM, _WARM_EACH * clients)),
            times * int(max(_WANTED, _WANTED_EACH * clients)),
            _LATENCIES * self._lone_s,
            max(expected, 1.0),
            patient=not self.open_loop,
        )

    # -- searching -----------------------------------------------------------------------------

    def _rung(self, start: float) -> Rung:
        """What gives out next, from a load on."""
        first = self._level(start, _FIRST)
        if self._too_much(first):
            lower = self._below(start)
            return self._ended(lower, first)
        before = first
        while True:
            factor = 2.0 * before.factor
            if factor > _MOST_FACTOR or (
                not self.open_loop and self.offered(factor) > _MOST_CLIENTS
            ):
                return self._open_end(before)
            level = self._level(factor, _FIRST)
            if self._too_much(level):
                return self._ended(before, level)
            if not self.open_loop and level.kept_up_tps < _GROWS * before.kept_up_tps:
                return self._ended(before, level)
            before = level

    def _too_much(self, level: Level) -> bool:
        """Whether a load is too large as it stands: not carried, or the objective is not met."""
        if not self._met(level):
            return True
        return self.open_loop and not self._carried(level)

    def _carried(self, level: Level) -> bool:
        """Whether arrivals are kept up, but for what chance may do."""
        rate = self.offered(1.0)
        today = self.today_tps if self.today_tps >= _CARRIED * rate else rate
        return level.kept_up_tps >= _CARRIED * level.factor * today

    def _met(self, level: Level) -> bool:
        """Whether the objective is met, on average."""
        return self._objective is None or self._spare(level.strains) >= 0.0

    def _spare(self, strains: Sequence[Strain]) -> float:
        """How much better than its limit the worst figure is, as a share of the limit."""
        assert self._objective is not None
        place = {path: at for at, path in enumerate(self._objective.figures)}
        spares = [
            one.spare(fmean(run.figures[place[one.figure]] for run in strains))
            for one in self._objective.conditions
        ]
        return min(-1.0 if isnan(one) else max(-1.0, one) for one in spares)

    def _below(self, factor: float) -> Level | None:
        """A smaller load that is carried; more clients than are of use carry as much as fewer."""
        if self._objective is None and not self.open_loop:
            return None
        for _ in range(6):
            factor /= 2.0
            if not self.open_loop and self.offered(factor) == self.offered(2.0 * factor):
                return None
            level = self._level(factor, _FIRST)
            if not self._too_much(level):
                return level
        return None

    def _ended(self, carried: Level | None, level: Level) -> Rung:
        """The rung, once a load is too large and a smaller one is not."""
        broken = not self._met(level)
        for _ in range(_BISECTIONS if carried is not None and (self.open_loop or broken) else 0):
            assert carried is not None
            if level.factor <= _PRECISION * carried.factor:
                break
            middle = (carried.factor * level.factor) ** 0.5
            if not self.open_loop and self.offered(middle) in {carried.offered, level.offered}:
                break
            one = self._level(middle, _FIRST)
            if self._too_much(one):
                level = one
            else:
                carried = one
        level = self._level(level.factor, self._replications)
        if carried is not None:
            carried = self._level(carried.factor, self._replications)
        broken = not self._met(level)
        factor = self._factor(carried, level, broken=broken)
        tested = self._level(_BEYOND * level.factor, _AGAIN) if self.open_loop else level
        helped = self._helped(tested, broken=broken)
        best = helped[0] if helped and helped[0].gain >= _HELPS else None
        return Rung(
            factor=factor,
            levels=tuple(self._known[key] for key in sorted(self._known)),
            end=level,
            by=None if best is None else best.resource,
            helped=tuple(helped),
            why=self._why(level, broken=broken),
            reached=True,
        )

    def _open_end(self, level: Level) -> Rung:
        """Nothing gave out."""
        level = self._level(level.factor, self._replications)
        return Rung(
            factor=self._ratio(level),
            levels=tuple(self._known[key] for key in sorted(self._known)),
            end=level,
            by=None,
            helped=(),
            why=f"up to {_load(self._by, level)}",
            reached=False,
        )

    def _factor(self, carried: Level | None, level: Level, *, broken: bool) -> Interval:
        """Of today's throughput that is kept up at most, with its interval."""
        if self.open_loop and carried is None:
            return Interval(0.0, level.factor, 0.0, self._confidence)
        if self.open_loop and carried is not None:  # what is not kept up may choke it altogether
            middle = (carried.factor * level.factor) ** 0.5
            return Interval(carried.factor, level.factor, middle, self._confidence)
        if not broken:
            if carried is not None and carried.kept_up_tps > level.kept_up_tps:
                return self._ratio(carried)  # beyond its limit the cluster gets less done
            return self._ratio(level)
        if carried is None:  # not met with any load
            return Interval(0.0, self._ratio(level).high, 0.0, self._confidence)
        low, high = self._ratio(carried), self._ratio(level)
        middle = (low.mean * high.mean) ** 0.5
        ends = (min(low.low, high.low), max(low.high, high.high))
        return Interval(*ends, middle, self._confidence)

    def _ratio(self, level: Level) -> Interval:
        """Kept up at a load, relative to today's throughput of the same random numbers."""
        ratios = [
            one.kept_up_tps / today for one, today in zip(level.strains, self._today, strict=True)
        ]
        return mean_interval(ratios, self._confidence)

    def _why(self, level: Level, *, broken: bool) -> str:
        if broken:
            return f"{self._objective} is not met"
        if level.slowest:
            return f"{level.slowest} falls behind"
        return "arrivals queue up" if self.open_loop else "more clients commit no more"

    # -- what is to blame ------------------------------------------------------------------------

    def _helped(self, level: Level, *, broken: bool) -> list[Helped]:
        """What each candidate brings, widened: all with one run, the best ones with more."""
        candidates = resources(self._setup(level.factor), level.strains)
        direct = self._tried(level, [one for one in candidates if not one.last], broken=broken)
        if direct and direct[0].gain >= _HELPS:
            return direct
        # Faster cores and shorter ways help always: they are to blame if nothing else is.
        return self._tried(level, [one for one in candidates if one.last], broken=broken) + direct

    def _tried(self, level: Level, candidates: Sequence[Resource], *, broken: bool) -> list[Helped]:
        """Candidates widened one at a time, the best first."""
        helped: list[Helped] = []
        strains: dict[int, list[Strain]] = {id(one): [] for one in candidates}
        for numbers in (range(1), range(1, min(_AGAIN, len(level.strains)))):
            chosen = [one.resource for one in helped[:_CANDIDATES]] or candidates
            setups = [self._setup(level.factor, [one.relieve]) for one in chosen]
            found = self._strained(
                [(setup, number) for setup in setups for number in numbers], level.factor
            )
            for place, one in enumerate(chosen):
                strains[id(one)] += found[place * len(numbers) : (place + 1) * len(numbers)]
            helped = [
                Helped(
                    resource=one,
                    gain=self._gain(level, strains[id(one)], broken=broken),
                    replications=len(strains[id(one)]),
                )
                for one in candidates
            ]
            helped.sort(key=lambda one: (-one.replications, -one.gain))
        return helped

    def _gain(self, level: Level, strains: Sequence[Strain], *, broken: bool) -> float:
        """How much better it got, as a factor."""
        same = level.strains[: len(strains)]
        if broken:
            return 1.0 + self._spare(strains) - self._spare(same)
        before = fmean(one.kept_up_tps for one in same)
        least = _NOTHING * level.offered if self.open_loop else 1e-9
        return max(least, fmean(one.kept_up_tps for one in strains)) / max(least, before)


def _times(clients: int, factor: float) -> int:
    """So many times the clients, at least one."""
    return max(1, round(clients * factor))


def _load(by: By, level: Level) -> str:
    if by == "clients":
        return f"{level.offered:.0f} clients"
    return f"{number(level.offered)} arrivals/s"
