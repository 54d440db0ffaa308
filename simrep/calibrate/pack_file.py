"""Writing fitted costs into a pack file, whose card and comments stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import tomlkit

from simrep.errors import ScenarioError
from simrep.experiment.model import find_model
from simrep.experiment.model_card import package_of
from simrep.experiment.dataset import Dataset
from simrep.scenario import load
from simrep.scenario.pack import load_pack

__all__ = ["pack_path", "with_costs"]


def pack_path(dataset: Dataset, series: str) -> Path:
    """The pack file that the scenario of a series names.

    Raises
    ------
    ScenarioError
        When it names none, or that of another model.
    """
    [chosen] = [one for one in dataset.definition.series if one.name == series]
    path = dataset.scenario_path(chosen)
    cluster = load(path).cluster
    if cluster.pack is None:
        raise ScenarioError("cluster.pack", f"{path.name} names no pack to write costs into")
    package = package_of(find_model(cluster.model))
    card = load_pack(cluster.pack, package, path.parent).card
    if card.model != cluster.model:
        raise ScenarioError(
            "cluster.pack",
            f"{cluster.pack!r} holds costs of model {card.model!r}: those of {cluster.model!r} "
            "do not belong into it",
        )
    if cluster.pack.endswith(".toml"):
        return path.parent / cluster.pack
    return Path(str(files(package) / "packs" / f"{cluster.pack}.toml"))


def with_costs(text: str, costs: Mapping[str, float]) -> str:
    """The text of a pack file with other costs.

    Parameters
    ----------
    text : str
        TOML of the pack.
    costs : mapping of str to float
        Values for its ``[costs]``, or for its ``[machine]`` if named ``machine.TRAIT``; those of
        other names stay. Rounded to four digits, which is more than a fit knows.
    """
    document = tomlkit.parse(text)
    for full_name, value in costs.items():
        name = full_name.removeprefix("machine.")
        table = document.setdefault("costs" if name == full_name else "machine", tomlkit.table())
        table[name] = float(f"{value:.4g}")
    return tomlkit.dumps(document)
