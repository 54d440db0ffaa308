"""What a run tells of a source that waits for replicas: until when, and for how many of them.

And what the loss of such a source takes with it. The names of the figures are those under which the
same was measured of real servers. All times are in seconds. They count from the fault, if the name
does not say that they count from its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import nan

from simrep.data.failure_run import Clients, Experiment, window
from simrep.kernel.timeline import Noted
from simrep.workload.fate import FateCount

__all__ = ["acknowledgement_figures"]

_Figures = Iterator[tuple[str, float]]
_State = tuple[float, bool, int]  # since when, whether it waits, and how many replicas it has

_AFTER_SWITCH_S = 0.2  # where the measured window begins


def acknowledgement_figures(
    noted: Collection[Noted], clients: Clients, experiment: Experiment, fates: FateCount | None
) -> _Figures:
    """All figures of a run; what did not happen is NaN or left out."""
    yield from _of_source(_states(noted, experiment), clients, experiment)
    if fates is not None:
        yield from _of_crash(fates)
    for node in {line.node for line in noted if line.what == "outside"} & {experiment.victim}:
        own = (line for line in noted if line.node == node and line.what == "outside")
        yield "old_source_restart_s", next(own).at_s - experiment.back_s


def _states(noted: Collection[Noted], experiment: Experiment) -> list[_State]:
    """What the status variables of the source say, after each change."""
    source = next((group.node for group in experiment.writers), 0)
    waits, connected = True, {*range(len(experiment.names))} - {source}
    states = [(0.0, waits, len(connected))]
    for line in noted:
        if line.node != source:
            continue
        if line.what in {"async", "sync"}:
            waits = line.what == "sync"
        elif line.what == "link-open":
            connected |= {*line.of}
        elif line.what == "link-closed":
            connected -= {*line.of}
        states.append((line.at_s, waits, len(connected)))
    return states


def _of_source(states: list[_State], clients: Clients, experiment: Experiment) -> _Figures:
    start_s, back_s = experiment.inject_s, experiment.back_s
    off_s = _since(states, start_s, waits=False)
    on_s = _since(states, max(off_s, back_s), waits=True)
    yield "waiting_off_after_inject_s", off_s - start_s
    yield "waiting_on_again_after_restart_or_heal_s", on_s - back_s
    for count in (0, 1):
        reached_s = _since(states, start_s, connected=count)
        yield f"source_clients_{count}_after_inject_s", reached_s - start_s
    whole_s = _since(states, back_s, waits=True, connected=len(experiment.names) - 1)
    yield "waiting_on_with_2_clients_after_restart_s", whole_s - back_s
    low = off_s - start_s + _AFTER_SWITCH_S
    yield from window("async_fallback", clients, experiment.writers, low, back_s - start_s)


def _since(
    states: list[_State], after_s: float, *, waits: bool | None = None, connected: int | None = None
) -> float:
    """When a state is first seen, at a time or later; NaN if it never is."""
    ends = [at_s for at_s, _, _ in states[1:]]
    for (at_s, on, count), end_s in zip(states, [*ends, float("inf")], strict=True):
        fits = waits in {None, on} and connected in {None, count}
        if fits and end_s > after_s:
            return max(at_s, after_s)
    return nan


def _of_crash(fates: FateCount) -> _Figures:
    """What is on no server of the service any more, and what is there unanswered."""
    yield "acked_lost_on_source_n", float(fates.lost)
    yield "acked_missing_on_most_advanced_n", float(fates.lost)
    yield "old_source_rows_missing_on_most_advanced_n", float(fates.extra)
    yield "rows_read_by_others_on_source_missing_on_most_advanced_n", float(fates.phantom)
    yield "rows_on_replica_not_acknowledged_n", float(fates.unknown_present + fates.failed_present)
