"""How a node of Galera comes back: by what is in a gcache, or by all data."""

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
    with_value,
)
from simrep.models.galera.options import GaleraCosts, GaleraOptions
from simrep.models.galera.sst_script import SstScript

from .gcache import gcache_lasts_s

__all__ = ["node_return"]

_GCACHE = "gcache.size"
_ALL = 1 << 40  # a gcache that has everything in a short run
_MIB = 1 << 20


def node_return(
    scenario: Scenario,
    *,
    away_s: float | None = None,
    node: str | None = None,
    retention_s: float | None = None,
    disk_mb_s: float | None = None,
    **options: Any,
) -> Rejoin:
    """The return of a node, by IST or SST; see ``planned_return``.

    Parameters
    ----------
    scenario : Scenario
    away_s : float, optional
    node : str, optional
    retention_s : float, optional
        Galera knows none: it is refused.
    disk_mb_s : float, optional
        Instead of ``sst_byte_ns``.
    **options
        Of the question.
    """
    if retention_s is not None:
        raise ScenarioError(
            "retention_s",
            "a node of Galera gets what it has missed from a gcache, and not from binary logs",
            "set gcache.size in cluster.options",
        )
    if disk_mb_s is not None:
        scenario = with_value(scenario, "cluster.costs.sst_byte_ns", 1e3 / disk_mb_s)
    setup = setup_of(scenario)
    own, costs = setup.options, setup.costs
    assert isinstance(own, GaleraOptions)
    assert isinstance(costs, GaleraCosts)
    name = returning_node(scenario, node)
    host = setup.placement[scenario.node_names.index(name)]
    cores = setup.machines[host].cores or 1
    script = SstScript.of(own, costs, scenario.cluster.data_bytes, cores)
    asked = "" if _GCACHE in scenario.cluster.options else " (default)"
    written = f"{own.gcache_bytes / _MIB:,.4g}M"
    notes = [
        "A donor sets the oldest 128th of its gcache aside; a node that misses more gets all data."
    ]
    if script.blocks:
        notes.append("wsrep_sst_method = mariabackup does not stop the donor.")
    rules = ReturnRules(
        follows=ReturnWay(name="IST", how="IST", values=_from_gcache),
        copies=ReturnWay(
            name=f"SST ({script.name})",
            copies=True,
            how="SST",
            values=_from_data,
            byte_s=script.costs.byte_s,
            at_begin=script.blocks,
            ratio=script.costs.ratio,
            cores_byte_s=script.costs.work_byte_s,
            prepares_s=partial(_prepares_s, script),
        ),
        kept=Kept(
            what=f"{_GCACHE} = {written}{asked}",
            lasts_s=partial(gcache_lasts_s, own.gcache_bytes),
        ),
        thing="writesets",
        back="SYNCED",
        size_of=_size_of,
        notes=tuple(notes),
    )
    return planned_return(scenario, rules, node=name, away_s=away_s, **options)


def _from_gcache(rate_tps: float, away_s: float) -> Mapping[str, object]:
    del rate_tps, away_s
    return {_GCACHE: _ALL}


def _from_data(rate_tps: float, away_s: float) -> Mapping[str, object]:
    del rate_tps, away_s
    return {_GCACHE: 1}


def _prepares_s(script: SstScript, writesets: float, size_bytes: float, data_bytes: float) -> float:
    unpack_s = 0.0 if script.unpack is None else data_bytes * script.unpack.byte_s
    return unpack_s + sum(script.prepares_s(writesets, size_bytes))


def _size_of(counters: Mapping[str, Mapping[str, float]]) -> float:
    """Mean size of a writeset in bytes."""
    writesets = sum(own.get("wsrep_replicated", 0.0) for own in counters.values())
    volume = sum(own.get("wsrep_replicated_bytes", 0.0) for own in counters.values())
    return volume / max(writesets, 1.0)
