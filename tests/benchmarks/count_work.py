"""How much a run computes, counted and not timed: events and Python calls per transaction.

    python tests/benchmarks/count_work.py [--json] [--only MODEL]

The same on every machine, so that the work of two versions can be compared whatever else runs.
Events are those of the clock; a call is one of a Python function, or a generator that continues.
Transactions are all that committed, in the warm-up as well.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

if __name__ == "__main__":  # behind everything else: PYTHONPATH says which simrep is counted
    sys.path.append(str(Path(__file__).resolve().parents[2]))

import simrep
from simrep.kernel.clock import Clock

__all__ = ["MODELS", "count"]

MODELS = ("galera", "group_replication", "semisync")
SCENARIO = {
    "cluster": {"nodes": 3},
    "network": {"rtt_ms": 0.5},
    "workload": {"preset": "sysbench-oltp-insert", "threads": 64},
}
RUN = {"duration_s": 2.0, "warmup_s": 0.5, "seed": 1}
SHORT = {"duration_s": 0.01, "seed": 1}


class Tally:
    """So many of something."""

    def __init__(self) -> None:
        self.count = 0


def _run(model: str, run: dict[str, float]) -> int:
    """Simulate; returns how many transactions committed."""
    scenario: dict[str, Any] = {
        **SCENARIO,
        "cluster": {**SCENARIO["cluster"], "model": model},
        "run": run,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simrep.run(scenario, replications=1)
    return result.runs[0].traffic.committed


@contextmanager
def _events() -> Iterator[Tally]:
    """Count the events of every clock that runs."""
    tally = Tally()
    run = Clock.run

    def counted(clock: Clock, *until: Any) -> Any:
        before = clock.events
        try:
            return run(clock, *until)
        finally:
            tally.count += clock.events - before

    Clock.run = counted
    try:
        yield tally
    finally:
        Clock.run = run


@contextmanager
def _calls() -> Iterator[Tally]:
    tally = Tally()

    def seen(_frame: FrameType, what: str, _argument: object) -> None:
        if what == "call":
            tally.count += 1

    sys.setprofile(seen)
    try:
        yield tally
    finally:
        sys.setprofile(None)


def count(model: str) -> dict[str, float]:
    """What a run of a model computes."""
    _run(model, SHORT)  # loads everything
    with _events() as events:
        committed = _run(model, RUN)
    with _calls() as calls:
        _run(model, RUN)
    return {
        "committed": committed,
        "events": events.count,
        "calls": calls.count,
        "events_per_commit": round(events.count / committed, 2),
        "calls_per_commit": round(calls.count / committed, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("--only", choices=MODELS, help="this model alone")
    given = parser.parse_args()
    counted = {model: count(model) for model in ([given.only] if given.only else MODELS)}
    if given.json:
        print(json.dumps(counted, indent=2))
        return
    print(f"{'model':<20}{'committed':>10}{'events/commit':>15}{'calls/commit':>15}")
    for model, one in counted.items():
        per = f"{one['events_per_commit']:>15.2f}{one['calls_per_commit']:>15.2f}"
        print(f"{model:<20}{one['committed']:>10}{per}")


if __name__ == "__main__":
    main()
