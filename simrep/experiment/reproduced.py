"""What the results of both kinds of dataset share: where they come from, and how they show."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from simrep.experiment.printed import as_text

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Reproduced"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reproduced(ABC):
    """A dataset that was simulated.

    Attributes
    ----------
    seed, replications : int
    complete : bool
        False when the work was interrupted and something is missing.
    versions : mapping of str to str
        What computed it; models and packs under the names of the systems that use them.
    """

    width: ClassVar[int] = 100
    """Columns of the printed tables."""

    seed: int
    replications: int
    complete: bool
    versions: Mapping[str, str]

    @abstractmethod
    def tables(self) -> Group:
        """Tables for a terminal; ``rich.print(result.tables())`` or ``print(result)``."""

    def __str__(self) -> str:
        return as_text(self.tables(), self.width)

    def _as_json(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """With its provenance, as JSON can hold it: what is not a number becomes None."""
        whole = {
            **content,
            "seed": self.seed,
            "replications": self.replications,
            "complete": self.complete,
            "versions": dict(self.versions),
        }
        plain: dict[str, Any] = json.loads(json.dumps(whole), parse_constant=lambda _: None)
        return plain
