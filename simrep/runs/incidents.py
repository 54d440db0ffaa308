"""Incidents: what servers noticed of each fault, when they went on, and when they were back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

from simrep.kernel.timeline import Noted
from simrep.measure.spread import NEVER, Spread
from simrep.scenario.events import Event, events
from simrep.scenario.faults import LINKS, FaultTable
from simrep.scenario.operation import OPERATIONS, OperationTable
from simrep.scenario.schema import Scenario

__all__ = ["Absence", "Incident", "StallSpread", "faults_of", "incidents"]

_RETURNS = {"restart", "bootstrap"}
_UNNOTICED = {"slow", "disk-stall", "promote", *OPERATIONS}
"""Whoever is slow, or told what to do, still answers: nobody is suspected for it."""
_LEAVES_BEHIND = {"flush-tables-with-read-lock", "desync"}
"""Afterwards its node has to catch up."""
_VOTES = ("evicts", "expel")
_WRITES = ("writable", "promoted")
_ENDS = ("evicted", "aborted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A node that could not serve its clients for a while; times in seconds.

    Attributes
    ----------
    non_primary_s : Spread
        After the begin of the fault: the node noticed that it is in no primary component.
    primary_s : Spread
        After the begin of the fault: it was in one again.
    donor, how : tuple of str
        Which nodes gave it the state, and how (``IST``, ``SST``); several where one followed
        another, or replications differ.
    joined_s, synced_s : Spread
        After the end of the fault, or the begin of one that brings a node back: it had the state,
        and it had caught up and served its clients.
    rejoin : tuple of str
        Which try of its own to come back was the last one, as ``2 of 3``; empty if there was none.
    ended : tuple of str
        Why its server gave up; empty if it did not.
    """

    non_primary_s: Spread = NEVER
    primary_s: Spread = NEVER
    donor: tuple[str, ...] = ()
    how: tuple[str, ...] = ()
    joined_s: Spread = NEVER
    synced_s: Spread = NEVER
    rejoin: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StallSpread:
    """The stall that a group of clients saw because of a fault; times in seconds.

    Attributes
    ----------
    stall_s : Spread
        The longest time between two successive commits of its transactions that write, or to the
        end of the run; of a group that only reads, between its reads.
    began_s : Spread
        When it began, after the begin of the fault (or its end); below 0 if the last commit was
        before that.
    longest_wait_s : Spread
        The longest that one of its clients waited for an answer meanwhile.
    """

    stall_s: Spread = NEVER
    began_s: Spread = NEVER
    longest_wait_s: Spread = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One fault, and what servers noticed of it; times are seconds after its begin.

    Attributes
    ----------
    path : str
        Where the scenario says it: ``fault.0``, ``fault.NAME``.
    name : str
        Its name in the scenario; the path if it has none.
    word : str
        What it is in a scenario: ``kill``.
    what : str
        It in words: ``n3 killed``.
    how : str
        Further words; empty if there are none.
    nodes : tuple of str
        Those that it happens to.
    at_s, until_s : float
        Begin and end in simulated seconds; the end is NaN of what happens in an instant, infinite
        of what goes on to the end of the run.
    link_closed_s : Spread
        The first connection between two servers was closed.
    suspected_s : Spread
        Somebody was suspected for the first time.
    suspected_by, suspected : tuple of str
        By which node, and whom; several where replications differ.
    evicted_s : Spread
        Somebody was voted out for the first time: as it was delayed too often, or the others asked
        to remove it.
    evicted : tuple of str
        Who that was.
    view_s : Spread
        The first node had a new view; of a fault that stops a node, one of the others.
    primary_s : Spread
        The first such node was in a primary component that may commit.
    writable_s : Spread
        Another node took writes, where only a single node does.
    elected : tuple of str
        Which one that was.
    left_out_s : Spread
        A proxy sent nobody any more to one of the nodes that it happens to.
    rerouted_s : Spread
        A proxy sent writes to another node than before.
    rerouted : tuple of str
        Which one that was.
    end_view_s, end_primary_s : Spread
        After the end of the fault: another node had a view with those that it happened to, and
        was in a primary component with them.
    done_s : mapping of str to Spread
        By name of the node: when it had done what an operator asked for, as to change a table.
    absences : mapping of str to Absence
        By name of the node.
    stalls, end_stalls : mapping of str to StallSpread
        By name of the group of clients: because of the fault, and because of its end.
    """

    path: str
    name: str
    word: str
    what: str
    how: str
    nodes: tuple[str, ...]
    at_s: float
    until_s: float
    link_closed_s: Spread = NEVER
    suspected_s: Spread = NEVER
    suspected_by: tuple[str, ...] = ()
    suspected: tuple[str, ...] = ()
    evicted_s: Spread = NEVER
    evicted: tuple[str, ...] = ()
    view_s: Spread = NEVER
    primary_s: Spread = NEVER
    writable_s: Spread = NEVER
    elected: tuple[str, ...] = ()
    left_out_s: Spread = NEVER
    rerouted_s: Spread = NEVER
    rerouted: tuple[str, ...] = ()
    end_view_s: Spread = NEVER
    end_primary_s: Spread = NEVER
    done_s: Mapping[str, Spread] = field(default_factory=dict)
    absences: Mapping[str, Absence] = field(default_factory=dict)
    stalls: Mapping[str, StallSpread] = field(default_factory=dict)
    end_stalls: Mapping[str, StallSpread] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """Its name; what it is, if it has none."""
        return self.what if self.name == self.path else self.name

    @property
    def noticed(self) -> bool:
        """Whether any server noted anything of it."""
        own = (
            self.link_closed_s, self.suspected_s, self.evicted_s, self.view_s, self.primary_s,
            self.writable_s, self.left_out_s, self.rerouted_s,
        )  # fmt: skip
        return bool(self.absences) or any(spread.known for spread in own)


def faults_of(scenario: Scenario | Mapping[str, Any]) -> list[Event]:
    """What happens to servers and links, and what operators do, in the order of time."""
    return [event for event in events(scenario) if not event.of_load]


def incidents(
    scenario: Scenario, noted: Sequence[Noted], names: Sequence[str]
) -> dict[str, Incident]:
    """All faults of a scenario by name, with what servers noted of them in one replication.

    Parameters
    ----------
    scenario : Scenario
    noted : sequence of Noted
        In the order of time.
    names : sequence of str
        Of the nodes, by position.
    """
    tables: dict[str, FaultTable | OperationTable] = {one.path: one for one in scenario.faults}
    tables |= {one.path: one for one in scenario.operations}
    faults = [
        _Fault(event, tables[event.path].what, tables[event.path].name or event.path)
        for event in faults_of(scenario)
    ]
    lines = [_Line.of_noted(one, names) for one in noted]
    return {fault.name: _Inquiry(fault, faults, lines, names).incident() for fault in faults}


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault with its word and its name in the scenario."""

    event: Event
    word: str
    name: str

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(self.event.nodes)

    @property
    def harms(self) -> bool:
        """Whether somebody may be suspected because of it."""
        return self.word not in _UNNOTICED | _RETURNS

    @property
    def back_from_s(self) -> float:
        """When the nodes that it happens to may begin to come back; infinite if it keeps them."""
        if self.word in _RETURNS:
            return self.event.at_s
        return self.event.until_s if self.event.lasts else inf


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the time line, with names of nodes."""

    at_s: float
    node: str
    what: str
    of: tuple[str, ...]
    how: str

    @classmethod
    def of_noted(cls, noted: Noted, names: Sequence[str]) -> _Line:
        of = tuple(names[n] for n in noted.of)
        return cls(noted.at_s, noted.who(names), noted.what, of, noted.how)


class _Inquiry:
    """Which lines of a time line follow from one of the faults."""

    def __init__(
        self,
        fault: _Fault,
        faults: Sequence[_Fault],
        lines: Sequence[_Line],
        names: Collection[str],
    ) -> None:
        self._fault = fault
        self._others = [one for one in faults if one is not fault]
        self._lines = lines
        self._names = names

    def incident(self) -> Incident:
        event, began_s = self._fault.event, self._fault.event.at_s
        suspicion, eviction = self._suspicion(), self._eviction()
        cause = suspicion or eviction
        view, primary = self._view(
            began_s if cause is None else cause.at_s, returns=suspicion is not None or not eviction
        )
        writes = self._until_next(_WRITES, began_s)
        routed = self._until_next(("proxy-writer",), began_s, lambda line: bool(line.of))
        end_view, end_primary = self._end_view()
        return Incident(
            path=event.path,
            name=self._fault.name,
            word=self._fault.word,
            what=event.what,
            how=event.how,
            nodes=event.nodes,
            at_s=began_s,
            until_s=event.until_s,
            link_closed_s=_after(self._link_closed(), began_s),
            suspected_s=_after(suspicion, began_s),
            suspected_by=() if suspicion is None else (suspicion.node,),
            suspected=() if suspicion is None else suspicion.of,
            evicted_s=_after(eviction, began_s),
            evicted=() if eviction is None else eviction.of,
            view_s=_after(view, began_s),
            primary_s=_after(primary, began_s),
            writable_s=_after(writes, began_s),
            elected=() if writes is None else (writes.node,),
            left_out_s=_after(self._left_out(), began_s),
            rerouted_s=_after(routed, began_s),
            rerouted=() if routed is None else routed.of,
            end_view_s=_after(end_view, event.until_s),
            end_primary_s=_after(end_primary, event.until_s),
            done_s=self._done(),
            absences=dict(self._absences()),
        )

    def _first(
        self, what: str, from_s: float, until_s: float, among: Callable[[_Line], bool]
    ) -> _Line | None:
        return next(self._all(what, from_s, until_s, among), None)

    def _all(
        self, what: str, from_s: float, until_s: float, among: Callable[[_Line], bool]
    ) -> Iterator[_Line]:
        for line in self._lines:
            if line.what == what and from_s <= line.at_s < until_s and among(line):
                yield line

    def _next_harm_s(self, nodes: Collection[str] | None = None) -> float:
        """When the next fault begins for which somebody may be suspected: to these nodes."""
        return min(
            (
                one.event.at_s
                for one in self._others
                if one.harms
                and one.event.at_s > self._fault.event.at_s
                and (nodes is None or one.nodes & set(nodes))
            ),
            default=inf,
        )

    def _involved(self, line: _Line) -> bool:
        return not self._fault.nodes or bool(self._fault.nodes & {line.node, *line.of})

    def _link_closed(self) -> _Line | None:
        if not self._fault.harms:
            return None
        until_s = self._next_harm_s()
        return self._first("link-closed", self._fault.event.at_s, until_s, self._involved)

    def _eviction(self) -> _Line | None:
        fault = self._fault
        if not fault.harms:
            return None
        began_s, until_s = fault.event.at_s, self._next_harm_s()
        votes = [self._first(what, began_s, until_s, self._involved) for what in _VOTES]
        return min((vote for vote in votes if vote), key=lambda line: line.at_s, default=None)

    def _left_out(self) -> _Line | None:
        """A proxy takes one of the nodes out."""
        fault = self._fault
        if not fault.harms:
            return None
        began_s, until_s = fault.event.at_s, self._next_harm_s(fault.nodes)
        return self._first(
            "proxy-down", began_s, until_s, lambda line: bool(fault.nodes & set(line.of))
        )

    def _until_next(
        self, words: Collection[str], from_s: float, among: Callable[[_Line], bool] = lambda _: True
    ) -> _Line | None:
        """The first of these words, before anything else happens that could be the reason."""
        edges = (one.event.at_s for one in self._others if one.word not in {"slow", "disk-stall"})
        until_s = min((edge_s for edge_s in edges if edge_s > from_s), default=inf)
        lines = [self._first(what, from_s, until_s, among) for what in words]
        return min((line for line in lines if line), key=lambda line: line.at_s, default=None)

    def _suspicion(self) -> _Line | None:
        """The first of a node that the fault happened to, or by it, as it may live."""
        fault = self._fault
        if not fault.harms:
            return None
        began_s, latest_s = fault.event.at_s, self._next_harm_s(fault.nodes)
        if fault.event.lasts:  # what begins after its end is suspected for itself
            begins = (one.event.at_s for one in self._others if one.harms)
            latest_s = min(latest_s, *(at_s for at_s in begins if at_s >= fault.event.until_s), inf)
        of_it = self._first(
            "suspect", began_s, latest_s,
            lambda line: not fault.nodes or bool(fault.nodes & set(line.of)),
        )  # fmt: skip
        until_s = inf if of_it is None else of_it.at_s
        by_it = self._first(
            "suspect", began_s, min(until_s, self._next_harm_s()),
            lambda line: line.node in fault.nodes,
        )  # fmt: skip
        return by_it or of_it

    def _view(self, from_s: float, *, returns: bool) -> tuple[_Line | None, _Line | None]:
        """The first view that follows, and the first primary component.

        If the nodes may return when the fault ends, views from then on follow from that.
        """
        fault = self._fault
        if fault.word in _UNNOTICED:
            return None, None
        edges = [edge_s for one in self._others for edge_s in (one.event.at_s, one.back_from_s)
                 if one.word not in _UNNOTICED]  # fmt: skip
        until_s = min((one for one in edges if one > from_s), default=inf)
        if returns and fault.event.lasts and fault.event.until_s > from_s:
            until_s = min(until_s, fault.event.until_s)

        def outside(line: _Line) -> bool:
            return fault.word in LINKS or line.node not in fault.nodes

        stable = self._first("stable", from_s, until_s, outside)
        began_s = from_s if stable is None else stable.at_s
        return stable, self._first("primary", began_s, until_s, outside)

    def _end_view(self) -> tuple[_Line | None, _Line | None]:
        """The first view with those that have failed after the end of that, and the component."""
        fault, from_s = self._fault, self._fault.event.until_s
        if not (fault.harms and fault.event.lasts and fault.nodes):
            return None, None
        edges = (one.event.at_s for one in self._others if one.word not in _UNNOTICED)
        until_s = min((edge_s for edge_s in edges if edge_s > from_s), default=inf)

        def with_them(line: _Line) -> bool:
            return line.node not in fault.nodes and fault.nodes <= set(line.of)

        stable = self._first("stable", from_s, until_s, with_them)
        if stable is None:
            return None, None
        return stable, self._first("primary", stable.at_s, until_s, with_them)

    def _absences(self) -> Iterator[tuple[str, Absence]]:
        """Nodes that were in no primary component, or gave up, or came back."""
        if self._fault.word in _UNNOTICED - _LEAVES_BEHIND:
            return
        noting = (one.node for one in self._lines if one.node in self._names)
        for node in dict.fromkeys([*self._fault.event.nodes, *noting]):
            absence = self._absence(node)
            if absence is not None:
                yield node, absence

    def _absence(self, node: str) -> Absence | None:
        fault, began_s = self._fault, self._fault.event.at_s

        def own(line: _Line) -> bool:
            return line.node == node

        def for_it(line: _Line) -> bool:
            return node in line.of

        out = self._out(node)
        if out is None and node not in fault.nodes:
            return None
        again = None if out is None else self._first("primary", out.at_s, inf, own)
        from_s, until_s = fault.back_from_s, self._next_harm_s({node})
        if not isfinite(from_s):
            from_s = until_s = inf
        given_back = self._given_back(node)

        def gets(line: _Line) -> bool:
            return line.node == node and line not in given_back

        synced = self._first("synced", from_s, until_s, gets)
        over_s = until_s if synced is None else synced.at_s
        given = [*self._all("donor", from_s, over_s, for_it)]
        states = [*self._all("joined", from_s, over_s, gets)]
        joined = states[-1] if states else None
        tries = [*self._all("rejoin", began_s, over_s if isfinite(over_s) else until_s, own)]
        ends = [self._first(what, began_s, self._next_harm_s(), own) for what in _ENDS]
        ended = [line for line in ends if line is not None]
        if not (out or joined or synced or ended):
            return None
        return Absence(
            non_primary_s=_after(out, began_s),
            primary_s=_after(again, began_s),
            donor=tuple(dict.fromkeys(line.node for line in given)),
            how=tuple(dict.fromkeys(line.how for line in given if line.how)),
            rejoin=tuple(line.how for line in tries[-1:]),
            joined_s=_after(joined, from_s),
            synced_s=_after(synced, from_s),
            ended=tuple(f"{line.what} {line.how}".strip() for line in ended[:1]),
        )

    def _done(self) -> dict[str, Spread]:
        """Nodes that had done what an operator asked for, each when it first had."""
        fault = self._fault
        done: dict[str, Spread] = {}

        def its(line: _Line) -> bool:
            return bool(line.how) and (
                line.how == fault.name or fault.event.what.startswith(line.how)
            )

        if fault.word in OPERATIONS:
            for line in self._all(f"{fault.word}-ends", fault.event.at_s, inf, its):
                done.setdefault(line.node, _after(line, fault.event.at_s))
        return done

    def _given_back(self, node: str) -> list[_Line]:
        """Lines by which a node is joined and synced again after it gave its state to another."""
        lines, gives = [], False
        for line in self._lines:
            if line.node != node:
                continue
            if line.what in {"donor", "joiner", "primary"}:
                gives = line.what == "donor"
            elif gives and line.what in {"joined", "synced"}:
                lines.append(line)
        return lines

    def _out(self, node: str) -> _Line | None:
        """When a node noticed that it is in no primary component, which it was before.

        What a server notes that was started later belongs to the fault that started it, and what
        one notes that another fault still holds, to that one.
        """
        began_s, was = self._fault.event.at_s, "primary"
        struck = node in self._fault.nodes
        if not struck and any(
            one.harms and node in one.nodes and one.event.at_s <= began_s < one.back_from_s
            for one in self._others
        ):
            return None
        until_s = min(
            (one.event.at_s for one in self._others
             if one.word in _RETURNS and node in one.nodes and one.event.at_s > began_s),
            default=inf,
        )  # fmt: skip
        until_s = min(until_s, self._next_harm_s({node} if struck else None))
        fresh = struck and self._fault.word in _RETURNS
        for line in self._lines:
            if line.node != node or line.what not in {"primary", "non-primary"}:
                continue
            left = line.what == "non-primary" and (fresh or was == "primary")
            if left and began_s <= line.at_s < until_s:
                return line
            was = line.what
        return None


def _after(line: _Line | None, began_s: float) -> Spread:
    return NEVER if line is None else Spread.of(line.at_s - began_s)
