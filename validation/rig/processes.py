"""Programs: run to their end, with what they said when they fail, or started, timed and ended."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import IO

from simrep.rig.errors import RigError

__all__ = ["cpu_seconds", "cpu_seconds_of_stat", "end", "run", "start", "succeeds", "used_cpu_s"]

TOLD_CHARACTERS = 1500
SHOWN_CHARACTERS = 300


def run(
    argv: Sequence[str],
    *,
    timeout_s: float = 60.0,
    environment: Mapping[str, str] | None = None,
    given: IO[bytes] | None = None,
) -> str:
    """What a program printed.

    Parameters
    ----------
    argv : sequence of str
    timeout_s : float
    environment : mapping, optional
        By default that of this process.
    given : file, optional
        What it reads; by default nothing.

    Raises
    ------
    RigError
        If it is missing, fails or takes too long; the message ends with what it printed.
    """
    shown = shlex.join(argv)
    if len(shown) > SHOWN_CHARACTERS:  # what matters comes last: before it stands where it runs
        shown = f"{shown[:60]} ... {shown[-SHOWN_CHARACTERS + 65 :]}"
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=environment,
            stdin=subprocess.DEVNULL if given is None else given,
            check=False,
        )
    except FileNotFoundError:
        raise RigError(f"there is no program {argv[0]!r} on this machine") from None
    except OSError as error:
        raise RigError(f"{argv[0]!r} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise RigError(f"`{shown}` did not end within {timeout_s:g} s") from None
    if done.returncode:
        told = (done.stdout + done.stderr).strip()[-TOLD_CHARACTERS:]
        raise RigError(f"`{shown}` failed with code {done.returncode}: {told}")
    return done.stdout


def succeeds(argv: Sequence[str], *, timeout_s: float = 60.0) -> bool:
    """Whether a program ends well."""
    try:
        run(argv, timeout_s=timeout_s)
    except RigError:
        return False
    return True


def start(
    argv: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A program that runs on in a session of its own; its output is appended to the log."""
    with log.open("ab") as output:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )


def end(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Ask a process to end, and kill it after the time-out."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def cpu_seconds(pid: int) -> float:
    """CPU time of a process to the nanosecond, threads that ended included."""
    return time.clock_gettime(~pid << 3 | 2)  # the clock that clock_getcpuclockid(3) gives


def cpu_seconds_of_stat(text: str) -> float:
    """User and system time in ``/proc/PID/stat``; ticks are of 10 ms."""
    fields = text.rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def used_cpu_s(who: int = RUSAGE_SELF) -> float:
    """CPU time of this process, or of programs that it has started and that have ended."""
    usage = getrusage(who)
    return usage.ru_utime + usage.ru_stime
