"""Names and modules that have moved: they still work, with a warning, for one minor release.

``moved.toml`` beside this file lists them, and ``moved.toml`` in a package of models its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from warnings import warn

__all__ = ["MovedModules", "moved_name"]


@cache
def _table(kind: str) -> Mapping[str, Any]:
    """One table of all files: public ``names``, ``modules``, or names ``inside`` of these."""
    import tomllib  # hardly any process needs these three
    from importlib.metadata import entry_points
    from importlib.resources import files

    packages = {entry.module.rpartition(".")[0] for entry in entry_points(group="simrep.models")}
    found: dict[str, Any] = {}
    for package in ("simrep", *sorted(packages)):
        file = files(package) / "moved.toml"
        if file.is_file():
            found |= tomllib.loads(file.read_text(encoding="utf-8")).get(kind, {})
    return found


def moved_name(name: str) -> Any:
    """A public name of an earlier release, for ``simrep.__getattr__``.

    Raises
    ------
    AttributeError
        If there never was such a name.
    """
    if name.startswith("_") or name not in _table("names"):
        raise AttributeError(f"module 'simrep' has no attribute {name!r}")
    home, advice = _table("names")[name]
    warn(f"simrep.{name} has moved: {advice}", DeprecationWarning, stacklevel=3)
    module, _, attribute = home.rpartition(".")
    return getattr(import_module(module), attribute)


class MovedModules:
    """Finds modules under their old names, after all other finders have failed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See ``importlib.abc.MetaPathFinder``."""
        if not fullname.startswith("simrep."):
            return None
        known = _table("modules")
        package = any(name.startswith(f"{fullname}.") for name in known)
        if not package and fullname not in known:
            return None
        loader: Any = self  # not an abc.Loader: importing that class takes longer than simrep
        return ModuleSpec(fullname, loader, is_package=package)

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leave it to the import system to make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module the names of those that hold its content now."""
        old = module.__name__
        homes: Sequence[str] = _table("modules").get(old, ())
        if homes:
            where = " and ".join(homes)
            warn(f"{old} has moved to {where}", DeprecationWarning, stacklevel=2)

        def find(name: str) -> Any:
            home = _table("inside").get(f"{old}.{name}")
            if home is not None:
                place, _, attribute = home.rpartition(".")
                return getattr(import_module(place), attribute)
            for place in homes:
                if hasattr(import_module(place), name):
                    return getattr(import_module(place), name)
            raise AttributeError(f"module {old!r} has no attribute {name!r}")

        module.__dict__["__getattr__"] = find
