"""Bad input and random runs: ``make fuzz`` (some ten minutes); results.json holds what came of it.

    python tests/fuzz/run.py [--cases N] [--runs N] [--jobs 2] [--only KIND[/NUMBER]] [--write]

``--cases`` bad inputs of all kinds in turn (``cases.py``), and ``--runs`` valid scenarios of all
models in turn (``valid.py``). A single one, ``--only scenario/17``, tells its traceback.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.fuzz import cases, valid

RESULTS = Path(__file__).with_name("results.json")
CASES, RUNS = 10_000, 2_000
LONGEST_S = 300  # of a case, on a busy machine
MEMORY = 4 << 30  # bytes of a process
Task = tuple[str, int]


def tasks(number: int, kinds: list[str]) -> Iterator[Task]:
    """So many tasks, all kinds in turn."""
    return ((kinds[at % len(kinds)], at // len(kinds)) for at in range(number))


def done(task: Task) -> tuple[str, int, str]:
    """A task and how it ended."""
    kind, number = task
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LONGEST_S)
    try:
        return kind, number, (cases if kind in cases.KINDS else valid).outcome(kind, number)
    except TimeoutError as error:
        return kind, number, "".join(traceback.format_exception(error))
    finally:
        signal.alarm(0)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"not done after {LONGEST_S} s")


def bounded() -> None:
    """Let a process have so much memory; a case that needs more is a fault."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def together(given: list[Task], jobs: int) -> dict[str, Any]:
    """All tasks, and how often each kind ended how."""
    ends: dict[str, Counter[str]] = {}
    faults = {}
    with ProcessPoolExecutor(jobs, initializer=bounded) as pool:
        for kind, number, end in pool.map(done, given, chunksize=4):
            if faulty := end not in {"ok", "refused", "stopped"}:
                faults[f"{kind}/{number}"] = end.strip().splitlines()[-1]
                print(f"{kind}/{number}\n{end}", flush=True)
            ends.setdefault(kind, Counter())["fault" if faulty else end] += 1
    return {
        "ends": {kind: dict(sorted(found.items())) for kind, found in ends.items()},
        "faults": faults,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=CASES, metavar="N")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--only", metavar="KIND[/NUMBER]")
    parser.add_argument("--write", action="store_true", help="keep what is found")
    given = parser.parse_args()
    kinds, models = list(cases.KINDS), list(valid.MODELS)
    if given.only:
        kind, _, number = given.only.partition("/")
        if number:
            print(done((kind, int(number)))[2])
            return 0
        kinds, models = [[kind], []] if kind in kinds else [[], [kind]]
    todo = [
        *(tasks(given.cases, kinds) if kinds else ()),
        *(tasks(given.runs, models) if models else ()),
    ]
    found = together(todo, given.jobs)
    print(json.dumps(found, indent=2))
    if given.write:
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
