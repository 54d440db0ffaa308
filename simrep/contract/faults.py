"""Whether a model can play the faults of a scenario; what it cannot play is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from simrep.contract.model import Model
from simrep.contract.registry import models_that
from simrep.errors import ScenarioError
from simrep.measure.units import number
from simrep.scenario.cluster import MachineTable
from simrep.scenario.faults import FaultTable, FaultWord
from simrep.scenario.schema import Scenario

__all__ = ["check_faults"]


def check_faults(
    scenario: Scenario,
    model: type[Model],
    options: Any,
    machines: Mapping[str, MachineTable],
) -> None:
    """Raise ScenarioError for a fault, or a slow disk, that the model does not play."""
    for path, word in _words(scenario):
        if word not in model.faults:
            raise ScenarioError(
                path,
                f"model {model.name!r} does not play {word!r}",
                f"models that do: {models_that(partial(_plays, word))}",
            )
    hosts = dict(zip(scenario.node_names, scenario.host_names, strict=True))
    for position, fault in enumerate(scenario.faults):
        path = f"fault.{position}"
        if fault.what == "pause":
            _check_pause(path, fault, model, options)
        of_disk = fault.what == "disk-stall" or fault.fsync_factor is not None
        if of_disk and fault.node is not None:
            host = hosts[fault.node]
            if machines[host].parallel_syncs is not None and list(hosts.values()).count(host) > 1:
                raise ScenarioError(
                    f"{path}.node",
                    f"the disk of {fault.node!r} is that of its machine (parallel_syncs)",
                    f"say host = {host!r} instead",
                )


def _plays(word: FaultWord, model: type[Model]) -> bool:
    return word in model.faults


def _words(scenario: Scenario) -> Iterator[tuple[str, FaultWord]]:
    """Words of faults that the scenario needs, and where."""
    tables: dict[str, MachineTable] = {"cluster.machine": scenario.cluster.machine}
    tables |= {f"node.{i}": node for i, node in enumerate(scenario.nodes)}
    tables |= {f"host.{i}": host for i, host in enumerate(scenario.hosts)}
    for path, table in tables.items():
        if table.fsync_factor not in {None, 1.0}:
            yield f"{path}.fsync_factor", "slow"
    for position, fault in enumerate(scenario.faults):
        yield f"fault.{position}.what", fault.what


def _check_pause(path: str, fault: FaultTable, model: type[Model], options: Any) -> None:
    """Refuse a pause that makes other servers do what the model does not know."""
    most_s = model.pause_limit_s(options)
    if most_s is None:
        raise ScenarioError(
            f"{path}.what",
            f"model {model.name!r} does not tell how long a server may be paused",
            "it needs a method pause_limit_s()",
        )
    if fault.end_s - fault.at_s > most_s * (1.0 + 1e-9):
        raise ScenarioError(
            f"{path}.until_s",
            f"a pause of {number(fault.end_s - fault.at_s)} s is longer than model {model.name!r} "
            f"plays with these options, {number(most_s)} s: the others would act on it",
            f"at most {fault.at_s + most_s:g}",
        )
