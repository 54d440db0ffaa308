"""Execute the notebooks: ``python notebooks/execute.py [NAME...] [--jobs 2]``.

Writes them with their outputs into build/notebooks/ and prints how long each took. One that was
executed before is left alone until its source or the package changes. The pages of the
documentation are made from there.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "notebooks").glob("[0-9]*.py"))
BUILT = ROOT / "build" / "notebooks"

os.environ.setdefault("SIMREP_JOBS", "1")  # as several notebooks are executed at a time

_CELL_LIMIT_S = 120
_WIDGET = "application/vnd.jupyter.widget-view+json"
_ESTIMATES = re.compile(r"^About .+ to go.*\n", re.MULTILINE)
_READ = (".py", ".toml", ".csv")


@dataclass(frozen=True, slots=True)
class Executed:
    """A notebook that was executed.

    Attributes
    ----------
    name : str
    path : Path
        With its outputs.
    seconds : float
        What that took, the start of its kernel included; of the last time.
    fresh : bool
        It was executed now, and not before.
    error : str
        What went wrong; empty if nothing did.
    """

    name: str
    path: Path
    seconds: float
    fresh: bool
    error: str = ""


def execute(source: Path) -> Executed:
    """Execute a notebook in a kernel of this interpreter, unless nothing has changed."""
    target = BUILT / f"{source.stem}.ipynb"
    digest = _digest(source)
    if target.exists():
        before = nbformat.read(target, as_version=4).metadata.get("simrep", {})
        if before.get("digest") == digest:
            return Executed(source.stem, target, before["seconds"], fresh=False)
    notebook = jupytext.read(source)
    BUILT.mkdir(parents=True, exist_ok=True)
    began, error = perf_counter(), ""
    client = NotebookClient(
        notebook,
        timeout=_CELL_LIMIT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(BUILT)}},
        store_widget_state=False,
        extra_arguments=["--log-level=40"],
    )
    try:
        client.execute(env=_environment())
    except CellExecutionError as failed:
        error = f"{failed.ename}: {failed.evalue}\nin the cell\n{_cell_of(notebook)}"
    except (CellTimeoutError, DeadKernelError) as failed:
        error = f"{type(failed).__name__}: {failed}"
    seconds = perf_counter() - began
    _keep_pictures(notebook)
    _drop_estimates(notebook)
    if not error:
        notebook.metadata["simrep"] = {"digest": digest, "seconds": round(seconds, 1)}
    nbformat.write(notebook, target)
    return Executed(source.stem, target, seconds, fresh=True, error=error)


def execute_all(sources: list[Path], jobs: int) -> list[Executed]:
    """Execute several notebooks, so many at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(execute, sources))


def table(done: list[Executed]) -> str:
    """How long each took."""
    lines = [f"{one.seconds:6.1f} s  {one.name}{'' if one.fresh else '  (before)'}" for one in done]
    return "\n".join([*lines, f"{sum(one.seconds for one in done):6.1f} s  all"])


def _environment() -> dict[str, str]:
    """That of the kernel: the interpreter's own kernel, and the package of this repository."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    alone = {"SIMREP_JOBS": "1"}  # several notebooks share the cores
    return alone | os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def _cell_of(notebook: nbformat.NotebookNode) -> str:
    """The source of the cell that failed."""
    failed = (
        cell.source
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    )
    return next(failed, "")


def _keep_pictures(notebook: nbformat.NotebookNode) -> None:
    """A widget works with its kernel only: where there is a picture as well, that is kept."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                data.pop(_WIDGET, None)


def _drop_estimates(notebook: nbformat.NotebookNode) -> None:
    """How long work was going to take depends on the machine, and is over when a page is read."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cell["outputs"] = [
            output
            for output in cell["outputs"]
            if output.get("name") != "stderr" or _ESTIMATES.sub("", output["text"])
        ]


def _digest(source: Path) -> str:
    return hashlib.sha256(_package() + source.read_bytes()).hexdigest()


@cache
def _package() -> bytes:
    """What notebooks rest on: the package, its models and its datasets."""
    content = hashlib.sha256(sys.version.encode())
    for folder in ("simrep", "models", "validation/published"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in _READ and path.is_file():
                content.update(path.read_bytes())
    content.update(Path(__file__).read_bytes())
    return content.digest()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Execute the notebooks into build/notebooks/.")
    parser.add_argument("names", nargs="*", help="those whose name begins so; default: all")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks at a time")
    given = parser.parse_args()
    chosen = [
        source
        for source in SOURCES
        if not given.names or source.stem.startswith(tuple(given.names))
    ]
    done = execute_all(chosen, given.jobs)
    print(table(done))
    failed = [one for one in done if one.error]
    for one in failed:
        print(f"\n{one.name} failed:\n{one.error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
