"""Bad input is refused, and random runs keep what must hold; ``make fuzz`` has many more."""

from __future__ import annotations

import json

import pytest

from tests.fuzz import cases, valid
from tests.fuzz.run import CASES, RESULTS, RUNS

BAD, RANDOM = 12, 5
KNOWN = {"ok", "refused", "stopped"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", cases.KINDS)
def test_bad_input_is_refused_and_never_a_traceback(kind: str) -> None:
    for number in range(BAD):
        end = cases.outcome(kind, number)
        assert end in KNOWN, f"python tests/fuzz/run.py --only {kind}/{number}\n{end}"


@pytest.mark.slow
@pytest.mark.parametrize("model", valid.MODELS)
def test_what_must_hold_of_every_run_holds_of_random_ones(model: str) -> None:
    for number in range(RANDOM):
        end = valid.outcome(model, number)
        assert end in KNOWN, f"python tests/fuzz/run.py --only {model}/{number}\n{end}"


def test_the_long_form_has_been_run_and_found_nothing() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    ends = {kind: sum(found.values()) for kind, found in kept["ends"].items()}
    assert sum(ends[kind] for kind in cases.KINDS) == CASES
    assert sum(ends[model] for model in valid.MODELS) == RUNS
    assert kept["faults"] == {}


def test_most_random_runs_are_not_refused() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    for model in valid.MODELS:
        assert kept["ends"][model]["ok"] > 0.85 * RUNS / len(valid.MODELS)


def test_cases_are_always_the_same() -> None:
    assert valid.drawn("galera", 3) == valid.drawn("galera", 3) != valid.drawn("galera", 4)
