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
    """One replication, as the process that ran it hands it over.

    Attributes
    ----------
    seed : int
        Root entropy of the run, shared by its replications.
    replication : int
        Number of the replication, from 0.
    measurement : Measurement
    counters : mapping of node name to mapping of status variable to value
        Counted from the start of the simulation, warm-up included.
    stations : tuple of StationUse
    scheduled : tuple of ScheduledRecord
        What became of the scheduled transactions, in the order of the scenario.
    """

    seed: int
    replication: int
    measurement: Measurement
    counters: Counters = field(default_factory=dict)
    stations: tuple[StationUse, ...] = ()
    scheduled: tuple[ScheduledRecord, ...] = ()
