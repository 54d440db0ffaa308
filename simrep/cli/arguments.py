"""Options that several commands take."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from simrep.errors import ScenarioError

__all__ = ["Jobs", "Json", "Plot", "Replications", "Seed", "assignments", "workers"]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Save a figure (png, svg, pdf).")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Root of all random numbers.")]
Replications = Annotated[
    int | None, typer.Option(min=1, help="Repetitions with other random numbers.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes to use.")]


def assignments(texts: Sequence[str]) -> dict[str, Any]:
    """Values by path of ``path=value`` arguments.

    The value is read as TOML where it is TOML, and is text otherwise: ``5``, ``true``,
    ``["n1", "n2"]``, ``galera``.
    """
    found: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise ScenarioError("--set", f"{text!r} is not of the form path=value")
        try:
            found[path.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[path.strip()] = value.strip()
    return found


@contextmanager
def workers(jobs: int) -> Iterator[Executor | None]:
    """An executor with several processes, or None for this one alone."""
    if jobs == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Spawn: a fresh interpreter is the same on every system, and threads do not survive a fork.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield pool
