"""What clients do when a server does not answer, or answers with an error."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

__all__ = ["CONNECTION_ERRORS", "Policy"]

CONNECTION_ERRORS = frozenset({"1053", "1927", "2002", "2003", "2006", "2013", "3032"})
"""Numbers of the errors after which a client of MySQL or MariaDB has no connection any more.

A server that shuts down, a connection that is killed, no connection to a socket or an address, a
server that has gone away, a connection that is lost during a query, the offline mode.
"""
_MOST_TIMES = 64  # a pause that has grown so often is longer than any run


@dataclass(frozen=True, slots=True)
class Policy:
    """What clients do when a server does not answer, or answers with an error.

    Attributes
    ----------
    on_error : {"stay", "next", "stop"}
        After an error a client stays with its node, or connects to the next one of ``nodes``, or
        ends for good.
    nodes : tuple of int
        In this order, from the last to the first again; empty: all nodes by position.
    read_timeout_s : float
        After so long without the end of a transaction its client closes the connection; infinite:
        it waits for ever.
    connect_timeout_s : float
        After so long without a connection it gives up the attempt.
    retry_pause_s : float
        Its pause after an error that tells that its node serves nobody.
    retry_backoff : float
        How many times as long every further pause is, until something is done.
    longest_pause_s : float
        But not longer than that.
    direct : bool
        It goes to its node itself, although there is a proxy.
    beside_node : bool
        It sits beside its node, and reaches the others by the network of that.
    own_writes_s : float or None
        Before a read on another node it waits until that has its last write, at most so long;
        infinite: until it has. None: it does not wait.
    """

    on_error: Literal["stay", "next", "stop"] = "stay"
    nodes: tuple[int, ...] = ()
    read_timeout_s: float = inf
    connect_timeout_s: float = 10.0
    retry_pause_s: float = 1.0
    retry_backoff: float = 1.0
    longest_pause_s: float = inf
    direct: bool = False
    beside_node: bool = False
    own_writes_s: float | None = None

    def pause_s(self, pauses: int) -> float:
        """How long it pauses, when it is so many times in a row."""
        grown_s = self.retry_pause_s * self.retry_backoff ** min(pauses - 1, _MOST_TIMES)
        return max(self.retry_pause_s, min(grown_s, self.longest_pause_s))

    def order(self, nodes: int) -> tuple[int, ...]:
        """Where clients of so many nodes may turn to, in a ring; empty for those who stay."""
        if self.on_error != "next":
            return ()
        return self.nodes or tuple(range(nodes))

    def after(self, node: int, nodes: int) -> int:
        """The node to turn to after an error of ``node``, of so many."""
        order = self.order(nodes)
        if not order:
            return node
        return order[(order.index(node) + 1) % len(order)] if node in order else order[0]
