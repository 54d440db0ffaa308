"""Write the scoreboard: a page for every dataset, and one table of all of them.

``python docs/generate_scoreboard.py`` predicts every dataset (names as arguments: these), keeps
what came of it in ``docs/validation/NAME.json``, and writes pages and figures from these files.
``--pages`` writes pages and figures alone, which takes seconds. No number is written by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import fields
from itertools import groupby
from math import isfinite, nan
from pathlib import Path
from statistics import median
from typing import Any

from simrep import Dataset, datasets, load, reproduce, validate, with_values
from simrep.contract.setup import setup_of
from simrep.data.causes import Cause, cause_of, load_causes
from simrep.data.cells import Cell
from simrep.data.dataset import dataset_folder, load_dataset
from simrep.data.derived import DerivedRow
from simrep.data.failures import ErrorCodes, FailureFigure
from simrep.data.measurements import written
from simrep.data.scores import NEAR, Agreement, Scores, agreement
from simrep.measure.units import describe, duration, number
from simrep.runs.executor import workers
from simrep.runs.prediction import factors_of
from simrep.show.text.failures import span_of, system_of

__all__ = ["pages"]

BOARD = Path(__file__).parent / "validation"
README = Path(__file__).parents[1] / "README.md"
SUMMARY = re.compile(r"(<!-- scoreboard:[^\n]*-->\n\n).*?(\n<!-- end of scoreboard -->)", re.DOTALL)
NOTICE = "<!-- Written by docs/generate_scoreboard.py from the .json files beside it. -->"
KINDS = {"published": "published by others", "measured": "measured for this project"}
HEADINGS = ("fitted", "predicted", "median error", "largest", f"within {NEAR:.0%}", "in interval",
            "order right", "tolerated")  # fmt: skip
FAILURE_HEADS = "decided by timers | slow phases | by processors | errors of clients |"
INDEX = """# Scoreboard

Every measured cell that ships, beside its prediction. Each dataset has a page with its figures, and
`simrep validate` computes the same. What the columns are:

- fitted: figures that costs were fitted to. They are not counted in the other columns.
- predicted: all other figures. Errors are relative to what was measured.
- largest: the largest error of one figure.
- in interval: of the measured figures those that lie in the interval of their prediction. It should
  hold 90 % of them: chance, the costs and the error of the model, as the pack tells them; without
  such a pack it is that of 95 % of single runs, which is too narrow.
- order right: of the pairs of cells that differ in one factor, and were measured apart, those whose
  order is predicted.
- tolerated: figures that may be 0 and are judged by a tolerance in their unit.

Where it is off and why: [Accuracy](../explanation/accuracy.md).
"""
DISTANT_MS = 1.0
FAR_OFF = 1.5  # relative error from which on a figure stands in the index, with its cause
FEW = 10  # figures: fewer do not make a weak dataset
FAR, NEARBY = "with a round trip of 1 ms and more", "with less, or one node"
QUANTILES = ("mean", "p50", "p75", "p95", "p99")

Content = Mapping[str, Any]
Scored = tuple[list[Cell], Agreement]


def predict(name: str, executor: Executor | None) -> dict[str, Any]:
    """What a page is written from, as JSON can hold it."""
    if not load_dataset(name).definition.metrics:
        return reproduce(name, executor=executor).to_dict()
    [part] = validate([name], executor=executor).parts
    return part.to_dict()


def pages() -> dict[Path, str]:
    """Content of every page, by its file."""
    results = {name: content for name in datasets() if (content := _stored(name))}
    found = {BOARD / f"{name}.md": "\n".join(_page(one)) for name, one in results.items()}
    every = list(results.values())
    summary = "\n".join(_summary(every)) + "\n"
    readme = README.read_text(encoding="utf-8")
    return {
        README: SUMMARY.sub(lambda between: f"{between[1]}{summary}{between[2]}", readme),
        BOARD / "index.md": "\n".join(_index(every)),
        **found,
    }


def draw() -> None:
    """The figure of every dataset."""
    from simrep.show.plot.dataset import plot_cells
    from simrep.show.plot.failures import plot_failures
    from simrep.show.plot.stated import plot_derived

    for name in datasets():
        content = _stored(name)
        if not content:
            continue
        path = BOARD / f"{name}.png"
        if "derived" in content:
            plot_derived(_derived(content), path, title=content["title"])
        elif "failures" in content:
            titles = {one.name: one.title for one in load_dataset(name).definition.series}
            plot_failures(_failures(content), path, title=content["title"], titles=titles)
        else:
            with suppress(ValueError):  # no number on the axis, or no figure of the first metric
                plot_cells(load_dataset(name).definition, _cells(content), path)


def _stored(name: str) -> dict[str, Any]:
    path = BOARD / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _cells(content: Content) -> list[Cell]:
    found = []
    for one in content["cells"]:
        span = one["interval"]
        floats = {name: nan for name in ("predicted", "relative_error") if one[name] is None}
        found.append(Cell(**{**one, "interval": tuple(span) if span else None, **floats}))
    return found


def _derived(content: Content) -> list[DerivedRow]:
    names = [field.name for field in fields(DerivedRow)]
    return [DerivedRow(**{name: row[name] for name in names}) for row in content["derived"]]


def _failures(content: Content) -> list[FailureFigure]:
    numbers = ("predicted", "low", "high")
    return [
        FailureFigure(
            **{
                **one,
                "measured": tuple(one["measured"]),
                **{name: nan for name in numbers if one[name] is None},
            }
        )
        for one in content["failures"]
    ]


def _pairs(content: Content) -> Agreement:
    scores = content["scores"]
    return Agreement(scores["pairs"], round(scores["pairs"] * (scores["ordered"] or 0.0)))


# --------------------------------------------------------------------- index --


def _index(results: Sequence[Content]) -> Iterator[str]:
    yield NOTICE
    yield ""
    yield INDEX
    yield f"| dataset | what | {' | '.join(HEADINGS)} |"
    yield "|---|---|" + "---:|" * len(HEADINGS)
    for title, own in _kinds(results).items():
        for one in own:
            yield _row([f"[{one['dataset']}]({one['dataset']}.md)", one["title"]], [_scored(one)])
        yield _row([f"**{title}**", ""], map(_scored, own))
    for title, parts in _groups(results).items():
        yield _row([f"**{title}**", ""], parts)
    yield from _farthest(results)
    derived = [one for one in results if "derived" in one]
    if derived:
        yield "\nPublished as ratios and differences of curves, each with a range:\n"
        yield "| dataset | what | fitted | predicted | in the range | median distance | largest |"
        yield "|---|---|---:|---:|---:|---:|---:|"
    for one in derived:
        summary = one["derived_summary"]
        fitted = sum(row["used_in_fit"] for row in one["derived"])
        yield (
            f"| [{one['dataset']}]({one['dataset']}.md) | {one['title']} | {fitted} "
            f"| {summary['n']} | {summary['inside']} | {_distances(summary['median_distance'])} "
            f"| {_distances(summary['max_distance'])} |"
        )
    failures = [one for one in results if "failures" in one]
    if failures:
        yield "\nRuns in which nodes are killed, cut off or stopped; how many figures are right:\n"
        yield f"| dataset | what | {FAILURE_HEADS}"
        yield "|---|---|---:|---:|---:|---:|"
    for one in failures:
        counts = map(_counted, one["failure_scores"].values())
        yield f"| [{one['dataset']}]({one['dataset']}.md) | {one['title']} | {' | '.join(counts)} |"
    yield ""


def _summary(results: Sequence[Content]) -> Iterator[str]:
    """The accuracy in words, for the README."""
    groups, kinds = _groups(results), _kinds(results)
    far, near = (_total(groups[side]) for side in (FAR, NEARBY))
    others = _total([_scored(one) for one in kinds[KINDS["published"]]])
    yield (
        f"- **Over a WAN** (a round trip of 1 ms and more): median error "
        f"**{_percent(far.median_abs_error)}** on {far.n:,} measurements outside of all "
        f"fits.\n  {_percent(far.near, 0)} of the predictions are within {_percent(NEAR, 0)}, "
        f"and of {far.pairs:,} pairs of alternatives {_percent(far.ordered, 0)} are in the right "
        f"order."
    )
    yield (
        f"- **Published tables of other authors**: median error "
        f"{_percent(others.median_abs_error)} on {others.n} measurements."
    )
    weak = sorted(
        ((scores.median_abs_error, one["dataset"]) for one in _with_cells(results)
         if (scores := _total([_scored(one)])).n >= FEW), reverse=True,
    )[:3]  # fmt: skip
    named = ",\n  ".join(
        f"[{name}](docs/validation/{name}.md) ({_percent(error, 0)})" for error, name in weak
    )
    yield (
        f"- **Weak** where processors and disks decide: less than 1 ms between the nodes, or one "
        f"node. The median\n  error is {_percent(near.median_abs_error)} on "
        f"{near.n} measurements. The weakest datasets are\n  {named}."
    )


def _total(parts: Iterable[Scored]) -> Scores:
    parts = list(parts)
    cells = [cell for own, _ in parts for cell in own]
    return Scores.of(cells, Agreement.sum(pairs for _, pairs in parts))


def _farthest(results: Sequence[Content]) -> Iterator[str]:
    """Figures that are far off, worst first, with their causes as far as they are known."""
    found = far_off(results)
    if not found:
        yield f"\nNo figure is predicted more than {_percent(FAR_OFF, 0)} too high."
        return
    yield f"\nFigures that are predicted more than {_percent(FAR_OFF, 0)} too high:\n"
    yield "| dataset | cell | figure | measured | predicted | error | cause |"
    yield "|---|---|---|---:|---:|---:|---|"
    for name, cell, cause in found:
        factors = load_dataset(name).definition.factors
        told = [f"{key} {value}" for key, value in cell.factors.items() if key in factors]
        values = ", ".join([cell.series, *(one for one in told if not one.endswith(" "))])
        why = f"[{cause.name}]({name}.md#known-causes)" if cause else "not known"
        yield (
            f"| [{name}]({name}.md) | {values} | `{cell.metric}` | {number(cell.measured)} "
            f"| {number(cell.predicted)} | {_percent(cell.relative_error, 0, '+')} | {why} |"
        )


def far_off(results: Sequence[Content]) -> list[tuple[str, Cell, Cause | None]]:
    """Dataset, cell and known cause of figures that are far off, worst first."""
    found = []
    for one in _with_cells(results):
        causes = load_causes(load_dataset(one["dataset"]))
        found += [
            (one["dataset"], cell, cause_of(causes, cell.factors, cell.metric))
            for cell in _cells(one)
            if not cell.used_in_fit and cell.within is None and cell.relative_error > FAR_OFF
        ]
    return sorted(found, key=lambda entry: -entry[1].relative_error)


def _with_cells(results: Sequence[Content]) -> list[Content]:
    return [one for one in results if "cells" in one]


def _kinds(results: Sequence[Content]) -> dict[str, list[Content]]:
    """Datasets of cells by who measured them."""
    found: dict[str, list[Content]] = {}
    for one in _with_cells(results):
        kind = KINDS[dataset_folder(one["dataset"]).parent.name]
        found.setdefault(kind, []).append(one)
    return {title: found[title] for title in KINDS.values() if title in found}


def _groups(results: Sequence[Content]) -> dict[str, list[Scored]]:
    """All cells, by whether any two nodes are far from each other."""
    near: list[Scored] = []
    far: list[Scored] = []
    for one in _with_cells(results):
        dataset = load_dataset(one["dataset"])
        distant = _distant(dataset)
        sides: tuple[list[Cell], list[Cell]] = [], []
        for cell in _cells(one):
            sides[(cell.series, written(cell.factors)) in distant].append(cell)
        for side, cells in zip((near, far), sides, strict=True):
            side.append((cells, agreement(cells, dataset.definition.factors)))
    every = [_scored(one) for one in _with_cells(results)]
    return {FAR: far, NEARBY: near, "all": every}


def _distant(dataset: Dataset) -> set[tuple[str, str]]:
    """Series and factors of the cells with a round trip of a millisecond or more."""
    found = set()
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        for cell in dataset.cells[series.name]:
            setup = setup_of(with_values(base, cell.settings))
            if factors_of(setup).get("rtt_ms", 0.0) >= DISTANT_MS:
                found.add((series.name, written(cell.factors)))
    return found


def _scored(content: Content) -> Scored:
    return _cells(content), _pairs(content)


def _row(left: Sequence[str], parts: Iterable[Scored]) -> str:
    return f"| {' | '.join([*left, *_scores(_total(parts))])} |"


def _scores(scores: Scores) -> list[str]:
    ordered = f"{_percent(scores.ordered, 0)} of {scores.pairs}" if scores.pairs else ""
    tolerated = f"{scores.tolerated} of {scores.with_tolerance}" if scores.with_tolerance else ""
    return [
        str(scores.fitted),
        str(scores.n),
        _percent(scores.median_abs_error),
        _percent(scores.max_abs_error),
        _percent(scores.near, 0),
        _percent(scores.inside_interval, 0),
        ordered,
        tolerated,
    ]


def _distances(values: Mapping[str, float]) -> str:
    return ", ".join(f"{value:.1f} {unit}" for unit, value in values.items())


# ---------------------------------------------------------------- one dataset --


def _page(content: Content) -> Iterator[str]:
    name = content["dataset"]
    folder = dataset_folder(name)
    yield NOTICE
    yield ""
    yield f"# {name}\n"
    yield f"{content['title']}.\n"
    yield f"- Source: {content['source']}"
    link = f"../../validation/{folder.parent.name}/{folder.name}"
    if (folder / "README.md").is_file():
        yield f"- What was measured, and what is assumed: [{name}]({link}/README.md)"
    yield f"- Data: [data.csv]({link}/data.csv), {KINDS[folder.parent.name]}"
    yield from _computed(content)
    yield ""
    if (BOARD / f"{name}.png").exists():
        yield f"![Measured and predicted figures of {name}]({name}.png)\n"
    if "failures" in content:
        yield from _of_failures(content)
    else:
        yield from _stated(content) if "derived" in content else _figures(content)


def _computed(content: Content) -> Iterator[str]:
    versions = content["versions"]
    packs = [
        f"{series.removesuffix(' pack')}: `{version.split(' ')[0]}`"
        for series, version in versions.items()
        if series.endswith(" pack")
    ]
    if packs:
        yield f"- Packs: {', '.join(packs)}"
    count, seed = content["replications"], content["seed"]
    plural = "s" if count > 1 else ""
    own = content.get("own_replications", {})  # not in files of before
    others = "".join(f", {number} of {series}" for series, number in own.items())
    computed = f"{count} replication{plural} of every cell{others}, seed {seed}"
    yield f"- Computed with simrep {versions['simrep']}: {computed}"


def _figures(content: Content) -> Iterator[str]:
    cells = _cells(content)
    scores = Scores.of(cells, _pairs(content))
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|" + "---:|" * len(HEADINGS)
    yield f"| {' | '.join(_scores(scores))} |"
    causes = load_causes(load_dataset(content["dataset"]))
    yield from _causes(causes)
    factors = _varied([cell.factors for cell in cells])
    systems = len({cell.series for cell in cells}) > 1
    for column, metric in content["metrics"].items():
        own = [cell for cell in cells if cell.metric == column]
        unit = f" ({metric['unit']})" if metric["unit"] else ""
        yield f"\n## {metric['label'][0].upper()}{metric['label'][1:]}{unit}\n"
        left = [*(["system"] if systems else []), *map(describe, factors)]
        yield f"| {' | '.join([*left, 'measured', 'predicted', 'interval', 'error', ''])} |"
        yield "|" + "---|" * len(left) + "---:|---:|---:|---:|---|"
        for cell in own:
            values = [*([cell.series] if systems else [])]
            values += [str(cell.factors.get(name, "")) for name in factors]
            span = " .. ".join(map(number, cell.interval)) if cell.interval else ""
            error = _percent(cell.relative_error, 1, "+") if cell.within is None else _missed(cell)
            cause = cause_of(causes, cell.factors, cell.metric)
            note = "fit" if cell.used_in_fit else cause.name if cause else ""
            figures = [_measured(cell), number(cell.predicted), span, error, note]
            yield f"| {' | '.join([*values, *figures])} |"
    if content["latencies"]:
        yield from _latencies(content["latencies"])
    yield ""


def _causes(causes: Sequence[Cause]) -> Iterator[str]:
    if causes:
        yield "\n## Known causes\n"
        yield "Why figures are off, where it is known; the tables name the cause beside a figure.\n"
    for cause in causes:
        yield f"- **{cause.name}**: {cause.text}"


def _measured(cell: Cell) -> str:
    if cell.standard_error is None:
        return number(cell.measured)
    return f"{number(cell.measured)} ± {number(cell.standard_error, 2)}"


def _missed(cell: Cell) -> str:
    difference = cell.predicted - cell.measured
    sign = "+" if difference > 0 else "-" if difference < 0 else ""
    judged = "met" if cell.within else "missed"
    return f"{sign}{number(abs(difference))} {cell.unit}".rstrip() + f", {judged}"


def _latencies(latencies: Sequence[Content]) -> Iterator[str]:
    yield "\n## Distributions of latencies\n"
    yield "Recorded and simulated; the distance is Wasserstein's, relative to the recorded mean.\n"
    factors = _varied([one["factors"] for one in latencies])
    left = ["system", *map(describe, factors)]
    yield f"| {' | '.join([*left, *QUANTILES, 'distance', ''])} |"
    yield "|" + "---|" * len(left) + "---:|" * (len(QUANTILES) + 1) + "---|"
    for one in latencies:
        values = [one["series"], *(str(one["factors"].get(name, "")) for name in factors)]
        both = [
            f"{duration(one['measured_s'][q])} \\| {duration(one['simulated_s'][q])}"
            for q in QUANTILES
        ]
        note = "fit" if one["used_in_fit"] else ""
        yield f"| {' | '.join([*values, *both, _percent(one['distance']), note])} |"


def _stated(content: Content) -> Iterator[str]:
    factors = _varied([row["factors"] for row in content["derived"]])
    left = ["quantity", *map(describe, factors)]
    yield f"| {' | '.join([*left, 'stated', 'predicted', 'distance', ''])} |"
    yield "|" + "---|" * len(left) + "---:|---:|---:|---|"
    for row in content["derived"]:
        values = [describe(row["quantity"]), *(str(row["factors"][name]) for name in factors)]
        unit = "" if row["unit"] == "ratio" else f" {row['unit']}"
        stated = number(row["low"])
        if row["high"] != row["low"]:
            stated += f" .. {number(row['high'])}"
        values += [f"{stated}{unit}", f"{number(row['predicted'])}{unit}"]
        values += [f"{row['distance']:+.1f} {row['distance_unit']}" if row["distance"] else "0"]
        yield f"| {' | '.join([*values, 'fit' if row['used_in_fit'] else ''])} |"
    yield ""


def _of_failures(content: Content) -> Iterator[str]:
    """What is missed, the errors of clients, then the figures of every cell."""
    scores = content["failure_scores"]
    definition = load_dataset(content["dataset"]).definition
    assert definition.failures is not None
    least = f"{definition.failures.tolerance_s} s"
    yield f"| {FAILURE_HEADS}"
    yield "|---:|---:|---:|---:|"
    yield f"| {' | '.join(map(_counted, scores.values()))} |\n"
    yield f"Medians of measured and of simulated runs: right within the larger of 5 % and {least},"
    yield "for slow phases, in which timers hold every commit up, and processors within 25 %. Of"
    yield "distributions, all measured runs must be in the range."
    if (attainable := content.get("attainable")) is not None:
        share = _counted((round(attainable), scores["timers"][1]))
        yield f"\nIf the simulation were exact, {share} of those that timers decide would be right:"
        yield "medians and extremes of a few runs differ by chance."
    figures = _failures(content)
    heads = "measured | from | to | simulated | 99 % of runs | decided by | |"
    line = "---:|---:|---:|---:|---:|---|---|"
    yield "\n## Missed\n"
    yield f"| run | figure | {heads}"
    yield f"|---|---|{line}"
    for one in figures:
        if not one.right:
            yield f"| {system_of(one.series, one.factors)} | {_failure(one)}"
    yield "\n## Errors of clients\n"
    yield "Group, node and number; simulated with the share of the runs.\n"
    yield "| run | measured | simulated | |"
    yield "|---|---|---|---|"
    for codes in content["error_codes"]:
        own = ErrorCodes(**{name: value for name, value in codes.items() if name != "right"})
        simulated = ", ".join(f"{c} ({_percent(s, 0)})" for c, s in own.predicted.items())
        right = "" if codes["right"] else "wrong"
        measured = ", ".join(own.measured)
        yield f"| {system_of(own.series, own.factors)} | {measured} | {simulated} | {right} |"
    titles = {s.name: s.title for s in definition.series}
    for (series, factors), cell in groupby(figures, lambda f: (f.series, f.factors)):
        yield f"\n## {system_of(series, factors)}\n"
        yield f"{titles[series][0].upper()}{titles[series][1:]}.\n"
        yield f"| figure | {heads}"
        yield f"|---|{line}"
        for one in cell:
            yield f"| {_failure(one)}"
    yield ""


def _failure(one: FailureFigure) -> str:
    unit = f" ({one.unit})" if one.unit else ""
    values = (median(one.measured), min(one.measured), max(one.measured), one.predicted)
    kind = one.decided_by + (", a distribution" if one.distribution else "")
    cells = [f"`{one.metric}`{unit}", *map(number, values), span_of(one), kind]
    return f"{' | '.join(cells)} | {'' if one.right else 'missed'} |"


def _counted(pair: Sequence[int]) -> str:
    right, count = pair
    return f"{right} of {count}, {_percent(right / count, 0)}" if count else ""


def _varied(factors: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the factors that differ, in their order."""
    names = dict.fromkeys(name for one in factors for name in one)
    return [name for name in names if len({str(one.get(name, "")) for one in factors}) > 1]


def _percent(value: float | None, digits: int = 1, sign: str = "") -> str:
    return "" if value is None or not isfinite(value) else f"{100 * value:{sign}.{digits}f} %"


def main() -> None:
    """Predict what is asked for, and write all pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="datasets to predict; default: all")
    parser.add_argument("--pages", action="store_true", help="write the pages alone")
    parser.add_argument("--jobs", type=int, help="processes to use; default: all cores")
    given = parser.parse_args()
    BOARD.mkdir(exist_ok=True)
    executor = workers(given.jobs)
    for name in () if given.pages else given.names or datasets():
        sys.stderr.write(f"{name}\n")
        text = json.dumps(predict(name, executor), indent=1)
        (BOARD / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    draw()
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
