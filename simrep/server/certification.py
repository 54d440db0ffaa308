"""Certification: of two concurrent transactions that touch a row, the first ordered wins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from simrep.kernel.deque import deque
from simrep.server.ranges import Ranges, points_in

__all__ = ["CertificationIndex"]


class CertificationIndex:
    """For every key the last ordered transaction that used it, exclusively and shared.

    A transaction fails if one of its keys was used exclusively by a transaction of *another* node
    that was ordered after the last one this transaction has seen committed
    (Galera ``certification.cpp``; types reduced to exclusive and shared). Transactions of the same
    node never conflict here, row locks have ordered them, but they do create dependencies.
    """

    __slots__ = ("_exclusive", "_order", "_ranges", "_shared", "purged")

    def __init__(self) -> None:
        self._exclusive: dict[Hashable, tuple[int, int]] = {}
        self._shared: dict[Hashable, tuple[int, int]] = {}
        self._ranges: Ranges[tuple[int, int]] = Ranges()
        self.purged = 0
        self._order: deque[tuple[int, tuple[Hashable, ...], tuple[Hashable, ...]]] = deque()

    def certify(
        self,
        seqno: int,
        origin: int,
        last_seen: int,
        keys: tuple[Hashable, ...],
        shared_keys: tuple[Hashable, ...] = (),
        ranges: tuple[range, ...] = (),
    ) -> int:
        """Certify the transaction ordered at ``seqno``.

        Parameters
        ----------
        seqno, origin, last_seen : int
            Its place in the order, the node it comes from, what had committed there before it.
        keys, shared_keys : tuple of hashable
            Rows that it used exclusively and shared.
        ranges : tuple of range
            Neighbouring rows that it used exclusively, instead of a key for each.

        Returns
        -------
        int
            The sequence number of the latest transaction that it depends on, at least that up to
            which the index is purged; -1 if the transaction fails.
        """
        exclusive = self._exclusive
        depends = self.purged
        for key in keys:
            used = exclusive.get(key)
            if used is not None:
                if used[0] > last_seen and used[1] != origin:
                    return -1
                if used[0] > depends:
                    depends = used[0]
        if self._shared:
            for key in keys:
                used = self._shared.get(key)
                if used is not None and used[0] > depends:
                    depends = used[0]
        for key in shared_keys:
            used = exclusive.get(key)
            if used is not None:
                if used[0] > last_seen and used[1] != origin:
                    return -1
                if used[0] > depends:
                    depends = used[0]
        if ranges or self._ranges.starts:
            depends = self._certify_ranges(
                origin, last_seen, (*keys, *shared_keys), ranges, depends
            )
            if depends < 0:
                return -1
        mark = (seqno, origin)
        for key in keys:
            exclusive[key] = mark
        for rows in ranges:
            self._ranges.put(rows, mark)
        for key in shared_keys:
            self._shared[key] = mark
        self._order.append((seqno, keys, shared_keys))
        return depends

    def _certify_ranges(
        self,
        origin: int,
        last_seen: int,
        keys: tuple[Hashable, ...],
        ranges: tuple[range, ...],
        depends: int,
    ) -> int:
        """Keys against ranges, and ranges against both: as above."""
        for used in self._used(keys, ranges):
            if used[0] > last_seen and used[1] != origin:
                return -1
            if used[0] > depends:
                depends = used[0]
        for rows in ranges:
            for _, used in points_in(rows, self._shared):
                depends = max(depends, used[0])
        return depends

    def _used(
        self, keys: tuple[Hashable, ...], ranges: tuple[range, ...]
    ) -> Iterable[tuple[int, int]]:
        """Who used them exclusively, as far as ranges are involved."""
        for key in keys:
            used = self._ranges.at(key)
            if used is not None:
                yield used
        for rows in ranges:
            for _, used in points_in(rows, self._exclusive):
                yield used
            for _, used in self._ranges.over(rows):
                yield used

    def copy(self) -> CertificationIndex:
        """A copy that goes its own way."""
        copy = CertificationIndex()
        copy._exclusive = self._exclusive.copy()
        copy._shared = self._shared.copy()
        copy._ranges = self._ranges.copy()
        copy._order = self._order.copy()
        copy.purged = self.purged
        return copy

    def purge(self, seqno: int) -> None:
        """Forget transactions up to ``seqno``, which every node has committed."""
        self.purged = max(self.purged, seqno)
        if self._ranges.starts:
            self._ranges.remove(lambda used: used[0] <= seqno)
        order, exclusive, shared = self._order, self._exclusive, self._shared
        while order and order[0][0] <= seqno:
            position, keys, shared_keys = order.popleft()
            for key in keys:
                used = exclusive.get(key)
                if used is not None and used[0] == position:
                    del exclusive[key]
            for key in shared_keys:
                used = shared.get(key)
                if used is not None and used[0] == position:
                    del shared[key]

    def __len__(self) -> int:
        """Number of keys in the index."""
        ranges = self._ranges
        return len(self._exclusive) + len(self._shared) + (ranges.rows if ranges.starts else 0)
