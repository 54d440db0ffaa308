"""Work in other processes: where it runs, and the loop that hands on what has finished.

Every loop ends cleanly. When it is left, by an error, an interrupt or because nothing more is
wanted, work that has not begun is cancelled. After an interrupt from the keyboard (Ctrl-C) all that
has ended is handed on before the interrupt is; work that is under way is given up, and the
processes of :func:`process_pool` are killed with it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from simrep.errors import ScenarioError, SimrepError
from simrep.runs.progress import work_expected
from simrep.runs.sampler import at_least

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

__all__ = ["as_finished", "collected", "in_groups", "in_order", "kill_processes", "process_pool",
           "workers"]  # fmt: skip

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
        for place in range(handed_on, len(begun)):
            if len(begun[place]) < len(groups[place]) or not all(map(_succeeded, begun[place])):
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
        for future in filter(_succeeded, futures):
            yield futures[future], future.result()
        raise
    finally:
        for future in futures:
            future.cancel()


def _succeeded(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def collected(
    results: Iterable[T],
    *,
    least: int = 1,
    progress: Callable[[int, int], object] | bool | None = None,
    total: int = 0,
    pieces: int = 1,
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
    pieces : int
        Runs of which each result consists, for the estimate of the time that is left.
    """
    work_expected(total, pieces)
    found: list[T] = []
    remaining = iter(results)
    try:
        for result in remaining:
            found.append(result)
            if callable(progress):
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
def workers(jobs: int | None, executor: Executor | None = None) -> Iterator[Executor | None]:
    """The executor that is given, or else so many processes; None for this process alone.

    Raises
    ------
    ScenarioError
        If both are given, or the number is none.
    """
    if jobs is None:
        yield executor
        return
    if executor is not None:
        raise ScenarioError("jobs", "is for this machine", "leave it out beside executor")
    if at_least("jobs", jobs, 1) == 1:
        yield None
        return
    with process_pool(jobs) as pool:
        yield pool


_children: set[BaseProcess] = set()
"""All processes of pools, so that a process that ends at once can kill them."""


@contextmanager
def process_pool(jobs: int) -> Iterator[Executor]:
    """So many fresh processes; they end with this one, even if it is killed.

    An interrupt from the keyboard reaches this process alone. Whenever the block is left, work that
    is under way ends with its process.

    Raises
    ------
    SimrepError
        If one of the processes ended before its work was done.
    """
    # Only a run that asks for processes waits until these are loaded.
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    class Pool(ProcessPoolExecutor):
        """Its processes never hear of Ctrl-C, from their first moment on."""

        def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
            with _held_back():
                future = super().submit(fn, *args, **kwargs)
                futures.add(future)
                _children.update(list(self._processes.values()))
            return future

    futures: WeakSet[Future[Any]] = WeakSet()  # results may be large
    # Spawn: a fresh interpreter is the same on every system, and threads do not survive a fork.
    pool = Pool(jobs, get_context("spawn"), initializer=_prepare)
    try:
        yield pool
    except BrokenProcessPool:
        raise SimrepError(
            "a process ended before its work was done: was it killed, or out of memory? Ask for "
            "fewer jobs; in a script of your own, put the call under `if __name__ == '__main__':`"
        ) from None
    finally:
        own = list(pool._processes.values())
        manager: Any = pool._executor_manager_thread
        results: Any = pool._result_queue
        pool.shutdown(wait=False, cancel_futures=True)
        if manager is not None:
            while pool._cancel_pending_futures and manager.is_alive():
                time.sleep(0.001)  # or it would tell cancelled work that its process has ended
            if not all(future.done() for future in list(futures)):
                for process in own:
                    process.kill()
                results._writer.close()  # a result that was cut off has an end
            manager.join()
        _children.difference_update(own)


def kill_processes() -> None:
    """Kill all processes of all pools."""
    for process in tuple(_children):
        process.kill()


@contextmanager
def _held_back() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block; a process that it starts never hears of one."""
    arrived = []
    own = current_thread() is main_thread()
    former = signal.getsignal(signal.SIGINT)
    if own and former is not None:
        signal.signal(signal.SIGINT, lambda number, _: arrived.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a child begins with this
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if own and former is not None:
            signal.signal(signal.SIGINT, former)
            if arrived and callable(former):
                former(signal.SIGINT, None)


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
