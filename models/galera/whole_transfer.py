"""A state snapshot transfer: all data, copied by a script from a donor to a joiner.

With ``rsync`` the donor stands still for all of it: it applies and commits nothing (``FLUSH TABLES
WITH READ LOCK``). With the others it goes on; its queue still may grow without bound, as it sends
no flow control. What comes of a backup is the state at its end, what comes of a donor that stood
still the one at which it stopped: the joiner applies what follows.

While a piece of it is sent, the next is read, from the disk that pages and fsyncs of the donor need
as well, where that is told (``innodb_buffer_pool_size``, ``parallel_syncs``). Programs on both
machines use cores beside the servers (``sst_script``).

Simplified: the short lock at the end of a backup takes no time.
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final

from simrep.modelling import BulkStream, Copying, Fifo

from .certifier import NodeState
from .state_transfer import Donation, Donor, Recipient, TransferPlan, without_orphans
from .writeset import StateRequest

__all__ = ["WholeTransfer"]

_PIECE_BYTES: Final = 1 << 16
_MOST_PIECES: Final = 1 << 12  # of a whole state
_READ_BYTES: Final = 1 << 20  # no request of a kernel to a disk is much larger (max_sectors_kb)
_SLICE_S: Final = 3e-3  # of a core or of a disk, which others get in between


class WholeTransfer(Donation):
    """All data, copied by a script."""

    def __init__(
        self,
        donor: Donor,
        joiner: Recipient,
        request: StateRequest,
        state: NodeState,
        plan: TransferPlan,
        stream: BulkStream,
    ) -> None:
        super().__init__(donor, joiner, request, state, plan, stream)
        self._script = plan.script
        self._stood_still = self._ended = False
        self._contained = 0  # messages after the request that are in the state

    def begin(self) -> None:
        """Start the donor's script; the joiner's looks from now on."""
        self._began_s = self._donor.clock.now
        self._later(self._plan.bypass_s, self._started)

    def _started(self, _: None) -> None:
        if not self._goes_on:
            self._end()
        elif self._script.blocks:
            self._flush_s = self._donor.clock.now
            self._stood_still = True
            self._donor.halt(self._halted)
        else:
            self._later(self._script.pause_s, self._paused)

    def _halted(self, state: NodeState, contained: int) -> None:
        self._state, self._contained = without_orphans(state), contained
        self._donor.when_applied(state.position, self._flushed)

    def _flushed(self, _: None) -> None:
        """The script sees it when it looks the next time."""
        self._next_look(self._flush_s, self._script.flush_poll_s, self._copy)

    def _next_look(self, since_s: float, period_s: float, call: Any) -> None:
        clock = self._donor.clock
        looks = ceil((clock.now - since_s) / period_s - 1e-9) if period_s else 0
        clock.at(max(clock.now, since_s + looks * period_s), call, None)

    def _paused(self, _: None) -> None:
        self._donor.when_applied(self._state.position, self._copy)

    def _copy(self, _: None) -> None:
        script, donor = self._script, self._donor
        disk = donor.data_disk()
        piece_bytes = _READ_BYTES  # others get in between
        if disk is None:
            piece_bytes = max(_PIECE_BYTES, int(script.data_bytes / _MOST_PIECES))
        copying = Copying(
            donor.clock,
            donor.host,
            disk,
            script.costs,
            self._stream,
            lambda: self._goes_on,
            self._joiner.host,
            piece_bytes,
            self._end,
        )
        copying.copy(script.data_bytes, self._copied)

    def _copied(self) -> None:
        if self._script.blocks or not self._goes_on:
            self._end()
            self._next_look(self._began_s, self._script.done_poll_s, self._received)
        else:
            self._donor.state_now(self._backed_up)

    def _backed_up(self, state: NodeState, contained: int) -> None:
        """The backup is that of a state, which its donor has yet to commit."""
        self._state, self._contained = without_orphans(state), contained
        self._donor.when_applied(state.position, self._received)

    def _received(self, _: None) -> None:
        """The joiner has all."""
        self._end()
        unpack = self._script.unpack
        if unpack is None:
            self._prepare()
        else:
            copying = Copying(
                self._donor.clock, self._joiner.host, self._joiner.data_disk(), unpack, None,
                self._wanted,
            )  # fmt: skip
            copying.copy(self._script.data_bytes, self._prepare)

    def _wanted(self) -> bool:
        return self._joiner.wants(self._request)

    def _prepare(self) -> None:
        """Apply the redo log that was written while the data were copied."""
        writesets, size_bytes = self._joiner.written_since(self._contained)
        script = self._script
        self._work_s, self._reads_s = script.prepares_s(writesets, size_bytes)
        self._disk = self._joiner.data_disk() or Fifo(self._donor.clock)
        self._later(script.prepare_s, self._apply)

    def _apply(self, _: None) -> None:
        if not self._wanted():
            return
        if self._work_s > 0.0:
            seconds = min(_SLICE_S, self._work_s)
            self._work_s -= seconds
            self._joiner.host.run(seconds, self._apply, None)
        elif self._reads_s > 0.0:
            seconds = min(_SLICE_S, self._reads_s)
            self._reads_s -= seconds
            self._donor.clock.at(self._disk.book(seconds), self._apply, None)
        else:
            self._joiner.begin_from(self._state, self._plan.engine_s, self._contained)

    def _end(self) -> None:
        """The script has ended, well or not."""
        if not self._ended and self._donor.alive:
            if self._stood_still:
                self._donor.resume()
            self._donor.given()
        self._ended = True
