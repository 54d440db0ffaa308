"""One source and its replicas, of MySQL or MariaDB: what both kinds of replication share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from simrep.rig.engine import Engine, Health, Option
from simrep.rig.server import Server, ServerProgram, initialise_all
from simrep.rig.servers import Servers, await_condition

__all__ = ["SourceAndReplicas", "form", "replica_problems"]

CONNECT_S = 60.0
REPLICATION_USER = (
    "create user replica@'%' identified by 'replica'",
    "grant replication slave on *.* to replica@'%'",
)
RUNNING = (
    ("replica_io_running", "slave_io_running"),
    ("replica_sql_running", "slave_sql_running"),
)


class SourceAndReplicas(Servers):
    """The first server is the source, all others replicate from it."""

    product_counters = ("rpl_semi_sync_",)

    def __init__(self, servers: Sequence[Server], program: ServerProgram) -> None:
        super().__init__(servers)
        self.mariadb = program.name == "mariadb"

    def replication_health(self) -> Health:
        """Whether the replicas' threads run."""
        facts = {server.name: self.replica_status(server) for server in self.nodes[1:]}
        problems = [
            problem for name, status in facts.items() for problem in replica_problems(name, status)
        ]
        return Health(tuple(problems), facts)

    def replica_status(self, server: Server) -> dict[str, str]:
        """State of a replica's threads, names in lower case."""
        rows = server.query("show replica status")
        kept = ("io_running", "sql_running", "last_io_error", "last_sql_error")
        return {
            key.lower(): str(value)
            for row in rows
            for key, value in row.items()
            if key.lower().endswith(kept)
        }

    def point_replicas(self) -> None:
        """Make the replicas follow the source from its first event."""
        source, *replicas = self.nodes
        # Kept out of the binary log: the source would wait for a replica to acknowledge it.
        source.query("set sql_log_bin=0", *REPLICATION_USER)
        for replica in replicas:
            follow = follow_statement(source.host.address, mariadb=self.mariadb)
            replica.query(follow, "start replica")
        await_condition("all replicas connected", lambda: self.health().ok, CONNECT_S)

    def level(self, timeout_s: float) -> bool:
        """Whether every replica has executed what the source has."""
        source, *replicas = self.nodes
        patience = time.monotonic() + timeout_s
        if self.mariadb:
            position = str(source.value("@@global.gtid_binlog_pos"))
            function = "master_gtid_wait"
        else:
            position = str(source.value("@@global.gtid_executed")).replace("\n", "")
            function = "wait_for_executed_gtid_set"
        return all(
            replica.value(
                f"{function}('{position}', {max(0.001, patience - time.monotonic()):.3f})"
            )
            == 0
            for replica in replicas
        )


ClusterType = TypeVar("ClusterType", bound=SourceAndReplicas)


def form(
    kind: Callable[[Sequence[Server], ServerProgram], ClusterType],
    program: ServerProgram,
    engine: Engine,
    options: Mapping[str, Option],
    arguments: Callable[[bool], list[str]],
    logs: Path,
) -> ClusterType:
    """Start a server on every host and let all but the first replicate from it.

    Parameters
    ----------
    kind : class of the cluster
    program : ServerProgram
    engine : Engine
    options : mapping
        Of the experiment.
    arguments : callable
        From whether a server is the source to its options.
    logs : Path
    """
    servers = [
        Server(
            host,
            program,
            number,
            [*base_arguments(program.name), *arguments(number == 1)],
            logs / f"{host.name}.log",
        )
        for number, host in enumerate(engine.hosts, 1)
    ]
    cluster = kind(servers, program)
    try:
        initialise_all(servers)
        for server in servers:
            server.start()
        cluster.point_replicas()
        cluster.check_options(options)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def base_arguments(program: str) -> list[str]:
    """Binary logs and global transaction identifiers."""
    common = ["--log-bin=binlog", "--relay-log=relay"]
    if program == "mariadb":
        return common
    return [*common, "--gtid-mode=ON", "--enforce-gtid-consistency=ON"]


def follow_statement(address: str, *, mariadb: bool) -> str:
    """The statement that makes a replica follow a source; MariaDB's without certificates."""
    if mariadb:
        return (
            f"change master to master_host='{address}', master_user='replica', "
            "master_password='replica', master_use_gtid=slave_pos, master_ssl=0"
        )
    return (
        f"change replication source to source_host='{address}', source_user='replica', "
        "source_password='replica', source_auto_position=1, get_source_public_key=1"
    )


def replica_problems(name: str, status: Mapping[str, str]) -> list[str]:
    """What is wrong with a replica whose status says this."""
    problems = []
    for spellings in RUNNING:
        found = next((status[key] for key in spellings if key in status), "nothing")
        if found != "Yes":
            errors = [text for key, text in status.items() if key.endswith("error") and text]
            problems.append(f"{name}: {spellings[0]} is {found}: {' '.join(errors)[:300]}")
    return problems
