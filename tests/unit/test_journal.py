"""The journal of a transaction: what it notes, and when it is closed."""

from __future__ import annotations

from math import isnan

import pytest

from simrep.kernel.clock import Clock
from simrep.workload.transaction import Journal


def journal(nodes: int = 3, node: int = 0) -> tuple[Clock, Journal]:
    clock = Clock()
    return clock, Journal(clock, "large", node, nodes)


def closed(told: Journal) -> bool:
    return bool(told.closed.triggered)


def test_it_notes_when_what_happened() -> None:
    clock, told = journal(2)
    steps = (
        lambda: told.begin(20, 1000),
        told.executed,
        told.replicate,
        lambda: told.committed(0),
        lambda: told.answered(""),
        lambda: told.committed(1),
    )
    for second, step in enumerate(steps, start=1):
        clock.run(float(second))
        step()
    times = [told.begin_s, told.executed_s, told.replicate_s, told.commit_s, told.end_s]
    assert times == [1.0, 2.0, 3.0, 5.0, 6.0]
    assert (told.rows, told.size_bytes, told.error) == (20, 1000, "")


def test_nothing_has_happened_in_the_beginning() -> None:
    _, told = journal()
    times = [told.begin_s, told.executed_s, told.replicate_s, told.commit_s, told.end_s]
    assert all(map(isnan, times))
    assert not closed(told)


def test_the_first_part_that_is_replicated_counts() -> None:
    clock, told = journal()
    clock.run(1.0)
    told.replicate()
    clock.run(2.0)
    told.replicate()
    assert told.replicate_s == 1.0


@pytest.mark.parametrize("last", ["the client", "a node"])
def test_it_is_closed_when_all_nodes_have_it_and_the_client_knows(last: str) -> None:
    _, told = journal(3)
    told.committed(0)
    told.committed(2)
    if last == "the client":
        told.committed(1)
        assert not closed(told)
        told.answered("")
    else:
        told.answered("")
        assert not closed(told)
        told.committed(1)
    assert closed(told)


def test_a_transaction_that_failed_is_closed_whoever_has_it() -> None:
    _, told = journal(3)
    told.answered("1213 deadlock")
    assert closed(told)
    assert told.error == "1213 deadlock"
    assert isnan(told.commit_s)


def test_every_part_of_one_that_was_split_has_to_be_on_every_node() -> None:
    _, told = journal(2)
    told.split(3)
    for _ in range(3):
        told.committed(0)
    told.answered("")
    for _ in range(2):
        assert not closed(told)
        told.committed(1)
    assert not closed(told)
    told.committed(1)
    assert closed(told)


@pytest.mark.parametrize("node", [0, 1, 2])
def test_one_that_no_other_node_will_have_does_not_wait_for_them(node: int) -> None:
    _, told = journal(3, node)
    told.alone()
    told.answered("")
    assert not closed(told)
    told.committed(node)
    assert closed(told)


def test_nobody_waits_for_a_node_that_has_gone() -> None:
    _, told = journal(3)
    told.committed(0)
    told.committed(2)
    told.answered("")
    told.excuse(1)
    assert closed(told)


def test_a_node_that_has_gone_excuses_no_other() -> None:
    _, told = journal(3)
    told.excuse(1)
    told.committed(0)
    told.answered("")
    assert not closed(told)


def test_one_that_only_reads_is_closed_when_its_client_has_the_answer() -> None:
    clock, told = journal(3)
    told.begin(0, 0)
    assert not closed(told)
    clock.run(1.0)
    told.answered("")
    assert closed(told)
    assert told.commit_s == told.end_s == 1.0
    _, failed = journal(3)
    failed.begin(0, 0)
    failed.answered("1213 deadlock")
    assert isnan(failed.end_s)
