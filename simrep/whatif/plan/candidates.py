"""Products and layouts at given regions, as scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simrep.contract.model import KEEPS, Deployment, Keeps, Model
from simrep.contract.registry import find_model, usable_models
from simrep.contract.roles import APPLIERS, spellings_of
from simrep.errors import ScenarioError
from simrep.scenario import Scenario, with_values
from simrep.whatif.plan.regions import RoundTrips

__all__ = ["Candidate", "candidates", "deployed_cluster", "deployments"]

_USUAL_APPLIERS = 4  # where the scenario says nothing
_ZONES_MS = 1.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A product with a layout.

    Attributes
    ----------
    product : str
    layout : tuple of str
        The region of each server; those that clients write to come first.
    writers : int
        How many servers clients write to.
    keeps : {"all", "majority", "replica", "none"}
        Which copies an answered transaction surely has.
    scenario : Scenario
    """

    product: str
    layout: tuple[str, ...]
    writers: int
    keeps: Keeps
    scenario: Scenario

    @property
    def servers(self) -> str:
        """How many servers stand where."""
        return ", ".join(
            f"{self.layout.count(region)} {region}" for region in dict.fromkeys(self.layout)
        )

    @property
    def _hit(self) -> int:
        """Servers that go with a region: the one that writes, or the largest where several do."""
        lost = self.layout[:1] if self.writers == 1 else self.layout
        return max(map(self.layout.count, lost))

    @property
    def keeps_data(self) -> bool:
        """Whether every answered transaction survives the loss of the region that writes."""
        if self.keeps == "replica":
            return self._hit == 1
        return self.keeps == "all" or (
            self.keeps == "majority" and 2 * self._hit <= len(self.layout)
        )

    @property
    def goes_on(self) -> bool:
        """Whether the other regions then take writes without an operator."""
        return self.keeps in {"all", "majority"} and 2 * self._hit < len(self.layout)

    @property
    def _who(self) -> str:
        """Who makes another server the one that takes writes, where the others do not."""
        cluster = self.scenario.cluster
        model = find_model(cluster.model)
        leader = model.writers(model.Options.model_validate(cluster.options))
        return "a manager" if leader is not None and leader.moves else "hand"

    @property
    def loss(self) -> str:
        """The consequence of losing the region that writes, in words."""
        if self.keeps == "none":
            return f"transactions that were not sent yet are lost, failover by {self._who}"
        lost = (
            "nothing answered is lost" if self.keeps_data else "answered transactions may be lost"
        )
        if self.keeps == "replica":
            return f"{lost}, failover by {self._who}"
        if self.goes_on:
            return f"the others go on, {lost}"
        return f"the others stop until an operator decides, {lost}"


def candidates(
    scenario: Scenario,
    regions: Sequence[str],
    writes: Sequence[str],
    trips: RoundTrips,
    *,
    zone_rtt_ms: float = _ZONES_MS,
) -> tuple[list[Candidate], list[str]]:
    """What can be built in the regions, and what cannot and why.

    Parameters
    ----------
    scenario : Scenario
        Its load, machine, pack and run are kept; options and version too, for its own product.
    regions, writes : sequence of str
        Where servers stand, and at which of them clients write.
    trips : RoundTrips
    zone_rtt_ms : float
        Round trip between two servers of one region, in milliseconds.
    """
    _check(scenario, regions, writes)
    found: list[Candidate] = []
    left_out: list[str] = []
    for model, product in deployments():
        if len(writes) > 1 and product.writers is None:
            left_out.append(f"{product.name}: takes writes in one region only.")
            continue
        for here in product.here if len(writes) == 1 else product.here[:1]:
            ordered = [*writes, *(region for region in regions if region not in writes)]
            layout = tuple(
                region for region in ordered for _ in range(here if region in writes else 1)
            )
            if len(writes) > 1:  # clients go to one server of each region
                layout = tuple(ordered)
            if product.keeps in {"all", "majority"} and len(layout) < 3:
                left_out.append(f"{product.name}: {len(layout)} servers have no majority.")
                continue
            own = product.options if len(writes) == 1 else product.writers
            changes = _changes(scenario, model, own or {}, layout, writes, trips, zone_rtt_ms)
            changed = with_values(scenario, changes)
            found.append(Candidate(product.name, layout, len(writes), product.keeps, changed))
    return found, list(dict.fromkeys(left_out))


def deployed_cluster(
    scenario: Scenario, model: type[Model], own: Mapping[str, Any]
) -> dict[str, Any]:
    """The table ``[cluster]`` of a product on the machines of a scenario, without its nodes.

    Options of the scenario are kept where it is about the same product; of another one, only the
    number of its appliers is. They stand above those of the deployment, but for a product that is
    deployed in several ways.
    """
    given = scenario.cluster
    spelled = spellings_of(APPLIERS, find_model(given.model).Options)
    chosen = next((given.options[name] for name in spelled if given.options.get(name)), None)
    appliers = dict.fromkeys(spellings_of(APPLIERS, model.Options)[:1], chosen or _USUAL_APPLIERS)
    same = given.model == model.name
    kept = {
        name: value
        for name, value in (given.options if same else {}).items()
        if name not in spelled
    }
    several = len(model.deployments()) > 1
    cluster: dict[str, Any] = {
        "model": model.name,
        "options": {**kept, **appliers, **own} if several else {**own, **kept, **appliers},
        "machine": given.machine.model_dump(exclude_none=True),
    }
    if given.pack is not None:
        cluster["pack"] = given.pack
    if same and given.version is not None:
        cluster["version"] = given.version
    if same and given.costs:
        cluster["costs"] = dict(given.costs)
    return cluster


def deployments() -> list[tuple[type[Model], Deployment]]:
    """What the installed models tell, the safest first, then by their names."""
    told = [(model, own) for model in usable_models() for own in model.deployments()]
    return sorted(told, key=lambda one: KEEPS.index(one[1].keeps))


def _check(scenario: Scenario, regions: Sequence[str], writes: Sequence[str]) -> None:
    for name, given in (("regions", regions), ("writes", writes)):
        if not given:
            raise ScenarioError(name, "needs at least one region", "e.g. us-east-1")
        twice = sorted({one for one in given if list(given).count(one) > 1})
        if twice:
            raise ScenarioError(name, f"{twice[0]!r} is there twice")
    if len(regions) < 2:
        raise ScenarioError("regions", "needs at least two of them")
    for one in writes:
        if one not in regions:
            raise ScenarioError("writes", f"{one!r} is not among the regions", ", ".join(regions))
    if scenario.workload.groups:
        raise ScenarioError(
            "workload.group", "clients are given node by node", "set workload.threads or rate_tps"
        )


def _changes(
    scenario: Scenario,
    model: type[Model],
    own: Mapping[str, Any],
    layout: Sequence[str],
    writes: Sequence[str],
    trips: RoundTrips,
    zone_rtt_ms: float,
) -> dict[str, Any]:
    """What of the scenario a candidate changes."""
    names = [f"n{position + 1}" for position in range(len(layout))]
    writers = [names[layout.index(region)] for region in writes]
    network = {
        name: value
        for name, value in scenario.source.get("network", {}).items()
        if name in {"jitter", "bandwidth_mbit", "loss", "tcp"}
    }
    return {
        "cluster": deployed_cluster(scenario, model, own),
        "host": [],
        "node": [{"name": n, "site": region} for n, region in zip(names, layout, strict=True)],
        "network": {
            **network,
            "rtt_ms": zone_rtt_ms,
            "path": [
                {"from": one, "to": other, "one_way_ms": rtt_ms / 2.0}
                for (one, other), rtt_ms in trips.rtt_ms.items()
            ],
        },
        "workload.nodes": writers,
    }
