"""A link that is interrupted for a while: TCP delivers later what was sent meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from simrep.network.link import Link, Tcp

__all__ = ["InterruptedLink", "Outage"]

_LONGEST_TIMEOUT_S = 120.0  # Linux: TCP_RTO_MAX


class Outage(NamedTuple):
    """A time in seconds during which whatever leaves on a link is lost, ``from_s`` to ``to_s``."""

    from_s: float
    to_s: float


class InterruptedLink(Link):
    """A link with outages.

    The first message that is lost is sent again by the retransmission timeout, which doubles every
    time. The first repetition after the end of the outage gets through; everything behind it
    follows then. What had left before the outage arrives.

    Parameters
    ----------
    outages : sequence of Outage
        In the order of time.
    tcp : Tcp, optional
        As of ``Link``.
    **link
        As of ``Link``.

    Notes
    -----
    Simplified: a message counts as lost or not as a whole, by the time at which it is sent; an
    outage of the acknowledgements alone is not noticed; no connection is given up.
    """

    __slots__ = ("_outages", "_resume_s", "_timeout_s")

    def __init__(
        self, *args: Any, outages: Sequence[Outage], tcp: Tcp | None = None, **link: Any
    ) -> None:
        super().__init__(*args, tcp=tcp, **link)
        self._outages = tuple(outages)
        self._timeout_s = self._base + self._back + self._tcp.minimum_timeout_s
        self._resume_s = 0.0

    def arrival(self, size_bytes: int, at: float) -> float:
        """See ``Link.arrival``."""
        if at < self._resume_s:
            at = self._resume_s
        for outage in self._outages:
            if outage.from_s <= at < outage.to_s:
                self._resume_s = at = self._repeated_after(at, outage.to_s)
        return super().arrival(size_bytes, at)

    def _repeated_after(self, sent_s: float, end_s: float) -> float:
        """When a message is sent for the first time after an outage."""
        timeout = self._timeout_s
        at = sent_s
        while at < end_s:
            at += timeout
            timeout = min(2 * timeout, _LONGEST_TIMEOUT_S)
        return at
