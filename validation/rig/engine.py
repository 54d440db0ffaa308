"""What an engine offers, what a product forms of it, and what a load and a campaign may use.

An *engine* makes hosts and delays what they send to one another: network namespaces or containers.
A *product* starts one database server on each host and joins them to a cluster. Loads and campaigns
see running nodes and clusters, and need to know neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from simrep.rig.delays import DelayMatrix

if TYPE_CHECKING:
    from pymysql.connections import Connection

__all__ = [
    "Cluster",
    "DelayMethod",
    "DelayStatistics",
    "Engine",
    "EngineName",
    "Health",
    "Host",
    "Option",
    "Product",
    "RoundTrip",
    "RunningNode",
]

EngineName = Literal["netns", "docker"]
DelayMethod = Literal["netem", "relay"]
Option = bool | int | float | str


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Pings from one host to another, in milliseconds."""

    least_ms: float
    mean_ms: float
    most_ms: float
    deviation_ms: float


@dataclass(frozen=True, slots=True)
class DelayStatistics:
    """What the relay did since it was last asked; all zero under netem, which keeps no count.

    Attributes
    ----------
    packets, bytes, dropped : int
    late_mean_ms, late_max_ms : float
        How much later than due packets left.
    cpu_s : float
        CPU time of the relay.
    """

    packets: int = 0
    bytes: int = 0
    dropped: int = 0
    late_mean_ms: float = 0.0
    late_max_ms: float = 0.0
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a cluster is whole.

    Attributes
    ----------
    problems : tuple of str
        Why it is not; empty if it is.
    facts : mapping
        Membership, states and view, node by node: what is compared before and after a run.
    """

    problems: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class Host(Protocol):
    """A network namespace with a root file system, or a container: one server runs on it."""

    @property
    def name(self) -> str:
        """``n1``, ``n2``, ..."""
        ...

    @property
    def address(self) -> str:
        """IPv4 address that the other hosts know it by."""
        ...

    @property
    def inside(self) -> str:
        """Folder for data, as programs on the host see it."""
        ...

    @property
    def outside(self) -> Path:
        """The same folder as the rig sees it."""
        ...

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs another one on the host."""
        ...

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> str:
        """Run a program to its end and return what it printed; RigError if it fails."""
        ...

    def launch(self, argv: Sequence[str], log: Path) -> None:
        """Start the server of this host; its output is appended to the log."""
        ...

    def alive(self) -> bool:
        """Whether the server is running."""
        ...

    def terminate(self, timeout_s: float = 60.0) -> None:
        """Ask the server to end, and kill it after the time-out."""
        ...

    def cpu_seconds(self) -> float:
        """CPU time of the server, user and system, threads that ended included."""
        ...

    def ping(self, address: str, *, count: int, interval_s: float) -> RoundTrip:
        """Ping another host."""
        ...


class Engine(Protocol):
    """Makes hosts and delays what they send."""

    @property
    def name(self) -> EngineName:
        """Which engine."""
        ...

    @property
    def delay_method(self) -> DelayMethod:
        """What delays packets on this machine: netem where the kernel has it, else the relay."""
        ...

    @property
    def hosts(self) -> Sequence[Host]:
        """All hosts, ``n1`` first."""
        ...

    def up(self, count: int) -> None:
        """Remove what an earlier run left behind and make so many hosts."""
        ...

    def set_delays(self, delays: DelayMatrix) -> None:
        """Delay packets as told, from now on, instead of as before."""
        ...

    def round_trips(self, *, count: int = 20) -> dict[tuple[str, str], RoundTrip]:
        """Ping every pair of hosts once in each order of their names."""
        ...

    def delay_statistics(self, *, reset: bool = False) -> DelayStatistics:
        """What the relay did since it was reset."""
        ...

    def description(self) -> dict[str, Any]:
        """Versions and settings of the engine, for the manifest."""
        ...

    def down(self) -> None:
        """Remove everything the engine made; may be called twice."""
        ...


class RunningNode(Protocol):
    """A database server on a host."""

    @property
    def name(self) -> str:
        """Name of its host."""
        ...

    @property
    def host(self) -> Host:
        """Where it runs."""
        ...

    @property
    def socket(self) -> Path:
        """Unix socket as the rig sees it: what drivers outside of the host connect to."""
        ...

    @property
    def socket_inside(self) -> str:
        """The same socket for programs on the host, such as the slap tools and sysbench."""
        ...

    @property
    def slap_program(self) -> str:
        """``mariadb-slap`` or ``mysqlslap``."""
        ...

    def connect(self, database: str | None = None, *, answer_s: float = ...) -> Connection[Any]:
        """A connection as root with autocommit, over the socket; an answer takes no longer."""
        ...

    def query(self, *statements: str) -> list[dict[str, Any]]:
        """Run statements on one connection and return the rows of the last."""
        ...

    def status(self, like: str = "%") -> dict[str, str]:
        """Global status variables, names in lower case."""
        ...

    def variables(self, like: str = "%") -> dict[str, str]:
        """Global system variables."""
        ...

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> str:
        """Run a program beside the server and return what it printed."""
        ...

    def cpu_seconds(self) -> float:
        """CPU time of the server so far."""
        ...

    def start(self) -> None:
        """Start the server again with the options it had."""
        ...

    def stop(self) -> None:
        """Stop the server."""
        ...


class Cluster(Protocol):
    """Servers that replicate, and what tells whether they do."""

    @property
    def system(self) -> str:
        """Which product: ``galera``, ``group_replication``, ``semisync`` or ``asynchronous``."""
        ...

    @property
    def nodes(self) -> Sequence[RunningNode]:
        """All servers; the first one accepts writes."""
        ...

    def health(self) -> Health:
        """Membership, states and whether replication runs, asked of every node."""
        ...

    def counters(self) -> dict[str, dict[str, str]]:
        """Counters of the product, by node."""
        ...

    def caught_up(self, timeout_s: float = 60.0) -> bool:
        """Wait until every node has applied what was committed; whether that came true."""
        ...

    def description(self) -> dict[str, Any]:
        """Versions, command lines and all variables of the first node, for the manifest."""
        ...

    def stop(self) -> None:
        """Stop all servers and delete their data; may be called twice."""
        ...


class Product(Protocol):
    """How the servers of a replication product become a cluster."""

    def form(self, engine: Engine, options: Mapping[str, Option], logs: Path) -> Cluster:
        """Start a server on every host and join them.

        Parameters
        ----------
        engine : Engine
            Whose hosts are up and not delayed yet.
        options : mapping of product option to value
            In the product's own spelling, ``sync_binlog`` or ``evs.send_window``.
        logs : Path
            Folder for the servers' logs.
        """
        ...
