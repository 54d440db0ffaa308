"""One-way latency of a network path: a base delay plus optional jitter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simrep.kernel.streams import Draw, Streams

__all__ = ["Jitter", "Latency", "Sampler"]

Sampler = Callable[[], float]

JitterKind = Literal["normal", "uniform", "lognormal", "gamma", "exponential", "empirical"]


@dataclass(frozen=True, slots=True)
class Jitter:
    """What varies on top of the base delay of a path.

    Parameters
    ----------
    kind : {"normal", "uniform", "lognormal", "gamma", "exponential", "empirical"}
        Shape. ``uniform`` is what ``tc netem delay D J`` adds, ``normal`` what it adds with
        ``distribution normal``; they may shorten the delay, but never below zero. ``empirical``
        draws from ``samples_s``.
    mean_s : float
        Mean in seconds (``normal``, ``uniform``: usually 0).
    sd_s : float
        Standard deviation in seconds; of ``uniform`` the half width, from ``mean_s - sd_s`` to
        ``mean_s + sd_s``: with both shapes the J of netem.
    samples_s : tuple of float
        Measured extra delays in seconds, for ``empirical``.
    """

    kind: JitterKind
    mean_s: float = 0.0
    sd_s: float = 0.0
    samples_s: tuple[float, ...] = ()

    def draw(self) -> Draw:
        """The block-drawing function of this distribution."""
        mean, sd = self.mean_s, self.sd_s
        if self.kind == "normal":
            return lambda generator, size: generator.normal(mean, sd, size)
        if self.kind == "uniform":
            return lambda generator, size: generator.uniform(mean - sd, mean + sd, size)
        if self.kind == "exponential":
            return lambda generator, size: generator.exponential(mean, size)
        if self.kind == "gamma":
            shape, scale = (mean / sd) ** 2, sd * sd / mean
            return lambda generator, size: generator.gamma(shape, scale, size)
        if self.kind == "lognormal":
            sigma2 = float(np.log1p((sd / mean) ** 2))
            mu = float(np.log(mean)) - sigma2 / 2
            return lambda generator, size: generator.lognormal(mu, sigma2**0.5, size)
        samples = np.asarray(self.samples_s)
        return lambda generator, size: generator.choice(samples, size)


@dataclass(frozen=True, slots=True)
class Latency:
    """One-way latency of an ordered pair of nodes.

    Parameters
    ----------
    base_s : float
        Constant part in seconds.
    jitter : tuple of Jitter
        Independent variable parts (the path's own, and one per emulated egress delay).
    """

    base_s: float
    jitter: tuple[Jitter, ...] = ()

    def sampler(self, streams: Streams, path: str) -> Sampler | None:
        """A function of no arguments that draws a delay; None when the delay is constant."""
        if not self.jitter:
            return None
        base = self.base_s
        draws = [
            streams.stream(f"{path}/{i}", jitter.draw()) for i, jitter in enumerate(self.jitter)
        ]
        if len(draws) == 1:
            one = draws[0]
            return lambda: max(0.0, base + one())
        return lambda: max(0.0, base + sum(draw() for draw in draws))
