"""What commands write: files, JSON, and progress on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from simrep import files
from simrep.cli.ending import INTERRUPTED, telling
from simrep.errors import ScenarioError
from simrep.printable import printable

if TYPE_CHECKING:
    from simrep.scenario import Scenario

__all__ = [
    "check_writable",
    "first_look",
    "present",
    "print_json",
    "progress_bar",
    "show",
    "tell",
    "tell_nearest_pack",
]

_PLOT_ENDINGS = (".pdf", ".png", ".svg")


def check_writable(option: str, path: Path | None, *, plot: bool = False) -> None:
    """Refuse a file that could not be written, before the work and not after it."""
    if path is None:
        return
    if path.is_dir():
        raise ScenarioError(option, f"{str(path)!r} is a folder", "name a file")
    if not path.absolute().parent.is_dir():
        raise ScenarioError(option, f"there is no folder {str(path.absolute().parent)!r}")
    if plot and path.suffix.lower() not in _PLOT_ENDINGS:
        raise ScenarioError(
            option, f"cannot draw {path.name!r}", f"endings: {', '.join(_PLOT_ENDINGS)}"
        )
    files.check_writable(path)


def print_json(content: Mapping[str, Any]) -> None:
    """One JSON object on standard output, and nothing else."""
    telling()
    print(json.dumps(content, indent=2, allow_nan=False))


def show(renderable: Any, *, width: int = 120) -> None:
    """Print tables on standard output, as wide as they are where it is no terminal."""
    from simrep.show.views import console

    telling()
    columns = None if sys.stdout.isatty() else width
    console(width=columns).print(renderable)


def tell(found: Any, *, json: bool) -> None:
    """Print a result: one JSON object, or its tables."""
    if json:
        print_json(found.to_dict())
    else:
        show(found.tables())


def first_look(runs: int, measured_s: float | None, asked_s: float | None) -> None:
    """Tell on standard error what ``--quick`` has left of the work."""
    from simrep.runs.pilot import looked_at

    shorter = measured_s != asked_s and asked_s is not None
    more = f", asked for: {asked_s:g} s" if shorter else ""
    if runs == 1:
        more = ", which has no interval (--replications 4 gives one)"
    print(f"A first look: {looked_at(runs, measured_s, asked_s)}{more}", file=sys.stderr)


def tell_nearest_pack(scenario: Scenario, file: Path) -> None:
    """Tell on standard error which pack is nearest to a scenario that rests on default costs."""
    from simrep.runs.near_pack import pack_notice

    with suppress(ScenarioError):  # the command itself tells what cannot be run
        if notice := pack_notice(scenario, file.name):
            print(f"Note: {printable(notice)}.", file=sys.stderr)


def present(
    found: Any,
    *,
    json: bool,
    plot: Path | None,
    tables: Any = None,
    width: int = 120,
    drawable: bool = True,
) -> None:
    """Print a result and draw its figure.

    A result that was interrupted has no figure, and ends the command with 130.

    ``tables`` are shown instead of all that the result has, ``width`` columns wide where standard
    output is no terminal.
    """
    if json:
        print_json(found.to_dict())
    else:
        show(found.tables() if tables is None else tables, width=width)
    if not found.complete:
        raise typer.Exit(INTERRUPTED)
    if plot is not None and drawable:
        found.plot(plot)
        print(f"Figure: {plot}", file=sys.stderr)


@contextmanager
def progress_bar(label: str, *, quiet: bool) -> Iterator[Callable[[int, int | None], None]]:
    """Watch work that may take long; gives what to call with (done, all).

    Standard error has an estimate of what takes more than 3 s, and a bar with count and time left:
    the bar not if ``quiet``, and not where it is no terminal.
    """
    from simrep.runs.progress import watched

    with watched(label, bar=not quiet) as work:
        yield work.update
