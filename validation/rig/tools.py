"""What submits a load: slap, sysbench, or the rig's own driver."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from math import nan
from resource import RUSAGE_CHILDREN
from typing import TYPE_CHECKING

from simrep.rig.driver import drive
from simrep.rig.errors import RigError
from simrep.rig.load import Load, statement
from simrep.rig.processes import used_cpu_s
from simrep.rig.transactions import CONFLICTS, DATABASE, Loaded

if TYPE_CHECKING:
    from simrep.rig.clients import LoadClock
    from simrep.rig.cluster import RigCluster

__all__ = ["run_load", "slap_command", "slap_seconds", "sysbench_command", "sysbench_figures"]

_SLAP_SECONDS = re.compile(r"Average number of seconds to run all queries: ([\d.]+)")
_FIGURES = {
    "transactions": re.compile(r"transactions:\s+(\d+)"),
    "errors": re.compile(r"ignored errors:\s+(\d+)"),
    "seconds": re.compile(r"total time:\s+([\d.]+)s"),
    "mean": re.compile(r"avg:\s+([\d.]+)"),
    "p95": re.compile(r"95th percentile:\s+([\d.]+)"),
    "max": re.compile(r"max:\s+([\d.]+)"),
}
_LONGEST_S = 3600


def run_load(
    load: Load,
    cluster: RigCluster,
    *,
    seed: int,
    limit_s: float,
    beside: Callable[[LoadClock], None] | None = None,
    during: AbstractContextManager[object] | None = None,
) -> Loaded:
    """Run a load to its end.

    Parameters
    ----------
    load : Load
    cluster : RigCluster
        With the tables of the load.
    seed : int
        Root of the random choices of the clients.
    limit_s : float
        Longest duration.
    beside : callable, optional
        What happens meanwhile; only beside the driver.
    during : context manager, optional
        Entered when the load begins, left when it ends. With slap and sysbench the start of the
        program and connecting belong to it, with the driver they do not.
    """
    if load.tool == "driver":
        sockets = {node.name: node.socket for node in cluster.nodes}
        return drive(load, sockets, seed=seed, limit_s=limit_s, beside=beside, during=during)
    [name] = load.nodes
    node = next(node for node in cluster.nodes if node.name == name)
    if load.tool == "slap":
        command = slap_command(load, node.slap_program, node.socket_inside)
    else:
        command = sysbench_command(load, node.socket_inside, "run", seed=seed)
    before_s = used_cpu_s(RUSAGE_CHILDREN)
    with during or nullcontext():
        output = node.run(command, timeout_s=limit_s)
    cpu_s = used_cpu_s(RUSAGE_CHILDREN) - before_s
    if load.tool == "slap":
        assert load.each is not None
        return Loaded(load.each * load.threads, 0, slap_seconds(output), cpu_s)
    return replace(sysbench_figures(output), cpu_s=cpu_s)


def slap_command(load: Load, program: str, socket: str) -> list[str]:
    """The command line of a load.

    The programs give every thread a whole number of queries: they divide and drop the rest.

    The two of them name the option for no encryption differently.
    """
    assert load.each is not None
    return [
        program,
        "--no-defaults",
        "--user=root",
        f"--socket={socket}",
        "--skip-ssl" if program.startswith("mariadb") else "--ssl-mode=DISABLED",
        f"--create-schema={DATABASE}",
        "--no-drop",
        "--delimiter=;",
        f"--concurrency={load.threads}",
        f"--number-of-queries={load.each * load.threads}",
        f"--query={statement(load).text}",
    ]


def slap_seconds(output: str) -> float:
    """How long all queries took, connecting included; RigError if the program did not say so."""
    found = _SLAP_SECONDS.search(output)
    if found is None:
        raise RigError(f"slap printed no time: {output.strip()[-300:]}")
    return float(found[1])


def sysbench_command(load: Load, socket: str, step: str, *, seed: int = 1) -> list[str]:
    """The command line of a step, ``prepare`` or ``run``."""
    assert load.script is not None
    each = load.each
    return [
        "sysbench",
        load.script,
        "--db-driver=mysql",
        f"--mysql-socket={socket}",
        "--mysql-user=root",
        f"--mysql-db={DATABASE}",
        f"--tables={load.tables}",
        f"--table-size={load.table_rows}",
        # Galera counts keys in steps of its size: with keys of its own choice half of the updates
        # of sysbench would meet no row.
        "--auto-inc=off",
        f"--threads={1 if step == 'prepare' else load.threads}",
        f"--events={0 if each is None else each * load.threads}",
        f"--time={_LONGEST_S if load.duration_s is None else round(load.duration_s)}",
        f"--rate={round(load.rate_tps)}",
        f"--rand-seed={seed}",
        *("--rand-type=special", "--rand-spec-pct=1", "--rand-spec-res=75"),
        f"--mysql-ignore-errors={','.join(map(str, CONFLICTS))}",
        "--percentile=95",
        step,
    ]


def sysbench_figures(output: str) -> Loaded:
    """What sysbench printed, a percentile of a histogram; RigError if a figure is missing."""
    found: dict[str, float] = {}
    for name, pattern in _FIGURES.items():
        match = pattern.search(output)
        if match is None:
            raise RigError(f"sysbench printed no {name}: {output.strip()[-300:]}")
        found[name] = float(match[1])
    return Loaded(
        committed=int(found["transactions"]),
        failed=0,
        tool_s=found["seconds"],
        cpu_s=nan,
        retried=int(found["errors"]),
        mean_s=found["mean"] / 1000,
        p95_s=found["p95"] / 1000,
        max_s=found["max"] / 1000,
    )
