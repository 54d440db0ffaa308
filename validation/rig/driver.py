"""The rig's own load driver: clients in several processes, and a record of every transaction."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from simrep.rig.clients import Client, ClientPlan, LoadClock
from simrep.rig.errors import RigError
from simrep.rig.load import Load, statement
from simrep.rig.transactions import Loaded, read_transactions, summarise

__all__ = ["Plan", "conduct", "drive", "plans"]

_LEAD_NS = 200_000_000
"""From the word to begin until the begin: time for it to reach all processes."""
_WORDS = ".log"
_GRACE_S = 60.0
"""For the last answers after the end of the load."""


def plans(
    load: Load, sockets: Mapping[str, Path], folder: Path, *, seed: int, limit_s: float
) -> list[ClientPlan]:
    """What each process of clients does.

    Its servers listen at sockets, records go to a folder; the seed is the root of all random
    choices of the clients, the limit the longest duration of the load.
    """
    clients = [
        Client(number, node, str(sockets[node]))
        for number in range(load.threads)
        for node in [load.nodes[number % len(load.nodes)]]
    ]
    # An open loop has one line of arrivals before all of its connections.
    count = 1 if load.rate_tps else min(load.processes, load.threads)
    found = []
    for process in range(count):
        own = tuple(clients[process::count])
        rates = dict.fromkeys(load.nodes, load.rate_tps / len(load.nodes))
        found.append(
            ClientPlan(
                clients=own,
                statement=statement(load),
                each=load.each,
                rates_tps=rates if load.rate_tps else {},
                until_s=min(load.duration_s or limit_s, limit_s),
                retry=load.retry,
                seed=seed * 1000 + process,
                out=str(folder / f"clients-{process}.csv"),
            )
        )
    return found


def drive(
    load: Load,
    sockets: Mapping[str, Path],
    *,
    seed: int,
    limit_s: float,
    beside: Callable[[LoadClock], None] | None = None,
    during: AbstractContextManager[object] | None = None,
) -> Loaded:
    """Run a load against servers that listen at sockets, by node; too long a one is cut off.

    Parameters
    ----------
    load, sockets, seed, limit_s
        As for :func:`plans`.
    beside : callable, optional
        What happens meanwhile, with the clock of the load; when it returns, the load ends.
    during : context manager, optional
        Entered when all clients are connected, left when they are through.

    Raises
    ------
    RigError
        When clients cannot connect, or do not end.
    """
    with TemporaryDirectory(prefix="simrep-load-") as name:
        chosen = plans(load, sockets, Path(name), seed=seed, limit_s=limit_s)
        results = conduct(chosen, limit_s=limit_s, beside=beside, during=during)
        records = [record for plan in chosen for record in read_transactions(Path(plan.out))]
    return summarise(records, round(sum(result["cpu_s"] for result in results), 4))


def conduct(
    chosen: Sequence[Plan],
    *,
    limit_s: float,
    beside: Callable[[LoadClock], None] | None = None,
    during: AbstractContextManager[object] | None = None,
) -> list[dict[str, float]]:
    """Let processes of clients do what their plans say; what each reports at its end.

    The other arguments are those of :func:`drive`.
    """
    with _processes(chosen) as running:
        with during or nullcontext():
            begin_ns = time.monotonic_ns() + _LEAD_NS
            for process in running:
                _tell(process, f"go {begin_ns}")
            clock = LoadClock(begin_ns)
            if beside is not None:
                clock.wait_until(0.0)
                beside(clock)
                end_s = clock.now()
                for process in running:
                    _tell(process, f"stop {end_s:.6f}")
            deadline_s = begin_ns / 1e9 + limit_s + _GRACE_S
            results = [_result(process, deadline_s) for process in running]
        for process in running:
            _written(process)
    return results


Process = subprocess.Popen[str]


class Plan(Protocol):
    """What the clients of one process do; ``program`` is the module that runs them."""

    @property
    def program(self) -> str:
        """The module."""

    @property
    def out(self) -> str:
        """File for the records."""

    def to_json(self) -> str:
        """One line."""


@contextmanager
def _processes(chosen: Sequence[Plan]) -> Iterator[list[Process]]:
    """Processes whose clients are connected; none is left behind."""
    running = [_started(plan) for plan in chosen]
    try:
        for process in running:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "ready":
                raise RigError(f"clients cannot connect: {_last_words(process)}")
        yield running
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()


def _started(plan: Plan) -> Process:
    described = Path(f"{plan.out}.json")
    described.write_text(plan.to_json(), encoding="utf-8")
    # A file and no pipe: nobody reads what it says before it ends.
    with described.with_suffix(_WORDS).open("wb") as words:
        return subprocess.Popen(
            [sys.executable, "-m", plan.program, str(described)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
        )


def _tell(process: Process, text: str) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has ended: what it says last tells why
        process.stdin.write(text + "\n")
        process.stdin.flush()


def _result(process: Process, deadline_s: float) -> dict[str, float]:
    """What a process of clients reports when they are through."""
    assert process.stdout is not None
    # Its standard input stays open meanwhile: the end of that is a word to stop.
    left_s = max(1.0, deadline_s - time.monotonic())
    if not select.select([process.stdout], [], [], left_s)[0]:
        raise RigError("clients do not end: a server does not answer")
    line = process.stdout.readline()
    if not line:
        raise RigError(f"clients failed: {_last_words(process)}")
    result: dict[str, float] = json.loads(line)
    return result


def _written(process: Process) -> None:
    """Wait until a process has written its records."""
    try:
        process.wait(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        raise RigError("clients do not end after their last transaction") from None
    if process.returncode:
        raise RigError(f"clients failed: {_last_words(process)}")


def _last_words(process: Process) -> str:
    process.kill()
    process.wait()
    assert isinstance(process.args, list)
    words = Path(process.args[-1]).with_suffix(_WORDS).read_text(encoding="utf-8")
    return (words.strip().splitlines() or ["they end without a word"])[-1]
