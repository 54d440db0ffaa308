"""Servers of a Galera cluster that crash, leave and come back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simrep.modelling import Change, Cluster, Operation, ScenarioError
from simrep.models.galera.gcomm.membership import Membership
from simrep.models.galera.gcomm.primary import PrimaryOptions

from .altering_node import AlteringNode
from .group import GroupMember
from .options import GaleraOptions
from .recovery import Remains
from .returning_node import ReturningNode
from .server import GaleraServer

__all__ = ["Changes"]

_RELEASE_S = 1.0  # so often is looked what nobody can ask for any more; results are the same


class Changes:
    """What happens to the servers of a cluster; and what is on the disk of those that are away.

    A server that is started again finds out its position if it was killed, starts, and asks the
    group for what it has missed (``returning_node``). With ``Change.transfer_s`` all that takes
    this time, from when the donor is found.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: GaleraOptions,
        members: list[GroupMember],
        servers: dict[int, GaleraServer],
        start: Callable[[int], GaleraServer],
        start_arbitrator: Callable[[int], object],
    ) -> None:
        self._clock = cluster.clock
        self._fates = cluster.fates
        self._servers = servers  # one that comes back takes the place of the old one
        self._start = start
        self._start_arbitrator = start_arbitrator
        self._remains: dict[int, Remains] = {}  # of those that are away
        self._starting: dict[int, int] = {}  # a number for every start that is under way
        self._starts = 0
        self._membership = Membership(
            cluster.clock,
            [member.changing for member in members],
            options.membership(),
            [cluster.streams.uniform(f"galera/ticks/{at}") for at in range(cluster.size)],
            None if cluster.timeline is None else cluster.timeline.note,
            PrimaryOptions(
                tuple(cluster.options_of(node, options).weight for node in range(cluster.size)),
                ignore_sb=options.ignore_sb,
                ignore_quorum=options.ignore_quorum,
                recovery=options.recovery,
            ),
        )
        for node in range(cluster.size):
            end = partial(self._abort, node, "conflicting primary components")
            self._membership.primary(node).on_abort(end)
        self._membership.on_give_up(self._abort)
        self._membership.on_evicted(self._shut_out)
        for server in servers.values():
            self._listen(server)
        self._release(None)

    def _release(self, _: None) -> None:
        """Gcaches need not hold what every disk has."""
        position = min(
            self._remains[node].position if node in self._remains else self._node(node).durable
            for node in self._servers
        )
        for node in self._servers:
            self._node(node).gcache.release(position)
        self._clock.at(self._clock.now + _RELEASE_S, self._release)

    def change(self, change: Change) -> None:
        """Let a server crash, leave or join now, or go on by itself."""
        if change.what == "bootstrap":
            self._bootstrap(change)
        elif change.node not in self._servers:
            self._change_arbitrator(change.node, change.what)
        elif change.what == "restart":
            self._begin(change.node, change.transfer_s)
        else:
            self._end(change.node, change.what)

    def set_options(self, operation: Operation) -> None:
        """``SET GLOBAL`` on running servers; one that starts anew has what its file says."""
        for index in operation.nodes:
            if index in self._remains:
                name = self._node(index).name
                raise ScenarioError(
                    operation.told.path, f"{name!r} is away at {operation.at_s:g} s"
                )
            self._node(index).set_options(operation.options)

    def _bootstrap(self, change: Change) -> None:
        """Make a part of the group primary by hand; a server that is away starts as such."""
        primary = self._membership.primary(change.node)
        if change.node in self._remains:
            primary.start_primary()
            if change.node not in self._starting:
                self._begin(change.node, change.transfer_s)
        else:
            primary.bootstrap()

    def _change_arbitrator(self, node: int, what: str) -> None:
        if what == "restart":
            self._start_arbitrator(node)
            self._membership.join(node)
        elif self._membership.is_away(node):
            return  # it has ended itself before
        elif what == "leave":
            self._membership.leave(node)
        else:
            self._membership.crash(node)

    def _abort(self, node: int, why: str) -> None:
        """The group communication of a node ends."""
        if node in self._servers:
            self._node(node).abort(why)
        else:
            self._change_arbitrator(node, "kill")

    def _shut_out(self, node: int) -> None:
        """A node is evicted: a server goes on without its group, an arbitrator ends."""
        if node not in self._servers:
            self._change_arbitrator(node, "kill")

    def _end(self, node: int, what: str) -> None:
        if self._starting.pop(node, None) is not None:
            self._servers[node].silent = what == "power-loss"
            return  # its group does not know of it yet
        if node in self._remains:
            return  # it has ended itself before
        server = self._servers[node]
        self._remains[node] = self._node(node).remains(what)
        server.die(silent=what == "power-loss", killed=what == "kill")
        if what == "leave":
            self._membership.leave(node)
        else:
            self._membership.crash(node, server.when_closed if what == "kill" else None)

    def _give_up(self, node: int) -> None:
        """A server ends itself."""
        if self._fates is not None:
            self._fates.node_changes((node, False))
        self._end(node, "kill")

    def _leave(self, node: int) -> None:
        """A server leaves the group by itself."""
        if self._fates is not None:
            self._fates.node_changes((node, False))
        self._end(node, "leave")

    def _begin(self, node: int, transfer_s: float | None) -> None:
        self._servers[node].silent = False  # its machine is there, and refuses connections
        later_s = 0.0
        if transfer_s is None:
            plan = self._node(node).plan
            later_s = plan.start_s + (0.0 if self._remains[node].clean else plan.recover_s)
        self._starts += 1
        self._starting[node] = self._starts
        start = node, transfer_s, self._starts

        def closed() -> None:
            self._clock.at(self._clock.now + later_s, self._started, start)

        self._servers[node].when_closed(closed)

    def _started(self, start: tuple[int, float | None, int]) -> None:
        node, transfer_s, number = start
        if self._starting.get(node) != number:
            return
        del self._starting[node]
        server = self._servers[node] = self._start(node)
        server.synced = False
        self._node(node).start_anew(self._remains.pop(node), transfer_s)
        self._listen(server)
        self._membership.join(node)

    def _listen(self, server: GaleraServer) -> None:
        node = server.node
        assert isinstance(node, ReturningNode)
        node.peer = self._node
        node.aborts = partial(self._give_up, node.index)
        node.serves = server.serve
        node.views.told = server.see
        if isinstance(node, AlteringNode):
            node.leaves = partial(self._leave, node.index)

    def _node(self, index: int) -> ReturningNode:
        node = self._servers[index].node
        assert isinstance(node, ReturningNode)
        return node
