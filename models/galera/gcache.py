"""What a Galera node keeps of the writesets it has received, for nodes that missed them."""

from __future__ import annotations

from collections import deque

from .certifier import Certifier
from .writeset import Ordered, Writeset

__all__ = ["Gcache", "KeepingCertifier"]


class Gcache:
    """The last writesets of the order, as many as have room in ``gcache.size``.

    It is a file that processes of the server map: it survives the end of a process, and the next
    one reads it (``gcache.recover``).

    Parameters
    ----------
    size_bytes : int
        The writeset that was received last is kept whatever its size.

    References
    ----------
    codership/galera ``gcache/src/gcache_rb_store.cpp``.
    """

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._kept: deque[Ordered] = deque()
        self._bytes = 0

    def add(self, ordered: Ordered) -> None:
        """Keep the next writeset of the order, in the place of the oldest ones."""
        kept = self._kept
        kept.append(ordered)
        self._bytes += ordered.writeset.size_bytes
        while self._bytes > self._size_bytes and len(kept) > 1:
            self._bytes -= kept.popleft().writeset.size_bytes

    @property
    def lowest(self) -> int | None:
        """The lowest sequence number that is kept; None if nothing is."""
        return self._kept[0].seqno if self._kept else None

    def between(self, after: int, last: int) -> list[Ordered]:
        """What is kept after a sequence number, up to another one."""
        return [ordered for ordered in self._kept if after < ordered.seqno <= last]

    def cut(self, last: int) -> None:
        """Forget what comes after a sequence number, as the state on the disk does not have it."""
        kept = self._kept
        while kept and kept[-1].seqno > last:
            self._bytes -= kept.pop().writeset.size_bytes

    def clear(self) -> None:
        """Forget everything, as it does not lead up to the state of the node."""
        self._kept.clear()
        self._bytes = 0


class KeepingCertifier(Certifier):
    """A certifier that keeps what it numbers, and what certification has made of it."""

    gcache: Gcache

    def number(self, message: Writeset) -> Ordered:
        """See ``Certifier.number``."""
        ordered = super().number(message)
        self.gcache.add(ordered)
        return ordered

    def certify(self, ordered: Ordered) -> bool:
        """See ``Certifier.certify``; what fails depends on nothing, which ``depends`` tells."""
        passed = super().certify(ordered)
        if not passed:
            ordered.depends = -1
        return passed

    def given(self, ordered: Ordered) -> None:
        """A writeset was given by a donor, who has certified it."""
        self.gcache.add(ordered)
        if self._trace is not None:
            message, seqno = ordered.writeset, ordered.seqno
            self._trace.record(
                self._node, "order", seqno,
                message.origin, message.last_seen, (*message.keys, *message.ranges),
            )  # fmt: skip
            self._trace.record(self._node, "certify", seqno, ordered.depends >= 0)
