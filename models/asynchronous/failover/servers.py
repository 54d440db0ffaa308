"""What a failover manager can say to servers, and what they tell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

__all__ = ["ReplicaReport", "Servers"]

Call = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaReport:
    """What a server says of its replication (SHOW REPLICA STATUS), in the order of GTIDs.

    Attributes
    ----------
    source : int or None
        The node that it replicates from; None: it is no replica.
    io_running : bool
        Its IO thread is connected to its source, as far as it knows.
    received, executed : int
        Positions up to which it has transactions in its relay log, and has committed them.
    read_only : bool
    heartbeats : int
        How many it has received (Replica_received_heartbeats).
    """

    source: int | None
    io_running: bool
    received: int
    executed: int
    read_only: bool
    heartbeats: int = 0


class Servers(Protocol):
    """The servers of a replication. Verbs are SQL statements, said to a server that is there.

    ``call()`` is called when the server has done what it was told.
    """

    def alive(self, node: int) -> bool:
        """Whether its process is there and accepts connections."""

    def silent(self, node: int) -> bool:
        """Whether its machine is gone, too."""

    def report(self, node: int) -> ReplicaReport:
        """SHOW REPLICA STATUS, and read_only."""

    def extras(self, node: int, source: int) -> int:
        """How many transactions it has that another one lacks (GTID_SUBTRACT)."""

    def promote(self, node: int, call: Call) -> None:
        """STOP REPLICA, RESET REPLICA ALL, read_only = OFF."""

    def repoint(self, node: int, source: int, call: Call) -> None:
        """CHANGE REPLICATION SOURCE TO with GTIDs, START REPLICA."""

    def set_read_only(self, node: int, on: bool, call: Call) -> None:
        """SET GLOBAL read_only."""
