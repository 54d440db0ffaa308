"""All cores by default: the same results, processes that are kept, and when one works alone."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
import warnings
from multiprocessing import get_context
from pathlib import Path

import pytest

import simrep
from simrep.errors import ScenarioError, ShortRunWarning, SimrepError
from simrep.runs import crew
from simrep.runs.crew import Crew, cores
from simrep.runs.executor import as_finished, collected, in_groups, in_order
from simrep.runs.progress import watched

SHORT_S = 0.01
PIECES = 8
LONGEST = 1000  # times that is tried until another process has begun
SCENARIO = {
    "cluster": {"model": "galera"},
    "workload": {"threads": 4, "queries": 40},
    "network": {"rtt_ms": 5},
}
SCRIPT = """
import os, warnings
from beside import process
from simrep.runs import crew
from simrep.runs.executor import in_order

def own():
    return process()

print("begun")
crew._WORTH_S = crew._WARM_S = crew._LONG_S = 0.0
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    while set(in_order(process, [()] * 8, crew.Crew(2))) == {os.getpid()}:
        pass
    assert not caught
    assert set(in_order(own, [()] * 8, crew.Crew(2))) == {os.getpid()}
[told] = caught
print(told.category.__name__, told.message)
"""
BESIDE = """
import os, time

def process():
    time.sleep(0.01)
    return os.getpid()
"""


@pytest.fixture(autouse=True)
def all_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_WORTH_S", "_WARM_S", "_LONG_S"):
        monkeypatch.setattr(crew, name, 0.0)
    monkeypatch.setattr(crew, "_LOOK_S", 0.001)


def process(seconds: float = SHORT_S) -> int:
    time.sleep(seconds)
    return os.getpid()


def square(value: int, here: int) -> int:
    time.sleep(SHORT_S)
    if value < 0:
        raise ValueError(value)
    if os.getpid() != here:
        warnings.warn("elsewhere", ShortRunWarning, stacklevel=1)
    return value * value


def end_elsewhere(here: int) -> None:
    time.sleep(SHORT_S)
    if os.getpid() != here:
        os.kill(os.getpid(), signal.SIGKILL)


def elsewhere(jobs: int = 2) -> set[int]:
    """The processes that help, as soon as there are any."""
    for _ in range(LONGEST):
        if found := set(in_order(process, [()] * PIECES, Crew(jobs))) - {os.getpid()}:
            break
    return found


def test_results_are_those_of_one_process_with_its_order_warnings_and_errors() -> None:
    here = os.getpid()
    elsewhere()
    groups = [[(n, here), (n + 1, here)] for n in range(PIECES)]
    with pytest.warns(ShortRunWarning, match="elsewhere"):
        found = list(in_groups(square, groups, Crew(2)))
    assert found == [[n**2, (n + 1) ** 2] for n in range(PIECES)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortRunWarning)
        keys = {n: (n, here) for n in range(PIECES)}
        assert dict(as_finished(square, keys, Crew(2))) == {n: n * n for n in keys}
        with pytest.raises(ValueError, match="-1"):
            collected(in_order(square, [(5 - n, here) for n in range(PIECES)], Crew(2)))
    own, shared = (simrep.run(SCENARIO, replications=4, jobs=jobs) for jobs in (1, 2))
    assert shared.digest() == own.digest()


def test_processes_are_kept_until_code_is_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_code.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("own_code")
    elsewhere()
    kept = {worker._process.pid for worker in crew._workers if worker._process is not None}
    assert elsewhere() <= kept
    importlib.reload(module)
    assert not elsewhere() & kept


def test_a_loop_that_is_left_does_not_wait_for_work_under_way() -> None:
    (helper,) = elsewhere()
    tasks = {"here": (0.1,), "elsewhere": (3600.0,), "late": (3600.0,)}
    results = as_finished(time.sleep, tasks, Crew(2))
    assert next(results) == ("here", None)
    results.close()  # type: ignore[attr-defined]
    assert helper not in elsewhere()


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(SimrepError, match="ended before its work was done"):
        list(in_order(end_elsewhere, [(os.getpid(),)] * LONGEST, Crew(2)))


def test_short_work_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert set(in_order(process, [()] * 10, Crew(8))) == {os.getpid()}


def test_a_script_without_a_guard_is_read_once_and_code_of_its_own_is_run_here(
    tmp_path: Path,
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "beside.py").write_text(BESIDE)
    done = subprocess.run(
        [sys.executable, "script.py"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    begun, told = done.stdout.splitlines()
    assert begun == "begun"
    assert told.startswith("OneProcessWarning one process works: a model or function of the work")


def nested() -> tuple[int, int, list[str]]:
    """In a process of somebody's pool: the default, what is asked for, and what is warned of."""
    del os.environ["SIMREP_JOBS"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        own = set(in_order(process, [()] * 5))
        more = {os.getpid(), *elsewhere()}
    return len(own), len(more), [str(told.message) for told in caught]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_of_a_pool_works_alone_and_says_so_unless_more_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crew, "cores", lambda: 4)
    with get_context("fork").Pool(1) as pool:  # its processes are daemons
        own, more, said = pool.apply(nested)
    assert (own, more) == (1, 2)
    [told] = said
    assert "it is one of a pool itself" in told


def test_how_many_there_are_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Crew().jobs == 1  # of all tests: SIMREP_JOBS
    monkeypatch.setenv("SIMREP_JOBS", "3")
    assert (Crew().jobs, Crew(2).jobs) == (3, 2)
    monkeypatch.delenv("SIMREP_JOBS")
    assert Crew().jobs == cores() >= 1
    for wrong in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("SIMREP_JOBS", wrong)
        with pytest.raises(ScenarioError, match="SIMREP_JOBS: must be a whole number"):
            simrep.run(SCENARIO, replications=2)


def test_what_others_do_counts_in_the_estimate() -> None:
    with watched(quiet=True) as work:
        work.expect(20, 1, 0)
        work.others = lambda: (3, 2)
        work.piece(lambda: 0.5)
        assert work.part == pytest.approx(0.5 + 3 + 2 * 0.5)
