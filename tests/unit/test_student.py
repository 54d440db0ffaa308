"""Student's quantile without SciPy is that of SciPy."""

from math import inf

import pytest
from scipy.special import stdtrit

from simrep.measure.student import exact_quantile

FREEDOMS = (0.5, 1, 1.5, 2, 3, 4.7, 9, 30, 120, 999.9, 1000, 12_345.6, 1e7)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_it_is_that_of_scipy(freedom):
    for probability in (0.01, 0.3, 0.5, 0.6, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9995):
        expected = float(stdtrit(freedom, probability))
        assert exact_quantile(freedom, probability) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_it_ends_in_the_normal_distribution():
    assert exact_quantile(inf, 0.975) == pytest.approx(1.959963984540054, rel=1e-12)
    assert exact_quantile(1e9, 0.975) == pytest.approx(1.959963984540054, rel=1e-8)


@pytest.mark.parametrize(("freedom", "probability"), [(0, 0.9), (3, 0), (3, 1), (-1, 0.5)])
def test_nothing_else_has_a_quantile(freedom, probability):
    with pytest.raises(ValueError, match="no quantile"):
        exact_quantile(freedom, probability)
