"""Trials of what simrep says about its own accuracy: ``make accuracy`` (some minutes).

Are costs found again, as often as their standard errors say? Do intervals hold the truth as often
as they say? Does a cluster keep its promises under random schedules of faults? Writes results.json;
the tests hold it to its limits and repeat single trials.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.accuracy import (
    coverage,
    failures,
    group_failures,
    losses,
    predictions,
    recovery,
    source_failures,
)

RESULTS = Path(__file__).with_name("results.json")
RECOVERY_TRIALS = 20
COVERAGE_TRIALS = 200
SCHEDULES = 500
GROUP_SCHEDULES = 500
SOURCE_SCHEDULES = 200
CRASHES = 1000
SETTINGS = {"replications": 10, "duration_s": 2.0}
LONG_RUNS, LONG_S = 4, 500.0


def recovered(number: int) -> dict[str, float]:
    """A trial in a folder of its own."""
    with TemporaryDirectory() as place:
        return recovery.distances(recovery.dataset(Path(place) / "recovery"), number)


def intervals(jobs: int) -> dict[str, Any]:
    """What costs and intervals are."""
    with ProcessPoolExecutor(jobs) as pool:
        distances = list(pool.map(recovered, range(RECOVERY_TRIALS)))
        known = coverage.truth(
            pool.map(partial(coverage.long_run, long_s=LONG_S), range(LONG_RUNS))
        )
        numbers = range(COVERAGE_TRIALS)
        trials = list(pool.map(partial(coverage.trial, **SETTINGS), numbers, chunksize=10))
        naive = partial(coverage.naive, duration_s=SETTINGS["duration_s"])
        too_narrow = list(pool.map(naive, numbers, chunksize=10))
    return {
        "recovery": {
            "trials": RECOVERY_TRIALS,
            "standard_errors_away": {
                name: [one[name] for one in distances] for name in recovery.PARAMETERS
            },
        },
        "coverage": {
            "trials": COVERAGE_TRIALS,
            **SETTINGS,
            "truth": known,
            "held": {name: coverage.covered(trials, name, true) for name, true in known.items()},
            "held_if_independent": coverage.covered(
                too_narrow, coverage.MEAN, known[coverage.MEAN]
            ),
            "first": {name: [one.low, one.high] for name, one in trials[0].items()},
        },
    }


def broken_promises(jobs: int) -> dict[str, Any]:
    """Which promises were broken, by number of the schedule, and what the promises allow."""
    with ProcessPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(failures.outcome, range(SCHEDULES), chunksize=5))
    return {"failures": summed_up(outcomes)}


def broken_group_promises(jobs: int) -> dict[str, Any]:
    """The same of groups whose members are removed while the others go on."""
    with ProcessPoolExecutor(jobs) as pool:
        numbers = range(GROUP_SCHEDULES)
        outcomes = list(pool.map(group_failures.outcome, numbers, chunksize=5))
    return {"group_failures": summed_up(outcomes)}


def broken_source_promises(jobs: int) -> dict[str, Any]:
    """The same of a source and its replicas, of which others are promoted."""
    with ProcessPoolExecutor(jobs) as pool:
        numbers = range(SOURCE_SCHEDULES)
        outcomes = list(pool.map(source_failures.outcome, numbers, chunksize=5))
    return {"source_failures": summed_up(outcomes)}


def predicted(jobs: int) -> dict[str, Any]:
    """What follows from rules and was not measured, with its bounds."""
    every = predictions.predictions()
    with ProcessPoolExecutor(jobs) as pool:
        medians = list(pool.map(predictions.predicted, every))
    return {
        "predictions": [
            {"case": one.case, "metric": one.metric, "bounds": one.bounds, "simulated": median}
            for one, median in zip(every, medians, strict=True)
        ]
    }


def lost(jobs: int) -> dict[str, Any]:
    """What is answered and lost when a source crashes, and what that would be in closed form."""
    with ProcessPoolExecutor(jobs) as pool:
        numbers = range(CRASHES)
        counts = list(pool.map(losses.lost, numbers, chunksize=20))
        lossless = partial(losses.lost, model="semisync")
        with_replies = list(pool.map(lossless, numbers, chunksize=20))
    return {
        "losses": {
            "crashes": CRASHES,
            "mean": fmean(counts),
            "standard_error": stdev(counts) / CRASHES**0.5,
            "expected": losses.expected(),
            "most": max(counts),
            "semisync": sum(with_replies),
        }
    }


def summed_up(outcomes: list[failures.Outcome]) -> dict[str, Any]:
    """What is kept of the schedules, from the first one on."""
    numbered = [(str(number), outcome) for number, outcome in enumerate(outcomes)]
    return {
        "schedules": len(outcomes),
        "broken": {number: one.problems for number, one in numbered if one.problems},
        "taken_back": {number: one.taken_back for number, one in numbered if one.taken_back},
        "livelocks": [number for number, one in numbered if one.livelocks],
    }


PARTS = {
    "intervals": intervals,
    "failures": broken_promises,
    "group-failures": broken_group_promises,
    "source-failures": broken_source_promises,
    "losses": lost,
    "predictions": predicted,
}


def main() -> int:
    """Run all trials, and keep what comes of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", choices=PARTS, help="one part; the results of others stay")
    given = parser.parse_args()
    content = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name in [given.only] if given.only else PARTS:
        content |= PARTS[name](given.jobs)
    RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    shown = ("coverage", "failures", "group_failures", "source_failures", "losses", "predictions")
    print(json.dumps({name: content[name] for name in shown if name in content}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
