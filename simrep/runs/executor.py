"""Work in other processes: where it runs, and the loop that hands on what has finished.

All cores of this machine share it if it is long (:mod:`simrep.runs.crew`), unless an executor says
where it is done.

Every loop ends cleanly. When it is left, by an error, an interrupt or because nothing more is
wanted, work that has not begun is cancelled. After an interrupt from the keyboard (Ctrl-C) all that
has ended is handed on before the interrupt is; work that is under way is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from simrep.errors import ScenarioError
from simrep.runs.crew import Crew, Loop
from simrep.runs.progress import work_expected

__all__ = ["as_finished", "collected", "in_groups", "in_order", "workers"]

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
        Where the work is done; default: by all cores, or a :class:`Crew` of some of them.
    early : callable
        Whether the group at a position is begun before all groups in front of it are handed on.
        Work that may turn out not to be wanted waits, for it cannot be stopped once begun.
    """
    where = _at_work(executor, sum(map(len, groups)))
    if where is None:
        for group in groups:
            yield [work(*task) for task in group]
        return
    begun: list[list[Future[T]]] = []
    handed_on = 0
    with where as workers:
        try:
            for position in range(len(groups)):
                while len(begun) < len(groups) and (len(begun) <= position or early(len(begun))):
                    begun.append([])
                    for task in groups[len(begun) - 1]:
                        begun[-1].append(workers.submit(work, *task))
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
    where = _at_work(executor, len(tasks))
    if where is None:
        for key, task in tasks.items():
            yield key, work(*task)
        return
    futures: dict[Future[T], Key] = {}
    with where as workers:
        try:
            for key, task in tasks.items():
                futures[workers.submit(work, *task)] = key
            if isinstance(workers, Loop):
                ended: Iterator[Future[T]] = workers.ended(len(tasks))
            else:
                ended = as_completed(futures)
            for future in ended:
                yield futures.pop(future), future.result()
        except KeyboardInterrupt:
            for future in filter(_succeeded, futures):
                yield futures[future], future.result()
            raise
        finally:
            for future in futures:
                future.cancel()


def _at_work(executor: Executor | None, tasks: int) -> AbstractContextManager[Executor] | None:
    """Who does so many tasks; None if this process does, one after the other."""
    if executor is None:
        executor = Crew()
    if not isinstance(executor, Crew):
        return nullcontext(executor)
    if tasks < 2 or (executor.jobs == 1 and not executor.alone):
        return None
    return Loop(executor)


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


def workers(jobs: int | None, executor: Executor | None = None) -> Executor | None:
    """The executor that is given, or so many processes of this machine; None: one for each core.

    Raises
    ------
    ScenarioError
        If both are given, or the number is none.
    """
    if jobs is None:
        if executor is None:
            Crew()  # which refuses a wrong SIMREP_JOBS, before the work and not in the midst of it
        return executor
    if executor is not None:
        raise ScenarioError("jobs", "is for this machine", "leave it out beside executor")
    return Crew(jobs)
