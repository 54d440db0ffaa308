"""Named random streams."""

from __future__ import annotations

import pytest

from simrep.kernel.streams import Streams


def draws(streams: Streams, path: str, count: int = 10) -> list[float]:
    stream = streams.uniform(path)
    return [stream() for _ in range(count)]


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert draws(Streams(1), "node/2/cpu", 10_000) == draws(Streams(1), "node/2/cpu", 10_000)


def test_a_stream_does_not_depend_on_the_others() -> None:
    busy = Streams(1)
    other = busy.exponential("client/1/think", 1.0)
    for _ in range(100):
        other()
    assert draws(busy, "node/2/cpu") == draws(Streams(1), "node/2/cpu")


@pytest.mark.parametrize(
    ("streams", "path"),
    [
        (Streams(2), "node/2/cpu"),
        (Streams(1, replication=1), "node/2/cpu"),
        (Streams(1), "node/3/cpu"),
        (Streams(1), "node/2/cpu/"),
    ],
)
def test_seed_replication_and_path_all_matter(streams: Streams, path: str) -> None:
    assert not set(draws(streams, path)) & set(draws(Streams(1), "node/2/cpu"))


def test_a_path_is_used_once() -> None:
    streams = Streams(1)
    streams.uniform("client/1/think")
    with pytest.raises(ValueError, match="'client/1/think' is already in use"):
        streams.exponential("client/1/think", 1.0)


def test_blocks_follow_each_other_without_a_seam() -> None:
    # The numbers are those of one generator in one go, whatever the sizes of the blocks.
    expected = Streams(5).generator("a").random(64 + 2 * 4096).tolist()
    assert draws(Streams(5), "a", len(expected)) == expected


def test_moments() -> None:
    # 100 000 draws: the mean of an exponential is off by more than 5 standard errors (1.6 %)
    # with probability 6e-7, and the seed is fixed.
    stream = Streams(3).exponential("a", 0.25)
    values = [stream() for _ in range(100_000)]
    assert sum(values) / len(values) == pytest.approx(0.25, rel=0.016)
    assert min(values) >= 0.0
