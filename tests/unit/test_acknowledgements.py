"""What the source of semi-synchronous replication waits for, and when it stops or begins again."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.kernel.clock import Clock
from simrep.models.semisync.acknowledgements import Acknowledgements

TIMEOUT_S = 1.0


class Source:
    """The decisions of a source, and what they let go on: (time, position)."""

    def __init__(self, **how: Any) -> None:
        self.clock = Clock()
        self.decides = Acknowledgements(
            self.clock, **{"replicas": 1, "timeout_s": TIMEOUT_S, **how}
        )
        self.gone_on: list[tuple[float, int]] = []

    def commit(self, position: int) -> bool:
        """Write a transaction, and wait for it if need be."""
        self.decides.written(position)
        return self.decides.wait(
            position, lambda _: self.gone_on.append((self.clock.now, position))
        )

    @classmethod
    def asynchronous(cls, **how: Any) -> Source:
        """One that has stopped to wait; two transactions are written, and none acknowledged."""
        source = cls(**how)
        source.commit(1)
        source.clock.run(2 * TIMEOUT_S)
        assert source.gone_on == [(TIMEOUT_S, 1)]
        assert not source.decides.on
        source.commit(2)
        return source


def test_it_begins_to_wait_again_when_a_replica_has_the_end_of_the_binary_log():
    source = Source.asynchronous()
    source.decides.report(0, 1)
    assert not source.decides.on
    assert not source.commit(3)
    source.decides.report(0, 2)
    assert not source.decides.on
    source.decides.report(0, 3)
    assert source.decides.on
    assert source.commit(4)
    assert source.decides.no == 3


def test_as_many_replicas_as_are_waited_for_must_have_that_end():
    source = Source.asynchronous(replicas=3, count=2)
    source.decides.report(0, 2)
    source.decides.report(1, 1)
    assert not source.decides.on
    source.decides.report(2, 2)
    assert source.decides.on


def test_the_timeout_counts_from_the_oldest_wait():
    source = Source()
    source.commit(1)
    source.clock.at(0.4, lambda _: source.commit(2))
    source.clock.run(5.0)
    assert source.gone_on == [(TIMEOUT_S, 1), (TIMEOUT_S, 2)]
    assert source.decides.timeouts == source.decides.off_times == 1


def test_if_the_oldest_is_acknowledged_it_counts_from_the_next():
    source = Source()
    source.commit(1)
    source.clock.at(0.4, lambda _: source.commit(2))
    source.clock.at(0.7, lambda _: source.commit(3))
    source.clock.at(0.9, lambda _: source.decides.report(0, 1))
    source.clock.run(5.0)
    assert source.gone_on == [(0.9, 1), (pytest.approx(1.4), 2), (pytest.approx(1.4), 3)]
    assert source.decides.yes == 1


def test_what_is_acknowledged_already_is_not_waited_for():
    source = Source()
    source.commit(1)
    source.commit(2)
    source.decides.report(0, 2)
    assert not source.commit(2)
    assert source.decides.yes == 3
    assert source.commit(3)


def test_only_what_would_end_the_wait_of_those_who_wait_is_asked_for():
    source = Source()
    assert source.commit(5)
    assert not source.decides.wanted(4)
    assert source.decides.wanted(5)
    assert source.decides.wanted(6)
    source.decides.report(0, 6)
    assert not source.decides.wanted(6)
    assert source.decides.wanted(7)
    assert source.decides.requests == 3


def test_while_it_is_asynchronous_only_the_last_is_asked_for():
    source = Source.asynchronous()
    assert not source.decides.wanted(1)
    assert source.decides.wanted(2)
