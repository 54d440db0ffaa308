"""What a donor does for a node that lacks the state of the cluster: an incremental or whole state.

Incremental (IST): the writesets that the joiner has missed, from the donor's gcache, over a TCP
connection of its own, as fast as the network takes them. The donor serves on and is back in the
group at once; if the joiner's server has just started, when a script has told that it need do
nothing (bypass).

Whole (SST): a script copies the data. With rsync the donor stands still for all of it: it applies
and commits nothing (``FLUSH TABLES WITH READ LOCK``). With the others it goes on; its queue still
may grow without bound, as it sends no flow control.

While a piece of it is sent, the next is read, from the disk that pages and fsyncs of the donor need
as well, where that is told (``innodb_buffer_pool_size``, ``parallel_syncs``): as long as such a
disk takes for the fast copy, whatever the method. What comes of a backup is the state at its end,
what comes of a donor that stood still the one at the request: the joiner applies what follows.

Simplified: an incremental state is that at the place of the request in the order, where the
product's is that of the view; the short lock at the end of a backup takes no time, nor do its
scripts and what compresses its data take cores from the donor; the certification index is copied,
where the product certifies the last of the writesets again.

References
----------
codership/galera ``galera/src/replicator_str.cpp``, ``ist.cpp``; codership/documentation
``state-snapshot-transfer-methods`` (which methods block, and how fast they are).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol

from simrep.modelling import BulkStream, Clock, Fifo

from .certifier import NodeState
from .options import GaleraCosts, GaleraOptions
from .writeset import Ordered, StateRequest, is_prepare

__all__ = ["IncrementalTransfer", "TimedTransfer", "TransferPlan", "WholeTransfer"]

_PIECE_BYTES = 1 << 16
_MOST_PIECES = 1 << 12  # of a whole state
_READ_BYTES = 1 << 20  # no request of a kernel to a disk is much larger (max_sectors_kb)
_NOBODY = -1  # where a writeset comes from that its own origin gets from a donor

# How much longer a method takes than a plain copy: rsync is "1.5-2 times faster" than xtrabackup.
_SLOWNESS = {"rsync": 1.0, "clone": 1.0, "mariabackup": 1.75, "xtrabackup-v2": 1.75}
_BLOCKS = frozenset({"rsync"})


@dataclass(frozen=True, slots=True)
class TransferPlan:
    """How states are transferred: times in seconds."""

    data_bytes: float
    byte_s: float  # of a whole state, to read, send and write it
    blocks: bool  # whether the donor stands still
    recover_s: float  # a killed server finds out its position
    start_s: float  # its process starts
    script_s: float  # the joiner's script gets ready
    bypass_s: float  # the donor's script finds out that nothing is to be copied
    engine_s: float  # the joiner's script ends, and its storage engine starts
    prepare_s: float  # it applies the log that came with a copy

    @staticmethod
    def of(options: GaleraOptions, costs: GaleraCosts, data_bytes: float) -> TransferPlan:
        """That of a server."""
        method = options.sst_method
        return TransferPlan(
            data_bytes=data_bytes,
            byte_s=costs.sst_byte_ns * 1e-9 * _SLOWNESS[method],
            blocks=method in _BLOCKS,
            recover_s=costs.recover_ms * 1e-3,
            start_s=costs.start_ms * 1e-3,
            script_s=costs.sst_script_ms * 1e-3,
            bypass_s=costs.sst_bypass_ms * 1e-3,
            engine_s=costs.engine_start_ms * 1e-3,
            prepare_s=costs.sst_prepare_ms * 1e-3 if method not in _BLOCKS else 0.0,
        )


class Recipient(Protocol):
    """A node that gets the state."""

    index: int

    def wants(self, request: StateRequest) -> bool:
        """Whether it still waits for what it has asked for."""
        ...

    def abort(self, why: str) -> object:
        """It ends itself."""
        ...

    def expect(self, state: NodeState) -> object:
        """An incremental transfer begins: the state that it leads to, without the data."""
        ...

    def take(self, missed: Sequence[Ordered]) -> object:
        """Some of the writesets that it has missed have arrived."""
        ...

    def start_engine(self) -> object:
        """The donor's script tells that there is nothing to copy."""
        ...

    def begin_from(self, state: NodeState, seconds: float, contained: int = 0) -> object:
        """A whole state has arrived, from which its server starts in so many seconds.

        It contains as many of the messages that were ordered after the request.
        """
        ...


class Donor(Protocol):
    """A node that gives it."""

    index: int
    alive: bool
    clock: Clock
    byte_s: float
    data_disk: Callable[[], Fifo | None]  # that of its data, if anything else uses it meanwhile

    def when_applied(self, seqno: int, call: Callable[[Any], object]) -> object:
        """``call`` when it has committed everything up to there."""
        ...

    def run(self, seconds: float, call: Callable[[Any], object], argument: Any) -> object:
        """Use a core of its machine."""
        ...

    def state_now(self, call: Callable[[NodeState, int], object]) -> object:
        """``call`` with its state, and how many messages after the request are in it."""
        ...

    def stand_still(self) -> object:
        """Certify nothing from now on, hence apply and commit nothing."""
        ...

    def go_on(self) -> object:
        """Go on with what has waited."""
        ...

    def given(self) -> object:
        """It is no donor any more."""
        ...


class Donation:
    """A transfer, from where the donor has certified all that is ordered before the request.

    Parameters
    ----------
    donor, joiner
    request : StateRequest
    state : NodeState
    plan : TransferPlan
    stream : BulkStream
        From the donor to the joiner.
    """

    def __init__(
        self,
        donor: Donor,
        joiner: Recipient,
        request: StateRequest,
        state: NodeState,
        plan: TransferPlan,
        stream: BulkStream,
    ) -> None:
        self._donor = donor
        self._joiner = joiner
        self._request = request
        self._state = _without_orphans(state)
        self._plan = plan
        self._stream = stream

    def _later(self, seconds: float, call: Callable[[Any], object], argument: Any = None) -> None:
        self._donor.clock.at(self._donor.clock.now + seconds, call, argument)

    @property
    def _goes_on(self) -> bool:
        return self._donor.alive and self._joiner.wants(self._request)


class IncrementalTransfer(Donation):
    """The writesets that the joiner has missed."""

    def begin(self, missed: Sequence[Ordered] | None) -> None:
        """Be back in the group at once, or after the script; without ``missed`` it fails."""
        self._fails = missed is None
        self._pieces = _pieces(missed or (), self._joiner.index)
        self._later(self._plan.bypass_s if self._request.anew else 0.0, self._bypassed)
        self._later(self._stream.round_trip_s, self._connected)  # by then all are certified

    def _bypassed(self, _: None) -> None:
        if self._donor.alive:
            self._donor.given()
        if self._goes_on and self._request.anew:
            self._stream.send(0, self._told, None)

    def _told(self, _: None) -> None:
        if self._joiner.wants(self._request):
            self._joiner.start_engine()

    def _connected(self, _: None) -> None:
        if not self._goes_on:
            return
        if self._fails:
            self._stream.send(0, self._failed, None)
            return
        self._stream.send(0, self._expected, None)
        self._next(None)

    def _failed(self, _: None) -> None:
        if self._joiner.wants(self._request):
            self._joiner.abort("its donor has not any more all that it has missed")

    def _expected(self, _: None) -> None:
        if self._joiner.wants(self._request):
            self._joiner.expect(self._state)

    def _next(self, _: None) -> None:
        piece = next(self._pieces, None)
        if piece is not None and self._goes_on:
            self._donor.run(self._donor.byte_s * piece[0], self._send, piece)

    def _send(self, piece: tuple[int, list[Ordered]]) -> None:
        left_s = self._stream.send(piece[0], self._arrived, piece[1])
        if left_s < inf:
            self._donor.clock.at(left_s, self._next, None)

    def _arrived(self, missed: list[Ordered]) -> None:
        if self._joiner.wants(self._request):
            self._joiner.take(missed)


class WholeTransfer(Donation):
    """All data, copied by a script."""

    def begin(self) -> None:
        """Wait until everything up to the state is committed."""
        if self._plan.blocks:
            self._donor.stand_still()
        self._donor.when_applied(self._state.position, self._copy)

    def _copy(self, _: None) -> None:
        size_bytes = self._plan.data_bytes
        self._piece = max(_PIECE_BYTES, int(size_bytes / _MOST_PIECES))
        if self._donor.data_disk() is not None:  # others get in between
            self._piece = _READ_BYTES
        self._unread = self._underway = max(1, int(size_bytes / self._piece))
        self._read(self._donor.clock.now)

    def _read(self, left_s: float) -> None:
        """Read the next piece; it is sent when the one before has left."""
        if not self._goes_on:
            self._end()
        elif self._unread:
            self._unread -= 1
            disk, clock = self._donor.data_disk(), self._donor.clock
            seconds = self._plan.byte_s * self._piece
            read_s = clock.now + seconds if disk is None else disk.book(seconds)
            clock.at(max(read_s, left_s), self._send, None)

    def _send(self, _: None) -> None:
        left_s = self._stream.send(self._piece, self._arrived, None)
        if left_s < inf:
            self._read(left_s)

    def _arrived(self, _: None) -> None:
        self._underway -= 1
        if self._underway:
            return
        if self._plan.blocks or not self._goes_on:
            self._hand_over(self._state, 0)
        else:
            self._donor.state_now(self._backed_up)

    def _backed_up(self, state: NodeState, contained: int) -> None:
        """The backup is that of a state, which its donor has yet to commit."""

        def committed(_: None) -> None:
            self._hand_over(_without_orphans(state), contained)

        self._donor.when_applied(state.position, committed)

    def _hand_over(self, state: NodeState, contained: int) -> None:
        self._end()
        if self._joiner.wants(self._request):
            seconds = self._plan.prepare_s + self._plan.engine_s
            self._joiner.begin_from(state, seconds, contained)

    def _end(self) -> None:
        """The script has ended, well or not."""
        if self._donor.alive:
            if self._plan.blocks:
                self._donor.go_on()
            self._donor.given()


class TimedTransfer(Donation):
    """The state after a given time, whatever takes it."""

    def begin(self, transfer_s: float) -> None:
        """Wait until everything up to the state is committed."""

        def later(_: None) -> None:
            self._later(transfer_s, self._arrived)

        self._donor.when_applied(self._state.position, later)

    def _arrived(self, _: None) -> None:
        if self._donor.alive:
            self._donor.given()
        if self._goes_on:
            self._joiner.begin_from(self._state, 0.0)


def _without_orphans(state: NodeState) -> NodeState:
    """Streams that are open, and whose origin is still there, or that are prepared."""
    streams = {
        stream: parts
        for stream, parts in state.streams.items()
        if parts[0].seqno > state.since.get(stream[0], state.position)
        or any(is_prepare(part.writeset) for part in parts)
    }
    return replace(state, streams=streams)


def _again(ordered: Ordered, joiner: int) -> Ordered:
    """A writeset as a donor hands it on, with what it depends on."""
    writeset = ordered.writeset
    if writeset.origin == joiner:  # there it is like that of any other node
        writeset = copy(writeset)
        writeset.origin = _NOBODY
        writeset.awaited = False
    again = Ordered(writeset, ordered.seqno)
    again.depends = ordered.depends
    return again


def _pieces(missed: Sequence[Ordered], joiner: int) -> Iterator[tuple[int, list[Ordered]]]:
    """What is sent together: its size, and the writesets."""
    piece: list[Ordered] = []
    size_bytes = 0
    for ordered in missed:
        piece.append(_again(ordered, joiner))
        size_bytes += ordered.writeset.size_bytes
        if size_bytes >= _PIECE_BYTES:
            yield size_bytes, piece
            piece, size_bytes = [], 0
    if piece:
        yield size_bytes, piece
