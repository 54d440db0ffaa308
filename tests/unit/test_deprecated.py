"""Names and modules that moved still work, and a warning tells the new place."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from importlib.resources import files

import pytest

import simrep

TABLES = [
    tomllib.loads((files(package) / "moved.toml").read_text(encoding="utf-8"))
    for package in ("simrep", "simrep.models")
]
NAMES = {name: home for table in TABLES for name, home in table.get("names", {}).items()}
MODULES = {name: homes for table in TABLES for name, homes in table.get("modules", {}).items()}
INSIDE = {name: home for table in TABLES for name, home in table.get("inside", {}).items()}


@pytest.fixture
def as_new(monkeypatch):
    """As if no old module had been imported yet."""
    for name in [name for name in sys.modules if name in MODULES]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_that_moved_warns(name):
    with pytest.warns(DeprecationWarning, match=f"simrep.{name} has moved: "):
        assert getattr(simrep, name) is not None


def test_a_module_that_moved_warns_and_has_the_same_content(as_new):
    with pytest.warns(DeprecationWarning, match="has moved to simrep.contract.cluster"):
        old = import_module("simrep.experiment.cluster")
    assert old.Cluster is import_module("simrep.contract.cluster").Cluster
    with pytest.raises(AttributeError, match=r"simrep\.experiment\.cluster"):
        _ = old.Clutser


def test_every_place_in_the_tables_exists(as_new):
    for homes in MODULES.values():
        for home in homes:
            import_module(home)
    for home in [home for home, _ in NAMES.values()] + list(INSIDE.values()):
        module, _, name = home.rpartition(".")
        assert hasattr(import_module(module), name), home


def test_what_was_renamed_is_found_under_its_old_name(as_new):
    for old, home in INSIDE.items():
        module, _, name = old.rpartition(".")
        place, _, attribute = home.rpartition(".")
        with pytest.warns(DeprecationWarning, match="has moved"):
            found = getattr(import_module(module), name)
        assert found is getattr(import_module(place), attribute)
        del sys.modules[module]


def test_modules_that_never_were_are_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"simrep\.experimnet"):
        import_module("simrep.experimnet.run")
