"""Local causal messages of a group: a member learns when it has all that others have delivered.

Whatever another member has delivered, this one has received, as it is delivered only when all have
it. So it is enough to wait until all of that is known to be safe: no message leaves the member.
Whether it is safe is looked at when the next message comes or leaves, even if it is so already.
Once in a period it sends an empty one all the same, and waits until that is safe: so it learns
whether the group is still there.

References
----------
gcomm/src/evs_proto.cpp: handle_down, deliver_local, and who calls it (25.3.37, 26.4);
gcs/src/gcs_core.cpp: gcs_core_caused, core_msg_causal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from .changing_evs import ChangingEvs
from .evs import Evs

__all__ = ["ChangingLocalCausal", "LocalCausal"]

_AGAIN_S = 0.010  # gcs asks again during a change of the view (gcs_core.cpp, core_msg_send_retry)


class LocalCausal(Evs):
    """One member of an EVS group that takes local causal messages, too.

    Parameters
    ----------
    period_s : float
        ``evs.causal_keepalive_period`` in seconds; 0: every question goes through the group.
    *how, **more
        Of the member.
    """

    def __init__(self, period_s: float, *how: Any, **more: Any) -> None:
        super().__init__(*how, **more)
        self._period_s = period_s
        self._sent_s = self._clock.now
        self._asked: deque[tuple[int, Callable[[], object]]] = deque()

    def causal(self, call: Callable[[], object]) -> None:
        """``call()`` when all is delivered here that any member may have delivered by now."""
        due = self._sent_s + self._period_s <= self._clock.now
        if not due and not self._asked and self._last_sent == self._safe:
            call()
            return
        number = self._aru
        if due:
            self._send_user((), 0, -1)
            self._sent_s = self._clock.now
            number = self._last_sent
        self._asked.append((number, call))
        if self.mesh.size == 1:
            self._deliver()

    def _deliver(self) -> None:
        super()._deliver()
        asked = self._asked
        while asked and not self._delivering and asked[0][0] <= self._safe:
            asked.popleft()[1]()


class ChangingLocalCausal(LocalCausal, ChangingEvs):
    """The same where views change: at the end of a view all questions are answered."""

    def causal(self, call: Callable[[], object]) -> None:
        """See ``LocalCausal.causal``; during a change of the view it is asked again and again."""
        if self.closed or self.isolated:
            return
        if self._may_send:
            super().causal(call)
        else:
            self._clock.at(self._clock.now + _AGAIN_S, self.causal, call)

    def finish(self, highest: Mapping[int, int]) -> None:
        """See ``ChangingEvs.finish``."""
        super().finish(highest)
        asked, self._asked = self._asked, deque()
        for _, call in asked:
            call()

    def stop(self) -> None:
        """See ``ChangingEvs.stop``."""
        super().stop()
        self._asked.clear()
