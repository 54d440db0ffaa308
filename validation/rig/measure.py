"""One run: tables emptied, gates, counters, the load, and everything once more afterwards."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from simrep.rig.cell import Run
from simrep.rig.engine import Cluster, Engine, Health
from simrep.rig.errors import RigError
from simrep.rig.experiment import Limits
from simrep.rig.gates import Gate, Observed, gates
from simrep.rig.journal import Entry
from simrep.rig.large import LargeUpdate, rates_and_stalls
from simrep.rig.loading import Loaded, empty_tables, fingerprints, run_load, written
from simrep.rig.quiet import busy_cpu_s, used_by_others, wait_for_quiet
from simrep.rig.rows import (
    Costs,
    cost_columns,
    counter_columns,
    counter_growth,
    factor_columns,
    large_columns,
    metric_columns,
)
from simrep.rig.transactions import Transaction

__all__ = ["Measured", "failed_entry", "measure"]

_SETTLE_S = 0.2
_PERIOD_S = 1.0
"""Keepalives and statistics messages come once a second: a run begins anywhere between them."""
_EQUAL_S = 10.0
_FOLDERS = re.compile(r"(?<![\w/])/(?:[\w.+-]+/)+")


@dataclass(frozen=True, slots=True)
class Measured:
    """One attempt at a run, with the records of its transactions."""

    entry: Entry
    records: tuple[Transaction, ...]


def measure(
    run: Run,
    engine: Engine,
    cluster: Cluster,
    *,
    limits: Limits,
    factors: Sequence[str],
    attempt: int,
    found_before: Sequence[Gate] = (),
) -> Measured:
    """Measure one run on a cluster whose delays and tables are there.

    Parameters
    ----------
    run : Run
    engine : Engine
    cluster : Cluster
    limits : Limits
    factors : sequence of str
        Options and keys of the load that become columns.
    attempt : int
        Which one, from 1.
    found_before : sequence of Gate
        What the layout did not pass.
    """
    load = run.cell.load
    empty_tables(load, cluster)
    _wait_for_equal_rows(run, cluster, limits.catch_up_s)
    written_before = written(load, cluster.nodes[0]) or 0
    seed = f"{run.id} {attempt}"
    choice = random.Random(seed)  # noqa: S311 - a phase, not a secret
    time.sleep(_SETTLE_S)
    busy_before = wait_for_quiet(limits.quiet, limits.wait_for_quiet_s)
    time.sleep(choice.random() * _PERIOD_S)

    began = datetime.now(UTC)
    before = cluster.health()
    counters = cluster.counters()
    engine.delay_statistics(reset=True)
    servers = _cpu_s(cluster)
    rig_s, machine_s, begin = _rig_cpu_s(), busy_cpu_s(), time.monotonic()
    large = LargeUpdate(load, cluster) if load.large is not None else None
    loaded = run_load(
        load, cluster, seed=choice.randrange(2**31), limit_s=limits.run_s, beside=large
    )
    machine_s, wall_s = busy_cpu_s() - machine_s, time.monotonic() - begin
    rig_s = _rig_cpu_s() - rig_s
    spent = {name: after - servers[name] for name, after in _cpu_s(cluster).items()}
    delays = engine.delay_statistics()
    begin = time.monotonic()
    caught_up = cluster.caught_up(limits.catch_up_s)
    contents = _contents(run, cluster)
    catch_up_s = time.monotonic() - begin
    after = cluster.health()
    growth = counter_growth(counters, cluster.counters())

    # Programs in a container belong to its engine: what they use cannot be told from other work.
    known = load.tool == "driver" or engine.name != "docker"
    client_s = loaded.cpu_s if known else nan
    own_s = sum(spent.values()) + delays.cpu_s + (rig_s if known else nan)
    others = used_by_others(machine_s, own_s, wall_s)
    shown = written(load, cluster.nodes[0])
    observed = Observed(
        before=before,
        after=after,
        contents=contents,
        caught_up=caught_up,
        written=None if shown is None else shown - written_before,
        loaded=loaded,
        delays=delays,
        used_by_others=others,
        in_time=loaded.tool_s <= limits.run_s,
        growth=growth,
    )
    failed = [gate for gate in (*found_before, *gates(observed, limits)) if not gate.passed]
    row = {
        **factor_columns(run, factors),
        "attempt": attempt,
        "passed": int(not failed),
        "failed_gates": "; ".join(gate.name for gate in failed),
        **metric_columns(loaded),
        **_large(run, large, loaded, growth),
        **counter_columns(run.cell.product, growth),
        **cost_columns(Costs(spent, client_s, delays.cpu_s, others, busy_before), delays),
        "catch_up_s": round(catch_up_s, 3),
        "began": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    details = {"errors": dict(loaded.errors), "facts": _facts(before), "wall_s": round(wall_s, 3)}
    entry = Entry(run.id, attempt, row, tuple(failed), growth, details)
    return Measured(entry, loaded.records)


def failed_entry(run: Run, factors: Sequence[str], attempt: int, problem: str) -> Entry:
    """What is written down of a run that came to nothing; files by their names alone."""
    problem = _FOLDERS.sub("", problem)
    row = {
        **factor_columns(run, factors),
        "attempt": attempt,
        "passed": 0,
        "failed_gates": "measured",
        "began": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return Entry(run.id, attempt, row, (Gate("measured", passed=False, detail=problem),))


def _wait_for_equal_rows(run: Run, cluster: Cluster, longest_s: float) -> None:
    cluster.caught_up(longest_s)
    contents = _contents(run, cluster)
    if len(set(contents.values())) > 1:
        raise RigError(f"rows differ before the run: {contents}")


def _contents(run: Run, cluster: Cluster) -> dict[str, str]:
    """Fingerprints of all nodes, once they are equal or some time has passed."""
    deadline = time.monotonic() + _EQUAL_S
    while True:
        found = fingerprints(run.cell.load, cluster)
        if len(set(found.values())) == 1 or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def _cpu_s(cluster: Cluster) -> dict[str, float]:
    return {node.name: node.cpu_seconds() for node in cluster.nodes}


def _rig_cpu_s() -> float:
    """CPU time of this process and of all programs that it has run and that have ended."""
    usages = (getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _facts(health: Health) -> Mapping[str, object]:
    return dict(health.facts)


def _large(
    run: Run,
    large: LargeUpdate | None,
    loaded: Loaded,
    growth: Mapping[str, Mapping[str, float]],
) -> dict[str, int | float | str]:
    table = run.cell.load.large
    if large is None or table is None:
        return {}
    stall = rates_and_stalls(loaded.records, large.begin_s, large.visible_s, table.rest_s)
    fragments = None
    if table.fragment_size:
        # Everything that the first node replicated, without the transactions of the load on it.
        sent = growth.get("n1", {}).get("wsrep_replicated", 0.0)
        fragments = sent - sum(r.node == "n1" and not r.error for r in loaded.records)
    return large_columns(large.begin_s, large.executed_s, large.visible_s, stall, fragments)
