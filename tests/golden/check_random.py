"""Compares the random scenarios with what became of them before.

    python tests/golden/check_random.py [--write] [--only MODEL] [--first N] [--jobs 2]

Everything is compared that a result holds: the scenario with its defaults, all figures, counters,
series, stations, the breakdown and the latency histogram; of the first ``TRACED`` of each model
every event as well. Left out are the versions, and the prediction, which is about other runs. Keys
that results did not have when the file was begun are left out too, so that a result may come to
say more. Stages must sum to latencies, and nodes to the whole. ``--write`` keeps what is found, by
the same keys, so that what is as it was stays as it is: say in the changelog why numbers have
changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # behind everything else: PYTHONPATH says which simrep is checked
    sys.path.append(str(Path(__file__).resolve().parents[2]))

import simrep
from simrep.testing import check_nodes, check_stages
from tests.golden.random_scenarios import COUNT, MODELS, scenario

__all__ = ["KEPT", "TRACED", "Found", "differing", "outcome"]

KEPT = Path(__file__).with_name("random_scenarios.json")
TRACED = 60
LEFT_OUT = ("versions", "prediction")
BY_NAME = {  # their keys are names
    "counters", "classes", "scheduled", "nodes", "nodes.*.classes", "errors", "error_texts",
    "classes.*.errors", "nodes.*.errors", "nodes.*.classes.*.errors",
}  # fmt: skip

Found = tuple[str, str | None, set[str]]


def _content(result: simrep.Result) -> dict[str, Any]:
    content = {key: one for key, one in result.to_dict().items() if key not in LEFT_OUT}
    content["buckets"] = _lists(result.histogram.buckets())
    return content


def _lists(value: Any) -> Any:
    """Tuples, and arrays and numbers of NumPy, as JSON can hold them."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_lists(one) for one in value] if isinstance(value, (list, tuple)) else value


def _paths(value: Any, path: str = "") -> Iterator[str]:
    """Dotted paths of all keys; ``*`` stands for a name."""
    if isinstance(value, dict):
        for key, one in value.items():
            inner = _inner(path, key)
            yield inner
            yield from _paths(one, inner)
    elif isinstance(value, list):
        for one in value:
            yield from _paths(one, path)


def _inner(path: str, key: str) -> str:
    if path in BY_NAME:
        key = "*"
    return f"{path}.{key}" if path else key


def _known(value: Any, keys: set[str], path: str = "") -> Any:
    """The value without the keys that were not there before."""
    if isinstance(value, dict):
        inner = {key: _inner(path, key) for key in value}
        return {
            key: _known(one, keys, inner[key]) for key, one in value.items() if inner[key] in keys
        }
    if isinstance(value, list):
        return [_known(one, keys, path) for one in value]
    return value


def outcome(model: str, number: int, keys: set[str] | None = None, *, trace: bool = False) -> Found:
    """What becomes of a scenario.

    Parameters
    ----------
    model : str
    number : int
    keys : set of str, optional
        Those that count; all if not given.
    trace : bool
        Digest the events too.

    Returns
    -------
    str
        The digest of the result, or the error that there was instead.
    str or None
        The digest of the events.
    set of str
        The keys that the result has.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = simrep.run(scenario(model, number), replications=1, trace=trace)
        except Exception as error:  # noqa: BLE001 - whatever a run ends with is compared
            return f"{type(error).__name__}: {error}", None, set()
    for run in result.runs:
        check_stages(run.measurement)
        check_nodes(run.measurement)
    content = _content(result)
    found = set(_paths(content))
    if keys is not None:
        content = _known(content, keys)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    events = result.runs[0].trace_digest if trace else None
    return hashlib.sha256(text.encode()).hexdigest()[:16], events, found


def _combined(events: list[str | None]) -> str:
    return hashlib.sha256("\n".join(map(str, events)).encode()).hexdigest()


def _outcome(model: str, keys: set[str] | None, number: int) -> Found:
    return outcome(model, number, keys, trace=number < TRACED)


def _all(model: str, first: int, jobs: int, keys: set[str] | None) -> list[Found]:
    one = partial(_outcome, model, keys)
    if jobs == 1:
        return [one(number) for number in range(first)]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(one, range(first), chunksize=5))


def differing(model: str, first: int, jobs: int = 1) -> list[str]:
    """What differs among the first scenarios of a model, as text."""
    kept = json.loads(KEPT.read_text())
    before, keys = kept["results"][model], set(kept["keys"][model])
    found = _all(model, first, jobs, keys)
    lines = [
        f"{model}/{number}: {text}, was {before[number]}"
        for number, (text, _, _) in enumerate(found)
        if text != before[number]
    ]
    if first >= TRACED and not lines:
        events = _combined([one for _, one, _ in found[:TRACED]])
        if events != kept["events"][model]:
            lines.append(f"{model}: events of the first {TRACED} differ")
    return lines


def _write(models: list[str], jobs: int) -> None:
    kept: dict[str, Any] = {"results": {}, "events": {}, "keys": {}}
    if KEPT.exists():
        kept = json.loads(KEPT.read_text())
    for model in models:
        keys = set(kept["keys"].get(model, ()))
        found = _all(model, COUNT, jobs, keys or None)
        kept["results"][model] = [text for text, _, _ in found]
        kept["events"][model] = _combined([one for _, one, _ in found[:TRACED]])
        kept["keys"][model] = sorted(keys or set().union(*(keys for _, _, keys in found)))
        failed = sum(": " in text for text, _, _ in found)
        print(f"{model}: {COUNT} written, {failed} of them errors", flush=True)
    KEPT.write_text(json.dumps(kept, indent=0) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep what is found")
    parser.add_argument("--only", choices=MODELS, metavar="MODEL", help="this model alone")
    parser.add_argument("--first", type=int, default=COUNT, metavar="N", help="the first N of each")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    given = parser.parse_args()
    models = [given.only] if given.only else list(MODELS)
    if given.write:
        _write(models, given.jobs)
        return 0
    first = min(given.first, COUNT)
    wrong = 0
    for model in models:
        lines = differing(model, first, given.jobs)
        numbered = sum(line.startswith(f"{model}/") for line in lines)
        print(f"{model}: {first - numbered} of {first} equal", *lines, sep="\n  ", flush=True)
        wrong += len(lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
