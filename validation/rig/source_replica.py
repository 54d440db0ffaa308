"""One source and its replicas, of MySQL or MariaDB: asynchronous, or semi-synchronous."""

from __future__ import annotations

from collections.abc import Mapping

from simrep.rig.cluster import Health, RigCluster, await_condition, reached, unequal
from simrep.rig.engine import RigHost
from simrep.rig.server import Option, RigServer, option_arguments

__all__ = ["AsynchronousCluster", "SemisyncCluster", "replica_problems", "semisync_arguments"]

CONNECT_S = 60.0
SEMISYNC_S = 30.0
REPLICATION_USER = (
    "create user replica@'%' identified by 'replica'",
    "grant replication slave on *.* to replica@'%'",
)
RUNNING = (
    ("replica_io_running", "slave_io_running"),
    ("replica_sql_running", "slave_sql_running"),
)


class AsynchronousCluster(RigCluster):
    """The first server is the source, which waits for nobody; all others replicate from it."""

    system = "asynchronous"
    product_counters = ("rpl_semi_sync_",)

    @property
    def mariadb(self) -> bool:
        """Whether statements are MariaDB's."""
        return self.program.name == "mariadb"

    def arguments(self, host: RigHost) -> list[str]:
        """Binary logs and global transaction identifiers."""
        own = ["--log-bin=binlog", "--relay-log=relay"]
        if not self.mariadb:
            own += ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
        return own + self.given_arguments(source=host is self.hosts[0])

    def given_arguments(self, *, source: bool) -> list[str]:
        """Options of the experiment for the source, or for a replica."""
        return option_arguments(self.options)

    def join(self) -> None:
        """Start all servers and make the replicas follow the source from its first event."""
        source, *replicas = self.nodes
        for server in self.nodes:
            server.start()
        # Kept out of the binary log: the source would wait for a replica to acknowledge it.
        source.query("set sql_log_bin=0", *REPLICATION_USER)
        for replica in replicas:
            follow = follow_statement(source.host.address, mariadb=self.mariadb)
            replica.query(follow, "start replica")
        await_condition("all replicas connected", lambda: self.health().ok, CONNECT_S)

    def rejoin(self, server: RigServer) -> None:
        """Start a server; a replica goes on by itself."""
        server.start(*([] if self.mariadb else ["--log-error-verbosity=3"]))

    def speak_up(self) -> None:
        """With notes, which tell of replicas that come and go."""
        for server in self.nodes:
            verbose = "log_warnings=4" if self.mariadb else "log_error_verbosity=3"
            server.query(f"set global {verbose}")

    def replication_health(self) -> Health:
        """Whether the replicas' threads run."""
        facts = {server.name: self.replica_status(server) for server in self.nodes[1:]}
        problems = [
            problem for name, status in facts.items() for problem in replica_problems(name, status)
        ]
        return Health(tuple(problems), facts)

    def replica_status(self, server: RigServer) -> dict[str, str]:
        """State of a replica's threads, names in lower case."""
        rows = server.query("show replica status")
        kept = ("io_running", "sql_running", "last_io_error", "last_sql_error")
        return {
            key.lower(): str(value)
            for row in rows
            for key, value in row.items()
            if key.lower().endswith(kept)
        }

    def level(self, timeout_s: float) -> bool:
        """Whether every replica has executed what the source has."""
        source, *replicas = self.nodes
        if self.mariadb:
            position, function = source.value("@@global.gtid_binlog_pos"), "master_gtid_wait"
        else:
            position, function = (
                source.value("@@global.gtid_executed"),
                "wait_for_executed_gtid_set",
            )
        return reached(replicas, function, str(position).replace("\n", ""), timeout_s)


class SemisyncCluster(AsynchronousCluster):
    """A source that waits for acknowledgements of its replicas."""

    system = "semisync"

    @property
    def prefix(self) -> str:
        """What the source's variables begin with."""
        return f"rpl_semi_sync_{'master' if self.mariadb else 'source'}"

    def given_arguments(self, *, source: bool) -> list[str]:
        """Each side has options of its own."""
        return semisync_arguments(self.program.name, self.options, source=source)

    def join(self) -> None:
        """Connect the replicas and wait until the source counts all of them."""
        super().join()
        await_condition("semi-synchronous replication on", lambda: self.health().ok, SEMISYNC_S)

    def replication_health(self) -> Health:
        """Whether replicas run, and the source waits for all of them."""
        replication = super().replication_health()
        first, *replicas = self.nodes
        status = first.status("rpl_semi_sync%")
        wanted = {f"{self.prefix}_status": "ON", f"{self.prefix}_clients": str(len(replicas))}
        own = {key.removeprefix(f"{self.prefix}_"): status.get(key, "") for key in wanted}
        return Health(
            (*replication.problems, *unequal(status, wanted)),
            {**replication.facts, first.name: own},
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
