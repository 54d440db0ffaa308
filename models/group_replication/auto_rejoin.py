"""How a member that was expelled, or had lost its majority, comes back by itself."""

from __future__ import annotations

from collections.abc import Callable

from simrep.modelling import Clock

__all__ = ["AutoRejoin"]

_PERIOD_S = 300.0  # between two attempts (get_rejoin_timeout)
_ATTEMPT_S = 60.0  # VIEW_MODIFICATION_TIMEOUT: so long an attempt waits for its view


class AutoRejoin:
    """Tries to join at once, and again every five minutes.

    Parameters
    ----------
    clock : Clock
    tries : int
        ``group_replication_autorejoin_tries``.
    join : callable
        ``join(number)`` begins an attempt, from 1.
    give_up : callable
        ``give_up()`` when none has led to a view: ``group_replication_exit_state_action`` follows.

    Notes
    -----
    Simplified: an attempt begins five minutes after the one before began; the product waits five
    minutes from its end, which is at most a minute later.

    References
    ----------
    plugin/group_replication/src/autorejoin.cc, autorejoin_thread_handle.
    """

    def __init__(
        self,
        clock: Clock,
        tries: int,
        join: Callable[[int], object],
        give_up: Callable[[], object],
    ) -> None:
        self._clock = clock
        self._tries = tries
        self._join = join
        self._give_up = give_up
        self._spells = 0  # a number for each time out of the group
        self._runs = False

    def begin(self) -> None:
        """The member is out of the group."""
        self._spells += 1
        self._runs = True
        self._try((self._spells, 1))

    def end(self) -> None:
        """It is in a view, or its server ends."""
        self._runs = False

    def _try(self, turn: tuple[int, int]) -> None:
        spell, number = turn
        if not self._runs or spell != self._spells:
            return
        if number > self._tries:
            self._runs = False
            self._give_up()
            return
        self._join(number)
        last = number == self._tries
        at_s = self._clock.now + (_ATTEMPT_S if last else _PERIOD_S)
        self._clock.at(at_s, self._try, (spell, number + 1))
