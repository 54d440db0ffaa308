"""Ctrl-C and the limit of time, sent to real processes: how they end, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ScenarioError
from tests.unit.test_cli import DATASET
from tests.unit.test_sweep_cli import SCENARIO, group_is_gone, outcome, points_in, started, until

ENDLESS = 10**8
"""Transactions: such a point ends when its process is killed."""

AT_AN_IMPORT = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {name!r}:
            os.killpg(0, signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from simrep.__main__ import main
main()
"""

IN_THE_MIDDLE = """
import os, signal, time
from simrep.__main__ import main
from simrep.runs import run
original = run.simulate

def simulate(*arguments):
    {what}
    return original(*arguments)

run.simulate = simulate
main()
"""

AT_THE_FIRST_EVENT = """
import os, signal
from simrep.__main__ import main
from simrep.kernel.clock import Clock

run = Clock.run

def interrupted(clock, until=None):
    os.killpg(0, signal.SIGINT)
    run(clock, until)

Clock.run = interrupted
main()
"""

LOST = """
    try:
        os.killpg(0, signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        pass
    while True:
        time.sleep(1)
"""

TURNED = """
    try:
        os.killpg(0, signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt as end:
        raise ValueError("something else") from end
"""

IN_A_FINALISER = """
    class Interrupting:
        def __del__(self):
            os.killpg(0, signal.SIGINT)
            time.sleep(60)
    Interrupting()
    time.sleep(1)
"""

FINALISING = """
    class Waiting:
        def __del__(self):
            time.sleep(60)
    Waiting()
"""

WHEN_A_PROCESS_BEGINS = """
import os, signal
from subprocess import Popen
launch = Popen._execute_child

def launched(popen, *given):
    launch(popen, *given)
    os.killpg(0, signal.SIGINT)

Popen._execute_child = launched
from simrep.__main__ import main
main()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cluster.toml").write_text(SCENARIO.format(queries=40))
    (tmp_path / "endless.toml").write_text(SCENARIO.format(queries=ENDLESS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMREP_CACHE", str(tmp_path / "cache"))
    return tmp_path


def ended(*words: str, script: str = "") -> tuple[int, str, str]:
    """How a command ends that is interrupted, as all of its processes are that are left then."""
    program = ["-c", script] if script else ["-m", "simrep"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(*program, *words, **pipes) as process:
        stdout, stderr = outcome(process)
        until(lambda: group_is_gone(process.pid))
    return process.returncode, stdout, stderr


# --------------------------------------------------------------- interrupts --


@pytest.mark.parametrize(
    "name",
    ["typer", "simrep.cli.output", "pydantic_core", "numpy", "simpy", "simrep.models.galera"],
)
def test_an_interrupt_while_it_starts_ends_it_with_a_word(name: str, folder: Path) -> None:
    words = ("run", "endless.toml")
    found = ended(*words, script=AT_AN_IMPORT.format(name=name))
    assert found == (130, "", "Interrupted.\n")


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "cluster.toml", "--set-b", "network.rtt_ms=2"),
        ("plan", "cluster.toml", "rtt", "--objective", "mean<=9ms"),
        ("sensitivity", "cluster.toml"),
        ("explain", "cluster.toml"),
        ("reproduce", "."),
        ("calibrate", "."),
    ],
)
def test_an_interrupt_is_no_failure_of_any_command(words: tuple[str, ...], folder: Path) -> None:
    (folder / "dataset.toml").write_text(DATASET)
    (folder / "data.csv").write_text("threads,rtt_ms,seconds\n1,1,0.1\n2,1,0.05\n")
    code, stdout, stderr = ended(*words, script=AT_THE_FIRST_EVENT)
    assert code == 130
    assert "Interrupted" in stdout + stderr
    assert "Error" not in stderr


@pytest.mark.parametrize("what", [LOST, TURNED])
def test_an_interrupt_that_a_library_loses_ends_it_all_the_same(what: str, folder: Path) -> None:
    script = IN_THE_MIDDLE.format(what=what.strip())
    assert ended("run", "cluster.toml", script=script) == (130, "", "Interrupted.\n")


def test_an_interrupt_that_comes_in_a_finaliser_comes_again(folder: Path) -> None:
    code, stdout, stderr = ended(
        "run", "cluster.toml", script=IN_THE_MIDDLE.format(what=IN_A_FINALISER.strip())
    )
    assert code == 130
    assert stdout == ""
    assert "Interrupted" in stderr
    assert "Exception ignored" not in stderr


def test_processes_that_begin_hear_of_no_interrupt(folder: Path) -> None:
    (folder / "script.py").write_text(WHEN_A_PROCESS_BEGINS)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    over = ("--over", "network.rtt_ms=1,2", "--jobs", "2", "--json")
    with started("script.py", "sweep", "endless.toml", *over, **pipes) as process:
        stdout, stderr = outcome(process)
        until(lambda: group_is_gone(process.pid))
    assert process.returncode == 130
    assert json.loads(stdout)["points"] == []
    assert stderr.splitlines()[-1] == "0 points simulated, 0 known already"
    assert "Traceback" not in stderr


def test_an_interrupt_waits_for_no_point_and_keeps_those_that_are_finished(folder: Path) -> None:
    over = ("--over", f"workload.queries=40,{ENDLESS}", "--jobs", "2", "--json")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started("-m", "simrep", "sweep", "cluster.toml", *over, **pipes) as process:
        until(lambda: points_in(folder))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        stdout, stderr = outcome(process)
        until(lambda: group_is_gone(process.pid))
    assert process.returncode == 130
    assert [p["labels"]["workload.queries"] for p in json.loads(stdout)["points"]] == [40]
    assert stderr.splitlines()[-1] == "1 point simulated, 0 known already"
    assert "Traceback" not in stderr
    assert len(points_in(folder)) == 1


# --------------------------------------------------------------- time limit --


def limited(*words: str) -> Any:
    return CliRunner().invoke(app, [*words, "--time-limit", "0.3s"])


def test_a_run_that_takes_too_long_has_no_result(folder: Path) -> None:
    done = limited("run", "endless.toml", "--plot", "figure.png", "--log", "log.csv")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: stopped after 0.3s (--time-limit), and there is no result\n"
    assert {path.name for path in folder.iterdir()} == {"cluster.toml", "endless.toml"}


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "endless.toml", "--set-b", "network.rtt_ms=2"),
        ("explain", "endless.toml"),
        ("plan", "endless.toml", "rtt", "--objective", "mean<=9ms"),
        ("sensitivity", "endless.toml"),
        ("run", "endless.toml", "--jobs", "2", "--replications", "2"),
    ],
)
def test_every_command_that_simulates_has_the_limit(words: tuple[str, ...], folder: Path) -> None:
    done = limited(*words)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "--time-limit" in done.stderr


def test_a_limit_that_comes_in_a_finaliser_comes_again(folder: Path) -> None:
    words = ("run", "endless.toml", "--time-limit", "0.3s")
    found = ended(*words, script=IN_THE_MIDDLE.format(what=FINALISING.strip()))
    assert found == (1, "", "Error: stopped after 0.3s (--time-limit), and there is no result\n")


def test_a_sweep_that_takes_too_long_keeps_its_points_and_goes_on(folder: Path) -> None:
    words = ("sweep", "cluster.toml", "--jobs", "1", "--over")
    done = CliRunner().invoke(
        app, [*words, f"workload.queries=40,50,{ENDLESS}", "--time-limit", "1.5s"]
    )
    assert (done.exit_code, done.stdout) == (1, "")
    assert "2 of 3 points are finished and kept" in done.stderr
    again = CliRunner().invoke(app, [*words, "workload.queries=40,50,60"])
    assert "1 point simulated, 2 known already" in again.stderr


def test_the_limit_is_no_part_of_the_result(folder: Path) -> None:
    plain, within = (
        CliRunner().invoke(app, ["run", "cluster.toml", "--json", *more])
        for more in ((), ("--time-limit", "1h"))
    )
    assert within.exit_code == 0
    assert within.stdout == plain.stdout
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


@pytest.mark.parametrize("text", ["0", "-1s", "soon", "inf", "400d", ""])
def test_a_limit_that_is_none_is_refused(text: str, folder: Path) -> None:
    done = CliRunner().invoke(app, ["run", "cluster.toml", "--time-limit", text])
    assert done.exit_code == 2
    assert "--time-limit" in done.stderr


# -------------------------------------------------------------- from Python --


@pytest.mark.parametrize("jobs", [0, -1, True, 1.5, "2"])
def test_a_number_of_jobs_that_is_none_is_refused(jobs: Any, folder: Path) -> None:
    with pytest.raises(ScenarioError, match="jobs: must be a whole number of at least 1"):
        simrep.sweep("cluster.toml", {"network.rtt_ms": [1]}, jobs=jobs)


def test_jobs_and_an_executor_are_two_answers(folder: Path) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(ScenarioError, match="jobs: is for this"):
        simrep.sweep("cluster.toml", {"network.rtt_ms": [1]}, jobs=2, executor=pool)
