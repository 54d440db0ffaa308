"""A member of a group that gives others what they have missed, and gets it when it joins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, ClassVar

from simrep.modelling import DdlTable, Mesh, Parts
from simrep.models.mysql.channel import Channel
from simrep.models.mysql.durability import CrashRecovery
from simrep.models.mysql.ending_server import EndingChannel, EndingServer
from simrep.models.mysql.server import MysqlServer
from simrep.models.mysql.table_changes import TableStatement

from .catch_up import CatchUp
from .certifier import NOTHING, Certifier, Snapshot
from .clone import clone_costs
from .election import MemberState
from .member import Member, order_of
from .messages import Metadata, Packet, Recovered
from .missed import MissedTransactions
from .options import GroupReplicationCosts, GroupReplicationOptions
from .recovery import Recovery
from .seat import Seat
from .sending import Outgoing
from .transaction_message import Kind, TransactionMessage

__all__ = ["RecoveringMember", "Remains"]


@dataclass(frozen=True, slots=True)
class Remains:
    """What the next process of a server finds on its disk.

    Attributes
    ----------
    executed : Snapshot
        Transactions of the group that are committed.
    branch : int
        Of which branch of the group's history they are.
    relayed : tuple of (int, TransactionMessage)
        What is in the relay log, and not committed.
    without_data : bool
        A copy of all data had begun and not ended: nothing of its own is left.
    unlogged : frozenset of int
        What its binary log has lost, and its storage engine has not.
    purged : int
        Its binary log begins behind this number.
    errant : int
        How many transactions it has committed that the group never saw.
    """

    executed: Snapshot
    branch: int = 0
    relayed: tuple[tuple[int, TransactionMessage], ...] = ()
    without_data: bool = False
    unlogged: frozenset[int] = frozenset()
    errant: int = 0
    purged: int = 0

    def recovered(self, crash: CrashRecovery) -> Remains:
        """What crash recovery makes of it: a relay log is read up to the first that it has lost."""
        lost = [entry.order for entry in crash.unrelayed]
        end = min(lost, default=inf)
        executed = self.executed.changed(
            [order_of(entry) for entry in crash.rolled_back],
            [order_of(entry) for entry in (*crash.recovered, *crash.behind)],
        )
        left = [one for one in self.relayed if one[0] < end and not executed.has(one[0])]
        unlogged = self.unlogged.union(order_of(entry) for entry in crash.ahead)
        return replace(self, executed=executed, relayed=tuple(left), unlogged=unlogged)


class RecoveringMember(Member):
    """See the module; how it is a member is left to others.

    Attributes
    ----------
    state : MemberState
    without_data : bool
        A copy of all data had begun and not ended: nothing of its own is left.
    """

    server_kind: ClassVar[type[MysqlServer]] = EndingServer
    channel_kind: ClassVar[type[Channel]] = EndingChannel
    server: EndingServer

    def __init__(
        self,
        parts: Parts,
        options: GroupReplicationOptions,
        costs: GroupReplicationCosts,
        loop_at_s: float,
        seat: Seat,
    ) -> None:
        cluster = parts.cluster
        self._seat = seat
        self._group = seat.group
        self._timeline = cluster.timeline
        self._fates = cluster.fates
        self._single_primary = options.single_primary_mode
        self.state = MemberState.OFFLINE
        self._suspended = False  # the applier module
        self._queue: list[Any] = []  # meanwhile
        self.without_data = False
        self._unlogged: frozenset[int] = frozenset()
        self._errant = self._purged = 0
        self._branch = seat.history.branch  # of the group's history, to which it belongs
        self._copy: Remains | None = None  # all data of another member, with which it starts anew
        super().__init__(parts, options, costs, loop_at_s)
        self.server.durability = seat.durability
        self._missed = MissedTransactions(self.clock, self.channel)
        self._recovery = Recovery(
            self.clock,
            cluster.network,
            self,
            self._missed,
            seat.history,
            seat.peer,
            seat.choose,
            options,
            cluster.data_bytes,
            clone_costs(costs.clone_byte_ns, costs.clone_thread_byte_ns),
            cluster.hosts,
            cluster.data_disk,
        )
        self._catch_up = CatchUp(self.clock, self, self._missed.when_applied, self._caught_up)
        # Tables whose rows do not fit what they were before, by the places of the statements; and
        # what the origins of transactions had seen, until they are applied.
        self._redefined: dict[int, DdlTable] = {}
        self._seen: dict[int, Snapshot] = {}
        if self.server.tables is not None:
            self.server.tables.fits = self._fits

    def _total_order(
        self, parts: Parts, options: GroupReplicationOptions, costs: GroupReplicationCosts
    ) -> tuple[Mesh, Any, Outgoing]:
        del parts, options, costs
        return self._seat.transport, self._seat.xcom, self._seat.group

    @abstractmethod
    def tell(self, message: Any) -> None:
        """Send a message to all members, if it is in a group."""

    @abstractmethod
    def online_members(self) -> list[int]:
        """See ``Joiner.online_members``."""

    @abstractmethod
    def _end_membership(self, state: MemberState) -> None:
        """It is in no group any more."""

    @abstractmethod
    def _exit(self) -> None:
        """It does not come back by itself."""

    def note(self, what: str, of: tuple[int, ...] = (), how: str = "") -> None:
        """See ``Timeline.note``."""
        if self._timeline is not None and self.server.alive:
            self._timeline.note(self.index, what, of, how)

    def remains(self) -> Remains:
        """What is on its disk when it ends, before crash recovery."""
        if self._copy is not None:
            return self._copy
        if self.without_data:
            return Remains(NOTHING, self._branch, without_data=True)
        relayed: tuple[tuple[int, TransactionMessage], ...] = ()
        if not self._suspended:
            there = self._seat.history.missing(Snapshot(self.low_water, NOTHING.above), self._order)
            relayed = tuple(entry for entry in there if entry[1].origin != self.index)
        executed, branch = self.executed.snapshot(), self._branch
        return Remains(
            executed,
            branch,
            relayed,
            unlogged=self._unlogged,
            errant=self._errant,
            purged=self._purged,
        )

    @property
    def low_water(self) -> int:
        """Up to here it has everything on its disk."""
        at_risk = (order_of(entry) - 1 for entry in self._seat.durability.at_risk)
        return min([self.executed.low, *at_risk])

    def _leave_group(self, left: Callable[[], object]) -> None:
        """Have the others remove it; ``left()`` when they have, or do not for long."""
        if self.state in {MemberState.ONLINE, MemberState.RECOVERING}:
            self._group.leave(left)
        else:
            left()

    # -- the applier module ----------------------------------------------------------------------

    def queue(self, message: Any) -> None:
        """Hand something to the applier module."""
        if self._suspended:
            self._queue.append(message)
        else:
            self._applier_module.join(message)

    def _forget_queue(self) -> None:
        """What has waited will never be taken."""
        queue, self._queue = self._queue, []
        self.waiting_certification -= sum(message.kind == Kind.TRANSACTION for message in queue)

    def when_applied(self, call: Callable[[], object]) -> None:
        """``call()`` when all that was delivered until now is applied."""
        self.queue(Packet(partial(self._missed.when_applied, call)))

    def _hold(self, change: Any, applied: Any) -> None:
        if change.order <= self._missed.up_to:  # the group has committed it long since
            applied(change)
        else:
            super()._hold(change, applied)

    # -- what it gives ---------------------------------------------------------------------------

    def has(self, order: int) -> bool:
        """See ``Donor.has``."""
        return self.executed.has(order)

    @property
    def alive(self) -> bool:
        """See ``Donor.alive``."""
        return self.server.alive

    @property
    def refuses(self) -> bool:
        """See ``Donor.refuses``."""
        return not (self.server.alive or self.server.silent)

    def logs(self, missing: list[tuple[int, TransactionMessage]]) -> bool:
        """See ``Donor.logs``."""
        purged, unlogged = self._purged, self._unlogged
        return not any(order <= purged or order in unlogged for order, _ in missing)

    def gives(self, joiner: int, how: str) -> None:
        """See ``Donor.gives``."""
        self.note("donor", (joiner,), how)

    # -- rows of a table that was changed --------------------------------------------------------

    def _pass(self, message: TransactionMessage, seqno: int, parent: int) -> None:
        if self.server.tables is not None:
            order, transaction = self._order + 1, message.transaction
            if not isinstance(transaction, TableStatement):
                if message.origin != self.index:
                    self._seen[order] = message.snapshot
            elif not transaction.told.compatible:
                self._redefined[order] = transaction.told
        super()._pass(message, seqno, parent)

    def _fits(self, change: Any) -> bool:
        """Whether the origin of a transaction had the tables that it meets here; else it leaves."""
        seen = self._seen.pop(change.order, None)
        if self.state == MemberState.ERROR:
            return False
        if seen is None:  # it comes from a donor
            return True
        for order, told in self._redefined.items():
            if told.concerns(change.transaction.kind) and self.executed.has(order) != seen.has(
                order
            ):
                self.note("apply-fails", (change.origin,), "1677: a column cannot be converted")
                self.fail("an applier has stopped")
                return False
        return True

    # -- what it gets ----------------------------------------------------------------------------

    def executed_snapshot(self) -> Snapshot:
        """See ``Joiner.executed_snapshot``."""
        return self.executed.snapshot()

    def drop_data(self) -> None:
        """See ``Joiner.drop_data``."""
        self.without_data = True
        self._seat.durability.ends("leave")
        if self._fates is not None:
            self._fates.emptied(self.index)

    def take_copy(self, donor: int) -> None:
        """See ``Joiner.take_copy``."""
        self.note("joined")
        self.without_data = False
        executed = self._seat.peer(donor).executed.snapshot()
        self._copy = Remains(  # a copy has no binary log
            executed, self._seat.history.branch, unlogged=executed.above, purged=executed.low
        )
        self._seat.restarts(self.index, donor)

    def fail(self, why: str) -> None:
        """See ``Joiner.fail``."""
        self.note("aborted", how=why)
        self._leave_group(self._gone)
        self._end_membership(MemberState.ERROR)

    def _gone(self) -> None:
        """It has left the group, as it cannot recover: auto-rejoin would not help."""
        if self.server.alive:
            self._forget_queue()
            self._exit()

    @property
    def queued(self) -> int:
        """See ``Pace.queued``."""
        return len(self._applier_module)

    @property
    def unapplied(self) -> int:
        """See ``Pace.unapplied``."""
        return self.waiting_certification + self.channel.backlog

    @property
    def unread(self) -> int:
        """See ``Pace.unread``."""
        return self.channel.unread

    @property
    def applied(self) -> int:
        """See ``Pace.applied``."""
        return self.channel.applied

    def resume(self, metadata: Metadata) -> None:
        """See ``Joiner.resume``."""
        self.note("joined")
        self.certifier = metadata.certifier.copy()  # others who joined with it have it, too
        self.certifier.begin_after(self.channel.received)
        self._order = metadata.order
        self._resume()

    def _resume_alone(self) -> None:
        """It is the whole group."""
        self.certifier = Certifier(detects_conflicts=not self._single_primary)
        self.certifier.begin_after(self.channel.received)
        self._resume()

    def _resume(self) -> None:
        """Take what was ordered since the view; then it is ONLINE."""
        self._suspended = False
        queue, self._queue = self._queue, []
        for message in queue:
            self._applier_module.join(message)
        self._catch_up.begin()

    def _caught_up(self) -> None:
        if self.state == MemberState.RECOVERING:
            self.tell(Recovered(self.index))
