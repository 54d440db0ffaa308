"""What a source that crashes has answered and not sent: the line in front of its dump thread."""

from __future__ import annotations

import json
from statistics import fmean, stdev

from tests.accuracy import losses
from tests.accuracy.run import RESULTS

CRASHES = 20


def test_a_thousand_crashes() -> None:
    """The mean of 1,000 is within 3.3 standard errors: a false alarm in 1 of 1,000 seeds."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["losses"]
    assert kept["crashes"] == 1000
    assert abs(kept["mean"] - kept["expected"]) < 3.3 * kept["standard_error"]
    assert kept["semisync"] == 0


def test_twenty_crashes() -> None:
    """Within 4 standard errors of what 1,000 tell: a false alarm in 1 of 15,000 seeds."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["losses"]
    counts = [losses.lost(number) for number in range(CRASHES)]
    error = max(stdev(counts), 0.5) / CRASHES**0.5
    assert abs(fmean(counts) - kept["expected"]) < 4.0 * error
    assert not any(losses.lost(number, "semisync") for number in range(10))
