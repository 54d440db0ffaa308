"""Named streams of random numbers, drawn in blocks.

Every use of randomness has a path ("node/2/cpu", "client/17/think"). A path always yields the same
numbers for the same seed and replication, whatever else the simulation does, so two variants of a
scenario can be compared under common random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log1p
from typing import TYPE_CHECKING
from zlib import crc32

from simrep.kernel.arrays import seeded

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.random import Generator

__all__ = ["Stream", "Streams"]

_FIRST_BLOCK = 64
_BLOCK = 4096

Draw = Callable[["Generator", int], "ndarray"]


Stream = Callable[[], float]
"""An endless sequence of floats; call it for the next one."""


def _numbers(generator: Generator, draw: Draw) -> Iterator[float]:
    yield from draw(generator, _FIRST_BLOCK).tolist()
    while True:
        yield from draw(generator, _BLOCK).tolist()


class Streams:
    """The streams of one replication; each ``replication`` of a ``seed`` has independent ones."""

    def __init__(self, seed: int, replication: int = 0) -> None:
        self.seed = seed
        self.replication = replication
        self._paths: set[str] = set()

    def generator(self, path: str) -> Generator:
        """The NumPy generator of a path, or its twin; asking twice for one path is an error."""
        if path in self._paths:
            raise ValueError(f"random stream {path!r} is already in use")
        self._paths.add(path)
        return seeded((self.seed, self.replication), (crc32(path.encode()), len(path)))

    def stream(self, path: str, draw: Draw) -> Stream:
        """A stream of ``draw(generator, size)``, e.g. ``lambda g, n: g.exponential(0.01, n)``."""
        return _numbers(self.generator(path), draw).__next__

    def uniform(self, path: str) -> Stream:
        """Uniform numbers in [0, 1)."""
        return self.stream(path, lambda generator, size: generator.random(size))

    def exponential(self, path: str, mean: float) -> Stream:
        """Exponential numbers of the given mean."""
        return self.stream(path, lambda generator, size: generator.exponential(mean, size))

    def lognormal(self, path: str, variation: float) -> Stream:
        """Lognormal factors of mean 1 and the given coefficient of variation."""
        sigma2 = log1p(variation**2)
        return self.stream(
            path, lambda generator, size: generator.lognormal(-sigma2 / 2, sigma2**0.5, size)
        )
