"""What the source of semi-synchronous replication knows of its replicas, and who waits for it.

Positions are those of transactions in the binary log, counted from 1. An acknowledgement says that
a replica has everything up to a position in its relay log.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from simrep.modelling import Clock

__all__ = ["Acknowledgements", "Changed"]

Call = Callable[[Any], object]
Changed = Callable[[str, int], object]
"""``changed(what, position)``: ``acknowledged``, ``switched_off`` or ``switched_on``."""

_US: Final = 1e-6


class _Waiter(NamedTuple):
    position: int
    since_s: float
    call: Call
    argument: Any


def _position(waiter: _Waiter) -> int:
    return waiter.position


def _ignore(_: str, __: int) -> None:
    pass


class Acknowledgements:
    """Decides what has to be waited for, which acknowledgements are asked for, and when to stop.

    Notes
    -----
    Recovery needs an acknowledgement of the end of the binary log as it is when the
    acknowledgement arrives. Under steady load that never happens if a round trip is longer than
    the time between two transactions: as in the product.

    References
    ----------
    plugin/semisync/semisync_source.cc of MySQL 9 (commitTrx, reportReplyBinlog, try_switch_on,
    updateSyncHeader, AckContainer), which MariaDB's sql/semisync_master.cc descends from as well.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        replicas: int,
        enabled: bool = True,
        count: int = 1,
        timeout_s: float = 10.0,
        wait_no_replica: bool = True,
        changed: Changed | None = None,
    ) -> None:
        self._clock = clock
        self.enabled = enabled
        self._count = count  # replicas that must have a transaction
        self._timeout_s = timeout_s  # of a wait, after which the whole source is asynchronous
        self._changed = changed or _ignore
        self._acknowledged = [0] * replicas
        self._agreed = 0  # what enough of them have
        self._written = 0
        self._replied = 0  # largest position decided since it was last switched on
        self._waiters: list[_Waiter] = []  # by position
        self._least = 0  # position of those who have begun to wait since the last was released
        self._timer_set = False
        # Without ``wait_no_replica`` it is off while too few replicas are connected.
        self.on = enabled and (wait_no_replica or replicas >= count)
        self.decided = 0  # largest position that enough replicas have acknowledged
        self.yes = self.no = 0  # waits that ended with (or needed no) acknowledgement, and without
        self.off_times = self.timeouts = 0  # how often it became asynchronous, and why
        self.waits, self.wait_s = 0, 0.0  # those that were not over at once and ended by a signal
        self.backtraverse = 0  # waits for an earlier position than that of all who waited
        self.requests = 0  # acknowledgements asked for

    def set_options(self, count: int, timeout_s: float) -> None:
        """Others are to wait for so many replicas, and so long, from now on.

        What fewer replicas now suffice for is decided at once (``setWaitSlaveCount``).
        Simplified: those who wait already do so for as long as those who come later.
        """
        if timeout_s < self._timeout_s:  # the timer that runs would be too late
            self._clock.at(self._clock.now + timeout_s, self._time_is_over)
        self._timeout_s = timeout_s
        if count == self._count:
            return
        self._count = count
        known = sorted(self._acknowledged, reverse=True)
        self._agreed = known[count - 1] if count <= len(known) else 0
        if self.on and self._agreed > self._replied:
            self._decide(self._agreed)

    # -- the binary log --------------------------------------------------------------------------

    def written(self, position: int) -> None:
        """The binary log ends at this position now."""
        self._written = position

    def wanted(self, position: int) -> bool:
        """Whether the replica that is sent this transaction next shall acknowledge it."""
        if not self.enabled:
            return False
        if self.on:
            # Not if it is decided, nor if those who wait do so for a later one.
            wanted = position > self._replied and position >= self._least
        else:  # only the last, which could end the asynchronous time
            wanted = position >= self._written
        self.requests += wanted
        return wanted

    def know(self) -> None:
        """Let take place what has been entered ahead, until now."""

    # -- those who wait --------------------------------------------------------------------------

    def wait(self, position: int, call: Call, argument: Any = None) -> bool:
        """Wait for a position; False if there is nothing to wait for, and no call.

        ``call(argument)`` when it is acknowledged, or when the source becomes asynchronous.
        """
        if not self.enabled:
            return False
        if not self.on:
            self.no += 1
            return False
        if position <= self._replied:
            self.yes += 1
            return False
        if position <= self._least:
            self.backtraverse += 1
        if not self._least or position < self._least:
            self._least = position
        waiter = _Waiter(position, self._clock.now, call, argument)
        insort(self._waiters, waiter, key=_position)
        self._set_timer(self._clock.now + self._timeout_s)
        return True

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiters)

    def _set_timer(self, when_s: float) -> None:
        """One timer for all, at the end of the oldest wait that there was when it was set."""
        if not self._timer_set:
            self._timer_set = True
            self._clock.at(when_s, self._time_is_over)

    def _time_is_over(self, _: None) -> None:
        self._timer_set = False
        if not self._waiters:
            return
        oldest_s = min(waiter.since_s for waiter in self._waiters)
        if oldest_s + self._timeout_s <= self._clock.now:
            self.timeouts += 1
            self._switch_off()
        else:
            self._set_timer(oldest_s + self._timeout_s)

    def _switch_off(self) -> None:
        self.on = False
        self.off_times += 1
        self._replied = self._least = 0
        self._changed("switched_off", self._written)
        released, self._waiters = self._waiters, []
        for waiter in released:
            self.no += 1
            waiter.call(waiter.argument)

    # -- the replicas ----------------------------------------------------------------------------

    def report(self, replica: int, position: int) -> None:
        """A replica (counted from 0) has acknowledged everything up to a position."""
        self._decide(self._agreed_with(replica, position))

    def _agreed_with(self, replica: int, position: int) -> int:
        """What enough replicas have when this one has everything up to a position."""
        acknowledged, count = self._acknowledged, self._count
        if position > acknowledged[replica]:
            acknowledged[replica] = position
        if position > self._agreed:  # else as many as before
            if count == 1:
                self._agreed = position
            elif count <= len(acknowledged):
                self._agreed = sorted(acknowledged, reverse=True)[count - 1]
        return self._agreed

    def _decide(self, decided: int) -> None:
        """Enough replicas have acknowledged everything up to a position."""
        if decided > self.decided:
            self.decided = decided
            self._changed("acknowledged", decided)
        if not self.on:
            if decided < self._written:
                return
            self.on = True
            self._changed("switched_on", decided)
        if decided > self._replied:
            self._replied = decided
        if self._waiters and self._waiters[0].position <= self._replied:
            self._release()

    def _release(self) -> None:
        waiters, now = self._waiters, self._clock.now
        number = 0
        while number < len(waiters) and waiters[number].position <= self._replied:
            number += 1
        released = waiters[:number]
        del waiters[:number]
        self._least = 0
        for waiter in released:
            self.yes += 1
            self.waits += 1
            self.wait_s += now - waiter.since_s
            waiter.call(waiter.argument)

    # -- figures ---------------------------------------------------------------------------------

    def counters(self) -> dict[str, float]:
        """As ``SHOW GLOBAL STATUS`` has them; times in microseconds."""
        self.know()
        name = "Rpl_semi_sync_source_"
        wait_us = self.wait_s / _US
        return {
            f"{name}status": int(self.on),
            f"{name}clients": len(self._acknowledged) if self.enabled else 0,
            f"{name}yes_tx": self.yes,
            f"{name}no_tx": self.no,
            f"{name}no_times": self.off_times,
            f"{name}wait_sessions": self.waiting,
            f"{name}wait_pos_backtraverse": self.backtraverse,
            f"{name}net_waits": self.requests,
            f"{name}tx_waits": self.waits,
            f"{name}tx_wait_time": wait_us,
            f"{name}tx_avg_wait_time": wait_us / self.waits if self.waits else 0.0,
        }
