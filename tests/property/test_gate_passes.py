"""A gate that some pass by is the gate through which all enter and leave."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simrep.kernel.queues import OrderedGate


def passages(order: list[int], stays: set[int], *, short: bool) -> list[tuple[str, int]]:
    """What happens when positions come in this order; some stay inside until the next has come."""
    gate, seen, inside = OrderedGate(), [], []

    def enter(position: int) -> None:
        seen.append(("in", position))
        if position in stays:
            inside.append(position)
        else:
            gate.leave()

    for position in order:
        leaving = inside[:]
        if short and position not in stays and gate.pass_by(position):
            seen.append(("in", position))
        else:
            gate.enter(position, enter, position)
        if leaving:
            inside.remove(leaving[0])
            gate.leave()
        seen.append(("next", gate.next))
    return seen


@given(st.permutations(range(1, 9)), st.sets(st.integers(1, 8)))
def test_passing_by_is_entering_and_leaving(order: list[int], stays: set[int]) -> None:
    assert passages(order, stays, short=True) == passages(order, stays, short=False)
