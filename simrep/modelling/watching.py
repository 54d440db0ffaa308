"""What makes the explanations of a model speak: parts, watched ones, and how they word things.

``Parts`` makes the stations, gates and locks of a node, ``WatchedParts`` the same so that they tell
a watch who waits for whom; a product whose parts are its own inherits from both. A ``Line`` is for
what a model lets wait itself. ``who`` and ``named`` find the transaction behind something that
waits, and say it in words; ``amount``, ``duration`` and ``size`` do so with figures.
"""

from simrep.contract.watching import (
    HELD,
    HeardMesh,
    Parts,
    Twin,
    WatchedParts,
    describe,
    named,
    parts_of,
    who,
)
from simrep.kernel.queues import WatchedGate, WatchedMutex
from simrep.kernel.trace import together
from simrep.kernel.watch import Holder, Line, Watch
from simrep.measure.units import amount, duration, size

__all__ = [
    "HELD",
    "HeardMesh",
    "Holder",
    "Line",
    "Parts",
    "Twin",
    "Watch",
    "WatchedGate",
    "WatchedMutex",
    "WatchedParts",
    "amount",
    "describe",
    "duration",
    "named",
    "parts_of",
    "size",
    "together",
    "who",
]
