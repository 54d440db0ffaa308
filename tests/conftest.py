"""For all tests: how random cases are drawn, always the same ones, and that one process works.

The tests themselves are shared by all cores; those of several processes ask for these."""

from __future__ import annotations

import gc
import os
from functools import cache

import typer.main
from hypothesis import HealthCheck, Phase, settings

os.environ["SIMREP_JOBS"] = "1"
settings.register_profile(
    "tests",
    derandomize=True,
    database=None,
    deadline=None,
    # How long a case takes to draw depends on what else the machine does.
    suppress_health_check=[HealthCheck.too_slow],
)
# Mutants are to be noticed, not explained (--hypothesis-profile=mutants).
settings.register_profile("mutants", settings.get_profile("tests"), phases=[Phase.generate])
settings.load_profile("tests")

# Thirty commands with all of their options are built once, and not for each call of one of them.
typer.main.get_command = cache(typer.main.get_command)


def pytest_collection_finish() -> None:
    """Nothing that was imported or collected becomes garbage: the collector need not look at it."""
    gc.collect()
    gc.freeze()
