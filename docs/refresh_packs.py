"""Put the numbers of the packs that ship into their files and cards.

``python docs/refresh_packs.py`` writes into every pack the range of the cells that it was checked
with, and into its card (``models/packs/NAME.md``) what the pack holds: costs with their standard
errors, the cells of the fits, the range. Nothing is simulated; the prose of a card is written by
hand, above the numbers. A test fails while they are out of date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import tomlkit

from simrep import Dataset, datasets, load, load_dataset, with_values
from simrep.calibrate.pack_file import with_range
from simrep.contract.setup import Setup, setup_of
from simrep.runs.prediction import spans
from simrep.scenario.pack import FitTable, FittedCost, Pack, load_pack, pack_names

__all__ = ["pages"]

PACKS = Path(__file__).parents[1] / "models" / "packs"
MODELS = "simrep.models"
NUMBERS = re.compile(r"(<!-- numbers:[^\n]*-->\n).*?(<!-- end of numbers -->)", re.DOTALL)
BEGIN = "<!-- numbers: written by docs/refresh_packs.py -->"
END = "<!-- end of numbers -->"


def pages() -> dict[Path, str]:
    """Content of every pack and of every card, by its file."""
    runs = _runs()
    content = {}
    for name in pack_names(MODELS):
        file, card = PACKS / f"{name}.toml", PACKS / f"{name}.md"
        text = file.read_text(encoding="utf-8")
        content[file] = _with_exact_range(text, spans(runs.get(name, [])))
        before = f"# {name}\n\n{BEGIN}\n{END}\n"
        if card.exists():
            before = card.read_text(encoding="utf-8")
        numbers = "\n".join(_numbers(load_pack(name, MODELS)))
        content[card] = NUMBERS.sub(lambda found, n=numbers: f"{found[1]}{n}\n{found[2]}", before)
    return content


def _runs() -> dict[str, list[Setup]]:
    """What every pack is used for in the datasets: the measured cells, by name of the pack."""
    found: dict[str, list[Setup]] = {}
    for name in datasets():
        for setup in _cells(load_dataset(name)):
            if setup.pack is not None:
                found.setdefault(setup.pack.card.name, []).append(setup)
    return found


def _cells(dataset: Dataset) -> Iterator[Setup]:
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        for cell in (*dataset.cells[series.name], *dataset.simulated[series.name]):
            yield setup_of(with_values(base, cell.settings))


def _with_exact_range(text: str, covered: Mapping[str, tuple[float, float]]) -> str:
    document = tomlkit.parse(text)
    if "range" in document:
        for key in list(document["range"]):
            del document["range"][key]
    return with_range(tomlkit.dumps(document), covered)


def _numbers(pack: Pack) -> Iterator[str]:
    card = pack.card
    yield "\n## Numbers\n"
    yield f"- Model `{card.model}`: {card.description}."
    yield f"- Machine: {card.machine}."
    yield f"- Source: {card.source}."
    yield f"- Fitted on: {card.fitted_on}."
    yield "\n### Range\n"
    yield "What the measured cells cover that were simulated with it, predicted ones included.\n"
    yield from _table(
        ("factor", "from", "to", "meaning"),
        (
            (f"`{name}`", f"{span[0]:g}", f"{span[1]:g}", field.description or "")
            for name, field in type(pack.validated).model_fields.items()
            if (span := getattr(pack.validated, name)) is not None
        ),
    )
    for one in pack.fits:
        yield from _fit(pack, one)
    fitted = {name for one in pack.fits for name in one.names}
    others = {name: value for name, value in pack.costs.items() if name not in fitted}
    if others:
        yield "\n### Costs without a standard error\n"
        yield from _table(
            ("cost", "value"), ((f"`{name}`", f"{value:g}") for name, value in others.items())
        )


def _fit(pack: Pack, one: FitTable) -> Iterator[str]:
    yield f"\n### Fit to `{one.dataset}`, {one.series}\n"
    yield (
        f"{one.replications} simulated runs of each cell, seed {one.seed}, simrep {one.simrep}; "
        f"noise of a measurement {one.noise:.0%}; beyond it the model is off by "
        f"{one.discrepancy:.0%}, as far as {one.freedom:.1f} cells can tell.\n"
    )
    yield from _table(
        ("cost", "value", "unit", "prior", "standard error", "known"),
        (
            (
                f"`{cost.name}`",
                f"{_value(pack, cost.name):g}",
                cost.unit,
                f"{cost.prior:g}",
                f"{cost.standard_error:.0%}",
                _known(cost),
            )
            for cost in one.costs
        ),
    )
    yield ""
    yield from _table(
        ("figure", "measured", "fitted", "error"),
        (
            (
                cell.label,
                f"{cell.measured:g}",
                f"{cell.fitted:g}",
                f"{cell.fitted / cell.measured - 1:+.1%}" if cell.measured else "",
            )
            for cell in one.cells
        ),
    )


def _value(pack: Pack, name: str) -> float:
    table, _, trait = name.rpartition(".")
    return float(getattr(pack.machine, trait) if table else pack.costs[name])


def _known(cost: FittedCost) -> str:
    if cost.known == "together":
        return "only together with " + ", ".join(f"`{name}`" for name in cost.partners)
    return {"data": "from the cells", "prior": "prior only"}[cost.known]


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    headings = list(headings)
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    for _ in ("ranges", "cards, which tell them"):
        for file, content in pages().items():
            file.write_text(content, encoding="utf-8")
