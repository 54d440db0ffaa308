"""Options of a model as a server has them set."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin

from simrep.contract.card import package_of
from simrep.contract.recognition import Recognition
from simrep.contract.registry import find_model
from simrep.contract.server_reading import FileEntry, ServerReading
from simrep.errors import ScenarioError
from simrep.intake.findings import Findings
from simrep.intake.identity import Identity
from simrep.scenario.options import in_product_spelling, resolve, version_defaults
from simrep.scenario.problems import spellings

__all__ = ["options_for", "value_of"]

_SWITCH = {
    **dict.fromkeys(("on", "1", "yes", "true"), True),
    **dict.fromkeys(("off", "0", "no", "false"), False),
}
_SIZE = re.compile(r"(\d+)([KMGTPE])", re.IGNORECASE)
_LONGEST = 40  # characters: no option has a number of more
_POWERS = {letter: 1024 ** (power + 1) for power, letter in enumerate("KMGTPE")}


def options_for(
    server: ServerReading, identity: Identity, known: Iterable[Recognition], findings: Findings
) -> dict[str, Any]:
    """Options that the files set, in the model's preferred spelling.

    Of running variables only those that are not the version's defaults: a server lists all.
    Options that the model does not have are noted as not simulated; why, any of the known models
    may say.
    """
    known = tuple(known)
    model, recognition = find_model(identity.model), identity.recognition
    table = model.Options
    defaults = version_defaults(package_of(model), identity.model, identity.version)
    layers = {f"version {identity.version}": defaults}
    usual = in_product_spelling(resolve(table, "cluster.options", layers, {}))
    chosen: dict[str, Any] = {}
    taken: dict[str, Any] = {}  # some go with others alone
    used = set().union(*(one.identity | one.packed for one in known))
    reasons = ChainMap(*(dict(one.not_simulated) for one in known))
    for field_name, field in table.model_fields.items():
        names = spellings(field_name, field)
        spelling = names[0]
        if spelling in reasons:  # it says nothing without what files and counters do not tell
            continue
        names += [more for name in names for more in recognition.spellings(name)]
        running, configured = _of(server.variables, names), _of(server.options, names)
        used.update(name.lower() for name in names)
        # As it runs, or else as the option file sets it last.
        entry = next(iter(running), None) or max(
            configured, key=list(server.options.values()).index, default=None
        )
        if entry is None:
            continue
        path_switch = spelling in recognition.path_switches
        value = value_of(entry.value, field.annotation, path_switch=path_switch)
        try:
            options = resolve(table, "cluster.options", layers, taken | {spelling: value})
        except ScenarioError as error:
            findings.unused(entry, f"{error.problem}; {usual[spelling]!r} is simulated")
            continue
        value = in_product_spelling(options)[spelling]
        if value != usual[spelling] or configured:
            setting, note = f"cluster.options.{spelling}", _contradiction(entry, configured)
            chosen[spelling] = findings.read(setting, value, [entry.place], note)
            taken[spelling] = value
    for name, entry in server.options.items():
        if name not in used:
            findings.unused(entry, reasons.get(name, ""))
    return chosen


def _of(entries: Mapping[str, FileEntry], names: Iterable[str]) -> list[FileEntry]:
    return [entries[name.lower()] for name in names if name.lower() in entries]


def _contradiction(entry: FileEntry, configured: Iterable[FileEntry]) -> str:
    """What the option file says, if the running server has another value."""
    for other in configured:
        if other.value.lower() != entry.value.lower():
            return f"{other.place.file}:{other.place.line} says {other.value}"
    return ""


def value_of(text: str, annotation: Any, *, path_switch: bool = False) -> Any:
    """A value as the type of an option wants it; the text itself where it does not fit.

    The text is as a server or an option file writes it: ``ON``, ``1``, ``128M``, ``PT1S``. A path
    switch is turned on by a file name.
    """
    text = text.strip()
    lower = text.lower()
    if annotation is bool:
        return _SWITCH.get(lower, True if path_switch and lower else text)
    if get_origin(annotation) is Literal:
        by_lower = {str(choice).lower(): choice for choice in get_args(annotation)}
        return by_lower.get(lower, text)
    if annotation in {int, float}:
        return _number(text, annotation)
    return text


def _number(text: str, kind: type[int | float]) -> Any:
    if len(text) > _LONGEST:
        return text
    if (match := _SIZE.fullmatch(text)) is not None:
        return kind(int(match[1]) * _POWERS[match[2].upper()])
    if kind is int and text.isdecimal():
        return int(text)
    try:
        value = float(text)
    except ValueError:
        return text  # a duration such as PT0.5S, which the model itself reads
    return int(value) if kind is int and value.is_integer() else value
