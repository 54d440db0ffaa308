"""What all models of MySQL and MariaDB servers know of the files and counters of a server."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from simrep.modelling import Clue, Recognition, ServerBranch, ServerReading

__all__ = ["MARIADB", "MYSQL", "MysqlRecognition"]

MYSQL = ServerBranch(
    "mysql", ("mysqld", "server"), prefixes=("mysqlx_", "caching_sha2_", "innodb_redo_log_")
)
MARIADB = ServerBranch(
    "mariadb",
    ("mysqld", "server", "mariadb", "mariadbd", "galera", "client-server"),
    prefixes=("aria_", "feature_"),
    word="mariadb",
    # 5.5.5- stands before the version where old replicas listen: 5.5.5-10.4.32-MariaDB-log.
    numbers=r"(?:5\.5\.5-)?(.*?)(?:-mariadb.*)?",
)


class MysqlRecognition(Recognition):
    """Branches, options and counters that do not depend on how the servers replicate."""

    branches: ClassVar[tuple[ServerBranch, ...]] = (MARIADB, MYSQL)
    not_simulated: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "binlog_format": "writes are simulated as row events",
            "binlog_row_image": "the size of the row events says it: row_bytes",
            "innodb_buffer_pool_size": "all data are taken to be in memory; if they are not, set "
            "it and cluster.data_bytes",
            "innodb_doublewrite": "the doublewrite buffer costs no I/O",
            "innodb_flush_log_at_timeout": "the background flush costs nothing",
            "innodb_flush_method": "costs.fsync_us says what a flush of the log takes",
            "innodb_io_capacity": "costs.page_reads_at_a_time says what the disk does at a time",
            "innodb_log_file_size": "the redo log never runs full",
            "innodb_redo_log_capacity": "the redo log never runs full",
            "thread_handling": "a thread per connection is simulated",
            "transaction_isolation": "row locks of writes alone are simulated",
        }
    )
    path_switches: ClassVar[frozenset[str]] = frozenset({"log_bin"})
    transactions: ClassVar[tuple[str, ...]] = ("Binlog_commits", "Binlog_cache_use", "Com_commit")
    sizes: ClassVar[tuple[tuple[str, str], ...]] = (("Binlog_bytes_written", "Binlog_commits"),)

    def cores(self, server: ServerReading) -> Clue | None:
        """MariaDB sets the size of its thread pool to them, where it is not configured."""
        name = "thread_pool_size"
        size = server.variables.get(name)
        if size is None or server.family != MARIADB.name or name in server.options:
            return None
        quantity = size.quantity
        if quantity is None or not quantity.value >= 1:
            return None
        note = f"{size.spelling}: the number of processors, where it is not configured"
        return Clue(int(quantity.value), (size.place,), note)

    def remarks(self, server: ServerReading) -> list[str]:
        """Commit groups and row locks."""
        remarks = []
        rate = server.status.rate
        commits, groups = rate("Binlog_commits"), rate("Binlog_group_commits")
        if commits is not None and groups is not None and groups.value:
            remarks.append(
                f"Binlog_commits / Binlog_group_commits {commits.value / groups.value:.3g}: "
                "transactions of a commit group; fsync_us decides it."
            )
        waits = rate("Innodb_row_lock_waits")
        if waits is not None and waits.value:
            remarks.append(
                f"Innodb_row_lock_waits {waits.value:.3g} per second; which rows are written "
                "decides it."
            )
        return remarks
