"""The gate that is passed in the order of positions."""

from __future__ import annotations

from simrep.kernel.queues import OrderedGate


def test_early_positions_wait_for_their_turn() -> None:
    gate = OrderedGate()
    inside: list[int] = []
    for position in (3, 2, 1):
        gate.enter(position, inside.append, position)
    assert inside == [1]
    assert len(gate) == 2
    gate.leave()
    assert inside == [1, 2]
    gate.leave()
    assert inside == [1, 2, 3]
    assert len(gate) == 0


def test_a_position_that_comes_in_time_enters_at_once() -> None:
    gate = OrderedGate(first=7)
    inside: list[int] = []
    gate.enter(7, inside.append, 7)
    gate.leave()
    gate.enter(8, inside.append, 8)
    assert inside == [7, 8]


def test_nobody_enters_beside_the_holder() -> None:
    gate = OrderedGate()
    inside: list[int] = []
    gate.enter(1, inside.append, 1)
    gate.enter(2, inside.append, 2)
    assert inside == [1]


def test_holders_may_leave_within_their_entry() -> None:
    gate = OrderedGate()
    inside: list[int] = []

    def pass_through(position: int) -> None:
        inside.append(position)
        gate.leave()

    count = 5000  # more than Python's recursion limit
    for position in range(count, 0, -1):
        gate.enter(position, pass_through, position)
    assert inside == list(range(1, count + 1))
    assert gate.next == count + 1


def test_a_position_may_enter_from_within_the_entry_before_it() -> None:
    gate = OrderedGate()
    inside: list[int] = []

    def first(_: object) -> None:
        gate.enter(2, inside.append, 2)
        inside.append(1)
        gate.leave()

    gate.enter(1, first)
    assert inside == [1, 2]


def test_entries_that_were_waiting_do_not_overlap() -> None:
    gate = OrderedGate()
    seen: list[str] = []

    def second(_: object) -> None:
        gate.leave()
        gate.enter(3, seen.append, "third")
        seen.append("end of second")

    gate.enter(2, second)
    gate.enter(1, lambda _: gate.leave())
    assert seen == ["end of second", "third"]


def test_draining_stops_at_a_holder_that_stays() -> None:
    gate = OrderedGate()
    inside: list[int] = []

    def pass_through(position: int) -> None:
        inside.append(position)
        gate.leave()

    gate.enter(2, pass_through, 2)
    gate.enter(3, inside.append, 3)
    gate.enter(4, pass_through, 4)
    gate.enter(1, pass_through, 1)
    assert inside == [1, 2, 3]
    gate.leave()
    assert inside == [1, 2, 3, 4]
