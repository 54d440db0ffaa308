"""Random versions, options, packs and costs of a model."""

from __future__ import annotations

from typing import Any

from tests.clusters import timers
from tests.golden.random_draw import FRAGMENTS, Draw, Table

__all__ = ["products"]

PACKS = (
    "codership-laptop", "gr-2016-20core", "mysql-gr-5.7.17", "percona-5.5-semisync", "pxc-5.7.16",
    "rig-2core", "rig-2core-mariadb-binlog", "rig-2core-mysql", "rig-2core-streaming",
    "rig-mariadb-11.8-binlog", "rig-mariadb-11.8-galera", "rig-mysql-9.7",
)  # fmt: skip
PACKS_OF = {
    "galera": ("codership-laptop", "pxc-5.7.16", "rig-2core", "rig-2core-streaming"),
    "group_replication": ("gr-2016-20core", "mysql-gr-5.7.17", "rig-2core-mysql", "rig-mysql-9.7"),
    "semisync": ("percona-5.5-semisync", "rig-2core-mariadb-binlog", "rig-mariadb-11.8-binlog"),
    "asynchronous": PACKS,
    "standalone": PACKS,
}
# Up to these no transaction is too large.
SIZE_LIMITS = {
    "max_binlog_cache_size": 10_000_000, "wsrep_max_ws_size": 10_000_000,
    "wsrep_max_ws_rows": 100_000, "group_replication_transaction_size_limit": 150_000_000,
}  # fmt: skip

# Whether a version has streaming replication.
GALERA_VERSIONS = {
    "galera-2": False, "galera-3": False, "galera-4": True, "pxc-5.7.16": False,
    "pxc-5.7.17-29.20": False, "pxc-8.0": True, "mariadb-10.3": False, "mariadb-10.4": True,
    "mariadb-10.5": True, "mariadb-10.6": True, "mariadb-10.11": True, "mariadb-11.8": True,
}  # fmt: skip
GROUP_VERSIONS = ("mysql-5.7.17", "mysql-8.0", "mysql-8.4", "mysql-9")
PIPELINES = {
    "mysql-5.1": "mysql-5.1", "mysql-5.5": "mysql-5.5", "mysql-5.6": "mysql-5.6",
    "mysql-5.7": "mysql-5.7", "mysql-8.0": "mysql-5.7", "mysql-8.4": "mysql-5.7",
    "mysql-9": "mysql-5.7", "mariadb-10.11": "mariadb", "mariadb-11.8": "mariadb",
}  # fmt: skip

GALERA_OPTIONS: dict[str, tuple[Any, ...]] = {
    "evs.send_window": (1, 2, 4, 10, 512),
    "evs.user_send_window": (1, 2, 4, 512),
    "evs.use_aggregate": (True, False),
    "evs.keepalive_period": (0.05, 0.3, 1, "PT0.5S", "PT1M"),
    "evs.suspect_timeout": (0.2, 0.5, "PT5S"),
    "gcs.fc_limit": (0, 1, 4, 16, 100),
    "gcs.fc_factor": (0.0, 0.5, 0.9, 1.0),
    "gcs.fc_master_slave": (True, False),
    "wsrep_slave_threads": (1, 2, 4, 8, 16),
    "wsrep_retry_autocommit": (0, 1, 2, 5),
    "wsrep_max_ws_size": (1024, 20_000, 20_000, 10_000_000),
    "wsrep_max_ws_rows": (9, 500, 100_000),
    "wsrep_load_data_splitting": (True, False),
    "repl.commit_order": (0, 1, 2, 3),
    "innodb_lock_wait_timeout": (1, 2, 50),
    "innodb_flush_log_at_trx_commit": (0, 1, 2),
    "binlog_annotate_row_events": (True, False),
    "commit_monitor_through_flush": (True, False),
    "gap_when_blocked": (True, False),
    "output_queue_messages": (0, 2, 128),
}
SERVER_OPTIONS: dict[str, tuple[Any, ...]] = {
    "innodb_flush_log_at_trx_commit": (0, 1, 2),
    "sync_binlog": (0, 1, 2, 10),
    "innodb_lock_wait_timeout": (1, 2, 50),
    "max_binlog_cache_size": (4096, 100_000, 100_000, 10_000_000),
}
# Of some pipelines only.
PIPELINE_OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "mysql-5.1": {},
    "mysql-5.5": {},
    "mysql-5.6": {"binlog_order_commits": (True, False)},
    "mysql-5.7": {
        "binlog_order_commits": (True, False),
        "binlog_group_commit_sync_delay": (0, 200, 3000),
        "binlog_group_commit_sync_no_delay_count": (0, 2, 5),
    },
    "mariadb": {
        "binlog_commit_wait_count": (0, 2, 5),
        "binlog_commit_wait_usec": (0, 500, 5000),
    },
}
APPLIER_OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "mysql-5.1": {},
    "mysql-5.5": {"sync_relay_log": (0, 1, 10)},
    "mysql-5.6": {
        "replica_parallel_workers": (0, 1, 4),
        "replica_parallel_type": ("DATABASE", "LOGICAL_CLOCK"),
        "sync_relay_log": (0, 1, 10),
    },
    "mysql-5.7": {
        "replica_parallel_workers": (0, 1, 2, 8),
        "replica_parallel_type": ("DATABASE", "LOGICAL_CLOCK", "LOGICAL_CLOCK"),
        "replica_preserve_commit_order": (True, False),
        "sync_relay_log": (0, 1, 10),
    },
    "mariadb": {"slave_parallel_threads": (0, 1, 2, 8), "sync_relay_log": (0, 1, 10)},
}
REPLICA_OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "mysql-5.1": {},
    "mysql-5.5": {},
    "mysql-5.6": {},
    "mysql-5.7": {
        "binlog_transaction_dependency_tracking": ("COMMIT_ORDER", "WRITESET"),
        "binlog_transaction_dependency_history_size": (1, 20, 25_000),
    },
    "mariadb": {"slave_parallel_mode": ("conservative", "optimistic")},
}
WAIT_OPTIONS: dict[str, tuple[Any, ...]] = {
    "rpl_semi_sync_source_enabled": (True, True, False),
    "rpl_semi_sync_master_timeout": (0, 3, 40, 10_000),
    "rpl_semi_sync_source_wait_no_replica": (True, False),
}
GROUP_OPTIONS: dict[str, tuple[Any, ...]] = {
    "group_replication_compression_threshold": (0, 500, 1_000_000),
    "group_replication_transaction_size_limit": (20_000, 150_000_000, 2_000_000_000),
    "group_replication_flow_control_mode": ("QUOTA", "DISABLED"),
    "group_replication_flow_control_certifier_threshold": (0, 1, 10, 25_000),
    "group_replication_flow_control_applier_threshold": (0, 1, 10, 25_000),
}
GROUP_OPTIONS_8: dict[str, tuple[Any, ...]] = {
    "group_replication_consistency": (
        "EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "BEFORE", "AFTER", "BEFORE_AND_AFTER",
    ),
    "group_replication_paxos_single_leader": (True, False),
    "group_replication_set_write_concurrency": (10, 20, 200),
    "group_replication_communication_max_message_size": (0, 2000, 10_485_760),
    "group_replication_flow_control_period": (1, 2),
    "group_replication_flow_control_hold_percent": (0, 10, 60),
    "group_replication_flow_control_release_percent": (0, 50, 300),
    "group_replication_flow_control_min_quota": (0, 3),
    "group_replication_flow_control_max_quota": (0, 20, 200),
    "group_replication_flow_control_member_quota_percent": (0, 30),
}  # fmt: skip
GROUP_OPTIONS_84: dict[str, tuple[Any, ...]] = {
    "group_replication_preemptive_garbage_collection": (True, False),
    "group_replication_preemptive_garbage_collection_rows_threshold": (10_000, 100_000),
}


def products(draw: Draw, cluster: Table) -> None:
    """Version, options, pack and costs."""
    share = draw.pick((0.0, 0.15, 0.15, 0.35, 0.7))
    if draw.model == "galera":
        options = _galera(draw, cluster, share)
    elif draw.model == "group_replication":
        options = _group(draw, cluster, share)
    else:
        options = _servers(draw, cluster, share)
    if options:
        cluster["options"] = options
    draw.tight = any(options.get(name, most) < most for name, most in SIZE_LIMITS.items())
    if draw.chance(0.15):
        packs = PACKS_OF[draw.model] if draw.chance(0.8) else PACKS
        if not draw.portable:
            cluster["pack"] = draw.pick(packs)
    costs = {
        "statement_us": draw.real(20, 300, 1),
        "row_us": draw.real(0, 40, 1),
        "commit_us": draw.real(0, 100, 1),
        "fsync_us": draw.pick((0.0, 30.0, 900.0, 5000.0)),
        "switch_us": draw.real(0, 30, 1),
        "client_us": draw.real(0, 50, 1),
    }
    if draw.model != "standalone":
        costs["apply_us"] = draw.pick((10.0, 400.0, 2500.0))
        costs["receive_us"] = draw.real(0, 100, 1)
    kept = {name: value for name, value in costs.items() if draw.chance(0.12)}
    if kept:
        cluster["costs"] = kept


def _galera(draw: Draw, cluster: Table, share: float) -> Table:
    draw.anywhere = True
    draw.streaming = True
    if draw.chance(0.5):
        cluster["version"] = draw.pick(list(GALERA_VERSIONS))
        draw.streaming = GALERA_VERSIONS[cluster["version"]]
    options = draw.some(GALERA_OPTIONS, share)
    if options.get("wsrep_max_ws_size") == 1024 and draw.chance(0.7):
        del options["wsrep_max_ws_size"]
    if options.get("gcs.fc_limit") == 0 and draw.chance(0.5):
        del options["gcs.fc_limit"]
    window = options.get("evs.send_window")
    if window is not None:  # the provider wants the other one to be at most as large
        options["evs.user_send_window"] = min(window, options.get("evs.user_send_window", 2))
    elif "evs.user_send_window" in options:
        options["evs.send_window"] = 512
    if draw.streaming and draw.chance(0.15):
        unit, size = draw.pick(FRAGMENTS)
        options |= {"wsrep_trx_fragment_unit": unit, "wsrep_trx_fragment_size": size}
    if draw.changing:
        suspect_s = draw.pick((0.3, 0.35, 0.4, 0.5))
        options |= timers(suspect_s)
        if draw.chance(0.5):
            options["evs.join_retrans_period"] = "PT0.2S"
    else:  # the provider does not take every pair; without failures it makes no difference
        options.pop("evs.suspect_timeout", None)
    return options


def _group(draw: Draw, cluster: Table, share: float) -> Table:
    version = "mysql-9"
    if draw.chance(0.5):
        version = cluster["version"] = draw.pick(GROUP_VERSIONS)
    options = draw.some(SERVER_OPTIONS | PIPELINE_OPTIONS["mysql-5.7"], share / 2)
    options |= draw.some(APPLIER_OPTIONS["mysql-5.7"] | GROUP_OPTIONS, share)
    if version != "mysql-5.7.17":
        options |= draw.some(GROUP_OPTIONS_8, share)
    if version in {"mysql-8.4", "mysql-9"}:
        options |= draw.some(GROUP_OPTIONS_84, share)
    draw.anywhere = draw.chance(0.45)
    if draw.anywhere:
        options["group_replication_single_primary_mode"] = False
    return options


def _servers(draw: Draw, cluster: Table, share: float) -> Table:
    draw.anywhere = draw.model == "standalone"
    version = "mysql-9"
    if draw.chance(0.6):
        known = [one for one in PIPELINES if draw.anywhere or one != "mysql-5.1"]
        version = cluster["version"] = draw.pick(known)
    pipeline = PIPELINES[version]
    options = draw.some(SERVER_OPTIONS | PIPELINE_OPTIONS[pipeline], share)
    if draw.model == "standalone":
        return options | draw.some({"log_bin": (True, True, False)}, 0.4)
    options |= draw.some(APPLIER_OPTIONS[pipeline] | REPLICA_OPTIONS[pipeline], share)
    options |= draw.some({"log_replica_updates": (True, False)}, share)
    if draw.model == "semisync":
        options |= draw.some(WAIT_OPTIONS, share)
        if pipeline in {"mysql-5.7", "mariadb"}:
            points = {"rpl_semi_sync_source_wait_point": ("AFTER_SYNC", "AFTER_COMMIT")}
            options |= draw.some(points, 0.4)
        if pipeline == "mysql-5.7":
            most = max(1, len(draw.names) - 1 + draw.chance(0.05))
            counts = {"rpl_semi_sync_source_wait_for_replica_count": (1, most, most)}
            options |= draw.some(counts, 0.3)
    return options
