"""All that operators do in a run: the list of it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from simrep.errors import ScenarioError, nearest
from simrep.scenario.backup import BackupTable
from simrep.scenario.ddl import DdlTable
from simrep.scenario.maintenance import MaintenanceTable
from simrep.scenario.operation import OperationTable
from simrep.scenario.problems import dotted
from simrep.scenario.procedure import ProcedureTable
from simrep.scenario.settings import SettingTable

__all__ = ["OPERATION_TABLES", "listed_operations", "operation_problems"]

OPERATION_TABLES: Mapping[str, type[OperationTable]] = {
    "workload.ddl": DdlTable,
    "maintenance": MaintenanceTable,
    "backup": BackupTable,
    "setting": SettingTable,
    "procedure": ProcedureTable,
}
"""The tables of a scenario that say what operators do, by their paths."""


def listed_operations(
    tables: Mapping[str, Iterable[OperationTable]],
) -> tuple[OperationTable, ...]:
    """The entries of all these tables, which know where the scenario says them."""
    return tuple(
        one.told_at(dotted([*path.split("."), one.name or position]))
        for path, entries in tables.items()
        for position, one in enumerate(entries)
    )


def operation_problems(
    operations: Sequence[OperationTable],
    names: Sequence[str],
    arbitrators: Sequence[str],
    run_end_s: float,
) -> Iterator[ScenarioError]:
    """What is wrong with operations in this cluster and this run; see ``fault_problems``."""
    seen: set[str] = set()
    for one in operations:
        for name in (*one.on(names, arbitrators), *one.further()):
            if name not in names:
                yield ScenarioError(one.path, f"no node {name!r}", nearest(name, names))
            elif name in arbitrators:
                yield ScenarioError(one.path, f"{name!r} is an arbitrator: it has no data")
        if one.at_s >= run_end_s:
            yield ScenarioError(
                f"{one.path}.at_s",
                f"is after the end of the run at {run_end_s:g} s, given {one.at_s:g}",
                "run.warmup_s + run.duration_s is its end",
            )
        if one.name is not None and one.name in seen:
            yield ScenarioError(f"{one.path}.name", f"operation {one.name!r} is there twice")
        seen |= {one.name} if one.name is not None else set()
