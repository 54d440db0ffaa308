"""The machine of a measurement: what it is, and what its disk takes for an fsync."""

from __future__ import annotations

import os
import platform
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any

from simrep.rig.transactions import percentile

__all__ = ["FsyncCost", "fsync_cost", "machine"]

_BLOCK = b"\0" * 512
_SYSTEM_FILES = {
    "clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "tcp_congestion_control": "/proc/sys/net/ipv4/tcp_congestion_control",
    "tcp_allowed_congestion_control": "/proc/sys/net/ipv4/tcp_allowed_congestion_control",
    "sched_autogroup": "/proc/sys/kernel/sched_autogroup_enabled",
    "cpu_governor": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
}


@dataclass(frozen=True, slots=True)
class FsyncCost:
    """Of a write of 512 bytes at the end of a file and an fsync, in milliseconds."""

    count: int
    mean_ms: float
    median_ms: float
    p99_ms: float


def machine(data: Path) -> dict[str, Any]:
    """Kernel, processors, memory, settings that matter, and the disk below ``data``."""
    cpu = _read("/proc/cpuinfo")
    memory = _read("/proc/meminfo")
    return {
        "kernel": platform.release(),
        "system": _value(_read("/etc/os-release"), r'^PRETTY_NAME="?([^"\n]*)'),
        "architecture": platform.machine(),
        "cpu": _value(cpu, r"^model name\s*: (.*)$"),
        "cpus": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "cpu_mhz": _value(cpu, r"^cpu MHz\s*: (.*)$"),
        "hypervisor": "hypervisor" in _value(cpu, r"^flags\s*: (.*)$").split(),
        "memory_gb": round(int(_value(memory, r"^MemTotal:\s+(\d+)") or 0) / 1024**2, 1),
        "python": platform.python_version(),
        **{name: _read(path).strip() for name, path in _SYSTEM_FILES.items()},
        "data_file_system": _file_system(data),
        "fsync": asdict(fsync_cost(data)),
    }


def fsync_cost(folder: Path, count: int = 200) -> FsyncCost:
    """What an fsync costs on the file system of a folder."""
    times_ms = []
    with TemporaryDirectory(dir=folder, prefix=".fsync-") as place:
        file = os.open(Path(place) / "data", os.O_WRONLY | os.O_CREAT)
        try:
            for _ in range(count):
                begin = time.perf_counter()
                os.write(file, _BLOCK)
                os.fsync(file)
                times_ms.append((time.perf_counter() - begin) * 1e3)
        finally:
            os.close(file)
    times_ms.sort()
    return FsyncCost(
        count=count,
        mean_ms=round(mean(times_ms), 4),
        median_ms=round(median(times_ms), 4),
        p99_ms=round(percentile(times_ms, 0.99), 4),
    )


def _file_system(folder: Path) -> str:
    """Type of the file system that holds a folder: the mount with the longest path above it."""
    place = str(folder.resolve())
    best = ("", "")
    for line in _read("/proc/mounts").splitlines():
        _, mounted, kind, *_ = line.split()
        inside = mounted == "/" or f"{place}/".startswith(f"{mounted}/")
        if inside and len(mounted) >= len(best[0]):
            best = (mounted, kind)
    return best[1]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _value(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else ""
