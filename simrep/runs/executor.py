"""Work in other processes: where it runs, and the loop that hands on what has finished.

Every loop ends cleanly. When it is left, by an error, an interrupt or because nothing more is
wanted, work that has not begun is cancelled. After an interrupt from the keyboard (Ctrl-C) work
that is under way is finished, as it cannot be stopped, and handed on before the interrupt is.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

__all__ = ["as_finished", "collected", "in_groups", "in_order", "process_pool"]

T = TypeVar("T")
Key = TypeVar("Key")
Task = tuple[Any, ...]
"""Arguments of the function that does the work."""


def in_order(
    work: Callable[..., T], tasks: Iterable[Task], executor: Executor | None = None
) -> Iterator[T]:
    """Results of all tasks, in the order of the tasks; see :func:`in_groups`."""
    return (result for [result] in in_groups(work, [[task] for task in tasks], executor))


def in_groups(
    work: Callable[..., T],
    groups: Sequence[Sequence[Task]],
    executor: Executor | None = None,
    *,
    early: Callable[[int], bool] = lambda _: True,
) -> Generator[list[T], None, None]:
    """Results of all tasks, group by group.

    Parameters
    ----------
    work : callable
        A function of a module, for processes to find it.
    groups : sequence of sequence of tuple
        Arguments of each call.
    executor : concurrent.futures.Executor, optional
        Where the work is done; default: here, one task after the other.
    early : callable
        Whether the group at a position is begun before all groups in front of it are handed on.
        Work that may turn out not to be wanted waits, for it cannot be stopped once begun.
    """
    if executor is None:
        for group in groups:
            yield [work(*task) for task in group]
        return
    begun: list[list[Future[T]]] = []
    handed_on = 0
    try:
        for position in range(len(groups)):
            while len(begun) < len(groups) and (len(begun) <= position or early(len(begun))):
                begun.append([])
                for task in groups[len(begun) - 1]:
                    begun[-1].append(executor.submit(work, *task))
            yield [future.result() for future in begun[position]]
            handed_on += 1
            begun[position] = []  # results may be large
    except KeyboardInterrupt:
        left = range(handed_on, len(begun))
        under_way = {future for place in left for future in begun[place] if not future.cancel()}
        for place in left:
            whole = len(begun[place]) == len(groups[place]) and under_way.issuperset(begun[place])
            if not whole or any(future.exception() is not None for future in begun[place]):
                break
            yield [future.result() for future in begun[place]]
        raise
    finally:
        for futures in begun:
            for future in futures:
                future.cancel()


def as_finished(
    work: Callable[..., T], tasks: Mapping[Key, Task], executor: Executor | None = None
) -> Iterator[tuple[Key, T]]:
    """Results of all tasks with their keys, as soon as each is known; see :func:`in_groups`."""
    if executor is None:
        for key, task in tasks.items():
            yield key, work(*task)
        return
    futures: dict[Future[T], Key] = {}
    try:
        for key, task in tasks.items():
            futures[executor.submit(work, *task)] = key
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
    except KeyboardInterrupt:
        under_way = [future for future in futures if not future.cancel()]
        for future in as_completed(under_way):
            if future.exception() is None:
                yield futures[future], future.result()
        raise
    finally:
        for future in futures:
            future.cancel()


def collected(
    results: Iterable[T],
    *,
    least: int = 1,
    progress: Callable[[int, int], object] | None = None,
    total: int = 0,
) -> tuple[list[T], bool]:
    """Results in a list, and whether that is all of them or an interrupt (Ctrl-C) came first.

    Parameters
    ----------
    results : iterable
    least : int
        With fewer an interrupt is passed on, since they are no answer.
    progress : callable, optional
        Called with the number of results so far, and of all.
    total : int
        That number.
    """
    found: list[T] = []
    remaining = iter(results)
    try:
        for result in remaining:
            found.append(result)
            if progress is not None:
                progress(len(found), total)
    except KeyboardInterrupt:
        if len(found) < least:
            raise
        return found, False
    finally:
        if isinstance(remaining, Generator):
            remaining.close()  # a traceback may keep it for long
    return found, True


@contextmanager
def process_pool(jobs: int) -> Iterator[Executor]:
    """So many fresh processes; they end with this one, even if it is killed.

    An interrupt from the keyboard reaches this process alone: what is under way is finished. A
    second one ends them at once.
    """
    # Only a run that asks for processes waits until these are loaded.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

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
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
