"""What all servers of the family have in common where operators set options."""

from __future__ import annotations

from simrep.modelling import Operation, ScenarioError

from .ending_server import EndingServer

__all__ = ["APPLIER_RESTARTS", "DURABILITY", "away", "set_durability"]

DURABILITY = frozenset({"innodb_flush_log_at_trx_commit", "sync_binlog"})
"""Options of every server that can be set while it runs."""

APPLIER_RESTARTS = "the number of appliers counts from their next start (STOP REPLICA SQL_THREAD)"


def away(operation: Operation, name: str) -> ScenarioError:
    """Nobody can set anything on a server that is not there."""
    return ScenarioError(operation.told.path, f"{name!r} is away at {operation.at_s:g} s")


def set_durability(operation: Operation, server: EndingServer) -> None:
    """Set those of ``DURABILITY`` on a running server.

    Raises
    ------
    ScenarioError
        If the server is away, or has no binary log to be synced.
    """
    if not server.alive:
        raise away(operation, server.name)
    given = getattr(operation.told, "options", {})
    if "sync_binlog" in given and not server.log_bin:
        raise ScenarioError(
            f"{operation.told.path}.options.sync_binlog", f"{server.name!r} has no binary log"
        )
    server.set_durability(operation.options)
