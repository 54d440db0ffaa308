"""How a replica comes back: from the binary log of its source, or by a copy that somebody makes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from simrep.modelling import ScenarioError
from simrep.modelling.questions import (
    Kept,
    Rejoin,
    ReturnRules,
    ReturnWay,
    Scenario,
    planned_return,
    returning_node,
    setup_of,
)
from simrep.models.mysql.retention import binlog_retention

from .options import AsynchronousOptions

__all__ = ["replica_return"]

_REFUSAL = "Error 1236: the source has purged what it has missed"


def replica_return(
    scenario: Scenario,
    *,
    away_s: float | None = None,
    node: str | None = None,
    retention_s: float | None = None,
    **options: Any,
) -> Rejoin:
    """The return of a replica; see ``planned_return``.

    Parameters
    ----------
    scenario : Scenario
    away_s : float, optional
    node : str, optional
    retention_s : float, optional
        ``binlog_expire_logs_seconds``.
    **options
        Of the question.
    """
    own = setup_of(scenario).options
    assert isinstance(own, AsynchronousOptions)
    name = returning_node(scenario, node)
    if name == scenario.node_names[0]:
        raise ScenarioError(
            "node",
            f"{name!r} is the source: while it is away nobody writes, or another one is promoted",
            "name a replica",
        )
    kept_s, written = binlog_retention(own.crash_safety, retention_s)
    rules = ReturnRules(
        follows=ReturnWay(name="the binary log", word="link-open", values=_from_log),
        copies=None,
        kept=Kept(what=written, lasts_s=partial(_lasts_s, kept_s)),
        refusal="It is new" if away_s is None else _REFUSAL,
        thing="transactions",
        back="up to date",
        size_of=_size_of,
    )
    return planned_return(scenario, rules, node=name, away_s=away_s, **options)


def _lasts_s(kept_s: float, rate_tps: float, size_bytes: float) -> float:
    del rate_tps, size_bytes
    return kept_s


def _from_log(rate_tps: float, away_s: float) -> Mapping[str, object]:
    del rate_tps, away_s
    return {}


def _size_of(counters: Mapping[str, Mapping[str, float]]) -> float:
    """Mean size of a transaction in the binary log of the source, in bytes."""
    source = next(iter(counters.values()))
    return source["Binlog_bytes_written"] / max(1.0, source["Binlog_commits"])
