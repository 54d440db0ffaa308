"""How a member that was expelled, or had lost its majority, comes back by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simrep.modelling import Clock

__all__ = ["AutoRejoin"]

_PAUSE_S = 300.0  # between two attempts (get_rejoin_timeout)
_VIEW_S = 60.0  # VIEW_MODIFICATION_TIMEOUT: so long an attempt waits for its view


class AutoRejoin:
    """Tries to join at once, and five minutes after an attempt that has failed.

    Parameters
    ----------
    clock : Clock
    tries : int
        ``group_replication_autorejoin_tries``.
    join : callable
        ``join(number, failed)`` begins an attempt, from 1; it calls ``failed()`` if nobody lets the
        member in.
    stop : callable
        ``stop()`` ends an attempt.
    give_up : callable
        ``give_up()`` when none has led to a view: ``group_replication_exit_state_action`` follows.

    References
    ----------
    plugin/group_replication/src/autorejoin.cc, execute_rejoin_process; plugin.cc, attempt_rejoin.
    """

    def __init__(
        self,
        clock: Clock,
        tries: int,
        join: Callable[[int, Callable[[], object]], object],
        stop: Callable[[], object],
        give_up: Callable[[], object],
    ) -> None:
        self._clock = clock
        self._tries = tries
        self._join = join
        self._stop = stop
        self._give_up = give_up
        self._number = 0  # of the attempt
        self._turn = 0  # a number for every attempt and every pause

    def begin(self) -> None:
        """The member is out of the group."""
        self._number = 0
        self._try(self._turn)

    def end(self) -> None:
        """It is in a view, or its server ends."""
        self._turn += 1

    def _try(self, turn: int) -> None:
        if turn != self._turn:
            return
        self._turn += 1
        self._number += 1
        if self._number > self._tries:
            self._give_up()
            return
        turn = self._turn
        self._clock.at(self._clock.now + _VIEW_S, self._failed, turn)
        self._join(self._number, partial(self._failed, turn))

    def _failed(self, turn: int) -> None:
        if turn != self._turn:
            return
        self._turn += 1
        self._stop()
        if self._number < self._tries:
            self._clock.at(self._clock.now + _PAUSE_S, self._try, self._turn)
        else:
            self._try(self._turn)
