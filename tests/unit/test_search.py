"""The search for a threshold, where the truth is known."""

from functools import partial

import numpy as np
import pytest

from simrep.measure.grammar import Range
from simrep.whatif.objective import Condition
from simrep.whatif.plan.search import MOST_VALUES, search

AT_MOST_1 = (Condition("latency_s.mean", at_most=True, limit=1.0),)


def noisy(curve, sd, seed):
    """Replications of a curve; a replication has the same noise at every value."""
    noise = np.random.default_rng(seed).normal(0.0, 1.0, 1000)

    def sample(value, numbers):
        return [(curve(value) + sd * noise[number],) for number in numbers]

    return sample


def independent(curve, sd, seed):
    """The same with noise of its own at every value."""
    generator = np.random.default_rng(seed)
    return lambda value, numbers: [(curve(value) + generator.normal(0.0, sd),) for _ in numbers]


HOW = {"largest": True, "precision": 0.05, "replications": 16, "confidence": 0.95}


def test_without_noise_the_limit_is_encircled():
    found = search(noisy(lambda x: x / 37.0, 0.0, 1), AT_MOST_1, Range(0.1, 500.0), **HOW)
    assert found.status == "found"
    assert found.start <= 37.0 < found.end <= 1.05 * found.start
    assert all(one.replications == 4 for one in found.tried)  # the first look is enough


@pytest.mark.parametrize("kind", [noisy, independent])
def test_the_interval_holds_the_truth(kind):
    """With 95 % confidence, in 100 searches.

    False alarm: 13 or more wrong intervals have a probability of 0.2 % if each is wrong in 5 % of
    all cases, and that is a bound (Bonferroni). Seeds are fixed.
    """
    wrong = 0
    for seed in range(100):
        found = search(kind(lambda x: x / 37.0, 0.2, seed), AT_MOST_1, Range(1.0, 500.0), **HOW)
        wrong += not (found.start <= 37.0 <= found.end)
    assert wrong < 13


def test_a_careless_confidence_is_wrong_more_often():
    """The test above can fail: with looks at 50 % many intervals miss the truth."""
    how = HOW | {"confidence": 0.5}
    grid = Range(1.0, 500.0)
    narrow = wide = 0.0
    for seed in range(20):
        sample = partial(independent, lambda x: x / 37.0, 0.2)
        loose = search(sample(seed), AT_MOST_1, grid, **how)
        strict = search(sample(seed), AT_MOST_1, grid, **HOW)
        narrow += loose.end / loose.start
        wide += strict.end / strict.start
    assert narrow < wide


def test_values_in_doubt_stay_open_and_both_sides_are_narrowed():
    found = search(independent(lambda x: x / 37.0, 0.2, 3), AT_MOST_1, Range(1.0, 500.0), **HOW)
    inside = [one for one in found.tried if found.start < one.value < found.end]
    assert inside
    assert {one.verdict for one in inside} == {"open"}
    assert {one.replications for one in inside} == {16}
    values = [found.start, *(one.value for one in inside), found.end]
    assert values[1] <= 1.05 * values[0]
    assert values[-1] <= 1.05 * values[-2]


def test_the_smallest_of_whole_numbers():
    at_least = (Condition("throughput_tps", at_most=False, limit=100.0),)
    how = HOW | {"largest": False}
    found = search(noisy(lambda x: 7.3 * x, 0.0, 1), at_least, Range(1, 256, whole=True), **how)
    assert (found.start, found.end) == (13.0, 14.0)
    assert all(one.value.is_integer() for one in found.tried)


def test_an_answer_outside_the_range_is_told():
    def sample(value, numbers):
        return [(value,) for _ in numbers]

    assert search(sample, AT_MOST_1, Range(0.1, 0.9), **HOW).status == "everywhere"
    assert search(sample, AT_MOST_1, Range(1.1, 9.0), **HOW).status == "nowhere"


def test_a_question_that_is_not_monotone_is_told():
    def humps(value, numbers):
        return [(2.0 if 10.0 < value < 50.0 else 0.5,) for _ in numbers]

    found = search(humps, AT_MOST_1, Range(1.0, 500.0), **HOW)
    assert found.start <= 10.0 < found.end
    assert found.strays
    assert min(found.strays) >= 50.0


def test_chance_may_hide_everything():
    found = search(independent(lambda _: 1.0, 5.0, 1), AT_MOST_1, Range(1.0, 9.0), **HOW)
    assert found.status == "open"
    assert found.start is None
    assert found.end is None


def test_what_has_no_figure_is_not_met():
    def sample(value, numbers):
        return [(0.5 if value < 5.0 else float("nan"),) for _ in numbers]

    found = search(sample, AT_MOST_1, Range(1.0, 9.0), **HOW)
    assert found.start < 5.0 <= found.end


def test_all_conditions_count():
    both = (*AT_MOST_1, Condition("throughput_tps", at_most=False, limit=100.0))

    def sample(value, numbers):
        return [(value / 50.0, 1000.0 / value) for _ in numbers]

    found = search(sample, both, Range(1.0, 500.0), **HOW)
    assert found.start <= 10.0 < found.end  # 1000 / 10 = 100, long before 50


def test_it_ends_when_it_has_tried_enough():
    tiny = HOW | {"precision": 1e-12}
    found = search(noisy(lambda x: x / 37.0, 0.0, 1), AT_MOST_1, Range(1.0, 500.0), **tiny)
    assert found.exhausted
    assert len(found.tried) == MOST_VALUES


def test_an_interrupted_search_keeps_what_it_has():
    def progress(done, _):
        if done == 5:
            raise KeyboardInterrupt

    sample = noisy(lambda x: x / 37.0, 0.0, 1)
    found = search(sample, AT_MOST_1, Range(1.0, 500.0), progress=progress, **HOW)
    assert len(found.tried) == 5
    assert not found.complete
