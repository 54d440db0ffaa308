"""What the results of both kinds of dataset share: where they come from, and how they show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simrep.measure.json_values import plain
from simrep.runs.report import Report

__all__ = ["Reproduced"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reproduced(Report):
    """A dataset that was simulated.

    Attributes
    ----------
    seed, replications : int
    complete : bool
        False when the work was interrupted and something is missing.
    versions : mapping of str to str
        What computed it; models and packs under the names of the systems that use them.
    """

    seed: int
    replications: int
    complete: bool
    versions: Mapping[str, str]

    def _as_json(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """With its provenance, as JSON can hold it: what is not a number becomes None."""
        whole: Mapping[str, object] = {
            **content,
            "seed": self.seed,
            "replications": self.replications,
            "complete": self.complete,
            "versions": dict(self.versions),
        }
        return plain(whole)
