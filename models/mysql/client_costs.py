"""Costs of connections and statements, which every model of a server has."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from simrep.scenario import prior
from simrep.workload.session import SessionCosts

__all__ = ["ClientCosts"]

_US = 1e-6


class ClientCosts(BaseModel):
    """What clients cost a server up to the commit; the same defaults for all products."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connect_us: Annotated[float, prior.CONNECT] = Field(
        800.0, ge=0, description="CPU to open a connection"
    )
    statement_us: Annotated[float, prior.STATEMENT] = Field(
        90.0, ge=0, description="CPU per statement, client included"
    )
    client_us: Annotated[float, prior.CLIENT] = Field(
        0.0, ge=0, description="CPU of the client per statement"
    )
    row_us: Annotated[float, prior.ROW] = Field(
        5.0, ge=0, description="CPU per row written at the origin"
    )
    row_read_us: Annotated[float, prior.ROW_READ] = Field(5.0, ge=0, description="CPU per row read")
    rollback_us: Annotated[float, prior.ROLLBACK] = Field(
        20.0, ge=0, description="CPU to roll back, without its rows"
    )

    def of_sessions(self) -> SessionCosts:
        """The same in seconds."""
        return SessionCosts(
            connect_s=self.connect_us * _US,
            statement_s=self.statement_us * _US,
            row_s=self.row_us * _US,
            row_read_s=self.row_read_us * _US,
            client_s=self.client_us * _US,
            rollback_s=self.rollback_us * _US,
        )
