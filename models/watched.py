"""Who waits and who is waited for, in the words of all models."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from simrep.kernel.watch import Holder, Line, Watch
from simrep.measure.units import amount, duration, size
from simrep.models.mysql.commit import Commit
from simrep.network.mesh import Mesh
from simrep.server.stage import Stage
from simrep.server.watched import WatchedLocks
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.transaction import Transaction

__all__ = [
    "HELD",
    "Silences",
    "describe",
    "named",
    "watch_pipeline_stage",
    "watch_stage",
    "watched_locks",
    "who",
]

HELD = "was held {} by"

_DOING = {
    "redo": "writing and syncing the redo log",
    "prepare_commit_mutex": "writing and syncing the binary log, and committing",
    "binlog flush": "writing the logs",
    "binlog sync": "syncing the binary log",
    "binlog commit": "committing in the engine",
    "LOCK_log": "writing and syncing the binary log",
    "LOCK_after_binlog_sync": "between its binary log and its commit",
    "LOCK_commit_ordered": "committing in the engine",
}
"""What those do who are served by a stage of a commit pipeline."""


def who(item: Any) -> tuple[Hashable, ...]:
    """The transactions for which something in a station stands, or the thing itself.

    A transaction is the same object on every node and in every attempt.
    """
    if isinstance(item, Commit):
        return who(item.argument)
    item = getattr(item, "change", item)  # a replica's commit of a change
    if isinstance(item, list):
        return tuple(one for part in item for one in who(part))
    if isinstance(item, tuple):  # of a redo log: size, whom to call, with what
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
    """The owner of locks, or a change that is applied."""
    (one,) = who(item)
    if isinstance(item, OpenTransaction):
        return Holder(named(one), ((node, one),), verb, "being executed")
    title = f"transaction {item.seqno}"
    return Holder(named(one, title), ((node, one),), verb, "being applied")


def group(node: str, members: tuple[Hashable, ...]) -> Holder:
    """Those whom a station serves together; the largest gives the name."""
    if not members:
        return Holder("its next group to gather")
    first = max(members, key=lambda one: one.size_bytes if isinstance(one, Transaction) else 0)
    text = named(first)
    if len(members) > 1:
        text = f"a group of {amount(len(members))} with {text}"
    return Holder(text, tuple((node, one) for one in members), HELD)


class Silences:
    """From which other member nothing was heard for how long.

    Parameters
    ----------
    watch : Watch
    mesh : Mesh
        Told of every message from now on.
    names : sequence of str
        Of the members.
    """

    def __init__(self, watch: Watch, mesh: Mesh, names: Sequence[str]) -> None:
        self._watch = watch
        self._names = names
        others = [member for member in range(mesh.size) if member != mesh.me]
        self._heard_s = dict.fromkeys(others, 0.0)
        self._silent = dict.fromkeys(others, (0.0, 0.0))  # the last long silence of each
        self._handle = mesh._handle
        mesh.on_message(self._heard)

    def _heard(self, message: Any) -> None:
        now, source = self._watch.clock._now, getattr(message, "source", None)
        if source is not None:  # else it tells of the group itself
            if now - self._heard_s[source] >= self._watch.longer_than_s:
                self._silent[source] = (self._heard_s[source], now)
            self._heard_s[source] = now
        self._handle(message)

    def holder(self, since_s: float) -> Holder:
        """Who was silent longest since then, if anybody was for most of that time."""
        now = self._watch.clock._now
        longest_s, who_is = 0.5 * (now - since_s), -1
        for member, (began_s, ended_s) in self._silent.items():
            present_s = now - max(self._heard_s[member], since_s)
            silent_s = max(present_s, ended_s - max(began_s, since_s))
            if silent_s > longest_s:
                longest_s, who_is = silent_s, member
        if who_is < 0:
            return Holder("messages on their way")
        return Holder(f"{self._names[who_is]}, from which nothing came for {duration(longest_s)}")


def watch_stage(
    watch: Watch,
    node: str,
    stage: Stage[Any],
    doing: str,
    *,
    name: str = "",
    of: Callable[[Any], tuple[Hashable, ...]] = who,
) -> None:
    """Watch a stage; ``doing`` is what those do whom it serves."""
    line = Line(
        watch,
        node,
        name or stage.name.removeprefix(f"{node}/"),
        lambda: group(node, line.serving),
        who=of,
        doing=doing,
    )
    stage.watch(line)


def watch_pipeline_stage(watch: Watch, node: str, stage: Stage[Any]) -> None:
    """Watch a stage of a commit pipeline, or the redo log."""
    name = stage.name.removeprefix(f"{node}/")
    title = "redo log" if name == "redo" else name
    watch_stage(watch, node, stage, _DOING.get(name, ""), name=title)


def watched_locks(watch: Watch, node: str) -> WatchedLocks:
    """The row locks of a server."""
    return WatchedLocks(watch, node, lambda owner: describe(node, owner, HELD), who)
