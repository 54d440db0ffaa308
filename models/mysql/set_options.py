"""What all servers of the family have in common where operators set options."""

from __future__ import annotations

from simrep.modelling import Operation, ScenarioError

__all__ = ["APPLIER_RESTARTS", "away"]

APPLIER_RESTARTS = "the number of appliers counts from their next start (STOP REPLICA SQL_THREAD)"


def away(operation: Operation, name: str) -> ScenarioError:
    """Nobody can set anything on a server that is not there."""
    return ScenarioError(operation.told.path, f"{name!r} is away at {operation.at_s:g} s")
