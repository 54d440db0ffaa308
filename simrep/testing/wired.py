"""Replicated clusters wired by hand, with a trace, and clients that are told what to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simrep.contract.cluster import Cluster
from simrep.contract.model import Model
from simrep.kernel.clock import Clock, Event
from simrep.kernel.streams import Streams
from simrep.kernel.timeline import Noted, Timeline
from simrep.kernel.trace import Trace
from simrep.network.link import Jitter, Latency, Tcp
from simrep.network.network import Network, Path
from simrep.server.host import Host
from simrep.workload.transaction import Statement, Transaction

__all__ = ["Attempt", "WiredCluster", "free", "reads", "updates"]


_INFINITE = 1e9


class Attempt(NamedTuple):
    """A transaction that a client submitted, and how it ended.

    Attributes
    ----------
    transaction : Transaction
    began_s, ended_s : float
        In simulated seconds.
    committed : bool
    began_at, ended_at : int
        Places in the trace.
    """

    transaction: Transaction
    began_s: float
    ended_s: float
    committed: bool
    began_at: int
    ended_at: int


def free(costs: type[BaseModel]) -> dict[str, float]:
    """Costs of a cluster on which only the network takes time.

    All are zero, and speeds (``..._per_s``) as good as infinite; a cost that is neither and cannot
    be zero, such as a ratio, keeps its default.
    """
    fields = costs.model_fields
    nothing = {name: 0.0 for name, field in fields.items() if _may_be_zero(field)}
    return nothing | {name: _INFINITE for name in fields if name.endswith("_per_s")}


def _may_be_zero(field: FieldInfo) -> bool:
    return not any(
        getattr(bound, "gt", -1.0) >= 0.0 or getattr(bound, "ge", 0.0) > 0.0
        for bound in field.metadata
    )


def updates(
    client: int,
    node: int,
    number: int,
    hot: Sequence[Hashable] = (),
    *,
    size_bytes: int = 100,
    autocommit: bool = True,
) -> Transaction:
    """A transaction that inserts a row of its own and updates hot rows.

    Parameters
    ----------
    client, node, number : int
        Its client, the node it is submitted to, and its number among those of the client. Its own
        row, the first of ``keys``, is made of them: no other transaction has it.
    hot : sequence of hashable
        Rows that others may want as well.
    size_bytes : int
        Of the row events.
    autocommit : bool
        False: every hot row is updated by a statement of its own.
    """
    own = ("client", client, number)
    if autocommit:
        statements: tuple[Statement, ...] = (
            Statement(rows_written=1 + len(hot), locks=tuple(hot)),
        )
    else:
        statements = (Statement(), *(Statement(locks=(row,)) for row in hot))
    return Transaction(
        client,
        node,
        "test",
        statements,
        (own, *hot),
        1 + len(hot),
        size_bytes,
        autocommit=autocommit,
    )


def reads(client: int, node: int) -> Transaction:
    """A transaction that reads a row."""
    return Transaction(client, node, "read", (Statement(1, 0),), (), 0, 0)


class _Watched:
    """A statement that tells when it runs: it has its locks then."""

    def __init__(self, statement: Statement, runs: Callable[[], object]) -> None:
        self.rows_written = statement.rows_written
        self.locks = statement.locks
        self.scan = statement.scan
        self._rows_read = statement.rows_read
        self._runs = runs

    @property
    def rows_read(self) -> int:
        """Asked for when the statement runs."""
        self._runs()
        return self._rows_read


class WiredCluster:
    """A cluster of one model, the clients on it and what they saw.

    Parameters
    ----------
    model : type of Model
    delays_s : matrix of float
        One-way delays in seconds, from row to column.
    options, costs : mapping, optional
        Options in the product's spelling; costs that are not zero.
    jitter_s, bytes_per_s : float
        Mean of an exponential jitter, and bandwidth, on every path.
    tcp : Tcp, optional
        What connections do with large messages.
    segments, machines : sequence of int, optional
        Segment of every node, and the machine it runs on (by default one each).
    cores : int
        Of each machine.
    slice_s : float
        Time slice of the machines.
    names : sequence of str, optional
        Of the nodes; by default n1, n2, ...
    seed : int
        Of everything that is random.
    traced : bool
        Whether there is a trace.
    changes : bool
        Whether servers will come and go.
    arbitrators : sequence of int
        Nodes without data.
    operations : collection of str
        Words of what operators will do; with ``changes``.

    Attributes
    ----------
    clock, network, trace, model
        What it is made of.
    attempts : list of Attempt
        What clients have submitted, in the order in which it ended.
    submitted : int
    ran : dict
        For every transaction, the place in the trace at which each of its statements ran last.
    """

    model: Any

    def __init__(
        self,
        model: type[Model],
        delays_s: Sequence[Sequence[float]],
        *,
        options: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        jitter_s: float = 0.0,
        bytes_per_s: float = float("inf"),
        tcp: Tcp | None = None,
        segments: Sequence[int] | None = None,
        machines: Sequence[int] | None = None,
        cores: int = 2,
        slice_s: float = 1e-3,
        names: Sequence[str] | None = None,
        seed: int = 0,
        traced: bool = True,
        changes: bool = False,
        arbitrators: Sequence[int] = (),
        operations: Collection[str] = (),
    ) -> None:
        size = len(delays_s)
        nodes = range(size)
        names = names or [f"n{i + 1}" for i in nodes]
        jitter = (Jitter("exponential", jitter_s),) if jitter_s else ()
        self.clock = Clock()
        self.trace = Trace(self.clock)
        streams = Streams(seed)
        machines = machines or nodes
        hosts = {
            name: Host(self.clock, cores, name=f"machine{name}", slice_s=slice_s)
            for name in sorted(set(machines))
        }
        placed = [hosts[name] for name in machines]
        self.network = Network(
            self.clock,
            streams,
            names,
            {
                (i, j): Path(Latency(delays_s[i][j], jitter), bytes_per_s, tcp=tcp or Tcp())
                for i in nodes
                for j in nodes
                if i != j
            },
        )
        self.names = names
        self.timeline = Timeline(self.clock) if changes else None
        self.model = model(
            Cluster(
                clock=self.clock,
                streams=streams,
                network=self.network,
                names=names,
                hosts=placed,
                segments=segments or [0] * size,
                client_hosts=placed,
                client_delays_s=[0.0] * size,
                trace=self.trace if traced else None,
                changes=changes,
                timeline=self.timeline,
                arbitrators=arbitrators,
                operations=operations,
            ),
            model.Options(**options or {}),
            model.Costs(**free(model.Costs) | dict(costs or {})),
        )
        self.attempts: list[Attempt] = []
        self.ran: dict[Transaction, dict[int, int]] = {}
        self.submitted = 0
        self._clients: list[Event] = []

    @property
    def noted(self) -> list[Noted]:
        """What servers noticed and decided; nothing if ``changes`` is not set."""
        return [] if self.timeline is None else self.timeline.noted

    @property
    def quiet(self) -> bool:
        """Whether no node is behind, as far as the model tells (``Model.backlog``)."""
        return not any((self.model.backlog() or {}).values())

    def client(
        self,
        transactions: Iterable[Transaction],
        *,
        begin_s: float = 0.0,
        pause_s: Callable[[], float] | float = 0.0,
    ) -> None:
        """Add a client that submits transactions one after the other, from ``begin_s`` on.

        It pauses for ``pause_s`` seconds after each of them, and for a second more if its node
        serves nobody.
        """

        def run() -> Generator[Event, Any, None]:
            yield self.clock.timeout(begin_s)
            for transaction in transactions:
                self._watch(transaction)
                began_s, began_at = self.clock.now, len(self.trace.events)
                self.submitted += 1
                committed = yield from self.model.transact(transaction)
                end = self.clock.now, committed, began_at, len(self.trace.events)
                self.attempts.append(Attempt(transaction, began_s, *end))
                if transaction.unserved:
                    yield self.clock.timeout(1.0)
                yield self.clock.timeout(pause_s() if callable(pause_s) else pause_s)

        self._clients.append(self.clock.process(run()))

    def _watch(self, transaction: Transaction) -> None:
        ran = self.ran[transaction] = {}

        def watched(position: int, statement: Statement) -> Any:
            def runs() -> None:
                ran[position] = len(self.trace.events)

            return _Watched(statement, runs)

        transaction.statements = tuple(
            watched(position, statement)
            for position, statement in enumerate(transaction.statements)
        )

    def run(self, limit_s: float = 60.0) -> Self:
        """Run until all clients have ended, and every node has all that was replicated.

        Raises
        ------
        AssertionError
            If that has not happened after ``limit_s`` simulated seconds.
        """
        clients = self.clock.all_of(self._clients)
        self.clock.run(clients | self.clock.until(limit_s))
        assert clients.processed, f"{len(self.attempts)} of {self.submitted} ended in {limit_s} s"
        while not self.quiet:
            assert self.clock.now < limit_s, f"not quiet after {limit_s} s"
            self.clock.run(self.clock.now + 0.1)
        return self

    def status(self, node: int, variable: str) -> float:
        """A status variable of a node."""
        return float(self.model.counters()[self.names[node]][variable])

    def total(self, variable: str) -> float:
        """A status variable, summed over the nodes."""
        return float(sum(status[variable] for status in self.model.counters().values()))

    @property
    def committed(self) -> list[Attempt]:
        """What clients were told is committed, in the order in which they were told."""
        return [attempt for attempt in self.attempts if attempt.committed]

    @property
    def outcomes(self) -> list[bool]:
        """What became of each transaction, client by client."""
        in_order = sorted(self.attempts, key=lambda attempt: attempt.transaction.client)
        return [attempt.committed for attempt in in_order]
