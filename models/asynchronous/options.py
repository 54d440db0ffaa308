"""Options and costs of asynchronous replication."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field

from simrep.modelling import Microseconds, Milliseconds, Nanoseconds, prior
from simrep.models.mysql.options import ApplierCosts, ApplierOptions, Pipeline

__all__ = ["AsynchronousCosts", "AsynchronousOptions"]


class AsynchronousOptions(ApplierOptions):
    """Variables of source and replicas, which are all set alike; defaults of MySQL 9."""

    only_with: ClassVar[dict[str, tuple[Any, tuple[Pipeline, ...]]]] = {
        **ApplierOptions.only_with,
        "binlog_transaction_dependency_tracking": ("WRITESET", ("mysql-5.7",)),
        "binlog_transaction_dependency_history_size": (25_000, ("mysql-5.7",)),
        "slave_parallel_mode": ("optimistic", ("mariadb",)),
    }

    binlog_transaction_dependency_tracking: Literal["COMMIT_ORDER", "WRITESET"] = Field(
        "WRITESET", description="what the source says about which transactions are independent"
    )
    binlog_transaction_dependency_history_size: int = Field(
        25_000, ge=1, le=1_000_000, description="rows that WRITESET remembers"
    )
    slave_parallel_mode: Literal["conservative", "optimistic"] = Field(
        "optimistic",
        description="MariaDB: apply groups of the source in parallel, or everything that can be",
    )
    log_replica_updates: bool = Field(
        True,
        validation_alias=AliasChoices("log_replica_updates", "log_slave_updates"),
        serialization_alias="log_replica_updates",
        description="replicas write what they apply to a binary log of their own",
    )
    replica_net_timeout: int = Field(
        60,
        validation_alias=AliasChoices("replica_net_timeout", "slave_net_timeout"),
        serialization_alias="replica_net_timeout",
        ge=1,
        le=31_536_000,
        description="seconds of silence after which a replica gives up its connection",
    )
    source_connect_retry: int = Field(
        60,
        validation_alias=AliasChoices("source_connect_retry", "master_connect_retry"),
        serialization_alias="source_connect_retry",
        ge=1,
        le=4294967295,
        description="seconds between two attempts of a replica to connect",
    )
    source_retry_count: int = Field(
        10,
        validation_alias=AliasChoices("source_retry_count", "master_retry_count"),
        serialization_alias="source_retry_count",
        ge=0,
        le=4294967295,
        description="attempts in a row after which a replica stops to try; 0: never",
    )
    relay_log_recovery: bool = Field(
        False,
        description="a replica that starts gets from the source again what it has not applied",
    )

    @property
    def heartbeat_s(self) -> float:
        """A source with nothing to send says so this often, in seconds: the default of MySQL."""
        return self.replica_net_timeout / 2.0

    @property
    def durable(self) -> bool:
        """Whether commits survive a loss of power."""
        return self.sync_binlog == 1 and self.innodb_flush_log_at_trx_commit == 1


class AsynchronousCosts(ApplierCosts):
    """Those of a server that applies, and what it costs to send and receive."""

    send_us: Annotated[Microseconds, prior.SEND] = Field(
        8.0, description="CPU of the source per transaction and replica"
    )
    receive_us: Annotated[Microseconds, prior.RECEIVE] = Field(
        15.0, description="CPU to receive a transaction and write it to the relay log"
    )
    byte_ns: Annotated[Nanoseconds, prior.BYTE] = Field(2.0, description="CPU per byte received")
    start_ms: Annotated[Milliseconds, prior.BOOT] = Field(
        1800.0, description="start of a server until it answers"
    )
