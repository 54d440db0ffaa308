"""A source of semi-synchronous replication, recognised by its plugin."""

from __future__ import annotations

from typing import ClassVar

from simrep.modelling import Clue, Evidence, ServerReading
from simrep.models.asynchronous.recognition import SourceRecognition

__all__ = ["SemisyncRecognition"]


def _names(suffix: str) -> tuple[str, str]:
    """A variable or counter of the source, and its name before MySQL 8.0.26."""
    return f"Rpl_semi_sync_source_{suffix}", f"Rpl_semi_sync_master_{suffix}"


class SemisyncRecognition(SourceRecognition):
    """A source that waits for its replicas."""

    rank: ClassVar[int] = 30

    def evidence(self, server: ServerReading) -> Evidence | None:
        """Whether it is enabled, if it is not on for the moment."""
        status, working = (ask(*_names("status")) for ask in (server.setting, server.is_on))
        enabled = server.is_on(*_names("enabled"))
        if enabled is not None and status is not None and working is None:
            note = f"{enabled.spelling}; {status.spelling} was {status.value} then"
            return Evidence(note, (enabled.place,))
        entry = working or enabled
        return None if entry is None else Evidence(entry.spelling, (entry.place,))

    def round_trip_ms(self, server: ServerReading, nodes: int) -> Clue | None:
        """The mean wait for an acknowledgement, in microseconds.

        It has the work of dump thread and replica in it, too, so it is an upper bound.
        """
        for name in _names("tx_avg_wait_time"):
            wait_us = server.status.latest(name)
            if wait_us is not None and wait_us.value > 0.0:
                note = f"{wait_us.name}: upper bound, with the work of dump thread and replica"
                return Clue(wait_us.value / 1e3, wait_us.places, note)
        return None
