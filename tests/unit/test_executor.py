"""The loop that hands work to an executor: in order, cancelled cleanly, nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from simrep.runs.executor import as_finished, collected, in_groups, in_order


class Scripted(Executor):
    """Ends the first tasks at once and keeps the others waiting.

    If ``interrupted``, Ctrl-C comes when so many have been handed over.
    """

    def __init__(self, ends: int, *, interrupted: int | None = None) -> None:
        self.ends = ends
        self.interrupted = interrupted
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.futures.append(future)
        if len(self.futures) <= self.ends:
            try:
                future.set_result(fn(*args, **kwargs))
            except ValueError as error:
                future.set_exception(error)
        if len(self.futures) == self.interrupted:
            raise KeyboardInterrupt
        return future

    @property
    def cancelled(self) -> list[bool]:
        return [future.cancelled() for future in self.futures]


def square(value: int) -> int:
    if value < 0:
        raise ValueError(value)
    return value * value


def tasks(*values: int) -> list[tuple[int]]:
    return [(value,) for value in values]


def test_results_come_in_the_order_of_the_tasks() -> None:
    values = range(20)
    expected = [square(value) for value in values]
    assert list(in_order(square, tasks(*values))) == expected
    with ThreadPoolExecutor(4) as executor:
        assert list(in_order(square, tasks(*values), executor)) == expected
        found = dict(as_finished(square, dict(enumerate(tasks(*values))), executor))
    assert [found[value] for value in values] == expected


def test_groups_are_whole() -> None:
    groups = [tasks(1, 2), [], tasks(3)]
    assert list(in_groups(square, groups)) == [[1, 4], [], [9]]
    assert list(in_groups(square, groups, Scripted(3))) == [[1, 4], [], [9]]


def test_an_interrupt_keeps_what_has_ended_and_cancels_the_rest() -> None:
    executor = Scripted(3, interrupted=5)
    assert collected(in_order(square, tasks(1, 2, 3, 4, 5), executor)) == ([1, 4, 9], False)
    assert executor.cancelled[:4] == [False, False, False, True]


def test_an_interrupt_keeps_groups_that_are_whole() -> None:
    groups = [tasks(1, 2), tasks(3, 4), tasks(5)]
    assert collected(in_groups(square, groups, Scripted(3, interrupted=5))) == ([[1, 4]], False)


def test_what_failed_is_not_kept_nor_what_comes_after_it_in_order() -> None:
    work = tasks(1, -1, 3, 4)
    assert collected(in_order(square, work, Scripted(3, interrupted=4))) == ([1], False)
    finished = as_finished(square, dict(enumerate(work)), Scripted(3, interrupted=4))
    kept, complete = collected(finished)
    assert (sorted(kept), complete) == ([(0, 1), (2, 9)], False)


def test_too_few_results_are_no_answer() -> None:
    with pytest.raises(KeyboardInterrupt):
        collected(in_order(square, tasks(1, 2, 3), Scripted(2, interrupted=3)), least=3)


def test_an_error_cancels_the_rest() -> None:
    executor = Scripted(2)
    results = in_order(square, tasks(1, -2, 3), executor)
    assert next(results) == 1
    with pytest.raises(ValueError, match="-2"):
        next(results)
    assert executor.cancelled == [False, False, True]


def test_what_may_not_be_wanted_is_not_begun_early() -> None:
    executor = Scripted(3)
    groups = [tasks(1), tasks(2), tasks(3)]
    results = in_groups(square, groups, executor, early=lambda place: place < 2)
    assert next(results) == [1]
    assert len(executor.futures) == 2
    assert list(results) == [[4], [9]]


def test_leaving_the_loop_cancels_the_rest() -> None:
    executor = Scripted(1)
    for result in in_order(square, tasks(1, 2, 3), executor):
        assert result == 1
        break
    assert executor.cancelled == [False, True, True]


def test_an_error_of_whom_it_is_told_cancels_the_rest() -> None:
    def refuse(*_: int) -> None:
        raise ValueError("no more")

    executor = Scripted(1)
    with pytest.raises(ValueError, match="no more"):
        collected(in_order(square, tasks(1, 2, 3), executor), progress=refuse)
    assert executor.cancelled == [False, True, True]
