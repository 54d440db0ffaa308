"""Which shipped pack is nearest to the machines and the load of a scenario, and what that costs.

A plain rule, with nothing fitted: every difference counts in doublings, and they are added up.
Twice as many cores, or half of them, are a doubling. So is a round trip twice as long as the
longest that the pack was checked with; inside its range nothing counts. Another product counts as
a doubling, another version of the same product as half of one. Only what the scenario says itself
counts, and only what the pack tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import exp, inf, log2, sqrt
from statistics import NormalDist, median
from typing import Any

from simrep.contract.card import package_of
from simrep.contract.model import Model
from simrep.contract.registry import find_model, model_names
from simrep.contract.setup import Setup, setup_of
from simrep.measure.units import number
from simrep.runs.model_error import model_error
from simrep.runs.prediction import CONFIDENCE, factors_of, prediction_interval
from simrep.scenario.cluster import MachineTable
from simrep.scenario.pack import Pack, load_pack, pack_names
from simrep.scenario.prior import prior_of
from simrep.scenario.schema import Scenario

__all__ = ["Difference", "NearPack", "near_packs", "pack_notice", "shipped_packs"]

_UNITS = {"nodes": "nodes", "clients": "clients", "rtt_ms": "ms of round trip",
          "transaction_bytes": "bytes per transaction"}  # fmt: skip
"""What of a ``[range]`` counts; rows are in the bytes."""
_LEAST = {"rtt_ms": 1.0}
"""Shorter round trips are those of a LAN, and count as equal: servers take longer."""
_PRODUCT, _VERSION = 1.0, 0.5
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Difference:
    """In what a scenario differs from where a pack comes from.

    Attributes
    ----------
    what : str
        The pack first, in words.
    doublings : float
        How much it counts.
    """

    what: str
    doublings: float


@dataclass(frozen=True, slots=True)
class NearPack:
    """A pack beside a scenario.

    Attributes
    ----------
    pack : Pack
    differences : tuple of Difference
        What counts, the largest first; empty for a pack that was checked with such a cluster.
    error : (float, float) or None
        90 % of the measurements on the machine of the pack lie between so many times what is
        simulated with it: the error of the model, as its fits tell it. None without a fit.
    spread : float or None
        From machine to machine a cost varies by this factor, either way (90 %): the median over
        the costs of the pack, of what their priors say. None if none of them has a prior.
    """

    pack: Pack
    differences: tuple[Difference, ...]
    error: tuple[float, float] | None
    spread: float | None

    @property
    def name(self) -> str:
        """Of the pack."""
        return self.pack.card.name

    @property
    def doublings(self) -> float:
        """How far it is away: the sum of the differences."""
        return sum(one.doublings for one in self.differences)

    @property
    def home(self) -> str:
        """The error in words."""
        if self.error is None:
            return "not told"
        low, high = self.error
        return f"{100 * (low - 1):+.0f} to {100 * (high - 1):+.0f} %"

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "name": self.name,
            "model": self.pack.card.model,
            "machine": self.pack.card.machine,
            "doublings": self.doublings,
            "differences": {one.what: one.doublings for one in self.differences},
            "error": None if self.error is None else list(self.error),
            "spread": self.spread,
        }


def shipped_packs(models: Iterable[type[Model]]) -> list[Pack]:
    """All packs that ship with some models, by name."""
    packages = sorted({package_of(model) for model in models})
    installed = model_names()
    packs = [load_pack(name, package) for package in packages for name in pack_names(package)]
    return [pack for pack in packs if pack.card.model in installed]


def near_packs(scenario: Scenario) -> list[NearPack]:
    """The shipped packs of the model, the nearest first; those of others if it has none.

    Of equally near ones the pack comes first whose model error is smaller; one without a fit, which
    does not tell it, comes last. Packs of another model count by the share of the costs that both
    models have: half of them is a doubling.
    """
    setup = setup_of(scenario)
    packs = shipped_packs([setup.model])
    own = [pack for pack in packs if pack.card.model == setup.model.name]
    strangers = {name: find_model(name) for name in {p.card.model for p in packs if not own}}
    near = []
    for pack in own or packs:
        counted = _differences(scenario, setup, pack, strangers.get(pack.card.model))
        differences = sorted(counted, key=lambda one: -one.doublings)
        if differences and differences[0].doublings == inf:  # they have no cost in common
            continue
        near.append(
            NearPack(pack, tuple(differences), _error(pack, scenario), _spread(setup, pack))
        )
    return sorted(near, key=lambda one: (round(one.doublings, 6), _fitted(one.pack), one.name))


def pack_notice(scenario: Scenario, file: str = "SCENARIO.toml") -> str:
    """Which pack is nearest to a scenario that says nothing of its costs; empty for others.

    ``file`` is that of the scenario, for the command that tells more.
    """
    cluster = scenario.cluster
    if cluster.pack is not None or cluster.costs or not (packs := near_packs(scenario)):
        return ""
    nearest = packs[0]
    differs = "; ".join(one.what for one in nearest.differences)
    home = "no fit states the error of the model on its own machine"
    if nearest.error is not None:
        home = f"90 % of the measurements on its own machine lie within {nearest.home} of it"
    elsewhere = ""
    if nearest.spread is not None:
        elsewhere = (
            f"; from machine to machine a cost varies by a factor of {nearest.spread:.2g} either "
            "way (median of the priors)"
        )
    return (
        f"no pack: all costs are defaults. The nearest that ships is {nearest.name!r} "
        f"({differs or 'checked with such a cluster'}): {home}{elsewhere}. "
        f"simrep packs {file} estimates the effect on the throughput"
    )


def _differences(
    scenario: Scenario, setup: Setup, pack: Pack, other: type[Model] | None
) -> Iterator[Difference]:
    """What counts; ``other`` is the model of the pack, if it is another one."""
    cores = _cores(scenario, setup)
    if cores is not None and pack.machine.cores not in {None, cores}:
        assert pack.machine.cores is not None
        yield Difference(
            f"{pack.machine.cores} cores, here {cores}", abs(log2(pack.machine.cores / cores))
        )
    here, there = scenario.cluster.version, pack.card.version
    if here is not None and there is not None and here != there:
        same = here.partition("-")[0] == there.partition("-")[0]
        yield Difference(f"{there}, here {here}", _VERSION if same else _PRODUCT)
    factors = factors_of(setup)
    if not scenario.network.model_fields_set:
        factors.pop("rtt_ms", None)  # the pack tells it
    for name, unit in _UNITS.items():
        span, value = getattr(pack.validated, name), factors.get(name)
        if span is None or not value:
            continue
        low, high = (max(end, _LEAST.get(name, 0.0)) for end in span)
        value = max(value, _LEAST.get(name, 0.0))
        beyond = max(value / high, low / value if low else 0.0)
        if beyond > 1.0 + _ROUNDING:
            checked = " to ".join(map(number, span if span[1] > span[0] else span[:1]))
            yield Difference(f"{checked} {unit}, here {number(value)}", log2(beyond))
    if other is not None:
        ours = set(type(setup.costs).model_fields)
        both = ours & set(other.Costs.model_fields)
        yield Difference(
            f"model {other.name!r}, which has {len(both)} of the {len(ours)} costs here",
            log2(len(ours) / len(both)) if both else inf,
        )


def _cores(scenario: Scenario, setup: Setup) -> int | None:
    """Cores of the machine of the first node, if the scenario says any; None if it does not."""
    tables: list[MachineTable] = [scenario.cluster.machine, *scenario.hosts, *scenario.nodes]
    if all(table.cores is None for table in tables):
        return None
    return setup.machines[setup.placement[0]].cores


def _fitted(pack: Pack) -> float:
    """How far off the model was in the fits of a pack, at the end of the interval."""
    if not pack.fits:
        return inf
    span = prediction_interval([1.0], *_discrepancy(pack))
    assert span is not None
    return span[1]


def _discrepancy(pack: Pack) -> tuple[float, float]:
    freedom = sum(fit.freedom for fit in pack.fits)
    squares = sum(fit.freedom * fit.discrepancy**2 for fit in pack.fits)
    return sqrt(squares / freedom), freedom


def _error(pack: Pack, scenario: Scenario) -> tuple[float, float] | None:
    """The interval of a measurement that only the error of the model widens, on processors."""
    if not pack.fits:
        return None
    discrepancy, freedom = _discrepancy(pack)
    error = model_error(
        "throughput_tps",
        network=0.0,
        shared=scenario.cluster.shared_host,
        discrepancy=discrepancy,
        freedom=freedom,
    )
    return prediction_interval([1.0], error.relative, error.freedom)


def _spread(setup: Setup, pack: Pack) -> float | None:
    fields = type(setup.costs).model_fields
    priors = [prior_of(fields[name]) for name in pack.costs if name in fields]
    sigmas = [prior.sigma for prior in priors if prior is not None]
    if not sigmas:
        return None
    return exp(NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0) * median(sigmas))
