"""``simrep plan SCENARIO QUESTION``: a subcommand for each question."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simrep.cli.arguments import (
    MANY,
    Jobs,
    Json,
    Plot,
    Quick,
    Scenario,
    Seed,
    Set,
    changed,
    path_in,
)
from simrep.cli.ending import limited
from simrep.cli.misplaced import scenario_first
from simrep.cli.output import check_writable, present, progress_bar, tell_nearest_pack
from simrep.contract.question import Option, Question
from simrep.errors import ScenarioError
from simrep.files import is_device
from simrep.measure.grammar import duration, quantities, range_of, share
from simrep.whatif.plan.catalogue import QUESTIONS

__all__ = ["plan", "with_questions"]

_TYPES: dict[str, Any] = {  # others are read from their text
    "number": float,
    "count": int,
    "file": Path,
    "files": list[Path],
    "levels": list[str],
}
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE.csv",
        parser=path_in,
        help="Save a row for every tried value.",
    ),
]
_HELP = {"-h", "--help"}
_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_FORMER = {"fragment-size": "fragment"}


class Questions(TyperGroup):
    """Subcommands for the questions of the engine, and for those of the installed models."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all questions."""
        return list(dict.fromkeys([*super().list_commands(ctx), *_of_models()]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The subcommand of a question; models are only looked at for one that is theirs."""
        known = super().get_command(ctx, cmd_name)
        if known is None and (question := _of_models().get(cmd_name)):
            single = typer.Typer(add_completion=False, rich_markup_mode="rich")
            _add(single, question)
            known = typer.main.get_command(single)
        return known

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``QUESTION --help`` for the help of the question, and not for a scenario."""
        if len(args) == 2 and args[1] in _HELP and args[0] in self.list_commands(ctx):
            args = ["SCENARIO.toml", *args]
        if args:
            scenario_first("simrep plan", self.list_commands(ctx), args)
        return super().parse_args(ctx, args)


plan = typer.Typer(
    name="plan",
    cls=Questions,
    no_args_is_help=True,
    help="Answer an inverse question about a scenario: which value meets an objective.",
    rich_markup_mode="rich",
    subcommand_metavar="QUESTION [OPTIONS]",
    epilog="[bold]Examples[/bold]: [cyan]simrep plan cluster.toml rtt --objective "
    "'p99<=250ms'[/cyan], [cyan]simrep plan cluster.toml rate[/cyan], "
    "[cyan]simrep plan rtt --help[/cyan]",
)


@plan.callback()
def scenario_of(context: typer.Context, scenario: Scenario) -> None:
    """Keep the scenario for the question that follows."""
    context.obj = scenario


def with_questions(words: Sequence[str]) -> list[str]:
    """The words of a command line; what was a command of its own as the question that it is."""
    words = list(words)
    position = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    command, *rest = words[position:] or [""]
    file = next((word for word in rest if word.endswith(".toml")), None)
    if command not in _FORMER or file is None:
        return words
    rest.remove(file)
    question = _FORMER[command]
    print(
        f"Note: 'simrep {command} FILE' is 'simrep plan FILE {question}' now; the old form will be "
        "gone in the next minor release.",
        file=sys.stderr,
    )
    return [*words[:position], "plan", file, question, *rest]


def _of_models() -> dict[str, Question]:
    """Questions that single models answer, by name."""
    from simrep.contract.registry import usable_models

    return {own.name: own for model in usable_models() for own in model.questions()}


def _add(group: typer.Typer, question: Question) -> None:
    """Make a question a subcommand, with the options that it declares."""

    def command(context: typer.Context, **given: Any) -> None:
        own = {
            one.name: _read(one, value)
            for one in question.options
            if (value := given.pop(one.name)) is not None
            and not (given["quick"] and one.quick is not None and _by_default(context, one))
        }
        _answer(context.obj, question.name, own, **given)

    context = inspect.Parameter("context", _BY_NAME, annotation=typer.Context)
    own = [_parameter(one) for one in question.options]
    of_all = inspect.signature(_answer, eval_str=True).parameters.values()
    signature = inspect.Signature([context, *own, *(p for p in of_all if p.kind is _BY_NAME)])
    vars(command)["__signature__"] = signature
    command.__annotations__ = {}
    command.__doc__ = question.help
    group.command(name=question.name)(limited(command))


def _by_default(context: typer.Context, option: Option) -> bool:
    """Whether the command line does not have the option."""
    source = context.get_parameter_source(option.name)
    return source is None or source.name == "DEFAULT"


def _parameter(option: Option) -> inspect.Parameter:
    """An option as typer declares it."""
    kind = _TYPES.get(option.kind, str)
    most = MANY if option.kind == "count" else None
    declared = typer.Option(
        _flag(option), metavar=option.metavar or None, help=option.help, min=option.least, max=most
    )
    default = inspect.Parameter.empty if option.required else option.default
    optional = default is None
    annotation = Annotated[kind | None if optional else kind, declared]  # type: ignore[valid-type]
    return inspect.Parameter(option.name, _BY_NAME, default=default, annotation=annotation)


def _flag(option: Option) -> str:
    return f"--{option.flag or option.name.replace('_', '-')}"


def _read(option: Option, value: Any) -> Any:
    """What a function takes, of what people write."""
    flag = _flag(option)
    if option.kind == "time":
        return duration(flag, value, option.unit or "s")
    if option.kind == "share":
        return share(flag, value)
    if option.kind == "sizes":
        return quantities(flag, value)
    if option.kind == "levels":
        from simrep.whatif.design import parse

        return parse(value)
    if option.kind == "names":
        return [name.strip() for name in value.split(",") if name.strip()]
    if option.kind == "range":
        limits = range_of(flag, value, unit=option.unit, whole=not option.unit)
        kind = float if option.unit else int
        return kind(limits.low), kind(limits.high)
    return value


def _answer(
    scenario: Path,
    question: str,
    own: Mapping[str, Any],
    *,
    set_: Set = None,
    quick: Quick = False,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    out: Out = None,
    jobs: Jobs = None,
) -> None:
    check_writable("--plot", plot, plot=True)
    check_writable("--out", out)
    if out is not None and out.suffix.lower() != ".csv" and not is_device(out):
        raise ScenarioError("--out", f"cannot write {out.name!r}", "name it *.csv")

    from simrep.whatif.plan.ask import plan as ask

    chosen = changed(scenario, set_)
    with progress_bar(scenario.name, quiet=json) as progress:
        found = ask(chosen, question, **own, quick=quick, seed=seed, jobs=jobs, progress=progress)
    tell_nearest_pack(chosen, scenario)
    if out is not None:
        found.save(out)
    present(found, json=json, plot=plot, width=found.width, drawable=found.drawable)


for _question in QUESTIONS:
    _add(plan, _question)
