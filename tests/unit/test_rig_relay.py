"""How exactly the relay delays real packets; needs root, and no other rig at work."""

import os
import shutil
from pathlib import Path

import pytest

from simrep.rig.accuracy import measure_accuracy
from simrep.rig.errors import BusyError
from simrep.rig.namespaces import Namespaces
from tests.rig_hosts import compiler_is_there, egress

NEEDED = ("ip", "nsenter", "unshare", "chroot", "sysctl", "ping")
able = (
    os.geteuid() == 0
    and compiler_is_there()
    and Path("/dev/net/tun").exists()
    and all(shutil.which(program) for program in NEEDED)
)


@pytest.fixture
def engine(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMREP_RIG", str(tmp_path / "rig"))
    for folder in ("data", "dev", "etc", "proc", "usr/sbin"):
        (tmp_path / "root" / folder).mkdir(parents=True)
    (tmp_path / "root/usr/sbin/mysqld").touch()
    found = Namespaces(tmp_path / "root", delay_method="relay")
    try:
        found.up(2)
    except BusyError as problem:
        pytest.skip(str(problem))
    yield found
    found.down()


@pytest.mark.slow
@pytest.mark.skipif(not able, reason="needs root, a compiler and network namespaces")
def test_packets_are_as_late_as_they_should_be(engine):
    plain, late = measure_accuracy(engine, (0.0, 10.0), per_second=1000, duration_s=0.5)
    assert plain.received == plain.sent == 500
    assert plain.p50_ms < 0.5
    assert plain.relay_cpu < 0.01  # undelayed packets pass it by
    assert late.received == 500
    assert abs(late.p50_ms - 10) < 0.2
    assert late.least_ms > 9.8
    assert 0 < late.relay_cpu < 0.5
    engine.set_delays(egress(("n1", "n2"), "n2", 5))
    engine.delay_statistics(reset=True)
    trip = engine.round_trips(count=3)["n1", "n2"]
    assert 5 < trip.least_ms < 6
    statistics = engine.delay_statistics(reset=True)
    assert statistics.packets == 3
    assert statistics.late_mean_ms < 1
    assert engine.delay_statistics().packets == 0
