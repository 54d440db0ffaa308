"""Put what simrep prints now in the place of the figures that the pages show.

``python docs/refresh_outputs.py`` after a change of numbers: outputs of the tutorials' commands
(as many lines as the page showed before), what Python blocks print, and figures. Takes some
minutes; names of pages as arguments refresh what their Python blocks print, and nothing else.
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
from collections.abc import Iterable
from pathlib import Path

from simrep import reproduce

__all__ = ["printed", "refreshed"]

DOCS = Path(__file__).parent
PICTURED = ("streaming-large-transaction",)
SIMREP = [sys.executable, "-m", "simrep"]
NAMED = re.compile(r"^```\w+\n(# (\S+\.toml)\n.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"`(\w+\.csv)`:\n\n```csv\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def printed(page: str, stem: str) -> str:
    """A page with what its Python blocks print now, each run after the ones before it.

    Pictures that they save and the page shows are kept.
    """
    names: dict[str, object] = {"__name__": "documentation"}

    def run(match: re.Match[str]) -> str:
        code, shown = match.groups()
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, "documentation", "exec"), names)  # noqa: S102 - our own pages
        block = f"```python\n{code}```"
        return f"{block}\n\n```text\n{output.getvalue()}```" if shown else block

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for text, name in [*NAMED.findall(page), *(table[::-1] for table in TABLE.findall(page))]:
            Path(name).write_text(text, encoding="utf-8")
        page = PYTHON.sub(run, page)
        for figure in Path().glob("*.png"):
            if f"images/{stem}-{figure.name}" in page:
                shutil.copyfile(figure, DOCS / "images" / f"{stem}-{figure.name}")
    return page


def refresh_pictures() -> None:
    """Draw the pictures of datasets that pages show."""
    for name in PICTURED:
        reproduce(name).plot(DOCS / "images" / f"{name}.png")


def refresh_printed(files: Iterable[Path]) -> None:
    """Run the Python blocks of the pages that show what they print."""
    for file in files:
        text = file.read_text(encoding="utf-8")
        if any(shown for _, shown in PYTHON.findall(text)):
            file.write_text(printed(text, file.stem), encoding="utf-8")


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
        refresh_pictures()
