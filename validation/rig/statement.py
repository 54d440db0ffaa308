"""The statement of a load: all that a process of clients needs to know of it."""

from __future__ import annotations

import random
from dataclasses import dataclass

__all__ = ["CONFLICTS", "DATABASE", "Statement"]

DATABASE = "rig"
"""Of all tables of the rig."""
CONFLICTS = (1020, 1180, 1205, 1213, 3101)
"""Errors that transactions of concurrent writers may get: changed since read, error at commit, lock
wait time-out, deadlock, refused by the group."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What the clients submit.

    Attributes
    ----------
    text : str
        With ``{row}`` where the number of a row goes.
    rows : int
        That it writes.
    choices : int
        Numbers of rows go from 1 to this; 0 if the text names none.
    """

    text: str
    rows: int = 1
    choices: int = 0

    def pick(self, generator: random.Random) -> str:
        """The text of one transaction."""
        if not self.choices:
            return self.text
        return self.text.replace("{row}", str(generator.randint(1, self.choices)))
