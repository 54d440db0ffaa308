"""Threads of a MySQL server that wake by the clock."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.models.mysql.background import start_background
from simrep.server.core_host import CoreHost


class Server:
    """It is its own redo log, which is on the disk after a millisecond."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.machine = CoreHost(
            self.clock, 1, streams=Streams(1), name="m", slice_s=1.4e-3, newidle_s=0.0
        )
        self.host = self.machine.program()
        self.host.tell_threads()
        self.commits = 0
        self.alive = True
        self.syncs_s: list[float] = []
        self.redo = self

    def flush_alone(self, size_bytes: int, call: Any) -> None:
        self.syncs_s.append(self.clock.now)
        sleeper = self.host.doze()
        self.clock.at(self.clock.now + 1e-3, lambda _: self.host.rouse(sleeper, 0.0, call))


@pytest.mark.parametrize("persists", [False, True])
def test_the_governor_looks_every_10_ms(persists: bool) -> None:
    server = Server()
    start_background(server, persists=persists)
    server.clock.run(1.0)
    assert 98 <= server.machine.visits <= 100
    assert server.syncs_s == []  # nothing was committed


def test_gtids_are_persisted_every_100_ms_if_there_are_new_ones() -> None:
    server = Server()
    start_background(server, persists=True)
    for at_s in (0.25, 0.26, 0.37, 0.81):
        server.clock.at(at_s, lambda _: setattr(server, "commits", server.commits + 1))
    server.clock.run(1.2)
    assert server.syncs_s == pytest.approx([0.3, 0.4, 0.9], abs=5e-3)


def test_they_end_with_their_server() -> None:
    server = Server()
    server.commits = 1
    start_background(server, persists=True)
    server.clock.at(0.5, lambda _: setattr(server, "alive", False))
    server.clock.run()
    assert server.clock.now < 0.7
    assert 49 <= server.machine.visits <= 52


def fsyncs(**machine: bool) -> list[float]:
    """Of the redo logs of a source and its replica, in four seconds with about 20 commits."""
    work = {"nodes": ["n1"], "rate_tps": 5.0}
    cluster = {"model": "asynchronous", "nodes": 2, "shared_host": True, "machine": machine}
    result = simrep.run(
        {"cluster": cluster, "workload": work, "run": {"duration_s": 4.0, "warmup_s": 0.0}}
    )
    return [result.counters[node]["Innodb_os_log_fsyncs"] for node in ("n1", "n2")]


def test_their_transactions_sync_the_redo_log() -> None:
    commits = fsyncs(autogroup=True)
    source, replica = fsyncs(autogroup=True, core_queues=True)
    assert commits[0] == commits[1] >= 12
    assert commits[0] * 0.5 <= source - commits[0] <= commits[0]  # some are persisted together
    assert 6 <= replica - source <= 13  # its coordinator makes checkpoints, one each 300 ms
