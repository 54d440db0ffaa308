"""What a stall consists of in which a node has stopped the cluster by flow control.

References
----------
gcs ``gcs.cpp`` (``gcs_fc_stop_begin``, ``gcs_fc_cont_begin``).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from simrep.modelling import Noted, StallAccount, StallPhase

from .flow_control import receive_queue_limits
from .options import GaleraOptions

__all__ = ["stopped_phases"]

_BEGINS = {"locked": "unlocked", "paused": "resumed"}


def stopped_phases(
    noted: Sequence[Noted],
    names: Sequence[str],
    options: GaleraOptions,
    from_s: float,
    until_s: float,
) -> list[StallPhase]:
    """The phases of a stall, if a node has stopped the cluster in it; else none."""
    again = {one.node: one.at_s for one in noted
             if one.what == "fc-continue" and one.at_s <= from_s}  # fmt: skip
    stop = next(
        (one for one in noted
         if one.what == "fc-stop" and again.get(one.node, -inf) < one.at_s < until_s),
        None,
    )  # fmt: skip
    if stop is None:
        return []
    account = _Account(names, from_s, until_s)
    account.stopped(stop, noted, receive_queue_limits(options, len(names)))
    return account.phases


class _Account(StallAccount):
    """A stall in which a node has stopped the cluster."""

    def stopped(self, stop: Noted, noted: Sequence[Noted], limits: tuple[int, int]) -> None:
        """Account for all of it."""
        who, (upper, lower) = self._names[stop.node], limits
        lock, until_s = _held(noted, stop)
        because = f"{lock} keeps its appliers from taking any" if lock else "it does not keep up"
        self._until(
            stop.at_s, "last commits", f"the queue of {who} grows to {upper} writesets: {because}"
        )
        again_s = next(
            (one.at_s for one in noted
             if one.what == "fc-continue" and one.node == stop.node and one.at_s > stop.at_s),
            inf,
        )  # fmt: skip
        self._until(
            min(until_s, again_s), "flow control",
            f"{who} has more than {upper} writesets in its queue (gcs.fc_limit): {because}",
        )  # fmt: skip
        self._until(
            again_s, "rest of the queue", f"{who} applies down to {lower} of them (gcs.fc_factor)"
        )
        self._until(self._end_s, "first commit", "what waited is ordered, certified and flushed")


def _held(noted: Sequence[Noted], stop: Noted) -> tuple[str, float]:
    """What keeps the appliers of a node from working when it stops the cluster, and until when."""
    lock, end = "", ""
    for one in noted:
        if one.node != stop.node:
            continue
        if one.at_s <= stop.at_s and one.what in _BEGINS:
            lock, end = one.how or "a lock on all tables", _BEGINS[one.what]
        elif lock and one.what == end:
            if one.at_s > stop.at_s:
                return lock, one.at_s
            lock = ""
    return lock, inf
