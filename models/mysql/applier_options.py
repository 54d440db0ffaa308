"""Options and costs of a replica's relay log and appliers, which several models share."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field

from simrep.contract import roles
from simrep.scenario import prior

from .options import Pipeline, ServerCosts, ServerOptions

__all__ = ["ApplierCosts", "ApplierOptions"]


class ApplierOptions(ServerOptions):
    """Those of a server, and how it applies what others have committed; defaults of MySQL 9."""

    only_with: ClassVar[dict[str, tuple[Any, tuple[Pipeline, ...]]]] = {
        **ServerOptions.only_with,
        "parallel_type": ("LOGICAL_CLOCK", ("mysql-5.6", "mysql-5.7")),
        "parallel_workers": (0, ("mysql-5.6", "mysql-5.7", "mariadb")),
        "preserve_commit_order": (True, ("mysql-5.7",)),
    }

    parallel_workers: Annotated[int, roles.APPLIERS] = Field(
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
    sync_relay_log: int = Field(
        10_000,
        ge=0,
        le=4294967295,
        description="fsync of the relay log every so many events; 0: never",
    )

    @property
    def workers(self) -> int:
        """Applier threads that can be at work: a workload has one schema."""
        if self.parallel_workers and self.parallel_type == "DATABASE":
            return 1
        return self.parallel_workers


class ApplierCosts(ServerCosts):
    """Those of a server, and what it costs to apply."""

    schedule_us: Annotated[float, prior.HAND_OVER] = Field(
        5.0, ge=0, description="CPU of the coordinator to read and assign a transaction"
    )
    apply_us: Annotated[float, prior.APPLY] = Field(
        40.0, ge=0, description="CPU to apply a transaction, without its rows"
    )
    apply_row_us: Annotated[float, prior.ROW] = Field(5.0, ge=0, description="CPU to apply a row")
