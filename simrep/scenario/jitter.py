"""The ``jitter`` table: what varies on top of a constant delay."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.network import link
from simrep.scenario.table import Milliseconds, Shift, Table, seconds

__all__ = ["JitterTable"]

_NANOSECOND = 1e-6  # in milliseconds
_UNSEEN = f"a nanosecond, {_NANOSECOND:g}, is the least"


class JitterTable(Table):
    """What varies on top of a constant delay."""

    kind: link.JitterKind = Field(
        description="shape of the distribution; `tc netem` draws uniform unless it is told "
        "`distribution normal`"
    )
    mean_ms: Shift = Field(0.0, description="mean; usually 0 for normal and uniform")
    sd_ms: Milliseconds = Field(
        0.0,
        description="standard deviation, of uniform the half width: the J of "
        "`tc netem delay D J`; not used by exponential",
    )
    samples_ms: tuple[Milliseconds, ...] = Field(
        (), description="measured extra delays to draw from, for empirical"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        kind = self.kind
        if kind == "empirical" and not self.samples_ms:
            raise ScenarioError("samples_ms", "empirical jitter needs at least one sample")
        if kind != "empirical" and self.samples_ms:
            raise ScenarioError("samples_ms", f"{kind} jitter draws from no samples")
        if kind in {"lognormal", "gamma", "exponential"} and self.mean_ms < _NANOSECOND:
            raise ScenarioError(
                "mean_ms",
                f"{kind} jitter needs a mean above 0, given {self.mean_ms:g}",
                _UNSEEN,
            )
        if kind in {"normal", "uniform", "lognormal", "gamma"} and self.sd_ms < _NANOSECOND:
            raise ScenarioError(
                "sd_ms",
                f"{kind} jitter needs one above 0, given {self.sd_ms:g}",
                _UNSEEN,
            )
        return self

    def jitter(self) -> link.Jitter:
        """The same in seconds."""
        return link.Jitter(
            kind=self.kind,
            mean_s=seconds(self.mean_ms),
            sd_s=seconds(self.sd_ms),
            samples_s=tuple(seconds(sample) for sample in self.samples_ms),
        )
