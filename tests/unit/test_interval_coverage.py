"""Intervals of simulated figures contain the truth as often as they say.

The truth is what arrives, and a long run. ``make accuracy`` makes the trials
(tests/accuracy/coverage.py). Intervals that take every transaction for independent hold it far
less often: the second test shows that such trials tell.
"""

from __future__ import annotations

import json
import re

import pytest
from scipy.stats import binom

from tests.accuracy.coverage import FIGURES, trial
from tests.accuracy.run import RESULTS
from tests.interpreters import ROOT

KEPT = json.loads(RESULTS.read_text(encoding="utf-8"))
COVERAGE = KEPT["coverage"]
SETTINGS = {name: COVERAGE[name] for name in ("replications", "duration_s")}
LEAST = int(binom.ppf(1e-6, COVERAGE["trials"], 0.95))


def test_intervals_of_throughput_and_latencies_cover_the_truth() -> None:
    """False alarm: below the limit with a probability of 1e-6."""
    assert COVERAGE["held"].keys() == FIGURES.keys()
    assert all(number >= LEAST for number in COVERAGE["held"].values()), COVERAGE["held"]


def test_the_same_test_tells_intervals_that_are_too_narrow() -> None:
    assert COVERAGE["held_if_independent"] < LEAST


def test_a_trial_is_the_one_that_is_kept() -> None:
    found = {name: [one.low, one.high] for name, one in trial(0, **SETTINGS).items()}
    for name, ends in COVERAGE["first"].items():
        assert found[name] == pytest.approx(ends, rel=1e-6), f"{name}: run make accuracy"


def test_the_page_says_what_came_out() -> None:
    page = (ROOT / "docs" / "explanation" / "uncertainty.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (.+?) \| (\d+ of \d+) \|$", page, re.MULTILINE))
    trials = COVERAGE["trials"]
    expected = {f"`{name}`": f"{held} of {trials}" for name, held in COVERAGE["held"].items()}
    expected["`latency_s.mean` of one run, as if transactions were independent"] = (
        f"{COVERAGE['held_if_independent']} of {trials}"
    )
    for name, away in KEPT["recovery"]["standard_errors_away"].items():
        near = sum(abs(one) <= 2.0 for one in away)
        expected[f"`{name}`"] = f"{near} of {len(away)}"
    assert table == expected
