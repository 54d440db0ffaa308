"""Costs that made the data are found again, and standard errors are as large as they say.

A cost is recovered if the fit lies within two of its standard errors. For a normal posterior that
happens in 95.4 of 100 trials. ``make accuracy`` makes the trials (tests/accuracy/recovery.py).
"""

import json
import math

import pytest
from scipy.stats import binom

from tests.accuracy.recovery import PARAMETERS
from tests.accuracy.run import RESULTS, recovered

TRUE_RATE = math.erf(math.sqrt(2.0))
KEPT = json.loads(RESULTS.read_text(encoding="utf-8"))["recovery"]


def test_known_costs_are_found_within_two_standard_errors():
    """False alarm: three costs, each below the limit with a probability of less than 1e-4."""
    least = int(binom.ppf(1e-4, KEPT["trials"], TRUE_RATE))
    assert least >= 14
    for name in PARAMETERS:
        away = KEPT["standard_errors_away"][name]
        assert len(away) == KEPT["trials"]
        assert sum(abs(one) <= 2.0 for one in away) >= least, name


def test_a_trial_of_recovery_is_the_one_that_is_kept():
    first = {name: KEPT["standard_errors_away"][name][0] for name in PARAMETERS}
    assert recovered(0) == pytest.approx(first, rel=1e-6), "run make accuracy"
