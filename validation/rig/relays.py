"""The relay from the outside: its configuration, its counters, and the process in a namespace."""

from __future__ import annotations

import csv
import io
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simrep.rig.delays import DelayMatrix
from simrep.rig.engine import DelayStatistics
from simrep.rig.errors import RigError
from simrep.rig.processes import cpu_seconds, end
from simrep.rig.programs import compiled

__all__ = ["TUNNEL", "LinkCounters", "Relay", "link_lines", "merged", "read_counters"]

TUNNEL = "delay0"  # the device that relay/tunnel.h names
PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class LinkCounters:
    """What the relay did to the packets from one node to another.

    Packets that are dropped found its queue full; the system refused to send those of ``refused``,
    which it counts by receiver.
    """

    sender: str
    receiver: str
    packets: int
    bytes: int
    dropped: int
    refused: int
    late_mean_us: float
    late_max_us: float


def link_lines(delays: DelayMatrix, sender: str | None = None) -> list[str]:
    """Link lines of the relay's configuration, of all nodes or of one."""
    return [
        f"link {a} {b} {link.delay_ms * 1000:g} {link.jitter_ms * 1000:g} "
        f"{link.loss * 100:g} {link.rate_mbit:g}"
        for a in delays.nodes
        if sender in {None, a}
        for b, link in delays.leaving(a)
    ]


def read_counters(text: str) -> list[LinkCounters]:
    """Counters by link, from the file that the relay writes."""
    return [
        LinkCounters(
            sender=row["from"],
            receiver=row["to"],
            packets=int(row["packets"]),
            bytes=int(row["bytes"]),
            dropped=int(row["dropped"]),
            refused=int(row["write_errors"]),
            late_mean_us=float(row["late_mean_us"]),
            late_max_us=float(row["late_max_us"]),
        )
        for row in csv.DictReader(io.StringIO(text))
    ]


def merged(counters: Iterable[LinkCounters], cpu_s: float) -> DelayStatistics:
    """All links together."""
    every = list(counters)
    used = [link for link in every if link.packets or link.dropped]
    refused: dict[str, int] = {}
    for link in every:
        refused[link.receiver] = max(refused.get(link.receiver, 0), link.refused)
    packets = sum(link.packets for link in used)
    late_us = sum(link.packets * link.late_mean_us for link in used)
    return DelayStatistics(
        packets=packets,
        bytes=sum(link.bytes for link in used),
        dropped=sum(link.dropped for link in used) + sum(refused.values()),
        late_mean_ms=late_us / packets / 1e3 if packets else 0.0,
        late_max_ms=max((link.late_max_us for link in used), default=0.0) / 1e3,
        cpu_s=cpu_s,
    )


class Relay:
    """One relay for all nodes, which it reaches by their network namespaces.

    Parameters
    ----------
    folder : Path
        For its configuration, counters and log.
    home : str
        Network namespace that the process itself lives in.
    nodes : mapping of name to (address, path of the network namespace)
    """

    def __init__(self, folder: Path, home: str, nodes: Mapping[str, tuple[str, Path]]) -> None:
        self._configuration = folder / "relay.conf"
        self._counters = folder / "relay.csv"
        self._log = folder / "relay.log"
        self._home = home
        self._nodes = [f"node {name} {ip} {path}" for name, (ip, path) in nodes.items()]
        self._process: subprocess.Popen[bytes] | None = None
        self._cpu_before_s = 0.0

    def start(self) -> None:
        """Start without any delay."""
        self._write([])
        self._counters.unlink(missing_ok=True)
        argv = ["nsenter", f"--net={self._home}", str(compiled("relay"))]
        argv += [str(self._configuration), str(self._counters)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._await_counters()

    def set_delays(self, delays: DelayMatrix) -> None:
        """Other delays from now on; packets on their way keep theirs."""
        self._write(link_lines(delays))
        self._signal(signal.SIGHUP)
        self.statistics()  # of signals that wait, the relay obeys this first: the delays hold

    def statistics(self, *, reset: bool = False) -> DelayStatistics:
        """Counters since they were reset."""
        self._counters.unlink(missing_ok=True)
        self._signal(signal.SIGUSR1)
        text = self._await_counters()
        cpu_s = self.cpu_seconds()
        found = merged(read_counters(text), cpu_s - self._cpu_before_s)
        if reset:
            self._signal(signal.SIGUSR2)
            self._cpu_before_s = cpu_s
        return found

    def cpu_seconds(self) -> float:
        """CPU time of the relay so far."""
        process = self._running()
        return cpu_seconds(process.pid)

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None:
            end(self._process, PATIENCE_S)
            self._process = None

    def _write(self, links: list[str]) -> None:
        unfinished = self._configuration.with_suffix(".unfinished")
        unfinished.write_text("\n".join([*self._nodes, *links, ""]), encoding="utf-8")
        unfinished.replace(self._configuration)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            told = self._log.read_text(encoding="utf-8") if self._log.exists() else ""
            raise RigError(f"the relay is not running: {told.strip()[-500:]}")
        return self._process

    def _signal(self, number: signal.Signals) -> None:
        self._running().send_signal(number)

    def _await_counters(self) -> str:
        patience = time.monotonic() + PATIENCE_S
        while time.monotonic() < patience:
            self._running()
            if self._counters.exists():
                return self._counters.read_text(encoding="utf-8")
            time.sleep(0.002)
        raise RigError("the relay wrote no counters")
