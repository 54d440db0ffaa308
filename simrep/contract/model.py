"""What a replication model is: the base class of all of them, and what the engine gives it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from simrep.contract.closed_form.journey import ClosedForm
from simrep.contract.cluster import Cluster
from simrep.contract.question import Question
from simrep.contract.read_level import ReadLevel
from simrep.contract.recognition import Recognition
from simrep.errors import ScenarioError
from simrep.kernel.clock import Event
from simrep.kernel.timeline import Noted
from simrep.kernel.trace import MessageText
from simrep.measure.stations import Station
from simrep.network.network import Path
from simrep.scenario.cluster import MachineTable
from simrep.scenario.faults import ChangeWord, FaultWord
from simrep.scenario.operation import OperationTable, OperationWord
from simrep.scenario.pack import Pack
from simrep.scenario.schema import Scenario
from simrep.workload.status import ServerStatus
from simrep.workload.transaction import Transaction
from simrep.workload.workload import Workload

__all__ = ["KEEPS", "Change", "Degradation", "Deployment", "Keeps", "Leader", "Model",
           "Operation", "SessionTable", "Setup", "StallPhase"]  # fmt: skip

Keeps = Literal["all", "majority", "replica", "none"]
"""Which copies an answered transaction surely has.

``all``: every server has received it; ``majority``: most servers have; ``replica``: at least one
other server has, here or elsewhere; ``none``: only the server that answered.
"""
KEEPS: tuple[Keeps, ...] = ("all", "majority", "replica", "none")
"""The safest first, which is the order in which they are compared."""


@dataclass(frozen=True, slots=True)
class Change:
    """A server that comes or goes, or gets another role.

    Parameters
    ----------
    at_s : float
        When, in simulated seconds.
    node : int
        Position of its node.
    what : {"kill", "power-loss", "leave", "restart", "bootstrap", "promote"}
        Its process dies, and the kernel closes its connections; its machine is silent from now on
        (the network loses what it sends and what is sent to it); it shuts down in order; it starts
        again; it is told to be a primary component by itself, and starts so if it is away; it
        becomes the one that takes writes.
    transfer_s : float, optional
        Of ``restart``: how long it takes to transfer the state to it, if the scenario says so.
    transactions_timeout_s : float, optional
        Of ``promote``: how long transactions on the old one may go on; None: for ever.
    """

    at_s: float
    node: int
    what: ChangeWord
    transfer_s: float | None = None
    transactions_timeout_s: float | None = None

    @property
    def starts(self) -> bool:
        """Whether a server is there afterwards; else one ends."""
        return self.what in {"restart", "bootstrap", "promote"}


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that an operator does to a running cluster.

    Parameters
    ----------
    at_s : float
        When, in simulated seconds.
    nodes : tuple of int
        Positions of the nodes that it is done on.
    told : OperationTable
        What it is (``told.what``), and all that the scenario says of it.
    options : BaseModel or None
        Of ``set``: all options as they are from then on, of the type ``Model.Options``.
    """

    at_s: float
    nodes: tuple[int, ...]
    told: OperationTable
    options: Any = None

    @property
    def what(self) -> OperationWord:
        """Its word."""
        return self.told.what


class SessionTable(BaseModel):
    """Session variables that a class of transactions may set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def check(self, options: Any) -> None:
        """Raise ScenarioError, with the name of the variable, for what the server refuses."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The first node alone takes writes, all others refuse them; the words that say so.

    Parameters
    ----------
    title : str
        What the product calls the first node: source, primary, leader.
    others : str
        What it calls each of the others.
    otherwise : str
        What else a user could do than write on the leader: which option to set.
    moves : bool
        Whether another node takes its place when it fails: where servers come and go, clients may
        try to write on any node, and are told of an error where they cannot.
    """

    title: str = "leader"
    others: str = "follower"
    otherwise: str = ""
    moves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A product with settings of its own, which ``plan product`` tries; a server in every region.

    Parameters
    ----------
    name : str
        As people write it.
    keeps : {"all", "majority", "replica", "none"}
        Which copies an answered transaction surely has.
    here : tuple of int
        Servers in the region that writes, where there is one; one layout for each number.
    options : mapping of str to value
        Settings, in the product's own spelling.
    writers : mapping of str to value, optional
        Settings instead of these where clients write in several regions; None: they cannot.
    """

    name: str
    keeps: Keeps
    here: tuple[int, ...] = (1,)
    options: Mapping[str, Any] = field(default_factory=dict)
    writers: Mapping[str, Any] | None = None


class Degradation(NamedTuple):
    """Something less than the product promises that clients got.

    Parameters
    ----------
    figure : str
        Its name in a result, such as ``unacknowledged_commits``; shown without underscores.
    times : float
        How often since the start of the simulation; 0 as long as it did not happen.
    why : str
        What happened, in a sentence without a full stop.
    """

    figure: str
    times: float
    why: str


class StallPhase(NamedTuple):
    """A part of a stall, as what servers noted explains it.

    Parameters
    ----------
    name : str
        What passed: ``suspect timeout``, ``join retransmission``.
    seconds : float
        How long it lasted.
    why : str
        More of it in words, with the setting that decides it; empty if there is none.
    """

    name: str
    seconds: float
    why: str = ""


class Model(ABC):
    """One replication product, built for one replication of one run; clients drive it.

    A model of one's own is a subclass. It sets ``name``, ``Options`` and ``Costs``, and has
    ``connect``, ``transact`` and ``counters``. Everything else has a default that promises
    nothing: what a model does not tell is refused where it is asked for, and never guessed.

    Parameters
    ----------
    cluster : Cluster
        Machines, network and clock.
    options : BaseModel
        Of the type ``Options``.
    costs : BaseModel
        Of the type ``Costs``.
    """

    name: ClassVar[str]
    """As in ``cluster.model``."""
    Options: ClassVar[type[BaseModel]]
    """Product options in the product's own spelling (field aliases)."""
    Costs: ClassVar[type[BaseModel]]
    """Physical parameters, which a calibrated pack gives values to."""
    Session: ClassVar[type[SessionTable] | None] = None
    """Session variables that a class of transactions may set; None if there are none."""
    errors: ClassVar[tuple[str, ...]] = ()
    """Why its transactions may fail, each with its number first: ``"1213 deadlock"``. A run counts
    ``transaction.error``; these are counted as 0 where no client was told of them."""
    faults: ClassVar[frozenset[FaultWord]] = frozenset()
    """Which faults its servers play, by their words in ``[[fault]]``.

    ``slow`` and ``disk-stall``: its disks are those that ``Parts.disk`` makes. ``pause``: its
    timers are those of ``Parts.clock``; ``pause_limit_s`` tells how long a pause may be. ``kill``,
    ``power-loss``, ``leave``, ``restart``, ``bootstrap``, ``promote``: ``change`` lets a server
    come or go, or gives it another role. ``loss`` and ``jitter``: all its messages go over the
    network of ``Cluster``. ``cut``: its servers notice a link on which nothing gets through;
    without that word cuts are played up to ``silence_limit_s``."""
    operations: ClassVar[frozenset[OperationWord]] = frozenset()
    """What its operators may do, by the words of ``OperationTable.what``: ``operate`` does it."""
    dynamic: ClassVar[frozenset[str]] = frozenset()
    """Options that operators may set on its running servers, in the product's spelling; with any,
    ``operations`` has the word ``set``."""
    static: ClassVar[Mapping[str, str]] = {}
    """Why one might take some others for such, and what setting them takes."""
    said: ClassVar[Mapping[str, str]] = {}
    """How it says what its servers note, by the words of a time line: ``"suspect": "{node} finds
    {of} unreachable"``. Words that are not here are told as for all models."""
    terms: ClassVar[Mapping[str, str]] = {}
    """How it calls in short what its servers note, in heads of tables and in legends, by the same
    words: ``"stable": "configuration"``."""
    node_options: ClassVar[frozenset[str]] = frozenset()
    """Options that each of its servers may have of its own, in the product's spelling: those that
    ``Cluster.options_of`` gives it."""
    arbitrators: ClassVar[bool] = False
    """Whether nodes may be without data: those of ``Cluster.arbitrators``."""
    node_costs: ClassVar[bool] = False
    """Whether each of its servers has the costs that ``Cluster.costs_of`` gives it."""
    waits_for_own: ClassVar[bool] = False
    """Whether a session may wait on any server until that has committed a given transaction, as
    ``WAIT_FOR_EXECUTED_GTID_SET`` does."""
    piles_up: ClassVar[bool] = False
    """Whether it can begin as a load has left it that ran for ``Cluster.history_s`` before."""
    alone: ClassVar[bool] = False
    """Whether its servers know nothing of each other, so that no commit sees the network."""
    recognition: ClassVar[Recognition] = Recognition()
    """What it knows of the files of its servers."""

    def __init__(self, cluster: Cluster, options: Any, costs: Any) -> None:
        del cluster, options, costs  # a model keeps what it needs

    # -- what clients do -----------------------------------------------------------------------

    @abstractmethod
    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """Open a client connection to ``node``; None if it is open.

        Where servers come and go it may be refused: then the error is what is returned, with its
        number first, such as ``"2003 connection refused"``. A server that does not answer at all
        waits for an event that never comes; the client gives up by itself.
        """

    @abstractmethod
    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction to its end; returns whether it committed.

        If it did not, ``transaction.error`` tells why. ``transaction.unserved`` says that its node
        serves nobody now, so that the client pauses before it goes on;
        ``transaction.outcome_unknown`` that it may be committed all the same.
        """

    def change(self, change: Change) -> None:
        """Let a server come or go now; only called for words that ``faults`` has."""
        raise ScenarioError(
            "fault", f"model {self.name!r} has no method change(), for {change.what!r}"
        )

    def operate(self, operation: Operation) -> None:
        """Let an operator do something now; only called for words that ``operations`` has."""
        raise ScenarioError(
            operation.told.path,
            f"model {self.name!r} has no method operate(), for {operation.what!r}",
        )

    def status(self, node: int) -> ServerStatus | None:
        """What the server of a node says of itself now, to a proxy that has connected to it.

        None, the default: the model does not tell; then no proxy can route clients to it.
        """
        del node
        return None

    # -- what it counts ------------------------------------------------------------------------

    @abstractmethod
    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Counters by name of the node, named as the server's status variables."""

    def backlog(self) -> Mapping[str, float] | None:
        """By how many transactions each node is behind the others now, by its name.

        A transaction counts as long as it is committed somewhere and not yet here, or waits here
        to be certified or applied. None, the default: the model does not tell, so nobody can say
        which rate it keeps up.
        """
        return None

    def degradation(self) -> Sequence[Degradation]:
        """Where the cluster gave its clients less than it promises, each also if it did not yet.

        A run shows what there was on top, and warns. By default nothing.
        """
        return ()

    def stations(self) -> Iterable[Station]:
        """Stations of the model's own, for utilisation figures; machines are the engine's."""
        return ()

    def settle(self) -> None:  # noqa: B027 - nothing is to be done by default
        """Count all that has happened until now: asked before anybody looks at stations.

        Nothing to do for a model that plays all nodes; see ``Cluster.quiet``.
        """

    # -- what it tells before a run ------------------------------------------------------------

    @staticmethod
    def has_xa(options: Any) -> bool:
        """Whether it knows XA transactions with these options."""
        return False

    @staticmethod
    def writers(options: Any) -> Leader | None:
        """Which nodes take writes with these options: a leader alone; None, the default: all."""
        return None

    @staticmethod
    def pause_limit_s(options: Any) -> float | None:
        """The longest pause of a server (seconds) that it plays.

        None, the default: the model does not tell, so it plays none.
        """
        return None

    @staticmethod
    def silence_limit_s(options: Any) -> float | None:
        """How long a server may be silent (seconds) until another one notices.

        None, the default: the model does not tell. Then it plays no cut of a link, unless
        ``faults`` has that word.
        """
        return None

    @staticmethod
    def deployments() -> Sequence[Deployment]:
        """How it is deployed in several regions, for ``plan product``; by default not at all."""
        return ()

    @staticmethod
    def read_levels() -> Sequence[ReadLevel]:
        """Which consistency of reads one may choose, for ``plan reads``; by default none.

        The first is that of a server nobody has asked for more.
        """
        return ()

    @staticmethod
    def relays(segments: Sequence[int], node: int) -> Sequence[int]:
        """Who passes on what a node sends to others of its own network segment; by default nobody.

        ``segments`` are those of the nodes, by position.
        """
        del segments, node
        return ()

    @staticmethod
    def questions() -> Sequence[Question]:
        """What ``simrep.plan`` answers for it alone."""
        return ()

    @staticmethod
    def analytic(setup: Setup) -> ClosedForm | None:
        """What it knows in closed form, for a second opinion; None, the default: nothing."""
        return None

    # -- what it tells to explanations ---------------------------------------------------------

    @staticmethod
    def describe(message: Any) -> MessageText:
        """What a message on its network is, and which transactions it carries."""
        return MessageText("message")

    @staticmethod
    def stall_phases(
        noted: Sequence[Noted], names: Sequence[str], options: Any, from_s: float, until_s: float
    ) -> Sequence[StallPhase]:
        """What a stall consisted of, by what servers noted; by default nobody knows.

        The phases follow each other from ``from_s`` on; they may end before ``until_s``: what is
        left is told as not explained. ``names`` are those of the nodes, by position.
        """
        del noted, names, options, from_s, until_s
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """Everything that the replications of a run have in common; it can be sent to a process.

    Attributes
    ----------
    scenario : Scenario
        With options, costs, machine and round trip filled in: what a later release changes in
        its pack or version does not change this run.
    model : type of Model
    options, costs : pydantic model
    machines : mapping of str to MachineTable
        By name of the host; complete.
    placement : tuple of str
        Host of each node.
    paths : mapping of (int, int) to Path
    workload : Workload
    changes : tuple of Change
        Servers that come and go, in the order of time.
    operations : tuple of Operation
        What operators do, in the order of time.
    noticed : bool
        Whether servers come and go, or something else happens that others have to notice.
    node_costs : mapping of int to mapping
        Costs of single nodes above ``costs``, by position of the node and name of the field.
    node_options : mapping of int to mapping
        Options of single nodes above ``options``, the same way.
    versions : mapping of str to str
        What computes it: package, interpreter, libraries, model and pack.
    pack : Pack or None
    """

    scenario: Scenario
    model: type[Model]
    options: BaseModel
    costs: BaseModel
    machines: Mapping[str, MachineTable]
    placement: tuple[str, ...]
    paths: Mapping[tuple[int, int], Path]
    workload: Workload
    changes: tuple[Change, ...]
    versions: Mapping[str, str]
    pack: Pack | None = None
    node_costs: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    node_options: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    operations: tuple[Operation, ...] = ()
    noticed: bool = False

    @property
    def moves(self) -> bool:
        """Whether servers come and go, or change their roles."""
        return bool(self.changes or self.scenario.procedures)
