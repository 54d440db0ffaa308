"""The delay matrix, and what it becomes: relay configuration, netem commands, routes."""

import subprocess

import pytest

from simrep.rig.accuracy import Accuracy, read_probe
from simrep.rig.delays import (
    DelayMatrix,
    Link,
    netem_commands,
    netem_probe,
    netem_removal,
)
from simrep.rig.engine import ping_command, read_ping
from simrep.rig.errors import RigError
from simrep.rig.relays import compiled, link_lines, merged
from tests.rig_hosts import compiler_is_there, egress

NODES = ("n1", "n2", "n3")
COUNTERS = """\
from,to,delay_us,packets,bytes,dropped,late_mean_us,late_max_us,most_queued_bytes,write_errors
n1,n2,0.0,0,0,0,0.00,0.0,0,0
n3,n1,50000.0,300,30000,1,40.00,900.0,600,0
n3,n2,50000.0,100,10000,0,80.00,100.0,600,2
"""


def test_egress_delays_all_that_one_node_sends():
    delays = egress(NODES, "n3", 50)
    assert delays.link("n3", "n1") == delays.link("n3", "n2") == Link(50)
    assert delays.link("n1", "n3").plain
    assert delays.round_trip_ms("n1", "n3") == 50
    assert delays.round_trip_ms("n1", "n2") == 0
    assert [name for name, _ in delays.leaving("n3")] == ["n1", "n2"]
    assert list(delays.leaving("n1")) == []


def test_no_delays():
    assert DelayMatrix(NODES).links == {}
    assert DelayMatrix(NODES).link("n1", "n2").plain


def test_unknown_nodes_are_named_with_the_nearest():
    with pytest.raises(RigError, match=r"no node 'n33'.*'n3'"):
        DelayMatrix(NODES, {("n33", "n1"): Link(50)})
    with pytest.raises(RigError, match="no node 'x'"):
        DelayMatrix(NODES, {("n1", "x"): Link(1)})
    with pytest.raises(RigError, match="towards itself"):
        DelayMatrix(NODES, {("n1", "n1"): Link(1)})


@pytest.mark.parametrize(
    "wrong", [{"delay_ms": -1}, {"delay_ms": float("nan")}, {"loss": 1.5}, {"rate_mbit": -5}]
)
def test_impossible_links_are_refused(wrong):
    with pytest.raises(RigError, match="figures of 0 and above"):
        Link(**wrong)
    with pytest.raises(RigError, match="cannot make packets early"):
        Link(5, 6)


def test_the_relay_is_told_microseconds_and_percent():
    delays = DelayMatrix(NODES, {("n1", "n2"): Link(0.05), ("n2", "n3"): Link(10, 2, 0.01, 100)})
    assert link_lines(delays) == ["link n1 n2 50 0 0 0", "link n2 n3 10000 2000 1 100"]
    assert link_lines(delays, "n1") == ["link n1 n2 50 0 0 0"]
    assert link_lines(delays, "n3") == []


def test_counters_of_links_are_weighed_by_their_packets():
    total = merged([COUNTERS], 0.25)
    assert (total.packets, total.bytes, total.dropped) == (400, 40000, 3)
    assert total.late_mean_ms == pytest.approx(0.050)
    assert total.late_max_ms == pytest.approx(0.9)
    assert total.cpu_s == 0.25
    assert merged([], 0.0).late_mean_ms == 0


def test_netem_has_a_band_for_every_late_receiver():
    commands = netem_commands("eth0", [("10.0.0.1", Link(50)), ("10.0.0.2", Link(5, 1, 0.01))])
    lines = [" ".join(command) for command in commands]
    assert lines[0].startswith("tc qdisc add dev eth0 root handle 1: prio bands 3 priomap 0 0")
    assert lines[1].endswith("parent 1:2 handle 11: netem limit 100000 delay 50000us")
    assert lines[2].endswith("match ip dst 10.0.0.1/32 flowid 1:2")
    assert lines[3].endswith(
        "parent 1:3 handle 12: netem limit 100000 delay 5000us 1000us loss 1% rate 100000000kbit"
    )
    assert lines[4].endswith("match ip dst 10.0.0.2/32 flowid 1:3")


def test_netem_limits_a_rate_without_a_delay():
    _, command, _ = netem_commands("eth0", [("10.0.0.1", Link(rate_mbit=100))])
    assert command[-5:] == ["netem", "limit", "100000", "rate", "100000kbit"]


def test_netem_leaves_a_device_alone_whose_packets_are_not_late():
    assert netem_commands("eth0", []) == []
    with pytest.raises(ValueError, match="16 bands"):
        netem_commands("eth0", [(f"10.0.0.{i}", Link(1)) for i in range(16)])


def test_a_probe_for_netem_cleans_up_after_itself():
    add, remove = netem_probe("eth0")
    assert "add" in add
    assert remove == netem_removal("eth0")


def test_the_summary_of_ping_is_read():
    text = "5 packets transmitted\nrtt min/avg/max/mdev = 50.128/50.151/50.178/0.020 ms\n"
    trip = read_ping(text)
    assert (trip.least_ms, trip.mean_ms, trip.most_ms) == (50.128, 50.151, 50.178)
    assert ping_command("10.0.0.1", 5, 0.02)[-3:] == ["-i", "0.02", "10.0.0.1"]
    with pytest.raises(RigError, match="no answer"):
        read_ping("3 packets transmitted, 0 received, 100% packet loss")


def test_figures_of_the_probe_are_read():
    figures = read_probe("received=100 mean=50041.22 least=-3.00 p50=50040.00\n")
    assert figures == {"received": 100, "mean": 50041.22, "least": -3.0, "p50": 50040.0}


def test_the_error_of_a_delay_is_what_the_mean_exceeds_it_by():
    found = Accuracy(50.0, 10_000, 100, 100, 50.04, 49.9, 50.03, 50.2, 51.0, 0.12)
    assert found.error_ms == pytest.approx(0.04)
    assert found.row()["error_ms"] == 0.04
    assert found.row()["relay_cpu"] == 0.12


needs_compiler = pytest.mark.skipif(not compiler_is_there(), reason="needs gcc")


@needs_compiler
def test_the_queue_of_a_link_keeps_delay_order_rate_and_loss(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMREP_RIG", str(tmp_path))
    done = subprocess.run(
        [compiled("queue_test", static=False)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "ok\n"
    assert done.returncode == 0


@needs_compiler
def test_programs_are_compiled_once(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMREP_RIG", str(tmp_path))
    first = compiled("probe", static=False)
    made = first.stat().st_mtime_ns
    assert compiled("probe", static=False) == first
    assert first.stat().st_mtime_ns == made
    done = subprocess.run([first], capture_output=True, text=True, check=False)
    assert "usage: probe receive PORT" in done.stderr


@needs_compiler
@pytest.mark.parametrize("line", ["link n1 n9 5", "node n1 nowhere /x", "what is this", "link n1"])
def test_the_relay_refuses_what_it_cannot_read(monkeypatch, tmp_path, line):
    monkeypatch.setenv("SIMREP_RIG", str(tmp_path))
    configuration = tmp_path / "relay.conf"
    configuration.write_text(f"{line}\n", encoding="utf-8")
    relay = compiled("relay", static=False)
    done = subprocess.run(
        [relay, configuration, tmp_path / "relay.csv"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == f"cannot read: {line}\n"


@needs_compiler
def test_datagrams_are_stamped_by_the_kernel(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMREP_RIG", str(tmp_path))
    probe = compiled("probe", static=False)
    listen = [probe, "receive", "39871", "50", "5"]
    with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as listener:
        for _ in range(20):  # until the listener is there, sends are refused
            send = [probe, "send", "127.0.0.1", "39871", "50", "1000"]
            if subprocess.run(send, capture_output=True, check=False).returncode == 0:
                break
        figures = read_probe(listener.communicate(timeout=20)[0])
    assert figures["received"] > 0
    assert figures["least"] >= 0
    assert figures["least"] <= figures["p50"] <= figures["most"]
