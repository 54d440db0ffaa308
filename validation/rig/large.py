"""One large UPDATE beside a load, and what it did to that."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, Any

from simrep.rig.clients import LoadClock
from simrep.rig.cluster import RigCluster
from simrep.rig.errors import RigError
from simrep.rig.load import STALL_WINDOW_S, Load
from simrep.rig.transactions import DATABASE, Transaction

if TYPE_CHECKING:
    from pymysql.connections import Connection

__all__ = ["LargeUpdate", "rates_and_stalls"]

_POLL_S = 0.02
_BEFORE_S = 6.0
_STALLED = 0.1
"""A window in which fewer than this share of the usual number commits is one of a stall."""


class LargeUpdate:
    """The large transaction of a load: to be called beside it.

    Parameters
    ----------
    load : Load
        With a large transaction.
    cluster : RigCluster
        It runs on the load's first node; the others have to have it as well before it is over.
    limit_s : float
        No answer, and no node, takes longer.

    Attributes
    ----------
    begin_s, executed_s, visible_s : float
        On the clock of the load: when it was submitted, when its client had the answer, and when
        the last node showed its rows.
    """

    def __init__(self, load: Load, cluster: RigCluster, limit_s: float) -> None:
        assert load.large is not None
        self._large = load.large
        self._limit_s = limit_s
        self._nodes = sorted(cluster.nodes, key=lambda node: node.name != load.nodes[0])
        self.begin_s = self.executed_s = self.visible_s = nan

    def __call__(self, clock: LoadClock) -> None:
        """Wait, update all rows, wait until all nodes show it, and a while longer."""
        large = self._large
        first, *others = self._nodes
        last_id = large.rows
        with closing(first.connect(DATABASE, answer_s=self._limit_s)) as connection:
            if large.fragment_size:
                connection.query(f"set session wsrep_trx_fragment_unit='{large.fragment_unit}'")
                connection.query(f"set session wsrep_trx_fragment_size={large.fragment_size}")
            [row] = first.query(f"use {DATABASE}", f"select k from large where id={last_id}")
            clock.wait_until(large.after_s)
            self.begin_s = clock.now()
            connection.query("update large set k=k+1")
            self.executed_s = clock.now()
        deadline = clock.now() + self._limit_s
        for node in others:
            with closing(node.connect(DATABASE)) as shown:
                while _value(shown, last_id) == row["k"]:
                    if clock.now() > deadline:
                        raise RigError(f"{node.name} does not apply the large transaction")
                    time.sleep(_POLL_S)
        self.visible_s = clock.now()
        clock.wait_until(self.visible_s + large.rest_s)


def _value(connection: Connection[Any], row: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"select k from large where id={row}")
        [(value,)] = cursor.fetchall()
    return int(value)


def rates_and_stalls(
    records: Sequence[Transaction], begin_s: float, visible_s: float, rest_s: float
) -> dict[str, float]:
    """Commits a second before a large transaction and until all nodes had it, and stalls.

    A stall is neighbouring windows of 0.2 s with less than a tenth of the usual commits, a gap is
    time without any commit.

    The large transaction began, and was visible on all nodes; stalls may go on for a rest.
    """
    ends = sorted(record.end_s for record in records if not record.error)
    span_s = min(_BEFORE_S, begin_s)
    before = _between(ends, begin_s - span_s, begin_s) / span_s if span_s > 0 else nan
    until_s = visible_s + rest_s
    stalls: list[float] = []
    inside = False
    count = int((until_s - begin_s) / STALL_WINDOW_S)
    for window in range(count):
        low = begin_s + window * STALL_WINDOW_S
        stalled = _between(ends, low, low + STALL_WINDOW_S) < _STALLED * before * STALL_WINDOW_S
        if stalled and inside:
            stalls[-1] += STALL_WINDOW_S
        elif stalled:
            stalls.append(STALL_WINDOW_S)
        inside = stalled
    marks = [begin_s, *(end for end in ends if begin_s <= end <= until_s), until_s]
    return {
        "payload_tps_before": before,
        "payload_tps_during": _between(ends, begin_s, visible_s) / (visible_s - begin_s),
        "stall_s": max(stalls, default=0.0),
        "stall_total_s": sum(stalls),
        "gap_s": max(later - earlier for earlier, later in pairwise(marks)),
    }


def _between(ordered: Sequence[float], low: float, high: float) -> int:
    return bisect_left(ordered, high) - bisect_right(ordered, low)
