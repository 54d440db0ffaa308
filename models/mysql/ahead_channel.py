"""A channel whose relay log is written ahead of time."""

from __future__ import annotations

from math import inf
from typing import Any

from .channel import Channel

__all__ = ["AheadChannel"]


class AheadChannel(Channel):
    """Knows of some changes already when they will be in the relay log.

    ``reach`` brings its counts up to now; it is called by whoever reads them.
    """

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._unreached: list[Any] = []  # written later than now,
        self._unreached_s: list[float] = []  # and when
        self._unreached_bytes = 0

    @property
    def events_left(self) -> float:
        """With so many more events the relay log is synchronised."""
        period = self._sync_relay_log
        return period - self._unsynced_events if period else inf

    def write_at(
        self, changes: list[Any], times_s: list[float], size_bytes: int, events: int
    ) -> None:
        """``write`` changes at their times, with no fsync; of so many bytes and events in all."""
        self.reach()
        self._unsynced_events += events
        self._unsynced_bytes += size_bytes
        self._unreached += changes
        self._unreached_s += times_s
        self._unreached_bytes += size_bytes
        self._pending += changes
        self._appliers.submit_at(changes, times_s)

    def look(self) -> None:
        """Let the appliers begin with what is in the relay log by now."""
        self._appliers.look()

    def reach(self) -> None:
        """Count what is in the relay log by now."""
        times_s, now = self._unreached_s, self.server.clock._now
        if times_s and times_s[-1] <= now:
            self.received += len(times_s)
            self.relay_log_bytes += self._unreached_bytes
            self._unreached_bytes = 0
            self._unreached.clear()
            times_s.clear()
        while times_s and times_s[0] <= now:
            del times_s[0]
            size_bytes = self._unreached.pop(0).size_bytes
            self.received += 1
            self.relay_log_bytes += size_bytes
            self._unreached_bytes -= size_bytes

    @property
    def behind_s(self) -> float:
        """See ``Channel.behind_s``."""
        self.reach()
        return super().behind_s if len(self._pending) > len(self._unreached) else 0.0
