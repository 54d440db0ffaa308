"""Options and costs of semi-synchronous replication."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field

from simrep.modelling import Microseconds, prior, roles
from simrep.models.asynchronous.options import AsynchronousCosts, AsynchronousOptions
from simrep.models.mysql.options import Pipeline

__all__ = ["SemisyncCosts", "SemisyncOptions"]


def _names(variable: str, *more: str) -> AliasChoices:
    """The name of a variable of the source, its name before MySQL 8.0.26, and others."""
    return AliasChoices(
        f"rpl_semi_sync_source_{variable}", f"rpl_semi_sync_master_{variable}", *more
    )


class SemisyncOptions(AsynchronousOptions):
    """Those of asynchronous replication, and what is waited for; defaults of MySQL 9."""

    only_with: ClassVar[dict[str, tuple[Any, tuple[Pipeline, ...]]]] = {
        **AsynchronousOptions.only_with,
        "wait_point": ("AFTER_COMMIT", ("mysql-5.7", "mariadb")),
        "wait_for_replica_count": (1, ("mysql-5.7",)),
        "init_rpl_role": ("MASTER", ("mariadb",)),
    }

    enabled: bool = Field(
        True,
        validation_alias=_names("enabled"),
        serialization_alias="rpl_semi_sync_source_enabled",
        description="off: asynchronous replication, the control",
    )
    wait_point: Annotated[Literal["AFTER_SYNC", "AFTER_COMMIT"], roles.WAIT_POINT] = Field(
        "AFTER_SYNC",
        validation_alias=_names("wait_point"),
        serialization_alias="rpl_semi_sync_source_wait_point",
        description="wait before the storage engine commits, or after it",
    )
    wait_for_replica_count: Annotated[int, roles.REPLICAS_WAITED_FOR] = Field(
        1,
        validation_alias=_names(
            "wait_for_replica_count", "rpl_semi_sync_master_wait_for_slave_count"
        ),
        serialization_alias="rpl_semi_sync_source_wait_for_replica_count",
        ge=1,
        le=65535,
        description="replicas that must have received a transaction",
    )
    timeout: int = Field(
        10_000,
        validation_alias=_names("timeout"),
        serialization_alias="rpl_semi_sync_source_timeout",
        ge=0,
        le=4294967295,
        description="milliseconds to wait before the source becomes asynchronous",
    )
    wait_no_replica: bool = Field(
        True,
        validation_alias=_names("wait_no_replica", "rpl_semi_sync_master_wait_no_slave"),
        serialization_alias="rpl_semi_sync_source_wait_no_replica",
        description="wait for the timeout even if too few replicas are connected",
    )

    init_rpl_role: Literal["MASTER", "SLAVE"] = Field(
        "MASTER",
        description="MariaDB: with SLAVE, a source that starts after a crash rolls back what its "
        "engine had only prepared, and cuts it off its binary log, to follow another one",
    )

    @property
    def cuts_doubts(self) -> bool:
        """See ``AsynchronousOptions.cuts_doubts``."""
        return self.init_rpl_role == "SLAVE"

    @property
    def stop_and_wait(self) -> bool:
        """Whether the dump threads read the acknowledgements themselves: before MySQL 5.7."""
        return self.commit_pipeline not in {"mysql-5.7", "mariadb"}


class SemisyncCosts(AsynchronousCosts):
    """Those of asynchronous replication, and what it costs to acknowledge."""

    reply_us: Annotated[Microseconds, prior.HAND_OVER] = Field(
        8.0, description="CPU of a replica to acknowledge a transaction"
    )
    acknowledge_us: Annotated[Microseconds, prior.HAND_OVER] = Field(
        8.0, description="CPU of the source to read an acknowledgement and act on it"
    )
