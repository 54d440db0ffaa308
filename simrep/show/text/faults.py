"""Faults as tables for a terminal: what servers noticed, who was out, and the time line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf

from rich.console import Group, RenderableType
from rich.table import Table

from simrep.measure.spread import NEVER, Spread
from simrep.measure.staleness import StaleReads
from simrep.measure.units import amount, duration, number
from simrep.runs.fault_report import FateSpread, Faults
from simrep.runs.incidents import Absence, Incident
from simrep.runs.phases import GroupOutcome, Phase
from simrep.runs.staleness import Staleness
from simrep.runs.timeline import TimelineReport, without_repeats
from simrep.show.text.layout import table, title, words
from simrep.show.views import tables

__all__ = ["fault_parts", "spread_text"]

_table = partial(table, edges=True)
_LEAST_S = 0.02  # a shorter time between two commits is no stall worth a row


@tables.register(Faults)
def faults_tables(faults: Faults) -> Group:
    """What servers noticed of every fault, and the nodes that were out."""
    parts: list[RenderableType] = []
    for name, content in fault_parts(faults).items():
        parts += [title(name), content]
    return Group(*parts) if parts else Group(words("The scenario has no faults."))


@tables.register(TimelineReport)
def timeline_tables(timeline: TimelineReport) -> Group:
    """A row per line; what a node does again and again, in a single one."""
    rows = ((f"{line.at_s:.3f} s", text) for line, text in without_repeats(timeline.lines))
    heading = f"Time line of replication {timeline.replication}"
    return Group(title(heading), table(("time", "what"), "Rl", rows))


def fault_parts(faults: Faults, stale: Staleness | None = None) -> dict[str, Table]:
    """The tables of faults by their titles; none if no server noticed anything."""
    parts = {}
    noticed = [one for one in faults.values() if one.noticed]
    if noticed:
        parts["What servers noticed, in seconds after each fault"] = _noticed(noticed, faults.terms)
    done = [one for one in faults.values() if one.done_s]
    if done:
        parts["When nodes had done it, in seconds after it was asked for"] = _done(done)
    stalled = _stalls(faults)
    if stalled.row_count:
        parts["Stalls that clients saw"] = stalled
    if any(one.absences for one in noticed):
        parts["Nodes that were out; state and synced: seconds after the fault ended"] = _absences(
            noticed
        )
    if faults.phases:
        parts["Clients from fault to fault"] = _phases(faults.phases.values())
        met = list(_errors(faults.phases.values()))
        if met:
            heads = ("phase", "clients", "error", "times", "first after (s)", "longest wait")
            parts["Errors that clients met"] = _table(heads, "lllr", met)
    got = got_table(faults, stale)
    if got is not None:
        parts["Answers and reads of clients, from fault to fault"] = got
    if faults.fates is not None:
        parts["Transactions that write, in the whole run"] = _fates(faults.fates)
    return parts


def spread_text(spread: Spread, text: Callable[[float], str] = duration) -> str:
    """The median, and the range over replications if there are several."""
    if not spread.known:
        return "-"
    low, high = text(spread.low), text(spread.high)
    return text(spread.median) if low == high else f"{text(spread.median)} ({low} .. {high})"


def _seconds(spread: Spread) -> str:
    """Seconds with two decimals, which timers of servers need."""
    return spread_text(spread, lambda seconds: f"{seconds:z.2f}")


def _noticed(found: Sequence[Incident], terms: Mapping[str, str]) -> Table:
    evicts = any(one.evicted for one in found)
    elects = any(one.elected for one in found)
    routes = any(one.rerouted or one.left_out_s.known for one in found)
    heads = (
        *("fault", "at (s)", "link lost", "suspected", "by"),
        *(("voted out",) if evicts else ()),
        *(terms.get("stable", "new view"), terms.get("primary", "quorum")),
        *(("takes writes", "node") if elects else ()),
        *(("proxy", "writes to") if routes else ()),
    )
    rows = (
        (one.called, f"{one.at_s:g}", _seconds(one.link_closed_s), _seconds(one.suspected_s),
         ", ".join(one.suspected_by) or "-",
         *((_seconds(one.evicted_s),) if evicts else ()),
         _seconds(one.view_s), _seconds(one.primary_s),
         *((_seconds(one.writable_s), ", ".join(one.elected) or "-") if elects else ()),
         *((_seconds(one.left_out_s), _where(one)) if routes else ()))
        for one in found
    )  # fmt: skip
    aligned = f"lrrrl{'r' * (3 if evicts else 2)}{'rl' if elects else ''}{'rl' if routes else ''}"
    return _table(heads, aligned, rows)


def _where(one: Incident) -> str:
    """Where a proxy sent writes, and after how many seconds."""
    return f"{', '.join(one.rerouted)} {_seconds(one.rerouted_s)}" if one.rerouted else "-"


def _stalls(found: Faults) -> Table:
    """A row per fault and group; a stall that has begun with an earlier fault is told there.

    Of a stall that the end of the run has cut off nobody knows how long it would have been.
    """
    run_end_s = max((phase.to_s for phase in found.phases.values()), default=inf)
    heads = ("fault", "clients", "no commit for", "began after (s)", "longest wait")

    def rows() -> Iterator[tuple[str, ...]]:
        told: set[tuple[str, float]] = set()
        edges = [
            edge
            for one in found.values()
            for edge in (
                (one.at_s, one.called, one.stalls),
                (one.until_s, f"after {one.called}", one.end_stalls),
            )
        ]
        for at_s, called, stalls in sorted(edges, key=lambda edge: edge[0]):
            for group, stall in stalls.items():
                key = group, round(at_s + stall.began_s.median, 3)
                if key not in told and stall.stall_s.median >= _LEAST_S:
                    told.add(key)
                    lasted = spread_text(stall.stall_s)
                    if at_s + stall.began_s.median + stall.stall_s.median > run_end_s - _LEAST_S:
                        lasted = f"{lasted}, to the end of the run"
                    yield (
                        *(called, group, lasted),
                        *(_seconds(stall.began_s), spread_text(stall.longest_wait_s)),
                    )

    return _table(heads, "llr", rows())


def _done(found: Sequence[Incident]) -> Table:
    """What operators asked for, and when each node had done it."""
    nodes = sorted({node for one in found for node in one.done_s})
    rows = (
        (one.called, f"{one.at_s:g}", *(_seconds(one.done_s.get(node, NEVER)) for node in nodes))
        for one in found
    )
    return _table(("operation", "at (s)", *nodes), f"lr{'r' * len(nodes)}", rows)


def _absences(found: Iterable[Incident]) -> Table:
    heads = ("node", "fault", "quorum lost", "quorum again", "back by", "has the state", "synced")
    rows = (
        (node, one.called, _seconds(absence.non_primary_s), _seconds(absence.primary_s),
         _way_back(absence) or "-",
         _seconds(absence.joined_s), _seconds(absence.synced_s))
        for one in found
        for node, absence in one.absences.items()
    )  # fmt: skip
    return _table(heads, "llrrlr", rows)


def _way_back(absence: Absence) -> str:
    """How it got the state, from whom, and why it was out."""
    donors = (f"from {donor}" for donor in absence.donor)
    tries = (f"try {number}" for number in absence.rejoin)
    return ", ".join((*absence.how, *donors, *absence.ended, *tries))


def _phases(phases: Iterable[Phase]) -> Table:
    """A row per phase and group of clients."""
    heads = ("phase", "time (s)", "clients", "commits/s", "p50", "p99", "longest")

    def rows() -> Iterator[tuple[str, ...]]:
        for phase in phases:
            names = phase.name, f"{phase.from_s:.5g} .. {phase.to_s:.5g}"
            several = len(phase.groups) > 1
            for group, seen in phase.groups.items():
                yield (*names, group, *_seen(seen))
                names = "", ""
            if several:
                yield (*names, "all", *_seen(phase.clients))
            for part, from_s, to_s, groups in list(phase.parts())[1:]:
                names = f"  {part.rpartition(': ')[2]}", f"{from_s:.5g} .. {to_s:.5g}"
                for group, seen in groups.items():
                    yield (*names, group, *_seen(seen))
                    names = "", ""

    return _table(heads, "lLlr", rows())


def _seen(seen: GroupOutcome) -> tuple[str, ...]:
    return (
        spread_text(seen.throughput_tps, number),
        *(duration(seen.latency.percentile(percent)) for percent in (50, 99)),
        spread_text(seen.longest_s),
    )


def _errors(phases: Iterable[Phase]) -> Iterator[tuple[str, ...]]:
    """A row per phase, group and error."""
    for phase in phases:
        name = phase.name
        for group, seen in phase.groups.items():
            for error, one in seen.errors.items():
                first, longest = _seconds(one.first_s), spread_text(one.longest_wait_s)
                yield (name, group, error, spread_text(one.times, number), first, longest)
                name = ""


_WRITES = {
    "answered": "writes answered",
    "lost": "lost",
    "duplicated": "there twice",
    "phantom": "seen, then lost",
}


def got_table(faults: Faults, stale: Staleness | None) -> Table | None:
    """What clients got from fault to fault: answers that are lost, reads that miss an answer.

    None if there is nothing to tell that other tables do not.
    """
    gone = any(
        getattr(phase, name).high > 0
        for phase in faults.phases.values()
        for name in _WRITES
        if name != "answered"
    )
    if not faults.phases or not (gone or stale is not None):
        return None
    ends = ["answered", "lost"]
    ends += [name for name in ("duplicated", "phantom")
             if any(getattr(phase, name).high > 0 for phase in faults.phases.values())]  # fmt: skip
    heads = ("phase", *(_WRITES[name] for name in ends))
    if stale is not None:
        heads += ("reads", "stale", "oldest", "own write missing")

    def rows() -> Iterator[tuple[str, ...]]:
        by_phase = {} if stale is None else stale.phases
        for phase in faults.phases.values():
            written = [spread_text(getattr(phase, name), amount) for name in ends]
            read = () if stale is None else _reads(by_phase.get(phase.name))
            yield (phase.name, *written, *read)

    return _table(heads, "lr", rows())


def _reads(count: StaleReads | None) -> tuple[str, ...]:
    if count is None:
        return ("-",) * 4
    oldest = duration(count.age_s["max"]) if count.reads else "-"
    own = f"{amount(count.own_writes)} of {amount(count.of_own)}" if count.of_own else "-"
    return amount(count.of_reads), f"{amount(count.reads)} ({count.share:.1%})", oldest, own


_FATES = {
    "answered": "answered: committed",
    "lost": "  of these, on no node at the end",
    "diverged": "  of these, on a node outside of the service",
    "failed": "answered: not committed",
    "failed_present": "  of these, on a node all the same",
    "unknown": "outcome unknown to the client",
    "unknown_present": "  of these, on a node",
    "duplicated": "on a node twice, as they were submitted again",
    "phantom": "seen by readers, and on no node at the end",
    "extra": "only on a node outside of the service",
    "overlooked": "missing for good on a node that takes itself to have them",
    "waiting": "without an answer at the end",
}

_IF_ANY = {"diverged", "phantom", "extra", "overlooked"}


def _fates(fates: FateSpread) -> Table:
    rows = (
        (said, spread_text(getattr(fates, name), amount))
        for name, said in _FATES.items()
        if name not in _IF_ANY or getattr(fates, name).high
    )
    return _table(("transactions", "number"), rows=rows)
