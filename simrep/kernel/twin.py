"""Shallow copies of objects of any build: what is compiled cannot be copied by ``copy``."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["attributes", "thaw", "twin"]

T = TypeVar("T")


def attributes(thing: object) -> dict[str, Any]:
    """Its attributes that have a value, wherever they are kept, by name."""
    names = set(getattr(thing, "__dict__", ()))
    for kind in type(thing).__mro__:
        names.update(kind.__dict__.get("__mypyc_attrs__", ()))  # a compiled class names them
        names.update(kind.__dict__.get("__slots__", ()))
    names -= {"__dict__", "__weakref__"}
    return {name: getattr(thing, name) for name in sorted(names) if hasattr(thing, name)}


def twin(thing: T) -> T:
    """Another one of its kind, with the same attributes."""
    other = type(thing).__new__(type(thing))
    for name, value in attributes(thing).items():
        setattr(other, name, value)
    return other


def thaw(*kinds: type) -> None:
    """Let frozen dataclasses that are compiled be unpickled: ``.ci/hatch_build.py`` calls it."""
    for kind in kinds:
        kind.__setstate__ = _restore  # type: ignore[attr-defined]


def _restore(thing: object, state: dict[str, Any]) -> None:
    for name, value in state.items():
        object.__setattr__(thing, name, value)
