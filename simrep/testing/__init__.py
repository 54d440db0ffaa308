"""A harness for tests of replication models, one's own and those of this package.

- ``WiredCluster``: a cluster of any model, wired by hand, whose clients are told what to do.
- ``simrep.testing.strategies``: random scenarios of any model (needs Hypothesis).
- ``check`` and what it is made of: what must hold of every run, whatever the model.

>>> from simrep.models.standalone import Standalone
>>> cluster = WiredCluster(Standalone, [[0.0]], costs={"statement_us": 500.0})
>>> cluster.client([updates(client=0, node=0, number=0)])
>>> [round(attempt.ended_s, 6) for attempt in cluster.run().committed]
[0.0005]
"""

from simrep.testing.invariants import (
    check,
    check_conservation,
    check_convergence,
    check_determinism,
    check_floor,
    check_little,
    check_nodes,
    check_stages,
    round_trip_s,
)
from simrep.testing.wired import Attempt, WiredCluster, free, reads, updates

__all__ = [
    "Attempt",
    "WiredCluster",
    "check",
    "check_conservation",
    "check_convergence",
    "check_determinism",
    "check_floor",
    "check_little",
    "check_nodes",
    "check_stages",
    "free",
    "reads",
    "round_trip_s",
    "updates",
]
