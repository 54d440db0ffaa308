"""Where the rig keeps what it makes: programs, root file systems, data of running servers."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["ENVIRONMENT", "rig_folder"]

ENVIRONMENT = "SIMREP_RIG"


def rig_folder() -> Path:
    """The folder that ``SIMREP_RIG`` names, or one in the user's cache."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given).resolve()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "simrep" / "rig"
