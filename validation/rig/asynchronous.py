"""Asynchronous replication of MySQL and MariaDB: the control."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from simrep.rig.engine import Engine, Option
from simrep.rig.server import ServerProgram, option_arguments
from simrep.rig.source_replica import SourceAndReplicas, form

__all__ = ["Asynchronous", "AsynchronousCluster"]


class AsynchronousCluster(SourceAndReplicas):
    """A source that waits for nobody."""

    system = "asynchronous"


class Asynchronous:
    """Forms a source and its replicas."""

    def __init__(self, program: ServerProgram) -> None:
        self._program = program

    def form(
        self, engine: Engine, options: Mapping[str, Option], logs: Path
    ) -> AsynchronousCluster:
        """Start a server on every host."""
        return form(
            AsynchronousCluster,
            self._program,
            engine,
            options,
            lambda _source: option_arguments(options),
            logs,
        )
