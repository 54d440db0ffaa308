"""The queue of a compiled simrep is one of Python's, in whatever order it is used."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simrep.kernel.native_deque import Deque

STEPS = st.one_of(
    st.tuples(st.sampled_from(["append", "appendleft", "remove"]), st.integers(0, 9)),
    st.tuples(st.sampled_from(["popleft", "pop", "clear"])),
    st.tuples(st.sampled_from(["extend", "__iadd__"]), st.lists(st.integers(0, 9), max_size=90)),
)


def outcome(queue: Any, step: tuple[Any, ...]) -> Any:
    try:
        answer = getattr(queue, step[0])(*step[1:])
    except (IndexError, ValueError) as error:
        return type(error)
    return None if answer is queue else answer


@given(st.lists(st.integers()), st.lists(STEPS, max_size=40))
def test_it_answers_as_a_deque(first: list[int], steps: list[tuple[Any, ...]]) -> None:
    expected, queue = deque(first), Deque(first)
    for step in steps:
        assert outcome(queue, step) == outcome(expected, step)
        size = len(expected)
        assert (len(queue), bool(queue)) == (size, bool(expected))
        assert list(queue) == list(queue.copy()) == list(expected)
        assert list(reversed(queue)) == list(reversed(expected))
        assert [queue[place] for place in range(-size, size)] == [
            expected[place] for place in range(-size, size)
        ]
        assert all(one in queue for one in expected)
        assert outcome(queue, ("__getitem__", size)) is IndexError
        assert outcome(queue, ("__getitem__", -size - 1)) is IndexError
