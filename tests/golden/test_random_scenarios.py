"""A few of the random scenarios of every model run as they did; ``make digests`` runs them all."""

from __future__ import annotations

import json

import pytest

from tests.golden.check_random import KEPT, differing
from tests.golden.random_scenarios import COUNT, MODELS, PORTABLE, scenario

FIRST = 8


@pytest.mark.parametrize("model", MODELS)
def test_the_first_scenarios_end_as_they_did(model: str) -> None:
    assert differing(model, FIRST) == [], (
        "runs differ. If that is intended, keep what they are now with\n"
        "    python tests/golden/check_random.py --write\n"
        'and say in the changelog under "Numbers changed" what changed and why.'
    )


def test_all_scenarios_are_kept() -> None:
    results = json.loads(KEPT.read_text())["results"]
    assert {model: len(found) for model, found in results.items()} == dict.fromkeys(MODELS, COUNT)
    assert FIRST <= PORTABLE


def test_a_scenario_is_always_the_same() -> None:
    assert scenario("galera", 7) == scenario("galera", 7) != scenario("galera", 8)
