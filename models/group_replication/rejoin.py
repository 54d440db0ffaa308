"""How a member of a group comes back: from binary logs, or by a clone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Any

from simrep.modelling.questions import (
    Kept,
    Rejoin,
    ReturnRules,
    ReturnWay,
    Scenario,
    number,
    planned_return,
    returning_node,
    setup_of,
    with_value,
)
from simrep.models.mysql.retention import binlog_retention

from .clone import clone_costs
from .options import MOST_TRANSACTIONS, GroupReplicationCosts, GroupReplicationOptions

__all__ = ["member_return"]

_THRESHOLD = "group_replication_clone_threshold"
_REFUSAL = "Error 1236: no binary log has what it has missed, and nobody has set clone_threshold"
_REJOINS_S = 9.0  # of load: a member that was copied to lacks less than that when it is back
_AWAY_S = 10.0


def member_return(
    scenario: Scenario,
    *,
    away_s: float | None = None,
    node: str | None = None,
    retention_s: float | None = None,
    disk_mb_s: float | None = None,
    **options: Any,
) -> Rejoin:
    """The return of a member, by binary logs or a clone; see ``planned_return``.

    Parameters
    ----------
    scenario : Scenario
    away_s : float, optional
    node : str, optional
    retention_s : float, optional
        ``binlog_expire_logs_seconds``.
    disk_mb_s : float, optional
        Instead of ``clone_byte_ns``.
    **options
        Of the question.
    """
    if disk_mb_s is not None:
        scenario = with_value(scenario, "cluster.costs.clone_byte_ns", 1e3 / disk_mb_s)
    setup = setup_of(scenario)
    own, costs = setup.options, setup.costs
    assert isinstance(own, GroupReplicationOptions)
    assert isinstance(costs, GroupReplicationCosts)
    copy = clone_costs(costs.clone_byte_ns, costs.clone_thread_byte_ns)
    clones = own.release != "5.7"
    threshold = own.clone_threshold
    kept_s, written = binlog_retention(own.crash_safety, retention_s)
    notes = []
    if threshold == MOST_TRANSACTIONS:
        what = written
        if clones:
            notes.append(
                f"{_THRESHOLD} is not set: nobody clones by itself. A clone by hand is taken to "
                "be as long."
            )
    else:
        what = f"{_THRESHOLD} = {number(threshold)}, {written}"
        notes.append(
            "A member that lacks as much again when it is back from its clone is cloned again."
        )
    rules = ReturnRules(
        follows=ReturnWay(name="binary logs", how="incremental", values=_from_logs),
        copies=ReturnWay(
            name="clone",
            copies=True,
            how="clone",
            values=_from_data,
            byte_s=copy.byte_s,
            cores_byte_s=copy.work_byte_s,
            absence_s=_AWAY_S,
        )
        if clones
        else None,
        kept=Kept(what=what, lasts_s=partial(_lasts_s, kept_s, threshold)),
        refusal=_REFUSAL if threshold == MOST_TRANSACTIONS else "",
        thing="transactions",
        back="ONLINE",
        size_of=_size_of,
        notes=tuple(notes),
    )
    name = returning_node(scenario, node)
    return planned_return(scenario, rules, node=name, away_s=away_s, disk_mb_s=disk_mb_s, **options)


def _lasts_s(kept_s: float, threshold: int, rate_tps: float, size_bytes: float) -> float:
    del size_bytes
    if threshold == MOST_TRANSACTIONS or not rate_tps:
        return kept_s
    return min(kept_s, threshold / rate_tps)


def _from_logs(rate_tps: float, away_s: float) -> Mapping[str, object]:
    del rate_tps, away_s
    return {_THRESHOLD: MOST_TRANSACTIONS}


def _from_data(rate_tps: float, away_s: float) -> Mapping[str, object]:
    """It lacks more than that when it comes back, and less after the clone."""
    return {_THRESHOLD: max(1, round(min(_REJOINS_S, 0.9 * away_s) * rate_tps))}


def _size_of(counters: Mapping[str, Mapping[str, float]]) -> float:
    """Mean size of a transaction in the binary log, in bytes."""
    volume, commits = max(
        (own.get("Binlog_bytes_written", 0.0), own.get("Binlog_commits", 0.0))
        for own in counters.values()
    )
    return volume / commits if commits else inf
