"""The one kind of transaction of a load, and what executing it takes before its commit."""

from __future__ import annotations

from simrep.experiment.plan import Plan
from simrep.whatif.analytic.journey import Delay, Pace, Step, Work, cost_s
from simrep.workload.classes import TransactionClass
from simrep.workload.session import SessionCosts

__all__ = ["execution", "row_count"]


def row_count(one: TransactionClass) -> int:
    """Rows that a transaction writes."""
    return one.statements * one.rows


def execution(
    planned: Plan, node: int, costs: SessionCosts, pace: Pace, prepare_s: float = 0.0
) -> tuple[Step, ...]:
    """From the first request of the client to the commit, and its answers.

    Parameters
    ----------
    planned : Plan
    node : int
    costs : SessionCosts
    pace : Pace
    prepare_s : float
        CPU that goes before the commit on the same thread.
    """
    (one,) = planned.workload.classes
    machine = planned.machines[planned.placement[node]]
    settings = planned.scenario.workload
    statements = one.statements + one.reads + one.range_reads
    requests = statements if one.autocommit else statements + 2  # BEGIN and COMMIT
    pause_s = pace.own_s / statements
    client_s = requests * cost_s(machine, costs.client_s, pause_s)
    rows_s = costs.row_s * row_count(one)
    rows_s += costs.row_read_s * (one.reads + one.range_reads * one.range_rows)
    server_s = statements * cost_s(machine, costs.statement_s, pause_s) + rows_s + prepare_s
    outside_s = requests * settings.client_rtt_ms / 1e3 + max(0, statements - 1) * one.pause_s
    if settings.client == "own":  # its own machine is never short of cores, nor cold
        outside_s += requests * costs.client_s
        client_s = 0.0
    separate = 1 if one.autocommit or not costs.client_s else requests
    return (
        Delay("client", outside_s),
        Work("client", client_s, wakes=0),
        Work("execution", server_s, wakes=max(statements, separate)),
    )
