"""Streaming transactions of other nodes: what a node has applied of them before they commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simrep.modelling import Decided

from .writeset import Ordered, Part

__all__ = ["StreamApplier", "StreamAppliers", "known_parts"]


class StreamApplier(Decided):
    """The open transaction that the fragments of one stream are applied in.

    It owns the locks of their rows until the stream ends, and nothing can abort it.
    """

    __slots__ = ("closing", "first", "fragments", "prepared", "rows", "size_bytes", "stream")

    def __init__(self, stream: tuple[int, int], first: int) -> None:
        self.stream = stream
        self.first = first  # sequence number of its first part
        self.closing = False  # it is being rolled back, as its origin has gone
        self.rows = 0  # that it has written
        self.fragments = self.size_bytes = 0  # that are stored for it
        self.prepared = False  # it has seen an ``XA PREPARE``, which outlives its origin


class StreamAppliers:
    """The streaming appliers of one node, and the order in which parts of streams are applied.

    References
    ----------
    codership/wsrep-lib ``src/server_state.cpp`` (``apply_fragment``, ``commit_fragment``,
    ``rollback_fragment``, ``close_orphaned_sr_transactions``); galera
    ``certification.cpp`` (``pa_unsafe``).
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], StreamApplier] = {}
        # Parts that have passed certification and whose stream has not ended, applied or not.
        self._parts: dict[tuple[int, int], list[Ordered]] = {}
        # Everything after this sequence number waits until it is committed: it was the end of a
        # stream, which is applied alone (``pa_unsafe``).
        self.barrier = 0

    def order(self, ordered: Ordered) -> None:
        """A part has passed certification: what it depends on besides rows."""
        part = ordered.writeset.part
        assert part is not None
        if part.barrier:
            ordered.depends = ordered.seqno - 1
            self.barrier = ordered.seqno
        else:
            parts = self._parts.get(part.stream)
            if parts:
                ordered.depends = max(ordered.depends, parts[-1].seqno)
        if part.last:
            self._parts.pop(part.stream, None)
        else:
            self._parts.setdefault(part.stream, []).append(ordered)

    def applier(self, ordered: Ordered) -> StreamApplier:
        """The applier of a part; the first part opens it."""
        part = ordered.writeset.part
        assert part is not None
        applier = self._open.get(part.stream)
        if applier is None:
            applier = self._open[part.stream] = StreamApplier(part.stream, ordered.seqno)
        return applier

    def applied(self, ordered: Ordered, applier: StreamApplier) -> None:
        """A part was applied, and stored if others follow."""
        part = ordered.writeset.part
        assert part is not None
        if not part.last:
            applier.rows += ordered.writeset.rows
            applier.size_bytes += ordered.writeset.size_bytes
            applier.fragments += 1
            applier.prepared = part.what == Part.PREPARE

    def close(self, stream: tuple[int, int]) -> StreamApplier | None:
        """A stream has ended; whoever had applied its fragments."""
        self._parts.pop(stream, None)
        return self._open.pop(stream, None)

    def stored(self) -> dict[tuple[int, int], tuple[Ordered, ...]]:
        """The fragments of open streams, as ``mysql.wsrep_streaming_log`` has them."""
        return {stream: tuple(parts) for stream, parts in self._parts.items()}

    def expect(self, stream: tuple[int, int], parts: Sequence[Ordered]) -> None:
        """Parts of a stream were certified elsewhere; those that lack here are applied later."""
        self._parts[stream] = list(parts)

    def recover(self, stream: tuple[int, int], fragments: Sequence[Ordered]) -> StreamApplier:
        """Open the applier of a stream from its stored fragments."""
        applier = self._open[stream] = StreamApplier(stream, fragments[0].seqno)
        self._parts[stream] = list(fragments)
        for ordered in fragments:
            self.applied(ordered, applier)
        return applier

    def orphans(self, since: Mapping[int, int], position: int) -> list[StreamApplier]:
        """Streams that began up to ``position`` and whose origin is gone; prepared ones are kept.

        ``since`` says from which place of the order on a node is there; one that is not in it is
        not there.
        """
        return [
            applier
            for applier in self._open.values()
            if applier.first <= min(position, since.get(applier.stream[0], position))
            and not (applier.prepared or applier.closing)
        ]

    def open(self) -> tuple[StreamApplier, ...]:
        """All that are open, in the order in which they began."""
        return tuple(self._open.values())

    def __len__(self) -> int:
        """How many streams are open."""
        return len(self._open)


def known_parts(
    streams: Mapping[tuple[int, int], tuple[Ordered, ...]], position: int
) -> dict[tuple[int, int], tuple[Ordered, ...]]:
    """Of streams that are open, the parts up to a sequence number."""
    known = {
        stream: tuple(part for part in parts if part.seqno <= position)
        for stream, parts in streams.items()
    }
    return {stream: parts for stream, parts in known.items() if parts}
