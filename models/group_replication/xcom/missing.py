"""How a member gets at slots that it has to execute and does not know: it waits, reads, proposes.

A wait for a slot lasts 0.1 s and five to six median proposals at first, then 1.41 times as long
each time. After the first wait the member asks others for what they know, after the second the
first live member proposes that the slots stay empty, and after the third everybody does. All
slots up to the highest that is known to be in use, as far as the event horizon goes, are dealt
with together.

Simplified: a server asks for a slot without any wait, too. Here only a member does that of which
it is known that it has missed something, for the value of a slot that is merely late is nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Protocol

from simrep.modelling import Clock

from .proposal_times import SHORTEST_S, ProposalTimes
from .slots import Slot

__all__ = ["Executor", "MissingSlots"]

_BUILD_S = 0.5  # BUILD_TIMEOUT: a slot is left alone so long after something happened in it
_NOW_S = 1e-9


class Executor(Protocol):
    """The member whose slots they are."""

    @property
    def executed(self) -> int:
        """The next slot to execute."""
        ...

    @property
    def known(self) -> int:
        """The highest slot known to be in use."""
        ...

    def state(self, slot: int) -> Slot | None:
        """What is known about a slot."""
        ...

    def after(self, slot: int) -> int:
        """The next slot."""
        ...

    def is_too_far(self, slot: int) -> bool:
        """Whether it is beyond the event horizon."""
        ...

    def is_own(self, slot: int) -> bool:
        """Whether this member proposes something in the slot itself."""
        ...

    def owner(self, slot: int) -> int:
        """The position of the member whose slot it is."""
        ...

    def read(self, slot: int) -> None:
        """Ask for its value."""
        ...

    def take_over(self, slot: int) -> bool:
        """Propose that it stays empty; False if this member has no say there."""
        ...

    def is_member(self) -> bool:
        """Whether this member belongs to the configuration of the next slot."""
        ...

    def is_first(self) -> bool:
        """Whether it is the first of those that are alive."""
        ...


class MissingSlots:
    """The waits of one member's executor.

    Parameters
    ----------
    clock : Clock
    executor : Executor
    times : ProposalTimes

    Attributes
    ----------
    on_fill : callable or None
        ``on_fill(positions, waits, waited_s)`` is told whose slots this member proposes to leave
        empty, after how many waits, and how long they were together.

    References
    ----------
    xcom_base.cc: get_xcom_message, find_value, read_missing_values, propose_missing_values,
    ok_to_propose, wakeup_delay.
    """

    def __init__(self, clock: Clock, executor: Executor, times: ProposalTimes) -> None:
        self._clock = clock
        self._executor = executor
        self._times = times
        self.on_fill: Callable[[tuple[int, ...], int, float], object] | None = None
        self._timer = 0
        self.due_s = inf  # when the timer goes off
        self.since_s = 0.0  # when the executor came to the slot
        self.turn = 0  # waits that have ended
        self.missed = -1  # up to this slot something was found to be missing
        self.forcing = False
        self._wait_s = 0.0

    def stop(self) -> None:
        """The process ends."""
        self._timer += 1
        self.due_s = inf
        self.missed = -1
        self.forcing = False

    def arrive(self) -> None:
        """The executor has come to a slot that is not finished."""
        self.since_s = now = self._clock._now
        self.turn = 0
        if self.due_s > now + SHORTEST_S:
            self._arm(now + SHORTEST_S)
        if self._executor.executed <= self.missed:
            self.read()

    def _arm(self, when_s: float) -> None:
        self.due_s = when_s
        self._timer += 1
        self._clock.at(when_s, self._look, self._timer)

    def _look(self, timer: Any) -> None:
        if timer != self._timer:
            return
        now = self._clock._now
        if self.turn == 0:
            if now < self.since_s + SHORTEST_S - _NOW_S:
                self._arm(self.since_s + SHORTEST_S)
                return
            self._wait_s = self._times.first_wait()
            self.turn = 1
            self._arm(max(now, self.since_s + self._wait_s))
            return
        self._wait_s = self._times.next_wait(self._wait_s)
        turn = self.turn = min(self.turn + 1, 4)
        self._arm(now + self._wait_s)
        executor = self._executor
        if executor.executed > executor.known:
            return
        if not executor.is_member() or turn == 2 or (turn == 3 and not executor.is_first()):
            self.read()
        else:
            self.propose()

    def read(self) -> None:
        """Ask others for all that is missing."""
        executor = self._executor
        slot, last = executor.executed, executor.known
        self.missed = max(self.missed, last)
        while slot <= last and not executor.is_too_far(slot):
            state = executor.state(slot)
            if state is None or not (
                state.finished or self._is_active(state) or executor.is_own(slot)
            ):
                executor.read(slot)
            slot = executor.after(slot)

    def propose(self) -> None:
        """Propose that all that is missing stays empty."""
        executor = self._executor
        slot, last = executor.executed, executor.known
        owners: dict[int, None] = {}
        while slot <= last and not executor.is_too_far(slot):
            state = executor.state(slot)
            free = state is None or (
                not state.finished
                and (self.forcing or not self._is_active(state))
                and not executor.is_own(slot)
            )
            if free:
                if not executor.take_over(slot):
                    break
                owners[executor.owner(slot)] = None
            slot = max(executor.executed, executor.after(slot))
        if owners and self.on_fill is not None:
            waited_s = self._clock._now - self.since_s
            self.on_fill(tuple(sorted(owners)), self.turn - 1, waited_s)

    def _is_active(self, state: Slot) -> bool:
        active_s = state.active_s
        return active_s != 0.0 and active_s + _BUILD_S + self._times.median_s > self._clock._now
