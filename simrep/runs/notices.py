"""Notices about a run: what its figures rest on when that is too little."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, isnan
from typing import Any

from simrep.contract.setup import Setup
from simrep.measure.confidence import mean_interval
from simrep.runs.batch import figures_of
from simrep.runs.record import RunRecord
from simrep.runs.result import Result
from simrep.scenario import Scenario, load

__all__ = [
    "BEYOND",
    "mixed_notice",
    "notices",
    "percentile_notice",
    "precision_notice",
    "rests_on",
]

BEYOND = 20
"""So many transactions beyond a percentile tell it to about a quarter of the tail."""
_PHASED = {"faults", "scheduled", "load"}
"""Tables of a result whose figures are of a part of the run."""
_MEAN = re.compile(r"(?:^|\.)(?:throughput_tps|latency_s\..+)$")
"""A figure that is a mean over the run, or a percentile; others count, or are the longest."""
_PERCENTILE = re.compile(r"(?:^|\.)p(\d{1,2}(?:\.\d+)?)$")


def notices(
    setup: Setup,
    records: Sequence[RunRecord],
    interrupted: str,
    figure: str,
    values: Sequence[float],
    precision: float | None,
) -> Iterator[str]:
    """All that a run falls short of.

    ``interrupted`` says how far it had come, if it was; ``values`` are those of ``figure`` in each
    replication.
    """
    if interrupted:
        yield f"interrupted: {interrupted}"
    if precision is not None:
        counted = (rests_on(figure),)
        fewest = min(figures_of(Result.combine([record]), counted)[0] for record in records)
        imprecise = precision_notice(figure, values, precision)
        yield from filter(None, (imprecise, percentile_notice(figure, fewest)))
    if not any(record.measurement.committed for record in records):
        yield (
            "no transaction committed in the measured time: lengthen run.duration_s, or look for "
            "the reason in the counters"
        )
    for late in _never_happened(setup, records):
        yield f"{late}, when the run has ended: lengthen it, or let that come earlier"


def _never_happened(setup: Setup, records: Sequence[RunRecord]) -> Iterator[str]:
    """Events of the scenario at a time that no replication has reached."""
    for number, table in enumerate(setup.scenario.workload.scheduled):
        if all(isnan(record.scheduled[number].begin_s) for record in records):
            yield f"workload.scheduled.{number} ({table.name}) begins at {table.at_s:g} s"
    ended_s = max(record.measurement.ended_s for record in records)
    for fault in setup.scenario.faults:
        if fault.at_s > ended_s:
            place = fault.host or fault.node or ", ".join(fault.nodes or ())
            begins = "begins" if fault.lasts else "happens"
            yield f"{fault.path} ({fault.what} of {place}) {begins} at {fault.at_s:g} s"
    for course in setup.workload.courses:
        for at_s, name in [*course.phases, *((one.at_s, one.name) for one in course.bursts)]:
            if at_s > ended_s:
                yield f"{name!r} of workload.variation begins at {at_s:g} s"


def mixed_notice(scenarios: Iterable[Scenario | Mapping[str, Any]], figures: Iterable[str]) -> str:
    """That figures of whole runs mix phases, where there is no steady state; empty if none do.

    Parameters
    ----------
    scenarios : iterable of Scenario, or mapping
        Also as a result holds it.
    figures : iterable of str
        Their paths in a result.
    """
    whole = [
        path for path in figures if _MEAN.search(path) and path.partition(".")[0] not in _PHASED
    ]
    loaded = [load(one) for one in scenarios if one] if whole else []
    timed = dict.fromkeys(path for scenario in loaded for path in scenario.timed)
    if not timed:
        return ""
    rest = f" and {len(whole) - 2} more" if len(whole) > 2 else ""
    notice = (
        f"no steady state ({', '.join(timed)}): figures of the whole run mix its phases "
        f"({', '.join(whole[:2])}{rest})"
    )
    named = next((fault.name or fault.path for one in loaded for fault in one.faults), None)
    if named is None:
        return notice
    return (
        f"{notice}; those of a phase have paths such as "
        f"faults.{named}.during.clients.throughput_tps"
    )


def rests_on(path: str) -> str:
    """The path of the number of transactions that a figure rests on.

    Examples
    --------
    >>> rests_on("nodes.n2.latency_s.p95"), rests_on("latency_s.p95"), rests_on("makespan_s")
    ('nodes.n2.committed', 'committed', 'committed')
    """
    of, latency, _ = path.rpartition("latency_s.")
    return f"{of}committed" if latency else "committed"


def percentile_notice(path: str, committed: float) -> str:
    """The warning of a percentile that rests on too few transactions; empty if there is none.

    Examples
    --------
    >>> percentile_notice("latency_s.p99", 500)
    'latency_s.p99 rests on 5 of 500 transactions, 20 should lie beyond it: run 4 times as long'
    >>> percentile_notice("latency_s.p95", 500), percentile_notice("makespan_s", 5)
    ('', '')
    """
    match = _PERCENTILE.search(path)
    if match is None or not committed:
        return ""
    beyond = committed * (1.0 - float(match[1]) / 100.0)
    if round(beyond) >= BEYOND:
        return ""
    longer = f"{ceil(round(10.0 * BEYOND / beyond, 6)) / 10.0:.3g}" if beyond else "many"
    return (
        f"{path} rests on {beyond:.0f} of {committed:,.0f} transactions, {BEYOND} should lie "
        f"beyond it: run {longer} times as long"
    )


def precision_notice(path: str, values: Sequence[float], precision: float) -> str:
    """The warning of a figure whose interval is still too wide; empty if it is not."""
    if len(values) < 2:
        return ""
    found = mean_interval(values).relative
    if found <= precision:
        return ""
    return (
        f"{path} is known to {100 * found:.2g} % after {len(values)} replications, not to "
        f"{100 * precision:.2g} %: allow more of them, or make the run longer"
    )
