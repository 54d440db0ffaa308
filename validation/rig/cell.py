"""One cell of an experiment: a cluster, its options, its delays and a load."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from simrep.rig.layout import Layout
from simrep.rig.load import Load
from simrep.rig.server import Option

__all__ = ["Cell", "ProductName", "Run", "ServerName"]

ProductName = Literal["galera", "group_replication", "semisync", "asynchronous"]
ServerName = Literal["mariadb", "mysql", "percona"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What is measured, some times over.

    Attributes
    ----------
    system, variant : str
        Names in the experiment; the variant is "" where there is none.
    product : ProductName
    server : ServerName
    nodes : int
    options : mapping of product option to value
        All that the servers are started with.
    layout : Layout
    load : Load
    """

    system: str
    variant: str
    product: ProductName
    server: ServerName
    nodes: int
    options: Mapping[str, Option]
    layout: Layout
    load: Load

    @property
    def node_names(self) -> tuple[str, ...]:
        """``n1``, ``n2``, ..."""
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))

    @property
    def cluster_key(self) -> str:
        """Cells with the same key may use the same cluster, one after the other."""
        return json.dumps(
            [self.system, self.product, self.server, self.nodes, dict(sorted(self.options.items()))]
        )

    @property
    def key(self) -> str:
        """The same for equal cells, whatever else the experiment holds and titles say."""
        content = [
            self.cluster_key,
            self.variant,
            *(_given(table) for table in (self.layout, self.load)),
        ]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return f"{self.label}.{digest[:8]}".replace("/", "-").replace(" ", "_")

    @property
    def label(self) -> str:
        """The cell for people, short."""
        parts = [self.system, self.variant, self.layout.name, self.load.name]
        return ".".join([part for part in parts if part] + [f"t{self.load.threads}"])

    def value(self, name: str) -> Any:
        """The value of a factor: an option, or a key of the load with its tables dotted."""
        if name in self.options:
            return self.options[name]
        found: Any = self.load
        for step in name.split("."):
            found = getattr(found, step, None)
        return found


def _given(table: Layout | Load) -> dict[str, Any]:
    """What is not by default: keys that later versions add change no name."""
    return table.model_dump(mode="json", exclude_defaults=True, exclude={"title"})


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition of a cell."""

    cell: Cell
    repetition: int

    @property
    def id(self) -> str:
        """Its name in the dataset."""
        return f"{self.cell.key}.r{self.repetition}"
