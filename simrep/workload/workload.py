"""Who submits what: clients of closed loops, streams of open ones, single transactions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from simrep.workload.classes import TransactionClass
from simrep.workload.course import Course
from simrep.workload.policy import Policy

__all__ = ["Arrivals", "Loop", "Scheduled", "Think", "Workload"]


@dataclass(frozen=True, slots=True)
class Think:
    """The time between the end of a transaction and the start of the next.

    Attributes
    ----------
    kind : {"constant", "exponential"}
    mean_s : float
        In seconds; 0 for clients that never pause.
    """

    kind: Literal["constant", "exponential"] = "constant"
    mean_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A Poisson stream of transactions to one node.

    Attributes
    ----------
    node : int
    rate_tps : float
        Transactions per second, above 0.
    connections : int or None
        So many at a time are submitted, the others wait for a connection, as those of a load
        generator with a fixed rate and number of threads; None: as many as there are.
    classes : tuple of str or None
        Names of the classes that arrive; None: the whole mix.
    course : Course or None
        The rate over time, of which ``rate_tps`` is the highest; None: it stays.
    group : str
        Name of the group of clients.
    policy : Policy or None
        What its clients do about errors; None: as by default.
    """

    node: int
    rate_tps: float
    connections: int | None = None
    classes: tuple[str, ...] | None = None
    course: Course | None = None
    group: str = "clients"
    policy: Policy | None = None

    @property
    def lasting(self) -> bool:
        """Whether a client, which is a connection, submits more than one transaction."""
        return self.connections is not None


@dataclass(frozen=True, slots=True)
class Loop:
    """Clients of a closed loop: each submits its next transaction when the last has ended.

    Attributes
    ----------
    nodes : tuple of int
        The node of each client.
    classes : tuple of str or None
        Names of the classes that they submit; None: the whole mix.
    course : Course or None
        How many of them are there over time, the first ones first; None: always all. A client
        that is to leave ends its transaction first and then disconnects; one that comes connects.
    group : str
        Name of the group of clients.
    policy : Policy or None
        What they do about errors; None: as by default.
    think : Think or None
        Before every transaction of theirs; None: as all clients do.
    """

    nodes: tuple[int, ...]
    classes: tuple[str, ...] | None = None
    course: Course | None = None
    group: str = "clients"
    policy: Policy | None = None
    think: Think | None = None
    lasting: ClassVar[bool] = True
    """Whether a client submits more than one transaction."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One transaction that a client of its own submits at a given time, beside all others.

    Attributes
    ----------
    transaction_class : TransactionClass
    node : int
    at_s : float
        When, in simulated seconds.
    """

    transaction_class: TransactionClass
    node: int
    at_s: float


@dataclass(frozen=True, slots=True)
class Workload:
    """Who submits what.

    Attributes
    ----------
    classes : tuple of TransactionClass
        The mix.
    loops : tuple of Loop
        Clients of a closed loop, group by group.
    per_client : int or None
        How many transactions each of them submits; None until the run ends.
    think : Think
        Before every transaction.
    arrivals : tuple of Arrivals
        Streams of an open loop, instead of clients.
    retry : bool
        A transaction that aborts is submitted again until it commits.
    scheduled : tuple of Scheduled
        Single transactions at given times.
    """

    classes: tuple[TransactionClass, ...]
    loops: tuple[Loop, ...] = ()
    per_client: int | None = None
    think: Think = Think()
    arrivals: tuple[Arrivals, ...] = ()
    retry: bool = False
    scheduled: tuple[Scheduled, ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of each client of a closed loop."""
        return tuple(node for loop in self.loops for node in loop.nodes)

    @property
    def sources(self) -> tuple[Loop | Arrivals, ...]:
        """All that submits transactions of the mix."""
        return (*self.loops, *self.arrivals)

    @property
    def courses(self) -> tuple[Course, ...]:
        """All that varies over time."""
        return tuple(source.course for source in self.sources if source.course is not None)

    @property
    def sessions(self) -> tuple[Any, ...]:
        """Session variables that classes set, and those of scheduled transactions."""
        every = (*self.classes, *(one.transaction_class for one in self.scheduled))
        return tuple(one.session for one in every if one.session is not None)

    @property
    def writes(self) -> bool:
        """Whether any class of the mix writes."""
        return any(one.writes for one in self.classes)

    @property
    def readers(self) -> frozenset[str]:
        """Names of the classes that only read, where others write."""
        reading = (one.name for one in self.classes if not one.writes)
        return frozenset(reading) if self.writes else frozenset()

    @property
    def waits_for_own(self) -> bool:
        """Whether clients wait for their own writes before they read."""
        policies = [source.policy for source in self.sources if source.policy is not None]
        return any(policy.own_writes_s is not None for policy in policies)

    @property
    def has_policy(self) -> bool:
        """Whether it is said what some clients do about errors."""
        return any(source.policy is not None for source in self.sources)

    @property
    def stops(self) -> bool:
        """Whether some clients end for good at an error."""
        return any(source.policy and source.policy.on_error == "stop" for source in self.sources)

    def submitted(self) -> Iterator[tuple[TransactionClass, int]]:
        """Which classes clients submit to which nodes."""
        places = {(node, loop.classes) for loop in self.loops for node in loop.nodes}
        places |= {(arrivals.node, arrivals.classes) for arrivals in self.arrivals}
        for node, names in sorted(places, key=str):
            for one in self.classes:
                if names is None or one.name in names:
                    yield one, node
        for single in self.scheduled:
            yield single.transaction_class, single.node
