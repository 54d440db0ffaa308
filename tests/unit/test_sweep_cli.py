"""``simrep sweep`` in processes of its own: killed, interrupted, and on a Dask cluster."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simrep.cli import app

SCENARIO = """
[cluster]
model = "galera"
nodes = 3

[network]
rtt_ms = 1.0

[workload]
preset = "mysqlslap-insert"
queries = {queries}
threads = 4
nodes = ["n1"]
"""
OVER = ("--over", "network.rtt_ms=1,2,4", "--over", "workload.threads=1..8:x2")
PATIENCE_S = 60.0


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "cluster.toml").write_text(SCENARIO.format(queries=40))
    (tmp_path / "long.toml").write_text(SCENARIO.format(queries=2000))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMREP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def simrep(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["sweep", *arguments])


@contextmanager
def started(*command: str, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """A process with a group of its own, none of which is left behind.

    It hears of Ctrl-C, also where the tests run in the background of a shell.
    """
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    words = [sys.executable, "-X", "faulthandler", *command]
    process = subprocess.Popen(words, text=True, start_new_session=True, **how)
    signal.signal(signal.SIGINT, former)
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def outcome(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process printed; where it is, if it does not end."""
    try:
        return process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        pytest.fail(f"it does not end: {process.communicate(timeout=PATIENCE_S)}")


def until(true: Callable[[], Any]) -> None:
    """Wait, with an end that only a broken machine or program reaches."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < PATIENCE_S, "waited in vain"
        time.sleep(0.02)


def group_is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


# ------------------------------------------------------------------- output --


def test_points_are_printed_and_saved(folder):
    done = simrep("cluster.toml", *OVER, "--jobs", "1", "--out", "points.csv", "--plot", "p.png")
    assert done.exit_code == 0, done.output
    assert "12 points, seed 1" in done.stdout
    assert "12 points simulated, 0 known already" in done.stderr
    with (folder / "points.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert (rows[1]["network.rtt_ms"], rows[1]["workload.threads"]) == ("1", "2")
    assert (folder / "p.png").stat().st_size > 10_000
    again = simrep("cluster.toml", *OVER, "--jobs", "1", "--json")
    assert "0 points simulated, 12 known already" in again.stderr
    assert [p["labels"]["network.rtt_ms"] for p in json.loads(again.stdout)["points"][::4]] == [
        1, 2, 4,
    ]  # fmt: skip
    assert (
        "12 points simulated" in simrep("cluster.toml", *OVER, "--no-cache", "--jobs", "1").stderr
    )
    own = simrep(
        "cluster.toml", *OVER, "--cache", "mine", "--jobs", "1", "--heat", "--plot", "h.svg"
    )
    assert "12 points simulated" in own.stderr
    assert (folder / "h.svg").exists()
    assert len(list((folder / "mine").rglob("*.json"))) == 12


def test_models_can_be_compared(folder):
    over = ("--over", "cluster.model=galera,group_replication,semisync")
    done = simrep("cluster.toml", *over, "--replications", "2", "--jobs", "2")
    assert done.exit_code == 0, done.output
    assert "group_replication" in done.stdout
    assert "±" in done.stdout


def test_a_hypercube_needs_no_steps(folder):
    done = simrep(
        "cluster.toml", "--over", "network.rtt_ms=1..100:log", "--over", "workload.threads=1..8",
        "--samples", "5", "--jobs", "1", "--json", "--of", "latency_s.p95",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert (len(content["points"]), content["about"]) == (5, "latency_s.p95")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--over", "network.rtt=1,2"], "did you mean 'rtt_ms'"),
        (["--over", "network.rtt_ms"], "not of the form path=levels"),
        (["--over", "network.rtt_ms=1..9"], "range without steps"),
        (["--over", "network.rtt_ms=1,2", "--out", "a.xlsx"], "endings: .csv, .parquet"),
        (["--over", "network.rtt_ms=1,2", "--precision", "5%", "--replications", "3"], "leave out"),
        (["--over", "network.rtt_ms=1,2", "--precision", "5%", "--quick"], "leave out"),
        (["--over", "network.rtt_ms=1,2", "--most", "20"], "give --precision, too"),
        (["--over", "network.rtt_ms=1,2", "--heat"], "give --plot, too"),
        (["--over", "network.rtt_ms=1,2", "--no-cache", "--cache", "c"], "--no-cache"),
        (["--over", "network.rtt_ms=1,2", "--jobs", "2", "--scheduler", "x"], "this machine"),
        (["--over", "network.rtt_ms=1,2", "--of", "throughput"], "did you mean 'throughput_tps'"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(arguments, said, folder):
    before = set(folder.iterdir())
    done = simrep("cluster.toml", *arguments, *([] if "--jobs" in arguments else ["--jobs", "1"]))
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.stderr.split())
    assert set(folder.iterdir()) == before


# --------------------------------------------------------------- interrupts --


def points_in(folder: Path) -> set[Path]:
    return set((folder / "cache").rglob("*.json"))


@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on_where_it_was(folder):
    arguments = ("-m", "simrep", "sweep", "long.toml", *OVER)
    with started(*arguments, "--jobs", "2", stderr=subprocess.DEVNULL) as process:
        until(lambda: len(points_in(folder)) >= 3)
        process.kill()
        process.wait()
        # Its workers notice, and end; nobody else would end them.
        until(lambda: group_is_gone(process.pid))
    kept = {path: (path.read_text(), path.stat().st_mtime_ns) for path in points_in(folder)}
    assert 3 <= len(kept) < 12
    assert not list((folder / "cache").rglob("*.part"))

    rest = simrep("long.toml", *OVER, "--jobs", "1", "--out", "rest.csv")
    assert f"{12 - len(kept)} points simulated, {len(kept)} known already" in rest.stderr
    assert {path: (path.read_text(), path.stat().st_mtime_ns) for path in kept} == kept
    whole = simrep("long.toml", *OVER, "--jobs", "1", "--no-cache", "--out", "whole.csv")
    assert "12 points simulated" in whole.stderr
    assert (folder / "rest.csv").read_bytes() == (folder / "whole.csv").read_bytes()


@pytest.mark.slow
def test_an_interrupt_from_the_keyboard_prints_and_keeps_what_is_finished(folder):
    arguments = ("-m", "simrep", "sweep", "long.toml", *OVER, "--jobs", "2", "--json")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(*arguments, **pipes) as process:
        until(lambda: len(points_in(folder)) >= 2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        stdout, stderr = outcome(process)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    content = json.loads(stdout)
    assert not content["complete"]
    assert 2 <= len(content["points"]) < 12
    assert len(points_in(folder)) == len(content["points"])


# ---------------------------------------------------------------- schedulers --


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_told(folder):
    done = simrep("cluster.toml", *OVER, "--scheduler", "tcp://127.0.0.1:1")
    assert done.exit_code == 2
    assert "does not answer" in " ".join(done.stderr.split())


QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextmanager
def dask_scheduler(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str, tuple[str, ...]]]:
    """A scheduler, its address, and the words that start a worker."""
    file = folder / "scheduler.json"
    words = ("-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(file), "--port", "0",
             "--host", "127.0.0.1", "--no-dashboard")  # fmt: skip
    with started(*words, **QUIET) as process:
        until(file.exists)
        until(lambda: "address" in file.read_text())
        address = json.loads(file.read_text())["address"]
        worker = ("-m", "distributed.cli.dask_worker", address, "--nthreads", "1",
                  "--no-dashboard", "--host", "127.0.0.1", "--no-nanny")  # fmt: skip
        yield process, address, worker


@pytest.mark.long
def test_points_of_a_dask_worker_that_is_killed_run_again(folder):
    """The only worker is killed in the middle of a point, and another one comes."""
    words = ("-m", "simrep", "sweep", "long.toml", "--over", "network.rtt_ms=1,2,3", "--scheduler")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        dask_scheduler(folder) as (_, address, worker),
        started(*worker, **QUIET) as victim,
        started(*words, address, "--out", "there.csv", **pipes) as process,
    ):
        until(lambda: points_in(folder))
        victim.kill()
        with started(*worker, **QUIET):
            _, stderr = outcome(process)
    assert process.returncode == 0
    assert stderr.splitlines()[-1] == "3 points simulated, 0 known already"
    again = simrep("long.toml", "--over", "network.rtt_ms=1,2,3", "--jobs", "1", "--no-cache",
                   "--out", "here.csv")  # fmt: skip
    assert again.exit_code == 0
    assert (folder / "there.csv").read_bytes() == (folder / "here.csv").read_bytes()


@pytest.mark.long
def test_a_dask_scheduler_that_is_killed_is_told(folder):
    words = ("-m", "simrep", "sweep", "long.toml", "--over", "network.rtt_ms=1..9:+1",
             "--scheduler")  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        dask_scheduler(folder) as (scheduler, address, worker),
        started(*worker, **QUIET),
        started(*words, address, **pipes) as process,
    ):
        until(lambda: points_in(folder))
        scheduler.kill()
        stdout, stderr = outcome(process)
    assert (process.returncode, stdout) == (1, "")
    assert stderr.splitlines()[-1].startswith("Error: the scheduler tcp://127.0.0.1:")
    assert "Traceback" not in stderr
