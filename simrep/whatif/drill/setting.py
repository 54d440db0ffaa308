"""The settings of a drill: products beside each other, and values of the scenario that vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simrep.contract.model import Deployment, Model
from simrep.contract.registry import find_model, usable_models
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, nearest
from simrep.scenario import Scenario, with_values
from simrep.scenario.faults import FaultTable
from simrep.whatif.design import Setting
from simrep.whatif.plan.candidates import deployed_cluster, deployments

__all__ = ["DrillSetting", "checked_load", "products_of", "settings_of", "staying"]

ALL = "all"
_CLIENTS: dict[str, Any] = {"read_timeout_s": 5.0, "connect_timeout_s": 2.0}
"""Of clients of which the scenario says nothing: without a read timeout one would wait for a server
that is silent until its kernel gives up, which takes 15 minutes, and a drill would measure that."""
_LABEL = "product"
_Product = tuple[type[Model], Deployment | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillSetting:
    """One setting in which all faults are played.

    Attributes
    ----------
    labels : mapping of str to value
        Its product, where several were asked for, and the level of every factor.
    scenario : Scenario or None
        With its clients and without faults; None if there is none.
    setup : Setup or None
    refused : str
        Why there is none.
    notes : tuple of str
        What is to be said of it.
    """

    labels: Mapping[str, Any]
    scenario: Scenario | None = None
    setup: Setup | None = None
    refused: str = ""
    notes: tuple[str, ...] = ()


def checked_load(scenario: Scenario) -> Scenario:
    """A scenario that a drill can be about, without its own faults.

    Raises
    ------
    ScenarioError
        If its load ends, varies, or writes nothing.
    """
    load = scenario.workload
    if load.fixed or load.scheduled:
        path = "workload.scheduled" if load.scheduled else "workload"
        raise ScenarioError(
            path, "a drill needs a lasting load",
            "remove scheduled transactions, queries and transactions_per_client, and set "
            "run.duration_s",
        )  # fmt: skip
    return scenario.steady("a drill").without_faults()


def products_of(names: Sequence[str]) -> list[_Product]:
    """Products by names of models, or of their deployments.

    The name of a model is that of its first deployment; ``all`` are all models.

    Raises
    ------
    ScenarioError
        If there is no such product, or one is there twice.
    """
    by_name: dict[str, _Product] = {}
    models = {model.name: model for model in usable_models()}
    for model, own in deployments():
        by_name.setdefault(model.name, (model, own))
        by_name[own.name] = model, own
    by_name |= {name: (model, None) for name, model in models.items() if name not in by_name}
    first = [name for name in by_name if name in models]
    wanted = [one for name in names for one in ([*first] if name == ALL else [name])]
    for position, name in enumerate(wanted):
        if name not in by_name:
            raise ScenarioError("products", f"no product {name!r}", nearest(name, by_name))
        if by_name[name] in [by_name[other] for other in wanted[:position]]:
            raise ScenarioError("products", f"{name!r} is there twice", "name it once")
    return [by_name[name] for name in wanted]


def settings_of(
    scenario: Scenario,
    products: Sequence[_Product],
    variants: Sequence[Setting],
) -> Iterator[DrillSetting]:
    """All products with all variants of a scenario.

    Raises
    ------
    ScenarioError
        If the scenario cannot be simulated at one of the variants, as its own product.
    """
    for product in products or (None,):
        for variant in variants:
            yield _setting(scenario, product, variant)


def _setting(scenario: Scenario, product: _Product | None, variant: Setting) -> DrillSetting:
    if product is None:
        return _prepared(with_values(scenario, variant.settings), variant.labels)
    model, own = product
    labels = {_LABEL: model.name if own is None else own.name, **variant.labels}
    try:
        changed = with_values(scenario, _deployed(scenario, model, own))
        changed = with_values(changed, variant.settings)
        return _prepared(changed, labels, () if own is None else _deployment(own, changed))
    except ScenarioError as error:
        if model.name == scenario.cluster.model:
            raise
        return DrillSetting(labels=labels, refused=str(error))


def _deployed(scenario: Scenario, model: type[Model], own: Deployment | None) -> dict[str, Any]:
    """What of the scenario changes for another product, or for a way to deploy its own."""
    options = {} if own is None else own.options
    given = scenario.source.get("cluster", {})
    kept = {name: given[name] for name in ("nodes", "shared_host", "data_bytes") if name in given}
    changes: dict[str, Any] = {"cluster": kept | deployed_cluster(scenario, model, options)}
    if model.name == scenario.cluster.model:
        return changes
    nodes = scenario.source.get("node", [])
    changes["node"] = [
        {name: value for name, value in node.items() if name not in {"costs", "options"}}
        for node in nodes
    ]
    takes = model.writers(model.Options.model_validate(changes["cluster"]["options"]))
    if takes is not None and not scenario.workload.groups:
        changes["workload.nodes"] = list(scenario.node_names[:1])
    return changes


def _deployment(own: Deployment, scenario: Scenario) -> tuple[str, ...]:
    """The settings of a deployment, in words."""
    given = scenario.cluster.options
    return tuple(f"{name} = {given[name]}" for name in own.options if name in given)


def _prepared(
    scenario: Scenario, labels: Mapping[str, Any], said: tuple[str, ...] = ()
) -> DrillSetting:
    """The setting with clients that do something about errors."""
    setup = _setup_of(scenario)
    if not setup.workload.writes:
        raise ScenarioError("workload.class", "a drill needs clients that write", "statements = 1")
    notes = list(said)
    if not setup.workload.has_policy:
        leader = setup.model.writers(setup.options)
        alone = len(scenario.node_names) == 1 or setup.model.alone
        alone = alone or (leader is not None and not leader.moves)
        goes, words = "next", "go to the next node after an error"
        if scenario.proxy is not None:
            goes, words = "stay", "go by the proxy"
        elif alone:
            goes, words = "stay", "stay with their node"
        scenario = with_values(scenario, {"workload.clients": {"on_error": goes} | _CLIENTS})
        notes.append(
            f"clients {words}, and wait 5 s for an answer and 2 s for a connection (the scenario "
            "does not say)"
        )
    elif setup.model.alone:
        scenario = staying(scenario)
        notes.append("clients stay with their node, as no other server has its data")
    return DrillSetting(labels=labels, scenario=scenario, setup=setup, notes=tuple(notes))


def _setup_of(scenario: Scenario) -> Setup:
    """Of a run in which something happens: where the leader moves, clients may go on."""
    if "kill" not in find_model(scenario.cluster.model).faults:
        return setup_of(scenario)
    kill = FaultTable(what="kill", at_s=0.0, node=scenario.node_names[-1])
    return setup_of(scenario.model_copy(update={"fault_tables": (kill,)}))


def staying(scenario: Scenario) -> Scenario:
    """The same with clients that stay with their node."""

    def stay(one: Any, name: str) -> Any:
        policy = getattr(one, name)
        own = policy and policy.model_copy(update={"on_error": "stay", "nodes": None})
        return one.model_copy(update={name: own})

    load = stay(scenario.workload, "policy")
    groups = tuple(stay(group, "clients") for group in load.groups)
    return scenario.model_copy(update={"workload": load.model_copy(update={"groups": groups})})
