"""The gates of a run: what has to hold for its figures to be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING

from simrep.rig.transactions import CONFLICTS

if TYPE_CHECKING:
    from simrep.rig.cluster import Health
    from simrep.rig.delays import DelayMatrix
    from simrep.rig.engine import RoundTrip
    from simrep.rig.experiment import Limits
    from simrep.rig.relays import DelayStatistics
    from simrep.rig.transactions import Loaded

__all__ = ["Gate", "Observed", "gates", "round_trip_gate"]

_NOT_ACKNOWLEDGED = {"rpl_semi_sync_source_no_tx", "rpl_semi_sync_master_no_tx"}
"""Commits of a source that did not wait, or not long enough, for a replica."""
_ROUND_TRIP_MS = 0.5
_ROUND_TRIP_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition, and what was found if it does not hold."""

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen around a run.

    Attributes
    ----------
    before, after : Health
    contents : mapping of node to str
        Fingerprints of its tables after the run.
    caught_up : bool
        Whether all nodes had applied everything in time.
    written : int or None
        Transactions that the tables show.
    loaded : Loaded
    delays : DelayStatistics
    lossy : bool
        Whether the layout loses packets on purpose.
    busy_before : float
        Share of the processors that was busy before the run.
    used_by_others, stolen : float
        Share of the processors that other work took, and that the machine did not get from its
        host; not a number where it is not known.
    in_time : bool
        Whether the load ended by itself.
    growth : mapping of node to mapping
        By how much counters grew.
    """

    before: Health
    after: Health
    contents: Mapping[str, str]
    caught_up: bool
    written: int | None
    loaded: Loaded
    delays: DelayStatistics
    lossy: bool
    busy_before: float
    used_by_others: float
    stolen: float
    in_time: bool
    growth: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def gates(observed: Observed, limits: Limits) -> Iterator[Gate]:
    """All gates of a run."""
    for name, health in (("before", observed.before), ("after", observed.after)):
        yield Gate(f"healthy {name}", health.ok, "; ".join(health.problems))
    changed = sorted(
        key
        for key in {*observed.before.facts, *observed.after.facts}
        if observed.before.facts.get(key) != observed.after.facts.get(key)
    )
    yield Gate("same members", not changed, f"changed: {', '.join(map(str, changed))}")
    equal = observed.caught_up and len(set(observed.contents.values())) == 1
    detail = ", ".join(f"{node}: {value}" for node, value in observed.contents.items())
    yield Gate("equal rows", equal, detail if observed.caught_up else f"not caught up; {detail}")
    loaded = observed.loaded
    if observed.written is not None:
        yield Gate(
            "rows written",
            observed.written == loaded.committed,
            f"{loaded.committed} committed, {observed.written} in the tables",
        )
    odd = {number: count for number, count in loaded.errors if number not in CONFLICTS}
    yield Gate("no odd errors", not odd, f"errors by number: {odd}")
    yield Gate("something committed", loaded.committed > 0, f"{loaded.failed} failed")
    yield Gate("in time", observed.in_time, f"cut off after {limits.run_s:g} s")
    alone_committed = sum(
        count
        for counters in observed.growth.values()
        for name, count in counters.items()
        if name in _NOT_ACKNOWLEDGED
    )
    yield Gate(
        "acknowledged", not alone_committed, f"{alone_committed:g} commits without a replica"
    )
    late_ms = observed.delays.late_mean_ms
    yield Gate(
        "delays kept", late_ms <= limits.late_mean_ms, f"late by {late_ms:.3f} ms on average"
    )
    dropped = 0 if observed.lossy else observed.delays.dropped
    yield Gate("nothing lost", not dropped, f"the relay dropped {dropped} packets")
    busy = observed.busy_before
    yield Gate("quiet before", busy <= limits.quiet, f"{busy:.0%} of the CPUs were busy")
    others = observed.used_by_others
    alone = isnan(others) or others <= limits.used_by_others
    yield Gate("alone", alone, f"others used {others:.0%} of the CPUs")
    withheld = f"{observed.stolen:.0%} of the CPUs were withheld"
    yield Gate("not held up", observed.stolen <= limits.stolen, withheld)


def round_trip_gate(
    wanted: DelayMatrix, found: Mapping[tuple[str, str], RoundTrip], base_ms: float
) -> Gate:
    """Whether pings show the delays that were asked for, on top of a round trip without any."""
    wrong = []
    for (a, b), seen in found.items():
        if wanted.link(a, b).loss or wanted.link(b, a).loss:
            continue
        jitter_ms = wanted.link(a, b).jitter_ms + wanted.link(b, a).jitter_ms
        asked_ms = wanted.round_trip_ms(a, b) + base_ms
        allowed_ms = max(_ROUND_TRIP_MS, _ROUND_TRIP_SHARE * asked_ms) + jitter_ms
        if abs(seen.mean_ms - asked_ms) > allowed_ms:
            wrong.append(f"{a}-{b}: {seen.mean_ms:.3f} ms instead of {asked_ms:.3f} ms")
    return Gate("round trips", not wrong, ", ".join(wrong))
