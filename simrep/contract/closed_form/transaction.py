"""The one kind of transaction of a load, and what executing it takes before its commit."""

from __future__ import annotations

from simrep.contract.closed_form.journey import Delay, Pace, Step, Work, cost_s
from simrep.contract.setup import Setup
from simrep.workload.classes import TransactionClass
from simrep.workload.session_costs import SessionCosts

__all__ = ["execution", "row_count"]


def row_count(one: TransactionClass) -> int:
    """Rows that a transaction writes, on average."""
    return round(one.mean(lambda step: step.rows_written))


def execution(
    setup: Setup, node: int, costs: SessionCosts, pace: Pace, prepare_s: float = 0.0
) -> tuple[Step, ...]:
    """From the first request of the client to the commit, and its answers.

    Parameters
    ----------
    setup : Setup
    node : int
    costs : SessionCosts
    pace : Pace
    prepare_s : float
        CPU that goes before the commit on the same thread.
    """
    (one,) = setup.workload.classes
    machine = setup.machines[setup.placement[node]]
    settings = setup.scenario.workload
    statements = round(one.mean(lambda step: step.statement_count))
    requests = statements if one.autocommit else statements + 2  # BEGIN and COMMIT
    own = settings.client == "own"
    # Statements of a transaction follow each other: only the first comes after a long pause.
    between_s = costs.statement_s + costs.client_s + settings.client_rtt_ms / 1e3 + one.pause_s

    def cost(seconds: float, times: int) -> float:
        first_s = cost_s(machine, seconds, pace.own_s)
        return first_s + (times - 1) * cost_s(
            machine, seconds, min(between_s, pace.own_s / statements)
        )

    rows_s = costs.row_s * row_count(one)
    rows_s += costs.row_read_s * one.mean(lambda step: step.rows_read)
    server_s = cost(costs.statement_s, statements) + rows_s + prepare_s
    outside_s = requests * settings.client_rtt_ms / 1e3 + max(0, statements - 1) * one.pause_s
    client_s = 0.0
    if own:  # its machine is never short of cores, nor cold
        outside_s += requests * costs.client_s
    elif costs.client_s:
        client_s = cost(costs.client_s, requests)
    apart = one.pause_s or settings.client_rtt_ms or (own and costs.client_s)
    return (
        Delay("client", outside_s),
        Work("client", client_s, wakes=0),
        Work("execution", server_s, wakes=statements if apart else 1),
    )
