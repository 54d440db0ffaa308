"""What the journeys of all transactions add up to at the load of a scenario.

Every place where transactions wait for each other is solved by itself, as if the rest of the way
took a fixed time, and the times are adjusted until they agree (decomposition).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite

from simrep.contract.closed_form.group_commit import closed_group_commit_s, open_group_commit_s
from simrep.contract.closed_form.journey import (
    ClosedForm,
    Delay,
    Groups,
    Journey,
    Pace,
    Release,
    Turns,
    Work,
)
from simrep.contract.setup import Setup
from simrep.whatif.analytic.stations import closed_station_s, open_release_s, open_station_s

__all__ = ["NoSolutionError", "Solution", "solve"]

_STEPS = 400
_HALVES = 60  # steps of half the way; after them ever shorter ones, as waits may jump
_SETTLED = 1e-9
_NEARLY = 1e-2
_TOO_UNSURE = 0.12  # of a cycle
_COMPARABLE = 3.0  # times as long on the cores as in the log: what takes turns with what?
_MOST_BESIDE = 0.95  # of the cores of a machine, taken by what no client waits for


class NoSolutionError(Exception):
    """The load is more than the scenario can take, in the words of the message."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Transactions per second and the latency of each, by node.

    Attributes
    ----------
    rates : mapping of int to float
    latencies_s : mapping of int to float
    stages_s : mapping of str to float
        Parts of the latency, means over all transactions.
    busy : mapping of str to float
        Share of the cores of every machine in use.
    connects_s : mapping of int to float
        CPU of a connection, by node.
    """

    rates: Mapping[int, float]
    latencies_s: Mapping[int, float]
    stages_s: Mapping[str, float]
    busy: Mapping[str, float]
    connects_s: Mapping[int, float]

    @property
    def throughput_tps(self) -> float:
        """Transactions per second of all nodes."""
        return sum(self.rates.values())

    @property
    def latency_s(self) -> float:
        """Mean over all transactions, in seconds."""
        weighed = sum(self.rates[node] * self.latencies_s[node] for node in self.rates)
        return weighed / self.throughput_tps


def solve(setup: Setup, form: ClosedForm) -> Solution:
    """The rates and latencies of a setup.

    Raises
    ------
    NoSolutionError
        If the load is more than it can take.
    """
    workload = setup.workload
    think_s = workload.think.mean_s
    clients = {node: workload.nodes.count(node) for node in dict.fromkeys(workload.nodes)}
    arriving: dict[int, float] = {}
    for one in workload.arrivals:
        arriving[one.node] = arriving.get(one.node, 0.0) + one.rate_tps
    latencies = dict.fromkeys(clients or arriving, 1e-3)
    state = _State(setup)
    change = inf
    for number in range(_STEPS):
        rates = arriving or {
            node: number / (think_s + latencies[node]) for node, number in clients.items()
        }
        any_s = 1.0 / sum(rates.values())
        journeys = {
            node: form.journey(
                node,
                Pace(
                    own_s=1.0 / rate,
                    any_s=any_s,
                    clients=clients.get(node) or max(1, round(rate * latencies[node])),
                    rates=rates,
                ),
            )
            for node, rate in rates.items()
        }
        state.adjust(journeys, rates, clients, think_s, 0.5 * min(1.0, _HALVES / (number + 1)))
        found = {node: state.latency_s(node) for node in journeys}
        if not all(isfinite(latency) for latency in found.values()):
            raise NoSolutionError(state.overloaded)
        change = max(abs(found[node] - latencies[node]) / found[node] for node in found)
        latencies = found
        if change <= _SETTLED:
            break
    if change > _NEARLY:
        raise NoSolutionError("waits at several places depend on each other and do not settle")
    if too_busy := state.too_busy():
        raise NoSolutionError(too_busy)
    if state.unsure > _TOO_UNSURE:
        raise NoSolutionError(
            "clients fall into step behind the group commit, and how large its groups are decides"
        )
    total = sum(rates.values())
    stages: dict[str, float] = {}
    for node, rate in rates.items():
        for step, seconds in zip(journeys[node].steps, state.times_s[node], strict=True):
            stages[step.name] = stages.get(step.name, 0.0) + seconds * rate / total
    return Solution(
        rates=rates,
        latencies_s=latencies,
        stages_s={name: seconds for name, seconds in stages.items() if seconds > 0.0},
        busy=state.busy,
        connects_s={node: journey.connect_s for node, journey in journeys.items()},
    )


class _State:
    """The time of every step, while they are adjusted to each other."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.times_s: dict[int, list[float]] = {}
        self.busy: dict[str, float] = {}
        self._beside: dict[str, float] = {}
        self.overloaded = ""
        self.unsure = 0.0  # of a cycle: how far it may be off by the sizes of groups

    def latency_s(self, node: int) -> float:
        """Of a transaction of a client of ``node``."""
        return sum(self.times_s[node])

    def too_busy(self) -> str:
        """Why the cores of a machine are not enough; empty if they are."""
        for host, cores in self._beside.items():
            if cores > _MOST_BESIDE * (self._setup.machines[host].cores or 1):
                return f"what no client waits for takes all of the CPU of {host}"
        return ""

    def adjust(
        self,
        journeys: Mapping[int, Journey],
        rates: Mapping[int, float],
        clients: Mapping[int, int],
        think_s: float,
        share: float,
    ) -> None:
        """Solve every place once, with the rest of the way as it is, and go so far towards it."""
        self.unsure = 0.0
        for node, journey in journeys.items():
            self.times_s.setdefault(node, [getattr(step, "seconds", 0.0) for step in journey.steps])
        stretch = self._cores(journeys, rates, clients, think_s)
        for node, journey in journeys.items():
            times = self.times_s[node]
            host = self._setup.placement[node]
            idle = max(0.0, 1.0 - self.busy[host])
            machine = self._setup.machines[host]
            wake_us = (machine.wakeup_us or 0.0) * idle + (machine.sleep_us or 0.0)
            for position, step in enumerate(journey.steps):
                away_s = think_s + sum(times) - times[position]
                if isinstance(step, Work):
                    solved_s = step.seconds * stretch[host] + step.wakes * wake_us / 1e6
                elif isinstance(step, Delay):
                    solved_s = step.seconds
                elif isinstance(step, Turns):
                    solved_s = self._turns(step, rates[node], clients.get(node), away_s)
                elif isinstance(step, Release):
                    solved_s = self._release(step, rates[node], clients.get(node))
                else:
                    others = sum(rates.values()) - rates[node] if step.others else 0.0
                    works = sum(one.seconds for one in journey.steps if isinstance(one, Work))
                    between_s = works / (self._setup.machines[host].cores or 1)
                    solved_s = self._groups(
                        step, rates[node], clients.get(node), away_s, others, between_s
                    )
                times[position] += share * (solved_s - times[position])

    def _cores(
        self,
        journeys: Mapping[int, Journey],
        rates: Mapping[int, float],
        clients: Mapping[int, int],
        think_s: float,
    ) -> dict[str, float]:
        """How much longer work takes on every machine than its CPU."""
        setup = self._setup
        self._beside = dict.fromkeys(setup.placement, 0.0)
        for node, journey in journeys.items():
            for where, seconds in journey.beside_s.items():
                self._beside[setup.placement[where]] += rates[node] * seconds
        stretch = {}
        for host, beside in self._beside.items():
            here = [node for node in journeys if setup.placement[node] == host]
            machine = setup.machines[host]
            cores = machine.cores or 1
            rate = sum(rates[node] for node in here)
            works = {
                node: sum(s.seconds for s in journeys[node].steps if isinstance(s, Work))
                for node in here
            }
            load = sum(rates[node] * works[node] for node in here)
            self.busy[host] = min(1.0, (load + beside) / cores)
            if load <= 0.0:
                stretch[host] = 1.0
                continue
            left = max(cores - beside, (1.0 - _MOST_BESIDE) * cores)
            work_s = load / rate
            variation = machine.variation or 0.0
            if not clients:
                time_s = open_station_s(rate, work_s, left, variation)
                if not isfinite(time_s):
                    self.overloaded = f"more arrives than the CPU of {host} can take"
            else:
                away = sum(
                    rates[node] * (think_s + self._without_work(journeys[node], node))
                    for node in here
                )
                customers = sum(clients[node] for node in here)
                time_s = closed_station_s(customers, away / rate, work_s, left, variation)
            stretch[host] = time_s / work_s
        return stretch

    def _without_work(self, journey: Journey, node: int) -> float:
        steps = zip(journey.steps, self.times_s[node], strict=True)
        return sum(seconds for step, seconds in steps if not isinstance(step, Work))

    def _turns(self, step: Turns, rate: float, clients: int | None, away_s: float) -> float:
        if clients is not None:
            return closed_station_s(clients, away_s, step.seconds, step.servers, 0.0)
        time_s = open_station_s(rate, step.seconds, step.servers, 0.0)
        if not isfinite(time_s):
            self.overloaded = f"more arrives than can pass one after the other ({step.name})"
        return time_s

    def _release(self, step: Release, rate: float, clients: int | None) -> float:
        """Clients of a closed loop that were released together come back together."""
        think = self._setup.workload.think
        if clients is None:
            return open_release_s(rate, step.seconds)
        if think.kind == "constant" or think.mean_s <= 0.0:
            return step.seconds
        return open_release_s(rate * (clients - 1) / clients, step.seconds)

    def _groups(
        self,
        step: Groups,
        rate: float,
        clients: int | None,
        away_s: float,
        others: float,
        between_s: float,
    ) -> float:
        """The stages, and one's turn to go on among those who were served together."""
        each_s = max(step.answer_s, between_s)
        longest_s = max(stage.seconds for stage in step.stages)
        if clients is not None:
            think = self._setup.workload.think
            time = closed_group_commit_s(
                step.stages,
                clients,
                away_s,
                each_away_s=each_s,
                others_rate=others,
                in_step=think.kind == "constant" or think.mean_s < longest_s,
            )
        else:
            time = open_group_commit_s(step.stages, rate + others)
            if not isfinite(time.seconds):
                self.overloaded = f"more arrives than the group commit can take ({step.name})"
                return time.seconds
        on_cores_s = between_s * (clients or 0)
        if (
            time.unsure and longest_s < on_cores_s < _COMPARABLE * longest_s
        ):  # all on the cores, then all in the log
            self.unsure = 1.0
        grows_s = each_s / 2.0 + sum(stage.each_s for stage in step.stages)
        self.unsure = max(self.unsure, time.unsure * grows_s / (away_s + time.seconds))
        return time.seconds + each_s * time.company / 2.0
