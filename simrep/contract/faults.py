"""Whether a model plays the faults and operations of a scenario; what it does not is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

from simrep.contract.model import Model
from simrep.contract.registry import models_that
from simrep.errors import ScenarioError
from simrep.kernel.pace import merged
from simrep.measure.units import number
from simrep.network.network import Path
from simrep.scenario.cluster import MachineTable
from simrep.scenario.fault_checks import order_problems
from simrep.scenario.faults import CHANGES, LINKS, FaultTable, FaultWord
from simrep.scenario.operation import OperationWord
from simrep.scenario.problems import combined
from simrep.scenario.procedure import ProcedureTable
from simrep.scenario.schema import Scenario

__all__ = ["check_faults", "check_operations", "noticed"]

_ROUNDED = 1.0 + 1e-9
_Paths = Mapping[tuple[int, int], Path]


def check_faults(
    scenario: Scenario,
    model: type[Model],
    options: Any,
    machines: Mapping[str, MachineTable],
    paths: _Paths,
) -> None:
    """Raise ScenarioError for a fault, or a slow disk, that the model does not play."""
    faults = scenario.faults
    for path, word in _words(scenario, faults):
        if word == "cut" and model.silence_limit_s(options) is not None:
            continue
        if word not in model.faults:
            raise ScenarioError(
                path,
                f"model {model.name!r} does not play {word!r}",
                f"models that do: {models_that(partial(_plays, word))}",
            )
    wrong = list(order_problems(faults, scenario.node_names, scenario.host_names))
    if wrong:
        raise combined(wrong, "fault")
    hosts = dict(zip(scenario.node_names, scenario.host_names, strict=True))
    for fault in faults:
        path = fault.path
        if fault.what == "pause":
            _check_pause(path, fault, model, options)
        if fault.what == "cut" and "cut" not in model.faults and fault.own:
            _check_cut(scenario, fault, model, options, paths)
        of_disk = fault.what == "disk-stall" or fault.fsync_factor is not None
        if of_disk and fault.node is not None:
            host = hosts[fault.node]
            if machines[host].parallel_syncs is not None and list(hosts.values()).count(host) > 1:
                raise ScenarioError(
                    f"{path}.node",
                    f"the disk of {fault.node!r} is that of its machine (parallel_syncs)",
                    f"say host = {host!r} instead",
                )


def check_operations(scenario: Scenario, model: type[Model], options: Any) -> None:
    """Raise ScenarioError for an operation that the model does not play."""
    for one in scenario.operations:
        if isinstance(one, ProcedureTable):
            _check_procedure(one, model, options)
        elif one.what not in model.operations:
            raise ScenarioError(
                one.path,
                f"model {model.name!r} does not play {one.what!r}",
                f"models that do: {models_that(partial(_operates, one.what))}",
            )


def _check_procedure(one: ProcedureTable, model: type[Model], options: Any) -> None:
    """Refuse a procedure of servers that do not do what the operator asks of them."""
    needs: list[FaultWord] = ["leave"] if one.done == "shrink" else ["leave", "restart"]
    if one.move_writer and one.done != "grow" and model.writers(options) is not None:
        needs.append("promote")
    for word in needs:
        if word not in model.faults:
            hint = ", or set move_writer = false" if word == "promote" else ""
            raise ScenarioError(
                f"{one.path}.what",
                f"model {model.name!r} does not play {word!r}, which the procedure needs",
                f"models that do: {models_that(partial(_plays, word))}{hint}",
            )
    if model.status is Model.status:
        raise ScenarioError(
            one.path,
            f"model {model.name!r} does not tell an operator how its servers are",
            f"models that do: {models_that(lambda other: other.status is not Model.status)}",
        )
    in_group = "bootstrap" in model.faults
    if one.done == "grow" and in_group and one.transfer_s is None:
        raise ScenarioError(
            f"{one.path}.transfer_s",
            "is required: a new node has no data, and gets a copy of all from another one",
            "say how long that copy takes: the size of the data by what disk and network carry",
        )
    if one.transfer_s is not None and not in_group:
        raise ScenarioError(
            f"{one.path}.transfer_s",
            f"servers of model {model.name!r} get no copy from others",
            "remove it: a new server is made from a backup, and gets what came later",
        )


def noticed(scenario: Scenario, model: type[Model], options: Any) -> bool:
    """Whether something happens that servers of the model have to notice."""
    if scenario.operations:
        return True
    limit_s = model.silence_limit_s(options)
    for fault in scenario.faults:
        if fault.what in CHANGES or (fault.what in LINKS and "cut" in model.faults):
            return True
        length_s = fault.end_s - fault.at_s
        if fault.what == "pause" and limit_s is not None and length_s > limit_s * _ROUNDED:
            return True
    return False


def _plays(word: FaultWord, model: type[Model]) -> bool:
    return word in model.faults


def _operates(word: OperationWord, model: type[Model]) -> bool:
    return word in model.operations


def _words(scenario: Scenario, faults: Sequence[FaultTable]) -> Iterator[tuple[str, FaultWord]]:
    """Words of faults that the scenario needs, and where."""
    tables: dict[str, MachineTable] = {"cluster.machine": scenario.cluster.machine}
    tables |= {f"node.{i}": node for i, node in enumerate(scenario.nodes)}
    tables |= {f"host.{i}": host for i, host in enumerate(scenario.hosts)}
    for path, table in tables.items():
        if table.fsync_factor not in {None, 1.0}:
            yield f"{path}.fsync_factor", "slow"
    for fault in faults:
        if fault.own or fault.what != "cut":  # network.outage is played by all: TCP repeats
            yield f"{fault.path}.what", fault.what


def _check_pause(path: str, fault: FaultTable, model: type[Model], options: Any) -> None:
    """Refuse a pause that makes other servers do what the model does not know."""
    most_s = model.pause_limit_s(options)
    if most_s is None:
        raise ScenarioError(
            f"{path}.what",
            f"model {model.name!r} does not tell how long a server may be paused",
            "it needs a method pause_limit_s()",
        )
    if fault.end_s - fault.at_s > most_s * _ROUNDED:
        raise ScenarioError(
            f"{path}.until_s",
            f"a pause of {number(fault.end_s - fault.at_s)} s is longer than model {model.name!r} "
            f"plays with these options, {number(most_s)} s: the others would act on it",
            f"at most {fault.at_s + most_s:g}",
        )


def _check_cut(
    scenario: Scenario, fault: FaultTable, model: type[Model], options: Any, paths: _Paths
) -> None:
    """Refuse a cut that servers would notice, of a model in which they notice none.

    TCP repeats what is lost after a timeout that doubles every time (``network.retransmission``),
    so that a link is silent for longer than it is cut. Simplified: acknowledgements are not late.
    """
    most_s = model.silence_limit_s(options)
    assert most_s is not None
    for pair in fault.links(scenario.node_names, scenario.host_names):
        path, back = paths[pair], paths[pair[1], pair[0]]
        timeout_s = path.latency.base_s + back.latency.base_s + path.tcp.minimum_timeout_s
        (cut,) = (
            spell
            for spell in merged((one.from_s, one.to_s) for one in path.troubles if one.cut)
            if spell[0] <= fault.at_s < spell[1]
        )
        longest_s = _longest_s(most_s, timeout_s)
        length_s = cut[1] - cut[0]
        if length_s > longest_s * _ROUNDED:
            long = f"a cut of {number(length_s)} s" if length_s < inf else "a cut without an end"
            raise ScenarioError(
                f"{fault.path}.what",
                f"{long} is longer than model {model.name!r} plays "
                f"with these options, {number(longest_s)} s: TCP repeats after {number(timeout_s)} "
                f"s and then ever later, and others would notice a silence of {number(most_s)} s",
                f"models that play any cut: {models_that(partial(_plays, 'cut'))}",
            )


def _longest_s(most_s: float, timeout_s: float) -> float:
    """The longest cut after which TCP gets through again within ``most_s``.

    It repeats 0, 1, 3, 7 timeouts after the probe, which comes after a timeout at the latest.
    """
    if most_s == inf:
        return inf
    longest_s, most_s = 0.0, most_s * _ROUNDED - timeout_s
    while longest_s + timeout_s <= most_s:
        longest_s += timeout_s
        timeout_s *= 2.0
    return longest_s
