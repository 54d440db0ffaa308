"""What a scenario comes down to: the model, its options and costs, machines, paths and load."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from pydantic import BaseModel

from simrep.contract.faults import check_faults, check_operations, noticed
from simrep.contract.model import Change, Leader, Model, Operation, Setup
from simrep.contract.registry import find_model, model_names, models_that
from simrep.contract.settings import options_after
from simrep.errors import ScenarioError, nearest
from simrep.kernel.build import BUILD
from simrep.scenario.cluster import DEFAULT_MACHINE, MachineTable
from simrep.scenario.fault_checks import server_changes
from simrep.scenario.faults import ChangeWord
from simrep.scenario.network import paths
from simrep.scenario.operation import OperationTable
from simrep.scenario.options import by_spelling, in_product_spelling, resolve, version_defaults
from simrep.scenario.pack import Pack, load_pack
from simrep.scenario.problems import dotted, spellings
from simrep.scenario.proxy import ProxyTable
from simrep.scenario.schema import Scenario
from simrep.scenario.settings import SettingTable
from simrep.scenario.workload import WorkloadTable
from simrep.workload.classes import TransactionClass
from simrep.workload.workload import Arrivals, Loop, Workload

__all__ = ["Setup", "setup_of"]

_DEFAULT_RTT_MS = 0.1  # "typical LAN"


def setup_of(scenario: Scenario) -> Setup:
    """Find the model and the pack of a scenario and put together what they say.

    Raises
    ------
    ScenarioError
        For a model, version, pack, option or cost that does not exist or is not allowed.
    """
    cluster, network = scenario.cluster, scenario.network
    model = _model(cluster.model)
    package = model.__module__.rpartition(".")[0]
    pack = None
    if cluster.pack is not None:
        pack = load_pack(cluster.pack, package, scenario.folder)
    defaults = version_defaults(package, cluster.model, cluster.version)
    options = resolve(
        model.Options, "cluster.options", {f"version {cluster.version}": defaults}, cluster.options
    )
    _check_skew(scenario)
    costs = resolve(
        model.Costs,
        "cluster.costs",
        {} if pack is None else {f"pack {cluster.pack}": _costs_for(model, pack)},
        cluster.costs,
    )
    machine = cluster.machine.above(
        DEFAULT_MACHINE if pack is None else pack.machine.above(DEFAULT_MACHINE)
    )
    machine = _with_one_queue(cluster.machine, machine)
    if machine.autogroup:
        machine = _busy_for_a_slice(cluster.machine, machine)
    rtt_ms = network.rtt_ms
    if rtt_ms is None and pack is not None:
        rtt_ms = pack.network.rtt_ms
    if rtt_ms is None:
        rtt_ms = _DEFAULT_RTT_MS
    relay_us = network.relay_us
    if relay_us is None:
        relay_us = 0.0 if pack is None or not cluster.shared_host else pack.network.relay_us
    if relay_us and not cluster.shared_host:
        raise ScenarioError(
            "network.relay_us",
            "a delay relay needs a machine that all nodes share",
            "set cluster.shared_host = true",
        )
    proxy = _proxy(scenario, model)
    complete = scenario.model_copy(
        update={
            "proxy": proxy,
            "cluster": cluster.model_copy(
                update={
                    "options": in_product_spelling(options),
                    "costs": in_product_spelling(costs),
                    "machine": machine,
                }
            ),
            "network": network.model_copy(update={"rtt_ms": rtt_ms, "relay_us": relay_us}),
        }
    )
    nodes, placement = scenario.node_tables(), scenario.host_names
    own = {node.name: node for node in scenario.nodes if node.host is None}
    described: dict[str, MachineTable] = {**own, **{host.name: host for host in scenario.hosts}}
    machines = {
        name: _with_one_queue(described[name], described[name].above(machine))
        if name in described
        else machine
        for name in dict.fromkeys(placement)
    }
    for name, one in machines.items():
        _check_sharing(name if name in described else "cluster.machine", one)
    faults = scenario.faults
    links = paths(network, nodes, rtt_ms, hosts=placement, faults=faults, relayed=relay_us > 0)
    check_faults(scenario, model, options, machines, links)
    check_operations(scenario, model, options)
    eventful = noticed(scenario, model, options)
    _check_arbitrators(scenario, model)
    _check_own_writes(scenario, model)
    _check_history(scenario, model)
    _check_least(scenario)
    return Setup(
        scenario=complete,
        model=model,
        options=options,
        costs=costs,
        machines=machines,
        placement=placement,
        paths=links,
        workload=_workload(scenario, model, options, eventful=eventful),
        changes=_changes(scenario),
        operations=_operations(scenario, model, options),
        noticed=eventful,
        versions=_versions(scenario, pack),
        pack=pack,
        node_costs=_node_costs(scenario, model, costs),
        node_options=_node_options(scenario, model, options),
    )


def _check_sharing(where: str, machine: MachineTable) -> None:
    """Refuse traits that say how cores are shared, and do not go together."""
    if machine.core_queues and not machine.autogroup:
        raise ScenarioError(
            f"{where}.core_queues",
            "is about a machine that is fair between programs",
            "set autogroup = true, or remove it",
        )
    if machine.autogroup and machine.second_thread_gain:
        raise ScenarioError(
            f"{where}.second_thread_gain",
            "is not simulated on a machine that is fair between programs",
            "set autogroup = false, or remove it and let cores be the threads of the machine",
        )
    if machine.newidle_us != DEFAULT_MACHINE.newidle_us and not machine.core_queues:
        raise ScenarioError(
            f"{where}.newidle_us",
            "needs a machine with a queue for each core: with one queue for all, none has nothing "
            "to do while threads wait",
            "set core_queues = true (and autogroup), or remove it",
        )
    for key in ("sleep_us", "interrupt_us", "others"):
        if getattr(machine, key) != getattr(DEFAULT_MACHINE, key) and not machine.core_queues:
            raise ScenarioError(
                f"{where}.{key}",
                "needs a machine with a queue for each core",
                "set core_queues = true (and autogroup), or remove it",
            )


def _with_one_queue(given: MachineTable, machine: MachineTable) -> MachineTable:
    """A machine with one queue for all cores does not need what a pack says of several."""
    if machine.core_queues:
        return machine
    needed = {
        key: getattr(DEFAULT_MACHINE, key)
        for key in ("newidle_us", "sleep_us", "interrupt_us")
        if getattr(given, key) is None
    }
    return machine.model_copy(update=needed)


def _busy_for_a_slice(given: MachineTable, machine: MachineTable) -> MachineTable:
    """A machine that is fair between programs: busy waiting is a turn as any other."""
    if given.spin_ms is not None and given.spin_ms != machine.slice_ms:
        raise ScenarioError(
            "cluster.machine.spin_ms",
            "has no meaning with autogroup: a thread that waits busily gives way to its own "
            "program at once, and to others after slice_ms",
            "remove it, or set autogroup = false",
        )
    return machine.model_copy(update={"spin_ms": machine.slice_ms})


def _proxy(scenario: Scenario, model: type[Model]) -> ProxyTable | None:
    """The proxy with all that its kind decides, if the model tells it what it asks."""
    if scenario.proxy is None:
        return None
    if model.status is Model.status:
        raise ScenarioError(
            "proxy",
            f"model {model.name!r} does not tell a proxy how its servers are",
            f"models that do: {models_that(lambda other: other.status is not Model.status)}; one's "
            "own needs a method status()",
        )
    return scenario.proxy.complete(model.name)


def _node_costs(
    scenario: Scenario, model: type[Model], costs: BaseModel
) -> dict[int, dict[str, Any]]:
    """What single nodes have of their own, by position and name of the field."""
    own: dict[int, dict[str, Any]] = {}
    for position, node in enumerate(scenario.nodes):
        if not node.costs:
            continue
        path = f"node.{position}.costs"
        if not model.node_costs:
            raise ScenarioError(
                path,
                f"all servers of model {model.name!r} have the same costs",
                f"models whose servers may differ: {models_that(lambda other: other.node_costs)}",
            )
        resolved = resolve(
            model.Costs, path, {"cluster.costs": in_product_spelling(costs)}, node.costs
        )
        given = by_spelling(model.Costs, node.costs, path)
        own[scenario.node_names.index(node.name)] = {
            name: getattr(resolved, name)
            for name, field in model.Costs.model_fields.items()
            if spellings(name, field)[0] in given
        }
    return own


def _node_options(
    scenario: Scenario, model: type[Model], options: BaseModel
) -> dict[int, dict[str, Any]]:
    """What single nodes have of their own, by position and name of the field."""
    own: dict[int, dict[str, Any]] = {}
    for position, node in enumerate(scenario.nodes):
        if not node.options:
            continue
        path = f"node.{position}.options"
        given = by_spelling(model.Options, node.options, path)
        for name in given:
            if name not in model.node_options:
                may = ", ".join(sorted(model.node_options))
                raise ScenarioError(
                    dotted(["node", position, "options", name]),
                    f"servers of model {model.name!r} cannot have a {name!r} of their own here",
                    f"options that they may have: {may or 'none'}; others stand in "
                    "[cluster.options]",
                )
        resolved = resolve(
            model.Options, path, {"cluster.options": in_product_spelling(options)}, node.options
        )
        own[scenario.node_names.index(node.name)] = {
            name: getattr(resolved, name)
            for name, field in model.Options.model_fields.items()
            if spellings(name, field)[0] in given
        }
    return own


def _check_arbitrators(scenario: Scenario, model: type[Model]) -> None:
    for position, node in enumerate(scenario.nodes):
        if node.arbitrator and not model.arbitrators:
            raise ScenarioError(
                f"node.{position}.arbitrator",
                f"model {model.name!r} has no nodes without data",
                f"models that have: {models_that(lambda other: other.arbitrators)}",
            )


def _check_own_writes(scenario: Scenario, model: type[Model]) -> None:
    for path, policy in scenario.workload.policies:
        if policy.read_your_writes != "none" and not model.waits_for_own:
            raise ScenarioError(
                f"{path}.read_your_writes",
                f"a session of model {model.name!r} cannot wait for a single transaction",
                f"look for an option of its own, or take a model that can: "
                f"{models_that(lambda other: other.waits_for_own)}",
            )


def _check_least(scenario: Scenario) -> None:
    """How long a run is, must be known where something happens at a given time."""
    if scenario.run.least_transactions:
        for name in (*scenario.timed, *(["run.drain"] if scenario.run.drain else [])):
            raise ScenarioError(
                "run.least_transactions",
                f"does not go with {name}, given {scenario.run.least_transactions}",
                "remove either",
            )


def _check_history(scenario: Scenario, model: type[Model]) -> None:
    if not scenario.run.history_s:
        return
    if not model.piles_up:
        raise ScenarioError(
            "run.history_s",
            f"model {model.name!r} does not tell what a long load leaves behind",
            f"leave it out, or take one that does: {models_that(lambda other: other.piles_up)}",
        )
    for name in scenario.timed:
        raise ScenarioError(
            "run.history_s",
            f"does not go with {name}, given {scenario.run.history_s:g}",
            "remove it",
        )


def _check_skew(scenario: Scenario) -> None:
    """Refuse a skew of accesses where all data are in memory: nobody would ask for it."""
    cluster = scenario.cluster
    tables = [cluster.options, *(node.options or {} for node in scenario.nodes)]
    default = type(cluster).model_fields["hot_share"].default
    if cluster.hot_share != default and not any(
        size and name.endswith("buffer_pool_size")
        for table in tables
        for name, size in table.items()
    ):
        raise ScenarioError(
            "cluster.hot_share",
            "decides which pages are missing, and all data are in memory, given "
            f"{cluster.hot_share:g}",
            "set the buffer_pool_size of the servers in [cluster.options], or remove it",
        )


def _workload(
    scenario: Scenario, model: type[Model], options: BaseModel, *, eventful: bool
) -> Workload:
    """The load, with the session variables of its classes as the model understands them."""
    workload = scenario.workload.workload(scenario.node_names, scenario.arbitrators)

    def understood(one: TransactionClass, path: str) -> TransactionClass:
        if one.xa_hold_s is not None and not model.has_xa(options):
            raise ScenarioError(
                f"{path}.xa_hold_ms",
                f"model {model.name!r} has no XA transactions in this version",
                "models that have, in their newest version: "
                + models_that(lambda other: other.has_xa(other.Options())),
            )
        if one.session is None:
            return one
        table = model.Session
        if table is None:
            raise ScenarioError(
                f"{path}.session", f"model {model.name!r} knows no session variables", "remove them"
            )
        session = resolve(table, f"{path}.session", {}, one.session)
        try:
            session.check(options)
        except ScenarioError as error:
            where = f"{path}.session.{error.path}"
            raise ScenarioError(where, error.problem, error.hint) from None
        return replace(one, session=session)

    leader = model.writers(options)
    promoted = any(fault.what == "promote" for fault in scenario.faults)
    promoted = promoted or any(one.move_writer for one in scenario.procedures)
    if leader is not None and not (promoted or (leader.moves and eventful)):
        _check_writers(scenario, workload, leader)
        _check_failover(scenario, workload, leader)
    return replace(
        workload,
        classes=tuple(
            understood(one, f"workload.class.{position}")
            for position, one in enumerate(workload.classes)
        ),
        scheduled=tuple(
            replace(
                one,
                transaction_class=understood(
                    one.transaction_class, f"workload.scheduled.{position}"
                ),
            )
            for position, one in enumerate(workload.scheduled)
        ),
    )


def _check_writers(scenario: Scenario, workload: Workload, leader: Leader) -> None:
    """Refuse clients that write where only the leader takes writes."""
    names = scenario.node_names
    first, *_ = names
    direct = replace(
        workload,
        loops=tuple(loop for loop in workload.loops if _is_direct(scenario, loop)),
        arrivals=tuple(stream for stream in workload.arrivals if _is_direct(scenario, stream)),
    )
    for one, node in direct.submitted():
        if node and one.writes:
            otherwise = f", or {leader.otherwise}" if leader.otherwise else ""
            raise ScenarioError(
                _submitter(scenario.workload, one.name, names[node]),
                f"class {one.name!r} writes on {names[node]!r}, a {leader.others}: it is read-only",
                f"let it write on the {leader.title}, {first!r}{otherwise}",
            )


def _is_direct(scenario: Scenario, source: Loop | Arrivals) -> bool:
    """Whether clients go to their nodes themselves."""
    return scenario.proxy is None or (source.policy is not None and source.policy.direct)


def _check_failover(scenario: Scenario, workload: Workload, leader: Leader) -> None:
    """Refuse clients that write, and turn to others after an error, where only the leader does."""
    writers = {one.name for one in workload.classes if one.writes}
    for position, source in enumerate(workload.sources):
        writes = writers if source.classes is None else writers & {*source.classes}
        order = () if source.policy is None else source.policy.order(len(scenario.node_names))
        strangers = [node for node in order if node]
        if writes and strangers and _is_direct(scenario, source):
            groups = scenario.workload.groups
            own = groups[position].clients if groups else None
            said = own is not None and "on_error" in own.model_fields_set
            raise ScenarioError(
                f"workload.group.{position}.clients.on_error"
                if said
                else "workload.clients.on_error",
                f"class {min(writes)!r} cannot go on with {scenario.node_names[strangers[0]]!r}, "
                f"a {leader.others}: it is read-only",
                'set "stay" for clients that write, or give reads to a group of their own',
            )


def _submitter(table: WorkloadTable, name: str, node: str) -> str:
    """Where a file says that a class is submitted to a node."""
    for position, single in enumerate(table.scheduled):
        if single.name == name:
            return f"workload.scheduled.{position}.node"
    for position, group in enumerate(table.groups):
        if group.node == node and name in (group.classes or (name,)):
            return f"workload.group.{position}"
    return "workload.nodes"


def _changes(scenario: Scenario) -> tuple[Change, ...]:
    """Servers that come and go, in the order of time."""
    order = server_changes(scenario.faults, scenario.node_names, scenario.host_names)
    return tuple(
        Change(
            fault.at_s,
            node,
            cast(ChangeWord, fault.what),
            fault.transfer_s,
            fault.transactions_timeout_s,
        )
        for fault, movers in order
        for node in movers
    )


def _operations(scenario: Scenario, model: type[Model], options: Any) -> tuple[Operation, ...]:
    """What operators do, in the order of time."""
    names = scenario.node_names
    listed: list[Operation] = []
    done: dict[str, Any] = {}
    for one in sorted(scenario.operations, key=_begin_s):
        if one.what == "procedure":  # that is played here: see ``runs.procedures``
            continue
        after = None
        if isinstance(one, SettingTable):
            after, done = options_after(one, model, options, done)
        nodes = tuple(map(names.index, one.on(names, scenario.arbitrators)))
        listed.append(Operation(one.at_s, nodes, one, after))
    return tuple(listed)


def _begin_s(operation: OperationTable) -> float:
    return operation.at_s


def _costs_for(model: type[Model], pack: Pack) -> Mapping[str, Any]:
    """The costs of a pack; of another model's, those that this one knows by the same name."""
    if pack.card.model == model.name:
        return pack.costs
    if pack.card.model not in model_names():
        raise ScenarioError(
            "cluster.pack",
            f"{pack.card.name!r} holds costs of model {pack.card.model!r}, which is not installed",
            nearest(pack.card.model, model_names()),
        )
    theirs = _model(pack.card.model).Costs
    given = resolve(theirs, "cluster.costs", {f"pack {pack.card.name}": pack.costs}, {})
    ours = in_product_spelling(model.Costs())
    return {
        spelling: value
        for spelling, value in in_product_spelling(given).items()
        if spelling in ours and spelling in by_spelling(theirs, pack.costs)
    }


@cache  # looking through the installed packages takes milliseconds
def _model(name: str) -> type[Model]:
    return find_model(name)


def _versions(scenario: Scenario, pack: Pack | None) -> dict[str, str]:
    cluster = scenario.cluster
    versions: dict[str, Any] = dict(_software())
    versions["model"] = f"{cluster.model} {cluster.version or '(newest)'}"
    if pack is not None:
        versions["pack"] = f"{pack.card.name} sha256:{pack.digest}"
    return versions


@cache
def _software() -> tuple[tuple[str, str], ...]:
    packages = tuple((name, version(name)) for name in ("simrep", "simpy"))
    try:
        numpy = version("numpy")
    except PackageNotFoundError:
        numpy = "none"  # simrep.kernel.pcg64 draws the same numbers
    return (*packages, ("numpy", numpy), ("python", platform.python_version()), ("build", BUILD))
