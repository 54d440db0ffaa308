"""Jitter: the shapes it has, and that a delay is never negative."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest

from simrep.kernel.streams import Streams
from simrep.network.link import Jitter, Latency

MS = 1e-3


def delays(base_s: float, *jitter: Jitter) -> list[float]:
    sampler = Latency(base_s, jitter).sampler(Streams(1), "path")
    assert sampler is not None
    return [sampler() for _ in range(20_000)]


@pytest.mark.parametrize("kind", ["normal", "lognormal", "gamma"])
def test_mean_and_standard_deviation_are_as_given(kind: str) -> None:
    drawn = delays(50 * MS, Jitter(kind, mean_s=4 * MS, sd_s=2 * MS))  # type: ignore[arg-type]
    assert fmean(drawn) == pytest.approx(54 * MS, abs=0.1 * MS)
    assert pstdev(drawn) == pytest.approx(2 * MS, rel=0.05)


def test_uniform_jitter_fills_the_delay_plus_and_minus_its_half_width() -> None:
    drawn = sorted(delays(50 * MS, Jitter("uniform", sd_s=10 * MS)))
    assert 40 * MS <= drawn[0] < 40.1 * MS
    assert 59.9 * MS < drawn[-1] <= 60 * MS
    for quarter in (1, 2, 3):
        assert drawn[quarter * len(drawn) // 4] == pytest.approx((40 + 5 * quarter) * MS, rel=0.01)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_jitter_never_makes_a_delay_negative(kind: str) -> None:
    drawn = delays(1 * MS, Jitter(kind, sd_s=5 * MS))  # type: ignore[arg-type]
    assert min(drawn) == 0.0
    assert 0.0 < drawn.count(0.0) / len(drawn) < 0.5


def test_a_constant_delay_needs_no_sampler() -> None:
    assert Latency(5 * MS).sampler(Streams(1), "path") is None
