"""Row locks: queues, deadlocks and brute force."""

from __future__ import annotations

from itertools import pairwise

import pytest

from simrep.errors import SimrepError
from simrep.kernel.clock import Clock
from simrep.kernel.twin import attributes
from simrep.server.locks import LockTable


class Transaction:
    def __init__(self, name: str, log: list[str], *, protected: bool = False) -> None:
        self.name = name
        self.log = log
        self.protected = protected

    def abort(self) -> None:
        self.log.append(f"{self.name} aborted")

    def __repr__(self) -> str:
        return self.name


class Scene:
    """Named transactions on one table; ``log`` says in order what happened to whom."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.table = LockTable(self.clock)
        self.log: list[str] = []
        self.transactions: dict[str, Transaction] = {}

    def __getitem__(self, name: str) -> Transaction:
        """Upper-case names are protected."""
        if name not in self.transactions:
            self.transactions[name] = Transaction(name, self.log, protected=name.isupper())
        return self.transactions[name]

    def acquire(self, name: str, row: str) -> bool:
        return self.table.acquire(self[name], row, self.log.append, f"{name} has {row}")

    def force(self, name: str, row: str) -> object:
        return self.table.force(self[name], row, self.log.append, f"{name} has {row}")

    def release(self, name: str) -> None:
        self.table.release_all(self[name])

    def news(self) -> list[str]:
        news = self.log.copy()
        self.log.clear()
        return news

    def empty(self) -> bool:
        """Nothing is left behind, in any index of the table."""
        indexes = [value for value in attributes(self.table).values() if isinstance(value, dict)]
        assert indexes
        return len(self.table) == 0 and not any(indexes)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_free_rows_are_had_at_once(scene: Scene) -> None:
    assert scene.acquire("a", "x")
    assert scene.acquire("a", "y")
    assert scene.acquire("b", "z")
    assert scene.news() == ["a has x", "a has y", "b has z"]
    assert scene.table.holder("x") is scene["a"]
    assert len(scene.table) == 3
    assert scene.table.waits == 0
    scene.release("a")
    scene.release("b")
    assert scene.empty()


def test_take_only_takes_what_is_free_or_own(scene: Scene) -> None:
    table = scene.table
    assert table.take(scene["a"], "x")
    assert table.take(scene["a"], "x")
    assert not table.take(scene["b"], "x")
    assert table.waiting("x") == ()
    scene.release("b")
    assert table.holder("x") is scene["a"]
    scene.release("a")
    assert scene.empty()


def test_a_row_held_is_had_again_without_waiting(scene: Scene) -> None:
    for row in "xyx":
        scene.acquire("a", row)
    scene.acquire("b", "x")
    scene.acquire("c", "x")
    assert scene.news() == ["a has x", "a has y", "a has x"]
    scene.release("a")
    assert scene.news() == ["b has x"]
    scene.release("b")
    assert scene.news() == ["c has x"]
    scene.release("c")
    assert scene.empty()


def test_waiters_are_served_first_come_first_served(scene: Scene) -> None:
    for name in "abcd":
        assert scene.acquire(name, "x")
    assert scene.table.waiting("x") == (scene["b"], scene["c"], scene["d"])
    scene.release("c")  # gives up waiting
    scene.release("a")
    scene.release("b")
    scene.release("d")
    assert scene.news() == ["a has x", "b has x", "d has x"]
    assert scene.empty()


def test_waits_are_counted_and_timed(scene: Scene) -> None:
    scene.acquire("a", "x")
    scene.acquire("b", "x")
    scene.clock.at(1.0, lambda _: scene.acquire("c", "x"))
    scene.clock.at(3.0, lambda _: scene.release("a"))
    scene.clock.at(4.0, lambda _: scene.release("c"))  # unsuccessful, but a wait all the same
    scene.clock.run()
    assert scene.table.waits == 2
    assert scene.table.wait_s == pytest.approx(3.0 + 3.0)
    assert scene.table.wait_max_s == pytest.approx(3.0)


def test_releasing_several_rows_grants_all_before_anybody_acts(scene: Scene) -> None:
    table = scene.table
    for row in "xy":
        scene.acquire("a", row)
    seen = []

    def look(_: None) -> None:
        seen.append([table.holder("x"), table.holder("y")])

    table.acquire(scene["b"], "x", look)
    table.acquire(scene["c"], "y", look)
    scene.release("a")
    assert seen == [[scene["b"], scene["c"]]] * 2


@pytest.mark.parametrize("length", [2, 3, 5])
def test_the_request_that_closes_a_cycle_is_refused(scene: Scene, length: int) -> None:
    names = "abcde"[:length]
    for name in names:
        scene.acquire(name, name)
    for name, row in pairwise(names):
        assert scene.acquire(name, row)
    scene.news()
    last = names[-1]
    assert not scene.acquire(last, names[0])
    assert scene.table.deadlocks == 1
    assert scene.table.waiting(names[0]) == ()
    assert scene.news() == []
    for name in reversed(names):  # the refused one ends, and the others come through
        scene.release(name)
    assert scene.news() == [f"{name} has {row}" for name, row in reversed(list(pairwise(names)))]
    assert scene.empty()


def test_a_long_chain_without_a_cycle_is_no_deadlock(scene: Scene) -> None:
    for name, row in (("a", "x"), ("b", "y"), ("c", "z"), ("b", "x"), ("c", "y")):
        assert scene.acquire(name, row)
    assert scene.acquire("d", "z")
    assert scene.table.deadlocks == 0


def test_a_deadlock_through_a_row_handed_on_is_seen(scene: Scene) -> None:
    scene.acquire("a", "x")
    scene.acquire("b", "y")
    scene.acquire("c", "x")
    scene.acquire("b", "x")  # waits behind c
    scene.release("a")
    assert not scene.acquire("c", "y")  # b holds y and waits for c's x
    assert scene.table.deadlocks == 1


def test_an_owner_waits_for_one_row_at_a_time(scene: Scene) -> None:
    scene.acquire("a", "x")
    scene.acquire("b", "y")
    scene.acquire("c", "x")
    with pytest.raises(ValueError, match="c waits for row 'x' already"):
        scene.acquire("c", "y")
    assert scene.table.waiting("y") == ()
    scene.release("b")
    scene.release("c")
    scene.release("a")
    assert scene.empty()


def test_force_takes_a_free_row_without_a_victim(scene: Scene) -> None:
    assert scene.force("A", "x") is None
    assert scene.force("A", "x") is None
    assert scene.news() == ["A has x", "A has x"]
    assert scene.table.aborts == 0


def test_force_takes_the_row_from_its_holder_ahead_of_the_waiters(scene: Scene) -> None:
    scene.acquire("a", "x")
    scene.acquire("a", "y")
    scene.acquire("b", "x")
    scene.news()
    assert scene.force("A", "x") is scene["a"]
    assert scene.news() == ["a aborted", "A has x"]
    assert scene.table.aborts == 1
    assert scene.table.holder("x") is scene["A"]
    assert scene.table.holder("y") is scene["a"]  # until its rollback is over
    scene.release("a")
    assert scene.table.holder("x") is scene["A"]
    assert scene.table.holder("y") is None
    scene.release("A")
    assert scene.news() == ["b has x"]
    scene.release("b")
    assert scene.empty()


@pytest.fixture
def patient() -> Scene:
    """A table on which brute force waits until its victims have rolled back."""
    scene = Scene()
    scene.table = LockTable(scene.clock, waits_for_victims=True)
    return scene


def test_brute_force_may_wait_until_a_victim_has_rolled_back(patient: Scene) -> None:
    patient.acquire("a", "x")
    patient.acquire("b", "x")
    patient.news()
    assert patient.force("A", "x") is patient["a"]
    assert patient.news() == ["a aborted"]
    assert patient.table.holder("x") is patient["a"]
    assert patient.table.waiting("x") == (patient["A"], patient["b"])
    assert patient.force("B", "x") is patient["a"]
    assert patient.news() == []  # it knows
    assert patient.table.aborts == 1
    for name in "aABb":
        patient.release(name)
    assert patient.news() == [f"{name} has x" for name in "ABb"]
    assert patient.empty()


def test_a_victim_that_waits_for_brute_force_is_no_deadlock(patient: Scene) -> None:
    patient.force("A", "y")
    patient.acquire("a", "x")
    patient.acquire("a", "y")
    patient.news()
    patient.force("A", "x")
    assert patient.news() == ["a aborted"]
    patient.release("a")
    assert patient.news() == ["A has x"]
    patient.release("A")
    assert patient.empty()


def test_a_victim_that_comes_back_at_once_is_behind_brute_force(patient: Scene) -> None:
    def comes_back() -> None:
        patient.release("a")
        patient.acquire("again", "x")

    patient.acquire("a", "x")
    patient["a"].abort = comes_back  # type: ignore[method-assign]
    patient.news()
    patient.force("A", "x")
    assert patient.news() == ["A has x"]
    patient.release("A")
    assert patient.news() == ["again has x"]


def test_brute_force_waits_for_every_victim_in_a_range(patient: Scene) -> None:
    table, rows = patient.table, range(10)
    table.take_range(patient["a"], rows[2:4])
    table.take_range(patient["b"], rows[6:8])
    table.force_range(patient["A"], rows, patient.log.append, "A has all")
    assert patient.news() == ["a aborted"]
    patient.release("a")
    assert patient.news() == ["b aborted"]
    patient.release("b")
    assert patient.news() == ["A has all"]
    patient.release("A")
    assert patient.empty()


def test_a_victim_loses_its_place_in_a_queue(scene: Scene) -> None:
    scene.acquire("a", "x")
    scene.acquire("b", "y")
    scene.acquire("a", "y")
    scene.news()
    scene.force("A", "x")
    scene.release("b")
    assert scene.news() == ["a aborted", "A has x"]  # a does not get y any more
    scene.release("a")
    scene.release("A")
    assert scene.empty()


def test_a_victim_may_release_within_its_abort(scene: Scene) -> None:
    victim = scene["a"]
    for row in "xy":
        scene.acquire("a", row)
    scene.acquire("b", "y")
    scene.acquire("c", "x")
    scene.news()
    victim.abort = lambda: scene.release("a")  # type: ignore[method-assign]
    scene.force("A", "x")
    assert scene.news() == ["b has y", "A has x"]
    assert scene.table.waiting("x") == (scene["c"],)


def test_force_waits_behind_protected_owners_and_ahead_of_others(scene: Scene) -> None:
    scene.force("A", "x")
    scene.acquire("b", "x")
    assert scene.force("B", "x") is None
    assert scene.force("C", "x") is None
    scene.acquire("c", "x")
    assert scene.table.waiting("x") == tuple(scene[name] for name in "BCbc")
    for name in "ABCbc":
        scene.release(name)
    assert scene.news() == [f"{name} has x" for name in "ABCbc"]
    assert scene.empty()


def test_protection_may_come_late(scene: Scene) -> None:
    scene.acquire("a", "x")
    scene["a"].protected = True  # ordered meanwhile: it will commit
    assert scene.force("A", "x") is None
    assert scene.news() == ["a has x"]
    scene.release("a")
    assert scene.news() == ["A has x"]


def test_protected_owners_in_a_circle_are_an_error(scene: Scene) -> None:
    scene.force("A", "x")
    scene.force("B", "y")
    scene.force("A", "y")
    with pytest.raises(SimrepError, match="deadlock between protected owners on row 'x'"):
        scene.force("B", "x")


def test_a_grant_is_not_announced_to_an_owner_that_lost_it_meanwhile(scene: Scene) -> None:
    table = scene.table
    for row in "xy":
        scene.acquire("a", row)
    table.acquire(scene["b"], "x", lambda _: scene.force("A", "y"))
    scene.acquire("c", "y")
    scene.news()
    scene.release("a")  # b gets x and c gets y; b's call takes y away from c
    assert scene.news() == ["c aborted", "A has y"]


def test_a_grant_on_its_way_ends_when_its_owner_is_aborted() -> None:
    # One release hands a row to an applier, which then takes another row by brute force from a
    # transaction that was handed a row by the same release.
    scene = Scene()
    for name, row in (("A", "r0"), ("A", "r1"), ("y", "r2"), ("y", "r1")):
        scene.acquire(name, row)
    scene.table.force_all(scene["C"], ["r0", "r2"], scene.log.append, "C has all")
    scene.news()
    scene.release("A")
    assert scene.news() == ["y aborted", "C has all"]
    scene.release("y")
    scene.release("C")
    assert scene.empty()
