"""One run: tables emptied, gates, counters, the load, and everything once more afterwards."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import nan

from simrep.rig.cell import Run
from simrep.rig.cluster import RigCluster
from simrep.rig.engine import RigEngine
from simrep.rig.errors import RigError
from simrep.rig.experiment import Limits
from simrep.rig.gates import Gate, Observed, gates
from simrep.rig.journal import Entry
from simrep.rig.large import LargeUpdate, rates_and_stalls
from simrep.rig.load import Load
from simrep.rig.machine import busy_cpu_s, stolen_cpu_s, used_by_others, wait_for_quiet
from simrep.rig.processes import used_cpu_s
from simrep.rig.relays import DelayStatistics
from simrep.rig.rows import (
    Value,
    as_columns,
    counter_columns,
    counter_growth,
    factor_columns,
    metric_columns,
    queue_column,
)
from simrep.rig.tables import empty_tables, fingerprints, written
from simrep.rig.tools import run_load
from simrep.rig.transactions import Loaded, Transaction

__all__ = ["failed_entry", "measure", "without_folders"]

_SETTLE_S = 0.2
_PERIOD_S = 1.0
"""Keepalives and statistics messages come once a second: a run begins anywhere between them."""
_EQUAL_S = 10.0
_TICKS_S = 0.02
"""The machine's own clocks go in ticks of a hundredth of a second, for each processor: what they
cannot tell is nobody's."""
_FOLDERS = re.compile(r"(?<![\w/])/(?:[\w.+-]+/)+")


def measure(
    run: Run,
    engine: RigEngine,
    cluster: RigCluster,
    *,
    limits: Limits,
    factors: Sequence[str],
    attempt: int,
    found_before: Sequence[Gate] = (),
    ran_on: Mapping[str, str] | None = None,
) -> tuple[Entry, tuple[Transaction, ...]]:
    """Measure one run on a cluster whose delays and tables are there.

    Parameters
    ----------
    run, engine, cluster, limits
    factors : sequence of str
        Options and keys of the load that become columns.
    attempt : int
        Which one, from 1.
    found_before : sequence of Gate
        What the layout did not pass.
    ran_on : mapping of column to str, optional
        Versions and engine, for the row.

    Returns
    -------
    Entry
    tuple of Transaction
        Records of the driver.
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
    window = _Window(engine, cluster)
    large = LargeUpdate(load, cluster, limits.run_s) if load.large is not None else None
    loaded = run_load(
        load,
        cluster,
        seed=choice.randrange(2**31),
        limit_s=limits.run_s,
        beside=large,
        during=window,
    )
    begin = time.monotonic()
    at_end = cluster.counters()
    caught_up = cluster.caught_up(limits.catch_up_s)
    contents = _contents(run, cluster)
    catch_up_s = time.monotonic() - begin
    after = cluster.health()
    growth = counter_growth(counters, cluster.counters())

    shown = written(load, cluster.nodes[0])
    costs = window.costs(loaded, known=load.tool == "driver" or engine.name != "docker")
    observed = Observed(
        before=before,
        after=after,
        contents=contents,
        caught_up=caught_up,
        written=None if shown is None else shown - written_before,
        loaded=loaded,
        delays=window.delays,
        lossy=any(link.loss for link in run.cell.layout.matrix(run.cell.node_names).links.values()),
        busy_before=busy_before,
        used_by_others=costs["used_by_others"],
        stolen=costs["stolen"],
        in_time=_ended(load, loaded),
        growth=growth,
    )
    failed = [gate for gate in (*found_before, *gates(observed, limits)) if not gate.passed]
    row = {
        **factor_columns(run, factors),
        "attempt": attempt,
        "passed": int(not failed),
        "failed_gates": "; ".join(gate.name for gate in failed),
        **metric_columns(load, loaded),
        **_large(run, large, loaded, growth),
        **counter_columns(run.cell.product, growth),
        **as_columns(costs),
        **queue_column(run.cell.product, at_end),
        "busy_before": round(busy_before, 6),
        "catch_up_s": round(catch_up_s, 3),
        "began": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **(ran_on or {}),
    }
    details = {
        "errors": dict(loaded.errors),
        "facts": dict(before.facts),
        "wall_s": round(window.wall_s, 3),
    }
    entry = Entry(run.id, attempt, row, tuple(failed), growth, details)
    return entry, loaded.records


class _Window:
    """What was used from the begin of a load to its end."""

    def __init__(self, engine: RigEngine, cluster: RigCluster) -> None:
        self._engine = engine
        self._cluster = cluster
        self.delays = DelayStatistics()
        self._servers_s: dict[str, float] = {}
        self._machine_s: dict[str, float] = {}

    @property
    def wall_s(self) -> float:
        """How long it took."""
        return self._machine_s["wall"]

    def __enter__(self) -> None:
        self._engine.delay_statistics(reset=True)
        self._servers_s = _servers_s(self._cluster)
        self._machine_s = _machine_s()

    def __exit__(self, *_: object) -> None:
        self._machine_s = _growth(self._machine_s, _machine_s())
        self._servers_s = _growth(self._servers_s, _servers_s(self._cluster))
        self.delays = self._engine.delay_statistics()

    def costs(self, loaded: Loaded, *, known: bool) -> dict[str, float]:
        """CPU time of everybody, shares of the processors, and how late the relay was.

        Programs in a container belong to its engine: the clients' time is not known there, and
        cannot be told from other work.
        """
        used = self._machine_s
        client_s = loaded.cpu_s if known else nan
        own_s = sum(self._servers_s.values()) + self.delays.cpu_s + client_s + used["rig"]
        cpus_s = (os.cpu_count() or 1) * self.wall_s
        return {
            **{f"cpu_{name}": cpu_s for name, cpu_s in self._servers_s.items()},
            "cpu_client": client_s,
            "cpu_relay": self.delays.cpu_s,
            "busy": used["machine"] / cpus_s,
            "used_by_others": used_by_others(used["machine"] - _TICKS_S, own_s, self.wall_s),
            "stolen": max(0.0, used["stolen"] - _TICKS_S) / cpus_s,
            "relay_packets": self.delays.packets,
            "relay_dropped": self.delays.dropped,
            "late_mean_ms": self.delays.late_mean_ms,
            "late_max_ms": self.delays.late_max_ms,
        }


def _servers_s(cluster: RigCluster) -> dict[str, float]:
    return {node.name: node.cpu_seconds() for node in cluster.nodes}


def _machine_s() -> dict[str, float]:
    """CPU time of this process alone, as the clients tell theirs, and of the machine."""
    return {
        "rig": used_cpu_s(),
        "machine": busy_cpu_s(),
        "stolen": stolen_cpu_s(),
        "wall": time.monotonic(),
    }


def _growth(before: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    return {name: now[name] - value for name, value in before.items()}


def without_folders(text: str) -> str:
    """A text with files by their names alone."""
    return _FOLDERS.sub("", text)


def failed_entry(run: Run, factors: Sequence[str], attempt: int, problem: str) -> Entry:
    """What is written down of a run that came to nothing."""
    problem = without_folders(problem)
    row = {
        **factor_columns(run, factors),
        "attempt": attempt,
        "passed": 0,
        "failed_gates": "measured",
        "began": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return Entry(run.id, attempt, row, (Gate("measured", passed=False, detail=problem),))


def _wait_for_equal_rows(run: Run, cluster: RigCluster, longest_s: float) -> None:
    cluster.caught_up(longest_s)
    contents = _contents(run, cluster)
    if len(set(contents.values())) > 1:
        raise RigError(f"rows differ before the run: {contents}")


def _contents(run: Run, cluster: RigCluster) -> dict[str, str]:
    """Fingerprints of all nodes, once they are equal or some time has passed."""
    deadline = time.monotonic() + _EQUAL_S
    while True:
        found = fingerprints(run.cell.load, cluster)
        if len(set(found.values())) == 1 or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def _ended(load: Load, loaded: Loaded) -> bool:
    """Whether a load of a fixed number came to its end; tools that take too long are no result."""
    if load.tool != "driver" or load.each is None:
        return True
    return loaded.committed + loaded.failed == load.each * load.threads


def _large(
    run: Run,
    large: LargeUpdate | None,
    loaded: Loaded,
    growth: Mapping[str, Mapping[str, float]],
) -> dict[str, Value]:
    table = run.cell.load.large
    if large is None or table is None:
        return {}
    fragments = None
    if table.fragment_size:
        # Everything that its node replicated, without the transactions of the load there and what
        # certification has refused of them.
        node = run.cell.load.nodes[0]
        grown = growth.get(node, {})
        own = sum(r.node == node and not r.error for r in loaded.records)
        refused = grown.get("wsrep_local_cert_failures", 0.0)
        fragments = max(0.0, grown.get("wsrep_replicated", 0.0) - own - refused)
    figures: dict[str, float | None] = {
        "update_s": large.executed_s - large.begin_s,
        "visible_s": large.visible_s - large.begin_s,
        **rates_and_stalls(loaded.records, large.begin_s, large.visible_s, table.rest_s),
        "fragments": fragments,
    }
    return as_columns(figures)
