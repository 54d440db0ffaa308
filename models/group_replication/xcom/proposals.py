"""What a member has proposed and nobody has agreed on yet: proposed again when it takes long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simrep.modelling import Clock

from .proposal_times import SHORTEST_S, ProposalTimes
from .slots import Batch

__all__ = ["Proposals"]


class _Proposal:
    __slots__ = ("batch", "pushed_s", "wait_s")

    def __init__(self, batch: Batch, now_s: float) -> None:
        self.batch = batch
        self.pushed_s = now_s
        self.wait_s = 0.0  # not drawn yet


class Proposals:
    """The proposals of one member that are under way, by slot.

    Simplified: how long one waits is drawn when it has lasted 0.1 s, which all do at least.

    Parameters
    ----------
    clock : Clock
    times : ProposalTimes
    again : callable
        ``again(slot)`` proposes once more.

    References
    ----------
    xcom_base.cc, proposer_task.
    """

    def __init__(self, clock: Clock, times: ProposalTimes, again: Callable[[int], object]) -> None:
        self._clock = clock
        self._times = times
        self._again = again
        self._life = 0
        self._looking = False
        self.under_way: dict[int, _Proposal] = {}

    def stop(self) -> None:
        """The process ends."""
        self.under_way.clear()
        self._life += 1
        self._looking = False

    def began(self, slot: int, batch: Batch) -> None:
        """A batch was proposed in a slot."""
        now = self._clock._now
        self.under_way[slot] = _Proposal(batch, now)
        if not self._looking:
            self._looking = True
            self._clock.at(now + SHORTEST_S, self._look, self._life)

    def ended(self, slot: int) -> Batch:
        """The slot was decided; what had been proposed there."""
        return self.under_way.pop(slot).batch

    def _look(self, life: Any) -> None:
        if life != self._life:
            return
        now = self._clock._now
        for slot, proposal in tuple(self.under_way.items()):
            if now < proposal.pushed_s + SHORTEST_S:
                continue
            if not proposal.wait_s:
                proposal.wait_s = self._times.first_wait()
            if proposal.pushed_s + proposal.wait_s <= now:
                proposal.pushed_s = now
                proposal.wait_s = self._times.next_wait(proposal.wait_s)
                self._again(slot)
        if life != self._life or not self.under_way:
            self._looking = life != self._life and self._looking
            return
        soonest = min(p.pushed_s + (p.wait_s or SHORTEST_S) for p in self.under_way.values())
        self._clock.at(max(soonest, now), self._look, self._life)
