"""The load that a run of sysbench was."""

from __future__ import annotations

from typing import Any

from simrep.intake.given import Findings
from simrep.intake.load import Load
from simrep.intake.read import Server
from simrep.intake.sysbench import Sysbench
from simrep.workload.presets import preset

__all__ = ["benchmark_load", "counters_cover"]

_INSERT, _UPDATE = "sysbench-oltp-insert", "sysbench-oltp-update-index"
_READ_WRITE = "sysbench-oltp-read-write"
_POINTS, _RANGES, _RANGE_ROWS = 10, 4, 100  # of oltp_read_only and oltp_read_write
_COVERED = 0.5


def benchmark_load(server: Server, bench: Sysbench, found: Findings) -> Load:
    """Threads, or a rate, and what a transaction does: by its numbers of statements.

    Parameters
    ----------
    server : Server
    bench : Sysbench
    found : Findings
    """
    one, note = _class(server, bench, found)
    path = "workload.class.0"
    for key in ("statements", "reads", "range_reads"):
        if key in one:
            found.read(f"{path}.{key}", one[key], bench.places[1:2], note)
    if one.get("statements", 1):
        why = "as in the preset of that script: sysbench does not print tables and row sizes"
        for key in ("row_bytes", "keys"):
            if key in one:
                found.default(f"{path}.{key}", one[key], why)
    table: dict[str, Any] = {"nodes": ["n1"]}
    if bench.target_tps is None:
        table["threads"] = found.read("workload.threads", bench.threads, bench.places[:1])
    else:
        table["rate_tps"] = found.read("workload.rate_tps", bench.target_tps, bench.places[:1])
        table["connections"] = found.read("workload.connections", bench.threads, bench.places[:1])
    return Load([one], table, None)


def counters_cover(server: Server, bench: Sysbench, load: Load) -> bool:
    """Whether two snapshots of the counters lie around the run, so that they are about it."""
    seconds = server.status.seconds
    if server.status.before is None or seconds is None or load.per_s is None:
        return False
    return load.per_s.value * seconds.value >= _COVERED * bench.transactions


def _class(server: Server, bench: Sysbench, found: Findings) -> tuple[dict[str, Any], str]:
    reads, writes, others = bench.reads, bench.writes, bench.others
    note = f"{reads} reads, {writes} writes and {others} others per transaction"
    if (reads, writes, others) == (0, 1, 0):
        name = _single(server, found)
        return _of(name), f"{note}: {name}"
    points = {"reads": 0, "range_reads": 0}
    if reads == _POINTS + _RANGES:
        points = {"reads": _POINTS, "range_reads": _RANGES, "range_rows": _RANGE_ROWS}
    elif reads:
        points = {"reads": reads, "range_reads": 0}
    if writes:
        own = {**_of(_READ_WRITE), "statements": writes, **points}
        note += f": as {_READ_WRITE}"
    else:
        own = {"name": "read-only", "statements": 0, **points, "autocommit": False}
    if not others:  # no BEGIN and COMMIT
        own.pop("autocommit")
    return own, note


def _single(server: Server, found: Findings) -> str:
    """A statement that writes: the counters know of which kind, sysbench does not say."""
    inserts = server.status.rate("com_insert")
    updates = server.status.rate("com_update")
    if inserts is not None and updates is not None and inserts.value != updates.value:
        name = _INSERT if inserts.value > updates.value else _UPDATE
        note = "one statement that writes; Com_insert and Com_update say which"
        return str(found.read("workload.class", name, inserts.places + updates.places, note))
    why = "one statement that writes: sysbench does not print of which kind (oltp_insert?)"
    return str(found.default("workload.class", _UPDATE, why))


def _of(name: str) -> dict[str, Any]:
    [one] = preset(name)["class"]
    return dict(one)
