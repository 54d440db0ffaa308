"""What a replication model is, and how the engine finds one."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict
from simpy.events import Event

from simrep.contract.cluster import Cluster
from simrep.contract.recognition import Recognition
from simrep.errors import ScenarioError, nearest
from simrep.kernel.fifo import Fifo
from simrep.workload.transaction import Transaction

__all__ = ["Model", "find_model", "model_names"]

GROUP = "simrep.models"


@dataclass(frozen=True, slots=True)
class Change:
    """A server that comes or goes.

    Parameters
    ----------
    at_s : float
        When, in simulated seconds.
    node : int
        Position of its node.
    what : {"crash", "leave", "join"}
        It dies; it shuts down in order; it comes back.
    transfer_s : float
        Of ``join``: how long it takes to transfer the state to it.
    """

    at_s: float
    node: int
    what: Literal["crash", "leave", "join"]
    transfer_s: float = 0.0


class SessionTable(BaseModel):
    """Session variables that a class of transactions may set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def check(self, options: Any) -> None:
        """Raise ScenarioError, with the name of the variable, for what the server refuses."""


class Model(Protocol):
    """One replication product.

    A model is built for one replication of one run. Clients drive it through ``transact``.

    It may also have a static method ``analytic(plan)`` that returns what it knows in closed form
    (``simrep.contract.closed_form.journey.ClosedForm``), for a second opinion, and a method
    ``describe(message)`` that tells what a message on its network is
    (``simrep.kernel.chronicle.MessageText``), for explanations.
    """

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    """Product options in the product's own spelling (field aliases)."""
    Costs: ClassVar[type[BaseModel]]
    """Physical parameters, which a calibrated pack gives values to."""
    Session: ClassVar[type[SessionTable] | None]
    """Session variables that a class of transactions may set; None if there are none."""
    changes: ClassVar[bool]
    """Whether its servers may come and go."""
    recognition: ClassVar[Recognition]
    """What it knows of the files of its servers."""

    def __init__(self, cluster: Cluster, options: Any, costs: Any) -> None: ...

    @staticmethod
    def has_xa(_options: Any) -> bool:
        """Whether it knows XA transactions with these options."""
        ...

    def connect(self, node: int) -> Generator[Event, Any, None]:
        """Open a client connection to ``node``."""
        ...

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction to its end; returns whether it committed."""
        ...

    def change(self, change: Change) -> None:
        """Let a server come or go now; only called if ``changes``."""
        ...

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Counters by node, named as the server's status variables."""
        ...

    def stations(self) -> Iterable[Fifo]:
        """Stations of the model's own, for utilisation figures."""
        ...


def model_names() -> list[str]:
    """Names of all installed models."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def find_model(name: str, path: str = "cluster.model") -> type[Model]:
    """The model class of a name.

    Raises
    ------
    ScenarioError
        If no installed package provides such a model.
    """
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            model: type[Model] = entry.load()
            return model
    raise ScenarioError(path, f"no model {name!r}", nearest(name, model_names()))
