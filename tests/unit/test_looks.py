"""Comparisons that end when the answer is clear: how often they are wrong, and how soon they end.

The rule is played with made-up pairs, and not with simulations.
"""

import numpy as np
import pytest

import simrep
from simrep.measure.looks import looks
from simrep.runs.sampler import Sampler
from simrep.whatif.comparison import Comparison
from tests.whatif_scenarios import wan

ABOUT = {"labels": ("A", "B"), "seed": 1, "scenarios": ({}, {}), "versions": ({}, {})}
PLAYED = 1500


def ended(ratio, spread, generator, schedule, heavy=False):
    """A comparison by the rule, of pairs that have a part of their chance in common."""

    def simulate(numbers):
        for _ in numbers:
            common = generator.normal(0.0, spread)
            draw = generator.exponential(spread, 2) if heavy else generator.normal(0.0, spread, 2)
            yield (100.0 * np.exp(common + draw[0]),), (100.0 * ratio * np.exp(common + draw[1]),)

    def compared(pairs, confidence):
        return Comparison.of(pairs, ("throughput_tps",), confidence=0.95, look=confidence, **ABOUT)

    pairs = list(
        Sampler(
            simulate=simulate,
            looks=schedule,
            clear=lambda pairs, look: compared(pairs, look.confidence).clear,
        )
    )
    last = next(look for look in schedule if look.count == len(pairs))
    return compared(pairs, last.confidence)


@pytest.mark.parametrize(
    ("spread", "heavy", "counts"),
    [(0.002, False, (3, 10)), (0.05, False, (4, 40)), (0.05, True, (3, 10))],
)
def test_a_difference_is_seen_where_there_is_none_in_at_most_five_per_cent(spread, heavy, counts):
    """Ends with "different" by luck.

    False alarm: 75 of 1,500 are expected at most; 113 or more have a probability of 1e-5. The seed
    is fixed.
    """
    generator = np.random.default_rng(7)
    schedule = looks(*counts, 0.95)
    found = [ended(1.0, spread, generator, schedule, heavy) for _ in range(PLAYED)]
    assert sum(one["throughput_tps"].different for one in found) < 113


@pytest.mark.parametrize("ratio", [1.01, 1.1, 1.7])
def test_the_interval_holds_the_truth_wherever_it_ended(ratio):
    """Misses by luck; false alarm as above, and a ratio of means is biased by 0.1 % here."""
    generator = np.random.default_rng(8)
    schedule = looks(3, 10, 0.95)
    found = [ended(ratio, 0.03, generator, schedule)["throughput_tps"] for _ in range(PLAYED)]
    assert sum(ratio not in one.ratio for one in found) < 113


def test_looks_that_each_allow_all_of_the_error_are_wrong_more_often():
    """The tests above can fail: a rule that ends at the first look that sees a difference."""
    generator = np.random.default_rng(9)
    alarms = 0
    for _ in range(PLAYED):
        pairs = [(100.0 + a, 100.0 + b) for a, b in generator.normal(0.0, 5.0, (10, 2))]
        figures = [[((a,), (b,)) for a, b in pairs[:count]] for count in (3, 6, 10)]
        alarms += any(
            Comparison.of(one, ("throughput_tps",), confidence=0.95, **ABOUT)[
                "throughput_tps"
            ].different
            for one in figures
        )
    assert alarms >= 113


def test_a_large_difference_is_clear_at_once_and_a_small_one_takes_all():
    generator = np.random.default_rng(3)
    schedule = looks(3, 10, 0.95)
    large = [ended(1.7, 0.005, generator, schedule).pairs for _ in range(200)]
    assert large.count(3) > 190
    small = [ended(1.02, 0.03, generator, schedule).pairs for _ in range(200)]
    assert small.count(10) > 190
    none = [ended(1.0, 1e-4, generator, schedule).pairs for _ in range(200)]
    assert none.count(3) > 190


@pytest.mark.parametrize(("least", "most"), [(3, 10), (4, 24), (4, 4), (4, 5), (3, 2)])
def test_the_looks_share_the_error(least, most):
    schedule = looks(least, most, 0.95)
    assert schedule[-1].count == most
    assert [one.count for one in schedule] == sorted({one.count for one in schedule})
    assert sum(1.0 - one.confidence for one in schedule) == pytest.approx(0.05)


def test_a_comparison_says_that_it_ended_early():
    short = wan(run={"duration_s": 1, "warmup_s": 0.2})
    far = short.replace({"network.rtt_ms": 60.0})
    found = simrep.compare(short, far, figures=("throughput_tps",))
    assert found.early == (found.pairs < 10) == ("was clear after" in str(found))
    same = simrep.compare(short, short, figures=("throughput_tps",))
    assert (same.pairs, same.most) == (3, 10)
    assert same.verdict == "A and B do exactly the same."
    asked = simrep.compare(short, short, figures=("throughput_tps",), replications=4)
    assert (asked.pairs, asked.early) == (4, False)
