"""What a Galera node keeps of the writesets it has received, for nodes that missed them."""

from __future__ import annotations

from collections import deque

from .certifier import Certifier
from .schema_change import ChangedTable, Phase, SchemaChange
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

    Notes
    -----
    Of writesets that every node has on its disk, ``release`` leaves only the sizes: nobody can ask
    for them.

    References
    ----------
    codership/galera ``gcache/src/gcache_rb_store.cpp``.
    """

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._sizes: deque[int] = deque()  # of all that it holds
        self._kept: deque[Ordered] = deque()  # the last of them
        self._bytes = self._last = 0

    def add(self, ordered: Ordered) -> None:
        """Keep the next writeset of the order, in the place of the oldest ones."""
        sizes, kept = self._sizes, self._kept
        size_bytes = ordered.writeset.size_bytes
        sizes.append(size_bytes)
        kept.append(ordered)
        self._last = ordered.seqno
        self._bytes += size_bytes
        while self._bytes > self._size_bytes and len(sizes) > 1:
            self._bytes -= sizes.popleft()
            if len(kept) > len(sizes):
                kept.popleft()

    @property
    def lowest(self) -> int | None:
        """The lowest sequence number that it holds; None if it holds nothing."""
        return self._last - len(self._sizes) + 1 if self._sizes else None

    def between(self, after: int, last: int) -> list[Ordered]:
        """What it holds after a sequence number, up to another one."""
        return [ordered for ordered in self._kept if after < ordered.seqno <= last]

    def release(self, position: int) -> None:
        """Every node has everything up to a sequence number on its disk."""
        kept = self._kept
        while kept and kept[0].seqno <= position:
            kept.popleft()

    def cut(self, last: int) -> None:
        """Forget what comes after a sequence number, as the state on the disk does not have it."""
        while self._sizes and self._last > last:
            self._last -= 1
            self._bytes -= self._sizes.pop()
            if self._kept:
                self._kept.pop()

    def clear(self) -> None:
        """Forget everything, as it does not lead up to the state of the node."""
        self._sizes.clear()
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

    def _depends(self, ordered: Ordered) -> int:
        """See ``Certifier._depends``.

        A statement in total order isolation never fails, and waits for everything before it. What
        was made without having seen it fails if it uses the table.

        References
        ----------
        codership/galera ``galera/src/certification.cpp``: ``certify_v3to5``, ``check_against``.
        """
        writeset = ordered.writeset
        if isinstance(writeset, SchemaChange):
            if writeset.phase != Phase.END:
                self._changed.append(ChangedTable(ordered.seqno, writeset.classes))
            return ordered.seqno - 1
        if not self._changed:
            return super()._depends(ordered)
        if any(table.refuses(ordered) for table in self._changed):
            return -1
        kind = writeset.local.transaction.kind
        seen = [table.seqno for table in self._changed if table.concerns(kind)]
        depends = super()._depends(ordered)
        return depends if depends < 0 else max(depends, *seen, 0)

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
