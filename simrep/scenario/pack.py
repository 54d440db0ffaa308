"""Packs: calibrated costs of one machine, with the card that says where they come from."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr, ValidationError

from simrep.errors import ScenarioError, nearest
from simrep.scenario.cluster import MachineTable
from simrep.scenario.pack_fit import FitTable, RangeTable
from simrep.scenario.problems import combined, problems
from simrep.scenario.table import Name, NotNegative, Table

__all__ = ["Card", "Pack", "load_pack", "pack_names"]


class Card(Table):
    """The ``[pack]`` table: what was measured, and where."""

    name: Name = Field(description="name of the pack")
    model: Name = Field(description="model whose costs these are")
    description: str = Field("", description="what it stands for")
    machine: str = Field("", description="the machine it was measured on")
    source: str = Field("", description="who published or measured the data")
    fitted_on: str = Field("", description="the cells that it was fitted on")


class PackNetwork(Table):
    """The ``[network]`` table of a pack."""

    rtt_ms: NotNegative | None = Field(None, description="round trip between nodes there")
    relay_us: NotNegative = Field(0.0, description="CPU of its delay relay per delayed message")


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
    """Read a pack.

    Parameters
    ----------
    name : str
        Of a shipped pack, or the path of a file, which ends in ``.toml``.
    package : str
        Package of the model, beside which its packs lie.
    folder : Path, optional
        Where relative paths start; default: the working directory.

    Raises
    ------
    ScenarioError
        If there is none, or it is not a pack.
    """
    path = "cluster.pack"
    if name.endswith(".toml"):
        try:
            content = ((folder or Path()) / name).read_bytes()
        except OSError as error:
            raise ScenarioError(path, f"cannot read {name!r}: {error.strerror}") from error
    elif name in (shipped := pack_names(package)):
        content = (files(package) / "packs" / f"{name}.toml").read_bytes()
    else:
        hint = nearest(name, shipped) or "none is shipped"
        raise ScenarioError(path, f"no pack {name!r}", f"{hint}; a file is given as *.toml")
    try:
        pack = Pack.model_validate(tomllib.loads(content.decode()))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(path, f"{name!r} is not valid TOML: {error}") from error
    except ValidationError as error:
        found = combined(problems(error, Pack), "file")
        raise ScenarioError(path, f"pack {name!r}: {found}") from error
    pack._digest = sha256(content).hexdigest()
    return pack
