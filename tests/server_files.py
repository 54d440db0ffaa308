"""Configurations, counters and benchmark outputs, as servers and their clients write them.

Counters of ``GALERA`` and of ``SEMISYNC`` are what MariaDB 11.8 and MySQL 9.7 counted in five
seconds of sysbench oltp_read_write with 32 threads, on one machine of two cores, added to made-up
values before; rows (``Handler_...``) follow from the statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simrep.intake.description import Overrides, ServerDescription, ServerFiles, from_server
from simrep.intake.findings import Finding

__all__ = [
    "GALERA_AFTER",
    "GALERA_BEFORE",
    "GALERA_CNF",
    "SEMISYNC_AFTER",
    "SEMISYNC_BEFORE",
    "SYSBENCH",
    "SYSBENCH_OLD",
    "as_batch",
    "as_box",
    "as_vertical",
    "boxed",
    "described_from",
    "finding",
    "write",
]

GALERA_CNF = """\
# The usual file of a Debian package
[client]
port = 3306
[mysqld]
user                    = mysql
innodb-buffer-pool-size = 4G        # most of the memory
innodb_flush_log_at_trx_commit=2
skip-name-resolve
loose-query_cache_size  = 0

[mysqldump]
quick

[mysqld-5.7]
sync_binlog = 0

[galera]
wsrep_on                 = ON
wsrep_provider           = /usr/lib/galera/libgalera_smm.so
wsrep_cluster_address    = "gcomm://10.0.0.11,10.0.0.12,10.0.0.13"
wsrep_slave_threads      = 8
wsrep_provider_options   = "gcache.size=2G; gcs.fc_limit = 64; evs.keepalive_period = PT2S"
binlog_format            = row
"""

_GALERA = {
    "Com_begin": 5258,
    "Com_commit": 4478,
    "Com_delete": 4740,
    "Com_insert": 4478,
    "Com_select": 73613,
    "Com_stmt_execute": 108700,
    "Com_update": 10244,
    "Handler_delete": 4740,
    "Handler_update": 10244,
    "Handler_write": 4478,
    "Bytes_received": 4168208,
    "Questions": 108743,
    "Innodb_row_lock_waits": 491,
    "wsrep_local_bf_aborts": 0,
    "wsrep_local_cert_failures": 0,
    "wsrep_local_commits": 4478,
    "wsrep_received": 59,
    "wsrep_repl_keys": 34469,
    "wsrep_replicated": 4478,
    "wsrep_replicated_bytes": 8380968,
}
_GALERA_BEGAN = dict.fromkeys(_GALERA, 100_000) | {"wsrep_received": 1000}
_GALERA_TEXTS = {
    "Aria_pagecache_reads": "12",
    "Threads_connected": "33",
    "wsrep_cert_deps_distance": "81.33876",
    "wsrep_cluster_size": "3",
    "wsrep_evs_repl_latency": "0.000120/0.000901/0.020412/0.000512/4478",
    "wsrep_flow_control_paused": "0.000546",
    "wsrep_incoming_addresses": "10.0.0.11:0,10.0.0.12:0,10.0.0.13:0",
    "wsrep_local_recv_queue_avg": "0.010826",
    "wsrep_provider_version": "26.4.27(r1a2b3c4)",
    "wsrep_ready": "ON",
}


def _counters(began: Mapping[str, int], grown: Mapping[str, int]) -> dict[str, str]:
    return {name: str(value + grown.get(name, 0)) for name, value in began.items()}


GALERA_BEFORE = {**_counters(_GALERA_BEGAN, {}), **_GALERA_TEXTS, "Uptime": "1000"}
GALERA_AFTER = {**_counters(_GALERA_BEGAN, _GALERA), **_GALERA_TEXTS, "Uptime": "1005"}

_SEMISYNC = {
    "Binlog_cache_use": 3523,
    "Com_begin": 3523,
    "Com_commit": 3523,
    "Com_delete": 3523,
    "Com_insert": 3523,
    "Com_select": 49324,
    "Com_update": 7046,
    "Innodb_rows_deleted": 3523,
    "Innodb_rows_inserted": 3523,
    "Innodb_rows_read": 1554999,
    "Innodb_rows_updated": 7046,
    "Queries": 76361,
    "Rpl_semi_sync_source_yes_tx": 556,
}
_SEMISYNC_TEXTS = {
    "Mysqlx_sessions": "0",
    "Rpl_semi_sync_source_clients": "1",
    "Rpl_semi_sync_source_status": "ON",
    "Rpl_semi_sync_source_tx_avg_wait_time": "1442",
    "Threads_connected": "33",
}
SEMISYNC_BEFORE = {
    **_counters(dict.fromkeys(_SEMISYNC, 0), {}),
    **_SEMISYNC_TEXTS,
    "Uptime": "60",
}
SEMISYNC_AFTER = {
    **_counters(dict.fromkeys(_SEMISYNC, 0), _SEMISYNC),
    **_SEMISYNC_TEXTS,
    "Uptime": "65",
}

SYSBENCH = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 32
Initializing random number generator from current time


Initializing worker threads...

Threads started!

SQL statistics:
    queries performed:
        read:                            73612
        write:                           19462
        other:                           9736
        total:                           102810
    transactions:                        4478   (888.70 per sec.)
    queries:                             102810 (20403.67 per sec.)
    ignored errors:                      780    (154.80 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          5.0388s
    total number of events:              4478

Latency (ms):
         min:                                    9.12
         avg:                                   35.86
         max:                                  137.49
         95th percentile:                       62.19
         sum:                               160581.08

Threads fairness:
    events (avg/stddev):           139.9375/3.02
    execution time (avg/stddev):   5.0182/0.01
"""

SYSBENCH_OLD = """\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 16

Doing OLTP test.
OLTP test statistics:
    queries performed:
        read:                            140014
        write:                           50005
        other:                           20002
        total:                           210021
    transactions:                        10001  (476.94 per sec.)
    deadlocks:                           0      (0.00 per sec.)
    read/write requests:                 190019 (9061.94 per sec.)
    other operations:                    20002  (953.88 per sec.)

Test execution summary:
    total time:                          20.9687s
    total number of events:              10001
    total time taken by event execution: 335.2
    per-request statistics:
         min:                                 13.33ms
         avg:                                 33.52ms
         max:                                147.39ms
         approx.  95 percentile:              49.50ms
"""


def as_box(values: Mapping[str, str]) -> str:
    """As a terminal shows it, with what is printed around it."""
    table = boxed([("Variable_name", "Value"), *values.items()])
    return f"mysql> SHOW GLOBAL STATUS;\n{table}{len(values)} rows in set (0.00 sec)\n"


def boxed(rows: Sequence[tuple[str, ...]]) -> str:
    """A table with borders; the first row is its heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    border = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = [
        "".join(f"| {cell:<{width}} " for cell, width in zip(row, widths, strict=True)) + "|"
        for row in rows
    ]
    return "\n".join([border, lines[0], border, *lines[1:], border, ""])


def as_batch(values: Mapping[str, str], *, heading: bool = True) -> str:
    """As ``mysql --batch`` prints it."""
    lines = [f"{name}\t{value}" for name, value in values.items()]
    return "\n".join([*(["Variable_name\tValue"] if heading else []), *lines, ""])


def as_vertical(values: Mapping[str, str]) -> str:
    """With ``\\G``."""
    parts = [
        f"{'*' * 27} {number}. row {'*' * 27}\nVariable_name: {name}\n        Value: {value}\n"
        for number, (name, value) in enumerate(values.items(), start=1)
    ]
    return "".join(parts) + f"{len(values)} rows in set (0.01 sec)\n"


def write(folder: Path, name: str, text: str) -> Path:
    """A file with that text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def described_from(
    folder: Path,
    cnf: str = "",
    *status: str | Mapping[str, str],
    variables: Mapping[str, str] | None = None,
    sysbench: str = "",
    overrides: Overrides | None = None,
) -> ServerDescription:
    """What comes out of an option file, counters and variables, which may be given as values."""
    texts = [one if isinstance(one, str) else as_box(one) for one in status]
    files = ServerFiles(
        write(folder, "my.cnf", cnf) if cnf else None,
        [write(folder, f"status{number}.txt", text) for number, text in enumerate(texts)],
        write(folder, "variables.txt", as_batch(variables)) if variables else None,
        write(folder, "sysbench.txt", sysbench) if sysbench else None,
    )
    return from_server(files, name="mine", overrides=overrides)


def finding(described: ServerDescription, setting: str) -> Finding:
    """The only one about a setting."""
    [one] = [one for one in described.settings if one.setting == setting]
    return one
