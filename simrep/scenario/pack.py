"""Packs: calibrated costs of one machine, where they come from and in what range they hold."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError, model_validator

from simrep.errors import ScenarioError, nearest
from simrep.scenario.cluster import MachineTable
from simrep.scenario.problems import ProblemsError, combined, problems
from simrep.scenario.table import (
    Freedom,
    Microseconds,
    Milliseconds,
    Name,
    NotNegative,
    Positive,
    Real,
    Replications,
    Seed,
    Spread,
    Table,
    Words,
)
from simrep.user_files import parse_toml, read_bytes, text_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Card",
    "FitTable",
    "FittedCell",
    "FittedCost",
    "Pack",
    "RangeTable",
    "Span",
    "load_pack",
    "pack_names",
]


Correlation = Annotated[float, Field(strict=True, ge=-1, le=1, allow_inf_nan=False)]


class FittedCost(Table):
    """A cost as a fit has left it; its value stands under ``[costs]`` or ``[machine]``."""

    name: Name = Field(description="cost of the model, or machine.TRAIT")
    unit: str = Field("", description="of its value")
    prior: Positive = Field(description="what it was expected to be")
    sigma: Annotated[Spread, Field(gt=0)] = Field(
        description="standard deviation of the logarithm of that"
    )
    standard_error: Spread = Field(description="of the logarithm of its value")
    known: Literal["data", "together", "prior"] = Field(
        description="who tells it: the cells, the cells together with other costs, or the prior"
    )
    partners: tuple[Name, ...] = Field((), description="the other costs, if together")
    correlation: tuple[Correlation, ...] = Field(
        (), description="of its logarithm with those of the costs before it"
    )


class FittedCell(Table):
    """A figure that a fit had to explain."""

    label: Words = Field(description="column and factors")
    measured: Real = Field(description="what was measured")
    fitted: Real = Field(description="what is simulated with the fitted costs")


class FitTable(Table):
    """A ``[[fit]]``: which cells of which dataset told what of the costs, and how well they fit."""

    dataset: Name = Field(description="where the cells come from")
    series: Name = Field(description="which measured system of it")
    data: Name = Field(description="SHA-256 of its data file")
    simrep: Name = Field(description="version that fitted")
    method: str = Field("", description="where the standard errors come from")
    seed: Seed = Field(description="root of the random numbers")
    replications: Replications = Field(description="simulated runs of each cell")
    noise: Annotated[Spread, Field(gt=0)] = Field(
        description="relative standard deviation of a measurement, as assumed"
    )
    discrepancy: Spread = Field(
        description="relative error of the model beyond the noise: standard deviation of the "
        "logarithm"
    )
    freedom: Freedom = Field(description="on how many cells that rests")
    costs: tuple[FittedCost, ...] = Field(min_length=1, description="what was fitted")
    cells: tuple[FittedCell, ...] = Field(min_length=1, description="what it was fitted to")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        found = [
            ScenarioError(
                f"costs.{position}.correlation",
                f"has {len(cost.correlation)} numbers, needs {position}",
                "one for each of the costs before it",
            )
            for position, cost in enumerate(self.costs)
            if len(cost.correlation) != position
        ]
        if found:
            raise ProblemsError(found)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fitted costs."""
        return tuple(cost.name for cost in self.costs)

    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the logarithms of the costs."""
        import numpy as np

        errors = np.array([cost.standard_error for cost in self.costs])
        correlation = np.eye(len(errors))
        for row, cost in enumerate(self.costs):
            correlation[row, :row] = correlation[:row, row] = cost.correlation
        return np.asarray(correlation * np.outer(errors, errors), np.float64)


def _pair(value: object) -> object:
    """A range is written as ``[lowest, highest]``."""
    if isinstance(value, Sequence) and len(value) == 2 and all(map(_is_number, value)):
        low, high = value
        if low <= high:
            return (float(low), float(high))
    raise ScenarioError("", f"must be [lowest, highest], given {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


Span = Annotated[tuple[NotNegative, NotNegative], BeforeValidator(_pair)]


class RangeTable(Table):
    """``[range]``: what the measured cells covered, those that were predicted included."""

    nodes: Span | None = Field(None, description="nodes of the cluster")
    clients: Span | None = Field(None, description="clients of a closed loop, on all nodes")
    rtt_ms: Span | None = Field(None, description="longest way between two nodes and back")
    rows: Span | None = Field(None, description="rows that the largest transaction writes")
    transaction_bytes: Span | None = Field(None, description="row events of that transaction")


class Card(Table):
    """The ``[pack]`` table: what was measured, and where."""

    name: Name = Field(description="name of the pack")
    model: Name = Field(description="model whose costs these are")
    version: Name | None = Field(
        None, description="product version that was measured, as cluster.version has it"
    )
    description: str = Field("", description="what it stands for")
    machine: str = Field("", description="the machine it was measured on")
    source: str = Field("", description="who published or measured the data")
    fitted_on: str = Field("", description="the cells that it was fitted on")


class PackNetwork(Table):
    """The ``[network]`` table of a pack."""

    rtt_ms: Milliseconds | None = Field(None, description="round trip between nodes there")
    relay_us: Microseconds = Field(0.0, description="CPU of its delay relay per delayed message")


class Pack(Table):
    """A pack file."""

    card: Card = Field(alias="pack", description="where it comes from")
    machine: MachineTable = Field(default_factory=MachineTable, description="traits of the machine")
    network: PackNetwork = Field(default_factory=PackNetwork, description="its network")
    costs: dict[str, Any] = Field(default_factory=dict, description="costs of the model")
    validated: RangeTable = Field(
        default_factory=RangeTable, alias="range", description="what it was checked in"
    )
    fits: tuple[FitTable, ...] = Field((), alias="fit", description="where its costs come from")

    _digest: str = PrivateAttr(default="")

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return self._digest


def pack_names(package: str) -> list[str]:
    """Packs that ship with the models of a package."""
    folder = files(package) / "packs"
    if not folder.is_dir():
        return []
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def load_pack(name: str, package: str, folder: Path | None = None) -> Pack:
    """Read a pack: a shipped one by its name, or a file, which ends in ``.toml``, by its path.

    Shipped packs lie in the package of the model; relative paths start in ``folder``, or where the
    command runs. What is no pack is refused.
    """
    path, where = "cluster.pack", f"cluster.pack, {name!r}"
    if name.endswith(".toml"):
        content = read_bytes((folder or Path()) / name, where)
    elif name in (shipped := pack_names(package)):
        content = (files(package) / "packs" / f"{name}.toml").read_bytes()
    else:
        hint = nearest(name, shipped) or "none is shipped"
        raise ScenarioError(path, f"no pack {name!r}", f"{hint}; a file is given as *.toml")
    try:
        pack = Pack.model_validate(parse_toml(text_in(content, where), where))
    except ValidationError as error:
        found = combined(problems(error, Pack), "file")
        raise ScenarioError(path, f"pack {name!r}: {found}") from error
    pack._digest = sha256(content).hexdigest()
    return pack
