"""How a Galera node writes the rows of other nodes, under their locks and those of streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from simrep.modelling import Host, LockTable

from .options import GaleraCosts
from .stored_fragments import StoredFragments
from .stream_appliers import StreamApplier, StreamAppliers
from .writeset import Ordered, Part, StreamPart

__all__ = ["RowWriter"]

_US = 1e-6


class RowWriter:
    """What an applier thread does with a writeset before it commits."""

    def __init__(
        self,
        host: Host,
        locks: LockTable,
        streams: StreamAppliers,
        costs: GaleraCosts,
        stored: StoredFragments,
        few_keys: float,
        applied: Callable[[Ordered], object],
        rolled_back: Callable[[tuple[int, int]], object],
    ) -> None:
        self.begin: Callable[[Ordered], object] = self.apply  # with a writeset; somebody may wait
        self._host = host
        self._locks = locks
        self._streams = streams
        self._stored = stored
        self._few_keys = few_keys  # certified at this time, and not under the local monitor
        self._applied = applied
        self._rolled_back = rolled_back  # told of streams whose origin has gone
        self._application = host.routine(costs.apply_us * _US)
        self._key_s = costs.certify_key_us * _US
        self.row_s = costs.apply_row_us * _US
        self.log_row_s = costs.log_row_us * _US
        self.log_byte_s = costs.log_byte_ns * 1e-9

    def apply(self, ordered: Ordered) -> None:
        """Take the row locks, by force where a local transaction holds them, and apply."""
        writeset = ordered.writeset
        if writeset.part is not None:
            ordered.stream = self._streams.applier(ordered)
            self._force_scans((ordered, writeset.scans))
        elif writeset.scans:
            self._force_scans((ordered, writeset.scans))
        elif writeset.locks:
            self._locks.force_all(ordered, writeset.locks, self._write, ordered)
        else:
            self._write(ordered)

    def _force_scans(self, work: tuple[Ordered, tuple[range, ...]]) -> None:
        ordered, scans = work
        owner = ordered.stream or ordered
        if scans:
            following = (ordered, scans[1:])
            self._locks.force_range(owner, scans[0], self._force_scans, following)
        else:
            self._locks.force_all(owner, ordered.writeset.locks, self._write, ordered)

    def _write(self, ordered: Ordered) -> None:
        writeset = ordered.writeset
        more_s = self.row_s * writeset.rows
        if writeset.key_count <= self._few_keys:
            more_s += self._key_s * writeset.key_count
        if writeset.part is not None:
            more_s += self._log_s(ordered, writeset.part)
        self._host.go_on(self._application.cost(more_s), self._read_log, ordered)

    def _read_log(self, ordered: Ordered) -> None:
        """Wait for pages of stored fragments, where removing them has to read some."""
        part = ordered.writeset.part
        read_s = self._stored.read_s(part) if part is not None and part.last else 0.0
        if read_s:
            clock = self._host.clock
            clock.at(clock._now + read_s, self._written, ordered)
        else:
            self._written(ordered)

    def _written(self, ordered: Ordered) -> None:
        if ordered.stream is not None:
            self._streams.applied(ordered, ordered.stream)
        self._applied(ordered)

    def _log_s(self, ordered: Ordered, part: StreamPart) -> float:
        """What a part has a node do beside writing its rows, in seconds."""
        if not part.last:  # store it
            return self.log_row_s + self.log_byte_s * ordered.writeset.size_bytes
        seconds = self._stored.removal_s * part.fragments  # remove what was stored
        if part.what == Part.ROLLBACK:
            seconds += self.row_s * self._streams.applier(ordered).rows
        return seconds

    # -- streams whose origin has gone, and streams of a state ----------------------------------

    def close_orphans(self, since: Mapping[int, int], position: int) -> None:
        """Roll back what is open and whose origin has gone; see ``StreamAppliers.orphans``."""
        for applier in self._streams.orphans(since, position):
            applier.closing = True
            seconds = self.row_s * applier.rows + self._stored.removal_s * applier.fragments
            self._host.run(seconds, self._close_orphan, applier)

    def _close_orphan(self, applier: StreamApplier) -> None:
        self._streams.close(applier.stream)
        self._locks.release_all(applier)
        self._rolled_back(applier.stream)

    def recover(self, streams: Mapping[tuple[int, int], Sequence[Ordered]]) -> float:
        """Apply the stored fragments of open streams; how long that takes, in seconds."""
        seconds = 0.0
        for stream, fragments in streams.items():
            applier = self._streams.recover(stream, fragments)
            for ordered in fragments:
                for scan in ordered.writeset.scans:
                    self._locks.take_range(applier, scan)
                for row in ordered.writeset.locks:
                    self._locks.take(applier, row)
            seconds += self.row_s * applier.rows + self.log_byte_s * applier.size_bytes
        return seconds
