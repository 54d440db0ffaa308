"""Servers of a group that crash, leave and come back, and what is done by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simrep.modelling import Change, Cluster, ScenarioError

from .changing_member import ChangingMember
from .election import MemberInfo, MemberState
from .history import History
from .member import PRIMARY
from .options import GroupReplicationOptions
from .recovering_member import Remains
from .seat import Seat

__all__ = ["Changes"]

_ANEW = 'let all servers go, and one of them begin by what = "bootstrap"'
_RELEASE_S = 1.0  # so often is looked what nobody can lack any more; results are the same


class Changes:
    """What happens to the servers of a group; and what is on the disk of those that are away.

    A server that is started again recovers, applies what is left in its relay log, joins the group,
    and gets from it what it has missed (``recovery``). With ``Change.transfer_s`` that takes this
    time.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: GroupReplicationOptions,
        members: list[ChangingMember],
        seats: list[Seat],
        history: History,
        start: Callable[[int], ChangingMember],
        start_s: Callable[[int], float],
    ) -> None:
        self._clock = cluster.clock
        self._fates = cluster.fates
        self._names = cluster.names
        self._timeline = cluster.timeline
        self._options = options
        self._members = members  # a server that comes back takes the place of the old one
        self._seats = seats
        self._history = history
        self._start = start
        self._start_s = start_s
        self._remains: dict[int, Remains] = {}  # of those that are away
        self._leaving: dict[int, Change | None] = {}  # and what follows when they have left
        self._starting: dict[int, int] = {}  # a number for every start that is under way
        self._starts = 0
        single_primary = options.single_primary_mode
        infos = {
            node: MemberInfo(
                MemberState.ONLINE,
                primary=single_primary and node == PRIMARY,
                weight=cluster.options_of(node, options).member_weight,
            )
            for node in range(cluster.size)
        }
        for seat in seats:
            seat.group.begin()
        for member in members:
            member.begin(infos)
        self._release(None)

    def _release(self, _: None) -> None:
        """Nobody needs what all have on their disks."""
        away = self._remains
        self._history.release(
            min(
                min(member.low_water, away[node].executed.low) if node in away else member.low_water
                for node, member in enumerate(self._members)
            )
        )  # who has lost its data holds that up: its executed transactions are none
        self._clock.at(self._clock.now + _RELEASE_S, self._release)

    def change(self, change: Change) -> None:
        """Let a server crash, leave, join or get another role now."""
        node, what = change.node, change.what
        if what in {"restart", "bootstrap"} and node in self._leaving:
            self._leaving[node] = change
        elif what == "restart":
            self._begin(change, boots=False)
        elif what == "bootstrap":
            self._bootstrap(change)
        elif what == "leave":
            self._leave(node)
        elif what == "promote":
            self._promote(change)
        else:
            self._end(node, what)

    def member(self, node: int) -> ChangingMember:
        """The server of a node, which may be at its end."""
        return self._members[node]

    def _leave(self, node: int) -> None:
        if self._starting.pop(node, None) is None and node not in self._remains:
            self._leaving[node] = None
            self._members[node].leave(partial(self._left, node, self._members[node]))

    def _left(self, node: int, member: ChangingMember) -> None:
        """A server has left its group, and ends."""
        if node not in self._leaving or self._members[node] is not member:
            return
        self._end(node, "leave")

    def _end(self, node: int, what: str) -> None:
        self._seats[node].durability.ends(what)
        then = self._leaving.pop(node, None)
        if self._starting.pop(node, None) is not None:
            self._members[node].server.silent = what == "power-loss"
            return
        if node in self._remains:
            return  # it has ended itself before
        member = self._members[node]
        self._remains[node] = member.remains()
        member.die(silent=what == "power-loss", killed=what == "kill")
        if then is not None and what == "leave":  # who is killed before it has left stays away
            self.change(then)

    def abort(self, node: int) -> None:
        """A server ends itself."""
        if self._fates is not None:
            self._fates.node_changes((node, False))
        self._end(node, "kill")

    def start_anew(self, node: int, donor: int) -> None:
        """A server has got all data of another one: it shuts down in order, and starts again."""
        if self._fates is not None:
            self._fates.adopted(node, donor)
        self._leave(node)
        self._leaving[node] = Change(self._clock.now, node, "restart")

    def _bootstrap(self, change: Change) -> None:
        """A server that is away begins a group; one that is there, with those that it reaches."""
        node = change.node
        if node in self._remains:
            if self._remains[node].without_data:
                raise ScenarioError(
                    "fault",
                    f"{self._names[node]!r} has no data at {self._clock.now:g} s with which it "
                    "could begin a group: a copy of all data (clone) had begun, and has not ended",
                    'let another server begin the group, and this one join it by what = "restart"',
                )
            if self._remains[node].errant:
                raise ScenarioError(
                    "fault",
                    f"{self._names[node]!r} has {self._remains[node].errant} transactions that the "
                    f"group never saw, at {self._clock.now:g} s: what becomes of them in a group "
                    "that it begins is not played",
                    "let another server begin the group",
                )
            self._check_alone(node)
            self._begin(change, boots=True)
        elif self._seats[node].group.view is not None:
            self._force(node)

    def _force(self, node: int) -> None:
        """Make those that a node reaches the group (``group_replication_force_members``).

        Nothing happens where the group has a majority: the server refuses it. Simplified: members
        that are not reached must be down, as the manual asks for; two groups are not played.
        """
        seat = self._seats[node]
        group = seat.group
        problem = ""
        if node not in seat.xcom.latest.members:
            problem, hint = "the group has removed it", "let another member do it"
        elif group.has_majority:
            return
        elif self._options.paxos_single_leader:
            problem = "with group_replication_paxos_single_leader that is not played yet"
            hint = _ANEW
        elif seat.xcom.crowded:
            problem = "more messages wait before it than the event horizon lets by"
            hint = _ANEW
        else:
            for other, member in enumerate(self._members):
                there = member.server.alive and self._seats[other].group.view is not None
                if there and other not in group.reachable:
                    name = repr(self._names[other])
                    problem = f"{name} is not reached, and still in the old one"
                    hint = f'end it first by what = "kill" at {name}'
        if not problem and not group.force(group.reachable):
            problem = "a member that it reaches was not heard for 4 s"
            hint = "let it happen later, when that one is heard or known to be unreachable"
        if problem:
            raise ScenarioError(
                "fault",
                f"{self._names[node]!r} cannot force a group at {self._clock.now:g} s: {problem}",
                hint,
            )

    def _check_alone(self, node: int) -> None:
        """Refuse a second group beside the first."""
        for other, member in enumerate(self._members):
            if member.server.alive and self._seats[other].group.view is not None:
                raise ScenarioError(
                    "fault",
                    f"{self._names[node]!r} cannot begin a group at {self._clock.now:g} s: "
                    f"{self._names[other]!r} is in one",
                    'let it join by what = "restart", or let the other one go first',
                )

    def _promote(self, change: Change) -> None:
        node, at_s = change.node, self._clock.now
        if not self._options.single_primary_mode:
            problem, hint = "all members take writes", "set group_replication_single_primary_mode"
        elif not self._members[node].promote(change.transactions_timeout_s):
            state = self._members[node].state.value
            problem, hint = f"it is {state}", "let it happen when the node is ONLINE"
        else:
            return
        name = self._names[node]
        raise ScenarioError(
            "fault", f"{name!r} cannot become primary at {at_s:g} s: {problem}", hint
        )

    def _begin(self, change: Change, *, boots: bool) -> None:
        node = change.node
        self._members[node].server.silent = False  # its machine is there: it refuses connections
        self._starts += 1
        self._starting[node] = self._starts
        later_s = self._start_s(node) if change.transfer_s is None else 0.0
        start = change, self._starts, boots

        def closed() -> None:
            self._clock.at(self._clock.now + later_s, self._started, start)

        self._members[node].server.when_closed(closed)

    def _started(self, start: tuple[Change, int, bool]) -> None:
        change, number, boots = start
        node = change.node
        if self._starting.get(node) != number:
            return
        del self._starting[node]
        remains = self._recover(node, self._remains.pop(node))
        member = self._members[node] = self._start(node)
        member.start(remains, change.transfer_s, boots=boots)

    def _recover(self, node: int, remains: Remains) -> Remains:
        """What a server has when its storage engine has recovered."""
        crash = self._seats[node].durability.recover()
        if crash.ahead and self._options.crash_safety != "mysql-8.0":
            raise ScenarioError(
                "fault",
                f"{self._names[node]!r} starts at {self._clock.now:g} s without the end of its "
                f"binary log, and gets {len(crash.ahead)} transactions once more that its storage "
                "engine has: that a release before 8.0.17 fails then is not played",
                "set sync_binlog = 1, or take a newer version",
            )
        crash.tell(node, self._timeline)
        return remains.recovered(crash)
