"""Options and costs of asynchronous replication."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import AliasChoices, Field

from .mysql_options import Pipeline, ServerCosts, ServerOptions

__all__ = ["AsynchronousCosts", "AsynchronousOptions"]


class AsynchronousOptions(ServerOptions):
    """Variables of source and replicas, which are all set alike; defaults of MySQL 9."""

    only_with: ClassVar[dict[str, tuple[Any, tuple[Pipeline, ...]]]] = {
        **ServerOptions.only_with,
        "binlog_transaction_dependency_tracking": ("WRITESET", ("mysql-5.7",)),
        "binlog_transaction_dependency_history_size": (25_000, ("mysql-5.7",)),
        "parallel_type": ("LOGICAL_CLOCK", ("mysql-5.6", "mysql-5.7")),
        "parallel_workers": (0, ("mysql-5.6", "mysql-5.7", "mariadb")),
        "preserve_commit_order": (True, ("mysql-5.7",)),
        "slave_parallel_mode": ("optimistic", ("mariadb",)),
    }

    binlog_transaction_dependency_tracking: Literal["COMMIT_ORDER", "WRITESET"] = Field(
        "WRITESET", description="what the source says about which transactions are independent"
    )
    binlog_transaction_dependency_history_size: int = Field(
        25_000, ge=1, le=1_000_000, description="rows that WRITESET remembers"
    )
    parallel_workers: int = Field(
        4,
        validation_alias=AliasChoices(
            "replica_parallel_workers", "slave_parallel_workers", "slave_parallel_threads"
        ),
        serialization_alias="replica_parallel_workers",
        ge=0,
        le=16383,
        description="threads that apply beside the coordinator; 0: it applies itself",
    )
    parallel_type: Literal["DATABASE", "LOGICAL_CLOCK"] = Field(
        "LOGICAL_CLOCK",
        validation_alias=AliasChoices("replica_parallel_type", "slave_parallel_type"),
        serialization_alias="replica_parallel_type",
        description="DATABASE: one worker per schema, and a workload has only one",
    )
    preserve_commit_order: bool = Field(
        True,
        validation_alias=AliasChoices(
            "replica_preserve_commit_order", "slave_preserve_commit_order"
        ),
        serialization_alias="replica_preserve_commit_order",
        description="replicas commit in the order of the source (MariaDB always does)",
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
    sync_relay_log: int = Field(
        10_000,
        ge=0,
        le=4294967295,
        description="fsync of the relay log every so many events; 0: never",
    )


class AsynchronousCosts(ServerCosts):
    """Those of a server, and what replication costs."""

    send_us: float = Field(8.0, ge=0, description="CPU of the source per transaction and replica")
    receive_us: float = Field(
        15.0, ge=0, description="CPU to receive a transaction and write it to the relay log"
    )
    byte_ns: float = Field(2.0, ge=0, description="CPU per byte received")
    schedule_us: float = Field(
        5.0, ge=0, description="CPU of the coordinator to read and assign a transaction"
    )
    apply_us: float = Field(40.0, ge=0, description="CPU to apply a transaction, without its rows")
    apply_row_us: float = Field(5.0, ge=0, description="CPU to apply a row")
