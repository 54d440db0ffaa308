"""An operator who takes one node after the other, and looks how each is before the next."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from simrep.contract.cluster import Cluster
from simrep.contract.model import Change, Model
from simrep.contract.setup import Setup
from simrep.errors import ScenarioError
from simrep.kernel.clock import Event
from simrep.measure.spread import Spread
from simrep.measure.units import duration
from simrep.runs.procedure_record import ProcedureRecord, StepRecord
from simrep.scenario.faults import ChangeWord, FaultTable
from simrep.scenario.procedure import ProcedureTable
from simrep.scenario.schema import Scenario

__all__ = ["OPERATOR", "Operator", "with_steps"]

OPERATOR = "operator"
"""Their name in the time line."""
_LOOK_S = 0.1  # so often is looked who serves, for the record alone
_ALONE = ("non-primary",)
_DOES: dict[ChangeWord, str] = {
    "leave": "{node} shuts down",
    "restart": "{node} starts",
    "promote": "{node} is promoted by hand",
}

Tell = Callable[[Change], object]


class _StoppedError(Exception):
    """The operator does not go on."""


class Operator:
    """Plays a procedure in one replication, and keeps its record.

    They know what an operator of the real thing can know: whether a server accepts a connection,
    what it says of itself (``Model.status``), and by how many transactions it is behind
    (``Model.backlog``). Steps of the operator take no time themselves.

    Parameters
    ----------
    cluster : Cluster
    model : Model
    setup : Setup
    table : ProcedureTable
    tell : callable
        Lets a server come or go, and tells all that have to know.

    Attributes
    ----------
    changes : list of FaultTable
        What they did, as faults of a scenario would say it.
    """

    def __init__(
        self, cluster: Cluster, model: Model, setup: Setup, table: ProcedureTable, tell: Tell
    ) -> None:
        self._clock = clock = cluster.clock
        self._names = cluster.names
        self._timeline = cluster.timeline
        self._model = model
        self._table = table
        self._tell = tell
        self._data = [n for n in range(cluster.size) if n not in cluster.arbitrators]
        order = table.on(self._names, setup.scenario.arbitrators)
        self._order = [self._names.index(name) for name in order]
        self._leads = setup.model.writers(setup.options) is not None
        self._down: set[int] = set()
        self._fewest = 0  # nodes that served in the step that is under way
        self._looks: list[tuple[float, tuple[str, ...]]] = []
        self._steps: dict[str, StepRecord] = {}
        self._stopped = ""
        self._ended_s: float | None = None
        self.changes: list[FaultTable] = []
        if table.done == "grow":
            for node in self._order:
                clock.at(0.0, self._away, node)
        clock.process(self._play())

    def record(self, ended_s: float) -> ProcedureRecord:
        """What came of it; the run ended then."""
        table, over = self._table, self._ended_s is not None
        until_s = ended_s if self._ended_s is None else self._ended_s
        edges = [*self._looks, (until_s, ())]
        spells = [(names, after[0] - at_s) for (at_s, names), after in pairwise(edges)]
        full = len(self._looks[0][1]) if self._looks else 0
        noted = () if self._timeline is None else self._timeline.noted
        return ProcedureRecord(
            name=table.name or table.path,
            what=table.done,
            at_s=table.at_s,
            nodes=len(self._order),
            steps=dict(self._steps),
            total_s=_of(until_s - table.at_s if over and not self._stopped else None),
            stopped=(self._stopped,) if self._stopped else self._unfinished(over),
            reduced_s=Spread.of(sum(long_s for names, long_s in spells if len(names) < full)),
            serving=_of(min((len(names) for names, _ in spells), default=None)),
            without_quorum=Spread.of(
                float(sum(table.at_s <= one.at_s < until_s for one in noted if one.what in _ALONE))
            ),
            looks=self._looks,
        )

    def _unfinished(self, over: bool) -> tuple[str, ...]:
        return (
            () if over else (f"the run ends after {len(self._steps)} of {len(self._order)} nodes",)
        )

    # -- what they do --------------------------------------------------------------------------

    def _play(self) -> Generator[Event, Any, None]:
        """All of it."""
        yield self._clock.timeout(self._table.at_s)
        self._clock.process(self._watch())
        try:
            for node in self._order:
                yield from self._step(node)
        except _StoppedError as why:
            self._stopped = str(why)
            self._note("procedure-stops", how=self._stopped)
        else:
            self._note("procedure-ends")
        self._ended_s = self._clock.now

    def _step(self, node: int) -> Generator[Event, Any, None]:
        """One node."""
        table, clock, name = self._table, self._clock, self._names[node]
        self._fewest = len(self._serving())
        step = StepRecord(node=name, began_s=Spread.of(clock.now))
        began_s = clock.now

        def kept(**more: Any) -> None:
            nonlocal step
            step = self._steps[name] = replace(step, serving=Spread.of(float(self._fewest)), **more)

        kept()
        if table.done != "grow":
            if not (yield from self._there(node)):
                raise _StoppedError(f"{name} is not there, or does not serve")
            heir = yield from self._move_writer(node)
            heirs = () if heir is None else (self._names[heir],)
            kept(promoted=heirs, ready_s=Spread.of(clock.now - began_s))
            self._let(node, "leave")
            self._down.add(node)
            ordered_s = clock.now
            yield from self._until_ended(node, ordered_s)
            kept(stop_s=Spread.of(clock.now - ordered_s))
        if table.done == "rolling-restart":
            yield clock.timeout(table.down_s)
            kept(down_s=Spread.of(table.down_s))
        if table.done != "shrink":
            self._let(node, "restart")
            started_s = clock.now
            yield from self._until_back(node, started_s)
            self._down.discard(node)
            self._note("procedure-back", (node,))
            kept(back_s=Spread.of(clock.now - started_s))
        yield clock.timeout(table.pause_s)
        kept(pause_s=Spread.of(table.pause_s), duration_s=Spread.of(clock.now - began_s))

    def _move_writer(self, node: int) -> Generator[Event, Any, int | None]:
        """Promote another node if this is the only one that takes writes; returns which one."""
        status = self._model.status(node)
        if not (self._leads and self._table.move_writer and status is not None and status.writes):
            return None
        away = self._order if self._table.done == "shrink" else [node]
        done = [self._names.index(name) for name in self._steps]
        others = sorted(
            (other for other in self._serving() if other != node),
            key=lambda other: (other in away, other not in done, self._behind(other), other),
        )
        if not others:
            raise _StoppedError(f"nobody can take the place of {self._names[node]}")
        heir, began_s = others[0], self._clock.now
        self._let(heir, "promote")
        while not ((now := self._model.status(heir)) is not None and now.writes):
            yield from self._wait(began_s, f"{self._names[heir]} takes no writes")
        return heir

    def _until_ended(self, node: int, began_s: float) -> Generator[Event, Any, None]:
        """Until a server that was told to shut down has done so."""
        while (yield from self._there(node)):
            yield from self._wait(began_s, f"{self._names[node]} does not shut down")

    def _until_back(self, node: int, began_s: float) -> Generator[Event, Any, None]:
        """Until a node serves clients and has caught up."""
        while not (yield from self._there(node)) or self._behind(node) > self._table.max_behind:
            yield from self._wait(began_s, f"{self._names[node]} has not come back")

    def _wait(self, began_s: float, what: str) -> Generator[Event, Any, None]:
        """Until the next look; nobody waits for ever."""
        if self._clock.now - began_s >= self._table.timeout_s:
            raise _StoppedError(f"{what} within {duration(self._table.timeout_s)}")
        yield self._clock.timeout(self._table.check_s)

    def _let(self, node: int, what: ChangeWord) -> None:
        """Do it; what a server refuses then ends the procedure."""
        clock, table = self._clock, self._table
        transfer_s = table.transfer_s if what == "restart" else None
        self._note("procedure-does", how=_DOES[what].format(node=self._names[node]))
        self.changes.append(
            FaultTable.model_validate(
                {"what": what, "node": self._names[node], "at_s": clock.now}
                | {"name": _DOES[what].format(node=self._names[node])}
            )
        )
        try:
            self._tell(Change(clock.now, node, what, transfer_s))
        except ScenarioError as error:
            if error.path != "fault":
                raise
            raise _StoppedError(error.problem) from None

    def _away(self, node: int) -> None:
        """A node that is to join later is away from the begin."""
        self._down.add(node)
        self._tell(Change(self._clock.now, node, "leave"))

    # -- what they see -------------------------------------------------------------------------

    def _there(self, node: int) -> Generator[Event, Any, bool]:
        """Whether a server accepts a connection, and says that it serves."""
        clock = self._clock
        asking = clock.process(self._model.connect(node))
        yield asking | clock.timeout(self._table.check_s)
        if not asking.triggered or asking.value is not None:
            return False
        status = self._model.status(node)
        return status is not None and status.serves

    def _behind(self, node: int) -> float:
        backlog = self._model.backlog()
        return 0.0 if backlog is None else backlog[self._names[node]]

    def _serving(self) -> list[int]:
        """Who serves now."""
        return [
            node
            for node in self._data
            if node not in self._down
            and (status := self._model.status(node)) is not None
            and status.serves
        ]

    def _watch(self) -> Generator[Event, Any, None]:
        """Keep who serves, until the procedure is over."""
        while self._ended_s is None:
            serving = self._serving()
            self._fewest = min(self._fewest, len(serving))
            names = tuple(self._names[node] for node in serving)
            if not self._looks or self._looks[-1][1] != names:
                self._looks.append((self._clock.now, names))
            yield self._clock.timeout(_LOOK_S)

    def _note(self, what: str, of: Sequence[int] = (), how: str = "") -> None:
        if self._timeline is not None:
            self._timeline.note(OPERATOR, what, tuple(of), how)


def with_steps(scenario: Scenario, operators: Sequence[Operator]) -> Scenario:
    """The scenario with what operators did in a replication as faults: to look what followed."""
    steps = [change for one in operators for change in one.changes]
    if not steps:
        return scenario
    faults = (*scenario.fault_tables, *steps)
    return scenario.model_copy(update={"fault_tables": faults, "procedure_tables": ()})


def _of(value: float | None) -> Spread:
    return Spread((float("nan") if value is None else float(value),))
