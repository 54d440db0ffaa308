"""The rig ends and removes what carries its mark, and nothing else that has such a name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simrep.rig import docker, guard, namespaces
from simrep.rig.docker import ContainerHost, Docker
from simrep.rig.errors import RigError
from simrep.rig.mark import (
    ENVIRONMENT,
    LABEL,
    end_process,
    is_marked,
    marked_folder,
    recorded_pid,
    remove_folder,
)
from simrep.rig.namespaces import Namespaces, network_commands
from simrep.rig.rootfs import build
from tests.unit.test_rig_hosts import Recorder

FOREIGN = "is not the rig's"


@pytest.fixture
def recorder(monkeypatch, tmp_path):
    """Both engines, all of whose commands are recorded instead of run."""
    monkeypatch.setenv("SIMREP_RIG", str(tmp_path / "rig"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(guard, "FOLDER", tmp_path)
    found = Recorder()
    for module in (namespaces, docker):
        monkeypatch.setattr(module, "run", found.run)
    monkeypatch.setattr(docker, "succeeds", found.succeeds)
    monkeypatch.setattr("simrep.rig.engine.run", found.run)
    monkeypatch.setattr("simrep.rig.engine.succeeds", found.succeeds)
    return found


@pytest.fixture
def rootfs(tmp_path):
    place = tmp_path / "root"
    for name in ("usr/sbin", "etc"):
        (place / name).mkdir(parents=True)
    (place / "usr/sbin/mariadbd").touch()
    return place


# --------------------------------------------------------------------- folders --


def test_a_folder_of_the_rig_is_removed_with_all_that_is_in_it(tmp_path):
    place = marked_folder(tmp_path / "a" / "own")
    (place / "data").mkdir()
    assert marked_folder(place) == place
    remove_folder(place)
    remove_folder(place)
    assert not place.exists()


def test_what_else_has_its_name_stays(tmp_path):
    theirs, file, link = (tmp_path / name for name in ("theirs", "file", "link"))
    theirs.mkdir()
    (theirs / "thesis.tex").touch()
    file.touch()
    link.symlink_to(marked_folder(tmp_path / "own"))  # it would be the link that goes
    for place in (theirs, file, link):
        assert not is_marked(place)
        with pytest.raises(RigError, match=FOREIGN):
            remove_folder(place)
    with pytest.raises(RigError, match=FOREIGN):
        marked_folder(theirs)
    assert (theirs / "thesis.tex").exists()
    assert file.exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    remove_folder(empty)
    assert empty.exists()
    assert is_marked(marked_folder(empty))


def test_a_root_file_system_is_not_made_over_a_folder_of_somebody_else(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.tex").touch()
    with pytest.raises(RigError, match=FOREIGN):
        build("mysql", tmp_path / "theirs", tell=pytest.fail)
    assert (tmp_path / "theirs" / "thesis.tex").exists()


@pytest.mark.parametrize("kind", ["netns", "docker"])
def test_an_engine_leaves_folders_of_somebody_else_alone(kind, recorder, rootfs, tmp_path):
    place = tmp_path / "rig" / ("netns/hosts" if kind == "netns" else "docker")
    place.mkdir(parents=True)
    (place / "thesis.tex").touch()
    engine = Namespaces(rootfs) if kind == "netns" else Docker("own:1", "own:1")
    for _ in range(2):  # the lock is free again
        with pytest.raises(RigError, match=FOREIGN):
            engine.up(2)
    assert (place / "thesis.tex").exists()
    assert not recorder.having("rm -rf")
    assert not recorder.having("up --detach")


# ------------------------------------------------------------------- processes --


def sleeper(environment):
    program = [sys.executable, "-c", "print(1, flush=True); import time; time.sleep(600)"]
    process = subprocess.Popen(program, env=environment, stdout=subprocess.PIPE)
    process.stdout.read(1)
    return process


def test_only_a_process_with_the_mark_is_killed():
    with (
        sleeper({**os.environ, **ENVIRONMENT}) as own,
        sleeper({**os.environ, "SIMREP_RIG_MARK": "another"}) as other,
    ):
        try:
            assert not end_process(other.pid)
            assert end_process(own.pid)
            assert own.wait() == -9
            assert not end_process(own.pid)  # and it is gone now
            assert other.poll() is None
        finally:
            for process in (own, other):
                process.kill()


def test_a_process_id_that_was_written_down_is_that_of_the_same_process_or_none(tmp_path):
    def read(path):
        return Path(path).read_text(encoding="utf-8")

    record = tmp_path / "launched.stat"
    now = read("/proc/self/stat")
    record.write_text(now, encoding="utf-8")
    assert recorded_pid(record, read) == os.getpid()
    number, _, rest = now.partition(" ")
    fields = rest.rpartition(") ")[2].split()
    fields[19] = str(int(fields[19]) - 1)  # when it began: another one had this number then
    for before in (f"{number} (a (b) c) {' '.join(fields)}", f"{number}\n", "", "x (y) z"):
        record.write_text(before, encoding="utf-8")
        with pytest.raises(RigError, match="has ended"):
            recorded_pid(record, lambda _: now)


def test_a_server_whose_number_is_another_process_is_not_killed(recorder, monkeypatch, tmp_path):
    host = ContainerHost("n1", "10.97.0.11", tmp_path)
    server = subprocess.Popen(["sleep", "60"])
    monkeypatch.setattr(docker, "KILLED_S", 0.05)
    monkeypatch.setattr(docker.subprocess, "Popen", lambda *_, **__: server)
    stat = "7 (mysqld) S " + " ".join(map(str, range(1, 40)))
    host.launch(["mysqld"], tmp_path / "n1.log")
    (tmp_path / "launched.stat").write_text(stat, encoding="utf-8")
    recorder.answers = {"/proc/7/stat": stat.replace(" 19 ", " 1900 ")}
    host.terminate(0.05)
    assert not recorder.having("kill")
    assert server.returncode is not None  # the client of the engine was this process's own


# ------------------------------------------------------ namespaces, containers --


def test_every_namespace_gets_the_mark_at_once():
    lines = [" ".join(argv) for argv in network_commands({"n1": "10.77.0.11"})]
    for name in ("simrep-switch", "simrep-n1"):
        made = lines.index(f"ip netns add {name}")
        assert lines[made + 1] == f"ip -n {name} link set lo alias simrep-rig"


def test_a_namespace_of_somebody_else_stays_and_is_told(recorder, rootfs):
    recorder.answers = {"netns list": "simrep-n1\n", "-n simrep-n1": '[{"ifname": "lo"}]'}
    engine = Namespaces(rootfs)
    with pytest.raises(RigError, match=r"simrep-n1 is not the rig's.*ip netns del simrep-n1"):
        engine.up(2)
    engine.down()
    assert not recorder.having("netns del")
    assert not recorder.having("netns add")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("docker ps --all", "simrep-rig-n1"),
        ("name=^simrep-rig-", "simrep-rig-n1"),
        ("docker network ls", "simrep-rig_hosts"),
    ],
)
def test_containers_and_networks_of_somebody_else_stay(asked, name, recorder):
    recorder.answers = {asked: f"{name} \n"}
    with pytest.raises(RigError, match=f"'{name}', which is not the rig's"):
        Docker("own:1", "own:1").up(2)
    assert not recorder.having("down")
    recorder.answers = {asked: f"{name} 1\n"}
    engine = Docker("own:1", "own:1")
    engine.up(2)
    engine.down()
    assert recorder.having("down --volumes")


def test_everything_in_the_compose_file_carries_the_label():
    text = docker.COMPOSE_FILE.read_text(encoding="utf-8")
    blocks = ("x-server: &server", "x-delay: &delay", "networks:\n  hosts:")
    for block in blocks:
        assert f'labels: {{{LABEL}: "1"}}' in text[text.index(block) :].partition("\n\n")[0]
