"""A thread that reads the sockets of several members."""

from __future__ import annotations

from simrep.kernel.clock import Clock
from simrep.models.galera.gcomm.socket_reads import SocketReads
from simrep.server.host import Host
from simrep.server.thread import Thread

MS = 1e-3


def handled(*arrivals: tuple[float, int, str]) -> list[str]:
    """In which order messages are handled, each of which takes a millisecond."""
    clock = Clock()
    thread = Thread(Host(clock, 1))
    order: list[str] = []
    reads = SocketReads(thread, order.append)
    for at_ms, number, name in arrivals:
        clock.at(at_ms * MS, lambda one: reads.arrived(one[0], MS, one[1]), (number, name))
    clock.run()
    return order


def test_a_thread_in_time_handles_messages_as_they_come() -> None:
    assert handled((0, 1, "a1"), (1.5, 2, "b1"), (3, 1, "a2"), (4.5, 2, "b2")) == [
        "a1", "b1", "a2", "b2"
    ]  # fmt: skip


def test_one_that_is_late_reads_a_socket_to_its_end_before_the_next() -> None:
    late = (0, 3, "c1"), (0.1, 1, "a1"), (0.2, 2, "b1"), (0.3, 1, "a2"), (0.4, 2, "b2")
    assert handled(*late) == ["c1", "a1", "a2", "b1", "b2"]


def test_what_comes_while_a_socket_is_read_waits_for_its_next_turn() -> None:
    while_read = (0, 3, "c1"), (0.1, 1, "a1"), (0.2, 1, "a2"), (0.3, 2, "b1"), (2.5, 1, "a3")
    assert handled(*while_read) == ["c1", "a1", "a2", "b1", "a3"]
