"""A machine that several programs share, with a queue for each core."""

from __future__ import annotations

from itertools import pairwise

import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.server.core import CoreProgram
from simrep.server.core_host import CoreHost
from simrep.server.storage import Binlog, Disk, ScheduledDisk
from simrep.server.thread import Thread

MS = 1e-3


class Done:
    """When and in which order work was done."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.at: dict[str, float] = {}

    def __call__(self, name: str) -> None:
        self.at[name] = self.clock.now

    @property
    def programs(self) -> str:
        """The first letters of the names, in order."""
        return "".join(name[0] for name in self.at)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def done(clock: Clock) -> Done:
    return Done(clock)


def machine(clock: Clock, cores: int = 1, newidle_s: float = 0.0, **traits: float) -> CoreHost:
    own = {"slice_s": 1 * MS, "newidle_s": newidle_s}
    return CoreHost(clock, cores, streams=Streams(1), name="m", **own, **traits)


def test_a_core_goes_to_the_next_when_its_program_has_used_more_than_its_share(
    clock: Clock, done: Done
) -> None:
    host = machine(clock)
    a, b = host.program(), host.program()
    for number in range(4):
        a.run(0.1 * MS, done, f"a{number}")
        b.run(0.1 * MS, done, f"b{number}")
    clock.run()
    assert done.programs == "abbaabba"
    assert host.busy_s == pytest.approx(0.8 * MS)


def test_a_turn_lasts_for_a_slice_at_most(clock: Clock, done: Done) -> None:
    host = machine(clock)
    a, b = host.program(), host.program()

    def work(program: CoreProgram, name: str, number: int = 0) -> None:
        if number:
            done(f"{name}{number}")
        if number < 20:
            program.go_on(0.25 * MS, lambda _: work(program, name, number + 1))

    for program, name in ((a, "a"), (b, "b")):
        program.run(0.0, lambda _, p=program, n=name: work(p, n))
    clock.run()
    assert "a" * 5 not in done.programs
    assert "b" * 5 not in done.programs
    assert "aaaabbbb" * 3 in done.programs


@pytest.mark.parametrize("cores", [1, 2])
def test_programs_get_equal_shares_however_many_threads_they_have(
    clock: Clock, done: Done, cores: int
) -> None:
    host = machine(clock, cores)
    many, few = host.program(), host.program()
    for number in range(60):
        many.run(10 * MS, done, f"m{number}")
    for number in range(cores):
        few.run(10 * MS, done, f"f{number}")
    clock.run()
    assert done.programs[:cores] == "f" * cores
    assert max(done.at[f"f{number}"] for number in range(cores)) <= 22 * MS
    assert max(done.at.values()) == pytest.approx((60 / cores + 1) * 10 * MS)


def test_a_program_that_has_slept_is_a_slice_ahead_at_most(clock: Clock, done: Done) -> None:
    host = machine(clock)
    busy, idle = host.program(), host.program()
    for number in range(2):
        busy.run(100 * MS, done, f"busy{number}")
    clock.at(100 * MS, lambda _: [idle.run(20 * MS, done, f"idle{n}") for n in range(2)])
    clock.run()
    # 40 ms of its own, and as much of the other one but for the slices that it was ahead.
    assert 137 * MS <= done.at["idle0"] <= 181 * MS
    assert 176 * MS <= max(done.at["idle0"], done.at["idle1"]) <= 181 * MS


def test_what_was_used_on_an_idle_machine_is_no_debt(clock: Clock, done: Done) -> None:
    host = machine(clock)
    early, late = host.program(), host.program()
    early.run(500 * MS, done, "early")
    clock.at(600 * MS, lambda _: late.run(30 * MS, done, "late"))
    clock.at(600 * MS, lambda _: early.run(30 * MS, done, "again"))
    clock.run()
    assert done.at["again"] <= 661 * MS
    assert done.at["late"] >= 655 * MS


def woken(
    clock: Clock, done: Done, before: CoreProgram, waker: CoreProgram, sleeper: CoreProgram
) -> None:
    before.run(0.5 * MS, done, "x")

    def wake(_: object) -> None:
        sleeper.go_on(0.1 * MS, done, "sleeper")

    for number in range(3):
        waker.run(0.1 * MS, wake if not number else done, f"waker{number}")
    clock.run()


@pytest.mark.parametrize(("used_more", "place"), [("waker", 2), ("sleeper", 3)])
def test_a_woken_thread_comes_before_others_of_its_waker_unless_its_program_has_used_more(
    clock: Clock, done: Done, used_more: str, place: int
) -> None:
    host = machine(clock)
    programs = {"waker": host.program(), "sleeper": host.program()}
    woken(clock, done, programs[used_more], programs["waker"], programs["sleeper"])
    assert list(done.at)[place] == "sleeper"


def test_a_woken_thread_cuts_work_short_of_a_program_that_has_used_more(
    clock: Clock, done: Done
) -> None:
    host = machine(clock)
    a, b = host.program(), host.program()
    a.run(1 * MS, done, "a")
    clock.at(0.2 * MS, lambda _: b.run(3 * MS, done, "b"))
    clock.at(1.2 * MS, lambda _: a.run(0.05 * MS, done, "early"))
    clock.at(1.9 * MS, lambda _: a.run(0.05 * MS, done, "late"))
    clock.run()
    # From 1 ms on b has a slice; after 0.8 ms of it, it has used as much as a since it came.
    assert 1.9 * MS < done.at["early"] <= 2.0 * MS
    assert 1.9 * MS < done.at["late"] <= 2.0 * MS
    assert done.at["b"] == pytest.approx(4.1 * MS)
    assert host.busy_s == pytest.approx(4.1 * MS)


def test_a_thread_with_real_time_priority_interrupts_all_others(clock: Clock, done: Done) -> None:
    host = machine(clock, 2)
    a, b = host.program(), host.program()
    a.run(0.4 * MS, done, "a")
    spin = b.spin()
    for at_ms in (0.1, 0.2):
        clock.at(at_ms * MS, lambda _: host.urgent.run(0.02 * MS, done, f"relay{clock.now:.4f}"))
    clock.at(1.0 * MS, lambda _: b.stop(spin, done, "stopped"))
    clock.run()
    assert done.at["relay0.0001"] == pytest.approx(0.12 * MS)
    assert done.at["relay0.0002"] == pytest.approx(0.22 * MS)
    assert done.at["a"] == pytest.approx(0.44 * MS)
    assert done.at["stopped"] == pytest.approx(1.0 * MS)
    assert host.busy_s == pytest.approx(1.44 * MS)


def test_what_a_thread_with_real_time_priority_hands_on_is_work_of_another(
    clock: Clock, done: Done
) -> None:
    host = machine(clock)
    server = host.program()
    urgent = host.urgent
    urgent.run(0.02 * MS, lambda _: server.go_on(0.1 * MS, done, "server"))
    clock.run()
    assert done.at["server"] == pytest.approx(0.12 * MS)


def test_a_busy_wait_that_is_interrupted_may_be_stopped(clock: Clock, done: Done) -> None:
    host = machine(clock)
    program = host.program()
    spin = program.spin()
    clock.at(0.1 * MS, lambda _: host.urgent.run(0.02 * MS, done, "relay"))
    clock.at(0.11 * MS, lambda _: program.stop(spin, done, "stopped"))
    clock.run()
    assert done.at == {
        "relay": pytest.approx(0.12 * MS),
        "stopped": pytest.approx(0.12 * MS),
    }
    assert host.busy_s == pytest.approx(0.12 * MS)


def test_threads_of_a_program_that_have_used_as_much_come_in_the_order_of_arrival(
    clock: Clock,
) -> None:
    host = machine(clock)
    program = host.program()
    order: list[int] = []
    program.run(0.05 * MS, lambda _: None)
    for number in range(4):
        program.run(0.05 * MS, order.append, number)
    clock.run()
    assert order == [0, 1, 2, 3]


def test_a_thread_keeps_its_order_of_jobs(clock: Clock) -> None:
    host = machine(clock)
    program, other = host.program(), host.program()
    thread, order = Thread(program), []
    for number in range(50):
        thread.do(0.2 * MS, order.append, number)
        other.run(0.3 * MS, lambda _: None)
    clock.run()
    assert order == list(range(50))


def test_busy_waiting_ends_when_its_program_has_used_its_share(clock: Clock, done: Done) -> None:
    host = machine(clock)
    spinner, worker = host.program(), host.program()
    spin = spinner.spin()
    for number in range(4):
        worker.run(1 * MS, done, f"w{number}")
    clock.at(7.5 * MS, lambda _: spinner.stop(spin, done, "stopped"))
    clock.run()
    # In turns, a slice each; what others wait for comes first.
    expected = [1 * MS, 3 * MS, 5 * MS, 7 * MS]
    assert sorted(done.at.values())[:4] == pytest.approx(expected, abs=1e-6)
    assert done.at["stopped"] == pytest.approx(7.5 * MS)
    assert host.busy_s == pytest.approx(7.5 * MS)


def test_busy_waiting_is_charged_and_given_back(clock: Clock, done: Done) -> None:
    host = machine(clock)
    spinner = host.program()
    spin = spinner.spin()
    clock.at(3.3 * MS, lambda _: spinner.stop(spin, done, "stopped"))
    clock.run()
    assert done.at["stopped"] == pytest.approx(3.3 * MS)
    assert host.busy_s == pytest.approx(3.3 * MS)


def test_a_thread_that_waits_busily_gives_way_to_its_own_program_at_once(
    clock: Clock, done: Done
) -> None:
    host = machine(clock)
    server, other = host.program(), host.program()
    spin = server.spin()
    clock.at(0.2 * MS, lambda _: other.run(0.1 * MS, done, "other"))
    clock.at(0.3 * MS, lambda _: [server.run(0.1 * MS, done, f"own{n}") for n in range(2)])
    clock.at(0.7 * MS, lambda _: server.run(0.1 * MS, done, "late"))
    clock.at(5.0 * MS, lambda _: server.stop(spin, done, "stopped"))
    clock.run()
    # The server's thread cuts the other program short, which has used more than its share.
    expected = [0.4 * MS, 0.4 * MS, 0.5 * MS, 0.8 * MS]
    assert sorted(done.at.values())[:4] == pytest.approx(expected, abs=1e-6)
    assert done.at["late"] == pytest.approx(0.8 * MS)
    assert done.at["stopped"] == pytest.approx(5 * MS)
    assert host.busy_s == pytest.approx(5 * MS)


def test_it_takes_no_core_from_a_thread_of_its_program_with_long_work(
    clock: Clock, done: Done
) -> None:
    host = machine(clock)
    server = host.program()
    spin = server.spin()
    clock.at(0.5 * MS, lambda _: server.run(10 * MS, done, "long"))
    clock.at(20 * MS, lambda _: server.stop(spin, done, "stopped"))
    clock.run()
    assert done.at["long"] == pytest.approx(10.5 * MS)
    assert host.busy_s == pytest.approx(20 * MS)


def test_stopped_while_it_has_no_core_it_goes_on_when_it_has_one(clock: Clock, done: Done) -> None:
    host = machine(clock)
    server, other = host.program(), host.program()
    spin = server.spin()
    other.run(0.8 * MS, done, "other")
    clock.at(0.5 * MS, lambda _: server.stop(spin, done, "stopped"))
    clock.run()
    end = pytest.approx(0.8 * MS, abs=1e-6)
    assert done.at == {"other": end, "stopped": end}
    assert host.busy_s == end


def test_threads_of_the_kernel_are_no_part_of_a_server(clock: Clock, done: Done) -> None:
    host = machine(clock)
    server = host.program()
    spin = server.spin()
    clock.at(0.4 * MS, lambda _: server.kernel.run(0.1 * MS, done, "journal"))
    clock.at(3.0 * MS, lambda _: server.stop(spin, done, "stopped"))
    clock.run()
    assert server.kernel is host.kernel is not host.machine
    assert done.at["journal"] == pytest.approx(0.5 * MS, abs=1e-6)


def test_who_comes_to_a_core_that_was_waited_on_busily_alone_has_it_at_once(
    clock: Clock, done: Done
) -> None:
    host = machine(clock)
    server, other = host.program(), host.program()
    spin = server.spin()
    clock.at(7.7 * MS, lambda _: other.run(0.1 * MS, done, "other"))
    clock.at(20 * MS, lambda _: server.stop(spin, done, "stopped"))
    clock.run()
    assert done.at["other"] == pytest.approx(7.8 * MS, abs=1e-6)
    assert host.busy_s == pytest.approx(20 * MS)


def test_an_fsync_takes_turns_of_its_caller_and_of_the_kernel(clock: Clock) -> None:
    host = machine(clock)
    disk = ScheduledDisk(host.program(), 0.02 * MS, host.flushes, Disk(clock, 0.05 * MS))
    ends = []
    clock.at(3 * MS, lambda _: disk.sync(0.0, lambda _: ends.append(clock.now)))
    clock.run()
    # Two turns of 0.01 ms, 0.012 ms of the kernel, twice the device.
    assert ends == pytest.approx([3.132 * MS])


def test_an_fsync_of_a_binary_log_has_a_third_turn(clock: Clock) -> None:
    host = machine(clock)
    server = host.program()
    disk = ScheduledDisk(server, 0.02 * MS, host.flushes, Disk(clock, 0.05 * MS))
    ends = []
    log = Binlog(server, disk)
    clock.at(3 * MS, lambda _: log.sync(lambda _: ends.append(clock.now)))
    clock.run()
    # The file has grown: its length is written too.
    assert ends == pytest.approx([3.132 * MS + 0.06 * MS])


@pytest.mark.parametrize(("slept_ms", "done_ms"), [(0.9, 2.1), (0.2, 1.2)])
def test_a_thread_wakes_on_its_core_though_another_is_idle(
    clock: Clock, done: Done, slept_ms: float, done_ms: float
) -> None:
    host = machine(clock, 2)
    first, second, third = host.program(), host.program(), host.program()
    first.run(1.05 * MS, done, "first")
    second.run(slept_ms * MS, done, "second")
    clock.at(1 * MS, lambda _: third.run(2 * MS, done, "third"))
    clock.at(1.1 * MS, lambda _: second.run(0.1 * MS, done, "again"))
    clock.run()
    # Until the slice is over; the other core takes what has not run for half a millisecond.
    assert done.at["again"] == pytest.approx(done_ms * MS)


def test_flushes_that_come_meanwhile_are_one(clock: Clock) -> None:
    host = machine(clock, 8)
    device = Disk(clock, 0.05 * MS)
    ends: list[float] = []
    for number in range(4):
        disk = ScheduledDisk(host.program(), 0.02 * MS, host.flushes, device)
        clock.at(
            0.01 * number * MS, lambda _, d=disk: d.sync(0.0, lambda _: ends.append(clock.now))
        )
    clock.run()
    assert device.syncs == 4 + 2  # data of each, a flush for the first and one for the others
    assert ends[0] == pytest.approx(0.132 * MS)
    # The kernel's thread has waited for the first one's turn.
    assert ends[1:] == pytest.approx([0.204 * MS] * 3)
    with pytest.raises(ValueError, match="core"):
        disk.sync_at(0.0, 0.0)


def test_all_work_is_done_and_no_core_is_idle_meanwhile(clock: Clock, done: Done) -> None:
    host = machine(clock, 2)
    programs = [host.program() for _ in range(3)]
    for number in range(120):
        programs[number % 3].run((0.05 + 0.07 * (number % 11)) * MS, done, str(number))
    clock.run()
    total_s = sum(0.05 + 0.07 * (number % 11) for number in range(120)) * MS
    assert len(done.at) == 120
    assert host.busy_s == pytest.approx(total_s)
    assert total_s / 2 <= max(done.at.values()) <= total_s / 2 + 1 * MS
    assert all(earlier <= later for earlier, later in pairwise(done.at.values()))


def test_the_machine_itself_is_a_program_too(clock: Clock, done: Done) -> None:
    host = machine(clock)
    assert host.machine is host
    assert host.program().machine is host
    assert not host.even
    host.run(0.5 * MS, lambda _: host.go_on(0.5 * MS, done, "own"))
    clock.run()
    assert done.at == {"own": pytest.approx(1 * MS)}


def insert(**machine: object) -> simrep.Result:
    return simrep.run(
        {
            "cluster": {"model": "galera", "machine": {"cores": 2, **machine}, "shared_host": True},
            "network": {"rtt_ms": 0.1},
            "workload": {
                "preset": "mysqlslap-insert", "threads": 32, "queries": 640, "nodes": ["n1"],
                "client": "node",
            },
        },
        seed=1,
    )  # fmt: skip


def test_a_cluster_runs_on_it_and_each_run_is_the_same() -> None:
    one = insert(autogroup=True, core_queues=True)
    assert one.committed == 640
    assert one.latency_s == insert(autogroup=True, core_queues=True).latency_s
    assert one.latency_s != insert(autogroup=True).latency_s


def test_who_is_woken_where_others_compute_waits_for_the_end_of_their_turn(
    clock: Clock, done: Done
) -> None:
    host = machine(clock)
    host.occupy(1, 1 / 16)
    program = host.program()
    clock.at(2.3 * MS, lambda _: program.run(0.1 * MS, done, "woken"))
    clock.run(until=5 * MS)
    assert done.at["woken"] == pytest.approx(3.1 * MS)


def test_others_get_their_share_of_a_busy_core(clock: Clock, done: Done) -> None:
    host = machine(clock)
    host.occupy(2, 0.25)
    host.program().run(40 * MS, done, "long")
    clock.run(until=60 * MS)
    assert done.at["long"] == pytest.approx(40 * 1.25 * MS, abs=2 * MS)


def test_three_programs_that_compute_share_two_cores(clock: Clock, done: Done) -> None:
    # If two of them stayed together on a core, the third one would end after half of the time.
    # Between moves of one of them lie 32 to 96 ms.
    host = machine(clock, 2)
    for name in "abc":
        host.program().run(2.0, done, name)
    clock.run()
    assert max(done.at.values()) == pytest.approx(3.0, abs=0.05)
    assert min(done.at.values()) > 2.8


def test_others_need_a_queue_for_each_core() -> None:
    with pytest.raises(simrep.ScenarioError, match=r"machine.others.*queue for each core"):
        insert(others=2)
    paced = {"autogroup": True, "core_queues": True, "others": 2, "cpu_factor": 2.0}
    with pytest.raises(simrep.ScenarioError, match=r"machine.others.*is not played"):
        insert(**paced)


def test_one_queue_leaves_out_what_a_pack_says_and_refuses_what_a_scenario_says() -> None:
    def paced(pack: str | None, **machine: object) -> simrep.Result:
        traits = {"cpu_factor": 1.5, **machine}
        cluster = {"model": "galera", "pack": pack, "shared_host": True, "machine": traits}
        work = {"threads": 4, "queries": 80, "nodes": ["n1"], "client": "node"}
        return simrep.run({"cluster": cluster, "workload": work})

    result = paced("rig-mariadb-11.8-galera")
    assert simrep.run(result.scenario).latency_s == result.latency_s
    with pytest.raises(simrep.ScenarioError, match=r"machine.sleep_us: is not played"):
        paced("rig-mariadb-11.8-galera", sleep_us=9.0)
    with pytest.raises(simrep.ScenarioError, match=r"machine.core_queues: is not played"):
        paced(None, autogroup=True, core_queues=True)


def test_it_is_about_machines_that_are_fair_between_programs() -> None:
    with pytest.raises(simrep.ScenarioError, match=r"core_queues.*autogroup"):
        insert(core_queues=True)


def follows(workers: int) -> simrep.Result:
    return simrep.run(
        {
            "cluster": {
                "model": "group_replication",
                "pack": "rig-2core-mysql",
                "shared_host": True,
                "machine": {"autogroup": True, "core_queues": True},
                "options": {"replica_parallel_workers": workers},
            },
            "workload": {
                "preset": "mysqlslap-insert", "threads": 16, "queries": 320, "nodes": ["n1"],
                "client": "node",
            },
        },
        seed=1,
        replications=3,
    )  # fmt: skip


def test_replicas_with_one_worker_fall_behind_and_hold_up_nobody_for_long() -> None:
    # With one queue for all, without autogroup, a commit takes more than twice as long with one.
    one, four = follows(1), follows(4)
    assert one.committed == four.committed == 320
    assert one.makespan_s < 2.0 * four.makespan_s
    applied = [
        next(station.visits for station in run.stations if station.name == "n2/appliers")
        for run in (one, four)
    ]
    assert applied[0] < applied[1]
    assert applied[0] < 160  # behind: half is not even handed over
