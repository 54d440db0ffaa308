"""Results that were computed before: a file for each point, named by all that it depends on."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from simrep.contract.setup import Setup
from simrep.errors import CacheWarning, ScenarioError, WriteError
from simrep.files import make_folder, user_caches, write_text

__all__ = ["Cache", "cache_of", "code_digest", "key_of", "standard_folder"]

_READ = (".py", ".toml")  # what a package computes with: code, versions, packs
_NO_CODE = ("__pycache__", "datasets", "rig")
_NOT_COMPUTED = ("name", "description")  # of a scenario


class Cache:
    """A folder of results.

    A file appears there whole or not at all, so nothing that was finished is lost when the
    process is killed, and several processes may use one folder. A folder that cannot be written
    costs a warning and no result.

    Parameters
    ----------
    folder : Path
        Made when the first result is stored.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fails = False

    def get(self, key: str) -> dict[str, Any] | None:
        """What was stored under a key; None if nothing was, or it cannot be read.

        A file that was copied to the name of another one tells a key of its own: it is no answer.
        """
        try:
            content = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        own = isinstance(content, dict) and content.pop("key", None) == key
        return content if own else None

    def put(self, key: str, content: Mapping[str, Any]) -> None:
        """Store what JSON can hold; nothing more after a first time that failed."""
        if self._fails:
            return
        content = {"key": key, **content}
        path = self._path(key)
        try:
            make_folder(path.parent)
            write_text(path, json.dumps(content, allow_nan=False))
        except WriteError as error:
            self._fails = True
            warnings.warn(f"{error}: finished points are not kept", CacheWarning, stacklevel=3)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def cache_of(cache: bool | str | Path) -> Cache | None:
    """The cache that an argument asks for: True for the standard one, False for none.

    Raises
    ------
    ScenarioError
        If it is an empty name.
    """
    if cache is False:
        return None
    if cache == "":
        raise ScenarioError("cache", "is empty", "name a folder, or True for the standard one")
    try:
        return Cache(standard_folder() if cache is True else Path(cache))
    except WriteError as error:
        warnings.warn(f"{error}: finished points are not kept", CacheWarning, stacklevel=3)
        return None


def standard_folder() -> Path:
    """Where results are kept: ``$SIMREP_CACHE``, or ``simrep`` in the user's folder of caches."""
    own = os.environ.get("SIMREP_CACHE")
    if own:
        return Path(own)
    return user_caches() / "simrep"


def key_of(setup: Setup, how: Mapping[str, Any]) -> str:
    """The name of a result: equal only if it would be computed again exactly so.

    Parameters
    ----------
    setup : Setup
        Its scenario with all defaults, its pack and the versions of all that computes it.
    how : mapping
        What else matters, as JSON can hold it: seed, replications, figures.
    """
    scenario = setup.scenario.to_dict()
    for name in (*_NOT_COMPUTED, "run"):
        scenario.pop(name, None)
    run = setup.scenario.run.model_dump(exclude={"seed", "replications", "log"})
    content = {
        "scenario": scenario,
        "run": run,
        "versions": dict(setup.versions),
        "code": code_digest("simrep"),
        "model": code_digest(setup.model.__module__.partition(".")[0]),
        **how,
    }
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@cache
def code_digest(package: str) -> str:
    """SHA-256 of the source of an installed package, wherever it lies."""
    module = import_module(package)
    if not getattr(module, "__path__", None):
        return sha256(Path(str(module.__file__)).read_bytes()).hexdigest()
    digest = sha256()
    for folder in sorted(module.__path__):
        for path in _sources(Path(folder)):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _sources(folder: Path) -> list[Path]:
    """Files that a package computes with, links followed; measured data is not among them."""
    found = []
    for inside, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name not in _NO_CODE]
        found += [Path(inside) / name for name in names if name.endswith(_READ)]
    return sorted(found)
