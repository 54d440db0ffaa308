"""Accounting for a stall, phase by phase, as a model's ``stall_phases`` does."""

from __future__ import annotations

from collections.abc import Sequence

from simrep.contract.model import StallPhase

__all__ = ["StallAccount"]


class StallAccount:
    """A stall from its begin on, of which ever more is accounted for.

    Parameters
    ----------
    names : sequence of str
        Of the nodes, by position.
    from_s, until_s : float
        Begin and end of the stall, in simulated seconds.
    rounding_s : float
        What is shorter is no phase.

    Attributes
    ----------
    phases : list of StallPhase
    """

    def __init__(
        self, names: Sequence[str], from_s: float, until_s: float, rounding_s: float = 1e-9
    ) -> None:
        self._names = names
        self._at_s = from_s  # everything before is accounted for
        self._end_s = until_s
        self._rounding_s = rounding_s
        self.phases: list[StallPhase] = []

    def _named(self, nodes: Sequence[int]) -> str:
        return ", ".join(self._names[node] for node in nodes)

    def _until(self, at_s: float, name: str, why: str = "") -> None:
        """Account for the time up to an instant, or to the end of the stall."""
        at_s = min(at_s, self._end_s)
        if at_s > self._at_s + self._rounding_s:
            self.phases.append(StallPhase(name, at_s - self._at_s, why))
        self._at_s = max(self._at_s, at_s)
