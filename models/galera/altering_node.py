"""A Galera node on which statements change tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from simrep.modelling import Parts, ScenarioError

from .certifier import NodeState
from .group import GroupMember
from .inconsistency import Vote, Votes
from .member_states import Grant
from .options import GaleraCosts, GaleraOptions
from .recovery import Remains
from .returning_node import ReturningNode
from .schema_change import NewRows, SchemaChange
from .writeset import Kind, Ordered, StateRequest, ViewChange

__all__ = ["AlteringNode"]

_ERROR: Final = "1677: a column cannot be converted"


class AlteringNode(ReturningNode):
    """A node that hands on what is executed in total order isolation when it is its turn.

    All before it has left the apply monitor then. It holds the commit monitor until it is ``left``:
    whatever comes after it on this node waits to commit.

    After a rolling schema upgrade its tables may have other rows than those of other nodes. It
    cannot apply a writeset of a node with other rows in the same table. In Galera 4 the group votes
    then, and the minority leaves; in Galera 3 it leaves.

    Attributes
    ----------
    definitions : dict
        Its tables whose rows do not fit those of nodes that have not changed them, by what has
        changed them.

    Notes
    -----
    Simplified: every such writeset has rows that do not fit. A node that leaves shuts down, where
    the product's stays, outside of the group, until it is restarted; then it needs all data.
    """

    executes: Callable[[Ordered], object]
    keeps_state: Callable[[], bool]  # for itself, as its tables are not what the order says
    leaves: Callable[[], object]  # the group, in order

    def __init__(
        self, parts: Parts, options: GaleraOptions, costs: GaleraCosts, member: GroupMember
    ) -> None:
        super().__init__(parts, options, costs, member)
        self.definitions: dict[str, NewRows] = {}
        self._votes = Votes(self.index, self._send_vote, self._when_applied, self._decided)
        self._failed: dict[int, Ordered] = {}  # what it could not apply, until that is decided
        self._when_synced: list[Callable[[], object]] = []

    def _commit(self, ordered: Ordered) -> None:
        if isinstance(ordered.writeset, SchemaChange):
            self.apply_monitor.when_left(ordered.seqno - 1, self._execute, ordered)
        else:
            super()._commit(ordered)

    def _execute(self, ordered: Any) -> None:
        if self.alive:
            self.executes(ordered)

    def left(self, ordered: Ordered) -> None:
        """It is executed: the next one may commit."""
        if self.alive:
            self._leave_commit_monitor(ordered)

    def _certified(self, request: StateRequest, grant: Grant, state: NodeState) -> None:
        if grant.how != "IST" and self.keeps_state():
            self.given()
            self.peer(request.node).abort("its donor gives no whole state during an NBO")
        else:
            super()._certified(request, grant, state)

    # -- rows of another definition ------------------------------------------------------------

    def redefine(self, name: str, after: int, classes: Collection[str] | None) -> None:
        """Rows of a table are others on this node, after a place in the order."""
        self.definitions[name] = NewRows(after, classes)

    def _applied(self, ordered: Ordered) -> None:
        if ordered.writeset.origin >= 0 and self._does_not_fit(ordered):
            self._fail(ordered)
        else:
            super()._applied(ordered)

    def _does_not_fit(self, ordered: Ordered) -> bool:
        """Whether a writeset has rows of another definition than its table has here."""
        writeset = ordered.writeset
        origin = self.peer(writeset.origin)
        assert isinstance(origin, AlteringNode)
        kind = writeset.transaction.kind
        return any(
            _is_new(self.definitions, name, ordered.seqno, kind)
            != _is_new(origin.definitions, name, writeset.last_seen + 1, kind)
            for name in (*self.definitions, *origin.definitions)
        )

    def _fail(self, ordered: Ordered) -> None:
        if ordered.writeset.part is not None:
            raise ScenarioError(
                "workload.ddl",
                "streaming replication of rows that do not fit a table is not simulated",
                "set wsrep_trx_fragment_size = 0, or compatible = true",
            )
        self._note("apply-fails", (ordered.writeset.origin,), _ERROR)
        if self._is_galera_4 and not self._lacks:  # nobody votes on what comes from a donor
            self._failed[ordered.seqno] = ordered
            self._votes.fail(ordered.seqno)
        else:
            self._leave("it could not apply a writeset")

    def _when_applied(self, seqno: int, call: Callable[[int], object]) -> None:
        self.apply_monitor.when_left(seqno, call, seqno)

    def _send_vote(self, vote: Vote) -> None:
        if self.alive:
            self.sender.control(vote)

    def _decided(self, seqno: int, failed: bool) -> None:
        """Who is right is known; it passes over what all cannot apply."""
        ordered = self._failed.pop(seqno, None)
        if failed != (ordered is not None):
            self._leave("the others do not agree on a writeset")
        elif ordered is not None:
            self._commit_monitor.enter(seqno, self._pass_over, ordered)

    def _pass_over(self, ordered: Ordered) -> None:
        self._cancel(ordered)
        if ordered.writeset.locks or ordered.writeset.scans:
            self.locks.release_all(ordered)
        self._next_writeset()

    def _leave(self, why: str) -> None:
        """Its data are not those of the group."""
        if self.alive:
            self.states.diverged = True
            self._note("inconsistent", how=why)
            self.leaves()

    def _receive(self, message: Any) -> None:
        if message.kind == Kind.VOTE:
            if not self._lacks:
                self._votes.hear(message, self.states.voters)
        else:
            super()._receive(message)

    def _see(self, change: ViewChange) -> None:
        super()._see(change)
        if change.view.primary:
            self._votes.see(self.states.voters)

    # -- a server that comes back, and one that is synced again ----------------------------------

    def remains(self, what: str) -> Remains:
        """See ``ReturningNode.remains``."""
        return replace(super().remains(what), definitions=self.definitions)

    def start_anew(self, remains: Remains, transfer_s: float | None) -> None:
        """See ``ReturningNode.start_anew``."""
        self.definitions = dict(remains.definitions)
        super().start_anew(remains, transfer_s)

    def _adopt_whole(self, attempt: int) -> None:
        if not self._over(attempt):
            donor = self.peer(self._donor)
            assert isinstance(donor, AlteringNode)
            self.definitions = dict(donor.definitions)
        super()._adopt_whole(attempt)

    def when_synced(self, call: Callable[[], object]) -> None:
        """``call()`` when it is synced the next time."""
        self._when_synced.append(call)

    def _synced(self) -> None:
        super()._synced()
        calls, self._when_synced = self._when_synced, []
        for call in calls:
            call()


def _is_new(definitions: Mapping[str, NewRows], name: str, seqno: int, kind: str) -> bool:
    """Whether rows of a class are those of the changed table, at a place in the order."""
    rows = definitions.get(name)
    return rows is not None and seqno > rows.seqno and rows.concerns(kind)
