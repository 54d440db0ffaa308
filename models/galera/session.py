"""Session variables of Galera that a class of transactions may set."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from simrep.contract.model import SessionTable
from simrep.errors import ScenarioError

__all__ = ["FragmentUnit", "GaleraSession", "check_streaming"]

FragmentUnit = Literal["bytes", "rows", "statements"]


def check_streaming(options: Any, size: int) -> None:
    """Streaming replication came with Galera 4.

    Raises
    ------
    ScenarioError
        If fragments are asked for, and the version has none.
    """
    if size and not options.streaming_replication:
        raise ScenarioError(
            "wsrep_trx_fragment_size",
            f"this version has no streaming replication, given {size}",
            "Galera 4 has it: MariaDB 10.4 and later, PXC 8.0",
        )


class GaleraSession(SessionTable):
    """What is not set has the value of the server's option."""

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

    def check(self, options: Any) -> None:
        """See ``SessionTable.check``."""
        check_streaming(options, self.fragment_size or 0)
