"""Runs of many setups, every replication of which is reduced to a few figures where it ran."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from functools import partial
from math import nan
from typing import Any, TypeVar

from simrep.contract.model import Degradation
from simrep.contract.setup import Setup
from simrep.errors import ScenarioError, nearest
from simrep.measure.counts import ClassCount
from simrep.runs.executor import in_groups
from simrep.runs.fault_report import Faults
from simrep.runs.prediction import uncertainty_of, with_drawn_costs
from simrep.runs.record import ScheduledRecord
from simrep.runs.replica_cluster import ReplicaClusterLag
from simrep.runs.replication import simulate
from simrep.runs.result import Result
from simrep.runs.staleness import Staleness

__all__ = ["Task", "figures_of", "simulate_cells", "simulate_each", "simulate_groups"]

T = TypeVar("T")

_ASKED = {
    "stale": "set run.staleness = true",
    "replica_cluster": "the scenario needs a table [replica_cluster]",
}
"""What of a result is there only if the scenario asks for it, and how it does."""


@dataclass(frozen=True, slots=True)
class Task:
    """One replication of a setup, to be simulated."""

    setup: Setup
    number: int  # of the replication whose random numbers it has
    drawn: bool = False  # its costs are drawn from what the pack of the setup says of them


def simulate_cells(
    setups: Sequence[Setup],
    figures: Sequence[str],
    replications: int | Sequence[int],
    seed: int,
    executor: Executor | None = None,
    *,
    drawn: bool = False,
    less: list[tuple[Degradation, ...]] | None = None,
) -> Iterator[list[tuple[float, ...]]]:
    """Figures of every replication of every setup, setup by setup; each may have a number of them.

    Figures are paths in a result: ``makespan_s``, ``latency_s.p95``, ``counters.n1.wsrep_...``,
    ``nodes.n2.errors.1213``, ``classes.write.latency_s.p99``, ``scheduled.large.execution_s``,
    ``faults.NAME.suspected_s``, ``stale.share``, ``stale.nodes.n3.age_s.p95``.
    With ``drawn``, every replication has costs of its own, drawn from what the pack of its setup
    says of them: those of ``run`` with as many draws.
    """
    reduce = partial(figures_of, paths=tuple(figures))
    return simulate_each(setups, reduce, replications, seed, executor, drawn=drawn, less=less)


def simulate_each(
    setups: Sequence[Setup],
    reduce: Callable[[Result], T],
    replications: int | Sequence[int],
    seed: int,
    executor: Executor | None = None,
    *,
    drawn: bool = False,
    less: list[tuple[Degradation, ...]] | None = None,
) -> Iterator[list[T]]:
    """The outcome of ``reduce`` for every replication of every setup, setup by setup.

    Records are large to send around, so it is called where the replication ran: a function of a
    module, for processes to find it.
    """
    counts = [replications] * len(setups) if isinstance(replications, int) else replications
    groups = [
        [Task(setup, number, drawn) for number in range(count)]
        for setup, count in zip(setups, counts, strict=True)
    ]
    return simulate_groups(groups, reduce, seed, executor, less)


def simulate_groups(
    groups: Sequence[Sequence[Task]],
    reduce: Callable[[Result], T],
    seed: int,
    executor: Executor | None = None,
    less: list[tuple[Degradation, ...]] | None = None,
) -> Iterator[list[T]]:
    """What ``reduce`` makes of every replication, group by group; see ``simulate_each``.

    A list ``less`` gets what each of them gave its clients less than its product promises.
    """
    work = [[(task, seed, reduce) for task in group] for group in groups]
    for group in in_groups(_simulated, work, executor):
        if less is not None:
            less += [degradation for _, degradation in group]
        yield [reduced for reduced, _ in group]


def _simulated(
    task: Task, seed: int, reduce: Callable[[Result], T]
) -> tuple[T, tuple[Degradation, ...]]:
    setup = task.setup
    if task.drawn and (uncertainty := uncertainty_of(setup)) is not None:
        setup = with_drawn_costs(setup, uncertainty, seed, task.number)
    record = simulate(setup, seed, task.number)
    return reduce(Result.combine([record])), record.degradation


def figures_of(
    result: Result, paths: Sequence[str], *, absent: Collection[str] = ()
) -> tuple[float, ...]:
    """Figures of a result by their paths; a path that leads to no number is refused.

    Of the paths that may be ``absent`` it is NaN.
    """
    return tuple(_figure(result, path, absent) for path in paths)


def _figure(result: Result, path: str, absent: Collection[str]) -> float:
    value: Any = result
    rest: str | None = path
    while rest is not None:
        content = _content(value)
        name, rest = _step(rest, content)
        if content.get(name) is None:
            if path in absent:
                return nan
            help_ = _ASKED.get(name) or nearest(name, content)
            raise ScenarioError(path, f"a result has no {name!r} here", help_)
        value = content[name]
    if not isinstance(value, (int, float)):
        raise ScenarioError(path, "is not a number of a result")
    return float(value)


def _step(path: str, content: Iterable[str]) -> tuple[str, str | None]:
    """The first name of a path and what follows; names of nodes and classes may have dots.

    >>> _step("db1.eu.committed", ["db1", "db1.eu"]), _step('"db1.eu".committed', ["db1.eu"])
    (('db1.eu', 'committed'), ('db1.eu', 'committed'))
    """
    for name in sorted(content, key=len, reverse=True):
        for written in (name, f'"{name}"', f"'{name}'"):
            if path == written:
                return name, None
            if path.startswith(f"{written}."):
                return name, path[len(written) + 1 :]
    first, dot, rest = path.partition(".")
    return first, rest if dot else None


def _content(value: Any) -> dict[str, Any]:
    """What a path may name next."""
    if isinstance(value, (Faults, ReplicaClusterLag, Staleness)):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, (ScheduledRecord, ClassCount)):
        return value.to_dict()
    if isinstance(value, Result):
        names = (*(field.name for field in fields(Result)), "interval_tps")
        return {name: getattr(value, name) for name in names}
    return {}
