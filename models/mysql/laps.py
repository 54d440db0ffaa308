"""Where a transaction's commit spends its time: engine and binary log that mark its stages."""

from __future__ import annotations

from typing import Any

from simrep.models.mysql.commit import Call, Engine, GoOn, Group
from simrep.server.storage import Binlog
from simrep.workload.laps import Lap
from simrep.workload.open_transaction import OpenTransaction

__all__ = ["MarkingBinlog", "MarkingEngine", "mark"]


def mark(group: Group, lap: int) -> None:
    """Mark a stage of all transactions of a group that clients wait for.

    What a replica applies passes the same pipeline: nobody waits for it, so it has no owner.
    """
    for entry in group:
        owner: OpenTransaction | None = getattr(entry.argument, "owner", None)
        if owner is not None:
            owner.mark(lap)


class MarkingEngine(Engine):
    """What has come this far has waited for earlier commits since its logs were durable."""

    def commit(self, group: Group, call: GoOn) -> None:
        """See ``Engine.commit``."""
        mark(group, Lap.COMMIT_ORDER)
        Engine.commit(self, group, call)


class MarkingBinlog(Binlog):
    """A group that is synced has left its logs behind, the waits to share them included."""

    def sync(self, call: Call, argument: Any = None) -> None:
        """See ``Binlog.sync``; the argument is the group."""
        Binlog.sync(self, self._marked, (call, argument))

    @staticmethod
    def _marked(work: tuple[Call, Group]) -> None:
        call, group = work
        mark(group, Lap.FLUSH)
        call(group)
