"""The command ``simrep`` and what all its subcommands share."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simrep.cli.calibrate import calibrate
from simrep.cli.compare import compare
from simrep.cli.datasets import reproduce, validate
from simrep.cli.drill import drill
from simrep.cli.ending import INTERRUPTED, interruptible, limited
from simrep.cli.explain import explain
from simrep.cli.from_server import from_server, with_new_names
from simrep.cli.misplaced import as_given, number_of_option, value_of_scenario
from simrep.cli.models import models
from simrep.cli.output import print_json
from simrep.cli.packs import packs
from simrep.cli.plan import plan, with_questions
from simrep.cli.rig import rig
from simrep.cli.run import run
from simrep.cli.sensitivity import sensitivity
from simrep.cli.sweep import sweep
from simrep.errors import ScenarioError, SimrepError
from simrep.printable import printable

__all__ = ["app", "main"]

FAILED = 1
BAD_INPUT = 2


class Commands(TyperGroup):
    """Subcommands whose foreseen errors are messages and not tracebacks."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the words of a command line, those of old commands as well."""
        with _interrupt_told():
            return super().parse_args(ctx, with_new_names(with_questions(args)))

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand."""
        words = [*getattr(ctx, "_protected_args", ()), *ctx.args]
        try:
            with _interrupt_told(), warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except SimrepError as error:
            if ctx.params.get("debug"):
                raise
            if isinstance(error, ScenarioError):
                error = as_given(error, words)
            raise _told(error) from None
        except OSError as error:
            if ctx.params.get("debug") or error.errno == errno.EPIPE:  # the reader has gone
                raise
            raise typer.Exit(_failed(error)) from None
        except Exception as error:
            if known := value_of_scenario(error, words) or number_of_option(error, words):
                raise _told(known) from None
            raise


def _told(error: SimrepError) -> typer.Exit:
    print(f"Error: {error}", file=sys.stderr)
    return typer.Exit(BAD_INPUT if isinstance(error, ScenarioError) else FAILED)


@contextmanager
def _interrupt_told() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"Warning: {printable(str(message))}", file=sys.stderr)


app = typer.Typer(
    name="simrep",
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version
        from platform import python_version

        from simrep.kernel.build import BUILD

        print(f"simrep {version('simrep')} ({BUILD}, Python {python_version()})")
        raise typer.Exit


@app.callback(
    epilog="[bold]Examples[/bold]: [cyan]simrep reproduce wan-concurrency[/cyan], "
    "[cyan]simrep run cluster.toml --set network.rtt_ms=50[/cyan], "
    "[cyan]simrep models galera[/cyan]"
)
def simrep(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version, and whether it is compiled.",
            callback=_version,
            is_eager=True,
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Simulate database replication: predict a cluster at a latency and a load."""


def schema() -> None:
    """Print the JSON schema of scenario files, for editors that complete and check them.

    [bold]Example[/bold]

      simrep schema > scenario.schema.json
    """
    from simrep.scenario import json_schema

    print_json(json_schema())


app.command()(limited(run))
app.command()(limited(sweep))
app.command()(limited(compare))
app.command()(limited(drill))
app.command()(limited(explain))
app.command()(limited(reproduce))
app.command()(limited(validate))
app.command()(models)
app.command()(limited(packs))
app.command()(limited(from_server))
app.command()(limited(calibrate))
app.command()(limited(sensitivity))
app.command()(schema)
app.add_typer(plan)
app.add_typer(rig)


def main() -> None:
    """Entry point of the console script."""
    with interruptible():
        try:
            app()
        except OSError as error:  # of the help, which is printed before there is a command
            sys.exit(_failed(error))
        finally:
            _flush()


def _failed(error: OSError) -> int:
    place = "" if error.filename is None else f": {error.filename!r}"
    print(f"Error: {error.strerror or error}{place}", file=sys.stderr)
    return FAILED


def _flush() -> None:
    """Tell that what was printed could not be written, while there is an exit code to tell by."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python tries again
        if error.errno != errno.EPIPE:
            print(f"Error: cannot write to standard output: {error.strerror}", file=sys.stderr)
        sys.exit(FAILED)
