"""What makes the explanations of a model speak: the parts of a node, watched or not.

A node asks its ``Parts`` once for everything that somebody may have to wait for, and does not know
whether it is watched. ``Parts`` makes plain parts. ``WatchedParts`` makes the same ones so that
they tell a watch who waits for whom; for parts of a model's own its subclass lists the twins, which
``make`` makes in their place. ``parts_of`` chooses between the two.

What stands in a station or owns locks has a ``transaction``; what applies the transaction of
another node has its ``seqno`` as well.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar, ParamSpec, TypeVar

from simrep.contract.cluster import Cluster
from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock
from simrep.kernel.queues import OrderedGate, WatchedGate
from simrep.kernel.watch import NO_LAP, Holder, Line, NoLine, Watch
from simrep.measure.units import amount, duration, size
from simrep.network.mesh import Mesh, MessageWork
from simrep.server.locks import LockTable, WatchedLocks
from simrep.server.stage import Stage, WatchedStage
from simrep.server.storage import Disk, RedoLog
from simrep.server.thread import Thread
from simrep.workload.distant_session import DistantSessions
from simrep.workload.laps import Lap
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.session import Sessions
from simrep.workload.session_costs import SessionCosts
from simrep.workload.statement_sessions import StatementSessions
from simrep.workload.transaction import Transaction

__all__ = [
    "HELD",
    "HeardMesh",
    "Parts",
    "Twin",
    "WatchedParts",
    "describe",
    "named",
    "parts_of",
    "who",
]

HELD = "was held {} by"

Serve = Callable[[list[Any]], object]
P = ParamSpec("P")
T = TypeVar("T")


def who(item: Any) -> tuple[Hashable, ...]:
    """The transactions for which something in a station stands, or the thing itself.

    A transaction is the same object on every node and in every attempt.
    """
    if isinstance(item, list):
        return tuple(one for part in item for one in who(part))
    if isinstance(item, tuple) and item:  # of a redo log: sizes, whom to call, with what
        return who(item[-1])
    transaction = getattr(item, "transaction", None)
    return (item,) if transaction is None else (transaction,)


def named(one: Hashable, title: str = "") -> str:
    """A transaction in words, with its rows and its size."""
    if not isinstance(one, Transaction):
        return title or "a message of the group"
    rows = "1 row" if one.rows == 1 else f"{amount(one.rows)} rows"
    first = f"{title} of {one.kind}" if title else f"{one.kind} of client {one.client}"
    return f"{first} ({rows}, {size(one.size_bytes)})"


def describe(node: str, item: Any, verb: str = "waited {} for") -> Holder:
    """The owner of locks, or what a node applies."""
    one, *others = who(item) or (None,)
    if one is None or others:
        raise ScenarioError(
            "cluster.model", f"one holder on node {node!r} must be told, told {item!r}"
        )
    if isinstance(item, OpenTransaction):
        return Holder(named(one), ((node, one),), verb, "being executed")
    if not hasattr(item, "seqno"):
        raise ScenarioError(
            "cluster.model",
            f"what node {node!r} applies needs a seqno, and who owns locks there is an "
            f"OpenTransaction; told {item!r}",
        )
    return Holder(named(one, f"transaction {item.seqno}"), ((node, one),), verb, "being applied")


def _group(node: str, members: tuple[Hashable, ...]) -> Holder:
    """Those whom a station serves together; the largest gives the name."""
    if not members:
        return Holder("its next group to gather")
    first = max(members, key=lambda one: one.size_bytes if isinstance(one, Transaction) else 0)
    text = named(first)
    if len(members) > 1:
        text = f"a group of {amount(len(members))} with {text}"
    return Holder(text, tuple((node, one) for one in members), HELD)


class Parts:
    """The parts of a node; nobody watches them.

    Parameters
    ----------
    cluster : Cluster
    index : int
        Position of the node.
    """

    def __init__(self, cluster: Cluster, index: int) -> None:
        self.cluster = cluster
        self.index = index
        self.clock = cluster.clock_of(index)
        self.name = cluster.names[index]

    def anew(self) -> Parts:
        """The parts of the same node when its server is started again."""
        return type(self)(self.cluster, self.index)

    def make(self, kind: Callable[P, T], *args: P.args, **how: P.kwargs) -> T:
        """A part of the model's own: ``kind(*args, **how)``, or its twin."""
        return kind(*args, **how)

    def sessions(
        self,
        locks: LockTable,
        costs: SessionCosts,
        *,
        begin: Callable[[Clock], Any] = OpenTransaction,
        pool_bytes: int | None = None,
        **how: Any,
    ) -> Sessions[Any]:
        """The connections of its clients; ``how`` as in ``Sessions``.

        The server keeps ``pool_bytes`` of its data in memory; None: all.
        """
        cluster, index = self.cluster, self.index
        hosts = cluster.hosts[index], cluster.client_hosts[index]
        delay_s = cluster.client_delays_s[index]
        kind: type[Sessions[Any]] = StatementSessions
        if cluster.ways is not None:
            kind, cluster.ways.played = DistantSessions, True
        how["name"] = self.name
        if (interpreters := cluster.interpreters.get(hosts[1])) is not None:
            if not costs.client_s:
                raise ScenarioError(
                    "workload.interpreters",
                    "has no effect: clients take no processor time (client_us = 0)",
                    "set cluster.costs.client_us, or remove it",
                )
            how["interpreters"] = interpreters
        if pool_bytes is not None:
            how["pool"] = cluster.buffer_pool(index, pool_bytes, costs)
        return kind(cluster.clock, *hosts, delay_s, locks, costs, begin=begin, **how)

    def on_message(self, handle: Callable[[Any], object]) -> None:
        """Messages for the node are handed to ``handle(message)`` as soon as they arrive."""
        network = self.cluster.network
        network.on_receive(self.index, network.handler(self.index, handle))

    def locks(self, *, waits_for_victims: bool = False) -> LockTable:
        """Row locks; for how brute force takes them see ``LockTable``."""
        return LockTable(self.clock, waits_for_victims=waits_for_victims)

    def stage(
        self,
        serve: Serve,
        name: str,
        *,
        doing: str = "",
        lap: int = NO_LAP,
        title: str = "",
        **how: Any,
    ) -> Stage[Any]:
        """A batch server.

        Parameters
        ----------
        serve : callable
        name : str
            It is reported as ``node/name``.
        doing : str
            What those do whom it serves.
        lap : int
            Which stage of a latency it is to wait for it.
        title : str
            What explanations call it, if not by its name.
        **how
            Of ``Stage``.
        """
        del doing, lap, title
        return Stage(self.clock, serve, f"{self.name}/{name}", **how)

    def disk(
        self, fsync_s: float, bytes_per_s: float = inf, *, work_s: float = 0.0, name: str = ""
    ) -> Disk:
        """The disk under its logs; see ``Disk`` and, of ``work_s``, ``WorkedDisk``."""
        return self.cluster.disk(self.index, fsync_s, bytes_per_s, work_s=work_s, name=name)

    def redo_log(self, disk: Disk, kind: Callable[..., RedoLog] = RedoLog, **how: Any) -> RedoLog:
        """The redo log of a storage engine; ``kind`` makes it."""
        return self.make(kind, self.clock, disk, stage=self._redo_stage, **how)

    def _redo_stage(self, write: Serve, **how: Any) -> Stage[Any]:
        doing = "writing and syncing the redo log"
        return self.stage(write, "redo", doing=doing, lap=Lap.FLUSH, title="redo log", **how)

    def gate(
        self, station: str, at: Callable[[int], Any], *, doing: str = "", lap: int = NO_LAP
    ) -> OrderedGate:
        """A gate in the order of positions.

        Parameters
        ----------
        station : str
        at : callable
            ``at(position)``: what has this position; None if that is not known.
        doing : str
            What whoever has entered does until it leaves.
        lap : int
            Which stage of a latency it is to wait for one's turn.
        """
        del station, at, doing, lap
        return OrderedGate()

    def line(self, station: str, holder: Callable[[], Holder], **how: Any) -> Line:
        """Who waits at a station that is the model's own; ``how`` as in ``Line``."""
        del station, holder, how
        return NoLine()

    def mesh(self, segments: Sequence[int], thread: Thread, work: MessageWork) -> Mesh:
        """How the node reaches the others; see ``Mesh``."""
        return Mesh(self.clock, self.cluster.network, self.index, segments, thread, work)


class WatchedParts(Parts):
    """The same parts; they tell the watch of the cluster who waits for whom."""

    twins: ClassVar[Mapping[Callable[..., Any], Callable[..., Any]]] = {}
    """By what is asked for, what is made: ``twin(parts, *args, **how)``; see ``Twin``."""

    def __init__(self, cluster: Cluster, index: int) -> None:
        super().__init__(cluster, index)
        assert cluster.watch is not None
        self.watch = cluster.watch

    def make(self, kind: Callable[P, T], *args: P.args, **how: P.kwargs) -> T:
        """See ``Parts.make``."""
        twin = self.twins.get(kind)
        if twin is None:
            return kind(*args, **how)
        part: T = twin(self, *args, **how)
        return part

    def locks(self, *, waits_for_victims: bool = False) -> LockTable:
        """See ``Parts.locks``."""
        return WatchedLocks(
            self.watch,
            self.name,
            self.owner,
            who,
            Lap.LOCK_WAIT,
            waits_for_victims=waits_for_victims,
        )

    def owner(self, owner: Any) -> Holder:
        """Who holds a row."""
        return describe(self.name, owner, HELD)

    def stage(
        self,
        serve: Serve,
        name: str,
        *,
        doing: str = "",
        lap: int = NO_LAP,
        title: str = "",
        **how: Any,
    ) -> Stage[Any]:
        """See ``Parts.stage``."""
        line = self.line(
            title or name, lambda: _group(self.name, line.serving), doing=doing, lap=lap
        )
        return WatchedStage(line, self.clock, serve, f"{self.name}/{name}", **how)

    def gate(
        self, station: str, at: Callable[[int], Any], *, doing: str = "", lap: int = NO_LAP
    ) -> OrderedGate:
        """See ``Parts.gate``."""

        def holder() -> Holder:
            item = at(gate.next)
            if item is None:
                return Holder(f"number {gate.next}, which has not arrived")
            return describe(self.name, item)

        def waits(position: int) -> tuple[Hashable, ...]:
            return who(at(position) or position)

        line = self.line(station, holder, who=waits, doing=doing, lap=lap)
        gate: OrderedGate = WatchedGate(line)
        return gate

    def line(self, station: str, holder: Callable[[], Holder], **how: Any) -> Line:
        """See ``Parts.line``; who is told as the transaction that it stands for."""
        return Line(self.watch, self.name, station, holder, **{"who": who} | how)

    def mesh(self, segments: Sequence[int], thread: Thread, work: MessageWork) -> Mesh:
        """See ``Parts.mesh``."""
        how = self.cluster.network, self.index, segments, thread, work
        return HeardMesh(self.watch, self.clock, *how)

    def order_line(self, station: str, mesh: Mesh) -> Line:
        """Who waits for a total order that needs all members."""
        assert isinstance(mesh, HeardMesh)
        line = self.line(station, lambda: mesh.silent(line.since_s), lap=Lap.ORDER)
        return line


class Twin:
    """What a part inherits from, before the plain one, that tells the watch of its node."""

    def __init__(self, parts: Any, *args: Any, **how: Any) -> None:
        self._parts = parts
        super().__init__(*args, **how)


class HeardMesh(Mesh):
    """A mesh that knows from which other member nothing was heard for how long."""

    def __init__(self, watch: Watch, *how: Any) -> None:
        super().__init__(*how)
        self._watch = watch
        others = [member for member in range(self.size) if member != self.me]
        self._heard_s = dict.fromkeys(others, 0.0)
        self._silences = dict.fromkeys(others, (0.0, 0.0))  # the last long one of each

    def on_message(self, handle: Callable[[Any], object]) -> None:
        """See ``Mesh.on_message``."""

        def heard(message: Any) -> None:
            now, source = self._watch.clock._now, getattr(message, "source", None)
            if source in self._heard_s:  # else it tells of the group itself
                if now - self._heard_s[source] >= self._watch.longer_than_s:
                    self._silences[source] = (self._heard_s[source], now)
                self._heard_s[source] = now
            handle(message)

        super().on_message(heard)

    def silent(self, since_s: float) -> Holder:
        """Who was silent longest since then, if anybody was for most of that time."""
        now = self._watch.clock._now
        longest_s, silent = 0.5 * (now - since_s), -1
        for member, (began_s, ended_s) in self._silences.items():
            present_s = now - max(self._heard_s[member], since_s)
            silent_s = max(present_s, ended_s - max(began_s, since_s))
            if silent_s > longest_s:
                longest_s, silent = silent_s, member
        if silent < 0:
            return Holder("messages on their way")
        name = self._network.names[silent]
        return Holder(f"{name}, from which nothing came for {duration(longest_s)}")


def parts_of(cluster: Cluster, watched: type[WatchedParts] = WatchedParts) -> list[Parts]:
    """The parts of every node, by position: watched if the cluster is.

    Parameters
    ----------
    cluster : Cluster
    watched : type of WatchedParts, optional
        Of a model that has parts of its own.
    """
    make = Parts if cluster.watch is None else watched
    return [make(cluster, index) for index in range(cluster.size)]
