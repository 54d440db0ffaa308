"""What a process costs, and how it is ended."""

from __future__ import annotations

import subprocess
import time

__all__ = ["cpu_seconds", "end"]


def cpu_seconds(pid: int) -> float:
    """CPU time of a process to the nanosecond, threads that ended included."""
    return time.clock_gettime(~pid << 3 | 2)  # the clock that clock_getcpuclockid(3) gives


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
