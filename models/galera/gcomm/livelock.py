"""Members that exclude each other again and again, and how a run comes through that.

In Galera an install message that leaves its receiver out makes the receiver exclude the sender
("mutual exclusion"). A member that is alone then installs a view of its own at once, and its
install message leaves the first one out in turn. The messages that follow it bring each of them
back into the list of the other (``handle_foreign``), so that the next install message counts
again. Members would agree if they told each other of their views; but a join message that
something new has caused is not sent within 100 ms of the last one (``join_rate_limit``), and each
round is shorter. So they go on until a round takes longer, or a link or a member fails.

Nothing in the product limits the pace. Its own code (``evs_proto.cpp`` and ``pc_proto.cpp`` of
release 26.4.18, with two members and links that keep the order) begins a view in every hop:
16,000 in 3.5 s at 0.1 ms, also with an exponential jitter of 1 ms, and after a pause of 0.2 s.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf

from simrep.modelling import Clock, Thread

__all__ = ["Livelock"]

_ROUND_S = 0.1  # evs_proto.cpp join_rate_limit
_ROUNDS = 20
_PACE_S = 0.05
_WORK_S = 0.02


class Livelock:
    """Notices that views of one member follow each other without end, and slows them down.

    Parameters
    ----------
    clock : Clock
    thread : Thread
        That handles the member's messages.
    note : callable
        Called as ``note("livelock", positions)`` with those who are excluded.

    Notes
    -----
    Simplified: after 20 rounds each view costs 20 ms of the thread's time, while a round is
    shorter than 50 ms. Messages keep their order, and no round gets as long as the 100 ms that
    would end it: the simulation only takes fewer of them.
    """

    def __init__(self, clock: Clock, thread: Thread, note: Callable[..., object]) -> None:
        self._clock = clock
        self._group_thread = thread
        self._note = note
        self._began_s = -inf
        self._rounds = 0

    @property
    def lasts(self) -> bool:
        """Whether it has been noticed, and goes on."""
        return self._rounds >= _ROUNDS and self._clock.now < self._began_s + _ROUND_S

    def begin_view(self, excluded: Collection[int]) -> None:
        """A view has begun, without those who are excluded."""
        took_s = self._clock.now - self._began_s
        self._began_s = self._clock.now
        self._rounds = self._rounds + 1 if took_s < _ROUND_S else 0
        if self._rounds == _ROUNDS:
            self._note("livelock", tuple(excluded))
        if self._rounds >= _ROUNDS and took_s < _PACE_S:
            self._group_thread.charge(_WORK_S)
