"""What the package carries: an installed wheel has no repository to fall back on."""

import importlib
import os
import pkgutil
import re
import tomllib
from importlib.metadata import entry_points, version
from importlib.resources import files
from pathlib import Path

import pytest

import simrep.models
from tests.interpreters import NEWER, ROOT, TESTS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_classifiers_name_the_versions_that_are_tested():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert named[0] == oldest == "3.11"
    assert set(named[1:]) <= set(NEWER)
    assert all((ROOT / path).exists() for path in TESTS)


def tracked(*endings: str) -> list[Path]:
    """Files of the repository, found once: the links and what tools leave are not followed."""
    left_out = ("build", "dist", "__pycache__")
    found = []
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [
            name
            for name in inner
            if not name.startswith((".", *left_out)) and not (Path(folder) / name).is_symlink()
        ]
        found += [Path(folder) / name for name in names if name.endswith(endings)]
    return found


@pytest.mark.parametrize(
    "path",
    [
        "py.typed",
        "models/galera/__init__.py",
        "models/versions/galera.toml",
        "datasets/published/wan-concurrency/dataset.toml",
        "datasets/published/wan-concurrency/data.csv",
        "datasets/published/wan-concurrency/pxc.toml",
        "datasets/measured/galera-rig/data.csv",
        "rig/campaign.py",
        "rig/compose/hosts.yml",
        "rig/experiments/smoke.toml",
        "rig/relay/relay.c",
    ],
)
def test_the_package_carries(path):
    assert (files("simrep") / path).is_file()


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("models", "models"),
        ("datasets/measured", "validation/measured"),
        ("datasets/published", "validation/published"),
        ("rig", "validation/rig"),
    ],
)
def test_links_are_relative_and_lead_into_the_repository(link, target):
    place = ROOT / "simrep" / link
    assert not str(place.readlink()).startswith("/")
    assert place.resolve() == (ROOT / target).resolve()


def test_models_are_found_by_their_entry_points_and_load():
    entries = {entry.name: entry for entry in entry_points(group="simrep.models")}
    assert {"galera", "standalone", "asynchronous"} <= entries.keys()
    for name, entry in entries.items():
        assert entry.load().name == name


def test_the_installed_version_is_the_one_of_the_project():
    assert version("simrep") == PROJECT["project"]["version"]


def test_files_are_short_enough_to_hold_one_idea():
    long = {
        str(path.relative_to(ROOT)): count
        for path in tracked(".py")
        if (count := len(path.read_text().splitlines())) > 600  # at 400 it is looked at again
    }
    assert not long


def test_nothing_is_left_for_later():
    later = re.compile(
        "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X:", "NotImplemented" + "Error"))
    )
    found = [
        str(path.relative_to(ROOT)) for path in tracked(".py") if later.search(path.read_text())
    ]
    assert not found


def heirs(kind: type) -> set[type]:
    return {below for heir in kind.__subclasses__() for below in {heir, *heirs(heir)}}


def test_no_static_method_of_what_is_compiled_is_overridden():
    hook = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    for module in pkgutil.walk_packages(simrep.models.__path__, "simrep.models."):
        importlib.import_module(module.name)
    names = [f"simrep.{name}".replace("/", ".") for name in hook["modules"]]
    kinds = [kind for name in names for kind in vars(importlib.import_module(name)).values()]
    overridden = {
        (kind, name)
        for kind in kinds
        if isinstance(kind, type) and kind.__module__ in names
        for name, value in vars(kind).items()
        if isinstance(value, staticmethod) and any(name in vars(below) for below in heirs(kind))
    }
    assert not overridden


def test_what_is_compiled_exists():
    hook = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    assert not hook["enable-by-default"]
    missing = [name for name in hook["modules"] if not (ROOT / "simrep" / f"{name}.py").is_file()]
    assert not missing
    assert len(set(hook["modules"])) == len(hook["modules"])
