"""A Galera group decides who is right when a member cannot apply a writeset (Galera 4).

Who fails tells so in an ordered message, and waits with the writeset; every other member with the
state tells that it has applied it, as soon as it has. When all have voted, the majority is right
(``gcs.vote_policy = 0``). Members on the other side are inconsistent, and leave the group. Members
of Galera 3 do not vote: who fails leaves.

Assumed, not read in the source: of halves, those that have applied it are right.

References
----------
codership/galera 26.4 ``galera/src/replicator_smm.cpp``: ``handle_apply_error``, ``process_vote``,
``on_inconsistency``; ``gcs/src/gcs_group.cpp``: ``gcs_group_handle_vote_msg``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from .writeset import Control, Kind

__all__ = ["Vote", "Votes"]


class Vote(Control):
    """Whether a member has applied a writeset."""

    __slots__ = ("failed",)

    def __init__(self, node: int, seqno: int, *, failed: bool) -> None:
        super().__init__(Kind.VOTE, node, seqno)
        self.failed = failed


class Votes:
    """What a member has heard of votes, in their order.

    Parameters
    ----------
    me : int
    send : callable
    when_applied : callable
        ``when_applied(seqno, call)``: ``call(seqno)`` when everything up to there has left it.
    decided : callable
        ``decided(seqno, failed)``: whether those that could not apply it are right.
    """

    def __init__(
        self,
        me: int,
        send: Callable[[Vote], object],
        when_applied: Callable[[int, Callable[[int], object]], object],
        decided: Callable[[int, bool], object],
    ) -> None:
        self._me = me
        self._send = send
        self._when_applied = when_applied
        self._decided = decided
        self._open: dict[int, dict[int, bool]] = {}
        self._told: set[int] = set()
        self._closed: set[int] = set()

    def fail(self, seqno: int) -> None:
        """It could not apply this writeset."""
        self._told.add(seqno)
        self._send(Vote(self._me, seqno, failed=True))

    def hear(self, vote: Vote, voters: Collection[int]) -> None:
        """A vote at its place in the order; ``voters`` have a say."""
        seqno = vote.seqno
        if seqno in self._closed:
            return
        if seqno not in self._open:
            self._open[seqno] = {}
            self._when_applied(seqno, self._succeed)
        self._open[seqno][vote.node] = vote.failed
        self._count(seqno, voters)

    def _succeed(self, seqno: int) -> None:
        if seqno not in self._told and seqno in self._open:
            self._told.add(seqno)
            self._send(Vote(self._me, seqno, failed=False))

    def see(self, voters: Collection[int]) -> None:
        """The members are others now: who has gone has no say."""
        for seqno in sorted(self._open):
            self._count(seqno, voters)

    def _count(self, seqno: int, voters: Collection[int]) -> None:
        votes = [self._open[seqno].get(voter) for voter in voters]
        if None in votes:
            return
        failed = sum(vote is True for vote in votes)
        del self._open[seqno]
        self._closed.add(seqno)
        self._decided(seqno, 2 * failed > len(votes))
