"""Runs of replication groups in which servers crash, leave, are cut off and come back."""

from __future__ import annotations

import numpy as np

from simrep.runs.replication import Replication, simulate
from simrep.scenario import load

__all__ = ["NAMES", "Run", "fault", "scenario"]

NAMES = ("n1", "n2", "n3")


def fault(what, node, at_s, until_s=None, **keys):
    ends = {} if until_s is None else {"until_s": until_s}
    return {"what": what, "node": node, "at_s": at_s, **ends, **keys}


def scenario(*faults, duration_s=60.0, on_error="next", options=None, costs=None, **load):
    clients = {"on_error": on_error, "retry_pause_s": 0.02}
    options = {f"group_replication_{name}": value for name, value in (options or {}).items()}
    return {
        "cluster": {"model": "group_replication", "nodes": 3, "options": options}
        | {"costs": costs or {}},
        "network": {"rtt_ms": 0.1},
        "workload": {"threads": 2, "nodes": ["n1"], "think_time_ms": 300.0, "clients": clients}
        | load,
        "run": {"duration_s": duration_s},
        "fault": list(faults),
    }


class Run:
    """One replication, as an operator looks at it."""

    def __init__(self, content):
        self.done: Replication = simulate(load(content), seed=1)
        self.attempts = self.done.attempts

    def noted(self, what, node=None):
        return [one for one in self.done.noted
                if one.what == what and (node is None or NAMES[one.node] == node)]  # fmt: skip

    def errors(self, node):
        """Numbers of the errors that clients met on a node, with the time of the first."""
        log, number = self.attempts, NAMES.index(node)
        first = {}
        for ended_s, error, where in zip(log.ended_s, log.error, log.node, strict=True):
            if where == number and error:
                first.setdefault(log.texts[error].partition(" ")[0], float(ended_s))
        return first

    def commits_s(self, node=None):
        log = self.attempts
        ok = log.writes & (log.error == 0)
        if node is not None:
            ok &= log.node == NAMES.index(node)
        return log.ended_s[ok]

    def gap(self):
        """The longest time between two commits, and when it began."""
        times = np.sort(self.commits_s())
        place = int(np.argmax(np.diff(times)))
        return float(np.diff(times)[place]), float(times[place])

    @property
    def commits(self):
        """What each member has committed, of what the group has."""
        return {name: counts["Handler_commit"] for name, counts in self.done.counters.items()}
