"""A transaction as a replication model sees it, and the journal of one that is followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from math import nan
from typing import Any, ClassVar

from simrep.kernel.clock import Clock, Event
from simrep.workload.statement import Statement

__all__ = [
    "Journal",
    "LongTransaction",
    "Statement",
    "TrackedTransaction",
    "Transaction",
    "Witness",
]


class Witness:
    """Somebody who is told what happens to a transaction; this one keeps nothing of it.

    Attributes
    ----------
    fragments : int
        Parts in which it was replicated before its commit.
    """

    fragments = 0
    counted: ClassVar[bool] = False
    """Whether its transaction is one of the mix, which figures of a run count."""

    def split(self, parts: int) -> None:
        """It is committed in so many parts, each of them on all nodes."""

    def alone(self) -> None:
        """No other node will have it."""

    def executed(self) -> None:
        """Its statements are executed."""

    def replicate(self) -> None:
        """A part of it is handed to the group or the replicas."""

    def shown(self, node: int) -> None:
        """A node shows it to readers already, before it has committed it."""

    def committed(self, node: int) -> None:
        """A node has committed it (its last part, if it was split)."""

    def forgotten(self, node: int) -> None:
        """A node had committed it, and its server or machine has died before it was on the disk."""

    def overlooked(self, node: int) -> None:
        """A node takes itself to have it, and has it not: nobody sees to it that it gets it."""
        self.forgotten(node)

    def recovered(self, node: int) -> None:
        """A node that has started again has committed it, which it had not before its end."""
        self.committed(node)

    def strayed(self, node: int) -> None:
        """A node has it, but not in the history with which the other nodes have gone on."""


class Journal(Witness):
    """Times of a transaction in simulated seconds; NaN until it has happened.

    Parameters
    ----------
    clock : Clock
    name : str
        Class of the transaction.
    node : int
        Where it is executed.
    nodes : int
        On how many nodes it will be committed.

    Attributes
    ----------
    rows, size_bytes : int
        Rows that it writes, and size of their row events.
    begin_s : float
        Its client begins.
    executed_s : float
        Its statements are executed; what follows is the commit.
    replicate_s : float
        The first of it is handed to the group or the replicas.
    commit_s : float
        Its client is told that it is committed.
    end_s : float
        The last node has committed it; of one that writes nothing, when its client is told.
    fragments : int
        Parts in which it was replicated before its commit.
    error : str
        Why it failed; empty if it did not.
    closed : Event
        Fires when it is committed on all nodes, or has failed.
    untold : bool
        Its client was told of a commit that the model has told of no node.
    """

    def __init__(self, clock: Clock, name: str, node: int, nodes: int) -> None:
        self._clock = clock
        self._nodes = nodes
        self._parts = 1
        self._commits: Counter[int] = Counter()  # by node
        self._excused: set[int] = set()
        self.name = name
        self.node = node
        self.rows = 0
        self.size_bytes = 0
        self.begin_s = nan
        self.executed_s = nan
        self.replicate_s = nan
        self.commit_s = nan
        self.end_s = nan
        self.fragments = 0
        self.error = ""
        self.untold = False
        self.closed = Event(clock)

    def begin(self, rows: int, size_bytes: int) -> None:
        """Its client begins now."""
        if not rows:  # it only reads: there is nothing that a node could commit
            self._excused.update(range(self._nodes))
        self.rows = rows
        self.size_bytes = size_bytes
        self.begin_s = self._clock.now

    def split(self, parts: int) -> None:
        """It is committed in so many parts, each of them on all nodes."""
        self._parts = parts

    def alone(self) -> None:
        """No other node will have it."""
        self._excused.update(node for node in range(self._nodes) if node != self.node)

    def executed(self) -> None:
        """Its statements are executed."""
        self.executed_s = self._clock.now

    def replicate(self) -> None:
        """A part of it is handed to the group or the replicas; the first one counts."""
        if not self.replicate_s <= self._clock.now:
            self.replicate_s = self._clock.now

    def committed(self, node: int) -> None:
        """A node has committed it (its last part, if it was split)."""
        self.end_s = self._clock.now
        self._commits[node] += 1
        self._close_if_done()

    def excuse(self, node: int) -> None:
        """A node that has not committed it need not do so any more."""
        self._excused.add(node)
        self._close_if_done()

    def answered(self, error: str) -> None:
        """Its client is told: committed if ``error`` is empty."""
        self.error = error
        if not error:
            self.commit_s = self._clock.now
            self.untold = not self._commits and not self._excused
            if not self.rows:
                self.end_s = self.commit_s
        self._close_if_done()

    def _close_if_done(self) -> None:
        everywhere = all(
            node in self._excused or self._commits[node] >= self._parts
            for node in range(self._nodes)
        )
        done = self.error or self.untold or (everywhere and self.commit_s <= self._clock.now)
        if done and not self.closed.triggered:
            self._clock.fire(self.closed)


class Transaction:
    """One transaction of one client.

    Parameters
    ----------
    client, node : int
        Which client submits it, and on which node.
    kind : str
        Name of its transaction class.
    statements : tuple of Statement
        In order; ``autocommit`` transactions have one and commit in the same round trip.
    keys, shared_keys : tuple of hashable
        Certification keys of the rows written (exclusive) and of the rows they refer to (shared).
    rows, size_bytes : int
        Rows written and size of their row events.
    text_bytes : int
        Size of the text of the statements that write.
    autocommit : bool
    started_s : float
        When the client submitted it.

    Attributes
    ----------
    queued_s : float
        How long after ``started_s`` a connection was free for it.
    error : str
        Why its last attempt failed, as its client was told: a number first where the product has
        one. Empty if nobody has said so.
    unserved : bool
        It failed since its node cannot serve anybody now: its client pauses before it goes on.
    outcome_unknown : bool
        It may be committed although its client was told of an error.
    ranges : tuple of range
        Certification keys of neighbouring rows, too many to list in ``keys``.
    """

    __slots__ = (
        "autocommit", "client", "error", "keys", "kind", "node", "outcome_unknown", "queued_s",
        "rows", "shared_keys", "size_bytes", "started_s", "statements", "text_bytes", "unserved",
    )  # fmt: skip

    # What only few transactions have otherwise: class attributes cost nothing to the others.
    abandoned = False
    special = False
    ranges: tuple[range, ...] = ()
    load_data = False
    pause_s = 0.0
    xa_hold_s: float | None = None
    session: Any = None
    same_content = False
    journal: Witness | None = None
    way: Any = None
    whole: LongTransaction | None = None
    last_part = True
    awaited: Event | None = None
    waited_s = 0.0

    def __init__(
        self,
        client: int,
        node: int,
        kind: str,
        statements: tuple[Statement, ...],
        keys: tuple[Hashable, ...],
        rows: int,
        size_bytes: int,
        *,
        shared_keys: tuple[Hashable, ...] = (),
        text_bytes: int = 0,
        autocommit: bool = True,
        started_s: float = 0.0,
    ) -> None:
        self.client = client
        self.node = node
        self.kind = kind
        self.statements = statements
        self.keys = keys
        self.shared_keys = shared_keys
        self.rows = rows
        self.size_bytes = size_bytes
        self.text_bytes = text_bytes
        self.autocommit = autocommit
        self.started_s = started_s
        self.queued_s = 0.0
        self.error = ""
        self.unserved = self.outcome_unknown = False

    @property
    def key_count(self) -> int:
        """Certification keys, one for each row."""
        return len(self.keys) + len(self.shared_keys) + sum(map(len, self.ranges))


class TrackedTransaction(Transaction):
    """A transaction whose client may give it up, and whose fate is followed.

    Attributes
    ----------
    abandoned : bool
        Its client has given up waiting and closed the connection: the server ends the statement
        that it executes, and takes no further one.
    journal : Witness or None
        Who is told what happens to it.
    awaited : Event or None
        What its first statement waits for on its server.
    waited_s : float
        How long its client had it wait before, in seconds; part of the time since ``started_s``.
    sent : object
        Who has sent it, and when: see ``freshness``; None if nobody asks.
    seen : object
        What its reads saw.
    way : Way or None
        The connection by which its client reaches the server from elsewhere.
    """

    # No slots: what most transactions do not have is kept apart.
    sent: Any = None
    seen: Any = None


class LongTransaction(TrackedTransaction):
    """A transaction with what few transactions have.

    Attributes
    ----------
    ranges : tuple of range
        See ``Transaction``.
    load_data : bool
        It is a ``LOAD DATA``, which some servers split.
    pause_s : float
        How long its client pauses before every statement but the first, in seconds.
    xa_hold_s : float or None
        It is prepared with ``XA PREPARE``, and committed so many seconds later; None: no XA.
    session : object
        Session variables of its client, of a type that the model knows; None for the defaults.
    same_content : bool
        Its new rows have no primary key and are identical: every part of it has all ``keys``.
    whole : Transaction or None
        What it is a part of, if its server has split what its client sent.
    last_part : bool
        Whether nothing of that follows.
    stages : list of float or None
        Seconds in every stage of its parts that have committed; None before the first has.
    """

    # No slots: there are few of them.
    special = True
    stages: list[float] | None = None
