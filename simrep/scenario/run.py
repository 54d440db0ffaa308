"""The ``[run]`` table: how long a scenario is simulated, how often, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from simrep.errors import ScenarioError
from simrep.scenario.table import Interval, Queued, Replications, Seconds, Seed, Table

__all__ = ["RunTable"]

_MOST_INTERVALS: Final = 10**8
_LEAST_LOOK_S: Final = 8.0  # in which a group shows how fast something piles up


class RunTable(Table):
    """How long to simulate, how often, and what to keep."""

    duration_s: Interval | None = Field(
        None,
        description="measured time, after the warm-up; a fixed number of transactions needs none",
    )
    warmup_s: Seconds = Field(0.0, description="time before measuring starts")
    warmup: Literal["auto"] | None = Field(
        None,
        description="auto: instead of warmup_s, what the rule MSER-5 finds in a replication that "
        "no figure counts",
    )
    least_transactions: Queued = Field(
        0,
        description="duration_s is repeated until so many transactions have committed in it: a few "
        "clients take longer to tell a percentile",
    )
    history_s: Seconds = Field(
        0.0,
        description="how long the load has run before: the run begins with the backlog that this "
        "has left, which the warm-up finds out; for models in which something piles up for ever",
    )
    settle_s: Seconds | None = Field(
        None,
        description="instead of duration_s: the run ends so long after the last scheduled "
        "transaction is committed on every node, or has failed",
    )
    drain: bool = Field(
        False,
        strict=True,
        description="open loop: at that end arrivals cease, and the run goes on until all who have "
        "arrived are answered, and count",
    )
    seed: Seed = Field(1, description="root of all random numbers")
    replications: Replications = Field(1, description="independent repetitions")
    interval_s: Interval = Field(1.0, description="interval of the time series")
    log: bool = Field(False, strict=True, description="keep every transaction")
    staleness: bool = Field(
        False, strict=True, description="count reads that miss an answered commit"
    )
    limit_s: Interval = Field(
        86400.0, description="simulated time after which an unfinished run is an error"
    )

    def problems(self) -> Iterator[ScenarioError]:
        """What contradicts itself, or would fill the memory."""
        if self.least_transactions and self.duration_s is None:
            yield ScenarioError(
                "run.least_transactions", "is for a run of given length", "set run.duration_s"
            )
        if self.history_s:
            yield from self._history_problems()
        if self.settle_s is not None and self.duration_s is not None:
            yield ScenarioError("run.settle_s", "cannot be combined with run.duration_s")
        length = "limit_s" if self.duration_s is None else "duration_s"
        intervals = getattr(self, length) / self.interval_s
        if intervals > _MOST_INTERVALS:
            yield ScenarioError(
                "run.interval_s",
                f"cuts run.{length} into {intervals:.3g} intervals, must be at most "
                f"{_MOST_INTERVALS:.0e}",
                "they would fill the memory: lengthen it, or shorten the run",
            )

    def _history_problems(self) -> Iterator[ScenarioError]:
        """What does not go with a load that has run before."""
        if self.duration_s is None or self.warmup_s < _LEAST_LOOK_S:
            yield ScenarioError(
                "run.history_s",
                f"takes a run of given length with a warm-up of {_LEAST_LOOK_S:g} s at least, in "
                f"which it is found out what piles up, given {self.warmup_s:g} s",
                "set run.duration_s, and run.warmup_s = 12",
            )
        if self.staleness:
            yield ScenarioError(
                "run.history_s",
                "does not go with run.staleness: how old the backlog is, is not simulated",
                "remove either",
            )
