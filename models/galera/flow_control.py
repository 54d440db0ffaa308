"""Galera's flow control: a node whose receive queue is too long stops the whole cluster."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from simrep.modelling import PausableMutex

from .options import GaleraOptions
from .writeset import Control, Kind

__all__ = ["FlowControl", "MemberFlowControl", "receive_queue_limits"]


def receive_queue_limits(options: GaleraOptions, size: int) -> tuple[int, int]:
    """Lengths of the receive queue that stop a cluster of so many nodes, and let it go on."""
    scale = 1.0 if options.fc_master_slave else sqrt(size)
    upper = int(options.fc_limit * scale + 0.5)
    return upper, int(upper * options.fc_factor + 0.5)


class FlowControl:
    """Stop and continue of one node (``gcs.cpp``: ``gcs_fc_stop_begin``, ``gcs_fc_cont_begin``).

    Both are ordinary ordered messages: they take a safe delivery to arrive, use sequence numbers
    and may wait for the send window, during which writesets go on arriving.
    """

    __slots__ = (
        "_caught_up", "_offset", "_options", "_send", "_send_monitor", "_size",
        "_stops", "_view",
        "lower", "received", "sent", "stopping", "upper",
    )  # fmt: skip

    def __init__(
        self,
        options: GaleraOptions,
        size: int,
        send_monitor: PausableMutex,
        send: Callable[[Control], object],
    ) -> None:
        self._options = options
        self._set_limits(size)
        self.sent = self.received = 0
        self.stopping = False  # this node's stop is not yet taken back
        self._stops = self._view = 0
        self._offset = 0  # what a node that has just joined may have in its queue beside
        self._caught_up: Callable[[], object] | None = None
        self._send_monitor = send_monitor  # what a stop pauses on every node
        self._send = send

    def _set_limits(self, size: int) -> None:
        self._size = size
        self.upper, self.lower = receive_queue_limits(self._options, size)

    def set_options(self, options: GaleraOptions) -> None:
        """``gcs.fc_limit`` and ``gcs.fc_factor`` are others: from the next writeset on."""
        self._options = options
        self._set_limits(self._size)

    def grown(self, queue: int) -> None:
        """The receive queue has grown to ``queue`` writesets."""
        if queue > self.upper + self._offset and self._stops <= 0 and not self.stopping:
            self._stop()

    def _stop(self) -> None:
        self.stopping = True
        self.sent += 1
        self._send(Control(Kind.STOP, seqno=self._view))

    def _continue(self) -> None:
        self.stopping = False
        self._send(Control(Kind.CONTINUE, seqno=self._view))

    def shrunk(self, queue: int) -> None:
        """The receive queue has shrunk to ``queue`` writesets."""
        decreased = self._offset > queue
        if decreased:
            self._offset = queue
        if self.stopping and (decreased or queue <= self.lower):
            self._continue()
        if queue <= self.lower and self._caught_up is not None:
            caught_up, self._caught_up = self._caught_up, None
            caught_up()

    def catch_up(self, queue: int, caught_up: Callable[[], object]) -> None:
        """A node has joined with so much in its queue, which it may have until ``caught_up()``."""
        self._offset = queue
        self._caught_up = caught_up
        if queue <= self.lower:
            self.shrunk(queue)

    @property
    def stopped(self) -> bool:
        """Whether any node has stopped the cluster, as far as this one has heard."""
        return self._stops > 0

    def reset(self, view: int, size: int) -> None:
        """The group has changed: whatever was stopped goes on, and the limit follows its size.

        Stops and continues that were sent in an earlier view count no more (``conf_id``).
        """
        self._view = view
        self._set_limits(size)
        self.stopping = False
        if self._stops > 0:
            self._send_monitor.resume()
        self._stops = 0

    def counts(self, message: Control) -> bool:
        """Whether a stop or continue is of the present view."""
        return message.seqno == self._view

    def deliver(self, message: Control) -> None:
        """A stop or continue of any node was delivered."""
        if not self.counts(message):
            return
        if message.kind == Kind.STOP:
            self.received += 1
            self._stops += 1
            if self._stops == 1:
                self._send_monitor.pause()
        else:
            self._stops -= 1
            if self._stops == 0:
                self._send_monitor.resume()


class MemberFlowControl(FlowControl):
    """Flow control of a node that may lack the state, or give it: then its queue just grows."""

    exempt = False  # whether it does
    told: Callable[[str], object] | None = None  # of stops and continues, if anybody looks

    def release(self) -> None:
        """It leaves flow control: a stop of its own is taken back."""
        self._offset, self._caught_up = 0, None
        if self.stopping:
            self._continue()

    def grown(self, queue: int) -> None:
        """See ``FlowControl.grown``."""
        if not self.exempt:
            super().grown(queue)

    def _stop(self) -> None:
        super()._stop()
        if self.told is not None:
            self.told("fc-stop")

    def _continue(self) -> None:
        super()._continue()
        if self.told is not None:
            self.told("fc-continue")
