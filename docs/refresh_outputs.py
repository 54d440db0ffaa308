"""Put what simrep prints now in the place of the figures that the pages show.

``python docs/refresh_outputs.py`` after a change of numbers: outputs of the tutorials' commands
(as many lines as the page showed before), what Python blocks print, figures, and the tables of the
datasets. Takes some minutes; names of pages as arguments refresh what their Python blocks print,
and nothing else.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from simrep import CurveDatasetResult, DatasetResult, datasets, load, reproduce
from simrep.experiment.dataset import Series
from simrep.experiment.reproduce import Summary

__all__ = ["printed", "refreshed", "table"]

DOCS = Path(__file__).parent
TABLES = [DOCS.parent / "README.md", DOCS / "explanation" / "accuracy.md"]
TABLE = re.compile(r"(<!-- datasets:[^\n]*-->\n\n).*?(\n<!-- end of datasets -->)", re.DOTALL)
PICTURED = {"wan-concurrency", "streaming-large-transaction"}
SIMREP = [sys.executable, "-m", "simrep"]
NAMED = re.compile(r"^```\w+\n(# (\S+\.toml)\n.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ simrep (.*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
# A Python block; the block of text right behind it, if there is one, shows what it prints.
PYTHON = re.compile(r"^```python\n(.*?)^```$(\n\n```text\n.*?^```$)?", re.MULTILINE | re.DOTALL)


def refreshed(page: str, folder: Path) -> str:
    """A page with the present output of its commands, which run in ``folder``."""
    for text, name in NAMED.findall(page):
        (folder / name).write_text(text, encoding="utf-8")

    def run(match: re.Match[str]) -> str:
        arguments, shown = match.groups()
        done = subprocess.run(  # noqa: S603 - commands of our own pages
            [*SIMREP, *arguments.split()],
            cwd=folder,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        return f"$ simrep {arguments}\n" + "".join(
            line + "\n" for line in lines[: shown.count("\n")]
        )

    return COMMAND.sub(run, page)


def printed(page: str) -> str:
    """A page with what its Python blocks print now, each run after the ones before it."""
    names: dict[str, object] = {"__name__": "documentation"}

    def run(match: re.Match[str]) -> str:
        code, shown = match.groups()
        output = io.StringIO()
        with (
            tempfile.TemporaryDirectory() as folder,  # for files that a block writes
            contextlib.chdir(folder),
            contextlib.redirect_stdout(output),
        ):
            exec(compile(code, "documentation", "exec"), names)  # noqa: S102 - our own pages
        block = f"```python\n{code}```"
        return f"{block}\n\n```text\n{output.getvalue()}```" if shown else block

    return PYTHON.sub(run, page)


def table(results: Sequence[DatasetResult | CurveDatasetResult]) -> str:
    """What was fitted, what was predicted, and how far off that is: a row per dataset and model."""
    rows = [
        "| dataset | what | fitted | predicted | median error | largest | bias | in interval |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        lines = curve_row(result) if isinstance(result, CurveDatasetResult) else cell_rows(result)
        rows += [f"| {' | '.join([f'`{result.dataset.name}`', *line])} |" for line in lines]
    return "\n".join(rows) + "\n"


def cell_rows(result: DatasetResult) -> list[list[str]]:
    """A dataset of cells: one row, or one per model where a model has only one series."""
    definition = result.dataset.definition
    models: dict[str, list[Series]] = {}
    for series in definition.series:
        scenario = load(result.dataset.scenario_path(series))
        models.setdefault(scenario.to_dict()["cluster"]["model"], []).append(series)
    if max(map(len, models.values())) > 1:
        models = {"all": list(definition.series)}
    rows = []
    for group in models.values():
        names = {series.name for series in group}
        cells = [cell for cell in result.cells if cell.series in names]
        summary = Summary.of(cells)
        title = definition.title
        if len(models) > 1:
            title += ": " + ", ".join(series.title for series in group)
        rows.append(
            [
                title,
                str(sum(cell.used_in_fit for cell in cells)),
                str(summary.n),
                f"{100 * summary.median_abs_error:.1f} %",
                f"{100 * summary.max_abs_error:.1f} %",
                f"{100 * summary.bias:+.1f} %",
                f"{100 * summary.inside_interval:.0f} %",
            ]
        )
    return rows


def curve_row(result: CurveDatasetResult) -> list[list[str]]:
    """A dataset of curves: distances from the stated ranges, and how many rows are in theirs."""
    summary = result.summary

    def listed(distances: Mapping[str, float]) -> str:
        return ", ".join(f"{value:.1f} {unit}" for unit, value in distances.items())

    return [
        [
            result.dataset.definition.title,
            str(sum(row.used_in_fit for row in result.rows)),
            str(summary.n),
            listed(summary.median_distance),
            listed(summary.max_distance),
            "",
            f"{summary.inside} of {summary.n} in the stated range",
        ]
    ]


def refresh_datasets() -> None:
    """Reproduce every dataset; write the tables and the picture of the README."""
    results = [reproduce(name) for name in datasets()]
    for file in TABLES:
        text = file.read_text(encoding="utf-8")
        file.write_text(TABLE.sub(rf"\g<1>{table(results)}\g<2>", text), encoding="utf-8")
    for result in results:
        if result.dataset.name in PICTURED:
            result.plot(DOCS / "images" / f"{result.dataset.name}.png")


def refresh_printed(files: Iterable[Path]) -> None:
    """Run the Python blocks of the pages that show what they print."""
    for file in files:
        text = file.read_text(encoding="utf-8")
        if any(shown for _, shown in PYTHON.findall(text)):
            file.write_text(printed(text), encoding="utf-8")


def refresh_tutorials() -> None:
    """Run the commands of the tutorials, and keep their figures."""
    for file in (DOCS / "tutorials").glob("*.md"):
        with tempfile.TemporaryDirectory() as folder:
            page = refreshed(file.read_text(encoding="utf-8"), Path(folder))
            for figure in Path(folder).glob("*.png"):
                shutil.copyfile(figure, DOCS / "images" / f"{file.stem}-{figure.name}")
        file.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        refresh_printed(map(Path, sys.argv[1:]))
    else:
        refresh_tutorials()
        refresh_printed([DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))])
        refresh_datasets()
