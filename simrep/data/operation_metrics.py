"""What a run tells of a statement that changes a table: who stops meanwhile, and for how long.

The names of the figures are those under which the same was measured of real clusters. All times are
in seconds. They count from when the first node begins to execute the statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nan

from simrep.data.failure_run import Clients, Experiment, Group, longest_gap
from simrep.data.maintenance_metrics import counted
from simrep.data.queue_readings import QueueReadings
from simrep.kernel.timeline import Noted
from simrep.runs.replication import Replication

__all__ = ["operation_figures"]

_AFTER_S = 1.0  # of the time after a stall in which others may stop the cluster
_SIGHT_S = 2.0  # after the statement in which flow control is looked at


def operation_figures(
    run: Replication, clients: Clients, experiment: Experiment, queues: QueueReadings | None = None
) -> Iterator[tuple[str, float]]:
    """All figures of a run by their names."""
    noted, names = run.noted, experiment.names
    began_s = _first(noted, "ddl-begins")
    ended_s = max((one.at_s for one in noted if one.what == "ddl-ends"), default=nan)
    if not ended_s >= began_s:
        return
    yield "ddl_answered_after_begin_s", _first(noted, "ddl-answers") - began_s
    low, high = began_s - experiment.inject_s, ended_s - experiment.inject_s
    end = experiment.end_s - experiment.inject_s
    own = [one for one in experiment.writers if one.node == experiment.victim]
    others = [one for one in experiment.writers if one.node != experiment.victim]
    for who, groups in (("others", others), ("ddl_node", own)):
        length, _, until = longest_gap(clients.commits(groups), low, high, end)
        yield f"stall_{who}_s", length
        yield f"max_latency_{who}_s", clients.longest(groups, low, high)
        if who == "others":
            yield from _waits_after(clients, others, until, names)
    yield from _queues(run, names, queues)
    stops = [one for one in noted if began_s <= one.at_s <= ended_s + _SIGHT_S]
    for place, name in enumerate(names):
        sent = sum(one.what == "fc-stop" and one.node == place for one in stops)
        yield f"flow_control_sent_{name}_n", float(sent)
        yield f"flow_control_paused_{name}_s", _stopped_s(stops)


def _first(noted: Sequence[Noted], what: str) -> float:
    return next((one.at_s for one in noted if one.what == what), nan)


def _waits_after(
    clients: Clients, groups: Sequence[Group], until: float, names: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """The longest latency of what was begun soon after a stall."""
    for group in groups:
        latencies = clients.latencies_begun([group], until, until + _AFTER_S)
        if len(latencies):
            yield f"longest_wait_after_{names[group.node]}_s", float(latencies.max())


def _queues(
    run: Replication, names: Sequence[str], queues: QueueReadings | None
) -> Iterator[tuple[str, float]]:
    """Of the node that ends first while it works, of the others afterwards."""
    first, ended_s = next((one.node, one.at_s) for one in run.noted if one.what == "ddl-ends")
    for place, name in enumerate(names):
        own = run.counters[name]
        if place == first:
            yield f"recv_queue_during_{name}_n", own.get("ddl_recv_queue", nan)
        else:
            longest = counted(own, "_recv_queue_max")
            if queues is not None:
                longest = queues.longest(place, ended_s)
            yield f"recv_queue_after_{name}_n", longest


def _stopped_s(noted: Sequence[Noted]) -> float:
    """How long any node had the cluster stopped."""
    stopped_s, since_s = 0.0, inf
    stopping: set[int] = set()
    for one in noted:
        if one.what == "fc-stop":
            since_s = since_s if stopping else one.at_s
            stopping.add(one.node)
        elif one.what == "fc-continue" and one.node in stopping:
            stopping.discard(one.node)
            stopped_s += 0.0 if stopping else one.at_s - since_s
    return stopped_s
