"""XCom of a quiet member: what it may send something because of, and what not."""

from __future__ import annotations

from typing import Any

from simrep.modelling import Clock, Mesh, Routine
from simrep.models.group_replication.xcom.paxos import Xcom, XcomOptions

from .messages import Inbox

__all__ = ["QuietXcom"]


class QuietXcom(Xcom):
    """See ``Xcom``; there is no single leader."""

    def __init__(
        self,
        clock: Clock,
        mesh: Mesh,
        size: int,
        options: XcomOptions,
        proposal: Routine,
        inbox: Inbox,
    ) -> None:
        super().__init__(clock, mesh, size, options, proposal)
        self._inbox = inbox
        self._proposal_s = proposal.seconds
        inbox.serve(mesh, self._receive, self._silent, self._restless)

    def _restless(self) -> bool:
        """Whether it may send something whatever happens: the horizon holds it up."""
        return self._sweep_timer or len(self._too_far) > 0

    def _silent(self, message: Any) -> bool:
        """Whether it has no slot to skip when it gets such a message of a skip."""
        next_own = self._next_own
        return (
            message.known <= next_own
            and self._known <= next_own
            and not self._sweep_timer
            and not self._too_far
        )

    def _wake_proposer(self) -> None:
        self._waking = True
        self._inbox.do(self._proposal_s, self._propose)

    def _sweep_later(self, none: None) -> None:
        self._inbox.machine.advance(self._clock._now)
        super()._sweep_later(none)
        self._inbox.look()
