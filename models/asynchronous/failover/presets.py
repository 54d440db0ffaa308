"""What failover managers do by default, by tool.

References
----------
orchestrator
    openark/orchestrator 730db91. go/config/config.go: InstancePollSeconds 5,
    MySQLConnectTimeoutSeconds 2, ReasonableInstanceCheckSeconds 1 (a read that takes longer makes
    the last check invalid: instance_dao.go, lastAttemptedCheckTimer), RecoveryPollSeconds 1,
    RecoveryPeriodBlockSeconds 3600, InstanceBulkOperationsWaitTimeoutSeconds 10, all hooks empty.
    go/inst/instance_dao.go, ReadOutdatedInstanceKeys: looked at every second, in whole seconds,
    whether the last check is older than the poll: a second late; retryInterval 0.5 s.
    go/inst/analysis_dao.go: DeadMaster; go/logic/topology_recovery.go: runEmergentOperations reads
    the replicas, and the next analysis a second later knows it; checkAndRecoverDeadMaster sets the
    old source to read_only, once. instance_topology_dao.go, StopReplicationNicely: waits for the
    SQL threads.
mha
    yoshinorim/mha4mysql-manager abe11f9. lib/MHA/Config.pm: ping_interval 3, no
    secondary_check_script, shutdown_script or master_ip_failover_script. HealthCheck.pm,
    wait_until_unreachable: a ping is killed, and a connection given up, after ping_interval; four
    failures. MasterFailover.pm: last_failover_minute 480; it waits until the relay log is applied.
mariadbmon
    mariadb-corporation/MaxScale f72af99 (24.02). server/core/monitor.cc: monitor_interval 2000 ms,
    backend_connect_timeout 3 s, backend_read_timeout 3 s; monitorserver.cc, ping_or_connect_to_db.
    server/modules/monitor/mariadbmon/mariadbmon.cc: failcount 5, verify_master_failure true,
    master_failure_timeout 10 s, auto_rejoin false, enforce_read_only_slaves false.
    cluster_manipulation.cc: handle_auto_failover, slave_receiving_events; failover_prepare puts a
    failover off to the next tick as long as the relay log is not applied.
replication-manager
    signal18/replication-manager 2733b33. server/server.go: monitoring-ticker 2, db-servers-
    connect-timeout 5, db-servers-read-timeout 3600, failover-falsepositive-ping-counter 5,
    failover-falsepositive-heartbeat true with failover-falsepositive-heartbeat-timeout 3,
    failover-time-limit 0, autorejoin true, failover-readonly-state true. cluster/cluster.go: it
    sleeps for the ticker after a round. cluster_chk.go, isOneSlaveHeartbeatIncreasing; srv.go,
    Ping opens a connection (the connect timeout of the Go driver ends when TCP is connected),
    ReadAllRelayLogs looks every 0.5 s; srv_rejoin.go, rejoinMasterIncremental.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from simrep.models.asynchronous.options import AsynchronousOptions

__all__ = ["PRESETS", "Asks", "ManagerName", "ManagerRules", "rules_of"]

ManagerName = Literal["none", "orchestrator", "mha", "mariadbmon", "replication-manager"]
Asks = Literal["nobody", "io-threads", "events", "heartbeats"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerRules:
    """By which rules a manager replaces a source; times in seconds.

    Attributes
    ----------
    name : str
        Of the tool.
    poll_s : float
        From the begin of a round of polls to the next; ``late_s`` comes on top.
    connect_timeout_s, read_timeout_s : float
        A poll fails if a server does not accept a connection, or does not answer, for so long.
    failures : int
        Polls of the source that fail in a row until it acts.
    asks : {"nobody", "io-threads", "events", "heartbeats"}
        Whether it asks the replicas before it acts: nobody; until no replica that answers has an
        IO thread that runs; whether one has received something in the last ``verify_s``; whether
        one receives a heartbeat while it looks for ``verify_s``, one replica after the other.
    recheck_s : float
        So often it looks at what replicas say (``io-threads``).
    verify_s : float
    drain_timeout_s : float
        So long it waits until the new source has applied what it has received.
    drain_step_s : float
        So often it looks whether that is so.
    hooks_s : float
        How long hooks and scripts take before it acts.
    rejoins : bool
        It makes a source that is back a replica, if that has nothing of its own.
    fences : bool
        It tries, once, to set the old source to read_only.
    block_s : float
        No second failover so soon.
    late_s : float
        How late a round of polls is.
    pauses : bool
        The pause to the next round begins when all servers have answered, or did not.
    connects_anew : bool
        Every poll opens a connection of its own.
    pings_anew : bool
        A poll on a connection on which nothing is answered tries another connection.
    polls_replicas : bool
        It polls replicas as well as the source.
    """

    name: str
    poll_s: float
    connect_timeout_s: float
    read_timeout_s: float
    failures: int
    asks: Asks
    recheck_s: float = 1.0
    verify_s: float = 0.0
    drain_timeout_s: float = inf
    drain_step_s: float = 0.5
    hooks_s: float = 0.0
    rejoins: bool = False
    fences: bool = False
    block_s: float = 0.0
    late_s: float = 0.0
    pauses: bool = False
    connects_anew: bool = False
    pings_anew: bool = False
    polls_replicas: bool = True

    @property
    def unnoticed_s(self) -> float:
        """A server that is silent for no longer than this fails no poll."""
        return min(self.connect_timeout_s, self.read_timeout_s)


_ORCHESTRATOR = ManagerRules(
    name="orchestrator",
    poll_s=5.0,
    connect_timeout_s=2.0,
    read_timeout_s=1.0,
    failures=1,
    asks="io-threads",
    recheck_s=1.0,
    drain_timeout_s=10.0,
    drain_step_s=0.5,
    fences=True,
    block_s=3600.0,
    late_s=1.0,
)

_MHA = ManagerRules(
    name="mha",
    poll_s=3.0,
    connect_timeout_s=3.0,
    read_timeout_s=3.0,
    failures=4,
    asks="nobody",
    drain_step_s=0.1,
    block_s=28800.0,
    polls_replicas=False,
)

_MARIADBMON = ManagerRules(
    name="mariadbmon",
    poll_s=2.0,
    connect_timeout_s=3.0,
    read_timeout_s=3.0,
    failures=5,
    asks="events",
    verify_s=10.0,
    drain_step_s=2.0,
    pings_anew=True,
)

_REPLICATION_MANAGER = ManagerRules(
    name="replication-manager",
    poll_s=2.0,
    connect_timeout_s=5.0,
    read_timeout_s=3600.0,
    failures=5,
    asks="heartbeats",
    verify_s=3.0,
    drain_step_s=0.5,
    rejoins=True,
    pauses=True,
    connects_anew=True,
)

PRESETS: Mapping[str, ManagerRules] = MappingProxyType(
    {rules.name: rules for rules in (_ORCHESTRATOR, _MHA, _MARIADBMON, _REPLICATION_MANAGER)}
)
"""The rules of each tool, by its name in ``failover_manager``."""

_SETTABLE = (
    "poll_s", "connect_timeout_s", "read_timeout_s", "failures", "recheck_s", "verify_s",
    "drain_timeout_s", "hooks_s", "rejoins", "block_s",
)  # fmt: skip


def rules_of(options: AsynchronousOptions) -> ManagerRules | None:
    """The rules of the manager with what the options set above its defaults; None without one."""
    if options.failover_manager == "none":
        return None
    own: dict[str, Any] = {
        name: value
        for name in _SETTABLE
        if (value := getattr(options, f"manager_{name}")) is not None
    }
    if options.manager_asks_replicas is not None:
        own["asks"] = options.manager_asks_replicas
    return replace(PRESETS[options.failover_manager], **own)
