"""Galera clusters wired by hand."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from simrep.kernel.trace import TraceEvent
from simrep.models.galera import Galera
from simrep.testing import Attempt, WiredCluster, updates

__all__ = ["Attempt", "GaleraCluster", "History", "Order", "timers", "updates"]


def timers(suspect_s: float) -> dict[str, float]:
    """Legal timers of the group communication that is short of patience (from 0.3 s)."""
    return {
        "evs.suspect_timeout": suspect_s,
        "evs.inactive_check_period": suspect_s / 8,
        "evs.keepalive_period": suspect_s / 3,
        "evs.join_retrans_period": 0.1,
    }


class Order(NamedTuple):
    """A writeset in the total order, as one node saw it; ``passed`` is None until certified."""

    seqno: int
    origin: int
    last_seen: int
    keys: tuple[Hashable, ...]
    passed: bool | None


@dataclass(frozen=True, slots=True)
class History:
    """What one node did, from its trace."""

    orders: list[Order]
    commits: list[int]
    position: dict[tuple[str, int], int]
    """Place in the trace of (event, sequence number)."""


class GaleraCluster(WiredCluster):
    """A Galera cluster.

    Parameters
    ----------
    delays_s : matrix of float
        One-way delays in seconds.
    **how
        See ``WiredCluster``.
    """

    def __init__(self, delays_s: Sequence[Sequence[float]], **how: Any) -> None:
        super().__init__(Galera, delays_s, **how)

    @property
    def quiet(self) -> bool:
        """Whether all nodes are done with everything that any of them has replicated."""
        replicated = self.total("wsrep_replicated")
        return all(
            status["wsrep_last_committed"] == replicated
            for status in self.model.counters().values()
        )

    def histories(self) -> list[History]:
        """What each node did."""
        events: list[list[TraceEvent]] = [[] for _ in self.names]
        for event in self.trace.events:
            events[event.node].append(event)
        return [_history(of_node) for of_node in events]


def _history(events: list[TraceEvent]) -> History:
    passed: dict[int, Any] = {
        event.seqno: event.detail[0] for event in events if event.what == "certify"
    }
    orders = []
    for event in events:
        if event.what == "order":
            origin, last_seen, keys = cast("tuple[int, int, tuple[Hashable, ...]]", event.detail)
            orders.append(Order(event.seqno, origin, last_seen, keys, passed.get(event.seqno)))
    return History(
        orders=orders,
        commits=[event.seqno for event in events if event.what == "commit"],
        position={(event.what, event.seqno): place for place, event in enumerate(events)},
    )
