"""Engines of the rig: command lines, the compose file, the choice, programs that fail."""

import os
import re
import subprocess
import sys
import tarfile
from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from simrep.rig import equipment, processes
from simrep.rig.docker import (
    COMPOSE_FILE,
    MOST_HOSTS,
    SUBNET,
    ContainerHost,
    ContainerRelay,
    Docker,
    in_container,
    routing_commands,
)
from simrep.rig.errors import RigError
from simrep.rig.files import rig_folder
from simrep.rig.namespaces import NamespaceHost, Namespaces, network_commands
from simrep.rig.processes import cpu_seconds_of_stat, run, succeeds
from simrep.rig.rootfs import RECIPES, build, chroot_command, default_rootfs, installed_versions
from tests.rig_hosts import egress


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMREP_RIG", str(tmp_path))
    return tmp_path


def test_the_folder_is_given_or_in_the_cache(monkeypatch, tmp_path):
    assert rig_folder() == tmp_path
    monkeypatch.delenv("SIMREP_RIG")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert rig_folder() == tmp_path / "cache" / "simrep" / "rig"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert rig_folder().parts[-3:] == (".cache", "simrep", "rig")


def test_programs_that_fail_say_why():
    assert run([sys.executable, "-c", "print('fine')"]) == "fine\n"
    with pytest.raises(RigError, match="failed with code 3: because"):
        run([sys.executable, "-c", "import sys; print('because'); sys.exit(3)"])
    with pytest.raises(RigError, match="no program 'no-such-program'"):
        run(["no-such-program"])
    with pytest.raises(RigError, match=r"did not end within 0\.05 s"):
        run([sys.executable, "-c", "import time; time.sleep(9)"], timeout_s=0.05)
    assert not succeeds(["false"])


def test_a_process_that_will_not_end_is_killed():
    code = "import signal,time; signal.signal(15, 1); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as stubborn:
        stubborn.stdout.read(1)
        assert processes.cpu_seconds(stubborn.pid) > 0
        processes.end(stubborn, 0.05)
        assert stubborn.returncode == -9
        processes.end(stubborn, 0.05)


# ------------------------------------------------------------------ namespaces --


def test_every_host_has_a_namespace_and_a_port_of_the_bridge():
    lines = [" ".join(argv) for argv in network_commands({"n1": "10.77.0.11", "n2": "10.77.0.12"})]
    assert lines[0] == "ip netns add simrep-switch"
    assert "ip netns add simrep-n2" in lines
    assert "ip -n simrep-n2 addr add 10.77.0.12/24 dev eth0" in lines
    assert "ip -n simrep-switch link set n2 master bridge up" in lines
    entered = [line for line in lines if "nsenter --net=/run/netns/simrep-n1" in line]
    assert [line.split()[-1] for line in entered] == [
        f"net.ipv4.conf.{device}.rp_filter=0" for device in ("all", "default", "eth0")
    ]


def test_programs_run_in_the_namespace_and_the_root_file_system(tmp_path):
    data, scratch, names = (tmp_path / part for part in ("data", "tmp", "names"))
    rootfs = tmp_path / "root fs"
    host = NamespaceHost("n1", "10.0.0.1", rootfs, data, scratch, names)
    argv = host.command(["mariadbd", "--version"])
    assert argv[:3] == ["nsenter", "--net=/run/netns/simrep-n1", "unshare"]
    assert argv[-2:] == ["mariadbd", "--version"]
    script = argv[argv.index("-c") + 1]
    place = f"'{tmp_path}/root fs'"
    assert f"mount --bind {data} {place}/data" in script
    assert f"mount --bind {scratch} {place}/tmp" in script
    assert f"mount --bind {names} {place}/etc/hosts" in script
    assert script.endswith(f'exec chroot {place} "$@"')
    assert not host.alive()
    host.terminate()
    with pytest.raises(RigError, match="n1 is not running"):
        host.cpu_seconds()


def test_mounts_are_private_to_what_runs(tmp_path):
    assert chroot_command(tmp_path, ["true"])[:4] == [
        "unshare",
        "--mount",
        "--propagation",
        "private",
    ]


def test_without_a_root_file_system_there_is_advice(monkeypatch, tmp_path):
    engine = Namespaces(tmp_path / "none")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(RigError, match="need root"):
        engine.up(3)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(RigError, match="simrep rig base"):
        engine.up(3)
    engine.down()
    assert engine.delay_statistics().packets == 0


def test_versions_of_servers_are_read_from_the_package_database(tmp_path):
    status = tmp_path / "var/lib/dpkg/status"
    assert installed_versions(tmp_path) == {}
    status.parent.mkdir(parents=True)
    blocks = [
        "Package: galera-4\nVersion: 26.4.27",
        "Package: bash\nVersion: 5",
        "Package: mysql-x",
    ]
    status.write_text("\n\n".join(blocks), encoding="utf-8")
    assert installed_versions(tmp_path) == {"galera-4": "26.4.27"}


def test_recipes_install_what_products_need():
    assert {"galera-4", "rsync", "sysbench"} <= set(RECIPES["mariadb"].installed)
    assert "mysql-server" in RECIPES["mysql"].unpacked  # has the plugins
    with pytest.raises(RigError, match="no recipe for 'oracle'"):
        build("oracle")


def test_a_root_file_system_that_is_done_is_not_made_again(tmp_path):
    place = default_rootfs("mariadb")
    place.mkdir(parents=True)
    (place / "simrep-rig-done").touch()
    assert build("mariadb", tell=pytest.fail) == place


def test_a_root_file_system_that_fails_is_removed(monkeypatch, tmp_path):
    def fail(argv, **_):
        (tmp_path / "new" / "usr").mkdir(parents=True)
        raise RigError("no mirror")

    monkeypatch.setattr("simrep.rig.rootfs.run", fail)
    told = []
    with pytest.raises(RigError, match="no mirror"):
        build("mysql", tmp_path / "new", tell=told.append)
    assert not (tmp_path / "new").exists()
    assert "mysql" in told[0]


# ------------------------------------------------------------------ containers --


def test_the_compose_file_agrees_with_the_engine():
    text = COMPOSE_FILE.read_text(encoding="utf-8")
    for number in range(1, MOST_HOSTS + 1):
        host = ContainerHost(f"n{number}", f"{SUBNET}.{10 + number}", COMPOSE_FILE)
        assert f"container_name: {host.container}\n" in text
        assert f"container_name: {host.tools}\n" in text
        assert f"ipv4_address: {host.address}}}" in text
        assert f'"${{RIG_FOLDER}}/{host.name}:/data"' in text
        assert f'"${{RIG_FOLDER}}/delay-{host.name}:/rig"' in text
        assert f'network_mode: "service:{host.name}"' in text
    assert f"subnet: {SUBNET}.0/24" in text
    assert set(re.findall(r"\$\{(\w+)\}", text)) == {"RIG_IMAGE", "RIG_TOOLS_IMAGE", "RIG_FOLDER"}


def test_the_compose_file_has_no_more_hosts():
    with pytest.raises(RigError, match="has 5 hosts, not 6"):
        Docker("image", "tools").up(6)


def test_programs_run_in_containers_as_root(tmp_path):
    host = ContainerHost("n2", "10.97.0.12", tmp_path)
    assert host.command(["id"]) == ["docker", "exec", "--user", "root", "simrep-rig-n2", "id"]
    assert in_container("c", ["x"])[-2:] == ["c", "x"]
    with pytest.raises(RigError, match="n2 is not running"):
        host.cpu_seconds()
    host.terminate()


def test_cpu_time_is_that_of_all_threads():
    text = "42 (a (strange) name) S " + " ".join(str(number) for number in range(1, 50))
    ticks = os.sysconf("SC_CLK_TCK")
    assert cpu_seconds_of_stat(text) == (11 + 12) / ticks


def test_a_relay_in_a_container_delays_its_own_host(tmp_path):
    hosts = [ContainerHost(f"n{i}", f"10.97.0.1{i}", tmp_path) for i in (1, 2)]
    delays = egress(("n1", "n2"), "n2", 50)
    assert ContainerRelay(hosts[1], hosts, tmp_path)._lines(delays) == [
        "peer n1 10.97.0.11",
        "self n2 10.97.0.12",
        "link n2 n1 50000 0 0 0",
    ]
    assert len(ContainerRelay(hosts[0], hosts, tmp_path)._lines(delays)) == 2
    assert routing_commands("10.97.0.0/24", "eth0")[1][3] == "10.97.0.0/24"


# ---------------------------------------------------------------------- choice --


def test_a_docker_engine_is_taken_where_one_answers(monkeypatch):
    monkeypatch.setattr(equipment, "engine_answers", lambda: True)
    choice = equipment.choose("mysql")
    assert choice.engine.name == "docker"
    assert choice.reason == "a Docker engine answers"


def test_namespaces_are_taken_by_root_else(monkeypatch, tmp_path):
    monkeypatch.setattr(equipment, "engine_answers", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert equipment.choose("mysql").engine.name == "netns"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(RigError, match="use sudo"):
        equipment.choose("mysql")
    assert equipment.choose("mysql", base=str(tmp_path)).reason == "the base is a folder"


def test_an_engine_may_be_told(monkeypatch):
    monkeypatch.setattr(equipment, "engine_answers", pytest.fail)
    choice = equipment.choose("percona", wanted="docker", base="own:1", delay_method="relay")
    assert (choice.engine.name, choice.engine.delay_method) == ("docker", "relay")
    assert choice.reason == "as told"
    with pytest.raises(RigError, match="is a folder"):
        equipment.choose("mysql", wanted="docker", base="/")
    with pytest.raises(RigError, match="is no folder"):
        equipment.choose("mysql", wanted="netns", base="own:1")
    with pytest.raises(RigError, match="percona needs Docker"):
        equipment.choose("percona", wanted="netns")
    with pytest.raises(RigError, match="no server 'oracle'"):
        equipment.choose("oracle")


def test_abilities_name_the_package_that_is_missing(monkeypatch):
    monkeypatch.setattr(equipment, "engine_answers", lambda: False)
    monkeypatch.setattr(equipment, "kernel_has_netem", lambda: False)
    monkeypatch.setattr("shutil.which", lambda _program: None)
    found = {ability.name: ability for ability in equipment.abilities()}
    assert not found["ip"].present
    assert found["ip"].note == "package iproute2"
    assert "simrep rig base mysql" in found["root file system with mysql"].note
    assert not found["Docker engine"].present


def test_a_root_file_system_becomes_an_image(monkeypatch, folder):
    ran = []

    def run(argv, *, given=None, **_):
        with tarfile.open(fileobj=given, mode="r|") if given else nullcontext(()) as packed:
            ran.append((argv, [entry.name for entry in packed]))
        return "sha256:5e1f\n"

    monkeypatch.setattr("simrep.rig.rootfs.run", run)
    place = default_rootfs("mysql")
    place.mkdir(parents=True)
    (place / "simrep-rig-done").touch()
    done = CliRunner().invoke(app, ["rig", "base", "mysql", "--image", "own:1"])
    assert done.output == "own:1\n"
    assert ran == [
        (["docker", "import", "-"], [".", "./simrep-rig-done"]),
        (["docker", "image", "tag", "sha256:5e1f", "own:1"], []),
    ]
