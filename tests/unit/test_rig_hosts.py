"""What engines do to their hosts, recorded instead of done."""

import os
import subprocess

import pytest

from simrep.rig import docker, engine, guard, namespaces
from simrep.rig.delays import DelayMatrix, Link
from simrep.rig.docker import Docker
from simrep.rig.errors import RigError
from simrep.rig.namespaces import Namespaces, remove_namespaces
from simrep.rig.relays import DelayStatistics
from tests.rig_hosts import egress

COUNTERS = """\
from,to,delay_us,packets,bytes,dropped,late_mean_us,late_max_us,most_queued_bytes,write_errors
n1,n2,50000.0,10,1000,0,40.00,90.0,600,0
"""
STAT = "7 (relay) S " + " ".join(["0"] * 10 + ["30", "20"] + ["0"] * 30)


class Recorder:
    """Commands that were run; those with a word in ``fail`` fail."""

    def __init__(self):
        self.lines = []
        self.fail = set()
        self.answers = {}

    def run(self, argv, **_):
        line = " ".join(str(word) for word in argv)
        self.lines.append(line)
        if any(word in line for word in self.fail):
            raise RigError(f"{line} failed")
        return next((text for word, text in self.answers.items() if word in line), "")

    def succeeds(self, argv, **_):
        try:
            self.run(argv)
        except RigError:
            return False
        return True

    def having(self, *words):
        return [line for line in self.lines if all(word in line for word in words)]


class RecordedRelay:
    """Stands in for the process."""

    def __init__(self, folder, home, nodes):
        self.nodes = nodes
        self.delays = []
        self.running = False

    def start(self):
        self.running = True

    def set_delays(self, delays):
        self.delays.append(delays)

    def counters(self, *, reset=False):
        return COUNTERS.replace(",10,", f",{len(self.delays)},"), 0.0

    def stop(self):
        self.running = False


@pytest.fixture
def recorder(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMREP_RIG", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = Recorder()
    for module in (namespaces, docker, engine):
        monkeypatch.setattr(module, "run", found.run)
        if hasattr(module, "succeeds"):
            monkeypatch.setattr(module, "succeeds", found.succeeds)
    monkeypatch.setattr(namespaces, "NamespaceRelay", RecordedRelay)
    monkeypatch.setattr(guard, "FOLDER", tmp_path)
    return found


@pytest.fixture
def rootfs(tmp_path):
    place = tmp_path / "root"
    for name in ("usr/sbin", "etc"):
        (place / name).mkdir(parents=True)
    (place / "usr/sbin/mariadbd").touch()
    return place


# ------------------------------------------------------------------ namespaces --


def test_namespaces_delay_by_netem_where_the_kernel_has_it(recorder, rootfs):
    engine = Namespaces(rootfs)
    engine.up(3)
    assert engine.delay_method == "netem"
    assert [host.address for host in engine.hosts] == [f"10.77.0.1{i}" for i in (1, 2, 3)]
    assert engine.delay_statistics() == DelayStatistics()
    recorder.lines.clear()
    engine.set_delays(egress(("n1", "n2", "n3"), "n3", 50))
    assert len(recorder.having("netns/simrep-n3", "netem", "50000us")) == 2
    assert recorder.having("netns/simrep-n1", "qdisc del")
    assert not recorder.having("netns/simrep-n1", "netem")
    assert len(recorder.having("tcp_metrics flush")) == 3
    engine.down()
    assert engine.hosts == ()


def test_namespaces_delay_by_the_relay_else(recorder, rootfs):
    recorder.fail = {"netem"}
    engine = Namespaces(rootfs)
    engine.up(2)
    assert engine.delay_method == "relay"
    names = ("n1", "n2")
    engine.set_delays(DelayMatrix(names, {("n1", "n2"): Link(5)}))
    assert recorder.having("simrep-n1", "route replace 10.77.0.12/32 dev delay0 src 10.77.0.11")
    engine.set_delays(egress(names, "n2", 5))
    assert recorder.having("simrep-n1", "route del 10.77.0.12/32")
    assert recorder.having("simrep-n2", "route replace 10.77.0.11/32")
    assert engine.delay_statistics().packets == 2
    described = engine.description()
    assert described["delay_method"] == "relay"
    assert described["base"] == "root"
    engine.down()
    engine.down()
    assert not (rootfs.parent / "netns" / "hosts").exists()


def test_one_rig_at_a_time(recorder, rootfs):
    first, second = Namespaces(rootfs), Namespaces(rootfs)
    first.up(2)
    for other in (second, Docker("own:1", "tools:1")):
        with pytest.raises(RigError, match="another rig"):
            other.up(2)
    first.down()
    second.up(2)
    second.down()


def test_what_a_crash_left_is_ended_and_removed(recorder, monkeypatch):
    asked = []
    monkeypatch.setattr(namespaces, "end_process", lambda pid: asked.append(pid) or pid == 42)
    monkeypatch.setattr(namespaces, "KILLED_S", 0.0)
    recorder.answers = {
        "netns list": "simrep-n1 (id: 0)\nother\nsimrep-mine\nsimrep-switch\n",
        "pids simrep-n1": "41\n42\n",
        "-n simrep-mine": '[{"ifname": "lo"}]',
        "-n simrep": '[{"ifname": "lo", "ifalias": "simrep-rig"}]',
    }
    remove_namespaces()
    assert asked == [41, 42]
    assert recorder.having("netns del") == ["ip netns del simrep-n1", "ip netns del simrep-switch"]


# ------------------------------------------------------------------ containers --


def test_containers_come_and_go_by_compose(recorder, tmp_path):
    engine = Docker("own:1", "tools:1")
    engine.up(2)
    assert engine.delay_method == "netem"
    down, up = recorder.having("-p simrep-rig")
    assert down.endswith("down --volumes --timeout 1")
    assert up.endswith("up --detach n1 n2 delay-n1 delay-n2")
    assert (tmp_path / "docker" / "n2").is_dir()
    engine.set_delays(egress(("n1", "n2"), "n2", 50))
    assert recorder.having("simrep-rig-delay-n2", "netem", "50000us")
    engine.down()
    assert recorder.lines[-2].endswith("down --volumes --timeout 1")
    assert "rm -rf /rig/*" in recorder.lines[-1]  # as root: the servers' data are another user's
    assert not (tmp_path / "docker").exists()
    count = len(recorder.lines)
    engine.down()
    assert len(recorder.lines) == count


def test_the_servers_image_is_that_of_the_tools_if_it_has_them(recorder):
    engine = Docker("own:1", "tools:1")
    engine.up(2)
    assert engine._tools_image == "own:1"
    engine.down()
    recorder.fail = {"command -v tc"}
    other = Docker("official:1", "tools:1")
    other.up(2)
    assert other._tools_image == "tools:1"
    other.down()


def test_containers_that_drop_what_comes_another_way_are_refused(recorder):
    recorder.answers = {"rp_filter": "1\n"}
    engine = Docker("own:1", "tools:1")
    with pytest.raises(RigError, match="rp_filter=2"):
        engine.up(2)
    engine.down()


def test_containers_have_a_relay_where_packets_leave_late(recorder, monkeypatch, tmp_path):
    recorder.fail = {"netem"}
    recorder.answers = {"/stat": STAT, "version": "2.0"}
    recorder.answers |= {"eth0/mtu": "1400\n"}
    folder = tmp_path / "docker" / "delay-n1"

    def written(relay):
        (folder / "relay.stat").write_text(STAT, encoding="utf-8")
        return COUNTERS

    monkeypatch.setattr(docker.ContainerRelay, "_await_counters", written)
    program = tmp_path / "program"
    program.touch()
    monkeypatch.setattr(docker, "compiled", lambda _name: program)
    engine = Docker("own:1", "own:1")
    engine.up(2)
    assert engine.delay_method == "relay"
    names = ("n1", "n2")
    engine.set_delays(egress(names, "n1", 50))
    assert (folder / "relay").exists()
    assert "link n1 n2 50000" in (folder / "relay.conf").read_text(encoding="utf-8")
    assert recorder.having("delay-n1", "ip rule add fwmark 0x51")
    assert recorder.having("delay-n1", "route replace 10.97.0.12/32 dev delay0 src 10.97.0.11")
    assert recorder.having("delay-n1", "ip link set delay0 mtu 1400")
    assert not recorder.having("delay-n2", "rule")
    found = engine.delay_statistics(reset=True)
    ticks = os.sysconf("SC_CLK_TCK")
    assert (found.packets, found.cpu_s) == (10, 50 / ticks)
    assert recorder.having("kill -USR2 7")
    assert engine.delay_statistics().cpu_s == 0
    engine.set_delays(DelayMatrix(names))
    assert recorder.having("delay-n1", "route del 10.97.0.12/32")
    assert engine.description()["base"] == "own:1"
    engine.down()


def test_without_compose_there_is_advice(recorder):
    recorder.fail = {"compose"}
    with pytest.raises(RigError, match="docker-compose-plugin"):
        docker.compose_program()
    recorder.fail = {"docker compose"}
    assert docker.compose_program() == ["docker-compose"]


def test_a_server_in_a_container_is_ended_by_its_number(recorder, monkeypatch, tmp_path):
    host = docker.ContainerHost("n1", "10.97.0.11", tmp_path)
    server = subprocess.Popen(["sleep", "60"])
    monkeypatch.setattr(docker, "KILLED_S", 0.05)
    monkeypatch.setattr(docker.subprocess, "Popen", lambda *_, **__: server)
    recorder.answers = {"/stat": STAT}
    host.launch(["mysqld"], tmp_path / "n1.log")
    (tmp_path / "launched.stat").write_text(STAT, encoding="utf-8")
    assert host.alive()
    assert host.cpu_seconds() == 50 / os.sysconf("SC_CLK_TCK")
    with pytest.raises(RigError, match="has a server already"):
        host.launch(["mysqld"], tmp_path / "n1.log")
    host.terminate(0.05)
    assert recorder.having("kill -TERM 7")
    assert recorder.having("kill -KILL 7")
    assert server.returncode is not None
    assert not host.alive()


def test_the_lock_is_somewhere_even_without_its_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(guard, "FOLDER", tmp_path / "none")
    monkeypatch.setattr(guard.tempfile, "gettempdir", lambda: str(tmp_path))
    held = guard.RigLock()
    held.take()
    held.take()
    assert (tmp_path / guard.NAME).exists()
    held.release()
    held.release()
    assert not held.held
