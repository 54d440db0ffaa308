"""``simrep from-server``: a scenario and a first pack from the files of a server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from simrep.cli.arguments import Jobs, Json, path_in
from simrep.cli.output import (
    check_writable,
    print_json,
    progress_bar,
    show,
)
from simrep.errors import ScenarioError
from simrep.files import whole_file, write_text
from simrep.measure.grammar import duration

__all__ = ["from_server", "with_new_names"]

_OLD = {
    "--from-mycnf": "--mycnf",
    **{name: name for name in ("--status", "--variables", "--sysbench")},
}
"""Options of this command that ``calibrate`` had, by their names there."""

OptionFile = Annotated[
    Path | None,
    typer.Option(
        "--mycnf",
        metavar="FILE",
        help="The server's option file, with its !include and !includedir; files that are not on "
        "this machine are listed as not read.",
    ),
]
Status = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="The output of SHOW GLOBAL STATUS; give two files, the earlier first, for the time "
        "between them.",
    ),
]
Variables = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The output of SHOW GLOBAL VARIABLES.")
]
Sysbench = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The output of sysbench run: sets the load, and fits statement_us."
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="NAME",
        parser=path_in,
        help="Write NAME.toml and NAME.pack.toml; neither file may exist; required.",
    ),
]
Model = Annotated[str | None, typer.Option(help="The model, instead of the guessed one.")]
Version = Annotated[
    str | None, typer.Option("--server-version", help="The output of SELECT VERSION().")
]
Nodes = Annotated[int | None, typer.Option(min=1, max=64, help="Servers in all.")]
Cores = Annotated[int | None, typer.Option(min=1, max=65_536, help="CPU cores of a server.")]
RoundTrip = Annotated[
    str | None,
    typer.Option(
        "--rtt-ms", metavar="TIME", help="Round trip between servers, by ping: 0.4 or 400us."
    ),
]
Fsync = Annotated[
    str | None,
    typer.Option(
        "--fsync-us", metavar="TIME", help="One flush of a log, by a disk test: 700 or 2ms."
    ),
]


def with_new_names(words: Sequence[str]) -> list[str]:
    """The words of a command line; ``calibrate --from-mycnf ...`` as this command, with a notice.

    In 0.1 ``calibrate`` takes this command's options, too.
    """
    words = list(words)
    command = next((word for word in words if not word.startswith("-")), "")
    if command != "calibrate" or not any(word.partition("=")[0] in _OLD for word in words):
        return words
    print(
        "Note: 'simrep calibrate --from-mycnf FILE' is 'simrep from-server --mycnf FILE' now; the "
        "old form will be gone in the next minor release.",
        file=sys.stderr,
    )
    words[words.index(command)] = "from-server"
    parts = (word.partition("=") for word in words)
    return ["".join((_OLD.get(name, name), equals, value)) for name, equals, value in parts]


def from_server(
    out: Out,
    mycnf: OptionFile = None,
    status: Status = None,
    variables: Variables = None,
    sysbench: Sysbench = None,
    model: Model = None,
    server_version: Version = None,
    nodes: Nodes = None,
    cores: Cores = None,
    rtt_ms: RoundTrip = None,
    fsync_us: Fsync = None,
    json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Build a scenario and a first pack from a server's configuration and counters.

    A value that no file tells is listed with the default that was taken instead.

    [bold]Examples[/bold]

      simrep from-server --mycnf my.cnf --status status.txt --out mine
      simrep from-server --mycnf my.cnf --status 9am.txt --status 10am.txt --out mine
    """
    from simrep.calibrate.fit import evaluations_expected
    from simrep.calibrate.measured_figures import CalibrationError
    from simrep.intake.description import Overrides, ServerFiles
    from simrep.intake.description import from_server as description_of
    from simrep.runs.executor import workers

    files = ServerFiles(mycnf, tuple(status or ()), variables, sysbench)
    trip_ms = None if rtt_ms is None else duration("--rtt-ms", rtt_ms, "ms")
    flush_us = None if fsync_us is None else duration("--fsync-us", fsync_us, "us")
    overrides = Overrides(model, server_version, nodes, cores, trip_ms, flush_us)
    name = out.name.removesuffix(".toml")
    if not name:
        raise ScenarioError("--out", f"{str(out)!r} names no file", "NAME, or FOLDER/NAME")
    scenario, pack = out.with_name(f"{name}.toml"), out.with_name(f"{name}.pack.toml")
    for path in (scenario, pack):
        check_writable("--out", path)
        if path.exists():
            raise ScenarioError(
                "--out", f"{str(path)!r} exists already", "choose another name, or remove it"
            )
    expected = evaluations_expected(1)  # of a benchmark, if there is one
    with progress_bar(f"from-server {name}", quiet=json) as update:
        try:
            described = description_of(
                files,
                name=name,
                overrides=overrides,
                executor=workers(jobs),
                progress=lambda done, _cost: update(done, max(expected, done + 1)),
            )
        except CalibrationError as error:
            if isinstance(error.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise
    with whole_file(scenario) as file:  # both or none
        file.write(described.scenario_text().encode())
        file.flush()
        write_text(pack, described.pack_text())
    written = [str(scenario), str(pack)]
    if json:
        print_json({**described.to_dict(), "files": written})
    else:
        show(described.tables())
    print(f"Written: {', '.join(written)}", file=sys.stderr)
