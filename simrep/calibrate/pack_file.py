"""Writing what a fit has found into a pack file, whose card and comments stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Array

from simrep.calibrate.fit import FitResult
from simrep.calibrate.misfit import MACHINE
from simrep.contract.card import package_of
from simrep.contract.registry import find_model
from simrep.contract.setup import setup_of
from simrep.data.dataset import Dataset
from simrep.data.definition import SeriesTable
from simrep.errors import ScenarioError
from simrep.runs.prediction import spans
from simrep.scenario import load, with_values
from simrep.scenario.options import in_product_spelling
from simrep.scenario.pack import load_pack
from simrep.user_files import read_text

__all__ = ["calibrated", "data_digest", "new_pack", "pack_path", "with_costs", "with_range"]


def pack_path(dataset: Dataset, series: str) -> Path:
    """The pack file that the scenario of a series names; that of another model is refused."""
    path = dataset.scenario_path(_series(dataset, series))
    cluster = load(path).cluster
    if cluster.pack is None:
        raise ScenarioError("cluster.pack", f"{path.name} names no pack to write costs into")
    package = package_of(find_model(cluster.model))
    card = load_pack(cluster.pack, package, path.parent).card
    if card.model != cluster.model:
        raise ScenarioError(
            "cluster.pack",
            f"{cluster.pack!r} holds costs of model {card.model!r}, not of {cluster.model!r}",
        )
    if cluster.pack.endswith(".toml"):
        return path.parent / cluster.pack
    return Path(str(files(package) / "packs" / f"{cluster.pack}.toml"))


def new_pack(dataset: Dataset, result: FitResult, name: str) -> str:
    """The text of a pack of its own: the scenario's pack under another name, or a new one."""
    series = _series(dataset, result.series)
    try:
        document = tomlkit.parse(read_text(pack_path(dataset, series.name), "pack"))
    except ScenarioError:
        document = _from_scenario(dataset, series)
    card: Any = document["pack"]
    card["name"] = name
    card["source"] = dataset.definition.source
    card["fitted_on"] = f"{dataset.name}: {len(result.residuals)} figures of {series.title}"
    return calibrated(tomlkit.dumps(document), dataset, result)


def _from_scenario(dataset: Dataset, series: SeriesTable) -> tomlkit.TOMLDocument:
    """A pack of what a scenario comes down to: its machine, and the costs that are no defaults."""
    setup = setup_of(load(dataset.scenario_path(series)))
    document = tomlkit.document()
    document["pack"] = {"model": setup.model.name, "description": series.title}
    document["machine"] = setup.scenario.cluster.machine.model_dump(exclude_none=True)
    if setup.pack is not None:
        document["network"] = setup.pack.network.model_dump(exclude_none=True)
    defaults = in_product_spelling(setup.model.Costs())
    document["costs"] = {
        name: value
        for name, value in in_product_spelling(setup.costs).items()
        if value != defaults[name]
    }
    return document


def calibrated(text: str, dataset: Dataset, result: FitResult) -> str:
    """The text of a pack with fitted costs, how sure they are, and the range of the dataset.

    All cells of the series widen the range, also those that were predicted.
    """
    series = _series(dataset, result.series)
    base = load(dataset.scenario_path(series))
    covered = spans(
        setup_of(with_values(base, cell.settings)) for cell in dataset.cells[series.name]
    )
    text = with_range(with_costs(text, result.costs), covered)
    document = tomlkit.parse(text)
    entry = _entry(dataset, result)
    kept = [
        fit
        for fit in document.get("fit", [])
        if (fit["dataset"], fit["series"]) != (dataset.name, series.name)
    ]
    fits = tomlkit.aot()
    for fit in [*kept, entry]:
        fits.append(fit)
    document["fit"] = fits
    return tomlkit.dumps(document)


def with_costs(text: str, costs: Mapping[str, float]) -> str:
    """The text of a pack file with other costs, in ``[machine]`` if named ``machine.TRAIT``.

    Those of other names stay. Values are rounded to four digits, which is more than a fit knows.
    """
    document = tomlkit.parse(text)
    for full_name, value in costs.items():
        name = full_name.removeprefix(MACHINE)
        table: Any = document.setdefault("costs" if name == full_name else "machine", {})
        table[name] = _rounded(value, 4)
    return tomlkit.dumps(document)


def with_range(text: str, covered: Mapping[str, tuple[float, float]]) -> str:
    """The text of a pack file whose ``[range]`` covers these spans, too."""
    document = tomlkit.parse(text)
    table: Any = document.setdefault("range", {})
    for name, (low, high) in covered.items():
        before = table.get(name, (low, high))
        table[name] = [_rounded(min(low, before[0]), 9), _rounded(max(high, before[1]), 9)]
    return tomlkit.dumps(document)


def data_digest(dataset: Dataset) -> str:
    """SHA-256 of the data file of a dataset."""
    return sha256((dataset.folder / dataset.definition.data).read_bytes()).hexdigest()


def _series(dataset: Dataset, name: str) -> SeriesTable:
    [chosen] = [one for one in dataset.definition.series if one.name == name]
    return chosen


def _entry(dataset: Dataset, result: FitResult) -> dict[str, Any]:
    """A ``[[fit]]`` of a pack."""
    return {
        "dataset": dataset.name,
        "series": result.series,
        "data": data_digest(dataset),
        "simrep": version("simrep"),
        "method": result.method,
        "seed": result.seed,
        "replications": result.replications,
        "noise": _rounded(result.noise, 3),
        "discrepancy": _rounded(result.discrepancy.relative, 3),
        "freedom": _rounded(result.discrepancy.freedom, 3),
        "costs": _lines(_costs(result)),
        "cells": _lines(
            {
                "label": one.label,
                "measured": _rounded(one.measured, 5),
                "fitted": _rounded(one.fitted, 5),
            }
            for one in result.residuals
        ),
    }


def _costs(result: FitResult) -> Iterable[dict[str, Any]]:
    for row, one in enumerate(result.estimates):
        content = {
            "name": one.name,
            "unit": one.unit,
            "prior": _rounded(one.prior, 4),
            "sigma": _rounded(one.sigma, 4),
            "standard_error": _rounded(one.standard_error, 3),
            "known": one.known,
        }
        if one.partners:
            content["partners"] = list(one.partners)
        content["correlation"] = [round(tie, 3) for tie in result.correlation[row][:row]]
        yield content


def _lines(rows: Iterable[Mapping[str, Any]]) -> Array:
    """A list with a table on each line."""
    lines = tomlkit.array()
    for row in rows:
        table = tomlkit.inline_table()
        table.update(row)
        lines.append(table)
    return lines.multiline(multiline=True)


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
