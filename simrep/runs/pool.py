"""Processes of this machine to simulate in."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from threading import Thread

__all__ = ["process_pool"]


@contextmanager
def process_pool(jobs: int) -> Iterator[Executor]:
    """So many fresh processes; they end with this one, even if it is killed.

    An interrupt from the keyboard reaches this process alone: what is under way is finished. A
    second one ends them at once.

    Parameters
    ----------
    jobs : int
        At least 1.
    """
    # Spawn: a fresh interpreter is the same on every system, and threads do not survive a fork.
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_prepare)
    try:
        yield pool
    finally:
        try:
            pool.shutdown(cancel_futures=True)
        except KeyboardInterrupt:
            for process in active_children():
                process.terminate()
            raise


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A process that waits for work would not notice that nobody is left to send any."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
