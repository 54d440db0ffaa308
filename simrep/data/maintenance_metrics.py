"""What a run tells of a lock on one node: who stops, how far it falls behind, and when it is back.

The names of the figures are those under which the same was measured of real clusters. All times are
in seconds. They count from the begin of the lock, or from its end (``back``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan

import numpy as np
from numpy.typing import NDArray

from simrep.data.failure_run import Clients, Experiment, first_noted, longest_gap, rate
from simrep.data.queue_readings import QueueReadings
from simrep.kernel.timeline import Noted
from simrep.runs.replication import Replication

__all__ = ["counted", "maintenance_figures"]

_LAST_S = 3.0  # of the time in which the lock is held


def maintenance_figures(
    run: Replication, clients: Clients, experiment: Experiment, queues: QueueReadings | None = None
) -> Iterator[tuple[str, float]]:
    """All figures of a run by their names."""
    back = experiment.back_s - experiment.inject_s
    end = experiment.end_s - experiment.inject_s
    writers, victim = experiment.writers, experiment.victim
    name = experiment.names[victim]
    commits = clients.commits(writers)
    _, _, ended = longest_gap(commits, 0.0, back, end)
    yield "stall_ends_after_back_s", ended - back
    yield "tput_while_held_tps", rate(commits, back - _LAST_S, back)
    noted, own = run.noted, {victim}
    desynced_s = first_noted(noted, "desynced", own, experiment.inject_s)
    yield "desyncs_n", float(sum(one.what == "desynced" for one in noted))
    yield "desynced_after_inject_s", desynced_s - experiment.inject_s
    yield (
        "paused_after_inject_s",
        first_noted(noted, "paused", own, experiment.inject_s) - experiment.inject_s,
    )
    for word in ("joined", "synced"):
        at_s = first_noted(noted, word, own, experiment.back_s)
        yield f"{word}_after_back_s", at_s - experiment.back_s
    paused_s = _stopped_s(noted, experiment)
    stops = [
        one.node
        for one in noted
        if one.what == "fc-stop" and experiment.inject_s <= one.at_s < experiment.back_s
    ]
    for place, node in enumerate(experiment.names):
        yield f"flow_control_sent_{node}_n", float(stops.count(place))
        yield f"flow_control_recv_{node}_n", float(len(stops))
        yield f"flow_control_paused_{node}_s", paused_s
    longest = counted(run.counters[name], "_recv_queue_max")
    if queues is not None:
        longest = queues.longest(victim, experiment.inject_s, experiment.back_s)
    yield f"recv_queue_max_{name}_n", longest
    ordered = int((commits < back).sum())
    yield f"backlog_at_back_{name}_n", float(ordered - _applied(commits, noted, experiment))


def counted(counters: Mapping[str, float], end: str) -> float:
    """The counter whose name ends so; NaN if there is none."""
    return next((float(value) for name, value in counters.items() if name.endswith(end)), nan)


def _stopped_s(noted: Sequence[Noted], experiment: Experiment) -> float:
    """How long somebody had the cluster stopped while the lock was held."""
    since: dict[int, float] = {}
    stopped_s = began_s = 0.0
    for one in noted:
        if one.what == "fc-stop":
            began_s = began_s if since else one.at_s
            since[one.node] = one.at_s
        elif one.what == "fc-continue" and since.pop(one.node, None) is not None and not since:
            stopped_s += max(0.0, min(one.at_s, experiment.back_s) - began_s)
    return stopped_s + (experiment.back_s - began_s if since else 0.0)


def _applied(commits: NDArray[np.float64], noted: Sequence[Noted], experiment: Experiment) -> int:
    """Commits of the writers before the node began to hold back what it receives."""
    held_s = min(
        (one.at_s for one in noted
         if one.what in {"locked", "paused"} and one.node == experiment.victim),
        default=experiment.end_s,
    )  # fmt: skip
    return int((commits < held_s - experiment.inject_s).sum())
