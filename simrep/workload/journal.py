"""The journal of a transaction that one wants to follow: what happened to it, and when."""

from __future__ import annotations

from collections import Counter
from math import nan

from simpy.events import Event

from simrep.kernel.clock import Clock

__all__ = ["Journal"]


class Journal:
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
