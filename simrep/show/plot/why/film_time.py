"""Which instant each frame of a film shows: slow while a message travels, fast while none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simrep.why.explanation import Explanation

__all__ = ["film_times"]

_STILL, _OTHERS = 0.25, 0.6  # lengths of a second in which nothing moves, or only what is pale
_SEEN = 3.0  # frames for the shortest flight of a message
_FOR_SHORT = 0.5  # of the frames may go to such flights
_HELD = 0.08  # of the frames show the end


def film_times(explanation: Explanation, frames: int) -> NDArray[np.float64]:
    """Simulated seconds of the frames, ascending, from the begin of the transaction.

    Parameters
    ----------
    explanation : Explanation
    frames : int
        At least 2.
    """
    began_s, until_s = explanation.started_s, explanation.until_s
    held = round(_HELD * frames)
    moving = frames - held
    flights = [
        (max(one.sent_s, began_s), min(one.arrived_s, until_s), one.own or one.critical)
        for one in explanation.messages
        if one.sent_s < until_s and one.arrived_s > began_s  # not what never arrives
    ]
    own = [(sent_s, arrived_s) for sent_s, arrived_s, shown in flights if shown]
    edges = np.unique([began_s, until_s, *(edge for flight in own for edge in flight)])
    middles, spans_s = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    busy = np.array([any(a < at < b for a, b in own) for at in middles])
    others = np.array([any(a < at < b for a, b, _ in flights) for at in middles])
    weights = spans_s * np.where(busy, 1.0, np.where(others, _OTHERS, _STILL))
    lengths = moving * weights / weights.sum()
    least = min(_SEEN, _FOR_SHORT * moving / max(1, int(busy.sum())))
    lengths = np.where(busy, np.maximum(lengths, least), lengths)
    at = np.concatenate(([0.0], np.cumsum(lengths)))
    times = np.interp(np.linspace(0.0, at[-1], moving), at, edges)
    return np.concatenate((times, np.full(held, until_s)))
