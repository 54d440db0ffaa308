"""What else runs on the machine: CPU time of all, what a host withheld, and waiting for quiet."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from math import isnan
from pathlib import Path

__all__ = ["busy_cpu_s", "stolen_cpu_s", "used_by_others", "wait_for_quiet"]

_STAT = Path("/proc/stat")


def busy_cpu_s(stat: str | None = None) -> float:
    """CPU seconds that all processors have worked since the machine started.

    Idle time, waiting for the disk, and what a guest's processor was held up are not work.
    """
    user, nice, system, _idle, _iowait, irq, softirq, *_ = _ticks(stat)
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def stolen_cpu_s(stat: str | None = None) -> float:
    """CPU seconds that a virtual machine's processors had work for and did not get."""
    return _ticks(stat)[7] / os.sysconf("SC_CLK_TCK")


def _ticks(stat: str | None) -> list[int]:
    text = _STAT.read_text(encoding="ascii") if stat is None else stat
    return [int(ticks) for ticks in text.splitlines()[0].split()[1:]]


def wait_for_quiet(
    share: float,
    longest_s: float,
    *,
    busy: Callable[[], float] = busy_cpu_s,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Wait until the processors are busy for at most a share of a second.

    Parameters
    ----------
    share : float
        Of all processors.
    longest_s : float
        The wait ends then in any case.
    busy, sleep : callable
        Other clocks than the machine's own.

    Returns
    -------
    float
        The share in the last second.
    """
    cpus = os.cpu_count() or 1
    waited_s = 0.0
    while True:
        before = busy()
        sleep(1.0)
        waited_s += 1.0
        last = max(0.0, (busy() - before) / cpus)
        if last <= share or waited_s >= longest_s:
            return last


def used_by_others(all_cpu_s: float, own_cpu_s: float, wall_s: float) -> float:
    """Share of the processors that was neither idle nor used by what is known.

    Parameters
    ----------
    all_cpu_s : float
        Of the machine.
    own_cpu_s : float
        Of servers, clients and relay; not a number makes the share one, too.
    wall_s : float
        Over which both were taken; clock ticks make short runs imprecise.
    """
    share = (all_cpu_s - own_cpu_s) / ((os.cpu_count() or 1) * wall_s)
    return share if isnan(share) else max(0.0, share)
