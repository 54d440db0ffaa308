"""Choices of a random scenario, the same ones in every version of Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

__all__ = ["FRAGMENTS", "PORTABLE", "Draw", "Table"]

PORTABLE = 20
Table = dict[str, Any]
T = TypeVar("T")

FRAGMENTS = (("bytes", 300), ("bytes", 5000), ("rows", 1), ("rows", 7), ("rows", 60),
             ("statements", 1), ("statements", 2))  # fmt: skip


@dataclass
class Draw:
    """Choices of one scenario, and what later ones depend on.

    Attributes
    ----------
    hop_ms : float
        About how long a message takes.
    streaming : bool
        Whether there is streaming replication.
    anywhere : bool
        Whether every node takes writes.
    changing : bool
        Whether servers come and go.
    timed : bool
        Whether something happens at a given time.
    lossy : bool
        Whether the network loses segments.
    tight : bool
        Whether transactions may be too large, so that their clients must not try them again.
    """

    model: str
    number: int
    random: Random = field(init=False)
    names: list[str] = field(default_factory=list)
    hop_ms: float = 0.1
    streaming: bool = False
    anywhere: bool = False
    changing: bool = False
    tight: bool = False
    timed: bool = False
    lossy: bool = False

    def __post_init__(self) -> None:
        self.random = Random(f"{self.model}/{self.number}")

    @property
    def portable(self) -> bool:
        return self.number < PORTABLE

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.random.random() * len(choices))]

    def whole(self, low: int, high: int) -> int:
        return low + int(self.random.random() * (high - low + 1))

    def real(self, low: float, high: float, digits: int = 3) -> float:
        return round(low + (high - low) * self.random.random(), digits)

    def some(self, options: dict[str, tuple[Any, ...]], share: float) -> Table:
        """Each of the options with a probability, with one of its values."""
        return {name: self.pick(values) for name, values in options.items() if self.chance(share)}

    def subset(self, choices: Sequence[T]) -> list[T]:
        """At least one of them, in their order."""
        kept = [one for one in choices if self.chance(0.5)]
        return kept or [self.pick(choices)]
