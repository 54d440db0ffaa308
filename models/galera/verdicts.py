"""What certification has found, for all nodes that do not play it themselves."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from .certifier import Certifier
from .stream_appliers import StreamAppliers
from .writeset import Control, Writeset

__all__ = ["Verdict", "Verdicts"]


class Verdict(NamedTuple):
    """What a node knows when it has certified a writeset."""

    seqno: int
    passed: bool
    # Of all writesets up to this one: see ``Certifier``.
    passed_sum: int
    distance_sum: int
    keys: int  # in the index then


class Verdicts:
    """Certification is the same on every node, so that one may do it for many.

    Each of ``readers`` nodes asks for every message of the total order that it is about, in that
    order; the first to ask has it certified.
    """

    def __init__(self, size: int, arbitrators: Collection[int], readers: int) -> None:
        self._certifier = Certifier(0, size, StreamAppliers(), None)
        if arbitrators:
            self._certifier.leave_out(arbitrators)
        self._readers = readers
        self._asked = 0  # messages of the order that somebody has asked for
        self._made: dict[int, tuple[Verdict, list[int]]] = {}

    def of(self, place: int, writeset: Writeset) -> Verdict:
        """What is found of the writeset that is the message number ``place`` of the order."""
        if place == self._asked:
            self._asked += 1
            certifier = self._certifier
            passed = certifier.certify(certifier.number(writeset))
            verdict = Verdict(
                certifier.ordered,
                passed,
                certifier.passed,
                certifier.distance_sum,
                len(certifier.index),
            )
            if self._readers > 1:
                self._made[place] = verdict, [self._readers - 1]
            return verdict
        verdict, left = self._made[place]
        left[0] -= 1
        if not left[0]:
            del self._made[place]
        return verdict

    def hear(self, place: int, message: Control) -> None:
        """The message number ``place`` tells up to where its node has committed."""
        if place == self._asked:
            self._asked += 1
            self._certifier.hear(message.node, message.seqno)
