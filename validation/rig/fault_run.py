"""One run with faults: what clients met, what servers logged, what became of every row."""

from __future__ import annotations

import os
import platform
import random
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from simrep.rig.attempts import WAITING, Attempt, attempts_text, read_attempts
from simrep.rig.cell import Cell, Run
from simrep.rig.cluster import RigCluster
from simrep.rig.driver import conduct
from simrep.rig.engine import RigEngine
from simrep.rig.errors import RigError
from simrep.rig.experiment import Limits
from simrep.rig.fault_figures import (
    ATTEMPTS_FILE,
    HITS,
    LOG_FILE,
    SERIES,
    figures_of,
    hit_times,
)
from simrep.rig.faults import hit, needs_relay
from simrep.rig.files import write_packed
from simrep.rig.gates import Gate
from simrep.rig.injector import Done, Injector
from simrep.rig.journal import Entry
from simrep.rig.load import Load
from simrep.rig.machine import busy_cpu_s, used_by_others, wait_for_quiet
from simrep.rig.notes import LogLine, LogWatch, noted
from simrep.rig.processes import used_cpu_s
from simrep.rig.proxy import PROXY, Proxy
from simrep.rig.rows import factor_columns
from simrep.rig.survivors import Survivor, SurvivorPlan
from simrep.rig.transactions import ATTEMPTS, DATABASE
from simrep.workload.fate import FateCount

__all__ = ["measure_faults", "rows_figures", "survivor_plans"]

_PERIOD_S = 1.0
_SETTLE_S = 0.2
_LATE_S = 0.25
_SECOND = ("second", "group", "node", "commits", "errors", "max_latency_s", "error_codes")
_LOOK_S = 0.2

_Row = tuple[int, int]  # client, and number of its transaction


def measure_faults(
    run: Run,
    engine: RigEngine,
    cluster: RigCluster,
    *,
    limits: Limits,
    factors: Sequence[str],
    attempt: int,
    folder: Path,
    found_before: Sequence[Gate] = (),
    ran_on: Mapping[str, str] | None = None,
) -> Entry:
    """Break what the load says on a cluster whose delays and tables are there.

    Every attempt of every client, a table by seconds and all lines of the logs go to ``folder``.
    """
    cell = run.cell
    if not engine.breaks:
        problem = f"faults are not played with {engine.name}, whose servers are not the rig's own"
        raise RigError(f"{problem} processes: --engine netns")
    if needs_relay(cell.load.fault) and engine.delay_method != "relay":
        raise RigError("links are cut by the relay alone: --delay relay")
    choice = random.Random(f"{run.id} {attempt}")  # noqa: S311 - a phase, not a secret
    layout = cell.layout.matrix(cell.node_names)
    injector = Injector(cell.load, layout, engine, cluster)
    cluster.nodes[0].query(f"use {DATABASE}", f"delete from {ATTEMPTS}")
    if not cluster.caught_up(limits.catch_up_s):
        raise RigError("nodes do not catch up before the run")
    cluster.speak_up()
    injector.prepare()
    time.sleep(_SETTLE_S)
    busy_before = wait_for_quiet(limits.quiet, limits.wait_for_quiet_s)
    loadavg = os.getloadavg()[0]
    time.sleep(choice.random() * _PERIOD_S)
    began = datetime.now(UTC)
    health = cluster.health()
    machine = _Machine(cluster, injector)
    logs = {server.name: server.log for server in cluster.members}
    try:
        with (
            _proxy(cell.load, engine, cluster, folder) as proxy,
            LogWatch(logs) as watch,
            TemporaryDirectory(prefix="simrep-load-") as name,
        ):
            chosen = survivor_plans(cell, cluster, Path(name), proxy)
            clock = _Beside(injector)
            results = conduct(chosen, limit_s=limits.run_s, beside=clock, during=machine)
            found = [one for plan in chosen for one in read_attempts(_text(plan.out))]
            injector.heal()
            injector.await_returns(limits.catch_up_s)
            whole = _whole_again(cluster, limits.catch_up_s)
            present = _rows(cluster, limits.catch_up_s)
    finally:
        injector.close()
        with suppress(RigError):
            engine.set_delays(layout)
    machine.add(sum(result["cpu_s"] for result in results))
    lines = [replace(line, at_s=line.at_s - clock.begin_s) for line in watch.lines]
    lines = [line for line in lines if line.at_s >= 0.0]
    addresses = {one.name: one.host.address for one in cluster.members}
    written = noted(cell.product, lines, addresses)
    checked, fates = rows_figures(found, present, hit(cell.load.fault, cell.node_names))
    figures = figures_of(cell, found, injector.done, written, fates)
    figures |= checked
    figures["loadavg_start"] = round(loadavg, 2)
    gates = [
        *found_before,
        Gate("healthy before", health.ok, "; ".join(health.problems)),
        *_gates(cell.load, injector.done, found, limits, busy_before, machine.others),
    ]
    failed = tuple(gate for gate in gates if not gate.passed)
    stem = folder / SERIES / f"{run.id}.a{attempt}"
    stem.parent.mkdir(exist_ok=True)
    write_packed(stem.with_name(f"{stem.name}.{ATTEMPTS_FILE}"), attempts_text(found))
    inject_s, _ = hit_times(cell.load, injector.done)
    write_packed(stem.with_name(f"{stem.name}.seconds.csv.gz"), _by_seconds(found, inject_s))
    text = _log_text(lines, injector.done, inject_s)
    write_packed(stem.with_name(f"{stem.name}.{LOG_FILE}"), text)
    row = {
        **factor_columns(run, factors),
        "attempt": attempt,
        "passed": int(not failed),
        "failed_gates": "; ".join(gate.name for gate in failed),
        "seconds": cell.load.duration_s,
        "committed": int(figures.get("acked_n", 0)),
        "failed": sum(1 for one in found if one.error),
        "busy_before": round(busy_before, 6),
        "used_by_others": round(machine.others, 4),
        "loadavg_start": round(loadavg, 2),
        "whole_again": int(whole),
        "began": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **(ran_on or {}),
    }
    details = {
        "figures": {name: round(value, 4) for name, value in sorted(figures.items())},
        "done": [[round(one.at_s, 4), one.what, one.node, one.detail] for one in injector.done],
        "addresses": addresses,
        "fates": fates.to_dict(),
        "words": _messages(found),
        "wall_s": round(machine.wall_s, 3),
    }
    return Entry(run.id, attempt, row, failed, {}, details)


@contextmanager
def _proxy(
    load: Load, engine: RigEngine, cluster: RigCluster, folder: Path
) -> Iterator[Path | None]:
    """The socket of the proxy, if the load has one."""
    if load.proxy is None:
        yield None
        return
    with Proxy(load.proxy, engine.more[PROXY], cluster, folder / "logs" / "proxy.log") as proxy:
        yield proxy.socket


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def survivor_plans(
    cell: Cell, cluster: RigCluster, folder: Path, proxy: Path | None = None
) -> list[SurvivorPlan]:
    """What each process of clients does: a group is spread over all of them."""
    load = cell.load
    clients = [
        Survivor(
            number=0,
            group=group.name,
            order=group.order(cell.node_names),
            reads=group.reads,
            think_s=group.think_time_ms / 1e3,
            pause_s=group.retry_pause_s,
            read_timeout_s=group.read_timeout_s,
            connect_timeout_s=group.connect_timeout_s,
            again=load.retry,
            proxied=load.proxy is not None,
        )
        for group in load.groups
        for _ in range(group.threads)
    ]
    numbered = [replace(client, number=number) for number, client in enumerate(clients, 1)]
    sockets = {node.name: str(node.socket) for node in cluster.nodes}
    if proxy is not None:
        sockets[PROXY] = str(proxy)
    count = min(load.processes, len(numbered))
    return [
        SurvivorPlan(tuple(numbered[place::count]), sockets, str(folder / f"clients-{place}.csv"))
        for place in range(count)
    ]


class _Beside:
    """Calls the injector, and keeps when the load began."""

    def __init__(self, injector: Injector) -> None:
        self._injector = injector
        self.begin_s = 0.0

    def __call__(self, clock: Any) -> None:
        self.begin_s = time.monotonic() - clock.now()
        self._injector(clock)


class _Machine:
    """Which share of the processors others had while the load went on."""

    def __init__(self, cluster: RigCluster, injector: Injector) -> None:
        self._cluster = cluster
        self._injector = injector
        self._before: dict[str, float] = {}
        self._own_s = self._busy_s = 0.0
        self.wall_s = 0.0
        self.others = 0.0

    def __enter__(self) -> None:
        self._before = {node.name: node.cpu_seconds() for node in self._cluster.members}
        self._own_s, self._busy_s, self.wall_s = used_cpu_s(), busy_cpu_s(), time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.wall_s = time.monotonic() - self.wall_s
        self._busy_s = busy_cpu_s() - self._busy_s
        self._own_s = used_cpu_s() - self._own_s
        for node in self._cluster.members:
            now_s = 0.0
            with suppress(RigError):
                now_s = node.cpu_seconds()
            self._own_s += now_s + self._injector.cpu_s[node.name] - self._before[node.name]

    def add(self, clients_s: float) -> None:
        """With the CPU time of the clients it is known what others used."""
        self.others = used_by_others(self._busy_s, self._own_s + clients_s, self.wall_s)


def _whole_again(cluster: RigCluster, timeout_s: float) -> bool:
    """Wait until all nodes are together again, if all of them run."""
    patience = time.monotonic() + timeout_s
    while all(node.host.alive() for node in cluster.members):
        if cluster.health().ok:
            return cluster.caught_up(max(1.0, patience - time.monotonic()))
        if time.monotonic() > patience:
            break
        time.sleep(_LOOK_S)
    return False


def _rows(cluster: RigCluster, timeout_s: float) -> dict[str, Counter[_Row]]:
    """The rows of every node that answers, once there are no more of them to come."""
    from pymysql.err import MySQLError

    query = f"select client, sequence, count(*) as number from {ATTEMPTS} group by client, sequence"
    patience = time.monotonic() + timeout_s
    before: dict[str, Counter[_Row]] = {}
    while True:
        found: dict[str, Counter[_Row]] = {}
        for node in cluster.nodes:
            if node.host.alive():
                with suppress(MySQLError, OSError):
                    rows = node.query(f"use {DATABASE}", query)
                    found[node.name] = Counter(
                        {(row["client"], row["sequence"]): row["number"] for row in rows}
                    )
        equal = len({frozenset(own.items()) for own in found.values()}) <= 1
        if equal or found == before or time.monotonic() > patience:
            return found
        before = found
        time.sleep(5 * _LOOK_S)


def rows_figures(
    found: Iterable[Attempt], present: Mapping[str, Counter[_Row]], hit_nodes: Collection[str]
) -> tuple[dict[str, float], FateCount]:
    """Rows that are lost, doubled, or there although their clients do not know it.

    Parameters
    ----------
    found : iterable of Attempt
    present : mapping of node to counter of rows
        Of every node that answers at the end.
    hit_nodes : collection of str
        Those that something happened to: the others are the survivors.
    """
    writes = [one for one in found if not one.reads and not one.connecting]
    acked = {(one.client, one.sequence) for one in writes if one.error == 0}
    errors = {(one.client, one.sequence): one.error for one in writes if one.error}
    survivors = [name for name in present if name not in hit_nodes] or list(present)
    everywhere: Counter[_Row] = Counter()
    for rows in present.values():
        everywhere |= rows
    among_survivors = {row for name in survivors for row in present[name]}
    figures: dict[str, float] = {
        f"acked_missing_on_{name}_n": float(len(acked - set(rows)))
        for name, rows in present.items()
    }
    unknown = set(everywhere) - acked
    lost = acked - among_survivors
    figures["not_acked_but_present_n"] = float(len(unknown))
    figures["duplicated_n"] = float(sum(number > 1 for number in everywhere.values()))
    alone = {row for name in present if name in hit_nodes for row in present[name]}
    figures["only_on_hit_nodes_n"] = float(len(alone - among_survivors))
    figures["tables_equal_n"] = float(
        len({frozenset(rows.items()) for rows in present.values()}) == 1
    )
    waiting = {row for row, error in errors.items() if error == WAITING}
    failed = set(errors) - waiting - acked
    return figures, FateCount(
        answered=len(acked),
        lost=len(lost),
        lost_span_s=0.0,
        failed=len(failed),
        failed_present=len(failed & unknown),
        unknown=0,
        unknown_present=len(waiting & unknown),
        duplicated=int(figures["duplicated_n"]),
        extra=len(alone - among_survivors),
        waiting=len(waiting),
    )


def _gates(
    load: Load,
    done: Sequence[Done],
    found: Sequence[Attempt],
    limits: Limits,
    busy_before: float,
    others: float,
) -> list[Gate]:
    failed = [f"{one.node}: {one.detail}" for one in done if one.what == "failed"]
    inject_s = load.first_s
    first_s = min((one.at_s for one in done if one.what in HITS), default=inf)
    late = f"the first fault came at {first_s:.3f} s instead of {inject_s:g} s"
    before = sum(1 for one in found if not one.error and one.ended_s < first_s)
    odd = sum(1 for one in found if one.error and one.ended_s < first_s)
    return [
        Gate("started again", not failed, "; ".join(failed)),
        Gate("in time", abs(first_s - inject_s) <= _LATE_S, late),
        Gate("something committed", before > 0, "nobody committed before the first fault"),
        Gate("no odd errors", not odd, f"{odd} errors before the first fault"),
        Gate("quiet before", busy_before <= limits.quiet, f"{busy_before:.0%} were busy"),
        Gate("alone", others <= limits.used_by_others, f"others used {others:.0%} of the CPUs"),
    ]


def _messages(found: Iterable[Attempt]) -> dict[str, str]:
    """What each error says, by its number."""
    return {str(one.error): one.text for one in found if one.error}


def _by_seconds(found: Iterable[Attempt], inject_s: float) -> str:
    """Per second after the fault, group and node: commits, errors, longest latency, codes."""
    seconds: dict[tuple[int, str, str], list[Attempt]] = {}
    for one in found:
        key = (int((one.ended_s - inject_s) // 1), one.group, one.node)
        seconds.setdefault(key, []).append(one)
    lines = [",".join(_SECOND)]
    for (second, group, node), own in sorted(seconds.items()):
        good = [one.ended_s - one.began_s for one in own if not one.error]
        codes = Counter(one.error for one in own if one.error)
        told = " ".join(f"{code}:{number}" for code, number in sorted(codes.items()))
        lines.append(
            f"{second},{group},{node},{len(good)},{len(own) - len(good)},"
            f"{max(good, default=0.0):.4f},{told}"
        )
    return "\n".join([*lines, ""])


def _log_text(lines: Iterable[LogLine], done: Iterable[Done], inject_s: float) -> str:
    """All lines of the logs with what the rig did, seconds after the first fault."""
    every = [(line.at_s, f"{line.node} {line.text}") for line in lines]
    every += [
        (one.at_s, " ".join(part for part in ("RIG", one.what, one.node, one.detail) if part))
        for one in done
    ]
    told = "".join(f"{at_s - inject_s:.3f} {text}\n" for at_s, text in sorted(every))
    return re.sub(rf"\b{re.escape(platform.node())}\b", "HOST", told)
