"""``sysbench``: command lines and output."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simrep.rig.errors import RigError
from simrep.rig.load import Load
from simrep.rig.statement import CONFLICTS, DATABASE

__all__ = ["SysbenchFigures", "sysbench_command", "sysbench_figures"]

_FIGURES = {
    "transactions": re.compile(r"transactions:\s+(\d+)"),
    "errors": re.compile(r"ignored errors:\s+(\d+)"),
    "seconds": re.compile(r"total time:\s+([\d.]+)s"),
    "mean": re.compile(r"avg:\s+([\d.]+)"),
    "p95": re.compile(r"95th percentile:\s+([\d.]+)"),
    "max": re.compile(r"max:\s+([\d.]+)"),
}
_LONGEST_S = 3600


@dataclass(frozen=True, slots=True)
class SysbenchFigures:
    """What sysbench prints at the end, in seconds; the percentile is that of a histogram."""

    committed: int
    ignored_errors: int
    seconds: float
    mean_s: float
    p95_s: float
    max_s: float


def sysbench_command(load: Load, socket: str, step: str, *, seed: int = 1) -> list[str]:
    """The command line of a step.

    Parameters
    ----------
    load : Load
    socket : str
        Of the server, where the program runs.
    step : str
        ``prepare`` or ``run``.
    seed : int
        Of sysbench's random numbers.
    """
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


def sysbench_figures(output: str) -> SysbenchFigures:
    """What a run of sysbench printed.

    Raises
    ------
    RigError
        If a figure is missing.
    """
    found: dict[str, float] = {}
    for name, pattern in _FIGURES.items():
        match = pattern.search(output)
        if match is None:
            raise RigError(f"sysbench printed no {name}: {output.strip()[-300:]}")
        found[name] = float(match[1])
    return SysbenchFigures(
        committed=int(found["transactions"]),
        ignored_errors=int(found["errors"]),
        seconds=found["seconds"],
        mean_s=found["mean"] / 1000,
        p95_s=found["p95"] / 1000,
        max_s=found["max"] / 1000,
    )
