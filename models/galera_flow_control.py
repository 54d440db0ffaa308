"""Galera's flow control: a node whose receive queue is too long stops the whole cluster."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from simrep.kernel.mutex import PausableMutex

from .galera_options import GaleraOptions
from .galera_writeset import Control, Kind

__all__ = ["FlowControl"]


class FlowControl:
    """Stop and continue of one node (``gcs.cpp``: ``gcs_fc_stop_begin``, ``gcs_fc_cont_begin``).

    Both are ordinary ordered messages: they take a safe delivery to arrive, use sequence numbers
    and may wait for the send window, during which writesets go on arriving.

    Parameters
    ----------
    options : GaleraOptions
    size : int
        Number of nodes.
    send_monitor : PausableMutex
        What a stop pauses on every node.
    send : callable
        Sends a control message to the group.
    """

    __slots__ = (
        "_options", "_own", "_send", "_send_monitor", "_stops", "lower", "received", "sent",
        "upper",
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
        self.sent = 0
        self.received = 0
        self._own = False  # this node's stop is not yet taken back
        self._stops = 0
        self._send_monitor = send_monitor
        self._send = send

    def _set_limits(self, size: int) -> None:
        options = self._options
        scale = 1.0 if options.fc_master_slave else sqrt(size)
        self.upper = int(options.fc_limit * scale + 0.5)
        self.lower = int(self.upper * options.fc_factor + 0.5)

    def grown(self, queue: int) -> None:
        """The receive queue has grown to ``queue`` writesets."""
        if queue > self.upper and self._stops <= 0 and not self._own:
            self._own = True
            self.sent += 1
            self._send(Control(Kind.STOP))

    def shrunk(self, queue: int) -> None:
        """The receive queue has shrunk to ``queue`` writesets."""
        if self._own and queue <= self.lower:
            self._own = False
            self._send(Control(Kind.CONTINUE))

    def reset(self, size: int) -> None:
        """The group has changed: whatever was stopped goes on, and the limit follows its size."""
        self._set_limits(size)
        self._own = False
        if self._stops > 0:
            self._send_monitor.resume()
        self._stops = 0

    def deliver(self, kind: int) -> None:
        """A stop or continue of any node was delivered."""
        if kind == Kind.STOP:
            self.received += 1
            self._stops += 1
            if self._stops == 1:
                self._send_monitor.pause()
        else:
            self._stops -= 1
            if self._stops == 0:
                self._send_monitor.resume()
