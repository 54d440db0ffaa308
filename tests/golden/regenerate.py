"""Pin the golden clusters as they run now: ``python -m tests.golden.regenerate``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden.clusters import CLUSTERS, pin

__all__ = ["PINNED"]

PINNED = Path(__file__).with_name("pinned.json")

if __name__ == "__main__":
    PINNED.write_text(json.dumps({name: pin(name).as_dict() for name in CLUSTERS}, indent=2) + "\n")
