"""The record of one replication, as the process that ran it hands it over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simrep.measure.meter import Measurement
from simrep.measure.stations import StationUse
from simrep.runs.schedule import ScheduledRecord

__all__ = ["Counters", "RunRecord"]

Counters = Mapping[str, Mapping[str, float]]
"""Status variables by node, each by its name."""


@dataclass(frozen=True, slots=True, eq=False)
class RunRecord:
    """One replication, as the process that ran it hands it over."""

    seed: int  # root entropy of the run, shared by its replications
    replication: int  # number of the replication, from 0
    measurement: Measurement
    # Counted from the start of the simulation, warm-up included.
    counters: Counters = field(default_factory=dict)
    stations: tuple[StationUse, ...] = ()
    # What became of the scheduled transactions, in the order of the scenario.
    scheduled: tuple[ScheduledRecord, ...] = ()
