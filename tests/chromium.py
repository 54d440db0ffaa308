"""Debian's Chromium, driven by Playwright; ``make browser-test`` installs both."""

import os
import shutil
from importlib.util import find_spec

import pytest

__all__ = ["ARGUMENTS", "CHROMIUM", "RUN_MS", "needed"]

RUN_MS = 60_000
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


def needed(*packages: str) -> None:
    """Skip a test without a browser, or fail it where one is demanded."""
    absent = [] if CHROMIUM else ["Chromium"]
    absent += [name for name in ("playwright", *packages) if find_spec(name) is None]
    if not absent:
        return
    if os.environ.get("SIMREP_BROWSER") == "needed":
        pytest.fail(f"missing: {', '.join(absent)}")
    pytest.skip(f"missing: {', '.join(absent)}; `make browser-test` installs what it needs")
