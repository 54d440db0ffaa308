"""Models of one's own, as another package would bring them, and how they get installed."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from simrep.contract import registry, roles, setup
from simrep.contract.cluster import Cluster
from simrep.contract.model import Deployment, Leader, Model
from simrep.contract.question import Option, Question
from simrep.modelling import Event
from simrep.scenario import Scenario
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.questions import fewest_appliers
from simrep.workload.transaction import Transaction

__all__ = [
    "Complete",
    "Costs",
    "Follower",
    "NoModel",
    "Options",
    "Silent",
    "WithoutCounters",
    "install",
]


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    copies: int = Field(1, ge=0, description="servers that have it")


class Costs(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    commit_us: float = Field(1000.0, ge=0, description="time per commit")


class Complete:
    """All that the contract asks for, and not a subclass of ``Model``."""

    name = "complete"
    Options = Options
    Costs = Costs

    def __init__(self, cluster: Cluster, options: Options, costs: Costs) -> None:
        self.cluster = cluster
        self.host = cluster.hosts[0]
        self.commit_s = costs.commit_us * 1e-6
        self.commits = 0

    def connect(self, node: int) -> Generator[Event, Any, None]:
        yield self.cluster.clock.timeout(1e-6)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        done = Event(self.cluster.clock)
        self.host.run(self.commit_s, self.cluster.clock.fire, done)
        yield done
        self.commits += 1
        return True

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        return {self.cluster.names[0]: {"commits": self.commits}}


class Silent(Complete, Model):
    """A model that tells nothing it need not tell."""

    name = "silent"


class FollowerOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    threads: Annotated[int, roles.APPLIERS] = Field(1, alias="apply.threads", ge=1, le=8)
    limit: Annotated[int, roles.FLOW_CONTROL_LIMIT.offering(100, 200)] = Field(100, ge=1)
    place: Annotated[Literal["before", "after"], roles.WAIT_POINT] = "before"


class Follower(Complete, Model):
    """A leader, and one follower with threads that take 10 ms to apply a transaction."""

    name = "follower"
    Options = FollowerOptions

    def __init__(self, cluster: Cluster, options: FollowerOptions, costs: Costs) -> None:
        super().__init__(cluster, options, costs)
        self.idle = options.threads
        self.waiting = self.applied = 0

    @staticmethod
    def writers(options: FollowerOptions) -> Leader:
        return Leader()

    @staticmethod
    def deployments() -> Sequence[Deployment]:
        return (Deployment(name="Acme", keeps="replica", options={"limit": 150}),)

    @staticmethod
    def questions() -> Sequence[Question]:
        lag = Option("longest_s", "Longest lag.", "time", required=True, flag="longest")
        return (Question("lag", f"{__name__}:fewest_threads", "How many threads.", (lag,)),)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        yield from super().transact(transaction)
        self.waiting += 1
        self.apply()
        return True

    def apply(self, _: Any = None) -> None:
        if self.idle and self.waiting:
            self.idle -= 1
            self.waiting -= 1
            self.cluster.clock.at(self.cluster.clock.now + 0.01, self.end)

    def end(self, _: Any) -> None:
        self.idle += 1
        self.applied += 1
        self.apply()

    def backlog(self) -> Mapping[str, float]:
        _, follower, *_ = self.cluster.names
        return dict.fromkeys(self.cluster.names, 0) | {follower: self.commits - self.applied}


def fewest_threads(scenario: Scenario, *, longest_s: float, **options: Any) -> Answer:
    return fewest_appliers(scenario, tps=10.0 / longest_s, within=(1, 4), **options)


class WithoutCounters(Model):
    name = "without-counters"
    Options = Options
    Costs = Costs

    def connect(self, node: int) -> Generator[Event, Any, None]:
        yield from ()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        yield from ()
        return True


class NoModel:
    name = "no-model"
    Options = dict

    def connect(self, node: int) -> Generator[Event, Any, None]:
        yield from ()


def install(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Make models known; ``values`` are those of their entry points, by name."""
    own = [EntryPoint(name, value, registry.GROUP) for name, value in values.items()]

    def all_of(*, group: str) -> list[EntryPoint]:
        return [*entry_points(group=group), *own]

    monkeypatch.setattr(registry, "entry_points", all_of)
    # What was found is kept by its name: another test may have had a model of the same one.
    monkeypatch.setattr(setup, "_model", registry.find_model)
