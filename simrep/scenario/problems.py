"""What is wrong with a file, said so that it can be put right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic.fields import FieldInfo

from simrep.errors import ScenarioError, nearest
from simrep.scenario.table import Reason

__all__ = ["ProblemsError", "Step", "combined", "dotted", "paths_named", "problems", "spellings"]

Step = str | int

# Units by what they measure, and how many of them make one of the base unit.
_UNITS = (
    {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "sec": 1.0, "seconds": 1.0},
    {"kbit": 1e3, "mbit": 1.0, "gbit": 1e-3, "mbps": 1.0, "gbps": 1e-3},
    {"bytes": 1.0, "kb": 1 / 1024, "mb": 1 / 1024**2},
)

_EXPECTED = {
    "bool": "true or false",
    "dict": "a table",
    "dataclass": "a table",
    "float": "a number",
    "finite_number": "a finite number",
    "int": "a whole number",
    "list": "a list",
    "model": "a table",
    "string": "a string",
    "tuple": "a list",
}

_MOST = 30  # problems of one error that are told

_PLAIN = (0, 1)  # bounds that need no reason
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


class ProblemsError(ValueError):
    """Several things that are wrong, found by one check."""

    def __init__(self, found: Sequence[ScenarioError]) -> None:
        self.found = tuple(found)
        super().__init__("; ".join(map(str, found)))


def dotted(steps: Sequence[Step]) -> str:
    """A path as ``with_value`` takes it: names with dots are quoted, list positions are numbers."""
    return ".".join(f'"{s}"' if isinstance(s, str) and "." in s else str(s) for s in steps)


def combined(found: Sequence[ScenarioError], where: str) -> ScenarioError:
    """One error for all of them; a single one is raised as it is."""
    if len(found) == 1:
        return found[0]
    lines = "".join(f"\n  {problem}" for problem in found[:_MOST])
    more = f"\n  and {len(found) - _MOST:,} more" if len(found) > _MOST else ""
    return ScenarioError(where, f"{len(found)} problems{lines}{more}")


def problems(
    error: ValidationError,
    table: type[BaseModel],
    prefix: Sequence[Step] = (),
    origins: Mapping[Step, Sequence[Step]] | None = None,
) -> list[ScenarioError]:
    """Every problem that pydantic found in a table.

    Parameters
    ----------
    error : ValidationError
    table : type of pydantic model
    prefix : sequence of str or int
        Where the table stands.
    origins : mapping, optional
        Where single keys of it stand, if elsewhere.
    """
    found: list[ScenarioError] = []
    details = error.errors()
    for detail in details:
        loc = detail["loc"]
        if detail["type"] == "too_short" and any(
            other["loc"][: len(loc)] == loc and other is not detail for other in details
        ):
            continue  # a list seems empty to pydantic when its entries are wrong
        start = (origins or {}).get(loc[0], prefix) if loc else prefix
        steps = [*start, *loc]
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, ProblemsError):
            found.extend(_moved(one, steps) for one in cause.found)
        elif isinstance(cause, ScenarioError):
            found.append(_moved(cause, steps))
        elif detail["type"] == "extra_forbidden":
            *inside, name = detail["loc"]
            tables = list(_tables_at(table, inside))
            found.append(
                ScenarioError(
                    dotted(steps),
                    f"unknown key, given {detail['input']!r}",
                    _nearest_key(str(name), detail["input"], tables, table)
                    if len(found) < _MOST
                    else "",
                )
            )
        else:
            problem, hint = _explained(detail, table)
            found.append(ScenarioError(dotted(steps) or "scenario", problem, hint))
    return found


def spellings(field_name: str, field: FieldInfo) -> list[str]:
    """All names under which a file may give a field, the preferred one first."""
    names: list[str] = []
    if field.serialization_alias:
        names.append(field.serialization_alias)
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        names.extend(choice for choice in alias.choices if isinstance(choice, str))
    elif isinstance(alias, str):
        names.append(alias)
    return list(dict.fromkeys(names)) or [field_name]


def _moved(error: ScenarioError, steps: Sequence[Step]) -> ScenarioError:
    """The same error where the table that raised it stands."""
    path = ".".join(part for part in (dotted(steps), error.path) if part)
    return ScenarioError(path or "scenario", error.problem, error.hint)


def _explained(detail: Any, table: type[BaseModel]) -> tuple[str, str]:
    kind, given = detail["type"], detail["input"]
    context: Mapping[str, Any] = detail.get("ctx", {})
    if kind == "missing":
        return "is required", ""
    for bound, words in _BOUNDS.items():
        if bound in context:
            limit = context[bound]
            reason = "" if limit in _PLAIN else _reason(table, detail["loc"])
            return f"must be {words} {_written(limit)}, given {given!r}", reason
    if kind == "literal_error":
        expected = context["expected"]
        valid = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
        hint = nearest(given, valid) if isinstance(given, str) else ""
        return f"must be {expected}, given {given!r}", "" if hint.startswith("valid") else hint
    if kind in {"string_too_short", "too_short"}:
        fewest = context["min_length"]
        if fewest == 1:
            return "must not be empty", ""
        return f"must have at least {fewest} entries, given {given!r}", ""
    expected = _EXPECTED.get(kind.removesuffix("_type").removesuffix("_parsing"))
    if kind == "int_from_float":
        expected = _EXPECTED["int"]
    if expected is not None:
        return f"must be {expected}, given {given!r}", _unquoted(given)
    return f"{detail['msg']}, given {given!r}", ""


def _written(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.12g}"


def _reason(table: type[BaseModel], loc: Sequence[Step]) -> str:
    """Why the kind of number at a path ends where it does; empty if it does not say so."""
    *inside, name = [step for step in loc if isinstance(step, str)] or [""]
    reasons = (
        reason.text
        for one in _tables_at(table, inside)
        for key, field in one.model_fields.items()
        if name in spellings(key, field)
        for reason in _reasons(field.annotation, field.metadata)
    )
    return next(reasons, "")


def _reasons(annotation: Any, metadata: Sequence[Any] = ()) -> Iterator[Reason]:
    """The reasons that a field carries, or the kinds that its annotation is made of."""
    marks = (*metadata, *getattr(annotation, "__metadata__", ()))
    yield from (mark for mark in marks if isinstance(mark, Reason))
    for argument in get_args(annotation):
        yield from _reasons(argument)


def _unquoted(given: Any) -> str:
    if not isinstance(given, str):
        return ""
    try:
        float(given)
    except ValueError:
        return ""
    return f"write {given.strip()} without quotes"


def _nearest_key(
    name: str, given: Any, tables: Sequence[type[BaseModel]], root: type[BaseModel]
) -> str:
    valid = [
        spelling
        for one in tables
        for key, field in one.model_fields.items()
        for spelling in spellings(key, field)
    ]
    same = _same_in_other_unit(name, valid)
    if same is not None:
        key, factor = same
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return f"did you mean {key} = {given * factor:g}?"
        return f"did you mean {key!r}?"
    hint = nearest(name, valid)
    if hint.startswith("valid"):
        elsewhere = [path for path, key in _all_keys(root) if key == name]
        if elsewhere:
            return f"it belongs to {' or '.join(elsewhere)}"
    return hint


def _same_in_other_unit(name: str, valid: Sequence[str]) -> tuple[str, float] | None:
    """The key that differs from ``name`` only in its unit, and the factor between the two."""
    stem, _, unit = name.rpartition("_")
    for units in _UNITS:
        if not stem or unit not in units:
            continue
        for key in valid:
            other_stem, _, other = key.rpartition("_")
            if other_stem == stem and other in units:
                return key, units[other] / units[unit]
    return None


def _tables_at(table: type[BaseModel], steps: Sequence[Step]) -> Iterator[type[BaseModel]]:
    """The tables that a path leads to."""
    if not steps:
        yield table
        return
    step, rest = steps[0], steps[1:]
    for key, field in table.model_fields.items():
        if step in spellings(key, field):
            for inner in _inner(field.annotation):
                yield from _tables_at(inner, [s for s in rest if not isinstance(s, int)])


def _inner(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _inner(argument)


def paths_named(name: str, table: type[BaseModel], steps: Sequence[Step] = ()) -> Iterator[str]:
    """Dotted paths of all keys of this name below a table; of a list, in its first entry."""
    for key, field in table.model_fields.items():
        names = spellings(key, field)
        if name in names:
            yield dotted([*steps, names[0]])
        entry: tuple[Step, ...] = (0,) if _is_list(field.annotation) else ()
        for inner in _inner(field.annotation):
            yield from paths_named(name, inner, [*steps, names[0], *entry])


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) in {list, tuple} or any(map(_is_list, get_args(annotation)))


def _all_keys(table: type[BaseModel], path: str = "") -> Iterator[tuple[str, str]]:
    """All keys below a table, each with the table it belongs to, written as in TOML."""
    for key, field in table.model_fields.items():
        name = spellings(key, field)[0]
        if path:
            yield f"[{path}]", name
        for inner in _inner(field.annotation):
            yield from _all_keys(inner, f"{path}.{name}" if path else name)
