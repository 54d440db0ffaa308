"""What a campaign found out about machine, clusters and layouts: kept for the manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simrep.rig.errors import RigError
from simrep.rig.files import content_of, write_whole

__all__ = ["State"]


class State:
    """A JSON file that is there again when a campaign resumes.

    Parameters
    ----------
    path : Path
        Or its compressed form, which is only read.

    Raises
    ------
    RigError
        If it is no such file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.content: dict[str, Any] = {"clusters": {}}
        text = content_of(path)
        if text is not None:
            try:
                self.content = json.loads(text)
            except ValueError:
                raise RigError(f"{path} cannot be read: it is not whole") from None

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

    def text(self) -> str:
        """All of it."""
        return json.dumps(self.content, indent=1, default=str) + "\n"

    def _write(self) -> None:
        write_whole(self._path, self.text())
