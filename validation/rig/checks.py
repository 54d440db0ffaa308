"""What an experiment may not ask for: found before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simrep.errors import ScenarioError
from simrep.rig.cell import Cell
from simrep.rig.load import Load
from simrep.rig.rows import FIXED, column

__all__ = ["RESERVED", "check_cell", "check_factors", "check_options"]

RESERVED = frozenset({"dataset", "experiment", "study"})
"""Files of a dataset that no system's scenario may replace."""
_LOOSE = "loose_"
_PROVIDER = "wsrep_provider_options"
_OFF = {"false", "off", "0"}


def check_options(names: Iterable[str], where: str) -> None:
    """Options have the names that servers show, by which the simulation knows them.

    Raises
    ------
    ScenarioError
        For another spelling.
    """
    for name in names:
        if name == _PROVIDER:
            raise ScenarioError(
                f"{where}.{name}",
                "cannot be told apart in there",
                'write its options by their own names, e.g. "gcs.fc_limit" = 100',
            )
        plain = name.lower().replace("-", "_").removeprefix(_LOOSE)
        if name != plain:
            raise ScenarioError(
                f"{where}.{name}", "is not what servers show", f"did you mean {plain!r}?"
            )


def check_factors(varied: Mapping[str, Any], options: Iterable[str], where: str) -> None:
    """What is varied becomes a column, beside others.

    Raises
    ------
    ScenarioError
        If there is such a column already, or the key cannot be varied.
    """
    for name in (*varied, *options):
        if column(name) in FIXED:
            raise ScenarioError(
                f"{where}.{name}", "is a column of its own", "give several loads instead"
            )
    for name in varied:
        first, *inner = name.split(".")
        if first not in Load.model_fields or (inner and first != "large") or len(inner) > 1:
            raise ScenarioError(f"{where}.vary.{name}", "is no key of a load")
        if not inner and first in {"name", "title", "large"}:
            raise ScenarioError(f"{where}.vary.{name}", "cannot be varied")


def check_cell(cell: Cell, longest_s: float, where: str) -> None:
    """Refuse what the servers would refuse, and loads that would be cut off.

    Raises
    ------
    ScenarioError
        With the cell.
    """
    load = cell.load
    for name in sorted(cell.layout.names() | set(load.nodes)):
        if name not in cell.node_names:
            raise ScenarioError(
                where,
                f"{cell.label}: {cell.system} has no node {name!r}",
                f"it has {', '.join(cell.node_names)}",
            )
    if _one_writer(cell) and set(load.nodes) != {"n1"}:
        raise ScenarioError(
            where, f"{cell.label}: only n1 of {cell.system} takes writes", 'nodes = ["n1"]'
        )
    if load.large is not None and load.large.fragment_size and cell.product != "galera":
        raise ScenarioError(where, f"{cell.label}: only galera replicates fragments")
    if load.duration_s is not None and load.duration_s >= longest_s:
        raise ScenarioError(
            where,
            f"{cell.label}: would be cut off after {longest_s:g} s",
            "limits.run_s must be above its duration_s",
        )


def _one_writer(cell: Cell) -> bool:
    if cell.product == "group_replication":
        mode = cell.options.get("group_replication_single_primary_mode", True)
        return str(mode).lower() not in _OFF
    return cell.product in {"semisync", "asynchronous"}
