"""``simrep calibrate`` without a dataset: from the files of a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simrep.cli.arguments import workers
from simrep.cli.output import check_writable, print_json, progress_bar, show, write_whole
from simrep.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Group
    from rich.table import Table

    from simrep.intake.describe import Described, Known, ServerFiles
    from simrep.intake.given import Finding

__all__ = [
    "Cores",
    "Fsync",
    "Nodes",
    "OptionFile",
    "RoundTrip",
    "Status",
    "Sysbench",
    "Variables",
    "Version",
    "describe",
]

_PANEL = "From the files of a server, instead of a dataset"

OptionFile = Annotated[
    Path | None,
    typer.Option(
        "--from-mycnf", metavar="FILE", help="The server's my.cnf.", rich_help_panel=_PANEL
    ),
]
Status = Annotated[
    list[Path] | None,
    typer.Option(
        "--status",
        metavar="FILE",
        help="SHOW GLOBAL STATUS; twice, the earlier one first, for the time between.",
        rich_help_panel=_PANEL,
    ),
]
Variables = Annotated[
    Path | None,
    typer.Option(
        "--variables", metavar="FILE", help="SHOW GLOBAL VARIABLES.", rich_help_panel=_PANEL
    ),
]
Sysbench = Annotated[
    Path | None,
    typer.Option(
        "--sysbench", metavar="FILE", help="What sysbench run printed.", rich_help_panel=_PANEL
    ),
]
Version = Annotated[
    str | None,
    typer.Option("--server-version", help="What SELECT VERSION() prints.", rich_help_panel=_PANEL),
]
Nodes = Annotated[
    int | None,
    typer.Option("--nodes", min=1, max=64, help="Servers in all.", rich_help_panel=_PANEL),
]
Cores = Annotated[
    int | None,
    typer.Option("--cores", min=1, help="CPU cores of a server.", rich_help_panel=_PANEL),
]
RoundTrip = Annotated[
    float | None,
    typer.Option(
        "--rtt-ms", min=0, help="Round trip between servers, by ping.", rich_help_panel=_PANEL
    ),
]
Fsync = Annotated[
    float | None,
    typer.Option(
        "--fsync-us", min=0, help="One flush of a log, by a disk test.", rich_help_panel=_PANEL
    ),
]


def describe(files: ServerFiles, known: Known, out: Path, *, json: bool, jobs: int) -> None:
    """Read the files, write scenario and pack, and print what was found."""
    from simrep.calibrate.measured_figures import CalibrationError
    from simrep.intake.describe import from_server
    from simrep.intake.toml import pack_text, scenario_text

    name = out.name.removesuffix(".toml")
    scenario, pack = out.with_name(f"{name}.toml"), out.with_name(f"{name}.pack.toml")
    for path in (scenario, pack):
        check_writable("--out", path)
        if path.exists():
            raise ScenarioError(
                "--out", f"{str(path)!r} exists already", "choose another name, or remove it"
            )
    with workers(jobs) as executor, progress_bar(f"calibrate {name}", quiet=json):
        try:
            described = from_server(files, name=name, known=known, executor=executor)
        except CalibrationError as error:
            if isinstance(error.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise

    def write_both(part: Path) -> None:
        part.write_text(scenario_text(described), encoding="utf-8")
        text = pack_text(described)
        write_whole(pack, lambda own: own.write_text(text, encoding="utf-8"))

    write_whole(scenario, write_both)
    written = [str(scenario), str(pack)]
    if json:
        print_json({**described.to_dict(), "files": written})
    else:
        show(_tables(described))
    print(f"Written: {', '.join(written)}", file=sys.stderr)


def _tables(described: Described) -> Group:
    from rich.console import Group

    parts: list[Any] = [
        _table(
            "Read",
            ("setting", "value", "where", "how"),
            ((one.setting, _text(one.value), one.origin, one.note) for one in described.read),
        )
    ]
    parts.append(
        _table(
            "Not found: defaults",
            ("setting", "default", "why"),
            ((one.setting, _text(one.value), one.note) for one in described.defaults),
        )
    )
    if described.not_simulated:
        parts.append(_table("Not simulated", ("option", "value", "where", "why"), _rows(described)))
    parts += described.remarks
    if (fit := described.fit) is not None and fit.percentile_simulated_s is not None:
        assert fit.percentile_measured_s is not None
        error = fit.percentile_simulated_s / fit.percentile_measured_s - 1.0
        parts.append(
            f"Check, not fitted: {fit.percentile}th percentile "
            f"{1e3 * fit.percentile_simulated_s:.3g} ms, "
            f"measured {1e3 * fit.percentile_measured_s:.3g} ms ({error:+.0%})."
        )
    return Group(*parts)


def _rows(described: Described) -> Iterable[tuple[str, ...]]:
    def row(one: Finding) -> tuple[str, ...]:
        return one.setting, _text(one.value), one.origin, one.note

    return map(row, described.not_simulated)


def _table(title: str, headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == headings[0])
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ", ".join(f"{key} {inner}" for key, inner in value.items())
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
