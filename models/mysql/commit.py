"""What commits have in common: a transaction in a pipeline, where products step in, the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from simrep.modelling import Decided, Host, Lap, OpenTransaction, RedoLog, Stage

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


class Commit(Decided):
    """One transaction in the pipeline; more of it say those that commit.

    Attributes
    ----------
    size_bytes : int
        Of its row events, and as much redo.
    committed : callable
        ``committed(entry)`` when the storage engine has committed it in memory: it is visible and
        its row locks must be released.
    done : callable
        ``done(entry)`` when the client's commit returns.
    owner : OpenTransaction or None
        Whose client waits for it; None: a replica applies it, and nobody waits.
    seqno : int
        In the binary log of the server, from 1; without one, in the order of the commits.
    """

    __slots__ = ("committed", "done", "owner", "seqno", "size_bytes", "sleeper")

    def __init__(
        self, size_bytes: int, committed: Call, done: Call, owner: OpenTransaction | None = None
    ) -> None:
        self.size_bytes = size_bytes
        self.committed = committed
        self.done = done
        self.owner: Any = owner
        self.seqno = 0
        self.sleeper: Any = None  # its thread, see ``Host.doze``


Group = list[Commit]
GoOn = Callable[[Group], object]


class CommitPipeline(Protocol):
    """Anything that makes an executed transaction durable and visible."""

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """The stages, in the order in which a transaction passes them."""

    def commit(self, entry: Commit) -> None:
        """Commit a transaction."""


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
        self.host = host
        self._commitment = host.routine(commit_s)  # of a group the first has a cold start
        self._switch_s = switch_s
        self.redo = redo

    def wake(self, call: Call, argument: Any) -> None:
        """Wake the leader of a group that waits for a stage (see ``Stage``)."""
        self.host.rouse(argument.sleeper, self._switch_s, call, argument)

    def approach(self, call: Call, argument: Any) -> None:
        """The leader of a group goes on, unless a thread that it has woken comes first."""
        self.host.go_on(0.0, call, argument)

    def sleeps(self, entry: Commit) -> None:
        """Its thread waits."""
        entry.sleeper = self.host.doze()

    def answer(self, group: Group) -> None:
        """The leader goes on, and wakes all others (MySQL: ``Commit_stage_manager::signal_done``).

        Simplified where threads are not told apart: it wakes the first of the others, each of them
        the next, as if they all waited for one mutex.
        """
        if self.host.tells_threads:
            for entry in group[1:]:
                self.host.rouse(entry.sleeper, self._switch_s, entry.done, entry)
            group[0].done(group[0])
            return
        rest = group[:0:-1]  # the next at the end
        group[0].done(group[0])
        if rest:
            self.host.run(self._switch_s, self._awake, rest)

    def _awake(self, rest: Group) -> None:
        entry = rest.pop()
        entry.done(entry)
        if rest:
            self.host.run(self._switch_s, self._awake, rest)

    def answer_each(self, group: Group) -> None:
        """All are woken at once."""
        for entry in group:
            self.host.run(self._switch_s, entry.done, entry)

    def commit(self, group: Group, call: GoOn) -> None:
        """One thread commits the group, all locks are released at its end; then ``call(group)``.

        It has waited for earlier commits since its logs were durable.
        """
        mark(group, Lap.COMMIT_ORDER, self.host.clock.now)
        others_s = (len(group) - 1) * self._commitment.seconds
        self._commitment.proceed(self._committed, (group, call), others_s)

    def _committed(self, work: tuple[Group, GoOn]) -> None:
        group, call = work
        self.redo.append()
        for entry in group:
            entry.committed(entry)
        call(group)


def mark(group: Group, lap: int, now_s: float) -> None:
    """Mark a stage of all transactions of a group that clients wait for."""
    for entry in group:
        owner: OpenTransaction | None = entry.owner
        if owner is not None:  # OpenTransaction.mark
            owner.seconds[lap] += now_s - owner.marked_s
            owner.marked_s = now_s


def total_bytes(group: Group) -> int:
    """Size of its row events."""
    size_bytes = 0
    for entry in group:
        size_bytes += entry.size_bytes
    return size_bytes
