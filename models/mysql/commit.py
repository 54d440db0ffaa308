"""What commits have in common: a transaction in a pipeline, where products step in, the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from simrep.modelling import Host, Lap, OpenTransaction, RedoLog, Stage, Transaction

__all__ = [
    "Call",
    "Commit",
    "CommitHooks",
    "CommitPipeline",
    "Engine",
    "GoOn",
    "Group",
    "mark",
    "total_bytes",
]

Call = Callable[[Any], object]


@dataclass(slots=True)
class Commit:
    """One transaction in the pipeline: its size in bytes and whom to tell."""

    size_bytes: int
    committed: Call
    done: Call
    argument: Any

    @property
    def transaction(self) -> Transaction:
        """What is committed."""
        transaction: Transaction = self.argument.transaction
        return transaction


Group = list[Commit]
GoOn = Callable[[Group], object]


class CommitPipeline(Protocol):
    """Anything that makes an executed transaction durable and visible."""

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """The stages, in the order in which a transaction passes them."""

    def commit(self, size_bytes: int, committed: Call, done: Call, argument: Any = None) -> None:
        """Commit a transaction with so many bytes of row events, and as much redo.

        ``committed(argument)`` when the storage engine has committed it in memory: it is visible
        and its row locks must be released. ``done(argument)`` when the client's commit returns.
        """


class CommitHooks:
    """The points of a commit where a replication product steps in; this base lets all pass.

    A hook that takes ``go_on`` must call ``go_on(group)`` once, at once or later; until then the
    group keeps what it holds at that point. ``after_commit`` may let its parts go on one by one.
    """

    def after_flush(self, group: Group) -> None:
        """The group was appended to the binary log; its order is final."""

    def readable(self, group: Group) -> None:
        """The threads that send the binary log to replicas may read the group from now on."""

    def after_sync(self, group: Group, go_on: GoOn) -> None:
        """Before the engine commit, row locks held (not in 5.5: it has no such point)."""
        go_on(group)

    def after_commit(self, group: Group, go_on: GoOn) -> None:
        """After the engine commit, before the clients are answered; no mutex is held."""
        go_on(group)


class Engine:
    """The storage engine: its redo log, and its commits in memory on a core of the host."""

    def __init__(
        self, host: Host, redo: RedoLog, *, commit_s: float = 0.0, switch_s: float = 0.0
    ) -> None:
        self._host = host
        self._commitment = host.routine(commit_s)  # of a group the first has a cold start
        self._switch_s = switch_s
        self.redo = redo

    def wake(self, call: Call, argument: Any) -> None:
        """Wake the leader of a group that waits for a stage (see ``Stage``)."""
        self._host.run(self._switch_s, call, argument)

    def answer(self, group: Group) -> None:
        """The leader goes on; it wakes the first of the others, each of them the next.

        They all wait for one mutex (MySQL: ``Commit_stage_manager::signal_done``).
        """
        group[0].done(group[0].argument)
        self._wake_next(iter(group[1:]))

    def _wake_next(self, rest: Iterator[Commit]) -> None:
        entry = next(rest, None)
        if entry is not None:
            self._host.run(self._switch_s, self._awake, (entry, rest))

    def _awake(self, work: tuple[Commit, Iterator[Commit]]) -> None:
        entry, rest = work
        entry.done(entry.argument)
        self._wake_next(rest)

    def answer_each(self, group: Group) -> None:
        """All are woken at once."""
        for entry in group:
            self._host.run(self._switch_s, entry.done, entry.argument)

    def commit(self, group: Group, call: GoOn) -> None:
        """One thread commits the group, all locks are released at its end; then ``call(group)``.

        It has waited for earlier commits since its logs were durable.
        """
        mark(group, Lap.COMMIT_ORDER)
        others_s = (len(group) - 1) * self._commitment.seconds
        self._host.run(self._commitment.cost(others_s), self._committed, (group, call))

    @staticmethod
    def _committed(work: tuple[Group, GoOn]) -> None:
        group, call = work
        for entry in group:
            entry.committed(entry.argument)
        call(group)


def mark(group: Group, lap: int) -> None:
    """Mark a stage of all transactions of a group that clients wait for.

    What a replica applies passes the same pipeline: nobody waits for it, so it has no owner.
    """
    for entry in group:
        owner: OpenTransaction | None = getattr(entry.argument, "owner", None)
        if owner is not None:
            owner.mark(lap)


def total_bytes(group: Group) -> int:
    """Size of its row events."""
    return sum(entry.size_bytes for entry in group)
