"""Commands whose work is kept as it is finished, and goes on when they are started again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import typer

from simrep.cli.ending import INTERRUPTED, OutOfTime
from simrep.cli.output import check_writable, progress_bar
from simrep.errors import ScenarioError

__all__ = ["check_places", "finish", "kept_work", "where_kept"]


class Found(Protocol):
    """What such a command has found."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""

    def save(self, path: str | Path) -> None:
        """Write its rows."""


def check_places(
    out: Path | None, plot: Path | None, cache: Path | None, *, no_cache: bool
) -> None:
    """Refuse files that could not be written, before the work and not after it."""
    check_writable("--plot", plot, plot=True)
    check_writable("--out", out)
    if cache is not None and no_cache:
        raise ScenarioError("--cache", "makes no sense with --no-cache", "give one of them")
    if out is not None:
        from simrep.whatif.table_file import check_ending

        check_ending(out)


def where_kept(cache: Path | None, *, no_cache: bool) -> bool | Path:
    """Where results are kept: the argument ``cache`` of sweeps and drills."""
    return not no_cache if cache is None else cache


@contextmanager
def kept_work(
    title: str, pieces: str, command: str, *, quiet: bool, kept: bool
) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar; out of time it tells how many ``pieces`` the ``command`` has kept."""
    finished, wanted = 0, 0
    try:
        with progress_bar(title, quiet=quiet) as update:

            def progress(done: int, total: int | None) -> None:
                nonlocal finished, wanted
                finished, wanted = done, total or 0
                update(done, total)

            yield progress
    except OutOfTime:
        if not kept or not finished:
            raise
        raise OutOfTime(
            f"{finished} of {wanted} {pieces} are finished and kept; started again, the {command} "
            "goes on"
        ) from None


def finish(
    found: Found, counted: str, out: Path | None, plot: Path | None, draw: Callable[[], object]
) -> None:
    """Tell what was ``counted``, and write the files that were asked for.

    Raises
    ------
    Exit
        If the work was interrupted: there is no figure of a part of it.
    """
    print(counted, file=sys.stderr)
    if out is not None:
        found.save(out)
    if not found.complete:
        raise typer.Exit(INTERRUPTED)
    if plot is not None:
        draw()
        print(f"Figure: {plot}", file=sys.stderr)
