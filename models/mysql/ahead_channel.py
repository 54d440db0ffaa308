"""A channel whose relay log is written ahead of time."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from .channel import Call, Channel
from .options import ApplierCosts, ApplierOptions
from .server import MysqlServer

__all__ = ["AheadChannel"]


class AheadChannel(Channel):
    """Knows of some changes already when they will be in the relay log.

    ``reach`` brings its counts up to now; it is called by whoever reads them.
    """

    def __init__(
        self,
        server: MysqlServer,
        options: ApplierOptions,
        costs: ApplierCosts,
        *,
        workers_wait: bool = False,
        after_apply: Callable[[Any, Call], object] | None = None,
    ) -> None:
        super().__init__(server, options, costs, workers_wait=workers_wait, after_apply=after_apply)
        self._unreached: list[tuple[float, Any]] = []  # written later than now
        self._unreached_bytes = 0

    @property
    def events_left(self) -> float:
        """With so many more events the relay log is synchronised."""
        period = self._sync_relay_log
        return period - self._unsynced_events if period else inf

    def write_at(self, changes: list[tuple[float, Any]], size_bytes: int, events: int) -> None:
        """``write`` changes at their times, with no fsync; of so many bytes and events in all."""
        self.reach()
        self._unsynced_events += events
        self._unsynced_bytes += size_bytes
        self._unreached += changes
        self._unreached_bytes += size_bytes
        self._pending.extend([change for _, change in changes])
        self._appliers.submit_at(changes)

    def look(self) -> None:
        """Let the appliers begin with what is in the relay log by now."""
        self._appliers.look()

    def reach(self) -> None:
        """Count what is in the relay log by now."""
        unreached, now = self._unreached, self.server.clock._now
        if not unreached:
            return
        if unreached[-1][0] <= now:
            self.received += len(unreached)
            self.relay_log_bytes += self._unreached_bytes
            self._unreached_bytes = 0
            unreached.clear()
        while unreached and unreached[0][0] <= now:
            size_bytes = unreached.pop(0)[1].size_bytes
            self.received += 1
            self.relay_log_bytes += size_bytes
            self._unreached_bytes -= size_bytes

    @property
    def behind_s(self) -> float:
        """See ``Channel.behind_s``."""
        self.reach()
        return super().behind_s if len(self._pending) > len(self._unreached) else 0.0
