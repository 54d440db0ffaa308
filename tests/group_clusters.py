"""Clusters of MySQL Group Replication wired by hand."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, cast

from simrep.kernel.streams import Streams
from simrep.models.group_replication import GroupReplication
from simrep.models.group_replication.certifier import Snapshot
from simrep.models.group_replication.options import GroupReplicationOptions
from simrep.testing import WiredCluster
from simrep.workload.transaction import Transaction

__all__ = [
    "QUIET_S",
    "Certified",
    "GroupHistory",
    "GroupReplicationCluster",
    "calm_group",
    "latencies",
    "multi_primary",
]

QUIET_S = 2.0
"""In a calm group all have told their first statistics by then; the next are a minute away."""


class Certified(NamedTuple):
    """A transaction in the total order, as one member certified it."""

    number: int
    """Among all that were certified."""
    order: int
    """Among those that passed; 0 if it failed."""
    origin: int
    snapshot: Snapshot
    items: tuple[Hashable, ...]

    @property
    def passed(self) -> bool:
        return self.order > 0


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """What one member did, with the place in the trace of the whole cluster."""

    certified: list[Certified] = field(default_factory=list)
    visible: dict[int, int] = field(default_factory=dict)
    """When each transaction, by its order, was committed in the member's storage engine."""
    applied: dict[int, int] = field(default_factory=dict)
    """When it began to apply each transaction of others, by their order."""

    @property
    def passed(self) -> list[Certified]:
        return [one for one in self.certified if one.passed]


class GroupReplicationCluster(WiredCluster):
    """A group.

    Parameters
    ----------
    delays_s : matrix of float
        One-way delays in seconds.
    options, costs : mapping, optional
        Options in the product's spelling, or without ``group_replication_``; costs that are not 0.
    **how
        See ``WiredCluster``.
    """

    model: GroupReplication

    def __init__(
        self,
        delays_s: Sequence[Sequence[float]],
        *,
        options: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        **how: Any,
    ) -> None:
        uncompressed = {"compression_ratio": 1.0} | dict(costs or {})
        super().__init__(
            GroupReplication, delays_s, options=_spelled(options or {}), costs=uncompressed, **how
        )

    @property
    def quiet(self) -> bool:
        """Whether all members are done with everything that any of them has proposed."""
        proposed = self.total("COUNT_TRANSACTIONS_LOCAL_PROPOSED")
        passed = proposed - self.total("COUNT_TRANSACTIONS_LOCAL_ROLLBACK")
        return all(
            status["COUNT_TRANSACTIONS_CHECKED"] == proposed and status["Handler_commit"] == passed
            for status in self.model.counters().values()
        )

    def histories(self) -> list[GroupHistory]:
        """What each member did."""
        histories = [GroupHistory() for _ in self.names]
        channels: list[list[int]] = [[0] for _ in self.names]  # orders by place in the channel
        for place, event in enumerate(self.trace.events):
            history, channel = histories[event.node], channels[event.node]
            if event.what == "certify":
                origin, snapshot, items, passed = cast(
                    "tuple[int, Snapshot, tuple[Hashable, ...], bool]", event.detail
                )
                order = len(history.passed) + 1 if passed else 0
                if passed and origin != event.node:
                    channel.append(order)
                history.certified.append(Certified(event.seqno, order, origin, snapshot, items))
            elif event.what == "visible":
                assert event.seqno not in history.visible
                history.visible[event.seqno] = place
            elif event.what == "apply":
                history.applied[channel[event.seqno]] = place
        return histories


def _spelled(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by the names that the product has for them."""
    fields = GroupReplicationOptions.model_fields
    return {
        fields[name].alias or name if name in fields else name: options[name] for name in options
    }


def multi_primary(**options: Any) -> dict[str, Any]:
    """Options of a group in which all members write."""
    return {"single_primary_mode": False, **options}


def calm_group(
    delays_s: Sequence[Sequence[float]],
    *,
    costs: Mapping[str, float] | None = None,
    last: int = 0,
    **options: Any,
) -> GroupReplicationCluster:
    """A group in which all may write and nobody has anything else to tell.

    ``last`` was the last to send its first statistics: what it sends next has to wait for the
    others to skip their slots.
    """
    how = multi_primary(flow_control_period=60) | options
    seed = _told_last(len(delays_s), last)
    return GroupReplicationCluster(delays_s, options=how, costs=costs, seed=seed)


def _told_last(size: int, member: int) -> int:
    """A seed with which the member's loop is the last to begin, well after all others."""
    for seed in count():
        uniform = Streams(seed).uniform("group_replication/loops")
        phases = [uniform() for _ in range(size)]
        second, last = sorted(phases)[-2:]
        if phases[member] == last and last - second > 0.1:
            break
    return seed


def latencies(
    cluster: GroupReplicationCluster, *transactions: Transaction, apart_s: float = 0.0
) -> list[float]:
    """Of transactions that clients of their own send, one after the other, in a calm group."""
    for number, transaction in enumerate(transactions):
        cluster.client([transaction], begin_s=QUIET_S + number * apart_s)
    cluster.run(200.0)
    ended = {attempt.transaction: attempt.ended_s - attempt.began_s for attempt in cluster.attempts}
    return [ended[transaction] for transaction in transactions]
