"""Products and layouts at given regions, as scenarios."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from simrep.errors import ScenarioError
from simrep.scenario import Scenario, with_values
from simrep.whatif.plan.regions import RoundTrips

__all__ = ["Candidate", "candidates"]

_APPLIERS = 4  # MySQL's default
_APPLIER_OPTIONS = (
    *("wsrep_slave_threads", "wsrep_applier_threads", "replica_parallel_workers"),
    *("slave_parallel_workers", "slave_parallel_threads"),
)
_ZONES_MS = 1.0

Keeps = Literal["all", "majority", "replica", "none"]


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
    def loss(self) -> str:
        """What happens when the region that writes is lost."""
        if self.writers > 1:
            left = len(self.layout) - max(map(self.layout.count, self.layout))
        else:
            left = len(self.layout) - self.layout.count(self.layout[0])
        here = len(self.layout) - left
        if self.keeps == "none":
            return "what was not sent yet is lost, failover by hand"
        if self.keeps == "replica":
            kept = "answered transactions may be" if here > 1 else "nothing answered is"
            return f"{kept} lost, failover by hand"
        if 2 * left > len(self.layout):
            return "the others go on, nothing answered is lost"
        if self.keeps == "majority" and 2 * here > len(self.layout):
            return "the others stop, answered transactions may be lost"
        return "the others stop until somebody decides, nothing answered is lost"


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
    for product in _products():
        if len(writes) > 1 and "writers" not in product:
            left_out.append(f"{product['name']}: takes writes in one region only.")
            continue
        for here in product["here"] if len(writes) == 1 else product["here"][:1]:
            ordered = [*writes, *(region for region in regions if region not in writes)]
            layout = tuple(
                region for region in ordered for _ in range(here if region in writes else 1)
            )
            if len(writes) > 1:  # clients go to one server of each region
                layout = tuple(ordered)
            if product["keeps"] in {"all", "majority"} and len(layout) < 3:
                left_out.append(f"{product['name']}: {len(layout)} servers have no majority.")
                continue
            changes = _changes(scenario, product, layout, writes, trips, zone_rtt_ms)
            found.append(
                Candidate(
                    product["name"],
                    layout,
                    len(writes),
                    product["keeps"],
                    with_values(scenario, changes),
                )
            )
    return found, list(dict.fromkeys(left_out))


def _products() -> Iterator[dict[str, Any]]:
    text = files("simrep.whatif.plan").joinpath("products.toml").read_text(encoding="utf-8")
    yield from tomllib.loads(text)["product"]


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
    product: Mapping[str, Any],
    layout: Sequence[str],
    writes: Sequence[str],
    trips: RoundTrips,
    zone_rtt_ms: float,
) -> dict[str, Any]:
    """What of the scenario a candidate changes."""
    given = scenario.cluster
    names = [f"n{position + 1}" for position in range(len(layout))]
    writers = [names[layout.index(region)] for region in writes]
    appliers = next(
        (given.options[name] for name in _APPLIER_OPTIONS if given.options.get(name)), _APPLIERS
    )
    own = product["options"] if len(writes) == 1 else product["writers"]
    same = given.model == product["model"]
    kept = {
        name: value
        for name, value in (given.options if same else {}).items()
        if name not in _APPLIER_OPTIONS
    }
    cluster: dict[str, Any] = {
        "model": product["model"],
        "options": {**kept, product["appliers"]: appliers, **own},
        "machine": given.machine.model_dump(exclude_none=True),
    }
    if given.pack is not None:
        cluster["pack"] = given.pack
    if same and given.version is not None:
        cluster["version"] = given.version
    if same and given.costs:
        cluster["costs"] = dict(given.costs)
    network = {
        name: value
        for name, value in scenario.source.get("network", {}).items()
        if name in {"jitter", "bandwidth_mbit", "loss", "tcp"}
    }
    return {
        "cluster": cluster,
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
