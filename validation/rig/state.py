"""What a campaign found out about machine, clusters and layouts: kept for the manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["State"]


class State:
    """A JSON file that is there again when a campaign resumes.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.content: dict[str, Any] = {"clusters": {}}
        if path.exists():
            self.content = json.loads(path.read_text(encoding="utf-8"))

    def update(self, **values: Any) -> None:
        """Keep values by name."""
        self.content |= values
        self._write()

    def cluster(self, key: str, values: Mapping[str, Any]) -> None:
        """Keep what is known of a cluster."""
        known = self.content["clusters"].setdefault(key, {"layouts": {}})
        known.update(values)
        self._write()

    def layout(self, cluster: str, name: str, values: Mapping[str, Any]) -> None:
        """Keep the pings of a layout on a cluster."""
        known = self.content["clusters"].setdefault(cluster, {"layouts": {}})
        known["layouts"][name] = dict(values)
        self._write()

    def clusters(self) -> dict[str, dict[str, Any]]:
        """All clusters by their key."""
        found: dict[str, dict[str, Any]] = self.content["clusters"]
        return found

    def _write(self) -> None:
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self.content, indent=1, default=str) + "\n", encoding="utf-8")
        part.replace(self._path)
