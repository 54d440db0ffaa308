"""Stations that tell a watch who waits: a blockage lasts as long as what was waited for."""

from __future__ import annotations

import pytest

from simrep.kernel.clock import Clock
from simrep.kernel.queues import WatchedGate, WatchedMutex
from simrep.kernel.watch import Holder, Line, Waited, Watch
from simrep.measure.blockage import blockages, causes
from simrep.measure.series import Stall
from simrep.server.locks import WatchedLocks
from simrep.server.stage import WatchedStage


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def watch(clock):
    return Watch(clock, 0.1)


def at(clock, *events):
    """Do things at given times, in seconds, to the end."""
    for when, call, *arguments in events:
        clock.at(when, lambda given: given[0](*given[1]), (call, arguments))
    clock.run()


def facts(watch):
    return [(w.holder.text, w.began_s, w.ended_s, w.waiting) for w in watch.waited]


def nothing(_=None):
    pass


# -- a gate ----------------------------------------------------------------------------------------


def gate_of(watch):
    line = Line(watch, "n1", "commit order", lambda: Holder(f"position {gate.next}"))
    gate = WatchedGate(line)
    return gate


def test_a_gate_is_blocked_from_the_first_who_waits_until_the_holder_leaves(clock, watch):
    gate = gate_of(watch)
    at(
        clock,
        (1.0, gate.enter, 1, nothing),
        (1.5, gate.enter, 2, nothing),
        (2.0, gate.enter, 3, nothing),
        (3.5, gate.leave),
        (4.0, gate.leave),
        (9.0, gate.leave),
    )
    assert facts(watch) == [("position 1", 1.5, 3.5, 2), ("position 2", 3.5, 4.0, 1)]
    assert sum(w.ended_s - w.began_s for w in watch.waited) == pytest.approx(4.0 - 1.5)


def test_a_gate_waits_for_a_position_that_has_not_come(clock, watch):
    gate = gate_of(watch)
    at(clock, (1.0, gate.enter, 2, nothing), (3.0, gate.enter, 1, lambda _: gate.leave()))
    assert facts(watch) == [("position 1", 1.0, 3.0, 1)]


def test_what_moves_is_not_blocked(clock, watch):
    gate = gate_of(watch)
    entries = [(1.0, gate.enter, position, nothing) for position in range(1, 50)]
    at(clock, *entries, *[(1.0 + 0.09 * n, gate.leave) for n in range(1, 50)])
    assert watch.waited == []


def test_what_is_still_blocked_at_the_end_is_told(clock, watch):
    gate = gate_of(watch)
    at(clock, (1.0, gate.enter, 2, nothing), (5.0, watch.finish))
    (one,) = watch.waited
    assert (one.began_s, one.ended_s, one.ended) == (1.0, 5.0, False)


def test_a_watched_gate_lets_in_what_a_gate_lets_in(clock, watch):
    gate, order = gate_of(watch), []

    def enter(position):
        order.append(position)
        gate.leave()

    for position in (3, 2, 5, 1, 4):
        gate.enter(position, enter, position)
    assert order == [1, 2, 3, 4, 5]
    assert len(gate) == 0


# -- a mutex ---------------------------------------------------------------------------------------


def mutex_of(clock, watch):
    line = Line(watch, "n1", "send monitor", lambda: Holder(str(mutex.holder or "the pause")))
    mutex = WatchedMutex(clock, line)
    return mutex


def test_a_mutex_is_blocked_by_its_holder_and_then_by_the_pause(clock, watch):
    mutex = mutex_of(clock, watch)
    at(
        clock,
        (0.0, mutex.enter, nothing, "a"),
        (1.0, mutex.enter, nothing, "b"),
        (2.0, mutex.pause),
        (3.0, mutex.leave),
        (4.0, mutex.enter, nothing, "c"),
        (7.0, mutex.resume),
        (7.5, mutex.leave),
    )
    assert facts(watch) == [("a", 1.0, 3.0, 1), ("the pause", 3.0, 7.0, 2), ("b", 7.0, 7.5, 1)]


def test_who_is_withdrawn_has_waited_until_then(clock, watch):
    mutex = mutex_of(clock, watch)
    at(
        clock,
        (0.0, mutex.enter, nothing, "a"),
        (1.0, mutex.enter, nothing, "b"),
        (2.0, mutex.withdraw, "b"),
        (5.0, mutex.leave),
    )
    assert facts(watch) == [("a", 1.0, 2.0, 1)]
    assert len(mutex) == 0


# -- a stage ---------------------------------------------------------------------------------------


def stage_of(clock, watch, seconds, **how):
    def serve(group):
        clock.at(clock.now + seconds, lambda _: stage.leave())

    line = Line(watch, "n1", "sync", lambda: Holder(" ".join(map(str, line.serving)) or "others"))
    stage = WatchedStage(line, clock, serve, "sync", **how)
    return stage


def test_a_stage_is_blocked_by_the_group_in_service(clock, watch):
    stage = stage_of(clock, watch, 2.0)
    at(clock, *[(when, stage.join, name) for when, name in ((0.0, "a"), (0.5, "b"), (1.0, "c"))],
       (3.0, stage.join, "d"))  # fmt: skip
    assert facts(watch) == [("a", 0.5, 2.0, 2), ("b c", 3.0, 4.0, 1)]


def test_a_stage_that_waits_for_others_is_not_blocked_by_the_last_group(clock, watch):
    stage = stage_of(clock, watch, 0.0, gather_s=lambda: 0.5)
    at(clock, (0.0, stage.join, "a"), (2.0, stage.join, "b"))
    assert facts(watch) == [("others", 0.0, 0.5, 1), ("others", 2.0, 2.5, 1)]


# -- row locks -------------------------------------------------------------------------------------


class Owner:
    def __init__(self, name, *, protected=False):
        self.name = name
        self.protected = protected

    def abort(self):
        pass


def locks_of(watch):
    return WatchedLocks(
        watch, "n1", lambda owner: Holder(owner.name, (("n1", owner),)), lambda owner: (owner,)
    )


def test_rows_of_one_holder_are_one_blockage(clock, watch):
    locks, big, others = locks_of(watch), Owner("big"), [Owner(str(n)) for n in range(3)]
    at(
        clock,
        (0.0, locks.acquire, big, 17, nothing),
        (0.0, locks.acquire, big, 18, nothing),
        (1.0, locks.acquire, others[0], 17, nothing),
        (2.0, locks.acquire, others[1], 17, nothing),
        (2.0, locks.acquire, others[2], 18, nothing),
        (4.0, locks.release_all, big),
        (4.5, locks.release_all, others[0]),
    )
    first, second = blockages(watch.waited)
    assert (first.station, first.waited_for, first.began_s, first.ended_s) == (
        "2 rows",
        "big",
        1,
        4,
    )
    assert first.waiting == 3
    assert (second.station, second.waited_for, second.seconds) == ("row 17", "0", 0.5)


def test_brute_force_ends_the_wait_for_the_victim(clock, watch):
    locks = locks_of(watch)
    victim, waits, applier = Owner("victim"), Owner("waits"), Owner("applier", protected=True)
    at(
        clock,
        (0.0, locks.acquire, victim, 1, nothing),
        (1.0, locks.acquire, waits, 1, nothing),
        (2.0, locks.force, applier, 1, nothing),
        (4.0, locks.release_all, applier),
    )
    assert facts(watch) == [("victim", 1.0, 2.0, 1), ("applier", 2.0, 4.0, 1)]


# -- the cause -------------------------------------------------------------------------------------


def waited(station, began_s, ended_s, holds=(), waits=(), detail=""):
    return Waited(
        "n1", station, detail, began_s, ended_s, Holder(str(holds), tuple(holds)), "",
        frozenset(waits), len(waits), ended=True,
    )  # fmt: skip


X, Y, QUEUE = ("n2", "x"), ("n2", "y"), ("n2", "queue")
CHAIN = [
    waited("send monitor", 2.0, 10.0, holds=[QUEUE], waits=[("n1", "a")]),
    waited("receive queue", 1.0, 9.0, holds=[Y], waits=[QUEUE]),
    waited("commit order", 0.0, 7.0, holds=[X], waits=[Y]),
]


def test_the_cause_is_the_last_of_the_chain_at_every_instant():
    found = blockages(CHAIN)
    stall = Stall(8.5, 2.0)  # from 2 to 10.5
    reasons, free_s = causes(found, stall)
    told = {found[cause.blockage].station: cause.seconds for cause in reasons}
    assert told == {"commit order": 5.0, "receive queue": 2.0, "send monitor": 1.0}
    assert free_s == 0.5
    assert sum(told.values()) + free_s == stall.seconds
    chain = [(found[n].station, depth) for n, depth in reasons[0].follows]
    assert chain == [("receive queue", 1), ("send monitor", 2)]


def test_what_happens_at_other_times_explains_nothing():
    found = blockages([waited("a", 0.0, 1.0, holds=[X]), waited("b", 1.0, 2.0, waits=[X])])
    assert all(one.because == () for one in found)


def test_of_a_circle_the_longest_counts():
    circle = [
        waited("a", 0.0, 4.0, holds=[X], waits=[Y]),
        waited("b", 0.0, 3.0, holds=[Y], waits=[X]),
    ]
    reasons, _ = causes(blockages(circle), Stall(3.0, 0.0))
    assert [(cause.blockage, cause.seconds) for cause in reasons] == [(0, 3.0)]


def test_without_a_stall_there_is_no_cause():
    assert causes(blockages(CHAIN), Stall()) == ((), 0.0)


def test_one_that_goes_on_is_one():
    found = blockages([waited("a", 0.0, 1.0, holds=[X]), waited("a", 1.0, 3.0, holds=[X])])
    assert [(one.began_s, one.ended_s) for one in found] == [(0.0, 3.0)]
