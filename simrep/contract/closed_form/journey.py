"""What a transaction goes through, as its model tells it in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from simrep.contract.closed_form.group_commit import GroupStage
from simrep.scenario.cluster import MachineTable

__all__ = [
    "ClosedForm",
    "Delay",
    "Groups",
    "Journey",
    "Pace",
    "Release",
    "Step",
    "Turns",
    "Work",
    "cost_s",
]


@dataclass(frozen=True, slots=True)
class Work:
    """CPU of the machine of its node, for which others compete; ``wakes`` threads are woken."""

    name: str
    seconds: float
    wakes: int = 1


@dataclass(frozen=True, slots=True)
class Delay:
    """Time that passes whatever the others do."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Turns:
    """So many at a time are served on its node, the others wait for their turn."""

    name: str
    seconds: float
    servers: float = 1.0


@dataclass(frozen=True, slots=True)
class Groups:
    """A group commit; ``others`` tells whether what comes from other nodes goes through it too.

    The thread that led a group wakes the others one after the other, which takes ``answer_s`` each.
    """

    name: str
    stages: tuple[GroupStage, ...]
    answer_s: float = 0.0
    others: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """An answer of one's own, and that of the last who has gathered meanwhile."""

    name: str
    seconds: float


Step = Work | Delay | Turns | Groups | Release


@dataclass(frozen=True, slots=True)
class Journey:
    """A transaction of a client of one node.

    Parameters
    ----------
    steps : tuple of Step
        What its client waits for, in order.
    beside_s : mapping of int to float
        CPU that it costs on nodes, by position, beside what its client waits for.
    connect_s : float
        CPU of the connection, once for each client.
    """

    steps: tuple[Step, ...]
    beside_s: Mapping[int, float] = field(default_factory=dict)
    connect_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How often things happen.

    Parameters
    ----------
    own_s : float
        Mean time between two transactions of the clients of the node.
    any_s : float
        The same of all nodes.
    clients : int
        Of the node; with arrivals, how many are under way, rounded.
    rates : mapping of int to float
        Transactions per second by node.
    """

    own_s: float
    any_s: float
    clients: int
    rates: Mapping[int, float]


class ClosedForm(Protocol):
    """What a model knows in closed form; ``Model.analytic(plan)`` makes one."""

    def doubts(self) -> Iterator[str]:
        """Why there is no closed form for this scenario; nothing if there is one."""
        ...

    def journey(self, node: int, pace: Pace) -> Journey:
        """What a transaction of a client of ``node`` goes through."""
        ...

    def limits(self, rates: Mapping[int, float]) -> Iterator[str]:
        """Why the closed form does not hold at these rates (transactions per second by node)."""
        ...

    def notes(self) -> Iterator[str]:
        """What is simplified."""
        ...


def cost_s(machine: MachineTable, seconds: float, pause_s: float, more_s: float = 0.0) -> float:
    """Mean time of a routine that runs every ``pause_s``, its caches colder after a long pause."""
    assert machine.cold_factor is not None
    assert machine.cold_after_ms is not None
    cold = pause_s / (pause_s + machine.cold_after_ms / 1e3)
    return seconds * (1.0 + (machine.cold_factor - 1.0) * cold) + more_s
