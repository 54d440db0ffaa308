"""One cell of a drill, in the process that simulates it: a fault in a setting, replicated."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from simrep.contract.cluster import Cluster
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, SimrepError
from simrep.kernel.streams import Streams
from simrep.measure.staleness import StaleReads, StaleRecord
from simrep.runs.replication import Replication, simulate
from simrep.runs.story import Follow
from simrep.scenario import Scenario
from simrep.scenario.faults import FaultTable
from simrep.whatif.drill.catalogue import DrillFault
from simrep.whatif.drill.outcome import Outcome, RunEnd, outcome_of
from simrep.whatif.drill.roles import MissingRoleError, Roles
from simrep.whatif.drill.setting import staying

__all__ = ["EARLIEST_S", "SPREAD_S", "Case", "play", "rehearsal", "setup_with"]

EARLIEST_S = 10.0
"""No fault begins earlier: clients are connected, and servers know their usual rate."""
SPREAD_S = 5.0
"""Faults begin at random in so many seconds: the longest period by which anything looks here, that
of Orchestrator (``InstancePollSeconds``)."""
QUIET_S = 10.0
"""A run is over if all has been in order for so long after the last fault: twice that period."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is simulated in a cell.

    Attributes
    ----------
    scenario : Scenario
        With its clients, without faults.
    fault : DrillFault
    roles : Roles
    restart_s : float or None
        After so long servers are started again; None: as the catalogue says.
    limit_s : float
        So long after the begin of the fault the run ends at last.
    staleness : bool
        Whether to look at what reads miss.
    """

    scenario: Scenario
    fault: DrillFault
    roles: Roles
    restart_s: float | None
    limit_s: float
    staleness: bool = False

    def broken(self, tables: list[dict[str, Any]]) -> Scenario:
        """The scenario with these faults, in a run that is long enough."""
        faults = [FaultTable.model_validate(table).told_at(f"fault.{place}")
                  for place, table in enumerate(tables)]  # fmt: skip
        latest_s = max(fault.at_s for fault in faults)
        length_s = max(EARLIEST_S + SPREAD_S, latest_s) + self.limit_s
        own: dict[str, Any] = {"duration_s": length_s, "warmup_s": 0.0, "warmup": None}
        own |= {"log": False, "staleness": self.staleness}
        run = self.scenario.run.model_copy(update=own)
        return self.scenario.model_copy(update={"fault_tables": tuple(faults), "run": run})


def play(case: Case, seed: int, number: int) -> dict[str, Any]:
    """The outcome of one replication, as JSON can hold it; or why there is none (``refused``)."""
    try:
        try:
            return _play(case, seed, number).to_dict()
        except ScenarioError as error:
            if error.path != "run.staleness":  # which not every model tells
                raise
            return _play(replace(case, staleness=False), seed, number).to_dict()
    except MissingRoleError as error:
        return {"refused": f"does not apply: {error}"}
    except ScenarioError as error:
        return {"refused": f"not played: {error.problem}"}
    except SimrepError as error:
        return {"refused": f"not played: {error}"}


def rehearsal(case: Case, seed: int, number: int) -> tuple[Setup, Callable[[Follow], Replication]]:
    """A replication to be looked at: what is simulated, and a function that simulates it.

    The function keeps what it is told to, and the run is the same each time.
    """
    case = replace(case, staleness=False)
    tables, fault_s, _ = _struck(case, seed, number)
    setup = setup_with(case, tables)

    def played(follow: Follow) -> Replication:
        end = _End(tables, fault_s + case.limit_s)
        return simulate(setup, seed, number, over=end, follow=follow)

    return setup, played


def _struck(
    case: Case, seed: int, number: int
) -> tuple[list[dict[str, Any]], float, Sequence[str]]:
    """The faults of a replication, when the first of them begins, and whom it strikes."""
    streams = Streams(seed, number)
    fault_s = EARLIEST_S + SPREAD_S * streams.uniform("drill/instant")()
    tables = case.fault.tables(case.roles, fault_s, case.restart_s)
    struck: Sequence[str] = case.fault.struck(case.roles)
    if case.fault.role == "donor":
        donor, fault_s = _donor(case, tables, seed, number, streams)
        struck = (donor,)
        again_s = case.fault.back_s if case.restart_s is None else case.restart_s
        tables += [
            {"what": "kill", "at_s": fault_s, "node": donor},
            {"what": "restart", "at_s": fault_s + again_s, "node": donor},
        ]
    return tables, fault_s, struck


def _play(case: Case, seed: int, number: int) -> Outcome:
    names = case.scenario.node_names
    tables, fault_s, struck = _struck(case, seed, number)
    end = _End(tables, fault_s + case.limit_s)
    record = simulate(setup_with(case, tables), seed, number, over=end)
    backs = [table["at_s"] for table in tables if table["what"] == "restart"]
    assert record.attempts is not None
    outcome = outcome_of(
        record.attempts,
        record.noted,
        record.fates,
        None if record.stale is None else _reads(record.stale, tables, fault_s),
        end.seen,
        fault_s=fault_s,
        struck=[names.index(name) for name in struck],
        back_s=max(backs, default=inf),
        copies=bool(case.roles.others),
    )
    if case.fault.role != "everybody":
        return outcome
    assert record.replica_cluster is not None
    missing = record.replica_cluster.at_end
    return replace(outcome, lost=float(missing.transactions), lost_span_s=missing.span_s)


def _reads(stale: StaleRecord, tables: list[dict[str, Any]], fault_s: float) -> StaleReads:
    """All reads from the fault on."""
    edges = sorted({table[key] for table in tables for key in ("at_s", "until_s") if key in table})
    first = bisect_right(edges, fault_s)
    return StaleReads.total(own for (phase, *_), own in stale.cells.items() if phase >= first)


class _End:
    """Says whether a run is over: all has been in order for a while.

    All nodes have all that was answered, and writes are answered as often as ever.
    """

    def __init__(self, tables: list[dict[str, Any]], limit_s: float) -> None:
        self._quiet_from_s = max(table.get("until_s", table["at_s"]) for table in tables)
        self._limit_s = limit_s
        self.seen = RunEnd(complete=False, late_s=-inf)

    def __call__(self, cluster: Cluster) -> bool:
        now_s, fates = cluster.clock.now, cluster.fates
        assert fates is not None
        if now_s <= self._quiet_from_s and now_s < self._limit_s:
            return False
        complete = fates.complete
        if not complete or now_s - fates.answered_s > 1.0:
            self._quiet_from_s = now_s
        self.seen = RunEnd(complete=complete, late_s=fates.late_s)
        over: bool = now_s >= min(self._limit_s, self._quiet_from_s + QUIET_S)
        return over


class _Transfer:
    """Says whether a transfer of state to a node is over, or none has come for too long."""

    def __init__(self, joiner: int, from_s: float, until_s: float) -> None:
        self._joiner, self._from_s, self._until_s = joiner, from_s, until_s

    def __call__(self, cluster: Cluster) -> bool:
        assert cluster.timeline is not None
        if cluster.clock.now < self._from_s:
            return False
        return cluster.clock.now > self._until_s or any(
            line.what == "joined" and line.node == self._joiner and line.at_s >= self._from_s
            for line in cluster.timeline.noted
        )


def _donor(
    case: Case, tables: list[dict[str, Any]], seed: int, number: int, streams: Streams
) -> tuple[str, float]:
    """Who gives its state to the server that is back, and an instant while it does.

    The run up to that instant is the one that follows: all random numbers are the same.
    """
    names = case.scenario.node_names
    back_s = tables[-1]["at_s"]
    joiner = names.index(tables[-1]["node"])
    over = _Transfer(joiner, back_s, back_s + case.limit_s)
    noted = simulate(setup_with(case, tables), seed, number, over=over).noted
    begins = (line for line in noted if line.what == "donor" and joiner in line.of)
    begin = next((line for line in begins if line.at_s >= back_s), None)
    ends = (line.at_s for line in noted if line.what == "joined" and line.node == joiner)
    end_s = next((at_s for at_s in ends if begin is not None and at_s > begin.at_s), None)
    if begin is None or end_s is None:
        raise MissingRoleError("no server gives its state to one that comes back")
    share = streams.uniform("drill/donor")()
    return names[begin.node], begin.at_s + share * (end_s - begin.at_s)


def setup_with(case: Case, tables: list[dict[str, Any]] | None = None) -> Setup:
    """The setup of a case with these faults; default: those of the catalogue at their earliest.

    Raises
    ------
    ScenarioError
        If the model does not play it.
    """
    if tables is None:
        tables = case.fault.tables(case.roles, EARLIEST_S, case.restart_s)
    broken = case.broken(tables)
    try:
        return setup_of(broken)
    except ScenarioError as error:
        # Where nobody notices the fault no other node takes writes, and clients find no other one.
        if not error.path.endswith("clients.on_error"):
            raise
        return setup_of(staying(broken))
