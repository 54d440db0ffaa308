"""How well delays are kept: datagrams at an even rate from one host to another."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from simrep.rig.delays import DelayMatrix, Link
from simrep.rig.engine import RigEngine, RigHost
from simrep.rig.errors import RigError
from simrep.rig.processes import run
from simrep.rig.relays import compiled

__all__ = ["Accuracy", "measure_accuracy", "read_probe"]

DELAYS_MS = (0.0, 0.05, 1.0, 10.0, 50.0, 100.0)
PORT = 9999
FIGURE = re.compile(r"(\w+)=([\d.-]+)")
LISTENING_S = 0.3


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What became of a requested delay.

    Attributes
    ----------
    requested_ms : float
        One way; 0 is the network itself, without relay or netem.
    per_second, sent, received : int
        Datagrams.
    mean_ms, least_ms, p50_ms, p99_ms, most_ms : float
        Measured one-way delay.
    relay_cpu : float
        Share of one core that the relay used; 0 under netem.
    """

    requested_ms: float
    per_second: int
    sent: int
    received: int
    mean_ms: float
    least_ms: float
    p50_ms: float
    p99_ms: float
    most_ms: float
    relay_cpu: float

    @property
    def error_ms(self) -> float:
        """Mean delay beyond what was requested."""
        return self.mean_ms - self.requested_ms

    def row(self) -> dict[str, float]:
        """All figures, for a manifest."""
        return {key: round(value, 5) for key, value in asdict(self).items()} | {
            "error_ms": round(self.error_ms, 5)
        }


def measure_accuracy(
    engine: RigEngine,
    delays_ms: Iterable[float] = DELAYS_MS,
    *,
    per_second: int = 10_000,
    duration_s: float = 2.0,
) -> list[Accuracy]:
    """Delay the first host's packets to the second by each figure in turn; none is left delayed.

    Raises
    ------
    RigError
        If the engine has fewer than two hosts that are up, or nothing arrives.
    """
    if len(engine.hosts) < 2:
        raise RigError("the accuracy of delays shows between two hosts")
    sender, receiver = engine.hosts[:2]
    names = tuple(host.name for host in engine.hosts)
    for host in (sender, receiver):
        shutil.copy(compiled("probe"), host.outside / "probe")
    found = []
    try:
        for delay_ms in delays_ms:
            link = Link(delay_ms)
            links = {} if link.plain else {(sender.name, receiver.name): link}
            engine.set_delays(DelayMatrix(names, links))
            found.append(_measure(engine, sender, receiver, delay_ms, per_second, duration_s))
    finally:
        engine.set_delays(DelayMatrix(names))
        for host in (sender, receiver):
            (host.outside / "probe").unlink(missing_ok=True)
    return found


def _measure(
    engine: RigEngine,
    sender: RigHost,
    receiver: RigHost,
    delay_ms: float,
    per_second: int,
    duration_s: float,
) -> Accuracy:
    count = round(per_second * duration_s)
    program = f"{receiver.inside}/probe"
    listen = receiver.command([program, "receive", str(PORT), str(count), "3"])
    listener = subprocess.Popen(
        listen, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        time.sleep(LISTENING_S)
        engine.delay_statistics(reset=True)
        send = [program, "send", receiver.address, str(PORT), str(count), str(per_second)]
        run(sender.command(send), timeout_s=duration_s + 30)
        printed, told = listener.communicate(timeout=30)
    finally:
        if listener.poll() is None:
            listener.kill()
            listener.wait()
    if listener.returncode:
        raise RigError(f"no datagram came through: {told.strip()}")
    cpu_s = engine.delay_statistics().cpu_s
    figures = read_probe(printed)
    received, relay_cpu = int(figures["received"]), cpu_s / duration_s
    names = ("mean", "least", "p50", "p99", "most")
    mean, least, p50, p99, most = (figures[name] / 1e3 for name in names)
    return Accuracy(delay_ms, per_second, count, received, mean, least, p50, p99, most, relay_cpu)


def read_probe(text: str) -> dict[str, float]:
    """The probe's figures by name, in microseconds."""
    return {name: float(figure) for name, figure in FIGURE.findall(text)}
