"""Python's collector of cyclic garbage, which looks seldom while a replication is simulated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

__all__ = ["collecting_seldom"]

# A simulation makes next to no cyclic garbage: what it drops goes when nobody refers to it any
# more. By default Python looks through its objects for cycles after every 700 new ones, which is
# 2-12 % of a run.
_THRESHOLDS: Final = (200_000, 50, 1000)


class _Collector:
    """Who simulates now, in this process, and what was there before."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.runs = 0
        self.thresholds = gc.get_threshold()


_COLLECTOR: Final = _Collector()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Let the collector look seldom while this lasts, in all threads.

    Where the collector is switched off, it stays so. In the end, also after an error, all is as it
    was before the first of those who simulate at a time.
    """
    state = _COLLECTOR
    with state.lock:
        state.runs += 1
        if state.runs == 1:
            state.thresholds = gc.get_threshold()
            if state.thresholds[0]:
                gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        with state.lock:
            state.runs -= 1
            if not state.runs:
                gc.set_threshold(*state.thresholds)
