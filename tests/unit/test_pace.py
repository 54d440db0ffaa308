"""What is slowed down or stopped: work that is booked ahead, visits, processes, disks."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simrep.kernel.clock import Clock
from simrep.kernel.pace import Pace, Spell, merged
from simrep.kernel.queues import Fifo
from simrep.server.host import Host
from simrep.server.process import PacedDisk, PacedFifo, PacedHost, Process, ProcessClock
from simrep.server.storage import Disk

times = st.floats(0.0, 10.0)
spells = st.lists(
    st.builds(
        lambda start, length, factor: Spell(start, start + length, factor),
        times,
        st.floats(0.01, 5.0),
        st.sampled_from([0.5, 2.0, 10.0, inf]),
    ),
    max_size=4,
)


def test_work_that_no_spell_meets_takes_its_time():
    pace = Pace(1.0, [Spell(5.0, 6.0)])
    assert pace.end(1.0, 2.0) == 3.0
    assert pace.end(1.0, 4.0) == 5.0
    assert pace.end(6.0, 1.0) == 7.0


@pytest.mark.parametrize(
    ("start_s", "work_s", "end_s"),
    [
        (0.0, 1.5, 2.0),  # half a second of work in the spell takes one
        (1.0, 0.5, 2.0),
        (1.5, 2.0, 4.75),  # a quarter until 2, then it stands until 3
        (2.5, 1.0, 4.0),
        (2.0, 0.0, 3.0),  # nothing at all is done while it stands
    ],
)
def test_a_spell_that_begins_while_work_is_under_way_counts(start_s, work_s, end_s):
    assert Pace(1.0, [Spell(1.0, 2.0, 2.0), Spell(2.0, 3.0)]).end(start_s, work_s) == end_s


def test_what_never_ends():
    assert Pace(1.0, [Spell(1.0, inf)]).end(0.5, 1.0) == inf
    assert Pace(1.0, [Spell(1.0, inf)]).end(0.5, 0.5) == 1.0


@given(spells, times, st.floats(1e-6, 20.0))
def test_work_is_done_at_its_end(some, start_s, work_s):
    pace = Pace(1.5, some)
    end_s = pace.end(start_s, work_s)
    assert end_s > start_s
    assert pace.done(start_s, end_s) == pytest.approx(work_s)


@given(spells, st.lists(st.tuples(times, st.floats(0.0, 2.0)), min_size=2, max_size=8))
def test_whoever_comes_first_is_served_first_at_any_pace(some, visits):
    clock = Clock()
    fifo = PacedFifo(clock, Pace(1.0, some))
    ends = []
    for at_s, seconds in sorted(visits):
        clock.at(at_s, lambda demand: ends.append(fifo.book(demand)), seconds)
    clock.run()
    assert ends == sorted(ends)


def test_without_a_spell_it_is_the_plain_queue():
    clock = Clock()
    plain, paced = Fifo(clock, 2), PacedFifo(clock, Pace(), 2)
    for demand in (1.0, 3.0, 0.5, 2.0, 0.0):
        assert plain.book(demand) == paced.book(demand)
    assert (plain.wait_s, plain.busy_s) == (paced.wait_s, paced.busy_s)


def test_times_that_overlap_are_one():
    assert merged([(3.0, 4.0), (1.0, 2.0), (1.5, 3.0), (6.0, 7.0)]) == [(1.0, 4.0), (6.0, 7.0)]


def host_with(*stops, cores=1, pace=None, **traits):
    clock = Clock()
    host = PacedHost(clock, cores, pace=Pace(), **traits)
    first = Process(host, pace or Pace(), stops)
    second = Process(host, Pace())
    return clock, host, first, second


def ended(clock, *runs):
    """When work ends that a process is given at a time: (process, at_s, seconds)."""
    ends = {}
    for number, (process, at_s, seconds) in enumerate(runs):
        note = lambda n: ends.setdefault(n, round(clock.now, 9))  # noqa: E731
        clock.at(
            at_s, lambda work: work[0].run(work[1], *work[2:]), (process, seconds, note, number)
        )
    clock.run()
    return [ends[number] for number in range(len(runs))]


def test_a_stopped_process_goes_on_where_it_was_and_leaves_its_core_to_others():
    clock, _, first, second = host_with((1.0, 3.0), slice_s=10.0)
    assert ended(clock, (first, 0.5, 1.0), (second, 0.6, 0.7)) == [3.5, 1.7]


def test_what_waits_for_a_core_of_a_stopped_process_waits_for_its_end():
    clock, _, first, second = host_with((1.0, 3.0), slice_s=10.0)
    ends = ended(clock, (second, 0.9, 0.3), (first, 0.95, 0.1), (second, 0.97, 0.4))
    assert ends == [1.2, 3.1, 1.6]


def test_work_that_comes_while_the_process_stands_still_waits_too():
    clock, _, first, _ = host_with((1.0, 3.0), (4.0, 5.0), cores=4)
    assert ended(clock, (first, 2.0, 0.0), (first, 2.5, 0.25), (first, 3.9, 0.2)) == [
        3.0,
        3.25,
        5.1,
    ]


def test_no_work_is_lost_or_done_twice():
    clock, host, first, second = host_with((0.01, 0.02), (0.05, 0.1), cores=2, slice_s=1e-3)
    runs = [(one, 0.003 * n, 0.011) for n in range(8) for one in (first, second)]
    ended(clock, *runs)
    assert host.busy_s == pytest.approx(16 * 0.011)
    assert host.visits == 16
    assert host._idle == 2


def test_a_slow_process_does_not_slow_down_the_others():
    slow = Pace(1.0, [Spell(1.0, 2.0, 4.0)])
    clock, _, first, second = host_with(cores=2, pace=slow, slice_s=10.0)
    assert ended(clock, (first, 1.0, 0.1), (second, 1.0, 0.1)) == [1.4, 1.1]


def test_a_process_that_waits_busily_is_stopped_too():
    clock, host, first, second = host_with((1.0, 3.0), slice_s=10.0, spin_s=0.1)
    spins, done = [], []
    clock.at(0.5, lambda _: spins.append(first.spin()))
    clock.at(2.0, lambda _: second.run(0.5, lambda _: done.append(clock.now)))
    clock.at(3.05, lambda _: first.stop(spins[0], lambda _: done.append(clock.now)))
    clock.run(until=4.0)
    assert done == [2.5, 3.05]
    assert host._idle == 1


def test_without_stops_it_is_the_plain_machine():
    def ends(host, process, clock):
        return ended(clock, *((process, 0.0004 * n, 0.0003 * (n % 7)) for n in range(60)))

    clock = Clock()
    plain = Host(clock, 2, wakeup_s=1e-5)
    paced_clock, paced, first, _ = host_with(cores=2, wakeup_s=1e-5)
    assert ends(plain, plain, clock) == ends(paced, first, paced_clock)
    assert plain.wait_s == paced.wait_s
    assert plain.busy_s == pytest.approx(paced.busy_s)


def test_timers_and_messages_wait_in_their_order():
    clock, _, first, _ = host_with((1.0, 3.0))
    own, told = ProcessClock(clock, first), []
    other = ProcessClock(clock, Process(PacedHost(clock, 1, pace=Pace()), Pace()))
    own.at(2.0, told.append, "timer")
    own.at(0.5, told.append, "before")
    other.at(2.5, told.append, "elsewhere")
    clock.at(1.5, first.receive(told.append), "message")
    clock.run()
    assert told == ["before", "elsewhere", "message", "timer"]
    assert own.now == clock.now == 3.0


@pytest.mark.parametrize("flushers", [None, 1])
def test_no_fsync_returns_while_the_disk_stalls(flushers):
    clock, pace, ends = Clock(), Pace(1.0, [Spell(1.0, 3.0)]), []
    flusher = None if flushers is None else PacedFifo(clock, pace, flushers)
    disk = PacedDisk(pace, clock, 0.2, flusher=flusher)
    for at_s in (0.5, 0.9, 2.0, 4.0):
        clock.at(at_s, lambda _: disk.sync(0, lambda _: ends.append(round(clock.now, 9))))
    clock.run()
    assert ends == ([0.7, 3.1, 3.2, 4.2] if flushers is None else [0.7, 3.1, 3.3, 4.2])


def test_a_disk_without_spells_is_the_plain_one():
    clock, ends = Clock(), []
    for disk in (Disk(clock, 0.2, 1e3), PacedDisk(Pace(), clock, 0.2, 1e3)):
        disk.sync(100, lambda _: ends.append(clock.now))
    clock.run()
    assert ends[0] == ends[1]
