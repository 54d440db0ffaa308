"""Words of a command line that are wrong or belong elsewhere, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError

__all__ = ["as_given", "number_of_option", "scenario_first", "value_of_scenario"]

_SHOWN = 4  # places of a key that several tables have


def value_of_scenario(error: Exception, words: Sequence[str]) -> ScenarioError | None:
    """What to write instead of an option that no command has, as a scenario has such a key.

    Parameters
    ----------
    error : Exception
        Of the parser. None comes back for one that is not about an unknown option.
    words : sequence of str
        The command line.
    """
    option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if not isinstance(option, str) or context is None:
        return None
    paths = list(dict.fromkeys(_paths(option.lstrip("-").replace("-", "_"))))
    if not paths:
        return None
    # Of the whole load rather than of one group or class, where there is such a key.
    paths = [path for path in paths if ".0." not in path] or paths
    command = " ".join(word for word in context.command_path.split() if word[0] not in "{[")
    takes = any("--set" in parameter.opts for parameter in context.command.params)
    value = _value(option, words)
    shown = [f"--set {path}={value}" if takes else path for path in paths[:_SHOWN]]
    more = "" if len(paths) <= _SHOWN else f" and {len(paths) - _SHOWN} more"
    means = "write" if takes else "in the scenario file it is"
    return ScenarioError(
        option,
        f"{command} has no such option; it is a value of the scenario",
        f"{means} {' or '.join(shown)}{more}",
    )


def number_of_option(error: Exception, words: Sequence[str]) -> ScenarioError | None:
    """What an option takes instead of a text that is not such a number.

    Parameters
    ----------
    error : Exception
        Of the parser. None comes back for one that is not about the number of an option.
    words : sequence of str
        The command line.
    """
    option = getattr(error, "param", None)
    own = getattr(option, "type", option)  # which of the two has the limits depends on typer
    declared = getattr(getattr(option, "type_descriptor", None), "annotation", None)
    whole = declared is int or getattr(own, "name", "").startswith("integer")
    if not (whole or declared is float or getattr(own, "name", "").startswith("float")):
        return None
    names: Sequence[str] = getattr(option, "opts", ())
    given = next((text for name in names if (text := _given(name, words)) is not None), None)
    if given is None:
        return None
    least, most = getattr(own, "min", None), getattr(own, "max", None)
    limits = "" if least is None else f" of at least {least}"
    if least is not None and most is not None:
        limits = f" from {least} to {most}"
    kind = "whole number" if whole else "number"
    return ScenarioError(names[0], f"must be a {kind}{limits}, given {given!r}")


def as_given(error: ScenarioError, words: Sequence[str]) -> ScenarioError:
    """An error about an argument of a function, by the option that has given it."""
    name = error.path.replace("_", "-")
    for option in (f"--{name}", f"--{name.removesuffix('-s')}", f"--{name.removesuffix('s')}"):
        if any(word == option or word.startswith(f"{option}=") for word in words):
            return ScenarioError(option, error.problem, error.hint)
    return error


def scenario_first(command: str, questions: Sequence[str], words: Sequence[str]) -> None:
    """Refuse ``plan QUESTION SCENARIO``, and say in which order they stand."""
    file = next((word for word in words[1:] if word.endswith(".toml") or Path(word).is_file()), "")
    if not file or words[0] not in questions or Path(words[0]).is_file():
        return
    rest = [word for word in words[1:] if word != file]
    raise ScenarioError(
        command,
        f"the scenario comes before the question, given {words[0]!r} first",
        " ".join(["write", command, file, words[0], *rest]),
    )


def _value(option: str, words: Sequence[str]) -> str:
    """What was given to an option, as far as that can be told."""
    given = _given(option, words)
    return "VALUE" if given is None or given.startswith("-") else given


def _given(option: str, words: Sequence[str]) -> str | None:
    """The word that belongs to an option; None if there is none."""
    for position, word in enumerate(words):
        name, equals, own = word.partition("=")
        if name == option:
            return own if equals else next(iter(words[position + 1 :]), None)
    return None


def _paths(name: str) -> Iterator[str]:
    """Where a scenario has a key of this name, options and costs of all models included."""
    from simrep.contract.registry import usable_models
    from simrep.scenario import Scenario
    from simrep.scenario.problems import paths_named, spellings
    from simrep.whatif.design import ALSO_CALLED

    yield from paths_named(name, Scenario)
    yield from (path for other, path in ALSO_CALLED.items() if other.endswith(f".{name}"))
    for model in usable_models():
        for part, table in (("options", model.Options), ("costs", model.Costs)):
            for key, field in table.model_fields.items():
                known: Any = spellings(key, field)
                if name in {one.replace(".", "_").replace("-", "_") for one in known}:
                    yield f"cluster.{part}.{known[0]}"
