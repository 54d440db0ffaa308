"""Whom a member asks for what it has missed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from simrep.modelling import Clock, Stream

__all__ = ["Donors"]


class Donors:
    """The list of possible donors of a member that recovers, in a random order.

    Parameters
    ----------
    clock : Clock
    online : callable
        ``online()``: the other members that are ONLINE.
    chance : Stream
        Uniform numbers.
    tries : int
        ``group_replication_recovery_retry_count``.
    pause_s : float
        ``group_replication_recovery_reconnect_interval``, when all were asked.

    References
    ----------
    plugin/group_replication/src/recovery_state_transfer.cc: build_donor_list,
    establish_donor_connection (8.0, 9).
    """

    def __init__(
        self,
        clock: Clock,
        online: Callable[[], Collection[int]],
        chance: Stream,
        tries: int,
        pause_s: float,
    ) -> None:
        self._clock = clock
        self._online = online
        self._chance = chance
        self._tries = tries
        self._pause_s = pause_s
        self._list: list[int] = []
        self._asked = 0
        self._number = 0

    def begin(self) -> None:
        """A recovery begins."""
        self.end()
        self._asked = 0
        self.renew()

    def end(self) -> None:
        """Nobody is looked for any more."""
        self._number += 1

    def renew(self) -> None:
        """Members come or go: all that are ONLINE may be asked again."""
        self._list = self.shuffled()

    def shuffled(self) -> list[int]:
        """All that are ONLINE, in a random order."""
        left = sorted(self._online())
        return [left.pop(int(self._chance() * len(left))) for _ in range(len(left))]

    def next(self, call: Callable[[int | None], object]) -> None:
        """``call(donor)`` with the next one, after a pause if all were asked; None: no more."""
        self._number += 1
        if self._asked >= self._tries:
            call(None)
        elif self._list:
            self._asked += 1
            call(self._list.pop())
        else:
            later_s = self._clock.now + self._pause_s
            self._clock.at(later_s, self._again, (self._number, call))

    def _again(self, turn: tuple[int, Callable[[int | None], object]]) -> None:
        number, call = turn
        if number != self._number:
            return
        self.renew()
        if not self._list:
            self._asked += 1
        self.next(call)
