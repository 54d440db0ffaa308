"""A replica of asynchronous replication: its IO thread, and the channel that applies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from simrep.modelling import Cluster, Station
from simrep.models.mysql.channel import Channel, RelayedTransaction
from simrep.models.mysql.server import BinlogTransaction, MysqlServer

from .options import AsynchronousCosts, AsynchronousOptions

__all__ = ["Replica"]

_US: Final = 1e-6


class Replica:
    """Receives the binary log of the source and applies it."""

    channel_kind: ClassVar[type[Channel]] = Channel

    def __init__(
        self,
        cluster: Cluster,
        server: MysqlServer,
        options: AsynchronousOptions,
        costs: AsynchronousCosts,
    ) -> None:
        mariadb = options.commit_pipeline == "mariadb"
        mode = options.slave_parallel_mode
        self.server = server
        kind = self._channel_kind(cluster, server, options, costs)
        speculates = mode if mariadb and mode != "conservative" else ""
        self.channel = kind(server, options, costs, speculates=speculates, checkpoints=True)
        self._receipt = server.host.routine(costs.receive_us * _US)
        self._byte_s = costs.byte_ns * 1e-9
        self._sleeper: Any = None  # the IO thread
        doing = "being written to the relay log"
        self._io_thread = server.parts.stage(self._write, "io thread", doing=doing, largest=1)
        self._listen(cluster)

    def _channel_kind(
        self,
        cluster: Cluster,
        server: MysqlServer,
        options: AsynchronousOptions,
        costs: AsynchronousCosts,
    ) -> type[Channel]:
        """What its channel is."""
        del cluster, server, options, costs
        return self.channel_kind

    def _listen(self, cluster: Cluster) -> None:
        cluster.network.on_receive(self.server.index, self.receive)

    def receive(self, change: Any) -> None:
        """The events of a transaction have arrived."""
        self._io_thread.join(change)

    def _write(self, changes: list[BinlogTransaction]) -> None:
        (change,) = changes
        seconds = self._receipt.cost(self._byte_s * change.size_bytes)
        self.server.host.go_on_as(self._sleeper, seconds, self._received, change)

    def _received(self, change: BinlogTransaction) -> None:
        self.channel.write(change, self._written)

    def _written(self, change: RelayedTransaction) -> None:
        """A transaction is in the relay log: the IO thread is free for the next."""
        self._io_thread.leave()
        self._sleeper = self.server.host.doze()

    def reach(self) -> None:
        """Bring what is counted up to now, where threads work ahead."""

    def stations(self) -> Iterable[Station]:
        """The threads of replication."""
        return [self._io_thread, *self.channel.stations()]

    def counters(self) -> dict[str, float]:
        """Of ``SHOW REPLICA STATUS``; the GTID sets as the number of transactions in them.

        Transactions that its source does not have are not counted.

        ``Seconds_Behind_Source`` is that of the end, from the oldest transaction which was
        received but is not committed; mean and maximum are taken at every commit.
        """
        self.reach()
        channel = self.channel
        lag = channel.lag
        retried = channel.retried
        more = {} if retried is None else {"Slave_retried_transactions": retried}
        return {
            **more,
            "Retrieved_Gtid_Set": channel.received,
            "Executed_Gtid_Set": channel.applied,
            "Relay_Log_Space": channel.relay_log_bytes,
            "Relay_log_fsyncs": channel.relay_syncs,
            "Seconds_Behind_Source": channel.behind_s,
            "Seconds_Behind_Source_avg": lag.mean,
            "Seconds_Behind_Source_max": lag.maximum if lag.count else 0.0,
        }
