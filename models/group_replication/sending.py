"""How a member hands its messages to the total order: compressed and cut, if they are large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from simrep.modelling import Host, Lap, OpenTransaction, TotalOrder

from .options import GroupReplicationCosts, GroupReplicationOptions
from .transaction_message import Fragment, Kind, TransactionMessage

__all__ = ["Outgoing", "Sending"]


class Outgoing(TotalOrder, Protocol):
    """A total order that tells what has left its input queue."""

    def on_send(self, call: Callable[[list[Any]], object]) -> None:
        """Tell ``call(payloads)`` what is proposed now."""


class Sending:
    """The way of a message out of its member.

    Fragments enter the input queue of XCom together, and a proposer takes up to 1 GiB of what
    waits there as one batch: a large transaction goes out as one value in one slot, cut or not.

    References
    ----------
    libmysqlgcs of plugin/group_replication: gcs_message_stage_lz4.cc, gcs_message_stage_split.cc;
    xcom_base.cc, proposer_task (MySQL 8.0).
    """

    def __init__(
        self,
        host: Host,
        xcom: Outgoing,
        options: GroupReplicationOptions,
        costs: GroupReplicationCosts,
    ) -> None:
        self._host = host
        self._xcom = xcom
        xcom.on_send(self._left)
        self._threshold = options.compression_threshold
        self._largest = options.max_message_size
        self._byte_s = costs.compress_byte_ns * 1e-9
        self._ratio = costs.compression_ratio

    def send(self, message: Any) -> None:
        """Compress and cut what is large, and put it into the total order."""
        size = message.size_bytes
        if 0 < self._threshold <= size:
            compressed = (message, int(size / self._ratio))
            self._host.run(self._byte_s * size, self._cut, compressed)
        elif 0 < self._largest < size:
            self._cut((message, size))
        else:
            if isinstance(message, TransactionMessage):
                owner: OpenTransaction = message.entry.owner
                owner.mark(Lap.EXECUTE)
            self._xcom.send(message, size)

    def _cut(self, work: tuple[Any, int]) -> None:
        message, size = work
        if message.kind == Kind.TRANSACTION:
            message.entry.owner.mark(Lap.EXECUTE)
        largest = self._largest
        while 0 < largest < size:
            self._xcom.send(Fragment(), largest)
            size -= largest
        self._xcom.send(message, size)

    @staticmethod
    def _left(messages: list[Any]) -> None:
        """They are proposed now."""
        for message in messages:
            if isinstance(message, TransactionMessage):
                owner: OpenTransaction = message.entry.owner
                owner.mark(Lap.WINDOW)
