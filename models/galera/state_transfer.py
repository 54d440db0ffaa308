"""What a donor does for a node that lacks the state of the cluster: an incremental or whole state.

Incremental (IST): the writesets that the joiner has missed, from the donor's gcache, over a TCP
connection of its own, as fast as the network takes them. The donor serves on and is back in the
group at once; if the joiner's server has just started, when a script has told that it need do
nothing (bypass). Whole (SST): a script copies the data (``whole_transfer``).

Simplified: an incremental state is that at the place of the request in the order, where the
product's is that of the view; the certification index is copied in no time, where the product sends
the last of the writesets and certifies them again. Galera 4 does so after a whole state as well,
and logs it as an IST.

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

from simrep.modelling import BulkStream, Clock, Fifo, Host

from .certifier import NodeState
from .options import GaleraCosts, GaleraOptions
from .sst_script import SstScript
from .writeset import Ordered, StateRequest, is_prepare

__all__ = [
    "Donation", "Donor", "IncrementalTransfer", "Recipient", "TimedTransfer", "TransferPlan",
    "without_orphans",
]  # fmt: skip

_PIECE_BYTES = 1 << 16
_NOBODY = -1  # where a writeset comes from that its own origin gets from a donor


@dataclass(frozen=True, slots=True)
class TransferPlan:
    """How states are transferred: times in seconds."""

    script: SstScript
    recover_s: float  # a killed server finds out its position
    start_s: float  # its process starts
    script_s: float  # the joiner's script gets ready
    bypass_s: float  # the donor's script finds out what there is to copy
    engine_s: float  # the joiner's script ends, and its storage engine starts

    @staticmethod
    def of(
        options: GaleraOptions, costs: GaleraCosts, data_bytes: float, cores: int
    ) -> TransferPlan:
        """That of a server on a machine with so many cores."""
        return TransferPlan(
            script=SstScript.of(options, costs, data_bytes, cores),
            recover_s=costs.recover_ms * 1e-3,
            start_s=costs.start_ms * 1e-3,
            script_s=costs.sst_script_ms * 1e-3,
            bypass_s=costs.sst_bypass_ms * 1e-3,
            engine_s=costs.engine_start_ms * 1e-3,
        )


class Recipient(Protocol):
    """A node that gets the state."""

    index: int
    host: Host
    data_disk: Callable[[], Fifo | None]

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

    def written_since(self, contained: int) -> tuple[int, int]:
        """How many writesets are among so many messages after the request, and their bytes."""
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
    host: Host
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

    def halt(self, call: Callable[[NodeState, int], object]) -> object:
        """Certify nothing that is ordered from now on, and ``state_now``."""
        ...

    def resume(self) -> object:
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
        self._state = without_orphans(state)
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


def without_orphans(state: NodeState) -> NodeState:
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
