"""Put what simrep prints now in the place of the figures that the pages show.

``python docs/refresh_outputs.py`` after a change of numbers: outputs of the tutorials' commands
(as many lines as the page showed before), figures, and the tables of the studies. Takes a minute.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from simrep import StudyResult, reproduce, studies

__all__ = ["refreshed", "table"]

DOCS = Path(__file__).parent
TABLES = [DOCS.parent / "README.md", DOCS / "explanation" / "accuracy.md"]
TABLE = re.compile(r"(<!-- studies:[^\n]*-->\n\n).*?(\n<!-- end of studies -->)", re.DOTALL)
PICTURED = "wan-concurrency"
SIMREP = [sys.executable, "-m", "simrep"]
NAMED = re.compile(r"^```\w+\n(# (\S+\.toml)\n.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ simrep (.*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)


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


def table(results: list[StudyResult]) -> str:
    """A row per study: what was fitted, what was predicted, and how far off that is."""
    rows = [
        "| study | what | fitted | predicted | median error | largest | bias | in interval |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        summary = result.summary
        fitted = sum(cell.used_in_fit for cell in result.cells)
        figures = [
            f"{100 * summary.median_abs_error:.1f} %",
            f"{100 * summary.max_abs_error:.1f} %",
            f"{100 * summary.bias:+.1f} %",
            f"{100 * summary.inside_interval:.0f} %",
        ]
        cells = [
            f"`{result.study.name}`",
            result.study.definition.title,
            str(fitted),
            str(summary.n),
        ]
        rows.append(f"| {' | '.join(cells + figures)} |")
    return "\n".join(rows) + "\n"


def refresh_studies() -> None:
    """Reproduce every study; write the tables and the picture of the README."""
    results = [reproduce(name) for name in studies()]
    for file in TABLES:
        text = file.read_text(encoding="utf-8")
        file.write_text(TABLE.sub(rf"\g<1>{table(results)}\g<2>", text), encoding="utf-8")
    for result in results:
        if result.study.name == PICTURED:
            result.plot(DOCS / "images" / f"{PICTURED}.png")


def refresh_tutorials() -> None:
    """Run the commands of the tutorials, and keep their figures."""
    for file in (DOCS / "tutorials").glob("*.md"):
        with tempfile.TemporaryDirectory() as folder:
            page = refreshed(file.read_text(encoding="utf-8"), Path(folder))
            for figure in Path(folder).glob("*.png"):
                shutil.copyfile(figure, DOCS / "images" / f"{file.stem}-{figure.name}")
        file.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    refresh_tutorials()
    refresh_studies()
