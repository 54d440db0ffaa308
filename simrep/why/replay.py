"""One replication of a scenario, which explanations simulate as often as they need to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.errors import SimrepError
from simrep.runs.degradation import warn_degraded
from simrep.runs.replication import simulate
from simrep.runs.sampler import at_least, seed_of
from simrep.runs.story import Follow, Story
from simrep.scenario.schema import Scenario, load

__all__ = ["Replay"]


@dataclass(frozen=True, slots=True)
class Replay:
    """What is simulated: the same each time, bit for bit."""

    setup: Setup
    seed: int
    replication: int = 0

    @classmethod
    def of(
        cls, scenario: str | Path | Mapping[str, Any] | Scenario, seed: int | None, replication: int
    ) -> Replay:
        """From what a user has given; without a seed it is that of the scenario."""
        loaded = load(scenario)
        at_least("replication", replication, 0)
        return cls(setup_of(loaded), seed_of(seed, loaded.run.seed), replication)

    def story(self, follow: Follow) -> Story:
        """What happened in it; an error if no transaction committed while it was measured."""
        record = simulate(self.setup, self.seed, self.replication, follow=follow)
        story = record.story
        if story is None or not story.journeys:
            raise SimrepError("no transaction committed while it was measured: lengthen the run")
        if follow == Follow.stages():  # the first look at it: it is warned of once
            warn_degraded(record.degradation, stacklevel=5)
        return story
