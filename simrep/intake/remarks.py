"""Counters that nothing is set from, for people to compare the simulation with."""

from __future__ import annotations

from simrep.intake.read import Server

__all__ = ["remarks_of"]

_PAUSED = 0.001
_QUEUE = 1.0


def remarks_of(server: Server) -> list[str]:
    """What the counters say about appliers, conflicts and commit groups."""
    status = server.status
    remarks = []
    paused = status.latest("wsrep_flow_control_paused")
    if paused is not None and paused.value > _PAUSED:
        remarks.append(
            f"wsrep_flow_control_paused {paused.value:.3g}: commits stood still for that share of "
            "the time, since appliers somewhere were behind; apply_us and apply_row_us decide it."
        )
    queue = status.latest("wsrep_local_recv_queue_avg")
    if queue is not None and queue.value >= _QUEUE:
        remarks.append(
            f"wsrep_local_recv_queue_avg {queue.value:.3g}: so many writesets waited for the "
            "appliers of this node, on average."
        )
    distance = status.latest("wsrep_cert_deps_distance")
    if distance is not None and distance.value:
        remarks.append(
            f"wsrep_cert_deps_distance {distance.value:.3g}: more appliers than that have no work."
        )
    replicated = status.rate("wsrep_replicated")
    conflicts = status.rate("wsrep_local_cert_failures", "wsrep_local_bf_aborts")
    if conflicts is not None and replicated is not None and replicated.value:
        remarks.append(
            f"wsrep_local_cert_failures and wsrep_local_bf_aborts: {conflicts.value:.3g} per "
            f"second, {conflicts.value / replicated.value:.2%} of the transactions; which rows "
            "are written decides it."
        )
    commits, groups = status.rate("binlog_commits"), status.rate("binlog_group_commits")
    if commits is not None and groups is not None and groups.value:
        remarks.append(
            f"Binlog_commits / Binlog_group_commits {commits.value / groups.value:.3g}: "
            "transactions of a commit group; fsync_us decides it."
        )
    waits = status.rate("innodb_row_lock_waits")
    if waits is not None and waits.value:
        remarks.append(
            f"Innodb_row_lock_waits {waits.value:.3g} per second; which rows are written decides "
            "it."
        )
    if remarks:
        remarks.insert(0, "The simulated counters of the same names should come near to these:")
    return remarks
