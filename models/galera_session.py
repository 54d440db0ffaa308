"""Session variables of Galera that a class of transactions may set."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["FragmentUnit", "GaleraSession"]

FragmentUnit = Literal["bytes", "rows", "statements"]


class GaleraSession(BaseModel):
    """What is not set has the value of the server's option."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fragment_unit: FragmentUnit | None = Field(
        None, alias="wsrep_trx_fragment_unit", description="bytes, rows or statements"
    )
    fragment_size: int | None = Field(
        None,
        alias="wsrep_trx_fragment_size",
        ge=0,
        le=2147483647,
        description="units after which a fragment is replicated; 0: no streaming replication",
    )
