"""A source that crashes at random instants: what was answered and is lost, against a closed form.

What a dump thread has sent when the process of its source ends is in the buffers of the kernel, and
arrives. Answered and lost is what still waits for the dump thread, or is with it. Transactions
come as a Poisson stream and the thread takes the same time for each, so that the line in front of
it is that of M/D/1: in the mean there are rho + rho^2 / (2 (1 - rho)) (Pollaczek and Khinchine). A
transaction may be sent before its client is answered, by the time that the storage engine takes
for its commit, and the answer to travel; so many times the rate are not answered yet.

With ``AFTER_SYNC`` nothing is answered that a replica does not have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simrep.runs.replication import simulate
from simrep.scenario import load

__all__ = ["crash", "expected", "lost"]

RATE_TPS = 200.0
SEND_S = 2e-3
_WARM_S = 1.0
_SPAN_S = 1.0  # the instants are spread over it


def crash(number: int, model: str = "asynchronous") -> dict[str, Any]:
    """A scenario in which the source is killed, and a replica that has received all is promoted."""
    at_s = _WARM_S + _SPAN_S * float(np.random.default_rng(number).random())
    return {
        "cluster": {
            "model": model,
            "nodes": ["n1", "n2", "n3"],
            "machine": {"cores": 8, "variation": 0.0},
            "costs": {"send_us": 1e6 * SEND_S, "fsync_us": 100.0},
        },
        "network": {"rtt_ms": 20.0},
        "workload": {"preset": "mysqlslap-insert", "rate_tps": RATE_TPS, "nodes": ["n1"]},
        "fault": [
            {"what": "kill", "node": "n1", "at_s": at_s},
            {"what": "promote", "node": "n2", "at_s": at_s + 0.5},
        ],
        "run": {"duration_s": _WARM_S + _SPAN_S + 0.6},
    }


def lost(number: int, model: str = "asynchronous") -> int:
    """How many transactions were answered and are on no node of the service."""
    count = simulate(load(crash(number, model)), 1, number).fates
    assert count is not None
    return count.lost


def expected(number: int = 0, seconds: float = 200.0) -> float:
    """How many are lost in the mean."""
    rho = RATE_TPS * SEND_S
    scenario = crash(number) | {"fault": [], "run": {"duration_s": seconds, "warmup_s": _WARM_S}}
    run = simulate(load(scenario), 1, number, trace=True)
    assert run.trace is not None
    readable_s = {one.seqno: one.time_s for one in run.trace if one.what == "binlog"}
    answers_s = [
        one.time_s - readable_s[one.seqno]
        for one in run.trace
        if one.node == 0 and one.what == "commit"
    ]
    in_line = rho + rho**2 / (2.0 * (1.0 - rho))
    return in_line - RATE_TPS * float(np.mean(answers_s))
