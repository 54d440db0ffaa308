"""What a rolling restart costs: how long it takes, what clients see of it, and who is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simrep.contract.cluster import Cluster
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.measure.spread import Spread, over_replications
from simrep.measure.units import duration, number
from simrep.runs.executor import collected, in_order
from simrep.runs.procedure_record import ProcedureRecord
from simrep.runs.progress import work_expected
from simrep.runs.replication import simulate
from simrep.scenario import Scenario, with_values
from simrep.whatif.plan.answer import Answer

__all__ = ["RestartRun", "RollingRestart", "rolling_restart"]

_BEFORE_S = 5.0  # of load before the first node goes
_LOST_S = 60.0  # a node that is not back after that ends it
_USUAL_S = 10.0  # a node is back after so long; all together may take _LOST_S longer
_BIN_S = 0.25  # of the curve of commits
_RUNS = 4
_RUNS_OF_LONG = 2  # they tell the same: a long restart differs little from run to run
_LONG_S = 120.0
_OVER = {"procedure-ends", "procedure-stops"}


@dataclass(frozen=True, slots=True, eq=False)
class RestartRun:
    """One replication.

    Attributes
    ----------
    record : ProcedureRecord
    commits : numpy.ndarray
        Commits per second, in pieces of ``bin_s`` from the begin of the run on.
    bin_s : float
    """

    record: ProcedureRecord
    commits: NDArray[np.float64]
    bin_s: float = _BIN_S


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RollingRestart(Answer):
    """How long a rolling restart takes, in seconds: the median over the replications.

    ``plot()`` draws commits over time above the nodes.

    Attributes
    ----------
    record : ProcedureRecord
        Of all replications together.
    runs : tuple of RestartRun
    names : tuple of str
        Of all nodes with data, by position.
    """

    record: ProcedureRecord
    runs: tuple[RestartRun, ...]
    names: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        """A row per node and replication."""
        return [
            {
                "replication": replication,
                "node": step.node,
                "began_s": step.began_s.median,
                "promoted": ", ".join(step.promoted),
                "ready_s": step.ready_s.median,
                "stop_s": step.stop_s.median,
                "down_s": step.down_s.median,
                "back_s": step.back_s.median,
                "pause_s": step.pause_s.median,
                "duration_s": step.duration_s.median,
                "serving": step.serving.median,
                "stall_s": step.stall_s.median,
                "stall_began_s": step.stall_began_s.median,
                "throughput_tps": step.throughput_tps.median,
                "worst_tps": step.worst_tps.median,
                "errors": step.errors.median,
            }
            for replication, run in enumerate(self.runs)
            for step in run.record.steps.values()
        ]


def rolling_restart(
    scenario: Scenario,
    *,
    down_s: float = 5.0,
    pause_s: float = 2.0,
    nodes: Sequence[str] | None = None,
    replications: int | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> RollingRestart:
    """What a restart of one node after the other costs.

    Parameters
    ----------
    scenario : Scenario
        Without procedures, and faults that let servers come or go.
    down_s : float
        How long each node is down on purpose, in seconds.
    pause_s : float
        How long the operator waits when a node is back, in seconds.
    nodes : sequence of str, optional
        In which order; default: the first one last.
    replications : int, optional
        Default: 4, or 2 of a restart that takes more than two minutes.
    seed, executor, progress
        Those of :func:`simrep.plan`.
    """
    if scenario.procedures:
        raise ScenarioError("procedure", "the question plays a procedure itself", "remove it")
    if scenario.workload.fixed:
        raise ScenarioError("workload", "its transactions would end", "set run.duration_s instead")
    seed = scenario.run.seed if seed is None else seed
    setup = setup_of(_restarted(scenario, down_s, pause_s, nodes))
    if replications is None:
        takes_s = (down_s + pause_s) * len(scenario.node_names if nodes is None else nodes)
        replications = _RUNS if takes_s <= _LONG_S else _RUNS_OF_LONG
    tasks = [(setup.scenario, seed, replication) for replication in range(replications)]
    work_expected(len(tasks))
    runs, complete = collected(
        in_order(_one_run, tasks, executor), least=1, progress=progress, total=replications
    )
    record = over_replications([run.record for run in runs])
    data = [name for name in scenario.node_names if name not in scenario.arbitrators]
    total = record.total_s
    return RollingRestart(
        question=f"A rolling restart of {len(data)} nodes, each down for {duration(down_s)}",
        sentence=_sentence(record, len(data)),
        value=total.median if total.known else None,
        low=total.low if total.known else None,
        high=total.high if total.known else None,
        unit="s",
        confidence=None,
        notes=tuple(_notes(setup, record, replications)),
        seed=seed,
        complete=complete,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
        record=record,
        runs=tuple(runs),
        names=tuple(data),
    )


def _restarted(
    scenario: Scenario, down_s: float, pause_s: float, nodes: Sequence[str] | None
) -> Scenario:
    """The scenario with the procedure, and a run that is long enough for it."""
    table: dict[str, Any] = {
        "name": "restart",
        "what": "rolling-restart",
        "at_s": _BEFORE_S,
        "down_s": down_s,
        "pause_s": pause_s,
        "timeout_s": _LOST_S,
    }
    if nodes is not None:
        table["nodes"] = list(nodes)
    return with_values(
        scenario,
        {
            "procedure": [table],
            "run.warmup_s": 0.0,
            "run.duration_s": _BEFORE_S
            + (down_s + pause_s + _USUAL_S) * len(scenario.node_names)
            + _LOST_S,
        },
    )


def _one_run(scenario: Scenario, seed: int, replication: int) -> RestartRun:
    """One replication, which ends with the procedure."""
    run = simulate(scenario, seed, replication, over=_over)
    assert run.attempts is not None, "there is a procedure"
    (record,) = run.procedures.values()
    end_s = run.attempts.end_s
    bins = max(1, int(end_s / _BIN_S))
    commits, _ = np.histogram(run.attempts.commits_s, bins, (0.0, bins * _BIN_S))
    return RestartRun(record, np.asarray(commits / _BIN_S, np.float64))


def _over(cluster: Cluster) -> bool:
    """Whether the operator has ended."""
    assert cluster.timeline is not None, "there is a procedure"
    return any(one.what in _OVER for one in reversed(cluster.timeline.noted))


def _sentence(record: ProcedureRecord, nodes: int) -> str:
    if record.stopped:
        return f"The restart stops: {'; '.join(record.stopped)}. No other node is taken down."
    worst = max(record.steps.values(), key=lambda step: step.stall_s.high)
    return (
        f"It takes {_range(record.total_s)}, {_range(record.reduced_s)} of that with fewer nodes; "
        f"at the fewest {number(record.serving.low)} of {nodes} serve. The longest stall is "
        f"{_range(record.stall_s)}, the longest of all with {worst.node}; clients meet "
        f"{_range(record.errors, number)} error{'' if record.errors.high == 1.0 else 's'}."
    )


def _range(spread: Spread, text: Callable[[float], str] = duration) -> str:
    low, high = text(spread.low), text(spread.high)
    return low if low == high else f"{text(spread.median)} ({low} to {high})"


def _notes(setup: Setup, record: ProcedureRecord, replications: int) -> list[str]:
    notes = [
        f"Ranges: {replications} runs with other random numbers, without the error of the model.",
        "stops, back: as seen by an operator who looks once a second.",
    ]
    stays = any(
        source.policy is None or source.policy.on_error == "stay"
        for source in setup.workload.sources
    )
    if stays and setup.scenario.proxy is None:
        notes.append(
            "Clients of a node that goes wait until it is back; with a [proxy], or with "
            'workload.clients.on_error = "next", they turn to another one.'
        )
    if record.without_quorum.high:
        notes.append(
            f"Nodes note {_range(record.without_quorum, number)} times that they are in no "
            "primary component."
        )
    return notes
