"""Random numbers without NumPy: the same as NumPy's, bit for bit."""

import numpy as np
import pytest
from numpy.random import PCG64, Generator, SeedSequence

from simrep.kernel.pcg64 import seeded

SEEDS = [((1, 0), (123456789, 14)), ((2**40 + 3, 7), (5, 2)), ((0, 0), ()), ((2**70, 1, 2), (9,))]


@pytest.mark.parametrize(("entropy", "key"), SEEDS)
def test_the_same_seed_gives_the_same_bits(entropy, key):
    expected = Generator(PCG64(SeedSequence(entropy, spawn_key=key))).random(200)
    assert seeded(entropy, key).random(200).tolist() == expected.tolist()


# So many that every layer of a ziggurat, its edge and its tail are drawn from.
@pytest.mark.parametrize(
    ("method", "arguments", "size"),
    [
        ("uniform", (2.0, 3.7), 1000),
        ("exponential", (0.3,), 60_000),
        ("normal", (1.0, 2.5), 60_000),
        ("lognormal", (-0.1, 0.4), 10_000),
        ("gamma", (2.5, 3.0), 5000),
        ("gamma", (1.0, 3.0), 1000),
        ("gamma", (0.4, 3.0), 5000),
        ("geometric", (0.5,), 1000),
        ("geometric", (0.01,), 5000),
        ("integers", (0, 10), 1001),
        ("integers", (0, 3 * 2**30), 1001),
        ("integers", (5, 2**32 + 5), 1001),
        ("integers", (-3, 2**40), 1001),
        ("integers", (4, 5), 10),
        ("choice", ((0.1, 0.2, 0.3),), 1000),
    ],
)
def test_the_same_numbers_of_every_distribution(method, arguments, size):
    ours = seeded((1, 0), (3, 14))
    numpys = Generator(PCG64(SeedSequence((1, 0), spawn_key=(3, 14))))
    expected = getattr(numpys, method)(*arguments, size)
    found = getattr(ours, method)(*arguments, size).tolist()
    exact = method not in ("normal", "lognormal", "gamma", "exponential", "geometric")
    # Functions of another mathematical library may differ in the last bit.
    assert found == (expected.tolist() if exact else pytest.approx(expected.tolist(), rel=1e-14))
    assert ours.random(1).tolist() == numpys.random(1).tolist()  # as many bits were used


def test_no_whole_number_between_two_equal_ones():
    with pytest.raises(ValueError, match="no whole number from 3 to below 3"):
        seeded((1,), ()).integers(3, 3, 1)


def test_blocks_are_as_long_as_asked_for():
    assert len(seeded((1,), ()).normal(0.0, 1.0, 7)) == 7
    assert np.array(seeded((1,), ()).random(3)).shape == (3,)
