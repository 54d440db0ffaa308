"""How a document for the player holds long lists: columns of whole numbers, and texts by number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isnan

from simrep.printable import printable

__all__ = ["HOLE", "TICK_S", "Texts", "differences", "kind_of", "ticks"]

TICK_S = 1e-7
"""Times in a document are whole numbers of these."""
HOLE = "\x01"
"""Stands in a text for a number; ``printable`` leaves none of these in any text."""

_NUMBER = re.compile(r"(?<![\d.])(?:0|[1-9]\d{0,14})(?![\d])")


def ticks(seconds: float) -> int:
    """A time as a document holds it; -1 for what has not happened.

    >>> ticks(0.25), ticks(float("nan"))
    (2500000, -1)
    """
    return -1 if isnan(seconds) else round(seconds / TICK_S)


def differences(values: Iterable[int]) -> list[int]:
    """Each value less the one before it, the first less 0.

    >>> differences([5, 7, 7, 4])
    [5, 2, 0, -3]
    """
    before, found = 0, []
    for value in values:
        found.append(value - before)
        before = value
    return found


class Texts:
    """Texts by number; those that differ in numbers only are one text with holes.

    Attributes
    ----------
    patterns : list of str
    """

    def __init__(self) -> None:
        self.patterns: list[str] = []
        self._places: dict[str, int] = {}

    def whole(self, text: str) -> int:
        """The number of a text as it is."""
        return self._place(printable(text))

    def split(self, text: str, numbers: list[int]) -> int:
        """The number of a text with holes; what stands in them is put at the end of a list."""
        text = printable(text)
        numbers += map(int, _NUMBER.findall(text))
        return self._place(_NUMBER.sub(HOLE, text))

    def _place(self, pattern: str) -> int:
        place = self._places.get(pattern)
        if place is None:
            place = self._places[pattern] = len(self.patterns)
            self.patterns.append(pattern)
        return place


def kind_of(label: str) -> str:
    """What kind of message it is: its label without numbers.

    >>> kind_of("writeset 17"), kind_of("2 writesets + last committed")
    ('writeset', 'writesets + last committed')
    """
    return " ".join(re.sub(r"\b\d[\d.,]*\b", " ", label).split()) or "message"
