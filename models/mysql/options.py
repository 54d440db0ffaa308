"""Options and costs of MySQL and MariaDB servers, which several models share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from simrep.modelling import (
    Microseconds,
    Milliseconds,
    Nanoseconds,
    ProblemsError,
    ScenarioError,
    SessionCosts,
    Speed,
    prior,
    roles,
    spellings,
)

__all__ = [
    "LARGEST_CACHE", "ApplierCosts", "ApplierOptions", "ClientCosts", "CrashSafety", "Pipeline",
    "PoolBytes",
    "ServerCosts",
    "ServerOptions",
    "size_in_bytes",
]  # fmt: skip

LARGEST_CACHE = 18446744073709547520
"""Default of ``max_binlog_cache_size`` in bytes: no limit."""

_US = 1e-6
_SIZE = re.compile(r"(\d+)([KMGTkmgt]?)")

Pipeline = Literal["mysql-5.1", "mysql-5.5", "mysql-5.6", "mysql-5.7", "mariadb"]
CrashSafety = Literal["mysql-5.5", "mysql-5.6", "mysql-8.0", "mariadb"]
_CRASH_SAFETY: dict[Pipeline, CrashSafety] = {
    "mysql-5.1": "mysql-5.5",
    "mysql-5.5": "mysql-5.5",
    "mysql-5.6": "mysql-5.6",
    "mysql-5.7": "mysql-8.0",
    "mariadb": "mariadb",
}


def size_in_bytes(value: Any) -> Any:
    """Servers write sizes as 128M; K, M, G and T are powers of 1024."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        return int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")
    return value


_MEBIBYTE = 1 << 20
PoolBytes = Annotated[
    Annotated[int, Field(ge=5 * _MEBIBYTE, le=1 << 50)] | None,
    BeforeValidator(size_in_bytes),
    Field(
        description="data kept in memory, in bytes or as 2G (5M and more); others are read from "
        "the disk when clients need them; default: all data are in memory",
    ),
]


class ServerOptions(BaseModel):
    """Variables in the server's own spelling; defaults of MySQL 9."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Variables that not all pipelines have: the value that their absence amounts to, and who has
    # them.
    only_with: ClassVar[dict[str, tuple[Any, tuple[Pipeline, ...]]]] = {
        "binlog_order_commits": (True, ("mysql-5.6", "mysql-5.7")),
        "binlog_group_commit_sync_delay": (0, ("mysql-5.7",)),
        "binlog_group_commit_sync_no_delay_count": (0, ("mysql-5.7",)),
        "binlog_commit_wait_count": (0, ("mariadb",)),
        "binlog_commit_wait_usec": (100_000, ("mariadb",)),
        "innodb_online_alter_log_max_size": (
            134_217_728,
            ("mysql-5.6", "mysql-5.7", "mariadb"),
        ),
    }

    innodb_flush_log_at_trx_commit: Annotated[int, roles.REDO_DURABILITY] = Field(
        1, ge=0, le=2, description="redo log: 0 nothing at commit, 1 write and fsync, 2 write"
    )
    sync_binlog: Annotated[int, roles.LOG_DURABILITY] = Field(
        1,
        ge=0,
        le=4294967295,
        description="fsync of the binary log every so many commit groups; 0: never",
    )
    innodb_lock_wait_timeout: int = Field(
        50, ge=1, le=1073741824, description="seconds after which a wait for a row lock fails"
    )
    innodb_buffer_pool_size: PoolBytes = None
    innodb_online_alter_log_max_size: int = Field(
        134_217_728,
        ge=65_536,
        le=18446744073709551615,
        description="bytes that others may write to a table while ALTER TABLE goes through it "
        "(inplace); with more it fails",
    )
    max_binlog_cache_size: int = Field(
        LARGEST_CACHE,
        ge=4096,
        le=LARGEST_CACHE,
        description="largest transaction in bytes of row events; a larger one fails",
    )
    binlog_order_commits: bool = Field(
        True, description="transactions commit in the engine in the order of the binary log"
    )
    binlog_group_commit_sync_delay: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="microseconds to wait for company before an fsync of the binary log",
    )
    binlog_group_commit_sync_no_delay_count: int = Field(
        0, ge=0, le=100_000, description="transactions in the queue that end that wait; 0: none do"
    )
    binlog_commit_wait_count: int = Field(
        0,
        ge=0,
        le=18446744073709551615,
        description="MariaDB: transactions to wait for before a commit group is written; 0: none",
    )
    binlog_commit_wait_usec: int = Field(
        100_000,
        ge=0,
        le=18446744073709551615,
        description="MariaDB: the longest such wait in microseconds",
    )
    commit_pipeline: Pipeline = Field(
        "mysql-5.7",
        description="version trait: which generation of two-phase commit with the binary log",
    )

    @property
    def crash_safety(self) -> CrashSafety:
        """How a server knows after a crash what it has executed.

        MySQL 8.0.17 and later keep GTIDs with the commits of the storage engine as well as in the
        binary log. Before that a server with a binary log has them there alone. MariaDB's source
        has them there alone, its replica with the commits of the storage engine alone. Before 5.6
        there are none.
        """
        return _CRASH_SAFETY[self.commit_pipeline]

    @model_validator(mode="after")
    def _known_to_this_version(self) -> Self:
        where = f"where commit_pipeline is {self.commit_pipeline!r}"
        self.refuse(
            {
                name: (absent, where, f"only {' and '.join(pipelines)}")
                for name, (absent, pipelines) in self.only_with.items()
                if self.commit_pipeline not in pipelines
            }
        )
        return self

    def refuse(self, absent: Mapping[str, tuple[Any, str, str]]) -> None:
        """Refuse variables that the server lacks, unless they say the same as their absence.

        ``absent`` has what that amounts to, where a variable does not exist, and where it does.
        """
        problems = [
            ScenarioError(
                spellings(name, type(self).model_fields[name])[0],
                f"does not exist {where}, given {as_set(getattr(self, name))}",
                f"{there}; without it, the server does what {as_set(value)} means",
            )
            for name, (value, where, there) in absent.items()
            if getattr(self, name) != value
        ]
        if problems:
            raise ProblemsError(problems)


def as_set(value: Any) -> str:
    """A value as the server's own tools write it."""
    return ("OFF", "ON")[value] if isinstance(value, bool) else repr(value)


class ClientCosts(BaseModel):
    """What clients cost a server up to the commit; the same defaults for all products."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connect_us: Annotated[Microseconds, prior.CONNECT] = Field(
        800.0, description="CPU to open a connection"
    )
    statement_us: Annotated[Microseconds, prior.STATEMENT] = Field(
        90.0, description="CPU per statement, client included"
    )
    client_us: Annotated[Microseconds, prior.CLIENT] = Field(
        0.0, description="CPU of the client per statement"
    )
    row_us: Annotated[Microseconds, prior.ROW] = Field(
        5.0, description="CPU per row written at the origin"
    )
    row_read_us: Annotated[Microseconds, prior.ROW_READ] = Field(
        5.0, description="CPU per row read"
    )
    rollback_us: Annotated[Microseconds, prior.ROLLBACK] = Field(
        20.0, description="CPU to roll back, without its rows"
    )
    latch_us: Annotated[Microseconds, prior.LATCH] = Field(
        0.0,
        description="time under a latch of the storage engine for each row that a client writes; "
        "one thread at a time",
    )
    latch_waiter_ns: Annotated[Nanoseconds, prior.LATCH_WAITER] = Field(
        0.0, description="how much longer for each thread that waits for that latch"
    )
    page_read_us: Annotated[Microseconds, prior.PAGE_READ] = Field(
        100.0, description="time to read or write a page of data, where not all are in memory"
    )
    page_reads_at_a_time: int = Field(
        32,
        ge=1,
        le=65_536,
        description="pages that the disk reads or writes at a time: 1 on one spindle, 32 by SATA "
        "(NCQ), more on NVMe",
    )
    ddl_ms: Milliseconds = Field(
        30.0,
        description="to change the definition of a table while nobody uses it: files, dictionary "
        "and their fsyncs (4-60; own measurements of instant ALTER TABLE: 28-43 with MySQL 9.7, "
        "12-52 with MariaDB 11.8)",
    )
    ddl_row_us: Microseconds = Field(
        5.0,
        description="CPU of ALTER TABLE for each row that the storage engine goes through by "
        "itself, inplace (1-15; own measurements: an index 5.0-5.7 with MySQL 9.7, 3.5-6.0 with "
        "MariaDB 11.8, a new table 5.2-5.7 and 6.7-8.2)",
    )
    ddl_copied_row_us: Microseconds = Field(
        12.0,
        description="CPU of ALTER TABLE for each row that the server reads and inserts into a new "
        "table, copy (3-30; own measurements: 14.4-14.6 with MySQL 9.7, rows of 200 bytes and an "
        "index, 9.7-12.5 with MariaDB 11.8, rows of 80 bytes)",
    )
    ddl_byte_ns: Nanoseconds = Field(
        5.0,
        description="time of the disk for each byte of a table that ALTER TABLE writes anew, "
        "behind the work of the processor: the slower of the two decides (0.5-100; 2 GB/s of NVMe "
        "to 10 MB/s of a busy volume)",
    )
    exit_ms: Annotated[Milliseconds, prior.EXIT] = Field(
        15.0,
        description="CPU to free the memory of a killed server, before its connections are closed: "
        "0.038 for each MB that is resident, here 400",
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
            latch_s=self.latch_us * _US,
            latch_waiter_s=self.latch_waiter_ns * 1e-9,
            page_read_s=self.page_read_us * _US,
            page_reads_at_a_time=self.page_reads_at_a_time,
        )


class ServerCosts(ClientCosts):
    """What things cost on a machine that runs a server: the content of a calibrated pack.

    The defaults are the same machine as that of the other models, so that products can be
    compared. An fsync is the cost to measure first: 12-60 us on enterprise NVMe with power-loss
    protection (M. Callaghan, 2026), 0.5-5 ms on consumer NVMe, 0.5-3 ms on cloud block storage,
    8-17 ms on a disk of 7200/min, 50-100 us behind a controller with a battery.
    """

    commit_us: Annotated[Microseconds, prior.COMMIT] = Field(
        20.0, description="CPU to commit in the storage engine"
    )
    binlog_write_us: Annotated[Microseconds, prior.BINLOG_WRITE] = Field(
        5.0, description="CPU to append a transaction to the binary log, without its bytes"
    )
    binlog_byte_ns: Annotated[Nanoseconds, prior.BINLOG_BYTE] = Field(
        1.0, description="CPU per byte copied into the binary log; holds up everybody"
    )
    log_write_us: Annotated[Microseconds, prior.LOG_WRITE] = Field(
        5.0, description="one write of the redo log (5-20; 8.0.11 and later: more)"
    )
    fsync_us: Annotated[Microseconds, prior.FSYNC] = Field(
        150.0, description="one fsync of a log, without what it needs of a core"
    )
    fsync_work_us: Annotated[Microseconds, prior.FSYNC_WORK] = Field(
        0.0,
        description="CPU of an fsync beside that: system call, file system, driver; together they "
        "are what a test of the disk tells",
    )
    journal_us: Annotated[Microseconds, prior.JOURNAL] = Field(
        0.0,
        description="second write of an fsync that makes a file longer, as each of the binary log "
        "does: that of the journal of the file system. 0: it is part of fsync_us",
    )
    disk_mb_per_s: Annotated[Speed, prior.DISK] = Field(
        500.0, description="sequential write bandwidth of the disk"
    )
    exit_wait_ms: Annotated[Milliseconds, prior.EXIT_WAIT] = Field(
        36.0,
        description="before that, a wait for the end of asynchronous I/O; none with MariaDB, which "
        "uses io_uring",
    )
    switch_us: Annotated[Microseconds, prior.SWITCH] = Field(
        3.0,
        description="CPU of a context switch to a woken thread (5-50 with its cold start)",
    )


class ApplierOptions(ServerOptions):
    """Those of a server, and how it applies what others have committed; defaults of MySQL 9."""

    only_with: ClassVar[dict[str, tuple[Any, tuple[Pipeline, ...]]]] = {
        **ServerOptions.only_with,
        "parallel_type": ("LOGICAL_CLOCK", ("mysql-5.6", "mysql-5.7")),
        "parallel_workers": (0, ("mysql-5.6", "mysql-5.7", "mariadb")),
        "preserve_commit_order": (True, ("mysql-5.7",)),
    }

    parallel_workers: Annotated[int, roles.APPLIERS] = Field(
        4,
        validation_alias=AliasChoices(
            "replica_parallel_workers", "slave_parallel_workers", "slave_parallel_threads"
        ),
        serialization_alias="replica_parallel_workers",
        ge=0,
        le=16383,
        description="threads that apply beside the coordinator; 0: it applies itself",
    )
    parallel_type: Literal["DATABASE", "LOGICAL_CLOCK"] = Field(
        "LOGICAL_CLOCK",
        validation_alias=AliasChoices("replica_parallel_type", "slave_parallel_type"),
        serialization_alias="replica_parallel_type",
        description="DATABASE: one worker per schema, and a workload has only one",
    )
    preserve_commit_order: bool = Field(
        True,
        validation_alias=AliasChoices(
            "replica_preserve_commit_order", "slave_preserve_commit_order"
        ),
        serialization_alias="replica_preserve_commit_order",
        description="replicas commit in the order of the source (MariaDB always does)",
    )
    sync_relay_log: int = Field(
        10_000,
        ge=0,
        le=4294967295,
        description="fsync of the relay log every so many events; 0: never",
    )

    @property
    def workers(self) -> int:
        """Applier threads that can be at work: a workload has one schema."""
        if self.parallel_workers and self.parallel_type == "DATABASE":
            return 1
        return self.parallel_workers


class ApplierCosts(ServerCosts):
    """Those of a server, and what it costs to apply."""

    schedule_us: Annotated[Microseconds, prior.HAND_OVER] = Field(
        5.0, description="CPU of the coordinator to read and assign a transaction"
    )
    apply_us: Annotated[Microseconds, prior.APPLY] = Field(
        40.0, description="CPU to apply a transaction, without its rows"
    )
    apply_row_us: Annotated[Microseconds, prior.ROW] = Field(5.0, description="CPU to apply a row")
