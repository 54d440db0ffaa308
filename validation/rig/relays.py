"""The relay that delays packets: compiled, told what to delay, and asked for its counters."""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simrep.rig.delays import DelayMatrix
from simrep.rig.errors import RigError
from simrep.rig.files import rig_folder, write_whole

__all__ = ["TUNNEL", "DelayStatistics", "Relay", "compiled", "link_lines", "merged"]

TUNNEL = "delay0"  # the device that relay/tunnel.h names
PATIENCE_S = 5.0
SOURCES = Path(__file__).parent / "relay"
FILES = {
    "relay": ("relay.c", "nodes.c", "tunnel.c", "queue.c"),
    "probe": ("probe.c",),
    "slow_sync": ("slow_sync.c",),
    "queue_test": ("queue_test.c", "queue.c"),
}
LIBRARIES = frozenset({"slow_sync"})
FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True, slots=True)
class DelayStatistics:
    """What the relay did since it was last asked; all zero under netem, which keeps no count.

    Attributes
    ----------
    packets, bytes, dropped : int
    late_mean_ms, late_max_ms : float
        How much later than due packets left.
    cpu_s : float
        CPU time of the relay.
    """

    packets: int = 0
    bytes: int = 0
    dropped: int = 0
    late_mean_ms: float = 0.0
    late_max_ms: float = 0.0
    cpu_s: float = 0.0


class Relay(ABC):
    """A relay process; network namespaces share one, each container has its own.

    Parameters
    ----------
    folder : Path
        For its configuration, counters and log.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counters = folder / "relay.csv"
        self._log = folder / "relay.log"
        self._cpu_before_s = 0.0

    @abstractmethod
    def start(self) -> None:
        """Start without any delay."""

    @abstractmethod
    def stop(self) -> None:
        """End it, if it runs."""

    def set_delays(self, delays: DelayMatrix) -> None:
        """Other delays from now on; packets on their way keep theirs."""
        self._configure(delays)
        self._signal(signal.SIGHUP)
        self.counters()  # of signals that wait, the relay obeys this first: the delays hold

    def counters(self, *, reset: bool = False) -> tuple[str, float]:
        """The file with the counters of its links, and CPU time, since the last reset."""
        self._counters.unlink(missing_ok=True)
        self._signal(signal.SIGUSR1)
        written = self._await_counters()
        cpu_s = self._cpu_s()
        used_s = cpu_s - self._cpu_before_s
        if reset:
            self._signal(signal.SIGUSR2)
            self._cpu_before_s = cpu_s
        return written, used_s

    def _configure(self, delays: DelayMatrix) -> None:
        write_whole(self._folder / "relay.conf", "\n".join([*self._lines(delays), ""]))

    def _await_counters(self) -> str:
        patience = time.monotonic() + PATIENCE_S
        while time.monotonic() < patience:
            if self._counters.exists():
                return self._counters.read_text(encoding="utf-8")
            self._check()
            time.sleep(0.003)
        raise RigError(self._silence())

    @abstractmethod
    def _lines(self, delays: DelayMatrix) -> Sequence[str]:
        """The relay's configuration."""

    @abstractmethod
    def _signal(self, number: signal.Signals) -> None: ...

    @abstractmethod
    def _cpu_s(self) -> float:
        """CPU time so far."""

    @abstractmethod
    def _check(self) -> object:
        """Raise if it is known to have ended."""

    @abstractmethod
    def _silence(self) -> str:
        """What is said of a relay that writes no counters."""

    def _told(self) -> str:
        return self._log.read_text(encoding="utf-8").strip()[-500:] if self._log.exists() else ""


def link_lines(delays: DelayMatrix, sender: str | None = None) -> list[str]:
    """Link lines of the relay's configuration, of all nodes or of one."""
    return [
        f"link {a} {b} {link.delay_ms * 1000:g} {link.jitter_ms * 1000:g} "
        f"{link.loss * 100:g} {link.rate_mbit:g}"
        for a in delays.nodes
        if sender in {None, a}
        for b, link in delays.leaving(a)
    ]


def merged(tables: Iterable[str], cpu_s: float) -> DelayStatistics:
    """All links of the files that relays have written.

    What a relay dropped found its queue full; what the system refused to send, the relay counts by
    receiver.
    """
    links = [link for text in tables for link in csv.DictReader(io.StringIO(text))]
    used = [link for link in links if int(link["packets"]) or int(link["dropped"])]
    refused: dict[str, int] = {}
    for link in links:
        refused[link["to"]] = max(refused.get(link["to"], 0), int(link["write_errors"]))
    packets = sum(int(link["packets"]) for link in used)
    late_us = sum(int(link["packets"]) * float(link["late_mean_us"]) for link in used)
    return DelayStatistics(
        packets=packets,
        bytes=sum(int(link["bytes"]) for link in used),
        dropped=sum(int(link["dropped"]) for link in used) + sum(refused.values()),
        late_mean_ms=late_us / packets / 1e3 if packets else 0.0,
        late_max_ms=max((float(link["late_max_us"]) for link in used), default=0.0) / 1e3,
        cpu_s=cpu_s,
    )


def compiled(program: str, *, static: bool = True) -> Path:
    """The executable of one of the rig's C programs, kept until their sources change.

    Static ones run in any container. RigError if there is no C compiler, or it refuses.
    """
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for source in sorted(SOURCES.glob("*.[ch]")):
        digest.update(source.read_bytes())
    kind = "static" if static else "dynamic"
    executable = rig_folder() / "programs" / f"{program}-{kind}-{digest.hexdigest()[:12]}"
    if executable.exists():
        return executable
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise RigError("no C compiler for the relay: install gcc and the C library's headers")
    executable.parent.mkdir(parents=True, exist_ok=True)
    unfinished = executable.with_suffix(".unfinished")
    sources = [str(SOURCES / name) for name in FILES[program]]
    linking = ["-static"] if static else []
    if program in LIBRARIES:
        linking = ["-shared", "-fPIC"]
    argv = [compiler, *FLAGS, *linking, "-o", str(unfinished), *sources]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RigError(f"cannot compile {program}: {done.stderr.strip()[-800:]}")
    unfinished.replace(executable)
    return executable
