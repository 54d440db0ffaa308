"""Options and costs of asynchronous replication."""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AliasChoices, Field, model_validator

from simrep.modelling import (
    Microseconds,
    Milliseconds,
    Nanoseconds,
    ProblemsError,
    ScenarioError,
    prior,
)
from simrep.models.mysql.options import ApplierCosts, ApplierOptions, CrashSafety, Pipeline

from .failover.presets import PRESETS, Asks, ManagerName, rules_of

__all__ = ["AsynchronousCosts", "AsynchronousOptions"]


def _defaults(rule: str, *tools: str) -> str:
    """What the tools, or those that it matters to, do if nothing is set, for a description."""
    values = {name: _told(getattr(PRESETS[name], rule)) for name in tools or PRESETS}
    if len(set(values.values())) == 1 and not tools:
        return f" (default: {values.popitem()[1]})"
    return f" (default: {', '.join(f'{name} {value}' for name, value in values.items())})"


def _told(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}" if value < inf else "as long as it takes"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


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
    slave_parallel_mode: Literal["conservative", "optimistic", "aggressive"] = Field(
        "optimistic",
        description="MariaDB: apply groups of the source in parallel, or everything, and roll back "
        "what turns out to conflict; aggressive: also what had to wait for a row at the source",
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
    gtids_in_engine: bool = Field(
        True,
        description="version trait: the storage engine keeps the GTIDs of what it commits (MySQL "
        "8.0.17 and later)",
    )
    read_only: bool = Field(
        False,
        description="a server that is started again takes no writes until it is promoted, as with "
        "read_only = ON in its file; those that are there from the beginning are what they are",
    )
    failover_manager: ManagerName = Field(
        "none", description="the program that makes a replica the source when that is gone"
    )
    manager_poll_s: float | None = Field(
        None, gt=0.0, le=3600.0, description=f"seconds from poll to poll{_defaults('poll_s')}"
    )
    manager_connect_timeout_s: float | None = Field(
        None,
        gt=0.0,
        le=3600.0,
        description="seconds after which a connection of the manager that is not accepted counts "
        f"as failed{_defaults('connect_timeout_s')}",
    )
    manager_read_timeout_s: float | None = Field(
        None,
        gt=0.0,
        le=3600.0,
        description="seconds after which a poll without an answer counts as failed"
        f"{_defaults('read_timeout_s')}",
    )
    manager_failures: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=f"polls of the source that fail in a row{_defaults('failures')}",
    )
    manager_asks_replicas: Asks | None = Field(
        None,
        description="what the manager asks its replicas before it acts: nobody; io-threads, until "
        "none of them runs; events or heartbeats, whether one has come in manager_verify_s"
        f"{_defaults('asks')}",
    )
    manager_recheck_s: float | None = Field(
        None,
        gt=0.0,
        le=3600.0,
        description="seconds from one look at the IO threads to the next"
        + _defaults("recheck_s", "orchestrator"),
    )
    manager_verify_s: float | None = Field(
        None,
        ge=0.0,
        le=3600.0,
        description="seconds in which replicas must have received nothing"
        + _defaults("verify_s", "mariadbmon", "replication-manager"),
    )
    manager_drain_timeout_s: float | None = Field(
        None,
        ge=0.0,
        le=86400.0,
        description="seconds that the new source has to apply what it has received; then the rest "
        f"is dropped{_defaults('drain_timeout_s')}",
    )
    manager_hooks_s: float | None = Field(
        None,
        ge=0.0,
        le=3600.0,
        description=f"seconds that hooks take before it acts{_defaults('hooks_s')}",
    )
    manager_rejoins: bool | None = Field(
        None,
        description="make an old source that is back a replica if it has no transactions of its "
        f"own{_defaults('rejoins')}",
    )
    manager_block_s: float | None = Field(
        None,
        ge=0.0,
        le=86400.0,
        description=f"seconds without a second failover{_defaults('block_s')}",
    )
    manager_beside: str | None = Field(
        None,
        description="the node on whose machine the manager is; by default that of the last one",
    )

    @model_validator(mode="after")
    def _managed(self) -> Self:
        """Refuse settings of a manager that is not there."""
        if self.failover_manager == "none":
            problems = [
                ScenarioError(
                    name,
                    f"there is no failover manager, given {getattr(self, name)!r}",
                    f"set failover_manager to {', '.join(map(repr, PRESETS))}; or leave it out",
                )
                for name in type(self).model_fields
                if name.startswith("manager_") and getattr(self, name) is not None
            ]
            if problems:
                raise ProblemsError(problems)
        elif not self.log_replica_updates:
            raise ProblemsError(
                [
                    ScenarioError(
                        "failover_manager",
                        f"{self.failover_manager!r} finds no replica that could be the source: "
                        "they do not write what they apply to a binary log",
                        "set log_replica_updates = true",
                    )
                ]
            )
        return self

    @property
    def unnoticed_s(self) -> float:
        """Nobody notices a server that is silent for no longer than this, in seconds."""
        rules = rules_of(self)
        return self.heartbeat_s if rules is None else min(self.heartbeat_s, rules.unnoticed_s)

    @property
    def cuts_doubts(self) -> bool:
        """Whether a source that starts again drops what its engine had only prepared."""
        return False

    @property
    def crash_safety(self) -> CrashSafety:
        """See ``ServerOptions.crash_safety``."""
        safety = super().crash_safety
        return "mysql-5.6" if safety == "mysql-8.0" and not self.gtids_in_engine else safety

    @property
    def tells_last_gtid(self) -> bool:
        """Whether a replica that connects tells its last GTID alone, which the source must have.

        References
        ----------
        sql/sql_repl.cc of MariaDB, check_slave_start_position.
        """
        return self.commit_pipeline == "mariadb"

    @property
    def heartbeat_s(self) -> float:
        """A source with nothing to send says so this often, in seconds: the default of MySQL."""
        return self.replica_net_timeout / 2.0


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
