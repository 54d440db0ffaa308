"""Semi-synchronous replication of MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simrep.rig.engine import Engine, Health, Option
from simrep.rig.server import Server, ServerProgram, option_arguments
from simrep.rig.servers import await_condition
from simrep.rig.source_replica import SourceAndReplicas, form

__all__ = ["Semisync", "SemisyncCluster", "semisync_arguments", "semisync_problems"]

REPLICAS_S = 30.0


class SemisyncCluster(SourceAndReplicas):
    """A source that waits for acknowledgements of its replicas."""

    system = "semisync"

    def __init__(self, servers: Sequence[Server], program: ServerProgram) -> None:
        super().__init__(servers, program)
        self._prefix = f"rpl_semi_sync_{'master' if self.mariadb else 'source'}"

    def replication_health(self) -> Health:
        """Whether replicas run, and the source waits for all of them."""
        replication = super().replication_health()
        status = self.nodes[0].status("rpl_semi_sync%")
        problems = semisync_problems(status, self._prefix, len(self.nodes) - 1)
        facts = {
            **replication.facts,
            self.nodes[0].name: {
                key: status.get(f"{self._prefix}_{key}", "") for key in ("status", "clients")
            },
        }
        return Health(replication.problems + problems, facts)

    def point_replicas(self) -> None:
        """Connect the replicas and wait until the source counts all of them."""
        super().point_replicas()
        await_condition("semi-synchronous replication on", lambda: self.health().ok, REPLICAS_S)


class Semisync:
    """Forms a source and semi-synchronous replicas."""

    def __init__(self, program: ServerProgram) -> None:
        self._program = program

    def form(self, engine: Engine, options: Mapping[str, Option], logs: Path) -> SemisyncCluster:
        """Start a server on every host."""
        return form(
            SemisyncCluster,
            self._program,
            engine,
            options,
            lambda source: semisync_arguments(self._program.name, options, source=source),
            logs,
        )


def semisync_arguments(program: str, options: Mapping[str, Option], *, source: bool) -> list[str]:
    """Arguments of the source or of a replica; options of the other side are left out."""
    if program == "mariadb":
        own = [f"--rpl-semi-sync-{'master' if source else 'slave'}-enabled=ON"]
    else:
        side = "source" if source else "replica"
        own = [f"--plugin-load-add=semisync_{side}.so", f"--loose-rpl-semi-sync-{side}-enabled=ON"]
    of_source = ("rpl_semi_sync_source_", "rpl_semi_sync_master_")
    of_replica = ("rpl_semi_sync_replica_", "rpl_semi_sync_slave_")
    others = of_replica if source else of_source
    # MySQL's are variables of a plugin that is loaded at the same start.
    loose = (*of_source, *of_replica) if program == "mysql" else ()
    given = {
        f"loose-{key}" if key.startswith(loose) else key: value
        for key, value in options.items()
        if not key.startswith(others)
    }
    return [*own, *option_arguments(given)]


def semisync_problems(status: Mapping[str, str], prefix: str, replicas: int) -> tuple[str, ...]:
    """What is wrong with a source that says this."""
    problems = []
    for key, wanted in (("status", "ON"), ("clients", str(replicas))):
        found = status.get(f"{prefix}_{key}", "nothing")
        if found != wanted:
            problems.append(f"{prefix}_{key} is {found}, not {wanted}")
    return tuple(problems)
